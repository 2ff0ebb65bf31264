"""The methods of Table 1 and honest references beside them, by name: how each represents graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.kernel import GraphKernel
from infograph.contract import GraphTransformer
from infograph.data.graphset import GraphSet
from infograph.evaluate.gram import Gram

Make = Callable[[int], GraphTransformer]


@dataclass(frozen=True)
class Method:
    """One method.

    Attributes:
        name: on the command line and in file names.
        title: in tables, as the paper spells it.
        settings: setting -> what makes the estimator for a seed. Of several, the best on inner folds counts.
        random: whether another seed gives another representation.
    """

    name: str
    title: str
    settings: Mapping[str, Make]
    random: bool = False

    def represent(self, graphs: GraphSet, setting: str, seed: int) -> NDArray[Any] | Gram:
        """Vectors (G, D), or the Gram matrix of a kernel."""
        estimator = self.settings[setting](seed)
        if isinstance(estimator, GraphKernel):
            return Gram(estimator.fit(graphs).gram())
        vectors = estimator.fit_transform(graphs)
        return np.asarray(vectors.toarray() if hasattr(vectors, "toarray") else vectors)

    def describe(self) -> dict[str, dict[str, Any]]:
        """Setting -> all parameters of its estimator, as text: what a result depends on."""
        free = ("random_state", "verbose", "device", "max_minutes", "memory_mb", "n_jobs")
        made = {setting: make(0).get_params(deep=False) for setting, make in self.settings.items()}
        return {s: {k: repr(v) for k, v in given.items() if k not in free} for s, given in made.items()}


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


_DEEP = {
    kind: _one("baselines.deep_kernels:DeepGraphKernel", structure=kind, normalise=True)
    for kind in ("wl", "graphlet", "walk")
}
METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        _method("rw", "RW", "baselines.random_walk:RandomWalk", normalise=True),
        _method("sp", "SP", "baselines.shortest_path:ShortestPath", normalise=True),
        _method("gk", "GK", "baselines.graphlets:Graphlets", normalise=True),
        _method("wl", "WL", "baselines.wl:WeisfeilerLehman", normalise=True),
        Method("dgk", "DGK", _DEEP, random=True),
        _method("mlg", "MLG", "baselines.laplacian:MultiscaleLaplacian", normalise=True),
        _method("node2vec", "node2vec", "baselines.node2vec:Node2Vec", random=True),
        _method("sub2vec", "sub2vec", "baselines.sub2vec:Sub2Vec", random=True),
        _method("graph2vec", "graph2vec", "baselines.graph2vec:Graph2Vec", random=True),
        _method("infograph", "InfoGraph", "estimators.infograph:InfoGraph", random=True),
        _method("untrained", "untrained GIN", "estimators.untrained:UntrainedGIN", random=True),
        _method("labels", "node labels", "baselines.histograms:LabelHistogram"),
        _method("degrees", "node degrees", "baselines.histograms:DegreeHistogram"),
    )
}
