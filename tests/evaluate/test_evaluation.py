"""Reading, storing, merging and comparing evaluations."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from infograph.errors import InvalidParameter
from infograph.evaluate import Candidate, Evaluation, Plan, cross_validate, merge, paired_test

OPTIONS = {"folds": 4, "inner_folds": 2, "C": (0.1, 1.0, 10.0)}
PLAN = Plan(5, 2, (("0", 50), ("1", 50)), "hash")


def data(n=48):
    y = np.arange(n) % 2
    return np.random.default_rng(0).normal(size=(n, 5)) + y[:, None], y


def made_by_hand():
    """Two candidates, 2 repeats x 2 folds x 2 values, small enough to score in the head."""
    a = Candidate(
        setting="a",
        classifier="svm-rbf",
        grid=(1.0, 10.0),
        scale=True,
        max_iter=100,
        inner=np.array([[[0.6, 0.7], [0.8, 0.8]], [[0.5, 0.4], [0.9, 0.2]]]),
        outer=np.array([[[0.1, 0.2], [0.3, 0.4]], [[0.5, 0.6], [0.7, 0.8]]]),
        stopped=np.array([[[0, 1], [0, 0]], [[0, 2], [0, 0]]]),
    )
    b = replace(
        a,
        setting="b",
        classifier="knn",
        inner=np.array([[[0.7, 0.1], [0.9, 0.1]], [[0.1, 0.2], [0.3, 0.9]]]),
        outer=np.array([[[1.0, 0.0], [0.9, 0.0]], [[0.0, 0.2], [0.0, 0.1]]]),
        stopped=np.zeros((2, 2, 2), dtype=np.int64),
    )
    return Evaluation(Plan(2, 2, (("0", 10), ("1", 30)), "hash"), (0, 1), (a, b))


def with_scores(outer, plan=PLAN, seeds=None):
    outer = np.array(outer, dtype=float)[:, :, None]  # (R, F, 1)
    zeros = np.zeros(outer.shape)
    one = Candidate("s", "svm-rbf", (1.0,), True, 100, zeros, outer, zeros.astype(np.int64))
    return Evaluation(plan, seeds or tuple(range(len(outer))), (one,))


def test_both_protocols_by_hand():
    found = made_by_hand()
    leak_free, paper = found.leak_free(), found.paper()
    # Fold by fold: a ties with b at 0.7 and comes first; b wins at 0.9; a wins; a ties with b at 0.9.
    assert leak_free.fold_scores == ((0.2, 0.9), (0.5, 0.7))
    assert leak_free.mean == found.mean == pytest.approx(0.575)
    assert leak_free.std == found.std == pytest.approx(np.std([0.55, 0.6], ddof=1))
    assert leak_free.std_folds == pytest.approx(np.std([0.2, 0.9, 0.5, 0.7], ddof=1))
    # Outer means at the inner choice: a (0.2 + 0.3 + 0.5 + 0.7) / 4, b (1.0 + 0.9 + 0.2 + 0.1) / 4.
    assert paper.mean == pytest.approx(0.55)
    assert found.n_stopped == 3 and found.n_fits == 2 * 8 * 3
    assert found.plan.majority == 0.75 and found.plan.n_graphs == 40
    assert str(found) == "57.5 % ± 3.5 (over 2 repeats; folds ± 29.9); 3 of 48 fits stopped early"
    assert str(paper) == "55.0 % ± 56.6 (over 2 repeats; folds ± 46.5)"
    assert found.select(["b"]).mean == found.select(classifiers=["knn"]).mean == pytest.approx(0.55)
    longer = replace(found, candidates=(*found.candidates, replace(found.candidates[0], setting="ab")))
    assert [each.setting for each in longer.select("ab").candidates] == ["ab"]  # neither "a" nor "b"
    with pytest.raises(InvalidParameter, match="there are 'a' with svm-rbf, 'b' with knn"):
        found.select(["c"])


def test_json_gives_everything_back_and_a_damaged_record_is_refused():
    x, y = data()
    options = {**OPTIONS, "folds": np.int64(4), "repeats": np.int64(2)}
    found = cross_validate({"x": x, "flat": x[:, :1]}, y, classifiers=("svm-rbf", "knn"), **options)
    record = found.to_dict()
    back = Evaluation.from_dict(json.loads(json.dumps(record, allow_nan=False)))
    assert back.to_dict() == record and back.plan == found.plan
    assert back.leak_free() == found.leak_free() and back.paper() == found.paper()
    for a, b in zip(back.candidates, found.candidates, strict=True):
        assert a.inner.dtype == b.inner.dtype and a.stopped.dtype == b.stopped.dtype
    for changed, message in (
        ({"format": 0}, "in format 1"),
        ({"plan": {}}, r"damaged \(KeyError"),
        ({"seeds": [0, 1, 2]}, "scores of 'x' with svm-rbf have the shapes"),
    ):
        with pytest.raises(InvalidParameter, match=message):
            Evaluation.from_dict({**record, **changed})


def test_merging_repeats_and_settings_equals_one_call():
    x, y = data()
    settings = {"x": [x, x + 1, -x], "noisy": [x + np.sin(7 * x), x**2, x**3]}
    names = ("svm-rbf", "knn")
    whole = cross_validate(settings, y, classifiers=names, repeats=3, **OPTIONS)
    cells = [
        cross_validate({name: each[r]}, y, classifiers=names, repeats=1, random_state=r, **OPTIONS)
        for name, each in settings.items()
        for r in (2, 0, 1)
    ]
    assert merge(cells).to_dict() == whole.to_dict()
    assert merge([whole.select([name]) for name in settings]).to_dict() == whole.to_dict()


def test_what_cannot_be_merged():
    x, y = data()

    def run(name="x", y=y, **changed):
        return cross_validate({name: x}, y, **{**OPTIONS, "repeats": 1, **changed})

    first = run()
    for others, message in (
        ([first], r"'x' with svm-rbf needs one repeat with each of the seeds \(0,\)"),
        ([run(random_state=1), run("z")], "'z' with svm-rbf needs one repeat"),
        ([run(random_state=1, C=(1.0,))], "'x' with svm-rbf has not the same grid"),
        ([run("z", folds=3)], "differ in folds"),
        ([run("z", scoring="roc_auc")], "one evaluation has the accuracy, the other the roc_auc"),
        ([run("z", y=1 - y)], "differ in labels"),
    ):
        with pytest.raises(InvalidParameter, match=message):
            merge([first, *others])
    with pytest.raises(InvalidParameter, match="no evaluations"):
        merge([])


# ---- the corrected resampled t-test


def test_paired_by_hand():
    # Differences 0.1, 0.2, 0, 0.1, 0.1: mean 0.1, variance 0.005; error sqrt((1/5 + 1/4) 0.005) = 0.0474342.
    a, b = with_scores([[0.8, 0.9, 0.7, 0.8, 0.9]]), with_scores([[0.7, 0.7, 0.7, 0.7, 0.8]])
    test = paired_test(a, b)
    assert test.difference == pytest.approx(0.1)
    assert test.statistic == pytest.approx(2.1081851)
    assert test.degrees == 4
    # Table of Student's t with 4 degrees of freedom: 2.776445 cuts off 2.5 %.
    reach = 2.776445 * 0.04743416
    assert test.interval == pytest.approx((0.1 - reach, 0.1 + reach), abs=1e-6)
    # For 4 degrees P(|T| > t) = 1 - u (3 - u^2) / 2 with u = t / sqrt(4 + t^2).
    u = 2.1081851 / math.sqrt(4 + 2.1081851**2)
    assert test.p_value == pytest.approx(1 - u * (3 - u**2) / 2, abs=1e-6)
    assert str(test) == "+10.0 points (95 % interval -3.2 to +23.2, p = 0.1)"
    both = Evaluation(PLAN, (0,), (b.candidates[0], replace(a.candidates[0], setting="t")))
    assert paired_test(both, b).difference == 0.0  # equal inner scores: the first candidate
    assert paired_test(both, b, protocol="paper").difference == pytest.approx(0.1)


def test_repeating_the_same_folds_does_not_buy_certainty():
    d = 0.55 + 0.05 * np.random.default_rng(0).normal(size=5)
    once, often = (paired_test(with_scores([d] * n), with_scores([[0.5] * 5] * n)) for n in (1, 100))
    assert np.ptp(often.interval) > 0.3 * np.ptp(once.interval)


def test_folds_without_a_score_are_left_out():
    a, b = with_scores([[0.8, 0.9, 0.7, 0.8, np.nan]]), with_scores([[0.7, 0.7, 0.7, 0.7, np.nan]])
    test, d = paired_test(a, b), np.array([0.1, 0.2, 0.0, 0.1])
    assert test.difference == pytest.approx(0.1) and test.degrees == 3
    assert test.statistic == pytest.approx(0.1 / np.sqrt((1 / 4 + 1 / 4) * d.var(ddof=1)))


def test_paired_without_spread():
    a, b = with_scores([[0.8] * 5] * 2), with_scores([[0.7] * 5] * 2)
    same, better = paired_test(a, a), paired_test(a, b)
    assert (same.difference, same.p_value, same.interval) == (0.0, 1.0, (0.0, 0.0))
    assert better.p_value == 0.0 and better.statistic == math.inf and better.difference == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("changed", "seeds", "options", "message"),
    [
        ({"labels": "other"}, None, {}, "differ in labels"),
        ({}, (1, 2), {}, r"seeds \(0, 1\) and \(1, 2\); a paired test needs the same folds"),
        ({}, None, {"protocol": "best"}, "protocol must be"),
        ({}, None, {"level": 95}, "level must lie between 0 and 1; 95 came"),
    ],
)
def test_what_cannot_be_compared(changed, seeds, options, message):
    plan = replace(PLAN, **changed)
    with pytest.raises(InvalidParameter, match=message):
        paired_test(
            with_scores(np.ones((2, 5))), with_scores(np.ones((2, plan.folds)), plan, seeds), **options
        )
