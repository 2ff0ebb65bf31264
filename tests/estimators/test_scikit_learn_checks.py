"""scikit-learn's own battery over an InfoGraph whose graphs are the rows of a matrix.

The battery feeds matrices, which `InfoGraph` itself refuses: a row of numbers is no graph. So here every row
becomes a graph of one node with that row as its features, and all checks but those listed run on the real
estimator.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import validate_data

from infograph import InfoGraph
from infograph.errors import InvalidParameter

CANNOT_APPLY = {"check_array_api_input": "vectors are made by torch on the CPU and returned as numpy arrays"}
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


CHECKS = list(estimator_checks_generator(OnRows(dim=4, layers=1, epochs=1)))


@pytest.mark.parametrize(
    ("estimator", "check"), CHECKS, ids=[f"{c.func.__name__}{i}" for i, (_, c) in enumerate(CHECKS)]
)
def test_check_estimator(estimator, check):
    if check.func.__name__ in CANNOT_APPLY:
        pytest.skip(CANNOT_APPLY[check.func.__name__])
    check(estimator)


def test_the_battery_is_not_empty():
    assert len(CHECKS) > 35


def test_a_matrix_is_refused():
    with pytest.raises(InvalidParameter, match="cannot read graphs from an array"):
        InfoGraph().fit(np.zeros((4, 3)))
