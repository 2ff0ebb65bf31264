"""What a study found: the model, the vectors, the map, and the table of accuracies."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.embeddings import Embeddings
from infograph.data.graphset import GraphSet
from infograph.estimators.infograph import InfoGraph
from infograph.evaluate import Evaluation, PairedTest, Score
from infograph.maps.map2d import Method

CLASSIFIERS = {
    "svm-rbf": "a support vector machine with an RBF kernel",
    "svm-linear": "a linear support vector machine",
    "logistic": "logistic regression",
    "knn": "nearest neighbours",
}


@dataclass(frozen=True)
class Row:
    """One line of the table: accuracies in per cent, NaN for a deviation that does not exist."""

    method: str
    mean: float
    std: float = math.nan
    std_folds: float = math.nan
    note: str = ""

    @classmethod
    def of(cls, method: str, score: Score, note: str = "") -> Row:
        """The line of a measured score."""
        return cls(method, 100 * score.mean, 100 * score.std, 100 * score.std_folds, note)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; null for a deviation that does not exist."""
        return {key: None if value != value else value for key, value in vars(self).items()}


@dataclass(frozen=True, eq=False)
class Study:
    """Everything a study found.

    Attributes:
        name: what the graphs are called.
        label: the graph column that was predicted, and colours the map; empty where there is none.
        graphs: the graphs.
        model: the trained encoder of the first repeat, the one that is saved.
        embeddings: its vectors.
        points: (G, 2) their map.
        method: how the map was made.
        evaluation: all scores of the settings "InfoGraph" and "untrained"; None where there are no classes.
        rows: the table of accuracies.
        difference: InfoGraph against the untrained encoder on the same folds.
        notes: what a reader must know besides.
        seconds: by stage.
    """

    name: str
    label: str
    graphs: GraphSet
    model: InfoGraph
    embeddings: Embeddings
    points: NDArray[np.float64]
    method: Method
    evaluation: Evaluation | None
    rows: tuple[Row, ...]
    difference: PairedTest | None
    notes: tuple[str, ...]
    seconds: Mapping[str, float]

    @property
    def labels(self) -> NDArray[Any] | None:
        """(G,) the values of the label column."""
        return self.graphs.values("graph", self.label) if self.label else None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: the table, and every score behind it."""
        return {
            "source": self.name,
            "graphs": len(self.graphs),
            "label": self.label or None,
            "table": [row.to_dict() for row in self.rows],
            "difference": vars(self.difference) if self.difference else None,
            "notes": list(self.notes),
            "settings": {k: v for k, v in self.model.get_params(deep=False).items() if _plain(v)},
            "history": self.model.history_,
            "seconds": dict(self.seconds),
            "evaluation": self.evaluation.to_dict() if self.evaluation else None,
        }


def _plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float | bool | list | tuple)
