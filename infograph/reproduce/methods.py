"""The methods of Table 1 and honest references beside them, by name: how each represents graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.kernel import GraphKernel
from infograph.contract import GraphTransformer
from infograph.data.graphset import GraphSet
from infograph.evaluate.gram import Gram
from infograph.reproduce.cells import parameters_of

Make = Callable[[int], GraphTransformer]


@dataclass(frozen=True)
class Method:
    """One method.

    Attributes:
        name: on the command line and in file names.
        title: in tables, as the paper spells it.
        settings: setting -> what makes the estimator for a seed. Of several, the best on inner folds counts.
        random: whether another seed gives another representation.
        grid: the settings of Table 1, fixed before anything was run; those above where there are no others.
        epochs: where one training run is looked at in Table 1; each is a setting of its own.
    """

    name: str
    title: str
    settings: Mapping[str, Make]
    random: bool = False
    grid: Mapping[str, Make] = field(default_factory=dict)
    epochs: tuple[int, ...] = ()

    @property
    def searched(self) -> Mapping[str, Make]:
        """The settings of Table 1."""
        return self.grid or self.settings

    def represent(self, graphs: GraphSet, setting: str, seed: int) -> NDArray[Any] | Gram:
        """Vectors (G, D), or the Gram matrix of a kernel."""
        estimator = self.settings[setting](seed)
        if isinstance(estimator, GraphKernel):
            return Gram(estimator.fit(graphs).gram())
        vectors = estimator.fit_transform(graphs)
        return np.asarray(vectors.toarray() if hasattr(vectors, "toarray") else vectors)

    def describe(self) -> dict[str, dict[str, Any]]:
        """Setting -> all parameters of its estimator: what a result depends on."""
        return {setting: parameters_of(make(0)) for setting, make in self.settings.items()}


def _one(where: str, **given: Any) -> Make:
    """An estimator of `module:Class`, imported when it is made; `random_state` is the seed if it has one."""

    def make(seed: int) -> GraphTransformer:
        module, _, name = where.partition(":")
        cls = getattr(import_module(f"infograph.{module}"), name)
        seeded = {"random_state": seed} if "random_state" in cls._get_param_names() else {}
        made: GraphTransformer = cls(**given, **seeded)
        return made

    return make


def _method(name: str, title: str, where: str, *, random: bool = False, **given: Any) -> Method:
    return Method(name, title, {"default": _one(where, **given)}, random)


def _searched(method: Method, where: str, *grid: dict[str, Any], epochs: tuple[int, ...] = ()) -> Method:
    """The same method with the settings that Table 1 searches over."""
    names = [" ".join(f"{name}={value}" for name, value in given.items()) for given in grid]
    made = {name: _one(where, **given) for name, given in zip(names, grid, strict=True)}
    return replace(method, grid=made, epochs=epochs)


DEPTHS, RATES, EPOCHS = (4, 8, 12), (1e-2, 1e-3, 1e-4), (10, 20, 100)  # the paper's, for InfoGraph
KINDS = ("wl", "graphlet", "walk", "shortest-path")  # of deep graph kernels
_DGK = "baselines.deep_kernels:DeepGraphKernel"
_DEEP = {kind: _one(_DGK, structure=kind, normalise=True) for kind in KINDS}
_GK, _WL = "baselines.graphlets:Graphlets", "baselines.wl:WeisfeilerLehman"
_MLG, _SUB = "baselines.laplacian:MultiscaleLaplacian", "baselines.sub2vec:Sub2Vec"
_GRAPH2VEC, _INFOGRAPH = "baselines.graph2vec:Graph2Vec", "estimators.infograph:InfoGraph"
_UNTRAINED = "estimators.untrained:UntrainedGIN"
METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        _method("rw", "RW", "baselines.random_walk:RandomWalk", normalise=True),
        _method("sp", "SP", "baselines.shortest_path:ShortestPath", normalise=True),
        _searched(
            _method("gk", "GK", _GK, normalise=True),
            _GK,
            *({"size": size, "normalise": True} for size in (3, 4, 5)),
        ),
        _searched(
            _method("wl", "WL", _WL, normalise=True),
            _WL,
            *({"rounds": rounds, "normalise": True} for rounds in (1, 2, 3, 4, 5)),
        ),
        _searched(
            Method("dgk", "DGK", _DEEP, random=True),
            _DGK,
            *({"structure": kind, "epochs": n, "normalise": True} for kind in KINDS for n in (5, 30)),
        ),
        _searched(
            _method("mlg", "MLG", _MLG, normalise=True),
            _MLG,
            *({"levels": levels, "gamma": gamma} for levels in (1, 2, 3) for gamma in (0.01, 0.1)),
        ),
        _method("node2vec", "node2vec", "baselines.node2vec:Node2Vec", random=True),
        _searched(
            _method("sub2vec", "sub2vec", _SUB, random=True),
            _SUB,
            *({"variant": variant} for variant in ("structural", "neighbourhood")),
        ),
        _searched(
            _method("graph2vec", "graph2vec", _GRAPH2VEC, random=True),
            _GRAPH2VEC,
            *({"rounds": rounds} for rounds in (1, 2, 3, 4)),
        ),
        _searched(
            _method("infograph", "InfoGraph", _INFOGRAPH, random=True),
            _INFOGRAPH,
            *({"layers": layers, "lr": lr} for layers in DEPTHS for lr in RATES),
            epochs=EPOCHS,
        ),
        _searched(
            _method("untrained", "untrained GIN", _UNTRAINED, random=True),
            _UNTRAINED,
            *({"layers": layers} for layers in DEPTHS),
        ),
        _method("labels", "node labels", "baselines.histograms:LabelHistogram"),
        _method("degrees", "node degrees", "baselines.histograms:DegreeHistogram"),
    )
}
