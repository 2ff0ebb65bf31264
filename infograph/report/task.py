"""Whether columns are predicted as numbers or as classes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from infograph.contract import Task
from infograph.data.graphset import GraphSet
from infograph.data.labels import missing, where
from infograph.data.schema import Column
from infograph.errors import InvalidTarget
from infograph.report.labels import is_continuous


def task_of(graphs: GraphSet, columns: Sequence[Column]) -> Task:
    """Whether columns hold numbers or classes.

    Raises:
        InvalidTarget: several, of which one holds classes; or texts that are neither numbers nor classes.
    """
    for column in columns:
        _check_texts(graphs, column)
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


def _check_texts(graphs: GraphSet, column: Column) -> None:
    """Refuse numbers with a text among them, and texts that hardly ever repeat."""
    if column.kind == "float":
        return
    values = graphs.values("graph", column.name)
    known = np.flatnonzero(~missing(values))
    odd = [row for row in known if isinstance(values[row], str) and not _is_number(values[row])]
    if 0 < len(odd) < len(known) / 2:
        raise InvalidTarget(
            f"the column {column.name!r} holds numbers, but that of {where(graphs, int(odd[0]))} is "
            f"{str(values[odd[0]])!r}: correct it, or leave the cell empty ({len(odd):,} such values)"
        )
    if column.kind == "text":
        raise InvalidTarget(
            f"the column {column.name!r} holds texts that hardly repeat: no numbers, no classes"
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
