"""Errors of regression against scikit-learn's, target by target."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from infograph.data.labels import Targets
from infograph.errors import InvalidParameter, InvalidTarget
from infograph.evaluate.evaluation import regression_scores


def targets(values, single=False):
    names = ("U0", "alpha")[: values.shape[1]]
    return Targets(names, ("hartree", "bohr^3")[: len(names)], values, single)


def test_scores_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    values, predicted = rng.normal(size=(2, 40, 2))
    values[:5, 0] = values[30:, 1] = np.nan
    first, second = regression_scores(targets(values), predicted)
    for score, column in ((first, 0), (second, 1)):
        known = ~np.isnan(values[:, column])
        pair = values[known, column], predicted[known, column]
        assert score.mae == pytest.approx(mean_absolute_error(*pair))
        assert score.rmse == pytest.approx(root_mean_squared_error(*pair))
        assert score.r2 == pytest.approx(r2_score(*pair))
        assert score.n_graphs == known.sum()
    assert (first.target, first.unit, second.target, second.unit) == ("U0", "hartree", "alpha", "bohr^3")


def test_one_target_by_hand():
    (score,) = regression_scores(targets(np.array([[1.0], [np.nan], [3.0]]), True), np.array([2.0, 99, 3.0]))
    assert (score.mae, score.rmse, score.r2, score.n_graphs) == (0.5, pytest.approx(0.5**0.5), 0.5, 2)


def test_what_cannot_be_scored():
    values = np.array([[1.0], [2.0], [np.nan]])
    with pytest.raises(
        InvalidParameter, match=r"predictions of shape \(2, 1\) for targets of shape \(3, 1\)"
    ):
        regression_scores(targets(values), np.zeros(2))
    with pytest.raises(InvalidParameter, match="the prediction of 'U0' for graph 1 is not finite"):
        regression_scores(targets(values), np.array([1, np.nan, 3]))
    with pytest.raises(InvalidTarget, match="'U0' has 1 labelled graphs to score by"):
        regression_scores(targets(np.array([[1.0], [np.nan]])), np.zeros(2))
