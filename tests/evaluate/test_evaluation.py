"""Reading, storing and merging evaluations."""

import json
import math

import numpy as np
import pytest

from infograph.errors import InvalidParameter
from infograph.evaluate import Candidate, Evaluation, Plan, cross_validate, merge

OPTIONS = {"folds": 4, "inner_folds": 2, "C": (0.1, 1.0, 10.0)}


def data(n=48):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    return rng.normal(size=(n, 5)) + y[:, None], y


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
    b = Candidate(
        setting="b",
        classifier="knn",
        grid=(1.0, 3.0),
        scale=True,
        max_iter=0,
        inner=np.array([[[0.7, 0.1], [0.9, 0.1]], [[0.1, 0.2], [0.3, 0.9]]]),
        outer=np.array([[[1.0, 0.0], [0.9, 0.0]], [[0.0, 0.2], [0.0, 0.1]]]),
        stopped=np.zeros((2, 2, 2), dtype=np.int64),
    )
    return Evaluation(Plan(2, 2, (("0", 10), ("1", 30)), "hash"), (0, 1), (a, b))


def test_both_protocols_by_hand():
    found = made_by_hand()
    leak_free, paper = found.leak_free(), found.paper()
    # Fold by fold: a ties with b at 0.7 and comes first; b wins at 0.9; a wins; a ties with b at 0.9.
    assert leak_free.fold_scores == ((0.2, 0.9), (0.5, 0.7))
    assert [(c.seed, c.fold, c.setting, c.value) for c in leak_free.chosen] == [
        (0, 0, "a", 10.0),
        (0, 1, "b", 1.0),
        (1, 0, "a", 1.0),
        (1, 1, "a", 1.0),
    ]
    assert leak_free.mean == found.mean == pytest.approx(0.575)
    assert leak_free.std == found.std == pytest.approx(np.std([0.55, 0.6], ddof=1))
    assert leak_free.std_folds == found.std_folds == pytest.approx(np.std([0.2, 0.9, 0.5, 0.7], ddof=1))
    # Outer means at the inner choice: a (0.2 + 0.3 + 0.5 + 0.7) / 4, b (1.0 + 0.9 + 0.2 + 0.1) / 4.
    assert paper.mean == pytest.approx(0.55)
    assert {c.setting for c in paper.chosen} == {"b"}
    assert paper.note == "b with knn chosen on the outer folds among 2, which is optimistic"
    assert found.n_stopped == 3 and found.n_fits == 2 * 8 * 3
    assert found.plan.majority == 0.75 and found.plan.n_graphs == 40


def test_one_line_of_text():
    found = made_by_hand()
    assert str(found) == "57.5 % ± 3.5 (over 2 repeats; folds ± 29.9); 3 of 48 fits stopped early"
    assert str(found.paper()) == "55.0 % ± 56.6 (over 2 repeats; folds ± 46.5)"
    x, y = data()
    once = cross_validate(x, y, repeats=1, **OPTIONS)
    assert math.isnan(once.std)
    assert str(once) == f"{100 * once.mean:.1f} % (1 repeat; folds ± {100 * once.std_folds:.1f})"


def test_with_one_candidate_both_protocols_coincide():
    x, y = data()
    found = cross_validate(x, y, repeats=2, **OPTIONS)
    a, b = found.leak_free(), found.paper()
    assert (a.mean, a.std, a.std_folds, a.fold_scores, a.chosen, a.note) == (
        b.mean,
        b.std,
        b.std_folds,
        b.fold_scores,
        b.chosen,
        b.note,
    )


def test_json_gives_everything_back():
    x, y = data()
    found = cross_validate(
        {"x": x, "flat": x[:, :1]}, y, classifiers=("svm-rbf", "knn"), repeats=2, **OPTIONS
    )
    back = Evaluation.from_dict(json.loads(json.dumps(found.to_dict(), allow_nan=False)))
    assert back.to_dict() == found.to_dict()
    assert back.plan == found.plan and back.seeds == found.seeds
    assert back.leak_free() == found.leak_free() and back.paper() == found.paper()
    for a, b in zip(back.candidates, found.candidates, strict=True):
        assert a.inner.dtype == b.inner.dtype and a.stopped.dtype == b.stopped.dtype


def test_a_damaged_record_is_refused():
    record = made_by_hand().to_dict()
    with pytest.raises(InvalidParameter, match="format 1; evaluate again"):
        Evaluation.from_dict({**record, "format": 0})
    with pytest.raises(InvalidParameter, match=r"damaged \(KeyError\('seeds'\)\)"):
        Evaluation.from_dict({key: value for key, value in record.items() if key != "seeds"})
    with pytest.raises(InvalidParameter, match=r"scores of 'a' are not of shape \(3, 2, 2\)"):
        Evaluation.from_dict({**record, "seeds": [0, 1, 2]})


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
    by_setting = [
        cross_validate({name: each}, y, classifiers=names, repeats=3, **OPTIONS)
        for name, each in settings.items()
    ]
    assert merge(by_setting).to_dict() == whole.to_dict()
    assert merge([whole]).to_dict() == whole.to_dict()


def test_select_keeps_what_was_asked_for():
    found = made_by_hand()
    assert found.select(["b"]).mean == found.select(classifiers=["knn"]).mean == pytest.approx(0.55)
    with pytest.raises(InvalidParameter, match=r"there are \(a, svm-rbf\), \(b, knn\)"):
        found.select(["c"])


def test_what_cannot_be_merged():
    x, y = data()
    first = cross_validate({"x": x}, y, repeats=1, **OPTIONS)
    second = cross_validate({"x": x}, y, repeats=1, random_state=1, **OPTIONS)
    with pytest.raises(InvalidParameter, match="no evaluations"):
        merge([])
    with pytest.raises(InvalidParameter, match="'x' with svm-rbf comes twice with seed 0"):
        merge([first, first])
    with pytest.raises(InvalidParameter, match="'z' with svm-rbf has no repeat with seed 1"):
        merge([first, second, cross_validate({"z": x}, y, repeats=1, **OPTIONS)])
    with pytest.raises(InvalidParameter, match=r"has grid \(0.1, 1.0, 10.0\) in one repeat and \(1.0,\)"):
        merge([first, cross_validate({"x": x}, y, repeats=1, random_state=1, **{**OPTIONS, "C": (1.0,)})])
    with pytest.raises(InvalidParameter, match="differ in folds: 4 and 3"):
        merge([first, cross_validate({"z": x}, y, repeats=1, **{**OPTIONS, "folds": 3})])
    with pytest.raises(InvalidParameter, match="labels in another order"):
        merge([first, cross_validate({"z": x}, 1 - y, repeats=1, **OPTIONS)])
