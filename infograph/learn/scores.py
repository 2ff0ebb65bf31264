"""How wrong predictions are where the graphs have a value of the target."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.contract import GraphPredictor
from infograph.data.graphset import GraphSet
from infograph.data.labels import missing
from infograph.data.schema import Column
from infograph.data.units import match_name, split_header
from infograph.learn.marks import without_mark
from infograph.learn.references import errors_between
from infograph.train.figures import WRONG, figure_text


@dataclass(frozen=True)
class Score:
    """The error of one target: the mean absolute one, or the share of wrong classes.

    Attributes:
        target, unit: of what; "% wrong" is the unit of a share of wrong classes.
        error: how wrong.
        n_graphs: how many graphs have a value.
    """

    target: str
    unit: str
    error: float
    n_graphs: int

    def __str__(self) -> str:
        name = "" if self.unit == WRONG else "mean absolute error "
        return f"{self.target}: {name}{figure_text(self.error, self.unit)} over {self.n_graphs:,} graphs"


def score_predictions(
    model: GraphPredictor, graphs: GraphSet, predicted: NDArray[Any]
) -> tuple[list[Score], list[str]]:
    """The errors of the targets that the graphs have values of, and why others could not be compared.

    Args:
        model: whose predictions these are.
        graphs: perhaps with the targets among their columns, named with or without their unit.
        predicted: (G,) or (G, T) numbers, or (G,) classes.
    """
    classes, notes = hasattr(model, "classes_"), []
    scores: list[Score] = []
    table = predicted.reshape(len(predicted), -1).T  # (T, G)
    for place, (name, unit) in enumerate(zip(model.target_names_, model.target_units_, strict=True)):
        found = _own_column(graphs, name)
        if found is None:
            continue
        graphs = without_mark(graphs, [found.name], model.unlabelled)
        column = graphs.schema.column("graph", found.name)
        if column is None or (column.kind != "float" and not classes):
            continue
        if unit and column.unit != unit and (column.unit or column.name != name):
            notes.append(_other_unit(name, unit, column))
            continue
        error = errors_between(model, table[place], graphs, [column.name])[0]
        if not math.isnan(error):
            known = np.count_nonzero(~missing(graphs.values("graph", column.name)))
            scores.append(Score(name, WRONG if classes else unit, error, int(known)))
    return scores, notes


def _own_column(graphs: GraphSet, target: str) -> Column | None:
    """The graphs' column of a target: of its name, or of that but for the unit."""
    names = [column.name for column in graphs.schema.graph]
    found = match_name(names, target)
    if found is None and split_header(target)[1]:
        stem = split_header(target)[0]
        alike = [name for name in names if split_header(name)[0] == stem]
        found = alike[0] if len(alike) == 1 else None
    return None if found is None else graphs.schema.column("graph", found)


def _other_unit(target: str, unit: str, column: Column) -> str:
    if column.unit:
        return f"{target} was not compared: it is in {column.unit} here, and predicted in {unit}."
    return (
        f"{target} was not compared: the column {column.name!r} has no unit; if it is in {unit}, say "
        f"--unit '{column.name}={unit}'."
    )
