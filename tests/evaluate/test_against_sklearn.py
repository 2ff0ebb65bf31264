"""The scores must be those of a slow loop written with scikit-learn's own parts."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from infograph.evaluate import Gram, cross_validate

C = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
NEIGHBOURS = (1, 3, 5, 11)


@pytest.fixture(autouse=True)
def one_blas_thread():
    with threadpool_limits(
        limits=1
    ):  # two threads on matrices of 4 columns cost the oracle ten times its time
        yield


def wine(classes=3, noise=3.0):
    x, y = load_wine(return_X_y=True)
    x, y = x[y < classes], y[y < classes]
    # Scores of 100 % everywhere would compare nothing.
    return x + noise * x.std(axis=0) * np.random.default_rng(0).normal(size=x.shape) * 0.5, y


def iris():
    x, y = load_iris(return_X_y=True)
    keep = np.random.default_rng(1).permutation(len(x))[:90]
    x = x[keep] + np.random.default_rng(0).normal(size=(90, 4)) * 0.7
    return x, np.array(["setosa", "versicolor", "virginica"])[y[keep]]


def model_and_grid(name, train):
    if name == "svm-rbf":
        return SVC(kernel="rbf", gamma=1 / (train.shape[1] * train.var())), {"C": C}
    if name == "svm-linear":
        return SVC(kernel="linear"), {"C": C}
    if name == "logistic":
        return LogisticRegression(max_iter=1000), {"C": C}
    return KNeighborsClassifier(algorithm="brute"), {"n_neighbors": NEIGHBOURS}


def oracle(x, y, name, seed, folds, inner_folds, scale):
    """(inner, outer, chosen) per fold; scaler and gamma of the outer training fold, then GridSearchCV."""
    inner, outer, chosen = [], [], []
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=seed).split(x, y):
        scaler = StandardScaler(with_mean=scale, with_std=scale).fit(x[train])
        a, b = scaler.transform(x[train]), scaler.transform(x[test])
        model, grid = model_and_grid(name, a)
        splits = StratifiedKFold(inner_folds, shuffle=True, random_state=seed)
        search = GridSearchCV(
            model, grid, cv=splits, refit=lambda found: int(np.argmax(np.round(found["mean_test_score"], 12)))
        ).fit(a, y[train])
        inner.append(search.cv_results_["mean_test_score"])
        (key, values), *_ = grid.items()
        outer.append(
            [model.set_params(**{key: value}).fit(a, y[train]).score(b, y[test]) for value in values]
        )
        chosen.append(search.best_params_[key])
        assert search.score(b, y[test]) == outer[-1][values.index(chosen[-1])]
    return np.array(inner), np.array(outer), np.array(chosen)


@pytest.mark.parametrize("data", [wine, iris], ids=["wine", "iris"])
@pytest.mark.parametrize("name", ["svm-rbf", "svm-linear", "logistic", "knn"])
def test_scores_are_those_of_a_plain_loop(data, name):
    x, y = data()
    found = cross_validate(
        x, y, classifiers=name, repeats=2, folds=4, inner_folds=3, C=C, random_state=3, max_iter=10_000_000
    )
    (candidate,) = found.candidates
    assert found.seeds == (3, 4)
    for r, seed in enumerate(found.seeds):
        inner, outer, chosen = oracle(x, y, name, seed, 4, 3, scale=True)
        np.testing.assert_allclose(candidate.inner[r], inner, atol=1e-12)
        np.testing.assert_allclose(candidate.outer[r], outer, atol=1e-12)
        np.testing.assert_array_equal(candidate.chosen[r], chosen)
    assert len(np.unique(candidate.outer)) > 3


@pytest.mark.parametrize("name", ["svm-rbf", "knn"])
def test_unscaled_scores_are_those_of_a_plain_loop(name):
    x, y = iris()
    found = cross_validate(x, y, classifiers=name, repeats=1, folds=3, inner_folds=3, scale=False, C=C)
    inner, outer, _ = oracle(x, y, name, 0, 3, 3, scale=False)
    np.testing.assert_allclose(found.candidates[0].inner[0], inner, atol=1e-12)
    np.testing.assert_allclose(found.candidates[0].outer[0], outer, atol=1e-12)


def test_a_gram_matrix_of_products_gives_the_scores_of_the_unscaled_vectors():
    x, y = iris()
    options = {"repeats": 1, "folds": 3, "inner_folds": 3, "max_iter": 10_000_000, "C": C}
    vectors = cross_validate(x, y, classifiers=("svm-linear", "knn"), scale=False, **options)
    gram = cross_validate(Gram(x @ x.T), y, classifiers=("svm", "knn"), **options)
    for a, b in zip(vectors.candidates, gram.candidates, strict=True):
        np.testing.assert_allclose(a.inner, b.inner, atol=1e-12)
        np.testing.assert_allclose(a.outer, b.outer, atol=1e-12)


def test_normalised_gram_is_the_cosine_kernel():
    x, _ = iris()
    x[5] = 0.0
    unit = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300)
    np.testing.assert_allclose(Gram(x @ x.T, normalise=True).matrix, unit @ unit.T, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "bound"), [("svm-linear", {"max_iter": 5}), ("logistic", {"logistic_max_iter": 2})]
)
def test_early_stops_are_counted_and_not_warned_about(name, bound):
    x, y = wine(classes=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        found = cross_validate(
            x, y, classifiers=name, repeats=1, folds=3, inner_folds=3, C=(0.1, 100.0), **bound
        )
    assert found.n_fits == 1 * 3 * 2 * (3 + 1)
    assert found.n_stopped == found.n_fits
    assert str(found).endswith(f"; {found.n_fits} of {found.n_fits} fits stopped early")
    assert cross_validate(x, y, repeats=1, folds=3, inner_folds=3).n_stopped == 0
