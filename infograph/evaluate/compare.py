"""Any list of methods on any graphs, judged alike: accuracy, deviation, time and memory."""

from __future__ import annotations

import hashlib
import math
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.cells import Cell, Result, peak_mb, run_cell
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet, fingerprint, open_graphs, save_graphs
from infograph.data.labels import is_continuous
from infograph.data.splits import scaffold_groups
from infograph.data.vectors import data_frame, graph_values
from infograph.errors import InfoGraphError
from infograph.estimators.base import GraphTransformer
from infograph.evaluate.cross_validation import cross_predict, cross_validate
from infograph.evaluate.evaluation import Evaluation
from infograph.evaluate.inputs import Gram, check_protocol, read_targets
from infograph.evaluate.judges import SCORINGS
from infograph.evaluate.methods import METHODS as METHODS
from infograph.evaluate.methods import Method, blames_method, find_method, represent
from infograph.io import check_folder, temporary_folder
from infograph.jobs import Lost, OverLimit, limited, run
from infograph.notebook import as_html

Watch = Callable[[str, int, int, str], None]  # method, how many are done, of how many, what happens


@dataclass(frozen=True)
class Protocol:
    """How methods are judged: the cross-validation (the paper's is 5 times 10 folds), and its first seed.

    Attributes:
        scoring: as in `cross_validate`; None means accuracy, ROC-AUC of several columns, RMSE of numbers.
        scaffolds: no scaffold of molecules is in two folds.
    """

    repeats: int = 5
    folds: int = 10
    inner_folds: int = 5
    seed: int = 0
    scoring: str | None = None
    scaffolds: bool = False

    @property
    def about(self) -> dict[str, Any]:
        """What a result depends on; what is as it always was is not named."""
        later = ("scoring", "scaffolds")
        return {name: value for name, value in vars(self).items() if value or name not in later}

    def judging(self, graphs: GraphSet) -> dict[str, Any]:
        """The arguments of `cross_validate`."""
        same = {name: getattr(self, name) for name in ("repeats", "folds", "inner_folds", "scoring")}
        groups = scaffold_groups(graphs) if self.scaffolds else None
        return {**same, "groups": groups, "random_state": self.seed}


@dataclass(frozen=True)
class Limits:
    """What a method may take for all it computes: seconds and megabytes; None for as much as it wants."""

    seconds: float | None = None
    megabytes: float | None = None


@dataclass(frozen=True)
class Compared:
    """One line of a comparison: the leak-free score, or the reason why there is none.

    Scores are in per cent where that is usual: accuracy, ROC-AUC and average precision.
    """

    method: str  # its title
    mean: float = math.nan
    std: float = math.nan  # over repeats
    paper: float = math.nan  # with the setting chosen on the test folds, as the paper reports it
    seconds: float = math.nan  # for all representations that were made, classifier excluded
    peak_mb: float = math.nan  # the most that one of their processes had
    empty: str = ""  # why there is no figure
    scoring: str = "accuracy"
    p_value: float = math.nan  # of the test against the best simple reference, in a report
    reference: bool = False  # whether it is one of the simple things that any method has to beat
    evaluation: Evaluation | None = field(default=None, compare=False, repr=False)  # for `paired_test`


class Comparisons(list[Compared]):
    """The lines of a comparison, in the order of the methods."""

    def to_pandas(self) -> Any:
        """A DataFrame with the methods as its index; `empty` says why a line has no figures."""
        names = [each.name for each in fields(Compared) if each.name not in ("method", "evaluation")]
        columns = {name: [getattr(line, name) for line in self] for name in names}
        return data_frame(columns, [line.method for line in self], "method")

    def _repr_html_(self) -> str:
        return as_html("Methods compared", tables=[(head(self), [cells(row) for row in self])])


def compare(
    graphs: Any,
    labels: Any,
    methods: Sequence[str | tuple[str, GraphTransformer]],
    results: str | Path,
    *,
    protocol: Protocol = Protocol(),  # noqa: B008 - frozen
    limits: Limits = Limits(),  # noqa: B008 - frozen
    watch: Watch = lambda *_: None,
    workers: int = 1,
    on: str = "local",
) -> Comparisons:
    """Judge methods on graphs; what was judged before with the same settings is read.

    Args:
        graphs: anything `as_graphset` takes, all labelled.
        labels: (G,) their classes or measured values, or (G, T) of several columns, with gaps; or the name of
            a graph column.
        methods: names in `infograph.evaluate.methods.METHODS`, or `(name, estimator)` for others.
        results: a folder that keeps one file per method.
        protocol: how methods are judged.
        limits: what each method may take; one that takes more is stopped, and its line says so.
        watch: told before and after every method.
        workers: methods at a time; those that share a machine take longer than alone.
        on: "local", or a Ray cluster (`infograph.jobs.connect`), on all machines of which
            `results` is under the same path.
    """
    chosen, graphs = [find_method(method) for method in methods], as_graphset(graphs)
    labels = graph_values(graphs, labels) if isinstance(labels, str) else np.asarray(labels)
    results = Path(results).absolute()
    check_folder(results)
    judging = protocol.judging(graphs)
    check_protocol(labels, **judging)
    digest = hashlib.sha256("\n".join(map(str, labels)).encode()).hexdigest()[:16]
    about = {"graphs": fingerprint(graphs), "labels": digest, **protocol.about}
    found: dict[int, Compared] = {}  # by the method itself: estimators may have one name

    def announced() -> Iterator[Method]:
        for method in chosen:
            watch(method.title, len(found), len(chosen), "")
            yield method

    near = results if on != "local" else Path(tempfile.gettempdir())  # all machines of a cluster see results
    with temporary_folder(near / "infograph-graphs") as folder:
        saved = save_graphs(graphs, folder / "graphs")

        def judged(method: Method) -> Result | Lost:
            """Read, if it is there, else computed and kept; a failure is kept by nobody."""
            settings = {"method": method.name, "settings": method.describe(), **about}
            try:
                return run_cell(
                    Cell("methods", method.name, settings),
                    lambda *_: _judge(method, saved, labels, judging, limits),
                    results,
                    again=lambda before: bool(before["empty"]) and _allows_more(limits, before["limits"]),
                )
            except Failed as reason:
                return Lost(str(reason))

        for method, result in run(judged, announced(), workers=workers, on=on):
            if isinstance(result, Lost):
                line = Compared(method.title, empty=result.reason)
            else:
                line = _line(method, result)
            found[id(method)] = line
            watch(line.method, len(found), len(chosen), line.empty)
    return Comparisons(found[id(method)] for method in chosen)


def head(rows: Sequence[Compared]) -> tuple[str, ...]:
    """What the columns hold."""
    scoring = next((row.scoring for row in rows if not row.empty), "accuracy")
    figure = f"{scoring}, %" if SCORINGS[scoring].percent else scoring
    return ("method", figure, "deviation", "p", "seconds", "peak, MB", "")


def cells(row: Compared) -> tuple[str, ...]:
    """A line as text; a reason in the last cell where there is no figure."""
    form = ".1f" if SCORINGS[row.scoring].percent else ".3f"
    figures = (
        (row.mean, form),
        (row.std, form),
        (row.p_value, ".2g"),
        (row.seconds, ".3g"),
        (row.peak_mb, ",.0f"),
    )
    return (row.method, *("" if value != value else f"{value:{form}}" for value, form in figures), row.empty)


def _line(method: Method, result: Result) -> Compared:
    if result["empty"]:
        return Compared(method.title, **result["took"], empty=result["empty"])
    evaluation = Evaluation.from_dict(result["evaluation"])
    names = [name for name in ("mean", "std", "paper") if result["scores"][name] is not None]
    return Compared(
        method.title,
        **{name: result["scores"][name] for name in names},
        **result["took"],
        scoring=evaluation.scoring,
        reference=method.reference,
        evaluation=evaluation,
    )


def _allows_more(limits: Limits, before: Mapping[str, float | None]) -> bool:
    pairs = [(now, before[what]) for what, now in vars(limits).items()]
    return any(old is not None and (new is None or new > old) for new, old in pairs)


def constant_line(graphs: GraphSet, labels: NDArray[Any], protocol: Protocol) -> Compared | None:
    """What the same answer for all graphs gives: the largest class, or the mean; None where ranks count."""
    judging = protocol.judging(graphs)
    scoring = check_protocol(labels, **judging)
    if SCORINGS[scoring].needs == "classes":
        columns = read_targets(labels, scoring, None)[0].values.T
        sizes = [np.unique(column[~np.isnan(column)], return_counts=True)[1] for column in columns]
        share = 100 * float(np.mean([each.max() / each.sum() for each in sizes]))
        return Compared("majority class", share, paper=share)
    if SCORINGS[scoring].needs == "ranks":
        return None
    evaluation = cross_predict(
        lambda seed, train, test, values: np.tile(np.nanmean(values, axis=0), (len(test), 1)),
        labels,
        **judging,
    )
    mean, std, _ = evaluation.leak_free().in_table
    return Compared("mean", mean, std, mean, scoring=scoring, reference=True, evaluation=evaluation)


def _judge(
    method: Method, graphs: Path, labels: NDArray[Any], judging: Mapping[str, Any], limits: Limits
) -> Result:
    took = {"seconds": 0.0, "peak_mb": 0.0}
    representations: dict[str, Any] = {}
    evaluation: Any = None
    try:
        for setting in method.settings:
            made = []
            for repeat in range(judging["repeats"] if method.random else 1):
                left = None if limits.seconds is None else limits.seconds - took["seconds"]
                if left is not None and left <= 0:
                    raise Stopped(f"stopped after {took['seconds'] / 60:.3g} minutes, the budget")
                rest, seed = Limits(left, limits.megabytes), judging["random_state"] + repeat
                work = partial(predicted, method, setting, labels, judging) if method.predicts else None
                values, seconds, peak = represent_isolated(graphs, method, setting, seed, rest, work)
                took = {"seconds": took["seconds"] + seconds, "peak_mb": max(took["peak_mb"], peak)}
                made.append(values)
            representations[setting] = made if method.random else made * judging["repeats"]
    except Stopped as reason:
        return {"empty": str(reason), "limits": vars(limits), "scores": {}, "took": took}
    if method.predicts:
        evaluation = representations["default"][0]
    else:
        first = next(iter(representations.values()))[0]
        judge = _judge_of(method, labels, judging["scoring"], isinstance(first, Gram))
        evaluation = cross_validate(representations, labels, classifiers=judge, **judging)
    score = evaluation.leak_free()
    factor = 100 if SCORINGS[evaluation.scoring].percent else 1
    figures = {
        "mean": score.mean,
        "std": score.std,
        "std_folds": score.std_folds,
        "paper": evaluation.paper().mean,
        "majority": evaluation.plan.majority,
    }
    return {
        "empty": "",
        "limits": vars(limits),
        "scores": {name: None if math.isnan(value) else factor * value for name, value in figures.items()},
        "evaluation": evaluation.to_dict(),
        "took": took,
    }


def _judge_of(method: Method, labels: NDArray[Any], scoring: str | None, gram: bool) -> str | None:
    """Support vectors of one column of classes, as in the paper; least squares of numbers and columns."""
    classes = labels.ndim == 1 and not is_continuous(labels)
    if method.judge and not gram:
        return method.judge
    if classes and (scoring is None or SCORINGS[scoring].needs != "numbers"):
        return None
    return "ridge" if gram else "ridge-rbf"


def predicted(
    method: Method, setting: str, labels: NDArray[Any], judging: Mapping[str, Any], graphs: GraphSet
) -> Evaluation:
    """The evaluation of a method that learns from labels: on the graphs of training folds alone."""
    needs, several = SCORINGS[check_protocol(labels, **judging)].needs, labels.ndim > 1

    def predict(seed: int, train: NDArray[Any], test: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
        model: Any = method.settings[setting](seed)
        wanted = values[train] if several else values[train, 0]
        if needs != "numbers":
            from infograph.estimators.predictors import InfoGraphClassifier

            model = InfoGraphClassifier(**model.get_params(deep=False))
            wanted = wanted if several else wanted.astype(np.int64)
        model.fit(graphs[train], wanted)
        if needs == "ranks":
            probable = model.predict_proba(graphs[test])
            return np.asarray(probable if several else probable[:, 1])
        return np.asarray(model.predict(graphs[test]))

    return cross_predict(predict, labels, **judging)


class Stopped(Exception):
    """A method that was stopped or refused the graphs; the message says why its cell is empty."""


class Failed(Exception):
    """A failure that says nothing of the method, such as a missing package: the next time it may work."""


def represent_isolated(
    graphs: Path,
    method: Method,
    setting: str,
    seed: int,
    limits: Limits,
    work: Callable[[GraphSet], Any] | None = None,
) -> tuple[Any, float, float]:
    """What a method makes of saved graphs in a process of its own, with its seconds and its peak in MB.

    That is vectors or a Gram matrix, or what `work` makes of the graphs in its place.
    """

    def measured(folder: Path) -> tuple[Any, float, float]:
        warnings.simplefilter("ignore")
        opened = open_graphs(folder)
        method.settings[setting](0)  # imports what it needs before the clock runs
        began = time.perf_counter()
        found = work(opened) if work else represent(method.settings[setting](seed), opened)
        return found, time.perf_counter() - began, peak_mb() or 0

    try:
        return limited(measured, graphs, **vars(limits))
    except Exception as error:
        said = str(error) if isinstance(error, InfoGraphError) else f"{type(error).__name__}: {error}"
        own = isinstance(error, OverLimit) or blames_method(error)
        raise (Stopped if own else Failed)(" ".join(said.split())) from error
