"""How certain the ratio of two mean errors is: the same molecules are drawn again and again for both."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

Interval = tuple[float, float]
RESAMPLES, LEVEL, SEED = 2_000, 0.95, 0
AT_ONCE = 200  # resamples; their counts are 16 MB for 10,000 molecules


def resampled_means(
    errors: NDArray[np.float64], *, resamples: int = RESAMPLES, seed: int = SEED
) -> NDArray[np.float64]:
    """Mean errors on N molecules drawn with replacement; every draw is the same for all M methods.

    A draw is written as how often each molecule came, so that the means are one matrix product.

    Args:
        errors: (N, M).
        resamples: how many draws.
        seed: of the draws.

    Returns:
        (resamples, M).
    """
    rng = np.random.default_rng(seed)
    n = len(errors)
    means = []
    for begin in range(0, resamples, AT_ONCE):
        draws = min(AT_ONCE, resamples - begin)
        molecules = rng.integers(n, size=(draws, n)) + n * np.arange(draws)[:, None]
        counts = np.bincount(molecules.ravel(), minlength=draws * n).reshape(draws, n)
        means.append(counts @ errors / n)  # (draws, M)
    return np.concatenate(means)


def ratio_intervals(
    errors: Mapping[str, ArrayLike],
    reference: str,
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> dict[str, Interval]:
    """Percentile intervals of each method's mean error divided by that of the reference, paired by molecule.

    Args:
        errors: method -> (N,) errors of the same molecules in the same order.
        reference: the method to divide by.
        level: share of the resampled ratios inside the interval.
        resamples, seed: see `resampled_means`.
    """
    names = list(errors)
    columns = np.stack([np.asarray(errors[name], dtype=np.float64) for name in names], axis=1)  # (N, M)
    means = resampled_means(columns, resamples=resamples, seed=seed)
    ratios = means / means[:, [names.index(reference)]]
    low, high = np.quantile(ratios, [(1 - level) / 2, (1 + level) / 2], axis=0)  # (M,) each
    return {name: (float(low[place]), float(high[place])) for place, name in enumerate(names)}
