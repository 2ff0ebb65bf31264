"""New rows behind old ones: whatever the new ones lack is missing, what the old ones lack is left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.align import concatenate
from infograph.data.columns import objects
from infograph.data.graphset import GraphSet
from infograph.data.schema import LEVELS, Column

MISSING: dict[str, Any] = {"f": np.nan, "U": ""}


def join_graphs(old: GraphSet, new: GraphSet) -> GraphSet:
    """Both sets with the columns of the old one: missing values are NaN, "" or of no known category.

    Raises:
        SchemaMismatch: a column is of another kind or width, or the graphs were read with other options.
    """
    counts = {"node": new.n_nodes, "edge": new.n_edges, "graph": len(new)}
    filled: dict[str, dict[str, NDArray[Any]]] = {level: {} for level in LEVELS}
    schema = new.schema
    for level in LEVELS:
        columns: list[Column] = []
        for column in getattr(old.schema, level):
            own = new.schema.column(level, column.name)
            columns.append(own or column)
            values = getattr(new, level).get(column.name)
            filled[level][column.name] = _empty(column, counts[level]) if values is None else values
        schema = schema.replace(level, columns)
    changed: dict[str, Any] = filled
    return concatenate([old, replace(new, schema=schema, **changed)])


def join_columns(
    old: Mapping[str, NDArray[Any]], new: Mapping[str, NDArray[Any]], n_rows: int
) -> dict[str, NDArray[Any]]:
    """The columns of `old` with `n_rows` more values each, missing ones where `new` has no such column."""
    return {name: _joined(values, new.get(name), n_rows) for name, values in old.items()}


def _joined(old: NDArray[Any], new: NDArray[Any] | None, n_rows: int) -> NDArray[Any]:
    if new is None and old.dtype.kind in MISSING:
        new = np.full((n_rows, *old.shape[1:]), MISSING[old.dtype.kind], old.dtype)
    if new is not None and old.ndim == new.ndim and (old.dtype.kind == new.dtype.kind or old.ndim > 1):
        return np.concatenate([old, new])
    return objects([*old.tolist(), *([None] * n_rows if new is None else new.tolist())])


def _empty(column: Column, n_rows: int) -> NDArray[Any]:
    """A column without a single value."""
    if column.kind == "categorical":
        return np.full(n_rows, column.unknown, np.int32)
    if column.kind == "text":
        return np.full(n_rows, "", np.str_)
    return np.full((n_rows, column.width) if column.width != 1 else n_rows, np.nan, np.float32)
