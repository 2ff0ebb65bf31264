"""What everyone must beat: the mean of the labels, or the most frequent class."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from infograph.contract import GraphPredictor, State, Task
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.data.schema import Category, Schema
from infograph.data.targets import ClassTargets


class MeanPredictor(GraphPredictor):
    """Predicts the same for every graph: the mean of the labelled ones, or their most frequent class.

        MeanPredictor().fit(graphs, y).predict(graphs)

    Several targets have a mean each, over the graphs that are labelled with it. Probabilities are the
    frequencies of the classes; of equally frequent classes the first is predicted.

    Args:
        task: "regression" or "classification".
        unlabelled: a class label that means unlabelled, besides NaN and None.
    """

    def __init__(self, task: Task = "regression", *, unlabelled: Category | None = None) -> None:
        self.task = task
        self.unlabelled = unlabelled

    def fit(self, graphs: Any, y: Any = None) -> Self:
        """Average the labels; `y` is one value or row per graph, or names graph columns (None: "y")."""
        known = as_graphset(graphs)
        targets = self._targets(y, known)
        if isinstance(targets, ClassTargets):
            self.mean_ = np.bincount(targets.codes[targets.labelled]) / targets.labelled.sum()  # (C,)
        else:
            self.mean_ = np.nanmean(targets.values, axis=0)  # (T,)
        self._remember(targets)
        self.schema_ = Schema()  # any graph will do
        return self

    def _outputs(self, graphs: GraphSet) -> NDArray[np.float64]:
        return np.tile(self.mean_, (len(graphs), 1))

    def _state(self) -> State:
        return {"mean": self.mean_}

    def _set_state(self, state: State) -> None:
        self.mean_ = state["mean"]
