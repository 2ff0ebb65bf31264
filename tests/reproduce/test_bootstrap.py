"""Intervals of error ratios, against a plain loop over the resamples."""

from __future__ import annotations

import numpy as np
import pytest

from infograph.paper.table2 import AT_ONCE, ratio_intervals, resampled_means


def test_intervals_are_those_of_a_plain_loop():
    rng = np.random.default_rng(3)
    ours, theirs = rng.gamma(2.0, 1.0, 50), rng.gamma(2.0, 1.2, 50)
    draws = np.random.default_rng(7)
    ratios = []
    for _ in range(AT_ONCE + 30):  # more than one portion
        molecules = draws.integers(50, size=50)
        ratios.append(ours[molecules].mean() / theirs[molecules].mean())
    expected = np.quantile(ratios, [0.05, 0.95])
    found = ratio_intervals({"base": theirs, "ours": ours}, "base", level=0.9, resamples=AT_ONCE + 30, seed=7)
    assert found["ours"] == pytest.approx(expected, rel=1e-12)
    assert found["base"] == pytest.approx((1.0, 1.0))


def test_a_constant_factor_is_certain_because_molecules_are_paired():
    errors = np.random.default_rng(0).gamma(1.0, 1.0, 30)
    assert ratio_intervals({"a": errors, "b": 0.5 * errors}, "a", resamples=50)["b"] == pytest.approx(
        (0.5, 0.5)
    )


def test_the_same_seed_gives_the_same_means_and_another_gives_others():
    errors = np.random.default_rng(0).gamma(1.0, 1.0, (20, 2))
    first, again, other = (resampled_means(errors, resamples=10, seed=seed) for seed in (1, 1, 2))
    assert (first == again).all() and (first != other).any()
