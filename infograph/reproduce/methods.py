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
from infograph.errors import CheckpointMismatch, InvalidGraph, InvalidParameter, TrainingDiverged
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
        """What `represent` makes of graphs with one of the settings."""
        return represent(self.settings[setting](seed), graphs)

    def describe(self) -> dict[str, dict[str, Any]]:
        """Setting -> all parameters of its estimator: what a result depends on."""
        return {setting: parameters_of(make(0)) for setting, make in self.settings.items()}


def represent(estimator: GraphTransformer, graphs: GraphSet, **fitting: Any) -> NDArray[Any] | Gram:
    """Vectors (G, D), or the Gram matrix of a kernel; `fitting` are further arguments of `fit_transform`."""
    if isinstance(estimator, GraphKernel):
        return Gram(estimator.fit(graphs).gram())
    vectors = estimator.fit_transform(graphs, **fitting)
    return np.asarray(vectors.toarray() if hasattr(vectors, "toarray") else vectors)


def blames_method(error: Exception) -> bool:
    """Whether an error of `represent` is a result: training diverged, or the method refuses the graphs.

    Others come from where it ran, such as a package that is not installed, and may be gone the next time.
    """
    own = isinstance(error, TrainingDiverged | InvalidParameter | InvalidGraph)
    return own and not isinstance(error, CheckpointMismatch)


def _one(where: str, **given: Any) -> Make:
    """An estimator of `module:Class`, imported when it is made; `random_state` is the seed if it has one."""

    def make(seed: int) -> GraphTransformer:
        module, _, name = where.partition(":")
        cls = getattr(import_module(f"infograph.{module}"), name)
        seeded = {"random_state": seed} if "random_state" in cls._get_param_names() else {}
        made: GraphTransformer = cls(**given, **seeded)
        return made

    return make


def _method(
    name: str,
    title: str,
    where: str,
    *grid: dict[str, Any],
    random: bool = False,
    epochs: tuple[int, ...] = (),
    **given: Any,
) -> Method:
    """A method of one estimator: with `given` alone, and in Table 1 with each line of `grid` as well."""
    searched = {_words({**each, **given}): _one(where, **each, **given) for each in grid}
    return Method(name, title, {"default": _one(where, **given)}, random, searched, epochs)


def _words(given: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in given.items())


DEPTHS, RATES, EPOCHS = (4, 8, 12), (1e-2, 1e-3, 1e-4), (10, 20, 100)  # the paper's, for InfoGraph
KINDS = ("wl", "graphlet", "walk", "shortest-path")  # of deep graph kernels
_DEEP = "baselines.deep_kernels:DeepGraphKernel"
METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        _method("rw", "RW", "baselines.random_walk:RandomWalk", normalise=True),
        _method("sp", "SP", "baselines.shortest_path:ShortestPath", normalise=True),
        _method(
            "gk",
            "GK",
            "baselines.graphlets:Graphlets",
            *({"size": size} for size in (3, 4, 5)),
            normalise=True,
        ),
        _method(
            "wl",
            "WL",
            "baselines.wl:WeisfeilerLehman",
            *({"rounds": rounds} for rounds in (1, 2, 3, 4, 5)),
            normalise=True,
        ),
        replace(
            _method(
                "dgk",
                "DGK",
                _DEEP,
                *({"structure": kind, "epochs": n} for kind in KINDS for n in (5, 30)),
                random=True,
                normalise=True,
            ),
            settings={kind: _one(_DEEP, structure=kind, normalise=True) for kind in KINDS},
        ),
        _method(
            "mlg",
            "MLG",
            "baselines.laplacian:MultiscaleLaplacian",
            *({"levels": levels, "gamma": gamma} for levels in (1, 2, 3) for gamma in (0.01, 0.1)),
        ),
        _method("node2vec", "node2vec", "baselines.node2vec:Node2Vec", random=True),
        _method(
            "sub2vec",
            "sub2vec",
            "baselines.sub2vec:Sub2Vec",
            *({"variant": variant} for variant in ("structural", "neighbourhood")),
            random=True,
        ),
        _method(
            "graph2vec",
            "graph2vec",
            "baselines.graph2vec:Graph2Vec",
            *({"rounds": rounds} for rounds in (1, 2, 3, 4)),
            random=True,
        ),
        _method(
            "infograph",
            "InfoGraph",
            "estimators.infograph:InfoGraph",
            *({"layers": layers, "lr": lr} for layers in DEPTHS for lr in RATES),
            random=True,
            epochs=EPOCHS,
        ),
        _method(
            "untrained",
            "untrained GIN",
            "estimators.untrained:UntrainedGIN",
            *({"layers": layers} for layers in DEPTHS),
            random=True,
        ),
        _method("labels", "node labels", "baselines.histograms:LabelHistogram"),
        _method("degrees", "node degrees", "baselines.histograms:DegreeHistogram"),
    )
}
