"""Answers of support vector machines are LIBSVM's, which is asked through scikit-learn."""

import platform
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from infograph.evaluate import cross_validate, judges, svm
from infograph.evaluate.judges import Space

GRID = (1e-3, 1e-1, 1.0, 1e1, 1e3)
SAME_BITS = platform.machine() in ("x86_64", "AMD64")  # others may join a product and a sum in one rounding


def vectors(n=400, classes=3, seed=0, copies=False):
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=n)
    x = rng.normal(size=(n, 5)) + 0.7 * y[:, None]
    return (np.round(x), y) if copies else (x, y)  # rounded, many are equal and tie


def kernel(name, x, rng):
    if name == "rbf":
        return Space(x, np.arange(len(x)), np.arange(0), scale=True).matrix("svm-rbf")
    if name == "single":
        return kernel("rbf", x.astype(np.float32), rng)
    if name == "linear":
        return x @ x.T
    return x @ x.T + 3 * rng.normal(size=(len(x), len(x)))  # neither symmetric nor definite


@pytest.mark.skipif(not SAME_BITS, reason="LIBSVM rounds in another way on this processor")
@pytest.mark.parametrize("max_iter", [10**6, 700])
@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("name", ["rbf", "single", "linear", "indefinite"])
@pytest.mark.parametrize("classes", [2, 4])
def test_answers_have_libsvms_bits(name, classes, copies, max_iter):
    if name == "indefinite":
        max_iter = min(max_iter, 20_000)  # it need not end
    rng = np.random.default_rng(1)
    x, y = vectors(classes=classes, copies=copies)
    matrix, rows = kernel(name, x, rng), rng.permutation(len(x))
    fit, judged = rows[:300], rows[300:]
    found = list(svm.classify(matrix, fit, judged, y[fit] + 5, GRID, max_iter))
    early = []
    for C, (labels, between, stopped) in zip(GRID, found, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = SVC(C=C, kernel="precomputed", max_iter=max_iter, decision_function_shape="ovo")
            model.fit(matrix[np.ix_(fit, fit)], y[fit] + 5)
        across = matrix[np.ix_(judged, fit)]
        np.testing.assert_array_equal(labels, model.predict(across))
        decided = model.decision_function(across)
        np.testing.assert_array_equal(between, decided if classes == 2 else -decided[:, 0])
        assert stopped == bool(model.fit_status_)
        early.append(stopped)
    assert any(early) or max_iter > 700


def test_an_evaluation_is_the_same_by_either(monkeypatch):
    x, y = vectors(1200)
    settings = {"repeats": 1, "folds": 3, "inner_folds": 2, "C": (0.1, 10.0)}
    asked = []
    classify = svm.classify
    monkeypatch.setattr(judges, "MANY", 500)
    monkeypatch.setattr(svm, "classify", lambda *given: asked.append(len(given[3])) or classify(*given))
    own = cross_validate(x, y, **settings), cross_validate(x, y % 2, scoring="roc_auc", **settings)
    assert set(asked) == {800}  # the 400 of inner folds are few
    monkeypatch.setattr(judges, "find_spec", lambda name: None)
    by_libsvm = cross_validate(x, y, **settings), cross_validate(x, y % 2, scoring="roc_auc", **settings)
    for a, b in zip(own, by_libsvm, strict=True):
        np.testing.assert_array_equal(a.candidates[0].inner, b.candidates[0].inner)
        np.testing.assert_array_equal(a.candidates[0].outer, b.candidates[0].outer)
