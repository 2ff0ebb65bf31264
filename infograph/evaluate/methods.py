"""The methods that are compared: by which estimators, with which settings, judged by what."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from infograph.baselines.base import GraphKernel
from infograph.cells import parameters_of
from infograph.data.fingerprints import Features, descriptor_names, molecule_features
from infograph.data.graphset import GraphSet
from infograph.data.molecules import SMILES
from infograph.errors import CheckpointMismatch, InvalidGraph, InvalidParameter, TrainingDiverged
from infograph.estimators.base import GraphTransformer
from infograph.estimators.folder import carried_folder, pretrained_names, read_config
from infograph.estimators.infograph import CARRIED, InfoGraph
from infograph.evaluate.inputs import Gram
from infograph.parameters import changed

Make = Callable[[int], GraphTransformer]
DEPTHS, RATES, EPOCHS = (4, 8, 12), (1e-2, 1e-3, 1e-4), (10, 20, 100)  # the paper's, for InfoGraph
KINDS = ("wl", "graphlet", "walk", "shortest-path")  # of deep graph kernels


@dataclass(frozen=True)
class Method:
    """A method: what makes its estimator for a seed. Of several settings, the best on inner folds counts."""

    name: str  # on the command line and in file names
    title: str  # in tables, as the paper spells it
    settings: Mapping[str, Make]
    random: bool = False  # whether another seed gives another representation
    grid: Mapping[str, Make] = field(default_factory=dict)  # of Table 1, fixed before anything was run
    epochs: tuple[int, ...] = ()  # where one training run is looked at in Table 1, each as a setting
    judge: str = ""  # what its vectors are judged by, where that is not the usual
    molecules: bool = False  # whether it is for molecules with SMILES alone
    predicts: bool = False  # whether it learns from labels itself, in the training folds
    reference: bool = False  # whether it is one of the simple things that any method has to beat

    @property
    def searched(self) -> Mapping[str, Make]:
        """The settings of Table 1."""
        return self.grid or self.settings

    def describe(self) -> dict[str, dict[str, Any]]:
        """Setting -> all parameters of its estimator: what a result depends on."""
        return {setting: parameters_of(make(0)) for setting, make in self.settings.items()}


def find_method(name: str | tuple[str, GraphTransformer]) -> Method:
    """The method of that name, or a named estimator as a method."""
    if not isinstance(name, str):
        title, estimator = name
        random = "random_state" in estimator.get_params(deep=False)

        def make(seed: int) -> GraphTransformer:
            return changed(estimator, {"random_state": seed} if random else {})

        return Method(title, title, {"default": make}, random)
    every = {**METHODS, **MORE}
    if name.casefold() not in every:
        raise InvalidParameter(f"no method {name!r}; there are: all, {', '.join(every)}")
    return every[name.casefold()]


def usual_methods(graphs: GraphSet) -> list[str]:
    """What "all" stands for: methods for molecules are not tried on other graphs."""
    molecules = graphs.schema.column("graph", SMILES.name) is not None
    more = [name for name, method in MORE.items() if molecules or not method.molecules]
    return [*METHODS, *(name for name in more if name != "pretrained" or CARRIED in pretrained_names())]


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


# ---- vectors of molecules for which nothing is fitted


@dataclass(eq=False)
class Fingerprints(BaseEstimator):  # type: ignore[misc]
    """Morgan fingerprints and RDKit's descriptors as vectors."""

    features: Features = "counts+descriptors"

    def fit_transform(self, graphs: GraphSet) -> NDArray[Any]:
        """One row per molecule."""
        names = descriptor_names() if self.features == "counts+descriptors" else ()
        return molecule_features(graphs, features=self.features, descriptors=names, smiles=SMILES.name)


@dataclass(eq=False)
class Carried(BaseEstimator):  # type: ignore[misc]
    """The vectors of a model that the package carries."""

    name: str
    sha256: str  # of its weights

    def fit_transform(self, graphs: GraphSet) -> NDArray[Any]:
        """One vector per graph."""
        return InfoGraph.load(carried_folder(self.name)).transform(graphs)


def carried() -> Any:
    """The pre-trained model of the package as an estimator."""
    return Carried(CARRIED, read_config(carried_folder(CARRIED))["sha256"])


# ---- all of them


def _one(where: str, *, paper: bool = True, **given: Any) -> Make:
    """An estimator of `module:Class`, imported when it is made; `random_state` is the seed if it has one."""

    def make(seed: int) -> GraphTransformer:
        module, _, name = where.partition(":")
        cls = getattr(import_module(f"infograph.{module}"), name)
        seeded = {"random_state": seed} if "random_state" in cls._get_param_names() else {}
        usual = cls.paper() if paper and hasattr(cls, "paper") else cls()
        made: GraphTransformer = changed(usual, {**given, **seeded})
        return made

    return make


def _method(
    name: str,
    title: str,
    where: str,
    grid: Mapping[str, Sequence[Any]] | None = None,
    *,
    settings: Mapping[str, Make] | None = None,
    random: bool = False,
    epochs: tuple[int, ...] = (),
    reference: bool = False,
    **given: Any,
) -> Method:
    """A method of one estimator: with `given` or `settings`, and in Table 1 with all values of `grid`."""
    searched = {}
    for values in product(*grid.values()) if grid else ():
        setting = {**dict(zip(grid or (), values, strict=True)), **given}
        searched[" ".join(f"{key}={value}" for key, value in setting.items())] = _one(where, **setting)
    settings = settings or {"default": _one(where, **given)}
    return Method(name, title, settings, random, searched, epochs, reference=reference)


_DGK = "baselines.deep_kernel:DeepGraphKernel"
_GRAPHLETS, _MLG = "baselines.graphlets:Graphlets", "baselines.laplacian:MultiscaleLaplacian"
_INFOGRAPH, _UNTRAINED = "estimators.infograph:InfoGraph", "estimators.infograph:UntrainedGIN"
_SUB2VEC, _GRAPH2VEC = "baselines.graph2vec:Sub2Vec", "baselines.graph2vec:Graph2Vec"
_LABELS, _DEGREES = "baselines.references:LabelHistogram", "baselines.references:DegreeHistogram"
_STRUCTURES = {kind: _one(_DGK, structure=kind, normalise=True) for kind in KINDS}
_TRAINED = {"default": _one(_INFOGRAPH, paper=False)}
_RANDOM = {"default": _one(_UNTRAINED, paper=False)}
_LAYERS, _WIDE = {"layers": DEPTHS}, {"layers": DEPTHS, "lr": RATES}
_DEEP = {"structure": KINDS, "epochs": (5, 30)}
_VARIANTS = ("structural", "neighbourhood")
METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        _method("rw", "RW", "baselines.random_walk:RandomWalk", normalise=True),
        _method("sp", "SP", "baselines.shortest_path:ShortestPath", normalise=True),
        _method("gk", "GK", _GRAPHLETS, {"size": (3, 4, 5)}, normalise=True),
        _method("wl", "WL", "baselines.wl:WeisfeilerLehman", {"rounds": (1, 2, 3, 4, 5)}, normalise=True),
        _method("dgk", "DGK", _DGK, _DEEP, settings=_STRUCTURES, random=True, normalise=True),
        _method("mlg", "MLG", _MLG, {"levels": (1, 2, 3), "gamma": (0.01, 0.1)}),
        _method("node2vec", "node2vec", "baselines.node2vec:Node2Vec", random=True),
        _method("sub2vec", "sub2vec", _SUB2VEC, {"variant": _VARIANTS}, random=True),
        _method("graph2vec", "graph2vec", _GRAPH2VEC, {"rounds": (1, 2, 3, 4)}, random=True),
        _method("infograph", "InfoGraph", _INFOGRAPH, _WIDE, settings=_TRAINED, random=True, epochs=EPOCHS),
        _method("untrained", "untrained GIN", _UNTRAINED, _LAYERS, settings=_RANDOM, random=True),
        _method("infograph-paper", "InfoGraph, the paper's settings", _INFOGRAPH, random=True),
        _method("wl-oa", "WL-OA", "baselines.wl:OptimalAssignment", normalise=True),
        _method("ltp", "LTP", "baselines.profile:LocalTopologicalProfile"),
        _method("labels", "node labels", _LABELS, reference=True),
        _method("degrees", "node degrees", _DEGREES, reference=True),
    )
}
_ATOMS, _MORGAN = _one(_LABELS), _one("evaluate.methods:Fingerprints")
_PREDICTS = _one("estimators.predictors:InfoGraphRegressor", paper=False, objective="vectors")
_SIMPLE: dict[str, Any] = {"molecules": True, "reference": True}
MORE: dict[str, Method] = {  # that the paper's tables have no line for
    method.name: method
    for method in (
        Method("pretrained", "pre-trained vectors", {"default": lambda seed: carried()}, molecules=True),
        Method("atoms", "atom counts", {"default": _ATOMS}, judge="ridge", **_SIMPLE),
        Method("morgan", "fingerprint forest", {"default": _MORGAN}, judge="forest", **_SIMPLE),
        Method("predictions", "InfoGraph's predictions", {"default": _PREDICTS}, predicts=True),
    )
}
