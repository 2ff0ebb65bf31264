"""What a label is: missing or known, a number or a class, how it is spelled and scaled.

`missing` is the one place that decides what counts as no label:

| value                                   | meaning                                                          |
|-----------------------------------------|------------------------------------------------------------------|
| None, NaN, pandas' NA, an empty text    | missing                                                          |
| "nan" in a numpy array of texts         | missing: numpy makes it of a NaN; in a list it is a class        |
| a cell of `MISSING` in a file ("NA" ...)| missing in a column of numbers (`infograph.data.columns`)        |
| the `unlabelled` value ("?", -999 ...)  | missing; -999, -999.0 and "-999" are the same                    |
| -1 among classes                        | refused until `unlabelled=-1` says it is missing; a class where  |
|                                         | the schema of the graphs lists it, or where graphs are judged by |
|                                         | it and one other class                                           |
| inf                                     | never missing: a mistake, neither a number to learn nor a class  |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet
from infograph.data.records import is_missing, store_graph_column
from infograph.data.schema import Category, Column
from infograph.data.units import split_header
from infograph.errors import InvalidParameter, InvalidTarget

Task = Literal["regression", "classification"]
Mark = Category | float

MISSING = {"", "na", "n/a", "nan", "null", "none"}  # cells of a column of numbers that hold none, in any case
FEW = 20  # whole numbers with at most this many different values are classes


def missing(values: NDArray[Any], unlabelled: Mark | None = None) -> NDArray[np.bool_]:
    """Which values are not there, by the table above. Same shape."""
    number, text = as_number(unlabelled), str(unlabelled).strip()
    if values.dtype.kind in "fiu":
        gone = np.isnan(values)
        return np.asarray(gone if number is None else gone | (values == number))

    def is_gone(value: Any) -> bool:
        if is_missing(value) or (value == "nan" and values.dtype.kind == "U"):
            return True
        same = unlabelled is not None and str(value).strip() == text
        return same or (number is not None and as_number(value) == number)

    flat = [is_gone(value) for value in values.ravel().tolist()]
    return np.array(flat, dtype=bool).reshape(values.shape)


def is_known(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values can be counted and shown: neither missing nor infinite. Same shape."""
    known = ~missing(values)
    return np.asarray(known & np.isfinite(values)) if values.dtype.kind == "f" else known


def as_number(value: Any) -> float | None:
    """A number, or a text that is spelled like one, as a float; None for anything else, and for booleans."""
    if isinstance(value, bool | np.bool_) or (isinstance(value, str) and not is_plain(value)):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def is_plain(text: str) -> bool:
    """Whether Python may say if a text is a number: to it alone 1_1 and digits of other scripts are such."""
    return "_" not in text and text.strip().isascii()


def check_unlabelled(value: Any) -> None:
    """Refuse what is no single label, as a value that means unlabelled; None stands for none."""
    if value is not None and not isinstance(value, str | Real | np.generic):
        raise InvalidParameter(f"unlabelled={value!r}: expected one label, such as -1 or '?'")


def without_mark(
    graphs: GraphSet, names: Sequence[str], mark: Mark | None, *, needed: bool = False
) -> GraphSet:
    """`graphs` in which every `mark` in some graph columns is a missing value.

    Texts that are numbers but for the marks become numbers. A mark that is `needed` must be somewhere.
    """
    if mark is None:
        return graphs
    found = False
    for name in names:
        values, column = graphs.values("graph", name), graphs.schema.column("graph", name)
        known = ~missing(values, mark)
        if np.array_equal(known, ~missing(values)):
            continue
        found = True
        numbers = [as_number(value) if isinstance(value, str) else None for value in values[known].tolist()]
        if column is not None and column.kind == "float":
            stored = np.where(known, values, np.nan)
        elif numbers and None not in numbers:
            stored, column = np.full(len(values), np.nan), Column(name, "float", unit=split_header(name)[1])
            stored[known] = numbers
        else:
            left = [value if there else None for value, there in zip(values.tolist(), known, strict=True)]
            stored, column = store_graph_column(name, left)
        graphs = graphs.with_column("graph", column, stored)
    if needed and not found and str(mark).casefold() not in MISSING:
        raise InvalidParameter(
            f"unlabelled={mark!r}: not one of {len(graphs):,} graphs has this value of "
            f"{' or '.join(map(repr, names))}; empty cells are unlabelled anyway"
        )
    return graphs


# ---- numbers or classes


def is_continuous(values: NDArray[Any]) -> bool:
    """Whether a column holds measured values: numbers that are not whole, or too many different ones."""
    known = values[is_known(values)]
    if known.dtype.kind == "O" and all(isinstance(value, int | float) for value in known):
        known = known.astype(np.float64)
    if known.dtype.kind not in "fiu" or not len(known):
        return False
    return bool((known != np.rint(known)).any()) or len(np.unique(known)) > FEW


def task_of(graphs: GraphSet, columns: Sequence[Column]) -> Task:
    """Whether columns are predicted as numbers or as classes; what is neither, or both, is refused."""
    classes: list[str] = []
    numbers: list[str] = []
    for column in columns:
        check_numbers(graphs, column)
        if column.kind == "text":
            raise InvalidTarget(f"the column {column.name!r} holds texts that hardly repeat: no classes")
        measured = column.unit or column.width > 1 or is_continuous(graphs.values("graph", column.name))
        (numbers if column.kind == "float" and measured else classes).append(column.name)
    if classes and numbers:
        raise InvalidTarget(
            f"{listed(classes)} {'hold' if len(classes) > 1 else 'holds'} classes and {listed(numbers)} "
            f"measured numbers: train a model for each kind, or pass task='regression' where whole numbers "
            f"were measured"
        )
    return "classification" if classes else "regression"


def check_numbers(graphs: GraphSet, column: Column) -> None:
    """Refuse numbers with a few texts among them."""
    if column.kind == "float":
        return
    values = graphs.values("graph", column.name)
    known = np.flatnonzero(~missing(values))
    odd = [row for row in known if isinstance(values[row], str) and not _spells_number(values[row])]
    if 0 < len(odd) < len(known) / 2:
        first, row = str(values[odd[0]]), int(odd[0])
        others = {str(values[each]) for each in odd} - {first}
        advice = f"correct it, leave the cell empty, or pass unlabelled={first!r} ({len(odd):,} such values)"
        if others:
            which = listed([first, *sorted(others)], 3)
            advice = f"correct {len(odd):,} such values ({which}), or leave the cells empty"
        raise InvalidTarget(
            f"the column {column.name!r} holds numbers, but that of {graph_name(graphs, row)} is {first!r}: "
            f"{advice}"
        )


def graph_name(graphs: GraphSet | None, index: int) -> str:
    """How a graph is called in a message: its position, and its id where that is another."""
    graph_id = index if graphs is None or not len(graphs.ids) else graphs.ids[index].item()
    return f"graph {index}" + ("" if str(graph_id) == str(index) else f" (id {graph_id!r})")


def _spells_number(text: str) -> bool:
    """Whether a text is a number, perhaps with a decimal comma."""
    return as_number(text.replace(",", ".") if text.count(",") == 1 else text) is not None


def count_classes(values: NDArray[Any]) -> list[tuple[str, int]]:
    """Class names and how many graphs each has, the largest first; unknown ones are not counted."""
    counts = Counter(class_name(value) for value in values[is_known(values)].tolist())
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def class_name(value: Any) -> str:
    """How a class is spelled: 1.0 is 1, and white space is single."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return " ".join(str(value).split())


def listed(classes: Sequence[Category], most: int = 8) -> str:
    """The first few classes, as a message names them."""
    more = f" and {len(classes) - most} more" if len(classes) > most else ""
    return ", ".join(map(repr, classes[:most])) + more
