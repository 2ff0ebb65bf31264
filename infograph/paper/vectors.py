"""What vectors are worth: defaults, candidates and references on fourteen sets, judged by one rule.

docs/choosing_defaults.md was written before anything here was run: sets, folds and judges are those of its
table. A cell is one method on one set with one seed, of its weights and of its folds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.base import GraphKernel
from infograph.baselines.graph2vec import Graph2Vec
from infograph.baselines.profile import LocalTopologicalProfile
from infograph.baselines.wl import OptimalAssignment, WeisfeilerLehman
from infograph.cells import Cell, Result, parameters_of
from infograph.data.datasets import load_dataset
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.molecules import SMILES
from infograph.data.splits import scaffold_groups
from infograph.errors import InfoGraphError
from infograph.estimators.architecture import GIN
from infograph.estimators.folder import pretrained_names
from infograph.estimators.infograph import CARRIED, InfoGraph, UntrainedGIN
from infograph.evaluate import cross_validate
from infograph.evaluate.methods import Fingerprints, blames_method, carried, represent
from infograph.objectives.infograph import MutualInformation
from infograph.progress import Watcher
from infograph.train.loop import Cosine


@dataclass(frozen=True)
class DevelopmentSet:
    """A set, and how vectors are judged on it."""

    name: str
    judge: str
    scoring: str
    folds: int
    role: str  # "choosing", "unseen" until something was chosen, or for "finalists"
    molecules: bool = False  # folds by scaffold

    def load(self) -> tuple[GraphSet, NDArray[Any], IntArray | None]:
        """Graphs, targets (G,) or (G, T), and what stays in one fold."""
        graphs = load_dataset(self.name)
        if not self.molecules:
            return graphs, graphs.graph["y"], None
        targets = np.column_stack([graphs.graph[name] for name in graphs.graph if name != "smiles"])
        return graphs, targets, scaffold_groups(graphs)


SETS = {
    each.name: each
    for each in (
        DevelopmentSet("MUTAG", "svm-rbf", "accuracy", 10, "choosing"),
        DevelopmentSet("PTC_MR", "svm-rbf", "accuracy", 10, "choosing"),
        DevelopmentSet("IMDB-BINARY", "svm-rbf", "accuracy", 10, "choosing"),
        DevelopmentSet("NCI109", "ridge", "accuracy", 5, "choosing"),
        DevelopmentSet("ESOL", "ridge-rbf", "rmse", 5, "choosing", True),
        DevelopmentSet("BACE", "ridge-rbf", "roc_auc", 5, "choosing", True),
        DevelopmentSet("SIDER", "ridge-rbf", "roc_auc", 5, "choosing", True),
        DevelopmentSet("IMDB-MULTI", "svm-rbf", "accuracy", 10, "unseen"),
        DevelopmentSet("PROTEINS", "svm-rbf", "accuracy", 10, "unseen"),
        DevelopmentSet("FreeSolv", "ridge-rbf", "rmse", 5, "unseen", True),
        DevelopmentSet("ClinTox", "ridge-rbf", "roc_auc", 5, "unseen", True),
        DevelopmentSet("REDDIT-BINARY", "svm-rbf", "accuracy", 10, "finalists"),
        DevelopmentSet("REDDIT-MULTI-5K", "ridge", "accuracy", 10, "finalists"),
        DevelopmentSet("Tox21", "ridge", "roc_auc", 5, "finalists", True),
    )
}
# seed, graphs -> an estimator, or several by the names of their settings, of which inner folds choose
Make = Callable[[int, GraphSet], Any]


def _trained(
    gin: Mapping[str, Any] | None = None,
    degrees: bool = False,
    edges: bool = False,
    more: Mapping[str, Any] | None = None,
    **information: Any,
) -> Make:
    """The paper's settings with these changed."""

    def make(seed: int, graphs: GraphSet) -> InfoGraph:
        encoder = GIN(**{"readout": "sum", **(gin or {})})
        if degrees and not graphs.schema.features("node"):
            encoder.node_features = "degrees"
        labels = [c.name for c in graphs.schema.edge if c.kind == "categorical"] if edges else []
        columns = {"edge_columns": labels} if labels else {}
        goal = MutualInformation(**information)
        return InfoGraph.paper(encoder=encoder, objective=goal, random_state=seed, **columns, **(more or {}))

    return make


def _untrained(**given: Any) -> Make:
    trained = _trained(**given)

    def make(seed: int, graphs: GraphSet) -> UntrainedGIN:
        model = trained(seed, graphs)
        return UntrainedGIN(encoder=model.encoder, edge_columns=model.edge_columns, random_state=seed)

    return make


_BEST: dict[str, Any] = {"discriminator": "conditioned", "bound": "infonce"}  # of round A1
IDEAS: dict[str, dict[str, Any]] = {  # of round A2, each alone on top; the page has four that are gone
    "log": {"gin": {"readout": "log"}},
    "degrees": {"degrees": True},
    "edges": {"edges": True},
    "colours": {"colours": 1.0},
    "rate to 0": {"more": {"schedule": Cosine()}},
}
_INPUTS: dict[str, Any] = {**_BEST, "gin": {"readout": "log"}, "edges": True}  # the best of round A2
_ENDING: dict[str, Any] = {**_INPUTS, "more": {"epochs": "auto"}}  # and of round B
JOINED: dict[str, dict[str, Any]] = {  # of rounds B and C
    "log edges": _INPUTS,
    "log edges degrees": {**_INPUTS, "degrees": True},
    "log edges auto": _ENDING,
    "auto 3 layers": {**_ENDING, "gin": {"readout": "log", "layers": 3}},
    "auto 8 patches": {**_ENDING, "max_patches": 8},
    "auto 3 layers 8 patches": {**_ENDING, "gin": {"readout": "log", "layers": 3}, "max_patches": 8},
    **{f"auto {n} patches": {**_ENDING, "max_patches": n} for n in (32, 64)},
    "auto slower": {**_ENDING, "more": {"epochs": "auto", "lr": 3e-4}},
}
CANDIDATES: dict[str, Make] = {
    "untrained": _untrained(),
    "untrained log": _untrained(gin={"readout": "log"}),
    "untrained degrees": _untrained(degrees=True),
    "untrained edges": _untrained(edges=True),
    "untrained log edges": _untrained(gin={"readout": "log"}, edges=True),
    "untrained log edges 3 layers": _untrained(gin={"readout": "log", "layers": 3}, edges=True),
    "untrained log edges degrees": _untrained(gin={"readout": "log"}, edges=True, degrees=True),
    "paper": _trained(),
    "conditioned": _trained(discriminator="conditioned"),
    "conditioned dv": _trained(discriminator="conditioned", bound="dv"),
    "conditioned infonce": _trained(discriminator="conditioned", bound="infonce"),
    **{f"+ {name}": _trained(**_BEST, **idea) for name, idea in IDEAS.items()},
    **{name: _trained(**settings) for name, settings in JOINED.items()},
}
DEFAULT, DEFAULT_UNTRAINED = "default", "untrained default"  # what a user gets
FRESH = "fresh"  # the default, started with random weights where that starts from the pre-trained model


def _by_rounds(kernel: type[WeisfeilerLehman]) -> Make:
    return lambda seed, graphs: {f"rounds={n}": kernel(n, normalise=True) for n in (1, 3, 5)}


REFERENCES: dict[str, Make] = {
    "wl": _by_rounds(WeisfeilerLehman),
    "wl-oa": _by_rounds(OptimalAssignment),
    "graph2vec": lambda seed, graphs: Graph2Vec(random_state=seed),
    "ltp": lambda seed, graphs: LocalTopologicalProfile(),
    "morgan bits": lambda seed, graphs: Fingerprints("bits"),
    "morgan counts": lambda seed, graphs: Fingerprints("counts"),
    "morgan counts + descriptors": lambda seed, graphs: Fingerprints("counts+descriptors"),
}
PRETRAINED = "pre-trained"
METHODS: dict[str, Make] = {
    **CANDIDATES,
    DEFAULT: lambda seed, graphs: InfoGraph(
        init_from="auto" if SMILES.name in graphs.graph else None, random_state=seed
    ),
    FRESH: lambda seed, graphs: InfoGraph(init_from=None, random_state=seed),
    DEFAULT_UNTRAINED: lambda seed, graphs: UntrainedGIN(random_state=seed),
    **REFERENCES,
    PRETRAINED: lambda seed, graphs: carried(),
}


def is_judged(data: str, method: str) -> bool:
    """Whether a method is judged on a set.

    Kernels are not on Tox21: with its gaps every task has decompositions of its own, which takes hours.
    """
    if method.startswith("morgan") or method in (PRETRAINED, FRESH):
        return SETS[data].molecules and (method != PRETRAINED or CARRIED in pretrained_names())
    return not (data == "Tox21" and method in ("wl", "wl-oa"))


def vector_cells(data: Sequence[str], methods: Sequence[str], seeds: Sequence[int]) -> list[Cell]:
    """The cells, the first seed of all first."""
    places = product(seeds, data, methods)
    return [vector_cell(name, method, seed) for seed, name, method in places if is_judged(name, method)]


def vector_cell(data: str, method: str, seed: int) -> Cell:
    """One method on one set with one seed."""
    of, made = SETS[data], METHODS[method](0, load_dataset(data))
    several = made if isinstance(made, dict) else {"default": made}
    parameters = {name: parameters_of(each) for name, each in several.items()}
    first, judge = next(iter(several.values())), of.judge
    if isinstance(first, GraphKernel):
        judge = "svm" if of.judge == "svm-rbf" else "ridge"
    elif isinstance(first, LocalTopologicalProfile | Fingerprints):
        judge = "forest"  # as their authors have it
    settings = {"data": data, "method": method, "seed": seed, "judge": judge, "scoring": of.scoring}
    settings |= {"folds": of.folds, "estimator": type(first).__name__}
    settings["parameters"] = parameters.get("default", parameters)
    return Cell("vectors", f"{data} {method} {seed}", settings)


def compute_vectors(cell: Cell, work: Path, *, watchers: Sequence[Watcher] = ()) -> Result:
    """Represent all graphs of a set, and judge that."""
    settings = cell.settings
    of, seed = SETS[settings["data"]], settings["seed"]
    graphs, targets, groups = of.load()
    made, began = METHODS[settings["method"]](seed, graphs), time.perf_counter()
    models = made if isinstance(made, dict) else {"default": made}
    try:
        values = {name: represent(model, graphs) for name, model in models.items()}
    except InfoGraphError as error:
        if not blames_method(error):
            raise
        return {"empty": " ".join(str(error).split())}
    middle = time.perf_counter()
    evaluation = cross_validate(
        values,
        targets,
        classifiers=settings["judge"],
        scoring=of.scoring,
        groups=groups,
        repeats=1,
        folds=of.folds,
        inner_folds=5 if of.judge == "svm-rbf" else 3,
        random_state=seed,
    )
    took = {"represent_seconds": middle - began, "evaluate_seconds": time.perf_counter() - middle}
    history = getattr(made, "history_", [])
    return {"evaluation": evaluation.to_dict(), "history": history[-1:], "measured": took}
