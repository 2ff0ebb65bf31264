"""Labels and attributes of a TU data set: its optional tables, one row per node, arc or graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.schema import Column, Level
from infograph.data.tu.files import TuFiles
from infograph.data.tu.numbers import line_number, read_table
from infograph.errors import InvalidFile

Values = dict[str, NDArray[Any]]


def read_level(
    files: TuFiles, level: Level, n_rows: int, arrange: Callable[[NDArray[Any]], NDArray[Any]]
) -> tuple[Values, tuple[Column, ...]]:
    """Labels and attributes of one level.

    Args:
        files: the set.
        level: nodes, arcs or graphs.
        n_rows: rows that the level's tables must have.
        arrange: puts a column's rows into the set's order.

    Raises:
        InvalidFile: a table is damaged or has another number of rows; the message names it.
    """
    stored: Values = {}
    columns: list[Column] = []
    for name, values in _tables(files, level, n_rows).items():
        arranged = arrange(values)
        if values.dtype.kind == "f":
            columns.append(Column(name, "float", width=1 if values.ndim == 1 else values.shape[1]))
            stored[name] = arranged
        else:
            categories, codes = np.unique(arranged, return_inverse=True)
            columns.append(Column(name, "categorical", categories=tuple(categories.tolist())))
            stored[name] = codes.astype(np.int32)
    return stored, tuple(columns)


def _tables(files: TuFiles, level: Level, n_rows: int) -> Values:
    """Raw columns by name: integers are labels, floats attributes."""
    tables: Values = {}
    if files.has(f"{level}_labels"):
        labels = read_table(files.read(f"{level}_labels"), files.where(f"{level}_labels"), "whole")
        _check_rows(files, level, "labels", len(labels[0]), n_rows)
        tables |= _numbered("y" if level == "graph" else "label", labels)
    if files.has(f"{level}_attributes"):
        raw, where = files.read(f"{level}_attributes"), files.where(f"{level}_attributes")
        attributes = read_table(raw, where, "real")
        _check_rows(files, level, "attributes", len(attributes[0]), n_rows)
        _check_finite(attributes, raw, where, missing_allowed=level == "graph")
        joint = attributes if level == "graph" or len(attributes) == 1 else [np.stack(attributes, axis=1)]
        tables |= _numbered("attributes", joint)
    return tables


def _numbered(name: str, columns: list[NDArray[Any]]) -> Values:
    return {name if len(columns) == 1 else f"{name}_{i}": values for i, values in enumerate(columns)}


def _check_rows(files: TuFiles, level: Level, part: str, n_rows: int, expected: int) -> None:
    if n_rows != expected:
        other = files.where("A" if level == "edge" else "graph_indicator")
        things = "arcs" if level == "edge" else f"{level}s"
        raise InvalidFile(
            f"{files.where(f'{level}_{part}')} has {n_rows} rows, but {other} has {expected} {things}; "
            f"one of the two is truncated or damaged: get a fresh copy"
        )


def _check_finite(columns: list[NDArray[Any]], raw: bytes, where: str, *, missing_allowed: bool) -> None:
    """NaN in a graph's attribute is a missing target, anywhere else an error; infinity always is one."""
    for values in columns:
        bad = np.isinf(values) if missing_allowed else ~np.isfinite(values)
        if bad.any():
            row = int(bad.argmax())
            line = line_number(raw, row)
            raise InvalidFile(
                f"{where}, line {line}: {values[row]} is no finite number; fill it in or leave the graph out"
            )
