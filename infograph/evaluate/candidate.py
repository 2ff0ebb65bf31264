"""The scores of one setting with one classifier, and what is chosen from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.evaluate.kernels import Floats


@dataclass(frozen=True, eq=False)
class Candidate:
    """All scores of one setting with one classifier: R repeats, F folds, P values of the grid.

    Attributes:
        setting: name of the representation.
        classifier: name of the classifier.
        grid: the P values of C, or numbers of neighbours for knn, smallest first.
        scale: whether columns were standardised.
        max_iter: iteration bound of each fit; 0 for knn, which does not iterate.
        inner: mean accuracy over the inner folds.
        outer: accuracy on the outer test fold.
        stopped: fits, of inner_folds + 1, that reached the iteration bound.
    """

    setting: str
    classifier: str
    grid: tuple[float, ...]
    scale: bool
    max_iter: int
    inner: Floats  # (R, F, P)
    outer: Floats  # (R, F, P)
    stopped: NDArray[np.int64]  # (R, F, P)

    @property
    def chosen(self) -> Floats:
        """The value of the grid that is best on the inner folds of each outer fold, (R, F)."""
        return np.array(self.grid)[best(self.inner)]

    @property
    def chosen_inner(self) -> Floats:
        """The inner score of the chosen value, (R, F)."""
        return pick(self.inner, best(self.inner))

    @property
    def chosen_outer(self) -> Floats:
        """The outer score of the chosen value, (R, F)."""
        return pick(self.outer, best(self.inner))

    def to_dict(self) -> dict[str, Any]:
        """All fields as JSON-ready lists and numbers."""
        return {
            "setting": self.setting,
            "classifier": self.classifier,
            "grid": list(self.grid),
            "scale": self.scale,
            "max_iter": self.max_iter,
            "inner": self.inner.tolist(),
            "outer": self.outer.tolist(),
            "stopped": self.stopped.tolist(),
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Candidate:
        """The candidate that `to_dict` wrote."""
        return cls(
            setting=str(record["setting"]),
            classifier=str(record["classifier"]),
            grid=tuple(float(value) for value in record["grid"]),
            scale=bool(record["scale"]),
            max_iter=int(record["max_iter"]),
            inner=np.array(record["inner"], dtype=np.float64),
            outer=np.array(record["outer"], dtype=np.float64),
            stopped=np.array(record["stopped"], dtype=np.int64),
        )


def best(scores: Floats) -> NDArray[np.intp]:
    """The first of the best along the last axis; rounded, as equal accuracies may differ in the last bit."""
    return np.asarray(np.argmax(np.round(scores, 12), axis=-1))


def pick(scores: Floats, which: NDArray[np.intp]) -> Floats:
    """The entries of the last axis that `which` names."""
    picked: Floats = np.take_along_axis(scores, which[..., None], axis=-1)[..., 0]
    return picked
