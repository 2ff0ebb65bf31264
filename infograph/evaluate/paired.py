"""The test between two methods on the same folds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from infograph.errors import InvalidParameter
from infograph.evaluate.evaluation import Evaluation, check_same_plan
from infograph.evaluate.judges import SCORINGS
from infograph.notebook import as_html


@dataclass(frozen=True)
class PairedTest:
    """The outcome of a paired test; positive differences speak for the first evaluation.

    Attributes:
        difference: mean score of the first minus that of the second; the other way round for errors.
        interval: confidence interval of the difference.
        p_value: two-sided.
        statistic: Student's t; infinite if all differences are equal and not zero.
        degrees: its degrees of freedom, repeats x folds - 1; folds that could not be scored do not count.
        level: confidence of the interval.
    """

    difference: float
    interval: tuple[float, float]
    p_value: float
    statistic: float
    degrees: int
    level: float
    scoring: str = "accuracy"

    def __str__(self) -> str:
        factor, digits, unit = (100, 1, " points") if SCORINGS[self.scoring].percent else (1, 3, "")
        low, high = (f"{factor * end:+.{digits}f}" for end in self.interval)
        return (
            f"{factor * self.difference:+.{digits}f}{unit} "
            f"({100 * self.level:g} % interval {low} to {high}, p = {self.p_value:.2g})"
        )

    def _repr_html_(self) -> str:
        return as_html(f"Difference in {self.scoring}", notes=[str(self)])


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
    """
    if protocol not in ("leak-free", "paper"):
        raise InvalidParameter(f'protocol must be "leak-free" or "paper"; {protocol!r} came')
    if not 0 < level < 1:
        raise InvalidParameter(f"level must lie between 0 and 1; {level} came")
    check_same_plan(a, b)
    if a.seeds != b.seeds:
        raise InvalidParameter(
            f"the repeats have seeds {a.seeds} and {b.seeds}; a paired test needs the same folds"
        )
    scores = [each.leak_free() if protocol == "leak-free" else each.paper() for each in (a, b)]
    d = np.subtract(scores[0].fold_scores, scores[1].fold_scores).ravel()  # (R * F,)
    scored = ~np.isnan(d)  # a fold of one class has no ranks
    d = d[scored] if scored.sum() > 1 else d
    d = -d if SCORINGS[a.scoring].lower else d
    n, mean = len(d), float(d.mean())
    error = float(np.sqrt((1 / n + 1 / (a.plan.folds - 1)) * d.var(ddof=1)))
    if error < 1e-12:  # equal in every fold up to rounding: no t exists, and none is needed
        mean = 0.0 if abs(mean) < 1e-12 else mean
        statistic, p_value = (math.copysign(math.inf, mean), 0.0) if mean else (0.0, 1.0)
    else:
        statistic = mean / error
        p_value = float(2 * stats.t.sf(abs(statistic), n - 1))
    reach = float(stats.t.ppf((1 + level) / 2, n - 1)) * error
    return PairedTest(mean, (mean - reach, mean + reach), p_value, statistic, n - 1, level, a.scoring)
