"""A fitted random forest as plain arrays: saved without pickle, and predicted from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Trees:
    """All trees of a forest, their nodes one tree after the other. M nodes, K outputs.

    Attributes:
        roots: (trees,) the first node of every tree.
        children: (M, 2) where a row goes whose feature is at most the threshold, and where otherwise; a leaf
            has itself.
        feature: (M,) the feature that is looked at; 0 in leaves.
        threshold: (M,) compared with it.
        values: (M, K) what a leaf predicts.
    """

    roots: NDArray[np.int64]
    children: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    values: NDArray[np.float64]

    @classmethod
    def of(cls, forest: Any) -> Self:
        """The trees of scikit-learn's RandomForestRegressor (one target) or RandomForestClassifier."""
        trees = [estimator.tree_ for estimator in forest.estimators_]
        roots = np.concatenate([[0], np.cumsum([tree.node_count for tree in trees])])
        children = []
        for root, tree in zip(roots, trees, strict=False):
            both = np.stack([tree.children_left, tree.children_right], axis=1)  # (nodes, 2)
            children.append(np.where(both < 0, np.arange(tree.node_count)[:, None], both) + root)
        feature = np.concatenate([tree.feature for tree in trees])
        return cls(
            roots[:-1].astype(np.int64),
            np.concatenate(children).astype(np.int32),
            np.maximum(feature, 0).astype(np.int32),
            np.concatenate([tree.threshold for tree in trees]),
            np.concatenate([tree.value[:, 0, :] for tree in trees]),
        )

    def predict(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """The mean over all trees, added up in their order as scikit-learn does. (G, F) -> (G, K)."""
        total = np.zeros((len(rows), self.values.shape[1]))
        for root in self.roots:
            total += self.values[self._leaves(int(root), rows)]
        return total / len(self.roots)

    def _leaves(self, root: int, rows: NDArray[Any]) -> NDArray[np.int32]:
        """The leaf of one tree that each row falls into; every step moves the rows that are not there yet."""
        at = np.full(len(rows), root, dtype=np.int32)
        moving = np.arange(len(rows))
        while len(moving):
            here = at[moving]
            right = rows[moving, self.feature[here]] > self.threshold[here]
            there = self.children[here, right.astype(np.intp)]
            at[moving] = there
            moving = moving[there != here]
        return at

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """For a saved model; `Trees.from_arrays` reads them back."""
        return {f"{name}.{field}": getattr(self, field) for field in self.__dataclass_fields__}

    @classmethod
    def from_arrays(cls, name: str, state: dict[str, NDArray[Any]]) -> Self:
        """What `arrays` gave."""
        return cls(**{field: state[f"{name}.{field}"] for field in cls.__dataclass_fields__})
