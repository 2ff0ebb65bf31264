"""What is known of graphs, typed for colours: classes, or numbers on a scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from infograph.data.label_columns import class_name, count_classes, is_continuous, is_known
from infograph.data.units import LABEL, split_header
from infograph.errors import SchemaMismatch

MOST = 500  # classes of a column that can colour the map
FEW = 20  # classes that are always fit for it
OWN = ("id", "cluster", "outlier score", "nodes", "edges", "map_x", "map_y", "neighbors", "vector")


@dataclass(frozen=True, eq=False)
class MapColumn:
    """One column that can colour the map.

    Attributes:
        name: as the user knows it.
        kind: "category" or "number".
        values: (G,) float32, numbers or positions in `categories`; NaN where a value is missing.
        categories: names of the classes, the largest first; empty for numbers.
        unit: of numbers, where it is known.
        missing: what a missing value means.
    """

    name: str
    kind: Literal["category", "number"]
    values: NDArray[np.float32]
    categories: tuple[str, ...] = ()
    unit: str = ""
    missing: str = "no value"

    def summary(self) -> dict[str, Any]:
        """Everything but the values, ready for JSON; the ends of a scale are the 1st and 99th percentile."""
        known = self.values[~np.isnan(self.values)]
        told: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            "missing": len(self.values) - len(known),
            "missing_name": self.missing,
        }
        if self.kind == "category":
            counts = np.bincount(known.astype(np.int64), minlength=len(self.categories))
            return {**told, "categories": list(self.categories), "counts": counts.tolist()}
        low, high = (float(end) for end in np.percentile(known, (1, 99))) if len(known) else (0.0, 1.0)
        return {**told, "min": low, "max": high, "unit": self.unit}

    def cell(self, row: int) -> str | float | None:
        """The value of one graph as people read it."""
        value = float(self.values[row])
        if np.isnan(value):
            return None
        return self.categories[int(value)] if self.kind == "category" else value


def number_column(name: str, values: NDArray[Any], unit: str = "") -> MapColumn:
    """Numbers; what is not finite is missing."""
    numbers = np.array([np.nan if v is None else v for v in values.tolist()], np.float64)
    with np.errstate(over="ignore"):
        stored = numbers.astype(np.float32)
    return MapColumn(name, "number", np.where(np.isfinite(stored), stored, np.float32(np.nan)), unit=unit)


def class_column(name: str, values: NDArray[Any]) -> MapColumn:
    """Classes, the largest first."""
    categories = tuple(category for category, _ in count_classes(values))
    codes = {category: code for code, category in enumerate(categories)}
    known = is_known(values)
    places = [
        codes[class_name(value)] if there else np.nan
        for value, there in zip(values.tolist(), known.tolist(), strict=True)
    ]
    return MapColumn(name, "category", np.array(places, np.float32), categories)


def typed_column(name: str, values: NDArray[Any], unit: str = "") -> MapColumn | None:
    """A column for colours; None for texts that differ from graph to graph, and for rows of numbers."""
    if values.ndim != 1 or _many_texts(values) or not is_known(values).any():
        return None
    if is_continuous(values):
        return number_column(name, values, unit or split_header(name)[1])
    n_classes, n_known = len(count_classes(values)), int(is_known(values).sum())
    if n_classes > FEW and n_classes > min(MOST, n_known // 2):
        return None
    return class_column(name, values)


def _many_texts(values: NDArray[Any]) -> bool:
    """Whether a look at the first ones is enough to see that these are no classes."""
    return values.dtype.kind in "UT" and len(set(values[: 4 * MOST].tolist())) > MOST + 1


def own_names(columns: Mapping[str, Any]) -> dict[str, str]:
    """Column -> how the map calls it: names that the map uses itself get " (column)" behind them.

    As often as it takes: no two columns have one name.
    """
    found: dict[str, str] = {}
    for name in columns:
        called = name
        while called in OWN or (called != name and called in columns):
            called = f"{called} (column)"
        found[name] = called
    return found


def first_colour(columns: tuple[MapColumn, ...], wanted: str | None = None) -> int:
    """Which column colours the map first: the wanted one, else the label y, else the first one; -1 if none.

    Raises:
        SchemaMismatch: the wanted one is not there; the message lists those there are.
    """
    names = [column.name for column in columns]
    if wanted is None:
        return names.index(LABEL) if LABEL in names else min(0, len(names) - 1)
    short = [split_header(name)[0] for name in names]
    if wanted not in names and wanted not in short:
        have = ", ".join(map(repr, names)) or "none"
        raise SchemaMismatch(f"no column {wanted!r} that could colour the map; there are: {have}")
    return names.index(wanted) if wanted in names else short.index(wanted)
