"""scikit-learn's own battery over estimators whose graphs are the rows of a matrix.

The battery feeds matrices, which the estimators themselves refuse: a row of numbers is no graph. So here
every row becomes a graph of one node with that row as its features, and all checks but those listed run on
the real estimators.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import validate_data

from infograph import GIN, InfoGraph, InfoGraphClassifier, InfoGraphRegressor, MeanTeacher
from infograph.errors import NotFitted

CANNOT_APPLY = {
    "check_array_api_input": "vectors are made by torch on the CPU and returned as numpy arrays",
    "check_classifiers_classes": "its classes are -1 and 1, and a -1 raises until one says what it means",
    "check_classifiers_regression_target": "what is said of numbers as classes has other words",
}
NO_EDGES = np.zeros((2, 0), np.int64)


class OnRows(InfoGraph):
    def _graphs(self, X, **options):
        return [(NO_EDGES, row[None]) for row in validate_data(self, X, dtype=np.float64, **options)]

    def fit(self, X, y=None):
        return super().fit(self._graphs(X, ensure_min_samples=2))

    def partial_fit(self, X, y=None):
        known = hasattr(self, "schema_")
        return super().partial_fit(self._graphs(X, reset=not known, ensure_min_samples=2))

    def transform(self, X):
        self._check_fitted()
        return super().transform(self._graphs(X, reset=False))

    def fit_transform(self, X, y=None):
        return self.fit(X).transform(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.no_validation = False
        return tags


class LabelledRows:
    """Before an estimator with labels: rows to graphs."""

    def _graphs(self, X):
        try:
            self._check_fitted()
        except NotFitted as error:  # which is not scikit-learn's own, so that errors need no scikit-learn
            raise NotFittedError(str(error)) from error
        return [(NO_EDGES, row[None]) for row in validate_data(self, X, dtype=np.float64, reset=False)]

    def fit(self, X, y):
        numbers = self.task == "regression"
        X, y = validate_data(
            self, X, y, dtype=np.float64, ensure_min_samples=2, y_numeric=numbers, multi_output=numbers
        )
        return super().fit([(NO_EDGES, row[None]) for row in X], y)

    def predict(self, X):
        return super().predict(self._graphs(X))

    def transform(self, X):
        return super().transform(self._graphs(X))

    def score(self, X, y):
        known = self._graphs(X)
        return float(np.mean(super().predict(known) == np.asarray(y)))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.target_tags.required = True
        tags.no_validation = False
        return tags


class RegressorOnRows(LabelledRows, InfoGraphRegressor):
    def score(self, X, y):
        error = self.predict(X) - np.asarray(y)
        return 1 - float(np.mean(error**2) / np.var(y))


class ClassifierOnRows(LabelledRows, InfoGraphClassifier):
    def predict_proba(self, X):
        return super().predict_proba(self._graphs(X))


QUICK = {"dim": 16, "epochs": 1, "steps_per_epoch": 40, "lr": 0.02, "encoder": GIN(layers=1, norm=False)}
CHECKS = [
    *estimator_checks_generator(OnRows(dim=4, encoder=GIN(layers=1), epochs=1)),
    *estimator_checks_generator(RegressorOnRows(MeanTeacher(decay=0.9), **QUICK)),
    *estimator_checks_generator(ClassifierOnRows("supervised", **QUICK)),
]


@pytest.mark.parametrize(
    ("estimator", "check"),
    CHECKS,
    ids=[f"{type(e).__name__}-{c.func.__name__}{i}" for i, (e, c) in enumerate(CHECKS)],
)
def test_check_estimator(estimator, check):
    if check.func.__name__ in CANNOT_APPLY:
        pytest.skip(CANNOT_APPLY[check.func.__name__])
    check(estimator)


def test_the_battery_is_not_empty():
    assert len(CHECKS) > 35 + 50 + 50
