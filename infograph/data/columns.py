"""Raw values, as readers find them, -> what a GraphSet stores (codes, floats, texts), and its description."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.schema import Category, Column, Kind
from infograph.errors import InvalidParameter


def store_column(name: str, values: NDArray[Any], known: Column | None) -> tuple[NDArray[Any], Column]:
    """A node or edge column: floats become float32, everything else categories."""
    if known is not None and known.kind == "categorical" and known.categories:
        codes: dict[Category | None, int] = {category: code for code, category in enumerate(known.categories)}
        return np.array([codes.get(plain(v), known.unknown) for v in values], np.int32), known
    kind = known.kind if known else ("float" if values.dtype.kind == "f" else "categorical")
    base = replace(known or Column(name, kind), categories=())
    if kind == "float":
        width = math.prod(values.shape[1:]) if len(values) or known is None else known.width
        if base.role == "weight" and width != 1:
            raise InvalidParameter(f"the weight {name!r} holds {width} numbers per edge, expected one")
        shape = (len(values), width) if width != 1 else (len(values),)
        return values.astype(np.float32).reshape(shape), replace(base, width=width)
    categories, codes_array = categorise(values)
    return codes_array, replace(base, categories=categories)


def store_graph_column(
    name: str, raw: Sequence[Any], known: Column | None = None
) -> tuple[NDArray[Any], Column]:
    """A graph column; None stands where a value is missing.

    Unless `known` says otherwise, numbers of which at least one is a float are floats, texts that hardly ever
    repeat are texts, and everything else is categories.
    """
    kind = known.kind if known else _graph_kind(raw)
    base = known or Column(name, kind)
    if kind == "float":
        return np.array([np.nan if v is None else _number(v) for v in raw], np.float64), base
    if kind == "text":
        return np.array(["" if v is None else str(v) for v in raw], np.str_), base
    categories, codes = categorise(objects(raw))
    return codes, replace(base, categories=categories)


def _number(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number of more than 308 digits
        return math.inf if value > 0 else -math.inf


def _graph_kind(raw: Sequence[Any]) -> Kind:
    given = [value for value in raw if value is not None]
    if all(isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in given):
        return (
            "float" if not given or any(isinstance(v, float | np.floating) for v in given) else "categorical"
        )
    if not all(isinstance(v, str) for v in given):
        return "categorical"
    n_distinct = len(set(given))
    return "text" if n_distinct == len(given) or n_distinct > max(100, len(given) / 2) else "categorical"


def categorise(values: NDArray[Any]) -> tuple[tuple[Category, ...], NDArray[np.int32]]:
    """Distinct values, sorted within each type, and the code of each row; None is unknown."""
    if values.dtype.kind in "iub" and values.ndim == 1:
        distinct, codes = np.unique(values, return_inverse=True)
        return tuple(distinct.tolist()), codes.astype(np.int32)
    rows = [plain(value) for value in values]
    order = sorted(
        {value for value in rows if value is not None}, key=lambda value: (type(value).__name__, value)
    )
    lookup: dict[Category | None, int] = {value: code for code, value in enumerate(order)}
    return tuple(order), np.array([lookup.get(value, len(order)) for value in rows], np.int32)


def plain(value: Any) -> Category | None:
    """A JSON-ready category, or None where it is missing."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and math.isnan(value):
        return None
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def objects(values: Sequence[Any]) -> NDArray[Any]:
    """A list as a one-dimensional array of the very same objects."""
    table = np.empty(len(values), dtype=object)
    table[:] = values
    return table


def id_array(ids: Sequence[object]) -> NDArray[Any]:
    """The user's ids: integers if all are, and fit 64 bits; strings otherwise. (G,)."""
    integers = all(
        isinstance(i, int | np.integer) and not isinstance(i, bool) and -(2**63) <= i < 2**63 for i in ids
    )
    return np.array(ids, dtype=np.int64) if integers else np.array([str(i) for i in ids], dtype=np.str_)


def is_missing(value: object) -> bool:
    """None, NaN, and pandas' own mark for a missing value."""
    return (
        value is None or (isinstance(value, float) and math.isnan(value)) or type(value).__name__ == "NAType"
    )
