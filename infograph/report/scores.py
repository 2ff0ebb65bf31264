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
from infograph.data.units import match_name
from infograph.report.references import errors_between
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
        found = match_name((column.name for column in graphs.schema.graph), name)
        column = None if found is None else graphs.schema.column("graph", found)
        if column is None or (column.kind != "float" and not classes):
            continue
        if column.unit and unit and column.unit != unit:
            notes.append(f"{name} was not compared: it is in {column.unit} here, and predicted in {unit}.")
            continue
        error = errors_between(model, table[place], graphs, [column.name])[0]
        if not math.isnan(error):
            known = np.count_nonzero(~missing(graphs.values("graph", column.name)))
            scores.append(Score(name, WRONG if classes else unit, error, int(known)))
    return scores, notes
