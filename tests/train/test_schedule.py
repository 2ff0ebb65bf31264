"""The schedule against torch's own, early stopping, and which epoch is the best one."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from infograph import Plateau
from infograph.train.loop import best_epoch

errors = st.one_of(
    st.lists(st.floats(0, 10), max_size=60),
    st.lists(st.integers(1, 4).map(float), max_size=60),  # many ties
    st.lists(st.floats(0.9998, 1.0001), max_size=60),  # around the threshold
    st.lists(st.sampled_from([1.0, 2.0, math.inf, math.nan]), max_size=30),
)


def of_torch(schedule: Plateau, lr: float, seen: list[float]) -> list[float]:
    """The rate before every epoch, and after the last."""
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=lr)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimiser, factor=schedule.factor, patience=schedule.patience, min_lr=schedule.floor
    )
    rates = [optimiser.param_groups[0]["lr"]]
    for error in seen:
        plateau.step(error)
        rates.append(optimiser.param_groups[0]["lr"])
    return rates


@given(errors, st.sampled_from([1e-2, 1e-3, 2e-6]), st.sampled_from([0.1, 0.7]), st.integers(0, 6))
@example([1.0] * 60, 1e-3, 0.7, 0)
@example([1.0] * 10, 1e-7, 0.7, 0)  # a rate below the floor does not rise
def test_rates_are_those_of_torch(seen, lr, factor, patience):
    schedule = Plateau(factor, patience)
    rates = [schedule.rate(lr, seen[:epoch], 60) for epoch in range(len(seen) + 1)]
    assert rates == pytest.approx(of_torch(schedule, lr, seen), rel=1e-12)
    assert rates == sorted(rates, reverse=True)


def test_the_defaults_are_those_of_the_papers_code():
    rates = [Plateau().rate(1e-3, [1.0] * n, 1000) for n in (0, 6, 7, 1000)]
    assert rates == pytest.approx([1e-3, 1e-3, 7e-4, 1e-6])


@given(errors)
def test_the_best_epoch_is_the_first_with_the_least_error(seen):
    found = best_epoch(seen)
    if not seen:
        assert found == -1
        return
    clean = [math.inf if math.isnan(error) else error for error in seen]
    assert clean[found] == min(clean)
    assert all(error > clean[found] for error in clean[:found])


def test_nan_is_worst():
    assert best_epoch([math.nan, 3.0, math.nan, 2.0, 2.0]) == 3
    assert best_epoch([math.nan, math.nan]) == 0
