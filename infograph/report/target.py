"""What a study predicts: the label column, and which graphs can be judged by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet
from infograph.data.label_columns import is_continuous, is_known
from infograph.data.units import LABEL
from infograph.evaluate import Plan
from infograph.evaluate.labels import encode_labels


@dataclass(frozen=True, eq=False)
class Target:
    """The labels of a study.

    Attributes:
        column: the label column, empty where there is none.
        values: (G,) the labels.
        judged: (G,) which graphs take part in the evaluation; None where there is nothing to evaluate.
        notes: what a reader must know of it.
    """

    column: str
    values: NDArray[Any]
    judged: NDArray[np.bool_] | None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, graphs: GraphSet, folds: int, inner_folds: int) -> Self:
        """Find the labels of `graphs`.

        Raises:
            InvalidParameter: the classes are too small for that many folds.
        """
        if graphs.schema.column("graph", LABEL) is None:
            return cls("", np.zeros(0), None, ("The graphs have no labels, so nothing was predicted.",))
        values = graphs.values("graph", LABEL)
        if is_continuous(values):
            note = "The labels are measured values and no classes, so no accuracy was measured."
            return cls(LABEL, values, None, (note,))
        known = is_known(values)
        Plan.of(*encode_labels(values[known]), folds, inner_folds)
        missing = int(np.count_nonzero(~known))
        note = f"{missing:,} graphs without a label took part in the training and not in the evaluation."
        return cls(LABEL, values, known, (note,) if missing else ())
