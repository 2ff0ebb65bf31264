"""Settings chosen on validation graphs: every combination is trained, the best one is kept."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from infograph.errors import InvalidParameter, TrainingDiverged
from infograph.estimators.semi import SemiSupervised
from infograph.train.figures import ERROR
from infograph.train.loop import Epoch, Watcher

Model = TypeVar("Model", bound=SemiSupervised)
Announce = Callable[[int, int, Mapping[str, Any]], None]


@dataclass(frozen=True)
class Trial:
    """One combination of settings.

    Attributes:
        settings: those that were searched.
        error: the least validation error of its epochs, in the unit of the target (the mean over the networks
            of an ensemble); NaN where training diverged.
        epochs: how many were trained.
        seconds: how long that took.
    """

    settings: Mapping[str, Any]
    error: float
    epochs: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Search(Generic[Model]):
    """What a search found.

    Attributes:
        best: the fitted estimator of the best combination.
        trials: all combinations, in the order they were trained.
    """

    best: Model
    trials: tuple[Trial, ...]

    @property
    def chosen(self) -> Trial:
        """The combination with the least error; the first of equal ones."""
        return min(self.trials, key=lambda trial: (math.isnan(trial.error), trial.error))


def search_settings(
    estimator: Model,
    grid: Mapping[str, Sequence[Any]],
    graphs: Any,
    y: Any = None,
    *,
    validation: float | tuple[Any, Any] = 0.1,
    watchers: Sequence[Watcher] = (),
    announce: Announce | None = None,
) -> Search[Model]:
    """Train an estimator with every combination of settings; keep the one with the least validation error.

        grid = {"lam": [1e-3, 1e-4, 1e-5], "weight_decay": [0, 1e-4]}
        model = search_settings(InfoGraphRegressor(), grid, graphs, y).best

    All combinations learn from and are judged by the same graphs. The error of the best one is too good an
    estimate, because it was chosen by it: keep test graphs that no search sees.

    Args:
        estimator: its other settings; it is left as it is.
        grid: setting -> the values to try. The paper's are lam 1e-3, 1e-4, 1e-5 and
            weight_decay 0, 1e-3, 1e-4.
        graphs, y: as in `fit`.
        validation: as in `fit`; there must be some.
        watchers: as in `fit`.
        announce: called before each combination with its number from 1, how many there are, and its settings.

    Raises:
        InvalidParameter: an unknown setting, no values, or no validation graphs.
        TrainingDiverged: every combination diverged.
    """
    _check(estimator, grid, validation)
    combinations = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    best: Model | None = None
    trials: list[Trial] = []
    for number, settings in enumerate(combinations, start=1):
        if announce is not None:
            announce(number, len(combinations), settings)
        model = type(estimator)(**{**estimator.get_params(deep=False), **settings})
        began = time.perf_counter()
        try:
            history = model.fit(graphs, y, validation=validation, watchers=watchers).history_
        except TrainingDiverged:
            trials.append(Trial(settings, math.nan, 0, time.perf_counter() - began))
            continue
        trial = Trial(settings, least_error(history), len(history), time.perf_counter() - began)
        before = min((t.error for t in trials if not math.isnan(t.error)), default=math.inf)
        if best is None or trial.error < before:
            best = model
        trials.append(trial)
    if best is None:
        raise TrainingDiverged(
            f"all {len(combinations)} combinations of {', '.join(grid)} diverged: lower lr"
        )
    return Search(best, tuple(trials))


def least_error(history: Sequence[Epoch]) -> float:
    """The validation error of the weights that were kept; the mean over several networks."""
    of_model: dict[float, float] = {}
    for record in history:
        model = record.get("model", 1.0)
        of_model[model] = min(record[ERROR], of_model.get(model, math.inf))
    return sum(of_model.values()) / len(of_model) if of_model else math.nan


def _check(estimator: SemiSupervised, grid: Mapping[str, Sequence[Any]], validation: object) -> None:
    known = estimator.get_params(deep=False)
    for name, values in grid.items():
        if name not in known:
            raise InvalidParameter(f"grid: {type(estimator).__name__} has no setting {name!r}")
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise InvalidParameter(f"grid: {name}={values!r}, expected a list of values to try")
    if not grid:
        raise InvalidParameter("grid is empty: name a setting and the values to try")
    if validation is None:
        raise InvalidParameter("a search needs validation graphs: pass validation=(graphs, y), or a share")
