"""The corrected resampled t-test."""

import math
from dataclasses import replace

import numpy as np
import pytest

from infograph.errors import InvalidParameter
from infograph.evaluate import Candidate, Evaluation, Plan, paired_test

PLAN = Plan(5, 2, (("0", 50), ("1", 50)), "hash")


def evaluation(outer, plan=PLAN, seeds=None):
    outer = np.array(outer, dtype=float)[:, :, None]  # (R, F, 1)
    one = Candidate(
        "s", "svm-rbf", (1.0,), True, 100, np.zeros_like(outer), outer, np.zeros(outer.shape, np.int64)
    )
    return Evaluation(plan, seeds or tuple(range(len(outer))), (one,))


def test_by_hand():
    # Differences 0.1, 0.2, 0, 0.1, 0.1: mean 0.1, variance 0.005; error sqrt((1/5 + 1/4) 0.005) = 0.0474342.
    a = evaluation([[0.8, 0.9, 0.7, 0.8, 0.9]])
    b = evaluation([[0.7, 0.7, 0.7, 0.7, 0.8]])
    test = paired_test(a, b)
    assert test.difference == pytest.approx(0.1)
    assert test.statistic == pytest.approx(2.1081851)
    assert test.degrees == 4
    # Table of Student's t with 4 degrees of freedom: 2.776445 cuts off 2.5 %.
    assert test.interval == pytest.approx(
        (0.1 - 2.776445 * 0.04743416, 0.1 + 2.776445 * 0.04743416), abs=1e-6
    )
    # For 4 degrees P(|T| > t) = 1 - u (3 - u^2) / 2 with u = t / sqrt(4 + t^2).
    u = 2.1081851 / math.sqrt(4 + 2.1081851**2)
    assert test.p_value == pytest.approx(1 - u * (3 - u**2) / 2, abs=1e-6)
    assert str(test) == "+10.0 points (95 % interval -3.2 to +23.2, p = 0.1)"


def test_exchanging_the_two_turns_the_sign():
    rng = np.random.default_rng(0)
    a, b = evaluation(rng.random((3, 5))), evaluation(rng.random((3, 5)))
    one, other = paired_test(a, b), paired_test(b, a)
    assert other.difference == pytest.approx(-one.difference)
    assert other.interval == pytest.approx((-one.interval[1], -one.interval[0]))
    assert other.p_value == pytest.approx(one.p_value)


def test_more_confidence_is_a_wider_interval_and_p_agrees_with_it():
    rng = np.random.default_rng(1)
    a, b = evaluation(rng.random((4, 5))), evaluation(rng.random((4, 5)))
    p = paired_test(a, b).p_value
    low, high = paired_test(a, b, level=1 - p).interval
    assert min(abs(low), abs(high)) == pytest.approx(0, abs=1e-9)
    assert paired_test(a, b, level=0.99).interval[0] < paired_test(a, b, level=0.9).interval[0]


def test_repeating_the_same_folds_does_not_buy_certainty():
    rng = np.random.default_rng(2)
    d = 0.05 + 0.05 * rng.normal(size=5)
    once, often = (paired_test(evaluation([d + 0.5] * n), evaluation([[0.5] * 5] * n)) for n in (1, 100))
    assert often.interval[1] - often.interval[0] > 0.3 * (once.interval[1] - once.interval[0])


def test_no_spread():
    a, b = evaluation([[0.8] * 5] * 2), evaluation([[0.7] * 5] * 2)
    same, better = paired_test(a, a), paired_test(a, b)
    assert (same.difference, same.p_value, same.interval) == (0.0, 1.0, (0.0, 0.0))
    assert better.p_value == 0.0 and better.statistic == math.inf and better.difference == pytest.approx(0.1)


def test_protocols_can_be_compared():
    a, b = evaluation([[0.8, 0.9, 0.7, 0.8, 0.9]]), evaluation([[0.7, 0.7, 0.7, 0.7, 0.8]])
    both = Evaluation(PLAN, (0,), (b.candidates[0], replace(a.candidates[0], setting="t")))
    assert paired_test(both, b).difference == 0.0  # equal inner scores: the first candidate
    assert paired_test(both, b, protocol="paper").difference == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("changed", "seeds", "message"),
    [
        ({"folds": 4}, None, "differ in folds: 5 and 4"),
        ({"inner_folds": 3}, None, "differ in inner_folds: 2 and 3"),
        ({"class_sizes": (("0", 50), ("1", 49))}, None, "differ in numbers of graphs: 100 and 99"),
        ({"class_sizes": (("0", 50), ("2", 50))}, None, "differ in classes"),
        ({"labels": "other"}, None, "labels in another order"),
        ({}, (1, 2), r"seeds \(0, 1\) and \(1, 2\); a paired test needs the same folds"),
    ],
)
def test_other_folds_are_refused(changed, seeds, message):
    plan = replace(PLAN, **changed)
    with pytest.raises(InvalidParameter, match=message):
        paired_test(evaluation(np.ones((2, 5))), evaluation(np.ones((2, plan.folds)), plan, seeds))


def test_parameters_out_of_range():
    a = evaluation(np.ones((2, 5)))
    with pytest.raises(InvalidParameter, match="protocol must be"):
        paired_test(a, a, protocol="best")
    with pytest.raises(InvalidParameter, match="level must lie between 0 and 1; 95 came"):
        paired_test(a, a, level=95)
