"""Numbers to be predicted: read from whatever the user gives, checked, and scaled.

Classes are read by `class_targets`, which is in a file of its own and can be imported from here, too.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from infograph.data.classes import ClassTargets as ClassTargets
from infograph.data.classes import class_targets as class_targets
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.labels import RawLabels, missing, read_labels, where
from infograph.errors import InvalidTarget, TargetWarning

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Targets:
    """Numbers to be predicted, T of them for each of G graphs.

    Attributes:
        names: of the T targets.
        units: of the T targets, empty where there is none.
        values: (G, T) NaN where unlabelled.
        single: whether the user gave one value per graph and not rows, so that predictions are (G,), too.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    values: FloatArray
    single: bool

    def __len__(self) -> int:
        return len(self.values)

    def of(self, graphs: IntArray) -> Targets:
        """The targets of some of the graphs."""
        return replace(self, values=self.values[graphs])

    @property
    def n_targets(self) -> int:
        """How many numbers each graph has."""
        return len(self.names)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which values are there. (G, T)."""
        return ~np.isnan(self.values)

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which graphs have at least one value. (G,)."""
        return np.asarray(self.known.any(axis=1))


def numeric_targets(
    y: Any, graphs: GraphSet, unit: str | Sequence[str] | None = None, *, fitting: bool = True
) -> Targets:
    """The numbers to be predicted for `graphs`.

    Args:
        y: one number or row of numbers per graph (list, array, pandas Series or DataFrame; NaN, None or NA
            where unlabelled), the name of a graph column, a list of names, or None for the column "y".
        graphs: the graphs, in the order of `y`.
        unit: of the values, or one per target; None takes it from the schema of the graphs.
        fitting: whether a model is to learn from them, which takes two labels per target; if not, they are
            only read.

    Raises:
        InvalidTarget: not numbers, infinite, too few, or not one per graph. The message names the graph.

    Warns:
        TargetWarning: a target is constant.
    """
    raw = read_labels(y, graphs, lists_are_names=True)
    values = _numbers(raw, graphs)
    infinite = np.argwhere(np.isinf(values))
    if len(infinite):
        row, column = infinite[0]
        raise InvalidTarget(
            f"the target {raw.names[column]!r} of {where(graphs, row)} is {values[row, column]}: correct it, "
            f"or make it NaN, which means unlabelled ({len(infinite)} such values)"
        )
    targets = Targets(raw.names, _units(raw, unit), values, raw.single)
    if fitting:
        _check_learnable(targets)
    return targets


@dataclass(frozen=True)
class Scaler:
    """Mean 0 and variance 1 for each target, by the labelled training graphs alone.

    A constant target has scale 1. `mean` and `scale` are plain numbers, ready for JSON.
    """

    mean: tuple[float, ...]
    scale: tuple[float, ...]

    @classmethod
    def of(cls, values: FloatArray) -> Self:
        """From the (G, T) targets of the training graphs; NaN is left out."""
        mean = np.nanmean(values, axis=0)
        deviation = np.nanstd(values, axis=0)
        scale = np.where(_constant(values), 1.0, deviation)
        return cls(tuple(mean.tolist()), tuple(scale.tolist()))

    def standardise(self, values: FloatArray) -> FloatArray:
        """Targets as a model learns them; NaN stays NaN. (G, T) -> (G, T)."""
        return np.asarray((values - np.asarray(self.mean)) / np.asarray(self.scale))

    def restore(self, values: NDArray[np.floating[Any]]) -> FloatArray:
        """A model's outputs in the unit of the targets. (G, T) -> (G, T)."""
        return np.asarray(self.restore_spread(values) + np.asarray(self.mean))

    def restore_spread(self, spread: NDArray[np.floating[Any]]) -> FloatArray:
        """Differences and deviations in the unit of the targets: scaled, not shifted. (G, T) -> (G, T)."""
        return np.asarray(spread.astype(np.float64) * np.asarray(self.scale))


def _numbers(raw: RawLabels, graphs: GraphSet) -> FloatArray:
    """(G, T) as float64, or an error with the first value that is no number."""
    if raw.values.dtype.kind in "fiub":
        return raw.values.astype(np.float64)
    table = np.full(raw.values.shape, np.nan)
    for row, column in np.argwhere(~missing(raw.values)):
        value = raw.values[row, column]
        value = value.item() if hasattr(value, "item") else value
        if not isinstance(value, Real | Decimal):
            raise InvalidTarget(
                f"the target {raw.names[column]!r} of {where(graphs, row)} is {value!r}, no number; "
                "regression needs numbers (NaN or None where unlabelled), classes need a classifier"
            )
        try:
            table[row, column] = float(value)
        except OverflowError:  # a whole number of more than 308 digits
            table[row, column] = np.inf
    return table


def _units(raw: RawLabels, unit: str | Sequence[str] | None) -> tuple[str, ...]:
    if unit is None:
        return raw.units
    if isinstance(unit, str):
        return (unit,) * len(raw.names)
    if len(unit) != len(raw.names):
        raise InvalidTarget(f"{len(unit)} units for {len(raw.names)} targets ({', '.join(raw.names)})")
    return tuple(unit)


def _check_learnable(targets: Targets) -> None:
    counts = targets.known.sum(axis=0)
    if not counts.any():
        raise InvalidTarget(
            f"not one of {len(targets)} graphs has a label: all values of y are NaN or None; regression "
            "needs at least two labelled graphs (InfoGraph learns vectors without any)"
        )
    for name, count in zip(targets.names, counts.tolist(), strict=True):
        if count < 2:
            has = "only one labelled graph" if count else "no labelled graph"
            raise InvalidTarget(f"the target {name!r} has {has}: at least two are needed to learn from")
    constant = [name for name, same in zip(targets.names, _constant(targets.values), strict=True) if same]
    if constant:
        warnings.warn(
            f"the target {constant[0]!r} has the same value in all labelled graphs, so that is what will be "
            "predicted: look whether y is the column you meant",
            TargetWarning,
            stacklevel=3,
        )


def _constant(values: FloatArray) -> NDArray[np.bool_]:
    """Which targets do not vary, but for rounding. (G, T) -> (T,)."""
    return np.asarray(np.nanstd(values, axis=0) <= 1e-12 * np.abs(np.nanmean(values, axis=0)))
