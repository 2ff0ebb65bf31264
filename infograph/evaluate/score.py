"""One reported figure: a mean accuracy, its two deviations, and what was chosen where."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from infograph.evaluate.kernels import Floats


@dataclass(frozen=True)
class Choice:
    """What was used in one outer fold. `value` is C, or the number of neighbours for knn."""

    seed: int
    fold: int
    setting: str
    classifier: str
    value: float


@dataclass(frozen=True)
class Score:
    """An accuracy between 0 and 1 as a table cell needs it.

    Attributes:
        protocol: "leak-free" or "paper".
        mean: mean over repeats and folds.
        std: sample deviation of the repeats' means; NaN for a single repeat.
        std_folds: sample deviation over all folds of all repeats.
        fold_scores: the accuracy of every outer fold, per repeat.
        chosen: what was used there, in the same order.
        note: where the choice was made, in words.
    """

    protocol: str
    mean: float
    std: float
    std_folds: float
    fold_scores: tuple[tuple[float, ...], ...]
    chosen: tuple[Choice, ...]
    note: str

    @classmethod
    def of(cls, protocol: str, outer: Floats, chosen: tuple[Choice, ...], note: str) -> Score:
        """Summarise outer accuracies of shape (repeats, folds)."""
        repeat_means = outer.mean(axis=1)  # (R,)
        return cls(
            protocol=protocol,
            mean=float(repeat_means.mean()),
            std=float(repeat_means.std(ddof=1)) if len(repeat_means) > 1 else math.nan,
            std_folds=float(np.std(outer, ddof=1)),
            fold_scores=tuple(tuple(row) for row in outer.tolist()),
            chosen=chosen,
            note=note,
        )

    def __str__(self) -> str:
        repeats, folds = len(self.fold_scores), f"folds ± {100 * self.std_folds:.1f}"
        if repeats == 1:
            return f"{100 * self.mean:.1f} % (1 repeat; {folds})"
        return f"{100 * self.mean:.1f} % ± {100 * self.std:.1f} (over {repeats} repeats; {folds})"
