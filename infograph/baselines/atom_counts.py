"""Least squares on the counts of atoms: with five numbers per molecule, hard to beat on energies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.counts import count_nodes, countable, seen_only
from infograph.contract import GraphPredictor, State, Task
from infograph.data.align import align
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.data.schema import Category
from infograph.data.targets import ClassTargets, Targets


class AtomCounts(GraphPredictor):
    """A linear model of how often each node category occurs in a graph, plus an intercept.

        AtomCounts().fit(molecules, "U0").predict(molecules)

    For molecules these are the elements, hydrogens included whether they are nodes or not. Regression is
    ordinary least squares, one fit per target over the graphs that are labelled with it; where the counts
    leave it open (an element in every molecule equally often), the shortest of the best coefficient vectors
    is taken. Classification is scikit-learn's logistic regression (penalty C=1, its default) on the same
    standardised counts. Categories that no labelled graph has get the coefficient 0; those that no graph of
    `fit` has are counted in one `UnknownCategoryWarning`.

    Args:
        columns: the node columns to count; None takes `element` where there is one, otherwise every
            categorical node column that encoders see, and the number of nodes where there is none of these.
        task: "regression" or "classification".
        unlabelled: a class label that means unlabelled, besides NaN and None.

    Attributes:
        feature_names_: (F,) what is counted, such as "element C".
        coef_: (F, T) in the targets' units per occurrence, or (F, C) for the scores of the classes.
        intercept_: (T,) or (C,).
    """

    def __init__(
        self,
        columns: Sequence[str] | None = None,
        task: Task = "regression",
        *,
        unlabelled: Category | None = None,
    ) -> None:
        self.columns = columns
        self.task = task
        self.unlabelled = unlabelled

    def fit(self, graphs: Any, y: Any = None) -> Self:
        """Fit the coefficients; `y` is one value or row per graph, or names graph columns (None: "y")."""
        known = as_graphset(graphs)
        targets = self._targets(y, known)
        known = align(known, seen_only(known, countable(known.schema, self.columns)))
        names, counts = count_nodes(known)
        if isinstance(targets, ClassTargets):
            self.coef_, self.intercept_ = _logistic(counts, targets)
        else:
            self.coef_, self.intercept_ = _least_squares(counts, targets)
        self.feature_names_ = names
        self._remember(targets)
        self.schema_ = known.schema.replace("graph", ())
        return self

    def _outputs(self, graphs: GraphSet) -> NDArray[np.float64]:
        scores = count_nodes(graphs)[1] @ self.coef_ + self.intercept_  # (G, T) or (G, C)
        if not hasattr(self, "classes_"):
            return np.asarray(scores)
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def _state(self) -> State:
        return {"coef": self.coef_, "intercept": self.intercept_}

    def _set_state(self, state: State) -> None:
        self.coef_, self.intercept_ = state["coef"], state["intercept"]

    def _learned(self) -> dict[str, Any]:
        return {**super()._learned(), "features": list(self.feature_names_)}

    def _set_learned(self, learned: dict[str, Any]) -> None:
        super()._set_learned(learned)
        self.feature_names_ = tuple(learned["features"])


def _standard(counts: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and scale of the features; a constant one has scale 1 (and is 0 everywhere once centred)."""
    deviation = counts.std(axis=0)
    return counts.mean(axis=0), np.where(deviation > 0, deviation, 1.0)


def _least_squares(
    counts: NDArray[np.float64], targets: Targets
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Per target, by a singular value decomposition of the centred and scaled counts."""
    coefficients, intercepts = [], []
    for values, known in zip(targets.values.T, targets.known.T, strict=True):
        mean, scale = _standard(counts[known])
        middle = values[known].mean()
        scaled = (counts[known] - mean) / scale
        solution = np.linalg.lstsq(scaled, values[known] - middle, rcond=None)[0] / scale  # (F,)
        coefficients.append(solution)
        intercepts.append(middle - mean @ solution)
    return np.stack(coefficients, axis=1), np.array(intercepts)  # (F, T), (T,)


def _logistic(
    counts: NDArray[np.float64], targets: ClassTargets
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    from sklearn.linear_model import LogisticRegression

    counts = counts[targets.labelled]
    mean, scale = _standard(counts)
    model = LogisticRegression(max_iter=10_000).fit((counts - mean) / scale, targets.codes[targets.labelled])
    coefficients = model.coef_.T / scale[:, None]  # (F, C), or (F, 1) for two classes
    intercepts = model.intercept_ - mean @ coefficients
    if len(targets.classes) == 2:  # the first class scores 0
        coefficients = np.hstack([np.zeros_like(coefficients), coefficients])
        intercepts = np.concatenate([[0.0], intercepts])
    return coefficients, intercepts
