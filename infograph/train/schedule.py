"""When to lower the learning rate, when to stop, and which epoch was best: functions of the errors so far.

Nothing here has a state, so that a resumed run decides as an uninterrupted one would.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

THRESHOLD = 1e-4  # what counts as better: by that share, as in torch's ReduceLROnPlateau


@dataclass(frozen=True)
class Schedule:
    """Plateau schedule and early stopping; the defaults are those of the paper's code for molecules.

    Attributes:
        lr: the learning rate at the start.
        factor: what the rate is multiplied with once the error has not improved ...
        patience: ... for more than that many epochs.
        floor: the least rate.
        stop_after: epochs without improvement after which training ends; None for never.
    """

    lr: float
    factor: float = 0.7
    patience: int = 5
    floor: float = 1e-6
    stop_after: int | None = None

    def rate(self, errors: Sequence[float]) -> float:
        """The learning rate of the next epoch, as torch's ReduceLROnPlateau gives it."""
        rate, best, waited = self.lr, math.inf, 0
        for error in errors:
            if error < best * (1 - THRESHOLD) if best >= 0 else error < best * (1 + THRESHOLD):
                best, waited = error, 0
            else:
                waited += 1
            if waited > self.patience:
                rate, waited = min(rate, max(rate * self.factor, self.floor)), 0
        return rate

    def ended(self, errors: Sequence[float]) -> bool:
        """Whether to stop before the next epoch."""
        return self.stop_after is not None and len(errors) - 1 - best_epoch(errors) >= self.stop_after


def best_epoch(errors: Sequence[float]) -> int:
    """The first epoch, from 0, with the least error; -1 before the first, NaN is worst."""
    clean = [math.inf if math.isnan(error) else error for error in errors]
    return clean.index(min(clean)) if clean else -1
