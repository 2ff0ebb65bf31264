"""From divided graphs to a model that predicts, its errors, and those of the methods to beat."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infograph.data.graphset import GraphSet
from infograph.data.units import graph_column
from infograph.errors import InvalidParameter
from infograph.estimators.search import Announce, Trial, search_settings
from infograph.estimators.semi import SemiSupervised
from infograph.learn.parts import Parts
from infograph.learn.references import ErrorRow, References, error_rows, reference_rows
from infograph.methods.objectives import TITLES
from infograph.train.loop import Watcher
from infograph.train.progress import validation_unit


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
            "objective": self.model.objective,
            "graphs": self.parts.counts,
            "epochs": len(history),
            "last_epoch": history[-1] if history else {},
            "table": [row.to_dict() for row in self.rows],
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
    announce: Announce | None = None,
) -> Learned:
    """Train an estimator and judge it.

    Args:
        estimator: not fitted yet; it is the model afterwards, unless there is a grid.
        parts: what to learn from.
        grid: settings to choose on the validation graphs, see `infograph.estimators.search`.
        validate_on: how many validation graphs drive schedule and choice; all of them are used at the end.
        references: which methods to compare with.
        checkpoint, resume, watchers: as in `fit`.
        announce: called before each combination of the grid.

    Raises:
        InvalidParameter: a grid without validation graphs, or with a checkpoint.
    """
    chosen_by = _validation(parts, validate_on)
    trials: tuple[Trial, ...] = ()
    if grid:
        if chosen_by is None:
            raise InvalidParameter(f"a search over {', '.join(grid)} needs validation graphs: hold some out")
        if checkpoint is not None:
            raise InvalidParameter("a search over settings keeps no checkpoint: give each setting one value")
        found = search_settings(
            estimator, grid, parts.train, parts.y, validation=chosen_by, watchers=watchers, announce=announce
        )
        model, trials = found.best, found.trials
    else:
        model = estimator.fit(
            parts.train,
            parts.y,
            validation=chosen_by,
            checkpoint=checkpoint,
            resume=resume,
            watchers=watchers,
        )
    rows = [*error_rows(TITLES[model.objective], model, parts), *reference_rows(parts, references)]
    return Learned(model, parts, tuple(rows), trials)


def unit_of(parts: Parts) -> str:
    """The unit of the validation error that training goes by."""
    units = [graph_column(parts.train.schema, name).unit for name in parts.targets]
    return validation_unit(units, classes=parts.task == "classification")


def runs_of(estimator: SemiSupervised, grid: Mapping[str, Sequence[Any]]) -> int:
    """How many networks will be trained."""
    return math.prod(map(len, grid.values())) * max(1, estimator.n_models)


def announcement(number: int, total: int, settings: Mapping[str, Any]) -> str:
    """A line on the combination that is trained next."""
    return (
        f"setting {number} of {total}: {', '.join(f'{name} {value:g}' for name, value in settings.items())}"
    )


def _validation(parts: Parts, validate_on: int | None) -> tuple[GraphSet, Any] | None:
    if validate_on is not None and validate_on < 1:
        raise InvalidParameter(f"validate_on={validate_on}: expected at least one graph")
    if not len(parts.validation):
        return None
    return parts.validation[:validate_on], parts.y
