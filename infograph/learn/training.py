"""From divided graphs to a model that predicts, its errors, and those of the methods to beat."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.references import AtomCounts, FingerprintForest, MeanPredictor
from infograph.data.labels import Task
from infograph.data.molecules import SMILES
from infograph.data.units import graph_column, with_unit
from infograph.errors import InfoGraphError, InvalidParameter, InvalidTarget, TrainingDiverged
from infograph.estimators.base import GraphPredictor
from infograph.estimators.labelled import SemiSupervised
from infograph.learn.judging import Figures, Floats, Judged, Verdict, compare_pair, mean_figures, mean_of
from infograph.learn.parts import Parts
from infograph.learn.tune import Trial, grid_of
from infograph.objectives.vectors import Vectors
from infograph.parameters import changed, check_parameters, described
from infograph.progress import WRONG, Watcher, least_error, validation_unit

References = Literal["none", "usual", "all"]
NAMES: dict[Task, tuple[str, str]] = {
    "regression": ("mean of the labels", "least squares on atom counts"),
    "classification": ("most frequent class", "logistic regression on counts"),
}
FOREST = "random forest on fingerprints"
MOST_FOREST = 20_000  # labelled molecules of a forest that is grown without being asked for
HEADS = {
    "ridge": "ridge regression",
    "gp": "Gaussian process",
    "svm": "support vectors",
    "forest": "forest",
    "mean": "mean of two heads",
    "each": "a head for each target",
}
LEVEL = 0.9  # of intervals
SHARES, LEAST, MOST = (8, 4, 2), 16, 10_000  # parts of the labels of a curve; how few and many it is made of


@dataclass(frozen=True, eq=False)
class Learned:
    """A trained model and how good it is."""

    model: SemiSupervised  # fitted
    parts: Parts  # what it learned from and is judged by
    rows: tuple[ErrorRow, ...]  # its errors first, then those of the references
    tested: Judged  # its predictions of the test graphs
    verdicts: tuple[Verdict, ...] = ()  # whether to use it or the best reference, per target that is tested
    bounds: tuple[Floats, Floats] | None = None  # of 90 % of test graphs' numbers; None without error bars
    trials: tuple[Trial, ...] = ()  # the settings that were tried, if there was a choice

    @property
    def covered(self) -> tuple[float, ...]:
        """The share of test graphs whose number lies between the bounds, per target."""
        if self.bounds is None:
            return ()
        low, high, given = *self.bounds, self.tested.given
        inside = (low <= given) & (given <= high)
        return tuple(
            float(inside[there, t].mean()) if there.any() else math.nan
            for t, there in enumerate(self.tested.known.T)
        )

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        history = self.model.history_
        content: dict[str, Any] = {
            "task": self.parts.task,
            "targets": list(self.parts.targets),
            "objective": described(self.model)["objective"],
            "method": title_of(self.model),
            "graphs": self.parts.counts,
            "split": self.parts.how,
            "epochs": len(history),
            "last_epoch": history[-1] if history else {},
            "table": [vars(row) for row in self.rows],
            "verdicts": [{**vars(each), "sentence": str(each)} for each in self.verdicts],
        }
        if self.bounds is not None:
            content["intervals"] = {"level": LEVEL, "covered": list(self.covered)}
        return {**content, "search": [vars(trial) for trial in self.trials]} if self.trials else content


def learn(
    estimator: SemiSupervised,
    parts: Parts,
    *,
    grid: Mapping[str, Sequence[Any]] | None = None,
    validate_on: int | None = None,
    references: References = "usual",
    checkpoint: str | Path | None = None,
    resume: bool = False,
    watchers: Sequence[Watcher] = (),
    announce: Callable[[str], None] = lambda line: None,
) -> Learned:
    """Train an estimator and judge it.

    Args:
        estimator: not fitted yet; it is the model afterwards, unless there is a grid.
        parts: what to learn from.
        grid: setting -> values. Every combination is trained, and the one with the least error on the
            validation graphs is the model.
        validate_on: how many validation graphs drive schedule and choice; all of them are used at the end.
        checkpoint, resume, watchers: as in `fit`.
        announce: called with a line before each combination, and before what takes a while.
    """
    if validate_on is not None and validate_on < 1:
        raise InvalidParameter(f"validate_on={validate_on}: expected at least one graph")
    check_parameters(estimator)
    chosen_by = (parts.validation[:validate_on], parts.y) if len(parts.validation) else None
    fitting: dict[str, Any] = {"validation": chosen_by, "watchers": watchers}
    if grid and checkpoint is not None:
        raise InvalidParameter("a search over settings keeps no checkpoint: give each setting one value")
    if not grid:
        model = estimator.fit(parts.train, parts.y, **fitting, checkpoint=checkpoint, resume=resume)
        return _judged(model, parts, references, announce)
    if chosen_by is None:
        raise InvalidParameter(f"a search over {', '.join(grid)} needs validation graphs: hold some out")
    settings, trials, best = grid_of(grid), [], estimator  # type: list[Any], list[Trial], SemiSupervised
    for number, setting in enumerate(settings, start=1):
        shown = ", ".join(f"{name} {value:g}" for name, value in setting.items())
        announce(f"setting {number} of {len(settings)}: {shown}")
        model = changed(estimator, setting)
        try:
            history = model.fit(parts.train, parts.y, **fitting).history_
        except TrainingDiverged as problem:
            trials.append(Trial(setting, math.nan, 0, str(problem)))
            continue
        error = least_error(history)
        if not any(trial.error <= error for trial in trials):
            best = model
        trials.append(Trial(setting, error, len(history)))
    if best is estimator:
        raise TrainingDiverged(f"all {len(settings)} combinations of {', '.join(grid)} diverged: lower lr")
    return _judged(best, parts, references, announce, tuple(trials))


def _judged(
    model: SemiSupervised,
    parts: Parts,
    references: References,
    announce: Callable[[str], None],
    trials: tuple[Trial, ...] = (),
) -> Learned:
    title, tested = title_of(model), Judged.of(model, parts.test, parts.targets)
    rows, others = error_rows(title, model, parts, tested), {}  # type: list[ErrorRow], dict[str, Judged]
    for name, reference in _references(parts, references, announce):
        others[name] = Judged.of(reference, parts.test, parts.targets)
        rows += error_rows(name, reference, parts, others[name])
    verdicts: list[Verdict] = []
    if others and len(parts.test):
        whole = np.ones((1, len(parts.test)), np.int64)
        figures = np.stack([each.resampled(whole)[0] for each in others.values()])  # (references, T)
        figures = np.nanmean(figures, axis=1, keepdims=True) if tested.classes else figures
        chosen = [list(others)[place] for place in np.nan_to_num(figures, nan=np.inf).argmin(axis=0)]
        pairs = {name: compare_pair(title, tested, name, others[name]) for name in dict.fromkeys(chosen)}
        found = [pairs[name][target] for target, name in enumerate(chosen)]
        verdicts = [each for each in found if each.n_graphs]
    return Learned(model, parts, tuple(rows), tested, tuple(verdicts), _bounds(model, parts), trials)


def _bounds(model: SemiSupervised, parts: Parts) -> tuple[NDArray[Any], NDArray[Any]] | None:
    if getattr(model, "error_bars_", None) is None or not len(parts.test):
        return None
    try:
        _, low, high = model.predict(parts.test, interval=LEVEL)  # type: ignore[call-arg]
    except InvalidParameter:  # too few graphs to measure errors by
        return None
    return low.reshape(len(low), -1), high.reshape(len(high), -1)


def title_of(model: SemiSupervised) -> str:
    """What a model is: its objective, or the head and what this sees."""
    if not model.inputs_:
        return str(model._parts()["objective"].title)
    *seen, last = model.inputs_.split("+")
    return f"{HEADS[model.head_]} on {' and '.join(filter(None, (', '.join(seen), last)))}"


def unit_of(parts: Parts) -> str:
    """The unit of the validation error that training goes by."""
    units = [graph_column(parts.train.schema, name).unit for name in parts.targets]
    return validation_unit(units, classes=parts.task == "classification")


def runs_of(estimator: SemiSupervised, grid: Mapping[str, Sequence[Any]]) -> int:
    """How many networks will be trained."""
    return math.prod(map(len, grid.values())) * max(1, estimator.n_models)


@dataclass(frozen=True)
class ErrorRow:
    """How good one method is for one target."""

    method: str
    target: str  # "mean of 12" is the mean over columns of classes
    unit: str  # of MAE and RMSE; "% wrong" of classes
    validation: Figures  # `Judged.figures`; NaN where there are no such graphs
    test: Figures

    @property
    def title(self) -> str:
        """The target with its unit."""
        return with_unit(self.target, "" if self.unit == WRONG else self.unit)


def overview(rows: Sequence[ErrorRow]) -> list[ErrorRow]:
    """Of several columns of classes their mean alone, otherwise all."""
    _, *others = dict.fromkeys(row.target for row in rows)
    return [row for row in rows if row.target == mean_of(others)] or list(rows)


def error_rows(method: str, model: GraphPredictor, parts: Parts, tested: Judged) -> list[ErrorRow]:
    """The errors of a fitted model on the validation and the test graphs, one row per target.

    Several columns of classes have one more, the mean, which comes first.
    """
    found = [Judged.of(model, parts.validation, parts.targets).figures, tested.figures]
    rows = [ErrorRow(method, *row) for row in zip(tested.names, tested.units, *found, strict=True)]
    if tested.classes and len(rows) > 1:
        means = map(mean_figures, found)
        rows.insert(0, ErrorRow(method, mean_of(tested.names), tested.units[0], *means))
    return rows


def gaps(rows: Sequence[ErrorRow], parts: Parts) -> list[str]:
    """Why errors are missing: nothing was held out, or nothing that has a value of a target."""
    reasons = []
    for name in ("validation", "test"):
        lost = dict.fromkeys(
            row.target for row in rows if all(math.isnan(value) for value in getattr(row, name).values())
        )
        if not parts.counts[name]:
            reasons.append(
                f"There is no {name} error: of {parts.n_labelled:,} labelled graphs none was held out for it."
            )
        else:
            reasons += [
                f"There is no {name} error of {target}: not one graph has a value." for target in lost
            ]
    return reasons


def _references(
    parts: Parts, which: References, announce: Callable[[str], None]
) -> Iterator[tuple[str, GraphPredictor]]:
    """The methods to beat, fitted to the same labels.

    "usual" are the mean, where nodes have categories least squares on their counts, and a forest on
    fingerprints and descriptors for at most 20,000 labelled molecules; "all" has it for more, too.
    """
    mean, counts = NAMES[parts.task]
    schema, labelled = parts.train.schema, parts.train[: parts.n_labelled]
    if which == "none":
        return
    models: dict[str, Any] = {mean: MeanPredictor(parts.task)}
    if any(column.kind == "categorical" for column in schema.features("node")):
        models[counts] = AtomCounts(task=parts.task)
    affordable = which == "all" or parts.n_labelled <= MOST_FOREST
    if affordable and schema.column("graph", SMILES.name) and find_spec("rdkit"):
        models[FOREST] = FingerprintForest(features="counts+descriptors", task=parts.task, n_jobs=-1)
    for name, model in models.items():
        announce(f"to compare with: {name}")
        with warnings.catch_warnings(), suppress(InvalidTarget):  # a forest regresses no two classes
            warnings.simplefilter("ignore")  # the model itself has said it
            yield name, model.fit(labelled, parts.y)


def label_curve(learned: Learned, announce: Callable[[str], None]) -> list[tuple[int, float]]:
    """Labels and test error of the same head fitted to an eighth, a quarter, half, and all of them.

    The error is the RMSE (of several targets the mean, in deviations of the test graphs), 1 - ROC-AUC, or the
    share of wrong classes. Only heads of vectors have a curve: networks would take as long again.
    """
    model, parts = learned.model, learned.parts
    if not model.inputs_ or not len(parts.test) or not 2 * LEAST <= parts.n_labelled <= MOST:
        return []
    announce("learning curve: the same head with fewer labels")
    points = []
    head: Any = model.head_
    same = {"objective": Vectors(model.inputs_, head), "init_from": model, "verbose": False}
    for share in SHARES:
        count = parts.n_labelled // share
        if count < LEAST:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                fewer = changed(model, same).fit(parts.train[:count], parts.y)
                judged = Judged.of(fewer, parts.test, parts.targets)
            except (InfoGraphError, ValueError):  # a class that so few labels do not have
                continue
        points.append((count, _error(judged)))
    return [*points, (parts.n_labelled, _error(learned.tested))]


def _error(judged: Judged) -> float:
    errors = judged.resampled(np.ones((1, len(judged.given)), np.int64))[0]
    if not judged.classes and len(errors) > 1:
        errors = errors / judged.spread
    return float(np.nanmean(errors))
