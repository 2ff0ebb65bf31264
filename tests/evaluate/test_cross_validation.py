"""The scores are those of a slow loop with scikit-learn's own parts; no leaks; seeds decide everything."""

import json
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import mean_absolute_error, r2_score, roc_auc_score, root_mean_squared_error
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

from infograph.errors import InvalidParameter, TargetWarning
from infograph.evaluate import Evaluation, Gram, cross_validate, merge, paired_test
from infograph.evaluate.cross_validation import group_folds
from infograph.evaluate.judges import GRAM_CLASSIFIERS, VECTOR_CLASSIFIERS, Space

C = (1e-2, 1.0, 10.0)
NEIGHBOURS = (1, 3, 5, 11)
SEED = 3
QUICK = {"repeats": 1, "folds": 3, "inner_folds": 3}


@pytest.fixture(autouse=True)
def one_blas_thread():
    with threadpool_limits(limits=1):  # two threads on matrices of 4 columns cost ten times the time of one
        yield


def noisy(load, n):
    """So noisy that not all scores are 100 %."""
    x, y = load(return_X_y=True)
    rng = np.random.default_rng(0)
    keep = rng.permutation(len(x))[:n]
    return x[keep] + x.std(axis=0) * rng.normal(size=(n, x.shape[1])), y[keep]


def blobs(n=80, dim=6, gap=1.0, seed=0, classes=2):
    y = np.arange(n) % classes
    return np.random.default_rng(seed).normal(size=(n, dim)) + gap * y[:, None] * (np.arange(dim) < 2), y


# ---- against scikit-learn


def model_and_grid(name, train):
    if name == "svm-rbf":
        return SVC(kernel="rbf", gamma=1 / (train.shape[1] * train.var())), {"C": C}
    if name == "svm-linear":
        return SVC(kernel="linear"), {"C": C}
    if name == "logistic":
        return LogisticRegression(max_iter=1000), {"C": C}
    if name == "ridge":  # x / sqrt(D), so that C means the same as for kernels of size 1
        return RidgeClassifier(), {"alpha": [train.shape[1] / value for value in C]}
    if name == "ridge-rbf":
        return KernelClassifier(gamma=1 / (train.shape[1] * train.var())), {"C": C}
    if name == "forest":
        return RandomForestClassifier(100, random_state=SEED), {"min_samples_leaf": [1]}
    return KNeighborsClassifier(algorithm="brute"), {"n_neighbors": NEIGHBOURS}


class KernelClassifier(ClassifierMixin, BaseEstimator):
    """scikit-learn's kernel ridge regression on -1 and 1, a column per class."""

    def __init__(self, gamma=1.0, C=1.0):
        self.gamma, self.C = gamma, C

    def fit(self, x, y):
        self.classes_, codes = np.unique(y, return_inverse=True)
        wanted = 2.0 * (codes[:, None] == np.arange(len(self.classes_))) - 1
        self.mean_ = wanted.mean(axis=0)
        self.model_ = KernelRidge(alpha=1 / self.C, kernel="rbf", gamma=self.gamma).fit(
            x, wanted - self.mean_
        )
        return self

    def predict(self, x):
        return self.classes_[(self.model_.predict(x) + self.mean_).argmax(axis=1)]


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
        model = model.set_params(n_estimators=500) if name == "forest" else model
        fits = (model.set_params(**{key: value}).fit(a, y[train]) for value in values)
        outer.append([each.score(b, y[test]) for each in fits])
        chosen.append(search.best_params_[key])
    return np.array(inner), np.array(outer), np.array(chosen)


@pytest.mark.parametrize("data", [(load_wine, 100), (load_iris, 90)], ids=["wine", "iris"])
@pytest.mark.parametrize(
    ("name", "scale"), [*((name, True) for name in VECTOR_CLASSIFIERS), ("svm-rbf", False), ("knn", False)]
)
def test_scores_are_those_of_a_plain_loop(data, name, scale):
    x, y = noisy(*data)
    repeats = 1 if name == "forest" else 2
    found = cross_validate(
        {"first": x, "second": x} if name == "forest" else x,  # so that something is to be chosen
        y,
        classifiers=name,
        **{**QUICK, "repeats": repeats},
        C=C,
        scale=scale,
        random_state=3,
        max_iter=10**7,
    )
    candidate = found.candidates[0]
    assert found.seeds == (3, 4)[:repeats]
    for r, seed in enumerate(found.seeds):
        inner, outer, chosen = oracle(x, y, name, seed, 3, 3, scale)
        np.testing.assert_allclose(candidate.inner[r], inner, atol=1e-12)
        np.testing.assert_allclose(candidate.outer[r], outer, atol=1e-12)
        if name not in ("forest", "ridge"):  # whose grids have other names there
            np.testing.assert_array_equal(candidate.chosen[r], chosen)
    assert len(np.unique(candidate.outer)) > 3 or name == "forest"


def test_inner_folds_are_for_choices():
    x, y = noisy(load_wine, 100)
    settings = {**QUICK, "classifiers": "forest"}
    both = cross_validate({"a": x, "b": x[:, ::-1]}, y, **settings)
    alone, other = (cross_validate({name: v}, y, **settings) for name, v in (("a", x), ("b", x[:, ::-1])))
    assert both.n_fits == 2 * 3 * (3 + 1) and alone.n_fits == 3
    np.testing.assert_array_equal(alone.candidates[0].outer, both.candidates[0].outer)
    assert alone.leak_free() == alone.paper() == both.select(settings=["a"]).leak_free()
    assert Evaluation.from_dict(json.loads(json.dumps(alone.to_dict()))).leak_free() == alone.leak_free()
    later = cross_validate({"a": x}, y, random_state=1, **settings)
    assert merge([alone, later]).mean == pytest.approx((alone.mean + later.mean) / 2)
    with pytest.raises(InvalidParameter, match=r"'a' with forest has no inner scores .* in one call"):
        merge([alone, other])
    few = cross_validate(x, y, classifiers="svm-rbf", C=[1.0], **QUICK).candidates[0]
    assert np.isnan(few.inner).all() and (few.chosen == 1).all() and not np.isnan(few.outer).any()


# ---- other figures, measured values, several columns, groups


@pytest.mark.parametrize("scoring", ["rmse", "mae", "r2"])
@pytest.mark.parametrize("name", ["svm-rbf", "ridge", "ridge-rbf", "knn", "forest"])
def test_measured_values_are_those_of_a_plain_loop(name, scoring):
    x, _ = noisy(load_wine, 90)
    x, y = x[:, 1:], 40 * x[:, 0] + 1e3
    found = cross_validate(x, y, classifiers=name, scoring=scoring, C=C, random_state=1, **QUICK)
    figure = {"rmse": root_mean_squared_error, "mae": mean_absolute_error, "r2": r2_score}[scoring]
    for fold, (train, test) in enumerate(KFold(3, shuffle=True, random_state=1).split(x)):
        scaler = StandardScaler().fit(x[train])
        a, b = scaler.transform(x[train]), scaler.transform(x[test])
        mean, spread, gamma = y[train].mean(), y[train].std(), 1 / (a.shape[1] * a.var())
        models = {
            "svm-rbf": [SVR(C=c, gamma=gamma) for c in C],
            "ridge": [Ridge(alpha=a.shape[1] / c) for c in C],
            "ridge-rbf": [KernelRidge(alpha=1 / c, kernel="rbf", gamma=gamma) for c in C],
            "knn": [KNeighborsRegressor(k) for k in NEIGHBOURS],
            "forest": [RandomForestRegressor(500, max_features="sqrt", random_state=1)],
        }
        for place, model in enumerate(models[name]):
            scaled = name != "forest"  # whose ties are broken by rounding
            answer = model.fit(a, (y[train] - mean) / spread if scaled else y[train]).predict(b)
            expected = figure(y[test], answer * spread + mean if scaled else answer)
            assert found.candidates[0].outer[0, fold, place] == pytest.approx(expected, rel=1e-6)
    best = found.candidates[0].inner.argmax(-1) if scoring == "r2" else found.candidates[0].inner.argmin(-1)
    assert found.candidates[0].chosen.tolist() == np.array(found.candidates[0].grid)[best].tolist()
    assert found.scoring == scoring and scoring in str(found)


@pytest.mark.parametrize("name", ["svm-rbf", "logistic", "ridge", "ridge-rbf", "knn", "forest"])
def test_ranks_of_several_columns_with_gaps(name):
    x, _ = blobs(90, gap=0.5)
    rng = np.random.default_rng(0)
    y = (x[:, :3] + rng.normal(size=(90, 3)) > 0).astype(float)
    y[rng.random(y.shape) < 0.2] = np.nan
    y[4] = np.nan
    with pytest.warns(TargetWarning, match="1 of 90"):
        both = cross_validate(x, y, classifiers=name, C=C, **QUICK)
    assert both.scoring == "roc_auc" and both.candidates[0].outer.shape[:3] == (1, 3, 3)
    known = ~np.isnan(y).all(axis=1)
    fold, (train, test) = 0, next(KFold(3, shuffle=True, random_state=0).split(x[known]))
    a, b, given = x[known][train], x[known][test], y[known]
    scaler = StandardScaler().fit(a)
    for task in range(3) if name == "logistic" else ():
        here, there = ~np.isnan(given[train, task]), ~np.isnan(given[test, task])
        for place, value in enumerate(C):
            model = LogisticRegression(C=value, max_iter=1000).fit(
                scaler.transform(a)[here], given[train, task][here]
            )
            ranks = model.decision_function(scaler.transform(b)[there])
            expected = roc_auc_score(given[test, task][there], ranks)
            assert both.candidates[0].outer[0, fold, task, place] == pytest.approx(expected, abs=1e-6)
    means = both.candidates[0].chosen_outer.mean(axis=2)
    assert both.leak_free().fold_scores[0] == pytest.approx(means[0].tolist())
    assert both.mean > 0.6
    again = Evaluation.from_dict(json.loads(json.dumps(both.to_dict(), allow_nan=False)))
    assert again.leak_free() == both.leak_free()


def test_a_fold_without_both_classes_does_not_count():
    x, _ = blobs(60)
    rare = np.column_stack([np.arange(60) % 2, np.arange(60) < 2])
    found = cross_validate(x, rare, scoring="average_precision", classifiers="ridge", folds=5, repeats=1, C=C)
    assert np.isnan(found.candidates[0].outer[:, :, 1]).any() and 0 < found.mean < 1
    assert "NaN" not in json.dumps(found.to_dict())


def test_groups_stay_together_and_folds_are_even():
    groups = np.repeat(np.arange(25), np.r_[30, 12, np.full(23, 4)])
    folds = [group_folds(groups, 5, seed) for seed in (0, 1)]
    for fold in folds:
        assert all(len(set(fold[groups == group])) == 1 for group in range(25))
        assert np.bincount(fold).max() <= 34
    assert not np.array_equal(*folds)
    x = np.random.default_rng(0).normal(size=(len(groups), 3)) * 1e-3 + groups[:, None] % 7
    alike = cross_validate(x, groups * 1.5, classifiers="knn", neighbours=(1,), repeats=1, folds=5)
    apart = cross_validate(
        x, groups * 1.5, classifiers="knn", neighbours=(1,), repeats=1, folds=5, groups=groups
    )
    assert alike.mean < apart.mean  # relatives on both sides flatter


def test_errors_are_compared_the_right_way_round():
    x, _ = blobs(90, gap=0)
    y = x @ np.arange(6) + 0.1
    good, bad = (cross_validate(v, y, classifiers="ridge", repeats=2, folds=4) for v in (x, x[:, :2]))
    found = paired_test(good, bad)
    assert found.difference > 0 and found.p_value < 0.05 and "points" not in str(found)
    assert found.difference == pytest.approx(bad.mean - good.mean)


def test_a_gram_matrix_of_products_gives_the_scores_of_the_unscaled_vectors():
    x, y = noisy(load_iris, 90)
    vectors = cross_validate(x, y, classifiers=("svm-linear", "knn"), scale=False, C=C, **QUICK)
    gram = cross_validate(Gram(x @ x.T), y, classifiers=("svm", "knn"), C=C, **QUICK)
    for a, b in zip(vectors.candidates, gram.candidates, strict=True):
        np.testing.assert_allclose(a.inner, b.inner, atol=1e-12)
        np.testing.assert_allclose(a.outer, b.outer, atol=1e-12)


def test_ridge_on_a_gram_matrix_is_kernel_ridge_regression():
    x, classes = noisy(load_wine, 90)
    kernel = np.exp(-((x[:, None] - x) ** 2).sum(axis=2) / 1e5)
    numbers = 40 * x[:, 0] + 1e3
    found = cross_validate(Gram(kernel), numbers, classifiers="ridge", C=C, **QUICK).candidates[0]
    for fold, (train, test) in enumerate(KFold(3, shuffle=True, random_state=0).split(x)):
        for place, value in enumerate(C):
            model = KernelRidge(alpha=1 / value, kernel="precomputed")
            mean = numbers[train].mean()
            model.fit(kernel[np.ix_(train, train)], numbers[train] - mean)
            answer = model.predict(kernel[np.ix_(test, train)]) + mean
            expected = root_mean_squared_error(numbers[test], answer)
            assert found.outer[0, fold, place] == pytest.approx(expected, rel=1e-6)
    by_class = cross_validate(Gram(kernel), classes, classifiers=("ridge", "svm"), C=C, **QUICK)
    assert by_class.select(classifiers=["ridge"]).mean > 0.5


def test_gram_is_normalised_made_symmetric_and_not_the_users_array():
    x, _ = blobs(40)
    x[5] = 0.0
    unit = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300)
    skew = x @ x.T
    skew[0, 1] *= 1 + 1e-9
    before = skew.copy()
    gram = Gram(skew, normalise=True)
    np.testing.assert_allclose(gram.matrix, unit @ unit.T, atol=1e-8)
    np.testing.assert_array_equal(gram.matrix, gram.matrix.T)
    np.testing.assert_array_equal(skew, before)


# ---- no leaks


def test_test_vectors_do_not_reach_what_is_fitted():
    x, _ = blobs()
    train, test = np.split(np.random.default_rng(0).permutation(80), [60])
    moved = x.copy()
    moved[test] = 1e3 * moved[test] + 7
    spaces = [Space(each, train, test, scale=True) for each in (x, moved)]
    for name in VECTOR_CLASSIFIERS:
        a, b = (space.matrix(name)[:60] for space in spaces)
        np.testing.assert_array_equal(a, b)


def test_random_labels_score_chance_when_leak_free_and_more_by_the_paper():
    rng = np.random.default_rng(0)
    leak_free, paper = [], []
    for _ in range(6):
        y = rng.permutation(60) % 2
        settings = {f"s{i}": rng.normal(size=(60, 4)) for i in range(5)}
        found = cross_validate(settings, y, repeats=1, folds=4, inner_folds=2, C=(0.1, 1.0))
        leak_free.append(found.mean)
        paper.append(found.paper().mean)
        assert paper[-1] == pytest.approx(max(found.select([name]).mean for name in settings))
    assert abs(np.mean(leak_free) - 0.5) < 0.08  # 360 judgements: one deviation is 0.026
    assert np.mean(paper) > np.mean(leak_free)


# ---- what decides the result, and what does not


def test_the_result_does_not_depend_on_n_jobs():
    x, y = blobs(n=302, dim=20)  # large enough to use threads
    options = {"repeats": 1, "folds": 3, "inner_folds": 2, "C": (0.1,)}
    for data, names in ((x, VECTOR_CLASSIFIERS), (Gram(x @ x.T), GRAM_CLASSIFIERS)):
        a, b = (cross_validate(data, y, classifiers=names, n_jobs=n, **options).to_dict() for n in (1, 3))
        assert a == b


def test_equal_scores_choose_the_smallest_value():
    x, y = blobs(gap=50.0)
    grids = {"C": np.array([1.0, 100.0, 10.0]), "neighbours": np.arange(1, 6, 2)}
    found = cross_validate(x, y, classifiers=("svm-rbf", "knn"), repeats=1, folds=4, **grids)
    assert found.mean == 1.0 and found.candidates[0].grid == (1.0, 10.0, 100.0)
    assert np.all(found.candidates[0].chosen == 1.0) and np.all(found.candidates[1].chosen == 1)


def test_equal_graphs_are_equally_near_whatever_the_rounding():
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(7, 33)) * 1e3 + 0.1)[rng.integers(7, size=120)]
    ranks = Space(x, np.arange(90), np.arange(90, 120), scale=True).matrix("knn")
    for row in range(120):
        assert np.all(ranks[row, (x[:90] == x[row]).all(axis=1)] == 0)
        assert len(np.unique(ranks[row])) == 7


def test_constant_columns_and_constant_vectors_are_harmless():
    x, y = blobs(gap=3.0)
    padded = np.hstack([x, np.full((len(x), 3), 1e6)])
    alike = [cross_validate(each, y, classifiers="svm-linear", C=C, **QUICK).mean for each in (padded, x)]
    assert alike[0] == pytest.approx(alike[1])
    nothing = cross_validate(np.ones((80, 2)), y, classifiers=VECTOR_CLASSIFIERS, C=C, **QUICK)
    assert all(abs(each.chosen_outer.mean() - 0.5) < 0.11 for each in nothing.candidates)


def test_all_forms_of_representations_agree():
    x, y = blobs(n=48)
    options = {"repeats": 2, "folds": 3, "inner_folds": 2, "random_state": 4, "C": C}
    asked = []

    def make(seed):
        asked.append(seed)
        return x

    whole = cross_validate(x, y, **options).to_dict()
    for form in (x.tolist(), [x, x], np.stack([x, x]), make, {"default": x}):
        assert cross_validate(form, y, **options).to_dict() == whole
    assert asked == [4, 5]


def test_progress_counts_every_fold_and_input_stays_untouched():
    x, y = blobs(n=40)
    before, calls = x.copy(), []
    x.setflags(write=False)
    options = {"repeats": 2, "folds": 4, "inner_folds": 2, "C": (1.0,)}
    cross_validate({"a": x, "b": x}, y, progress=lambda done, total: calls.append((done, total)), **options)
    assert calls == [(i, 16) for i in range(1, 17)]
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize(
    ("name", "bound"), [("svm-linear", {"max_iter": 5}), ("logistic", {"logistic_max_iter": 2})]
)
def test_early_stops_are_counted_and_not_warned_about(name, bound):
    x, y = blobs(gap=0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        found = cross_validate(x, y, classifiers=name, C=(0.1, 100.0), **QUICK, **bound)
    assert found.n_stopped == found.n_fits == 1 * 3 * 2 * (3 + 1)
