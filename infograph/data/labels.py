"""Whatever a user gives as `y` -> named columns of raw values, one row per graph."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.columns import is_missing, objects
from infograph.data.graphset import GraphSet
from infograph.data.units import LABEL
from infograph.errors import InvalidParameter, InvalidTarget

GENERATED = re.compile(rf"({LABEL}(_\d+)?|\d+)")  # names that nobody gave: ours, and pandas' positions
NOT_THERE = "nan"  # what numpy makes of a NaN among texts


@dataclass(frozen=True, eq=False)
class RawLabels:
    """Labels before anyone asked whether they are numbers or classes.

    Attributes:
        names: of the T columns; "y" (or "y_0", "y_1" ...) where the user gave none.
        units: of the T columns, empty where there is none.
        values: (G, T) as they came: numbers, texts or objects.
        single: whether `y` was one-dimensional, so that predictions are, too.
        coded: whether the values are a categorical graph column, whose schema says what the classes are.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    values: NDArray[Any]
    single: bool
    coded: bool = False


def read_labels(y: Any, graphs: GraphSet, *, lists_are_names: bool) -> RawLabels:
    """Find the labels of `graphs`.

    Args:
        y: one value or row per graph (a list, array, pandas Series or DataFrame), a graph column's name, or
            None for the graph column "y". The text 'nan' in a numpy array of texts is missing: that is what
            numpy makes of a NaN; a class of that name needs a list, or an array of objects.
        graphs: the graphs, in the order of `y`.
        lists_are_names: whether a list of texts may name columns; if not, it holds the labels themselves.

    Raises:
        InvalidTarget: no such column, another length than that of `graphs`, or no table of values.
    """
    if y is None:
        return _column(graphs, LABEL, hint="pass y, or ")
    if isinstance(y, str):
        return _column(graphs, y)
    if lists_are_names and _are_names(y, graphs):
        return _columns(graphs, [str(name) for name in y])
    return _array(y, graphs)


def match_names(given: Sequence[str], expected: Sequence[str]) -> list[int]:
    """Where each of the expected targets is among as many given ones.

    Raises:
        InvalidTarget: they are called otherwise, and both by names that someone chose.
    """
    if sorted(given) == sorted(expected):
        return [list(given).index(name) for name in expected]
    if any(all(GENERATED.fullmatch(name) for name in names) for names in (given, expected)):
        return list(range(len(expected)))
    raise InvalidTarget(
        f"the targets are {', '.join(map(repr, given))}, the model's are {', '.join(map(repr, expected))}: "
        "give the same ones; an array without names is taken in the model's order"
    )


def check_unlabelled(value: Any) -> None:
    """Refuse what is no single label, as a value that means unlabelled; None stands for none."""
    if value is not None and not isinstance(value, str | Real | np.generic):
        raise InvalidParameter(f"unlabelled={value!r}: expected one label, such as -1 or '?'")


def where(graphs: GraphSet, index: int) -> str:
    """How a graph is called in a message: its position, and its id where that is another."""
    graph_id = graphs.ids[index].item() if len(graphs.ids) else index
    return f"graph {index}" + ("" if str(graph_id) == str(index) else f" (id {graph_id!r})")


def missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values are not there: None, NaN, pandas' NA, or an empty text. Same shape."""
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    if values.dtype.kind in "OUT":
        flat = [is_missing(value) or (isinstance(value, str) and not value) for value in values.flat]
        return np.array(flat, dtype=bool).reshape(values.shape)
    return np.zeros(values.shape, dtype=bool)


def _are_names(y: Any, graphs: GraphSet) -> bool:
    """A list of texts, unless they are as many as the graphs and none of them is a column."""
    if not isinstance(y, list | tuple) or not y or not all(isinstance(name, str) for name in y):
        return False
    known = {column.name for column in graphs.schema.graph}
    return len(y) != len(graphs) or any(name in known for name in y)


def _column(graphs: GraphSet, name: str, hint: str = "") -> RawLabels:
    column = graphs.schema.column("graph", name)
    if column is None:
        have = ", ".join(repr(c.name) for c in graphs.schema.graph) or "none at all"
        raise InvalidTarget(f"no graph column {name!r} to predict: {hint}name one that is there: {have}")
    values = graphs.values("graph", name)
    if values.ndim == 1:
        return RawLabels((name,), (column.unit,), values[:, None], True, column.kind == "categorical")
    width = values.shape[1]
    return RawLabels(tuple(f"{name}_{i}" for i in range(width)), (column.unit,) * width, values, False)


def _columns(graphs: GraphSet, names: Sequence[str]) -> RawLabels:
    parts = [_column(graphs, name) for name in names]
    joint = tuple(name for part in parts for name in part.names)
    _check_distinct(joint)
    kinds = {part.values.dtype.kind for part in parts}
    values = [part.values if len(kinds) == 1 else part.values.astype(object) for part in parts]
    units = tuple(unit for part in parts for unit in part.units)
    return RawLabels(joint, units, np.concatenate(values, axis=1), False)


def _array(y: Any, graphs: GraphSet) -> RawLabels:
    values = _as_array(y)
    if values.ndim not in (1, 2):
        shape = f"shape {values.shape}" if values.ndim else f"a single {type(y).__name__}"
        raise InvalidTarget(f"y is {shape}; expected one value per graph (G,), or one row (G, targets)")
    _check_length(len(values), graphs)
    single = values.ndim == 1
    table = values[:, None] if single else values  # (G, T)
    if not table.shape[1]:
        raise InvalidTarget(f"y has shape {values.shape}: there is no target in it")
    names = _names(y, table.shape[1], single)
    _check_distinct(names)
    return RawLabels(names, ("",) * len(names), table, single)


def _as_array(y: Any) -> NDArray[Any]:
    """An array of the values as they are: [1, "a"] or ["a", nan] do not become texts on the way."""
    if hasattr(y, "detach"):
        y = y.detach().cpu().numpy()
    if not isinstance(y, list | tuple):
        array = np.asarray(y)
        if array.dtype.kind != "U":
            return array
        return np.where(array == NOT_THERE, None, array.astype(object))  # type: ignore[call-overload, no-any-return]
    if not any(isinstance(row, list | tuple) or getattr(row, "ndim", 0) for row in y):
        return objects(y)
    lengths = {len(row) if hasattr(row, "__len__") else 1 for row in y}
    if len(lengths) > 1:
        raise InvalidTarget(f"y is no table: its rows have different lengths {sorted(lengths)}")
    return np.asarray(y, dtype=object)


def _names(y: Any, n_targets: int, single: bool) -> tuple[str, ...]:
    if hasattr(y, "columns"):
        return tuple(str(name) for name in y.columns)
    own = getattr(y, "name", None)
    if single:
        return (str(own) if own is not None else LABEL,)
    return tuple(f"{LABEL}_{position}" for position in range(n_targets))


def _check_length(n_labels: int, graphs: GraphSet) -> None:
    if n_labels == len(graphs):
        return
    rejected = [item.index for item in graphs.rejected]
    hint = "give one value per graph, NaN or None where it is unknown"
    if rejected and n_labels == len(graphs) + len(rejected):
        shown = ", ".join(map(str, rejected[:10])) + (" ..." if len(rejected) > 10 else "")
        hint = (
            f"{len(rejected)} inputs were left out as bad graphs (positions {shown}), leave out their labels "
            "as well: numpy.delete(y, [r.index for r in graphs.rejected], axis=0)"
        )
    raise InvalidTarget(f"y has {n_labels} labels for {len(graphs)} graphs: {hint}")


def _check_distinct(names: Sequence[str]) -> None:
    twice = [name for position, name in enumerate(names) if name in names[:position]]
    if twice:
        raise InvalidTarget(f"the target {twice[0]!r} is there twice: give every target a name of its own")
