"""How far predicted numbers are from the measured ones, per target and in its unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.contract.predictor import r_squared
from infograph.data.targets import Targets
from infograph.errors import InvalidParameter, InvalidTarget


@dataclass(frozen=True)
class RegressionScore:
    """The errors of one target over the graphs that are labelled with it.

    Attributes:
        target, unit: which one; the unit is also that of `mae` and `rmse`.
        n_graphs: how many are labelled.
        mae: mean absolute error, the measure of the paper's Table 2.
        rmse: root of the mean squared error.
        r2: 1 - squared error / squared deviation.
    """

    target: str
    unit: str
    n_graphs: int
    mae: float
    rmse: float
    r2: float


def regression_scores(targets: Targets, predicted: NDArray[Any]) -> tuple[RegressionScore, ...]:
    """One score per target; unlabelled graphs do not count.

    Args:
        targets: what was measured, by `infograph.data.targets.numeric_targets`.
        predicted: (G, T), or (G,) for a single target.

    Raises:
        InvalidParameter: another shape than that of the targets, or predictions that are not finite.
        InvalidTarget: a target with fewer than two labelled graphs.
    """
    table = np.asarray(predicted, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table  # (G, T)
    if table.shape != targets.values.shape:
        raise InvalidParameter(
            f"predictions of shape {table.shape} for targets of shape {targets.values.shape}: "
            "predict the same graphs and targets"
        )
    return tuple(_score(targets, table[:, column], column) for column in range(targets.n_targets))


def _score(targets: Targets, predicted: NDArray[np.float64], column: int) -> RegressionScore:
    known = targets.known[:, column]
    if known.sum() < 2:
        raise InvalidTarget(
            f"the target {targets.names[column]!r} has {known.sum()} labelled graphs to score by: at least "
            "two are needed"
        )
    given = targets.values[known, column]
    error = predicted[known] - given
    if not np.isfinite(error).all():
        bad = np.flatnonzero(known)[np.flatnonzero(~np.isfinite(error))[0]]
        raise InvalidParameter(f"the prediction of {targets.names[column]!r} for graph {bad} is not finite")
    return RegressionScore(
        targets.names[column],
        targets.units[column],
        int(known.sum()),
        float(np.abs(error).mean()),
        float(np.sqrt(np.mean(error**2))),
        r_squared(given, predicted[known]),
    )
