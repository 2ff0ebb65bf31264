"""Figures beside scikit-learn's, and the paired test."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import (
    average_precision_score,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

from infograph import AtomCounts, FingerprintForest, MeanPredictor
from infograph.data.schema import Column
from infograph.learn.judging import Judged, Verdict, compare_pair, mean_figures
from tests.learn.test_predictions import molecules

RNG = np.random.default_rng(0)


def numbers(said, given):
    said, given = (np.asarray(each, float).reshape(len(given), -1) for each in (said, given))
    return Judged(("a", "b")[: given.shape[1]], ("K", "")[: given.shape[1]], given, said, None, False)


def tasks(scores, given):
    scores = np.asarray(scores, float).reshape(len(given), -1)
    given, names = np.asarray(given, float).reshape(scores.shape), tuple("abc"[: scores.shape[1]])
    return Judged(names, ("% wrong",) * len(names), given, (scores >= 0.5) * 1.0, scores, True)


def test_figures_are_those_of_scikit_learn():
    given, said = RNG.normal(size=(2, 30, 2))
    given[4, 0] = np.nan
    known = ~np.isnan(given[:, 0])
    first, second = numbers(said, given).figures
    pair = given[known, 0], said[known, 0]
    wanted = [each(*pair) for each in (mean_absolute_error, root_mean_squared_error, r2_score)]
    assert list(first.values()) == pytest.approx(wanted) and list(first) == ["MAE", "RMSE", "R2"]
    assert second["R2"] == pytest.approx(r2_score(given[:, 1], said[:, 1]))
    scores = np.round(RNG.random((40, 2)), 1)  # with ties
    labels = (RNG.random((40, 2)) < 0.3) * 1.0
    labels[:9, 1] = np.nan
    judged = tasks(scores, labels)
    for target, figures in enumerate(judged.figures):
        rows = judged.known[:, target]
        pair = labels[rows, target], scores[rows, target]
        assert figures["ROC-AUC"] == pytest.approx(roc_auc_score(*pair))
        assert figures["average precision"] == pytest.approx(average_precision_score(*pair))
        assert figures["% wrong"] == pytest.approx(np.mean((pair[1] >= 0.5) != pair[0]))
    drawn = RNG.multinomial(40, np.full(40, 1 / 40), 3)
    for counts, missed in zip(drawn, judged.resampled(drawn), strict=True):  # weights are repetitions
        rows = np.repeat(np.arange(40), counts)
        rows = rows[judged.known[rows, 1]]
        assert missed[1] == pytest.approx(1 - roc_auc_score(labels[rows, 1], scores[rows, 1]))
    one = tasks(scores, np.zeros((40, 2)))
    assert math.isnan(one.figures[0]["ROC-AUC"]) and one.headline == "% wrong"
    assert mean_figures([{"x": 1.0}, {"x": math.nan}, {"x": 3.0}]) == {"x": 2.0}


def test_verdicts():
    given = RNG.normal(size=400)
    good, bad = given + RNG.normal(size=(2, 400)) * [[0.1], [0.2]]
    (use,) = compare_pair("ours", numbers(good, given), "mean of the labels", numbers(bad, given))
    assert (use.use, use.n_graphs, use.unit) == ("model", 400, "K") and use.high < 0
    differences = (good - given) ** 2 - (bad - given) ** 2  # the same sign by the textbook's t
    assert differences.mean() / (differences.std() / 20) < -2
    assert str(use).startswith(f"Use this model: RMSE {use.own:.3g} K against {use.other:.3g} of the mean of")
    (turned,) = compare_pair("ours", numbers(bad, given), "least squares", numbers(good, given))
    assert str(turned).startswith(f"Use least squares: RMSE {use.own:.3g} K against {use.other:.3g} of this")
    assert (turned.low, turned.high) == pytest.approx((-use.high, -use.low))
    (same,) = compare_pair("ours", numbers(good, given), "forest", numbers(good, given))
    assert same.use == "" and same.low == same.high == 0
    (few,) = compare_pair("ours", numbers(good[:9], given[:9]), "forest", numbers(bad[:9], given[:9]))
    assert few.use == "" and "(9 test graphs; it takes 20)" in str(few)
    labels = RNG.integers(0, 2, (400, 3))
    (classes,) = compare_pair("x", tasks(labels, labels), "forest", tasks(RNG.random((400, 3)), labels))
    assert (classes.target, classes.figure, classes.own, classes.use) == (
        "mean of 3",
        "ROC-AUC",
        1.0,
        "model",
    )
    assert 0.3 < classes.low < classes.high < 0.7
    wrong = Verdict("k", "% wrong", "% wrong", "m", "most frequent class", 0.1, 0.25, -0.2, -0.1, 99, "model")
    assert str(wrong) == (
        "Use this model: 10.0 % wrong against 25.0 of the most frequent class (95 % interval of the "
        "difference -20.0 to -10.0, 99 test graphs)."
    )


@pytest.mark.parametrize("cls", [MeanPredictor, AtomCounts, FingerprintForest])
def test_references_learn_several_columns_of_classes_one_by_one(cls, tmp_path):
    graphs, made = molecules(), {} if cls is not FingerprintForest else {"n_trees": 5}
    table = np.arange(24)[:, None] % [2, 3, 2] == 0
    table = table.astype(float)
    table[:5, 1], table[:, 2] = np.nan, 1.0  # gaps, and a column of one class
    for place, name in enumerate("abc"):
        graphs = graphs.with_column("graph", Column(name, "float"), table[:, place])
    with pytest.warns(match="'c' has no two classes"):
        model = cls(task="classification", **made).fit(graphs, ["a", "b", "c"])
    shares = model.predict_proba(graphs)
    assert shares.shape == (24, 3) and (shares[:, 2] > 0.99).all()
    alone = cls(task="classification", **made).fit(graphs[5:], "b")
    assert np.allclose(alone.predict_proba(graphs)[:, 1], shares[:, 1])
    assert np.array_equal(model.predict(graphs), (shares >= 0.5).astype(int))
    model.save(tmp_path / "m")
    assert np.array_equal(cls.load(tmp_path / "m").predict_proba(graphs), shares)
