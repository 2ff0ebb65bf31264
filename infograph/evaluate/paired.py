"""Is one method better than another? The corrected resampled t-test over the same folds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from infograph.errors import InvalidParameter
from infograph.evaluate.evaluation import Evaluation
from infograph.evaluate.merge import check_same_plan


@dataclass(frozen=True)
class PairedTest:
    """The outcome of a paired test; positive differences speak for the first evaluation.

    Attributes:
        difference: mean accuracy of the first minus that of the second.
        interval: confidence interval of the difference.
        p_value: two-sided.
        statistic: Student's t; infinite if all differences are equal and not zero.
        degrees: its degrees of freedom, repeats x folds - 1.
        level: confidence of the interval.
    """

    difference: float
    interval: tuple[float, float]
    p_value: float
    statistic: float
    degrees: int
    level: float

    def __str__(self) -> str:
        low, high = (100 * end for end in self.interval)
        return (
            f"{100 * self.difference:+.1f} points "
            f"({100 * self.level:g} % interval {low:+.1f} to {high:+.1f}, p = {self.p_value:.2g})"
        )


def paired_test(
    a: Evaluation, b: Evaluation, *, protocol: str = "leak-free", level: float = 0.95
) -> PairedTest:
    """Corrected resampled t-test of Nadeau and Bengio (2003) on the fold-wise differences a - b.

    With n differences d of variance s^2, t = mean(d) / sqrt((1/n + test/train) s^2) with n - 1 degrees of
    freedom. The second term stands for the overlap of training folds, without which repeated folds look
    far too certain; for F folds it is 1 / (F - 1).

    Args:
        a: first evaluation.
        b: second evaluation, of the same graphs, folds and seeds.
        protocol: "leak-free" or "paper"; the latter compares figures that were chosen on the test folds.
        level: confidence of the interval.

    Raises:
        InvalidParameter: the folds, seeds or labels differ, or a parameter is out of range.
    """
    if protocol not in ("leak-free", "paper"):
        raise InvalidParameter(f'protocol must be "leak-free" or "paper"; {protocol!r} came')
    if not 0 < level < 1:
        raise InvalidParameter(f"level must lie between 0 and 1; {level} came")
    check_same_plan(a, b)
    if a.seeds != b.seeds:
        raise InvalidParameter(
            f"the evaluations have repeats with seeds {a.seeds} and {b.seeds}; a paired test needs the same "
            "folds, so evaluate both with the same repeats and random_state"
        )
    scores = [each.leak_free() if protocol == "leak-free" else each.paper() for each in (a, b)]
    d = np.subtract(scores[0].fold_scores, scores[1].fold_scores).ravel()  # (R * F,)
    return _corrected(d, a.plan.folds, level)


def _corrected(d: np.ndarray[tuple[int], np.dtype[np.float64]], folds: int, level: float) -> PairedTest:
    n, mean = len(d), float(d.mean())
    error = float(np.sqrt((1 / n + 1 / (folds - 1)) * d.var(ddof=1)))
    if error < 1e-12:  # equal in every fold up to rounding: no t exists, and none is needed
        mean = 0.0 if abs(mean) < 1e-12 else mean
        statistic, p_value = (np.copysign(np.inf, mean), 0.0) if mean else (0.0, 1.0)
    else:
        statistic = mean / error
        p_value = float(2 * stats.t.sf(abs(statistic), n - 1))
    reach = float(stats.t.ppf((1 + level) / 2, n - 1)) * error
    return PairedTest(mean, (mean - reach, mean + reach), p_value, float(statistic), n - 1, level)
