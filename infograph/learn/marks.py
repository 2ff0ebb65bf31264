"""A value that stands for a missing one, such as -999 or "?", becomes what it means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.columns import objects, store_graph_column
from infograph.data.formats.reading import MISSING
from infograph.data.graphset import GraphSet
from infograph.data.labels import missing
from infograph.data.schema import Category, Column
from infograph.data.units import split_header
from infograph.errors import InvalidParameter

Mark = Category | float


def without_mark(
    graphs: GraphSet, names: Sequence[str], mark: Mark | None, *, needed: bool = False
) -> GraphSet:
    """`graphs` in which every `mark` in some graph columns is a missing value.

    -999, -999.0 and "-999" are the same mark. Texts that are numbers but for the marks become numbers.

    Args:
        graphs: the graphs.
        names: of the columns.
        mark: the value; None changes nothing.
        needed: whether a mark that no column holds is a mistake.

    Raises:
        InvalidParameter: no column holds it.
    """
    if mark is None:
        return graphs
    found = {name: marked(graphs.values("graph", name), mark) for name in names}
    if needed and not any(rows.any() for rows in found.values()) and str(mark).casefold() not in MISSING:
        listed = " or ".join(map(repr, names))
        raise InvalidParameter(
            f"--unlabelled {mark}: not one of {len(graphs):,} graphs has this value of {listed}; name the "
            f"value that means unlabelled, or leave the option out (empty cells are unlabelled anyway)"
        )
    for name, rows in found.items():
        if rows.any():
            graphs = _emptied(graphs, name, rows)
    return graphs


def marked(values: NDArray[Any], mark: Mark) -> NDArray[np.bool_]:
    """Which values are the mark. Same shape."""
    number, text = as_number(mark), str(mark).strip()
    if values.dtype.kind == "f":
        return np.asarray(values == number) if number is not None else np.zeros(values.shape, bool)
    found = [
        value is not None
        and (str(value).strip() == text or (number is not None and as_number(value) == number))
        for value in values.tolist()
    ]
    return np.array(found, dtype=bool)


def as_number(value: Any) -> float | None:
    """A number, or a text that is spelled like one, as a float; None for anything else."""
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _emptied(graphs: GraphSet, name: str, rows: NDArray[np.bool_]) -> GraphSet:
    values = graphs.values("graph", name)
    column = next(column for column in graphs.schema.graph if column.name == name)
    if column.kind == "float":
        return graphs.with_column("graph", column, np.where(rows, np.nan, values))
    known = ~(rows | missing(values))
    numbers = [as_number(value) if isinstance(value, str) else None for value in values[known].tolist()]
    if numbers and all(number is not None for number in numbers):
        filled = np.full(len(values), np.nan)
        filled[known] = numbers
        return graphs.with_column("graph", Column(name, "float", unit=split_header(name)[1]), filled)
    left = objects(values.tolist())
    left[~known] = None
    stored, described = store_graph_column(name, left.tolist())
    return graphs.with_column("graph", described, stored)
