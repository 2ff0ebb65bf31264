"""Numbers to be predicted: read from whatever the user gives, checked, and scaled.

Classes are read by `class_targets` and numbers scaled by `Scaler`, which have files of their own and can be
imported from here, too.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.classes import ClassTargets as ClassTargets
from infograph.data.classes import class_targets as class_targets
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.labels import RawLabels, match_names, missing, read_labels, where
from infograph.data.scaler import FloatArray, constant
from infograph.data.scaler import Scaler as Scaler
from infograph.data.schema import Category
from infograph.errors import InvalidTarget, TargetWarning

LARGEST = 1e300  # beyond it, and below its inverse, differences and deviations are no float64


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

    @property
    def checksum(self) -> str:
        """A short text that is the same only for the same values."""
        values = np.where(self.known, self.values, np.nan)
        return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:16]

    def like(self, names: Sequence[str], units: Sequence[str]) -> Targets:
        """These targets in the order of a model's, as many; names that nobody gave are not compared.

        Raises:
            InvalidTarget: they have other names, or other units.
        """
        order = match_names(self.names, names)
        own = [self.units[position] for position in order]
        for name, unit, expected in zip(names, own, units, strict=True):
            if unit and expected and unit != expected:
                raise InvalidTarget(
                    f"the target {name!r} is in {unit} here, the model learns it in {expected}: give it in "
                    f"{expected}"
                )
        return replace(self, names=tuple(names), units=tuple(own), values=self.values[:, order])


def numeric_targets(
    y: Any,
    graphs: GraphSet,
    unit: str | Sequence[str] | None = None,
    *,
    unlabelled: Category | float | None = None,
    fitting: bool = True,
) -> Targets:
    """The numbers to be predicted for `graphs`.

    Args:
        y: one number or row of numbers per graph (list, array, pandas Series or DataFrame; NaN, None or NA
            where unlabelled), the name of a graph column, a list of names, or None for the column "y".
        graphs: the graphs, in the order of `y`.
        unit: of the values, or one per target; None takes it from the schema of the graphs.
        unlabelled: one more value that means unlabelled, such as -999 or "?".
        fitting: whether a model is to learn from them, which takes two labels per target; if not, they are
            only read.

    Raises:
        InvalidTarget: not numbers, infinite, too large or small to calculate with, too few, or not one per
            graph. The message names the graph.

    Warns:
        TargetWarning: a target is constant.
    """
    raw = read_labels(y, graphs, lists_are_names=True)
    values = _numbers(raw, graphs, unlabelled)
    infinite = np.argwhere(np.isinf(values))
    if len(infinite):
        row, column = infinite[0]
        raise InvalidTarget(
            f"the target {raw.names[column]!r} of {where(graphs, row)} is {values[row, column]}: correct it, "
            f"or make it NaN, which means unlabelled ({len(infinite)} such value{'s'[: len(infinite) != 1]})"
        )
    _check_magnitude(values, raw, graphs)
    targets = Targets(raw.names, _units(raw, unit), values, raw.single)
    if fitting:
        _check_learnable(targets)
    return targets


def _numbers(raw: RawLabels, graphs: GraphSet, unlabelled: Category | float | None) -> FloatArray:
    """(G, T) as float64, NaN where unlabelled; or an error with the first value that is no number."""
    left_out = missing(raw.values)
    if unlabelled is not None:
        left_out |= np.asarray(raw.values == unlabelled, dtype=bool)
    if raw.values.dtype.kind in "fiub":
        return np.where(left_out, np.nan, raw.values.astype(np.float64))
    table = np.full(raw.values.shape, np.nan)
    for row, column in np.argwhere(~left_out):
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


def _check_magnitude(values: FloatArray, raw: RawLabels, graphs: GraphSet) -> None:
    """Refuse numbers whose differences, sums or deviations float64 cannot hold."""
    size = np.where(np.isnan(values), 0.0, np.abs(values))
    largest = size.max(axis=0, initial=0.0)  # (T,)
    strange = np.flatnonzero((largest > LARGEST) | ((largest > 0) & (largest < 1 / LARGEST)))
    if len(strange):
        column = int(strange[0])
        row = int(size[:, column].argmax())
        raise InvalidTarget(
            f"the target {raw.names[column]!r} of {where(graphs, row)} is {values[row, column]:g}, the "
            f"largest of its target: beyond {LARGEST:g} and below {1 / LARGEST:g} there is no room "
            "to calculate in; use another unit"
        )


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
    steady = [name for name, same in zip(targets.names, constant(targets.values), strict=True) if same]
    if steady:
        warnings.warn(
            f"the target {steady[0]!r} has the same value in all labelled graphs, so that is what will be "
            "predicted: look whether y is the column you meant",
            TargetWarning,
            stacklevel=3,
        )
