"""What vectors are worth: defaults, candidates and references on fourteen sets, judged by one rule.

docs/choosing_defaults.md was written before anything here was run: sets, folds and judges are those of its
table. A cell is one method on one set with one seed, of its weights and of its folds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.graph2vec import Graph2Vec
from infograph.baselines.wl import WeisfeilerLehman
from infograph.cells import Cell, Result, parameters_of
from infograph.data.datasets import load_dataset
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.splits import scaffold_groups
from infograph.errors import InfoGraphError
from infograph.estimators.architecture import GIN
from infograph.estimators.infograph import InfoGraph, UntrainedGIN
from infograph.evaluate import Evaluation, cross_validate, merge, paired_test
from infograph.evaluate.compare import blames_method, represent
from infograph.evaluate.judges import SCORINGS
from infograph.objectives.infograph import MutualInformation
from infograph.paper.candidates import Averaged, Masked, Views
from infograph.progress import Watcher
from infograph.train.loop import Cosine

CHOOSING_SEEDS, REPORT_SEEDS = range(100, 105), range(10)
LEVEL = 0.05


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
Make = Callable[[int, GraphSet], Any]  # seed, graphs -> an estimator


def _trained(
    gin: Mapping[str, Any] | None = None,
    cls: type[InfoGraph] = InfoGraph,
    degrees: bool = False,
    edges: bool = False,
    objective: type[MutualInformation] = MutualInformation,
    more: Mapping[str, Any] | None = None,
    **information: Any,
) -> Make:
    """The paper's settings with these changed."""

    def make(seed: int, graphs: GraphSet) -> InfoGraph:
        encoder = GIN(**(gin or {}))
        if degrees and not graphs.schema.features("node"):
            encoder.node_features = "degrees"
        labels = [c.name for c in graphs.schema.edge if c.kind == "categorical"] if edges else []
        columns = {"edge_columns": labels} if labels else {}
        goal = objective(**information)
        return cls.paper(encoder=encoder, objective=goal, random_state=seed, **columns, **(more or {}))

    return make


def _untrained(**given: Any) -> Make:
    trained = _trained(**given)

    def make(seed: int, graphs: GraphSet) -> UntrainedGIN:
        model = trained(seed, graphs)
        return UntrainedGIN(encoder=model.encoder, edge_columns=model.edge_columns, random_state=seed)

    return make


_BEST: dict[str, Any] = {"discriminator": "conditioned", "bound": "infonce"}  # of round A1
IDEAS: dict[str, dict[str, Any]] = {  # of round A2, each alone on top of it
    "joined": {"gin": {"readout": "joined"}},
    "log": {"gin": {"readout": "log"}},
    "degrees": {"degrees": True},
    "edges": {"edges": True},
    "views": {"objective": Views},
    "colours": {"colours": 1.0},
    "masked": {"objective": Masked},
    "rate to 0": {"more": {"schedule": Cosine()}},
    "averaged": {"cls": Averaged},
}
CANDIDATES: dict[str, Make] = {
    "untrained": _untrained(),
    "untrained joined": _untrained(gin={"readout": "joined"}),
    "untrained log": _untrained(gin={"readout": "log"}),
    "untrained degrees": _untrained(degrees=True),
    "untrained edges": _untrained(edges=True),
    "paper": _trained(),
    "conditioned": _trained(discriminator="conditioned"),
    "conditioned dv": _trained(discriminator="conditioned", bound="dv"),
    "conditioned infonce": _trained(discriminator="conditioned", bound="infonce"),
    "cosine infonce": _trained(discriminator="cosine", bound="infonce"),
    **{f"+ {name}": _trained(**_BEST, **idea) for name, idea in IDEAS.items()},
}
REFERENCES: dict[str, Make] = {
    "wl": lambda seed, graphs: WeisfeilerLehman(normalise=True),
    "graph2vec": lambda seed, graphs: Graph2Vec(random_state=seed),
}
METHODS = {**CANDIDATES, **REFERENCES}


def vector_cells(data: Sequence[str], methods: Sequence[str], seeds: Sequence[int]) -> list[Cell]:
    """The cells, the first seed of all first."""
    return [vector_cell(name, method, seed) for seed, name, method in product(seeds, data, methods)]


def vector_cell(data: str, method: str, seed: int) -> Cell:
    """One method on one set with one seed."""
    of = SETS[data]
    made = METHODS[method](0, load_dataset(data))
    settings = {"data": data, "method": method, "seed": seed, "judge": of.judge, "scoring": of.scoring}
    settings |= {"folds": of.folds, "estimator": type(made).__name__, "parameters": parameters_of(made)}
    return Cell("vectors", f"{data} {method} {seed}", settings)


def compute_vectors(cell: Cell, work: Path, *, watchers: Sequence[Watcher] = ()) -> Result:
    """Represent all graphs of a set, and judge that."""
    settings = cell.settings
    of, seed = SETS[settings["data"]], settings["seed"]
    graphs, targets, groups = of.load()
    model, began = METHODS[settings["method"]](seed, graphs), time.perf_counter()
    try:
        values = represent(model, graphs)
    except InfoGraphError as error:
        if not blames_method(error):
            raise
        return {"empty": " ".join(str(error).split())}
    middle = time.perf_counter()
    judge = "svm" if hasattr(values, "matrix") else of.judge
    evaluation = cross_validate(
        values,
        targets,
        classifiers=judge,
        scoring=of.scoring,
        groups=groups,
        repeats=1,
        folds=of.folds,
        inner_folds=5 if of.judge == "svm-rbf" else 3,
        random_state=seed,
    )
    took = {"represent_seconds": middle - began, "evaluate_seconds": time.perf_counter() - middle}
    history = getattr(model, "history_", [])
    return {"evaluation": evaluation.to_dict(), "history": history[-1:], "measured": took}


# ---- what decides


@dataclass(frozen=True)
class Duel:
    """A candidate against the better untrained encoder on one set, over some seeds."""

    data: str
    candidate: str
    reference: str  # which untrained encoder
    mean: float  # of the candidate, in per cent where that is usual
    other: float
    gain: float  # better by so much; relative for errors
    p_value: float  # after Holm's correction over the candidates of the round

    @property
    def verdict(self) -> int:
        """1 for a win, -1 for a loss, 0 where the folds cannot tell."""
        return int(np.sign(self.gain)) if self.p_value < LEVEL else 0


def evaluation_of(results: Path, data: str, method: str, seeds: Sequence[int]) -> Evaluation | None:
    """The evaluation of a method on a set over some seeds; None where one is missing."""
    found = [vector_cell(data, method, seed).read(results) for seed in seeds]
    if any(each is None or "evaluation" not in each for each in found):
        return None
    return merge(Evaluation.from_dict(each["evaluation"]) for each in found if each is not None)


def duels(results: Path, data: str, candidates: Mapping[str, str], seeds: Sequence[int]) -> list[Duel]:
    """Candidates, each with the name of its own untrained encoder, on one set by the rule of the protocol."""
    known = {
        name: evaluation_of(results, data, name, seeds)
        for name in {*candidates, *candidates.values(), "untrained"}
    }
    found = []
    for name, own in candidates.items():
        mine = known[name]
        others = {each: known[each] for each in dict.fromkeys((own, "untrained"))}
        if mine is None or None in others.values():
            continue
        lower = SCORINGS[mine.scoring].lower
        reference = (min if lower else max)(others, key=lambda each: others[each].mean)  # type: ignore[union-attr]
        other = others[reference]
        assert other is not None
        test = paired_test(mine, other)
        gain = test.difference / other.mean if lower else test.difference
        own_mean, mean = (score.leak_free().in_table[0] for score in (mine, other))
        found.append(Duel(data, name, reference, own_mean, mean, gain, test.p_value))
    adjusted = holm([each.p_value for each in found])
    return [replace(each, p_value=p) for each, p in zip(found, adjusted, strict=True)]


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: the k-th smallest of n is multiplied with n - k + 1, and never falls."""
    order = np.argsort(p_values)
    adjusted, largest = [1.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, p_values[place] * (len(p_values) - rank)))
        adjusted[place] = largest
    return adjusted
