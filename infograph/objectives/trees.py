"""Random forests as arrays: what scikit-learn has grown, kept and applied without it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Floats = NDArray[np.float64]


class Trees(NamedTuple):
    """All trees of a forest, their nodes one tree after the other. M nodes, K outputs."""

    roots: NDArray[np.int64]  # (trees,) the first node of every tree
    children: NDArray[np.int32]  # (M, 2) where a row goes up to the threshold, and beyond; leaves: themselves
    feature: NDArray[np.int32]  # (M,) what is compared with the threshold; 0 in leaves
    threshold: Floats  # (M,)
    values: Floats  # (M, K) what a leaf predicts

    @classmethod
    def of(cls, forest: Any) -> Self:
        """The trees of scikit-learn's RandomForestRegressor (one target) or RandomForestClassifier."""
        trees = [estimator.tree_ for estimator in forest.estimators_]
        roots = np.concatenate([[0], np.cumsum([tree.node_count for tree in trees])])
        children = []
        for root, tree in zip(roots, trees, strict=False):
            both = np.stack([tree.children_left, tree.children_right], axis=1)  # (nodes, 2)
            children.append(np.where(both < 0, np.arange(tree.node_count)[:, None], both) + root)
        return cls(
            roots[:-1].astype(np.int64),
            np.concatenate(children).astype(np.int32),
            np.concatenate([np.maximum(tree.feature, 0) for tree in trees]).astype(np.int32),
            np.concatenate([tree.threshold for tree in trees]),
            np.concatenate([tree.value[:, 0, :] for tree in trees]),
        )

    def predict(self, rows: NDArray[Any]) -> Floats:
        """The mean over all trees, added up in their order as scikit-learn does. (G, F) -> (G, K)."""
        total = np.zeros((len(rows), self.values.shape[1]))
        for root in self.roots:
            at = np.full(len(rows), root, dtype=np.int32)
            moving = np.arange(len(rows))  # every step moves the rows that are not in a leaf yet
            while len(moving):
                here = at[moving]
                right = rows[moving, self.feature[here]] > self.threshold[here]
                at[moving] = self.children[here, right.astype(np.intp)]
                moving = moving[at[moving] != here]
            total += self.values[at]
        return total / len(self.roots)


class Forest(nn.Module):
    """Random forests, one per column; no gradient goes through them."""

    def __init__(self, forests: Mapping[str, Any]) -> None:
        super().__init__()
        self.n_forests = len({name.split("_")[0] for name in forests})
        for name, value in forests.items():
            self.register_buffer(name, torch.as_tensor(value))

    @classmethod
    def of(cls, forests: list[Any]) -> Forest:
        fields = [Trees.of(forest)._asdict() for forest in forests]
        return cls({f"f{n}_{name}": v for n, each in enumerate(fields) for name, v in each.items()})

    def forward(self, vectors: Tensor) -> Tensor:
        rows, columns = vectors.detach().cpu().numpy(), []
        for number in range(self.n_forests):
            trees = Trees(*(getattr(self, f"f{number}_{name}").cpu().numpy() for name in Trees._fields))
            columns.append(trees.predict(rows))
        return torch.from_numpy(np.hstack(columns)).to(vectors)
