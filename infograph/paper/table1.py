"""Table 1: accuracy of unsupervised methods, by data set, setting and repeat; and variants of these."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import product
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from infograph.baselines.references import LabelHistogram
from infograph.cells import Cell, Result, parameters_of
from infograph.data.datasets import load_dataset
from infograph.data.graphset import GraphSet
from infograph.errors import InfoGraphError
from infograph.estimators.base import GraphTransformer
from infograph.evaluate import Evaluation, PairedTest, cross_validate, merge, paired_test
from infograph.evaluate.methods import METHODS as COMPARED
from infograph.evaluate.methods import Method, blames_method, represent
from infograph.evaluate.published import Figure, paper_table1
from infograph.io import read_json, replaced_file
from infograph.parameters import changed
from infograph.progress import Watcher
from infograph.train.checkpoint import FILE

Interval = tuple[float, float]
LATER = ("wl-oa", "ltp", "infograph-paper")  # not in the paper
METHODS = {name: method for name, method in COMPARED.items() if name not in LATER}
METHODS["nodes"] = Method("nodes", "number of nodes", {"default": lambda seed: LabelHistogram(())})
PATHS, DEGREES = "dgk-paths", "dgk-degrees"  # rows of their own: the paper has the best of the others
REPEATS, FOLDS, INNER_FOLDS = 5, 10, 5
SMALL = ("MUTAG", "PTC_MR", "IMDB-BINARY", "IMDB-MULTI")
LABELLED = SMALL[:2]  # the sets with node labels
REDUCED = {
    "REDDIT-BINARY": ("layers=4 lr=0.001", "layers=4 lr=0.0001"),
    "REDDIT-MULTI-5K": ("layers=4 lr=0.001",),
}  # InfoGraph's settings where a training takes minutes, fixed before anything was run there
REDUCED_EPOCHS = (10, 20)
CONFIDENCE = 0.95  # of intervals
TRAINED, UNTRAINED = "infograph", "untrained"


def row_titles() -> dict[str, str]:
    """The rows of Table 1, in order."""
    found = {}
    for name, method in METHODS.items():
        found[name] = method.title
        if name == "dgk":
            found |= {DEGREES: "DGK, degrees as labels", PATHS: "DGK, shortest paths"}
    return found


def row_of(settings: Mapping[str, Any]) -> str:
    """The row that a cell belongs to: its method, or one of the two others of deep graph kernels.

    The paper takes the best of subtrees, graphlets and walks. Without node labels, subtrees and walks count
    degrees, which the kernel's authors do not.
    """
    method, kind = settings["method"], settings["setting"].partition(" ")[0].removeprefix("structure=")
    if method != "dgk":
        return str(method)
    if kind == "shortest-path":
        return PATHS
    return "dgk" if kind == "graphlet" or settings["data"] in LABELLED else DEGREES


@dataclass(frozen=True)
class Variant:
    """One thing changed in a setting of Table 1.

    Variants were thought of after the grid of Table 1 was fixed: their figures stand beside it, never in it.
    """

    title: str
    parameters: dict[str, Any] = field(default_factory=dict)  # of the estimator
    judging: dict[str, Any] = field(default_factory=dict)  # of `cross_validate`
    data: tuple[str, ...] = SMALL  # where it makes a difference
    epochs: tuple[int, ...] = ()  # where the training run is looked at; none for those of Table 1
    method: str = TRAINED  # with the setting BASES has for it

    def make(self, seed: int) -> GraphTransformer:
        """The estimator, not fitted."""
        return changed(METHODS[self.method].searched[BASES[self.method]](seed), self.parameters)


BASES = {TRAINED: "layers=4 lr=0.001", "gk": "size=4 normalise=True"}  # method -> a setting of Table 1
VARIANTS = {
    "unscaled": Variant("vectors not standardised", judging={"scale": False}),
    "linear": Variant("a linear support vector machine", judging={"classifiers": "svm-linear"}),
    "node": Variant("a weight per node instead of per graph", {"weighting": "node"}),
    "conditioned": Variant("the conditioned discriminator", {"discriminator": "conditioned"}),
    "mean": Variant("mean readout", {"readout": "mean"}),
    "degree": Variant(
        "degrees as node features", {"node_features": "degree"}, data=("IMDB-BINARY", "IMDB-MULTI")
    ),
    "edges": Variant("edge labels (GINE)", {"edge_columns": ["label"]}, data=("MUTAG", "PTC_MR")),
    "batch 32": Variant("batches of 32 graphs", {"batch_size": 32}),
    "dim 128": Variant("vectors of 128 numbers", {"dim": 128}),
    "every epoch": Variant("judged after each of the first 20 epochs", epochs=tuple(range(1, 21))),
    "connected": Variant("connected graphlets only", {"connected_only": True}, method="gk"),
}


def table1_cells(
    data: Sequence[str] = SMALL,
    methods: Sequence[str] = tuple(METHODS),
    repeats: Sequence[int] = range(REPEATS),
) -> list[Cell]:
    """The cells of some columns and rows: one per setting and repeat, the first repeat of all first.

    With it come all repeats of methods that draw nothing: these differ in their folds alone.
    """
    cells = []
    for repeat, name, each in product(repeats, data, methods):
        method = METHODS[each]
        if not method.random and repeat != repeats[0]:
            continue
        if each == TRAINED and name in REDUCED:
            grid = {setting: method.searched[setting] for setting in REDUCED[name]}
            method = replace(method, grid=grid, epochs=REDUCED_EPOCHS)
        turns = [repeat] if method.random else repeats
        cells += [table1_cell(name, method, setting, turn) for setting in method.searched for turn in turns]
    return cells


def variant_cells(
    data: Sequence[str] = SMALL,
    names: Sequence[str] = tuple(VARIANTS),
    repeats: Sequence[int] = range(REPEATS),
) -> list[Cell]:
    """The cells of some variants, the first repeat of all first."""
    places = product(repeats, data, names)
    return [variant_cell(one, name, repeat) for repeat, one, name in places if one in VARIANTS[name].data]


def table1_cell(data: str, method: Method, setting: str, repeat: int) -> Cell:
    """One cell: a method with one setting, made and judged with the seed `repeat`.

    A method that is trained has a figure after each of its `epochs`, from one run.
    """
    settings = _settings(data, method.name, setting, repeat, method.searched[setting](0), method.epochs)
    return Cell("table1", f"{data} {method.name} {setting} {repeat}", settings)


def variant_cell(data: str, name: str, repeat: int) -> Cell:
    """One variant on one data set, made and judged with the seed `repeat`."""
    variant = VARIANTS[name]
    epochs = variant.epochs or METHODS[variant.method].epochs
    settings = _settings(data, name, name, repeat, variant.make(0), epochs)
    return Cell("variants", f"{data} {name} {repeat}", {**settings, "judging": variant.judging})


def _settings(
    data: str, method: str, setting: str, repeat: int, estimator: GraphTransformer, epochs: Sequence[int]
) -> dict[str, Any]:
    settings: dict[str, Any] = {"data": data, "method": method, "setting": setting, "repeat": repeat}
    settings |= {"folds": FOLDS, "inner_folds": INNER_FOLDS, "parameters": parameters_of(estimator)}
    if epochs:
        settings["epochs"] = list(epochs)
        del settings["parameters"]["epochs"]
    return settings


def compute_table1(cell: Cell, work: Path, *, watchers: Sequence[Watcher] = ()) -> Result:
    """Represent all graphs, and judge that with the folds of this repeat; for variants, too.

    "empty" has the reason where a method cannot do it, as where training diverges. Where it diverges after
    some of the epochs were judged, those stay, and "lacking" has the reason why the others are missing.
    Errors that say nothing of the method (`blames_method`), such as a missing package, are raised. A run of
    20 epochs goes on from the checkpoint of that of 10 in `work`, to the weights that it would have alone.
    """
    of, setting = cell.settings, cell.settings["setting"]
    make = VARIANTS[setting].make if cell.table == "variants" else METHODS[of["method"]].searched[setting]
    estimator, graphs = make(of["repeat"]), load_dataset(of["data"])
    evaluations, took = [], {"represent_seconds": 0.0, "evaluate_seconds": 0.0}
    history: list[dict[str, float]] = []
    reason = ""
    for epochs in of.get("epochs", [None]):
        kept, name, training = work / f"{epochs}.json", setting, {}
        if epochs is not None:
            name = f"{setting} epochs={epochs}"
            estimator.set_params(epochs=epochs)
            training = {"checkpoint": work, "resume": (work / FILE).is_file(), "watchers": watchers}
        if not kept.is_file():
            try:
                if cell.table == "variants" or METHODS[of["method"]].random:
                    values, seconds = _represented(estimator, graphs, **training)
                else:
                    values, seconds = _always_alike(of["data"], of["method"], setting)
            except InfoGraphError as error:
                if not blames_method(error):
                    raise
                reason = " ".join(str(error).split())
                break
            middle = time.perf_counter()
            judging = {"folds": of["folds"], "inner_folds": of["inner_folds"], **of.get("judging", {})}
            evaluation = cross_validate(
                {name: values}, graphs.graph["y"], repeats=1, random_state=of["repeat"], **judging
            )
            history = without_times(estimator.history_) if training else []
            with replaced_file(kept) as partial:
                partial.write_text(json.dumps({"evaluation": evaluation.to_dict(), "history": history}))
            took["represent_seconds"] += seconds
            took["evaluate_seconds"] += time.perf_counter() - middle
        record = read_json(kept)
        evaluations.append(Evaluation.from_dict(record["evaluation"]))
        history = record["history"]
    if not evaluations:
        return {"empty": reason, "evaluation": None, "history": history}
    measured = {name: round(value, 2) for name, value in took.items()}
    lacking = {"lacking": reason} if reason else {}
    whole = merge(evaluations).to_dict()
    return {"empty": "", **lacking, "evaluation": whole, "history": history, "measured": measured}


@lru_cache(maxsize=1)
def _always_alike(data: str, method: str, setting: str) -> tuple[Any, float]:
    """What a method that draws nothing makes of a data set: once for all repeats."""
    return _represented(METHODS[method].searched[setting](0), load_dataset(data))


def _represented(estimator: GraphTransformer, graphs: GraphSet, **training: Any) -> tuple[Any, float]:
    began = time.perf_counter()
    return represent(estimator, graphs, **training), time.perf_counter() - began


def without_times(history: Iterable[Mapping[str, float]]) -> list[dict[str, float]]:
    """A history as results keep it: what another machine would have, too."""
    return [{name: value for name, value in epoch.items() if "second" not in name} for epoch in history]


def collect(results: Iterable[Result]) -> Evaluation | None:
    """One evaluation of a method on a data set, from the cells that are there.

    Settings that lack a repeat which others have, or that could not be computed, are left out; so is a number
    of epochs that the training of one repeat did not reach.
    """
    parts = [Evaluation.from_dict(result["evaluation"]) for result in results if not result["empty"]]
    repeats: dict[str, set[int]] = {}
    for part in parts:
        for candidate in part.candidates:
            repeats.setdefault(candidate.setting, set()).add(part.seeds[0])
    seeds = {part.seeds[0] for part in parts}
    whole = {setting for setting, found in repeats.items() if found == seeds}
    kept = [part for part in parts if whole & {candidate.setting for candidate in part.candidates}]
    return merge(part.select(settings=whole) for part in kept) if kept else None


def group(results: Iterable[Result]) -> dict[tuple[str, str], list[Result]]:
    """Results by data set and row, both in the order they come."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result["settings"]["data"], row_of(result["settings"])), []).append(result)
    return groups


@dataclass(frozen=True, eq=False)
class Accuracy:
    """A method or a variant on a data set. Figures are in per cent."""

    data: str
    title: str  # the method as the paper spells it, or the variant
    found: tuple[Result, ...]  # the result files that are there, those without a figure too
    evaluation: Evaluation | None  # what they give together
    planned: int  # how many settings a whole search has, epochs multiplied out

    @cached_property
    def leak_free(self) -> Figure | None:
        """Mean and deviation over repeats, all chosen on inner folds; the deviation of one repeat is NaN."""
        return None if self.evaluation is None else self.evaluation.leak_free().in_table[:2]

    @cached_property
    def ours(self) -> Figure | None:
        """The same by the paper's protocol: the best setting on the test folds."""
        return None if self.evaluation is None else self.evaluation.paper().in_table[:2]

    @property
    def published(self) -> Figure | str | None:
        """The paper's figure, its reason for having none, or None."""
        return paper_table1().rows.get(self.title, {}).get(self.data)

    @property
    def difference(self) -> float | None:
        """Ours by the paper's protocol minus the paper's."""
        if self.ours is None or not isinstance(self.published, tuple):
            return None
        return self.ours[0] - self.published[0]

    @property
    def interval(self) -> Interval | None:
        """Of our mean by the paper's protocol, over repeats; none of one repeat."""
        if self.evaluation is None or len(self.evaluation.seeds) < 2:
            return None
        return seed_interval([100 * mean(scores) for scores in self.evaluation.paper().fold_scores])

    @property
    def inside(self) -> bool:
        """Whether the paper's value lies inside our interval."""
        if self.interval is None or not isinstance(self.published, tuple):
            return False
        return self.interval[0] <= self.published[0] <= self.interval[1]

    @property
    def best(self) -> str:
        """The setting that the figure by the paper's protocol is of."""
        if self.evaluation is None:
            return ""
        return max(self.evaluation.candidates, key=lambda each: float(each.chosen_outer.mean())).setting

    @property
    def stopped(self) -> tuple[int, int]:
        """How many fits of support vector machines reached their bound, and of how many."""
        known = self.evaluation.candidates if self.evaluation else ()
        fits = sum(each.stopped.size * (INNER_FOLDS + 1) for each in known)
        return sum(int(each.stopped.sum()) for each in known), fits

    @property
    def lacks(self) -> list[str]:
        """How much less than planned a figure is of, such as "3 of 5 repeats"."""
        if self.evaluation is None:
            return []
        settings = {candidate.setting for candidate in self.evaluation.candidates}
        pairs = ((len(self.evaluation.seeds), REPEATS, "repeats"), (len(settings), self.planned, "settings"))
        return [f"{n} of {planned} {what}" for n, planned, what in pairs if n < planned]

    @property
    def reason(self) -> str:
        """Why nothing could be computed, if that was tried."""
        reasons = (each["empty"] or each.get("lacking", "") for each in self.found)
        return next((str(each) for each in reasons if each), "") if self.evaluation is None else ""


def seed_interval(values: ArrayLike) -> Interval:
    """Student's interval of the mean of a figure that every seed gave once."""
    found = np.asarray(values, dtype=np.float64)
    reach = float(stdtrit(len(found) - 1, (1 + CONFIDENCE) / 2)) * found.std(ddof=1) / math.sqrt(len(found))
    return float(found.mean() - reach), float(found.mean() + reach)


Table1 = dict[tuple[str, str], Accuracy]  # (data set, method or variant) -> its figures


def read_table1(results: Path) -> Table1:
    """All of Table 1, by data set and method in the paper's order; what was not run is empty.

    Only results of the planned settings count. Repeats that lack a setting are left out while another one
    has them all, for else the search would shrink to what all repeats have.
    """
    return {
        (data, name): _read(data, title, _cells_of(data, name), results)
        for data in paper_table1().datasets
        for name, title in row_titles().items()
    }


def _cells_of(data: str, row: str) -> list[Cell]:
    cells = table1_cells([data], [row if row in METHODS else "dgk"])
    return [cell for cell in cells if row_of(cell.settings) == row]


def read_variants(results: Path) -> Table1:
    """All variants where they make a difference, and what they are variants of."""
    table = {}
    for data in SMALL:
        for name, setting in BASES.items():
            method = METHODS[name]
            base = [table1_cell(data, method, setting, repeat) for repeat in range(REPEATS)]
            table[data, name] = _read(data, method.title, base, results)
        for name, variant in VARIANTS.items():
            if data in variant.data:
                table[data, name] = _read(data, variant.title, variant_cells([data], [name]), results)
    return table


def _read(data: str, title: str, cells: Sequence[Cell], results: Path) -> Accuracy:
    found = tuple(result for cell in cells if (result := cell.read(results)) is not None)
    n_settings = len({cell.settings["setting"] for cell in cells})
    times = Counter(result["settings"]["repeat"] for result in found)
    whole = [result for result in found if times[result["settings"]["repeat"]] == n_settings]
    planned = sum(len(cell.settings.get("epochs", [None])) for cell in cells[:n_settings])
    return Accuracy(data, title, found, collect(whole or found), planned)


def majority(table: Table1, data: str) -> float | None:
    """The accuracy of always answering the largest class of a data set, if any result tells it."""
    known = (cell.evaluation for (column, _), cell in table.items() if column == data and cell.evaluation)
    return next((100 * evaluation.plan.majority for evaluation in known), None)


def against_untrained(table: Table1) -> dict[str, tuple[PairedTest, int]]:
    """InfoGraph minus the untrained encoder, leak-free, by data set: the test, and of how many repeats it is.

    Data sets where one has no results are left out.
    """
    pairs = {data: [table[data, name] for name in (TRAINED, UNTRAINED)] for data in paper_table1().datasets}
    tests = {data: paired(*pair) for data, pair in pairs.items()}
    return {data: test for data, test in tests.items() if test is not None}


def paired(a: Accuracy, b: Accuracy) -> tuple[PairedTest, int] | None:
    """The test of a minus b, leak-free, on the repeats that both have, and how many these are."""
    seeds = [set(cell.evaluation.seeds if cell.evaluation else ()) for cell in (a, b)]
    shared = seeds[0] & seeds[1]
    first, second = (
        collect(result for result in cell.found if result["settings"]["repeat"] in shared) for cell in (a, b)
    )
    return None if first is None or second is None else (paired_test(first, second), len(shared))
