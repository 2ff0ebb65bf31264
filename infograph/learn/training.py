"""From divided graphs to a model that predicts, its errors, and those of the methods to beat."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from infograph.baselines.references import AtomCounts, FingerprintForest, MeanPredictor
from infograph.data.labels import Task
from infograph.data.units import graph_column
from infograph.errors import InvalidParameter, TrainingDiverged
from infograph.estimators.base import GraphPredictor
from infograph.estimators.labelled import SemiSupervised
from infograph.learn.parts import Parts
from infograph.learn.predictions import errors_of
from infograph.learn.tune import Trial, grid_of
from infograph.parameters import changed, described
from infograph.progress import WRONG, Watcher, least_error, validation_unit

References = Literal["none", "usual", "all"]
NAMES: dict[Task, tuple[str, str, str]] = {
    "regression": ("mean of the labels", "least squares on atom counts", "fingerprints + random forest"),
    "classification": (
        "most frequent class",
        "logistic regression on counts",
        "fingerprints + random forest",
    ),
}


@dataclass(frozen=True, eq=False)
class Learned:
    """A trained model and how good it is.

    Attributes:
        model: fitted.
        parts: what it learned from and is judged by.
        rows: its errors first, then those of the references.
        trials: the settings that were tried, if there was a choice.
    """

    model: SemiSupervised
    parts: Parts
    rows: tuple[ErrorRow, ...]
    trials: tuple[Trial, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        history = self.model.history_
        content: dict[str, Any] = {
            "task": self.parts.task,
            "targets": list(self.parts.targets),
            "objective": described(self.model)["objective"],
            "graphs": self.parts.counts,
            "epochs": len(history),
            "last_epoch": history[-1] if history else {},
            "table": [vars(row) for row in self.rows],
        }
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
        references: which methods to compare with.
        checkpoint, resume, watchers: as in `fit`.
        announce: called with a line before each combination.
    """
    if validate_on is not None and validate_on < 1:
        raise InvalidParameter(f"validate_on={validate_on}: expected at least one graph")
    chosen_by = (parts.validation[:validate_on], parts.y) if len(parts.validation) else None
    fitting: dict[str, Any] = {"validation": chosen_by, "watchers": watchers}
    if not grid:
        model = estimator.fit(parts.train, parts.y, **fitting, checkpoint=checkpoint, resume=resume)
        return Learned(model, parts, tuple(_rows(model, parts, references)))
    if chosen_by is None:
        raise InvalidParameter(f"a search over {', '.join(grid)} needs validation graphs: hold some out")
    if checkpoint is not None:
        raise InvalidParameter("a search over settings keeps no checkpoint: give each setting one value")
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
    return Learned(best, parts, tuple(_rows(best, parts, references)), tuple(trials))


def _rows(model: SemiSupervised, parts: Parts, references: References) -> list[ErrorRow]:
    return [*error_rows(model._parts()["objective"].title, model, parts), *reference_rows(parts, references)]


def unit_of(parts: Parts) -> str:
    """The unit of the validation error that training goes by."""
    units = [graph_column(parts.train.schema, name).unit for name in parts.targets]
    return validation_unit(units, classes=parts.task == "classification")


def runs_of(estimator: SemiSupervised, grid: Mapping[str, Sequence[Any]]) -> int:
    """How many networks will be trained."""
    return math.prod(map(len, grid.values())) * max(1, estimator.n_models)


@dataclass(frozen=True)
class ErrorRow:
    """The error of one method for one target: mean absolute error, or share of wrong classes.

    Attributes:
        method, target, unit: whose error of what; "% wrong" is the unit of a share of wrong classes.
        validation, test: the errors; NaN where there are no such graphs.
    """

    method: str
    target: str
    unit: str
    validation: float
    test: float


def error_rows(method: str, model: GraphPredictor, parts: Parts) -> list[ErrorRow]:
    """The errors of a fitted model on the validation and the test graphs, one row per target."""
    found = [errors_of(model, graphs, parts.targets) for graphs in (parts.validation, parts.test)]
    units = [WRONG] if hasattr(model, "classes_") else model.target_units_
    return [ErrorRow(method, *row) for row in zip(model.target_names_, units, *found, strict=True)]


def gaps(rows: Sequence[ErrorRow], parts: Parts) -> list[str]:
    """Why errors are missing: nothing was held out, or nothing that has a value of a target."""
    reasons = []
    for name in ("validation", "test"):
        lost = dict.fromkeys(row.target for row in rows if math.isnan(getattr(row, name)))
        if not parts.counts[name]:
            reasons.append(
                f"There is no {name} error: of {parts.n_labelled:,} labelled graphs none was held out for it."
            )
        else:
            reasons += [
                f"There is no {name} error of {target}: not one graph has a value." for target in lost
            ]
    return reasons


def reference_rows(parts: Parts, which: References = "usual") -> Iterator[ErrorRow]:
    """The errors of the methods to beat, fitted to the same labels: "usual" are the mean and, where nodes
    have categories, least squares on their counts; "all" adds a forest on fingerprints, for molecules.
    """
    mean, counts, forest = NAMES[parts.task]
    schema, labelled = parts.train.schema, parts.train[: parts.n_labelled]
    models: dict[str, Any] = {} if which == "none" else {mean: MeanPredictor(parts.task)}
    if models and any(column.kind == "categorical" for column in schema.features("node")):
        models[counts] = AtomCounts(task=parts.task)
    if which == "all" and schema.column("graph", "smiles") is not None:
        models[forest] = FingerprintForest(task=parts.task)
    for name, model in models.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the model itself has said it
            yield from error_rows(name, model.fit(labelled, parts.y), parts)
