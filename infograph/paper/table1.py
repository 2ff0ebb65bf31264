"""Table 1: accuracy of unsupervised methods, by data set, setting and repeat; and variants of it."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from infograph.cells import Cell, Result, parameters_of
from infograph.data.datasets import load_dataset
from infograph.data.graphset import GraphSet
from infograph.errors import InfoGraphError
from infograph.estimators.base import GraphTransformer
from infograph.evaluate import Evaluation, Gram, cross_validate, merge
from infograph.evaluate.compare import METHODS, Method, blames_method, represent
from infograph.evaluate.evaluation import PairedTest, Score, paired_test
from infograph.evaluate.published import Figure, paper_table1
from infograph.io import read_json, replaced_file
from infograph.progress import Watcher
from infograph.train.checkpoint import FILE

REPEATS, FOLDS, INNER_FOLDS = 5, 10, 5
SMALL = ("MUTAG", "PTC_MR", "IMDB-BINARY", "IMDB-MULTI")
REDUCED = {
    "REDDIT-BINARY": ("layers=4 lr=0.001", "layers=4 lr=0.0001"),
    "REDDIT-MULTI-5K": ("layers=4 lr=0.001",),
}  # InfoGraph's settings where a training takes minutes, fixed before anything was run there
REDUCED_EPOCHS = (10, 20)
REACH = 2  # deviations over repeats on either side of the mean: the interval
TRAINED, UNTRAINED = "infograph", "untrained"
ALPHA = 0.05  # of significance
LEAST = 0.001  # p-values below it are not told apart
BASES = {"infograph": "layers=4 lr=0.001", "gk": "size=4 normalise=True"}  # method -> a setting of Table 1
UNLABELLED = ("IMDB-BINARY", "IMDB-MULTI")  # no node labels
# (data set, variant, or method for its base) -> what was found
Variants = dict[tuple[str, str], Evaluation | None]


def table1_cells(
    data: Sequence[str] = SMALL,
    methods: Sequence[str] = tuple(METHODS),
    repeats: Sequence[int] = range(REPEATS),
) -> list[Cell]:
    """The cells of some columns and rows: one per setting and repeat, the first repeat of all first."""
    return [
        table1_cell(name, method, setting, repeat)
        for repeat in repeats
        for name in data
        for method in (searched_on(name, each) for each in methods)
        for setting in method.searched
    ]


def searched_on(data: str, name: str) -> Method:
    """A method with the settings and epochs that are searched on a data set."""
    method = METHODS[name]
    if name != "infograph" or data not in REDUCED:
        return method
    grid = {setting: method.searched[setting] for setting in REDUCED[data]}
    return replace(method, grid=grid, epochs=REDUCED_EPOCHS)


def table1_cell(data: str, method: Method, setting: str, repeat: int, table: str = "table1") -> Cell:
    """One cell: a method with one setting, made and judged with the seed `repeat`.

    A method that is trained has a figure after each of its `epochs`, from one run.
    """
    settings: dict[str, Any] = {
        "data": data,
        "method": method.name,
        "setting": setting,
        "repeat": repeat,
        "folds": FOLDS,
        "inner_folds": INNER_FOLDS,
        "parameters": parameters_of(method.searched[setting](0)),
    }
    if method.epochs:
        settings["epochs"] = list(method.epochs)
        del settings["parameters"]["epochs"]
    return Cell(table, f"{data} {method.name} {setting} {repeat}", settings)


def compute_table1(cell: Cell, work: Path, *, watchers: Sequence[Watcher] = ()) -> Result:
    """Represent all graphs, and judge that with the folds of this repeat."""
    settings = cell.settings
    make = METHODS[settings["method"]].searched[settings["setting"]]
    return judged(make(settings["repeat"]), settings, work, watchers)


def judged(
    estimator: GraphTransformer,
    settings: dict[str, Any],
    work: Path,
    watchers: Sequence[Watcher] = (),
    **judging: Any,
) -> Result:
    """The result of a cell: what an estimator makes of a data set, and its scores.

    "empty" has the reason where a method cannot do it, as where training diverges. Where it diverges after
    some of the epochs were judged, those stay, and "lacking" has the reason why the others are missing.

    Args:
        estimator: with its seed, not fitted.
        settings: of the cell.
        work: its folder; scores after some epochs wait there for the others.
        watchers: of the training.
        judging: further arguments of `cross_validate`.

    Raises:
        InfoGraphError: what says nothing of the method (`blames_method`), such as a missing package.
    """
    graphs = load_dataset(settings["data"])
    evaluations, took = [], {"represent_seconds": 0.0, "evaluate_seconds": 0.0}
    history: list[dict[str, float]] = []
    reason = ""
    for epochs in settings.get("epochs", [None]):
        kept = work / f"{epochs}.json"
        if not kept.is_file():
            began = time.perf_counter()
            try:
                values, history = _represent(estimator, graphs, epochs, work, watchers)
            except InfoGraphError as error:
                if not blames_method(error):
                    raise
                reason = " ".join(str(error).split())
                break
            middle = time.perf_counter()
            evaluation = _judge(values, graphs, settings, epochs, judging)
            with replaced_file(kept) as partial:
                partial.write_text(json.dumps({"evaluation": evaluation.to_dict(), "history": history}))
            took["represent_seconds"] += middle - began
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


def _represent(
    estimator: GraphTransformer, graphs: GraphSet, epochs: int | None, work: Path, watchers: Sequence[Watcher]
) -> tuple[NDArray[Any] | Gram, list[dict[str, float]]]:
    """Vectors (G, D) or a Gram matrix, and the history of a training.

    A run of 20 epochs goes on from the checkpoint of the one of 10, to the weights that it would have alone.
    """
    if epochs is None:
        return represent(estimator, graphs), []
    began = (work / FILE).is_file()
    estimator.set_params(epochs=epochs)
    vectors = represent(estimator, graphs, checkpoint=work, resume=began, watchers=watchers)
    return vectors, [{k: v for k, v in e.items() if "second" not in k} for e in estimator.history_]


def _judge(
    values: NDArray[Any] | Gram,
    graphs: GraphSet,
    settings: dict[str, Any],
    epochs: int | None,
    judging: dict[str, Any],
) -> Evaluation:
    name = settings["setting"] if epochs is None else f"{settings['setting']} epochs={epochs}"
    return cross_validate(
        {name: values},
        graphs.graph["y"],
        repeats=1,
        folds=settings["folds"],
        inner_folds=settings["inner_folds"],
        random_state=settings["repeat"],
        **judging,
    )


def collect(results: Iterable[Result]) -> Evaluation | None:
    """One evaluation of a method on a data set, from the cells that are there.

    Settings that lack a repeat which others have, or that could not be computed, are left out; so is a number
    of epochs that the training of one repeat did not reach.
    """
    parts = [Evaluation.from_dict(result["evaluation"]) for result in results if not result["empty"]]
    seeds = {part.seeds[0] for part in parts}
    repeats: dict[str, set[int]] = {}
    for part in parts:
        for candidate in part.candidates:
            repeats.setdefault(candidate.setting, set()).add(part.seeds[0])
    whole = [setting for setting, found in repeats.items() if found == seeds]
    kept = [
        part.select(settings=whole)
        for part in parts
        if any(candidate.setting in whole for candidate in part.candidates)
    ]
    return merge(kept) if kept else None


def group(results: Iterable[Result]) -> dict[tuple[str, str], list[Result]]:
    """Results by data set and method, both in the order they come."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result["settings"]["data"], result["settings"]["method"]), []).append(result)
    return groups


@dataclass(frozen=True, eq=False)
class Accuracy:
    """One cell of Table 1. Figures are in per cent.

    Attributes:
        data, method: the column, and the row's name in METHODS.
        found: the result files that are there, those without a figure too.
        evaluation: what they give together; None where there is nothing.
        planned: how many settings a whole search has, epochs multiplied out.
    """

    data: str
    method: str
    found: tuple[Result, ...]
    evaluation: Evaluation | None
    planned: int

    @property
    def title(self) -> str:
        """The method as the paper spells it."""
        return METHODS[self.method].title

    @cached_property
    def leak_free(self) -> Figure | None:
        """Mean and deviation over repeats, all chosen on inner folds; the deviation of one repeat is NaN."""
        return None if self.evaluation is None else _percent(self.evaluation.leak_free())

    @cached_property
    def ours(self) -> Figure | None:
        """The same by the paper's protocol: the best setting on the test folds."""
        return None if self.evaluation is None else _percent(self.evaluation.paper())

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
    def inside(self) -> bool:
        """Whether the paper's value lies inside our interval; no single repeat has one."""
        if self.difference is None or self.ours is None or math.isnan(self.ours[1]):
            return False
        return abs(self.difference) <= REACH * self.ours[1]

    @property
    def repeats(self) -> int:
        """How many repeats the figures are of."""
        return 0 if self.evaluation is None else len(self.evaluation.seeds)

    @property
    def settings(self) -> int:
        """How many settings took part."""
        if self.evaluation is None:
            return 0
        return len({candidate.setting for candidate in self.evaluation.candidates})

    @property
    def lacks(self) -> list[str]:
        """How much less than planned a figure is of, such as "3 of 5 repeats"."""
        pairs = ((self.repeats, REPEATS, "repeats"), (self.settings, self.planned, "settings"))
        return [] if self.evaluation is None else [f"{n} of {of} {what}" for n, of, what in pairs if n < of]

    @property
    def reason(self) -> str:
        """Why nothing could be computed, if that was tried."""
        reasons = (each["empty"] or each.get("lacking", "") for each in self.found)
        return next((str(each) for each in reasons if each), "") if self.evaluation is None else ""

    def of_repeats(self, seeds: Collection[int]) -> Evaluation | None:
        """The evaluation of these repeats only."""
        return collect(result for result in self.found if result["settings"]["repeat"] in seeds)


Table1 = dict[tuple[str, str], Accuracy]  # (data set, method) -> its cell


def read_table1(results: Path) -> Table1:
    """All cells of Table 1, by data set and method in the paper's order; those that were not run are empty.

    Only results of the planned settings count. Repeats that lack a setting are left out while another one
    has them all, for else the search would shrink to what all repeats have.
    """
    table = {}
    for data in paper_table1().datasets:
        for name in METHODS:
            method = searched_on(data, name)
            cells = table1_cells([data], [name])
            found = tuple(_read(cells, results))
            planned = len(method.searched) * max(len(method.epochs), 1)
            table[data, name] = Accuracy(
                data, name, found, collect(_whole(found, len(method.searched))), planned
            )
    return table


def majority(table: Table1, data: str) -> float | None:
    """The accuracy of always answering the largest class of a data set, if any result tells it."""
    for (column, _), cell in table.items():
        if column == data and cell.evaluation is not None:
            return 100 * cell.evaluation.plan.majority
    return None


def _read(cells: Sequence[Cell], results: Path) -> Iterator[Result]:
    for cell in cells:
        result = cell.read(results)
        if result is not None:
            yield result


def _whole(found: Sequence[Result], n_settings: int) -> list[Result]:
    """The results of the repeats that have all settings; all results where no repeat has."""
    repeats: dict[int, list[Result]] = {}
    for result in found:
        repeats.setdefault(result["settings"]["repeat"], []).append(result)
    whole = [result for results in repeats.values() if len(results) == n_settings for result in results]
    return whole or list(found)


def _percent(score: Score) -> Figure:
    return 100 * score.mean, 100 * score.std


@dataclass(frozen=True)
class Versus:
    """One data set: the test, and of how many repeats it is."""

    data: str
    test: PairedTest
    repeats: int

    @property
    def p(self) -> str:
        """The p-value: "0.031", or "below 0.001"."""
        return f"{self.test.p_value:.3f}" if self.test.p_value >= LEAST else f"below {LEAST}"

    @property
    def change(self) -> str:
        """The difference and its p-value: "+1.5 points, p = 0.713"."""
        p = self.p if self.p.startswith("below") else f"= {self.p}"
        return f"{100 * self.test.difference:+.1f} points, p {p}"

    @property
    def verdict(self) -> str:
        """In a word."""
        if self.test.p_value >= ALPHA:
            return "no difference found"
        return "better" if self.test.difference > 0 else "worse"


def against_untrained(table: Table1) -> list[Versus]:
    """InfoGraph minus the untrained encoder, leak-free, for data sets that have both; shared repeats only."""
    rows = []
    for data in paper_table1().datasets:
        pair = [table[data, method] for method in (TRAINED, UNTRAINED)]
        seeds = [set(() if cell.evaluation is None else cell.evaluation.seeds) for cell in pair]
        shared = seeds[0] & seeds[1]
        trained, untrained = (cell.of_repeats(shared) for cell in pair)
        if trained is not None and untrained is not None:
            rows.append(Versus(data, paired_test(trained, untrained), len(shared)))
    return rows


def against_base(found: Variants) -> list[tuple[str, Versus]]:
    """Every variant minus what it is a variant of, leak-free, where both have the same repeats; by name."""
    rows = []
    for name, variant in VARIANTS.items():
        for data in SMALL:
            own, base = found[data, name], found[data, variant.method]
            if own is not None and base is not None and own.seeds == base.seeds:
                rows.append((name, Versus(data, paired_test(own, base), len(own.seeds))))
    return rows


# What else could a method be on these data sets: one thing changed at a time, in a table of its own.
#
# Variants were thought of after the grid of Table 1 was fixed: their figures stand beside it and never in
# it. Each changes one setting of Table 1, its base, and stands beside that.


@dataclass(frozen=True)
class Variant:
    """One change.

    Attributes:
        name: on the command line and in file names.
        title: in words.
        parameters: of the estimator, that differ.
        judging: of `cross_validate`, that differ; JSON-ready.
        data: the data sets where it makes a difference.
        epochs: where the training run is looked at; None where Table 1 does.
        method: what is changed, with the setting BASES has for it.
    """

    name: str
    title: str
    parameters: dict[str, Any] = field(default_factory=dict)
    judging: dict[str, Any] = field(default_factory=dict)
    data: tuple[str, ...] = SMALL
    epochs: tuple[int, ...] | None = None
    method: str = "infograph"

    def make(self, seed: int) -> GraphTransformer:
        """The estimator."""
        made = METHODS[self.method].searched[BASES[self.method]](seed)
        made.set_params(**self.parameters)
        return made


VARIANTS: dict[str, Variant] = {
    variant.name: variant
    for variant in (
        Variant("unscaled", "vectors not standardised", judging={"scale": False}),
        Variant("linear", "a linear support vector machine", judging={"classifiers": "svm-linear"}),
        Variant("node", "a weight per node instead of per graph", {"weighting": "node"}),
        Variant("conditioned", "the conditioned discriminator", {"discriminator": "conditioned"}),
        Variant("mean", "mean readout", {"readout": "mean"}),
        Variant("degree", "degrees as node features", {"node_features": "degree"}, data=UNLABELLED),
        Variant("edges", "edge labels (GINE)", {"edge_columns": ["label"]}, data=("MUTAG", "PTC_MR")),
        Variant("batch 32", "batches of 32 graphs", {"batch_size": 32}),
        Variant("dim 128", "vectors of 128 numbers", {"dim": 128}),
        Variant("every epoch", "judged after each of the first 20 epochs", epochs=tuple(range(1, 21))),
        Variant("connected", "connected graphlets only", {"connected_only": True}, method="gk"),
    )
}


def variants_of(method: str) -> list[str]:
    """The names of a method's variants."""
    return [name for name, variant in VARIANTS.items() if variant.method == method]


def variant_cells(
    data: Sequence[str] = SMALL,
    names: Sequence[str] = tuple(VARIANTS),
    repeats: Sequence[int] = range(REPEATS),
) -> list[Cell]:
    """The cells of some variants, the first repeat of all first."""
    return [
        variant_cell(one, VARIANTS[name], repeat)
        for repeat in repeats
        for one in data
        for name in names
        if one in VARIANTS[name].data
    ]


def variant_cell(data: str, variant: Variant, repeat: int) -> Cell:
    """One variant on one data set, made and judged with the seed `repeat`."""
    settings: dict[str, Any] = {
        "data": data,
        "method": variant.name,
        "setting": variant.name,
        "repeat": repeat,
        "folds": FOLDS,
        "inner_folds": INNER_FOLDS,
        "parameters": parameters_of(variant.make(0)),
        "judging": variant.judging,
    }
    epochs = METHODS[variant.method].epochs if variant.epochs is None else variant.epochs
    if epochs:
        settings["epochs"] = list(epochs)
        del settings["parameters"]["epochs"]
    return Cell("variants", f"{data} {variant.name} {repeat}", settings)


def read_variants(results: Path) -> Variants:
    """All variants and their bases on all data sets, from the result files that are there."""
    found: Variants = {}
    for data in SMALL:
        for method, setting in BASES.items():
            base = [table1_cell(data, METHODS[method], setting, repeat) for repeat in range(REPEATS)]
            found[data, method] = _collect(base, results)
        for name, variant in VARIANTS.items():
            cells = [variant_cell(data, variant, repeat) for repeat in range(REPEATS)]
            found[data, name] = _collect(cells, results) if data in variant.data else None
    return found


def _collect(cells: Sequence[Cell], results: Path) -> Evaluation | None:
    return collect(result for result in (cell.read(results) for cell in cells) if result is not None)


def compute_variant(cell: Cell, work: Path, *, watchers: Sequence[Watcher] = ()) -> Result:
    """Train, and judge after each of the epochs."""
    settings = cell.settings
    model = VARIANTS[settings["method"]].make(settings["repeat"])
    return judged(model, settings, work, watchers, **settings["judging"])
