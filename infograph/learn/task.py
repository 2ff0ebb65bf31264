"""Whether columns are predicted as numbers or as classes."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.contract import Task
from infograph.data.graphset import GraphSet
from infograph.data.label_columns import is_continuous
from infograph.data.labels import missing, where
from infograph.data.schema import Column
from infograph.errors import InvalidParameter, InvalidTarget
from infograph.learn.marks import as_number

DOUBTFUL = -1  # it may be a class, or mean unlabelled


class BadCell(InvalidTarget):
    """A column of numbers has a text among them; `row` is the position of its graph."""

    def __init__(self, message: str, row: int) -> None:
        super().__init__(message)
        self.row = row


def task_of(graphs: GraphSet, columns: Sequence[Column]) -> Task:
    """Whether columns hold numbers or classes.

    Raises:
        InvalidTarget: several, of which one holds classes; or texts that are neither numbers nor classes.
    """
    for column in columns:
        _check_numbers(graphs, column)
        if column.kind == "text":
            raise InvalidTarget(
                f"the column {column.name!r} holds texts that hardly repeat: no numbers, no classes"
            )
    classes = [
        column.name
        for column in columns
        if column.kind != "float"
        or not (column.unit or column.width > 1 or is_continuous(graphs.values("graph", column.name)))
    ]
    if len(columns) > 1 and len(classes) == len(columns):
        raise InvalidTarget(f"{', '.join(classes)} hold classes: a model predicts one column of classes")
    if len(columns) > 1:
        texts = [column.name for column in columns if column.kind != "float"]
        if texts:
            raise InvalidTarget(
                f"{texts[0]!r} holds classes, the other targets numbers: train one model each"
            )
        return "regression"
    return "classification" if classes else "regression"


def check_task(graphs: GraphSet, columns: Sequence[Column], task: Task) -> None:
    """Refuse columns that cannot be predicted as what they are said to hold.

    Raises:
        InvalidTarget: a text among numbers, several columns of classes, or a -1 that may be a class or not.
    """
    if task == "regression":
        for column in columns:
            _check_numbers(graphs, column)
        return
    if len(columns) > 1:
        listed = ", ".join(column.name for column in columns)
        raise InvalidTarget(f"--task classification predicts one column, not {listed}: train one model each")
    for column in columns:
        if column.kind == "float" and (graphs.values("graph", column.name) == DOUBTFUL).any():
            raise InvalidTarget(
                f"there is a -1 among the classes of {column.name!r}: if it means unlabelled, say "
                f"--unlabelled -1; if it is a class, say --label {shlex.quote(column.name)} --target y"
            )


def check_each_class(every: NDArray[Any], learned: NDArray[Any], judged: NDArray[Any], asked: int) -> None:
    """Refuse so few labels that a class has none to learn from.

    Args:
        every: the classes of all labelled graphs.
        learned, judged: those to learn from, and to validate by.
        asked: how many labels were asked for.

    Raises:
        InvalidParameter: there are more classes than labels, or one is only among those to validate by.
    """
    known, left = set(every.tolist()), set(learned.tolist())
    if asked < len(known) or set(judged.tolist()) - left:
        raise InvalidParameter(
            f"--labelled {asked} is too small for {len(known)} classes: {len(known - left)} of them would "
            f"have no label to learn from; use more labels, or leave the option out for all"
        )


def _check_numbers(graphs: GraphSet, column: Column) -> None:
    """Refuse numbers with a text among them."""
    if column.kind == "float":
        return
    values = graphs.values("graph", column.name)
    known = np.flatnonzero(~missing(values))
    odd = [row for row in known if isinstance(values[row], str) and as_number(values[row]) is None]
    if 0 < len(odd) < len(known) / 2:
        first, several = str(values[odd[0]]), f" ({len(odd):,} such values)" if len(odd) > 1 else ""
        same = len({str(values[row]) for row in odd}) == 1
        raise BadCell(
            f"the column {column.name!r} holds numbers, but that of {where(graphs, int(odd[0]))} is "
            f"{first!r}: correct it, or leave the cell empty{several}"
            + (f"; --unlabelled {first!r} says that it means unlabelled" if same else ""),
            int(odd[0]),
        )
