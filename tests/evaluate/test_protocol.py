"""Properties of the protocol: no leaks, no dependence on the machine, chance on noise."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from infograph.evaluate import Gram, cross_validate
from infograph.evaluate.cross_validation import FoldSpace, Options, score_fold
from infograph.evaluate.evaluation import best, stratified

OPTIONS = Options.checked((1e-2, 0.1, 1.0), (1, 3), True, 100_000, 1000)


def blobs(n=80, dim=6, gap=1.0, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return rng.normal(size=(n, dim)) + gap * y[:, None] * (np.arange(dim) < 2), y


@pytest.mark.parametrize("seed", range(5))
def test_permuting_test_labels_changes_no_inner_score_and_no_choice(seed):
    x, y = blobs(seed=seed)
    names = ("svm-rbf", "svm-linear", "logistic", "knn")
    train, test = next(stratified(y, 4, seed))
    shuffled = y.copy()
    shuffled[test] = 1 - y[test]
    with_truth, without = (score_fold(x, c, (train, test), names, OPTIONS, 3, seed) for c in (y, shuffled))
    for a, b in zip(with_truth, without, strict=True):
        np.testing.assert_array_equal(a.inner, b.inner)
        assert best(a.inner) == best(b.inner)
        np.testing.assert_allclose(a.outer, 1 - b.outer)


def test_test_vectors_do_not_reach_what_is_fitted():
    x, y = blobs()
    train, test = next(stratified(y, 4, 0))
    moved = x.copy()
    moved[test] = 1e3 * moved[test] + 7
    for make in (lambda s: s.vectors, lambda s: s.products, FoldSpace.rbf, FoldSpace.ranks):
        a, b = (make(FoldSpace(each, train, test, scale=True))[: len(train)] for each in (x, moved))
        np.testing.assert_array_equal(a, b)


def test_the_result_does_not_depend_on_n_jobs():
    x, y = blobs(n=330, dim=40)  # large enough to use threads
    names = ("svm-rbf", "svm-linear", "logistic", "knn")
    records = [
        cross_validate(
            x, y, classifiers=names, repeats=1, folds=4, inner_folds=2, C=(0.1, 10.0), n_jobs=n
        ).to_dict()
        for n in (1, 2, 3)
    ]
    assert records[0] == records[1] == records[2]


def test_a_grid_by_the_paper_is_at_least_leak_free_in_the_mean():
    gaps = []
    for seed in range(6):
        x, y = blobs(n=60, gap=0.4, seed=seed)
        rng = np.random.default_rng(seed)
        settings = {f"s{i}": x + rng.normal(size=x.shape) for i in range(5)}
        found = cross_validate(settings, y, repeats=2, folds=5, inner_folds=3, C=(0.1, 1.0, 10.0))
        gaps.append(found.paper().mean - found.leak_free().mean)
        assert found.paper().mean == max(found.select([name]).mean for name in settings)
    assert np.mean(gaps) > 0


def test_random_labels_score_chance_when_leak_free_and_more_by_the_paper():
    rng = np.random.default_rng(0)
    leak_free, paper = [], []
    for _ in range(8):
        y = rng.permutation(60) % 2
        settings = {f"s{i}": rng.normal(size=(60, 4)) for i in range(6)}
        found = cross_validate(settings, y, repeats=1, folds=5, inner_folds=3, C=(0.1, 1.0, 10.0))
        leak_free.append(found.mean)
        paper.append(found.paper().mean)
    assert abs(np.mean(leak_free) - 0.5) < 0.06  # 480 judgements: one deviation is 0.023
    assert np.mean(paper) > 0.54


def test_equal_scores_choose_the_smallest_value():
    x, y = blobs(gap=50.0)
    found = cross_validate(x, y, classifiers=("svm-rbf", "knn"), repeats=1, folds=4, C=(1.0, 100.0, 10.0))
    assert found.mean == 1.0
    assert found.candidates[0].grid == (1.0, 10.0, 100.0)
    assert np.all(found.candidates[0].chosen == 1.0)
    assert np.all(found.candidates[1].chosen == 1)
    assert {choice.classifier for choice in found.leak_free().chosen} == {"svm-rbf"}


def test_constant_columns_and_constant_vectors_are_harmless():
    x, y = blobs(gap=3.0)
    options = {"repeats": 1, "folds": 4, "inner_folds": 3}
    padded = np.hstack([x, np.full((len(x), 3), 1e6)])
    assert cross_validate(padded, y, classifiers="svm-linear", **options).mean == pytest.approx(
        cross_validate(x, y, classifiers="svm-linear", **options).mean
    )
    nothing = cross_validate(
        np.ones((80, 2)), y, classifiers=("svm-rbf", "svm-linear", "logistic", "knn"), **options
    )
    assert all(abs(each.chosen_outer.mean() - 0.5) < 0.11 for each in nothing.candidates)


def test_all_forms_of_representations_agree():
    x, y = blobs(n=48)
    options = {"repeats": 2, "folds": 3, "inner_folds": 2, "random_state": 4}
    asked = []

    def make(seed):
        asked.append(seed)
        return x

    whole = cross_validate(x, y, **options).to_dict()
    forms = [
        x.tolist(),
        [x, x],
        (x, x),
        np.stack([x, x]),
        make,
    ]
    for form in [*forms, {"default": x}]:
        assert cross_validate(form, y, **options).to_dict() == whole
    assert asked == [4, 5]
    gram = Gram(x @ x.T)
    assert (
        cross_validate(gram, y, **options).to_dict()
        == cross_validate([gram, gram], y, **options).to_dict()
        == cross_validate(lambda seed: gram, y, **options).to_dict()
    )


def test_each_repeat_uses_its_own_representation():
    x, y = blobs(n=60, gap=6.0)
    noise = np.random.default_rng(0).normal(size=x.shape)
    found = cross_validate([x, noise], y, repeats=2, folds=5, inner_folds=3)
    good, bad = np.mean(found.leak_free().fold_scores, axis=1)
    assert good > 0.95 and bad < 0.75
    assert found.std == pytest.approx(np.std([good, bad], ddof=1))


def test_labels_of_any_spelling_give_the_same_scores():
    x, y = blobs(n=60, classes=3)
    options = {"repeats": 1, "folds": 3, "inner_folds": 2, "C": (1.0,)}
    expected = cross_validate(x, y, **options).leak_free()
    names = np.array(["a", "b", "c"])[y]
    for labels in (
        y.astype(float),
        y.tolist(),
        names,
        names.tolist(),
        names.astype(object),
        names.astype("S"),
    ):
        assert cross_validate(x, labels, **options).leak_free() == expected
    assert cross_validate(x, names, **options).plan.class_sizes == (("a", 20), ("b", 20), ("c", 20))


def test_progress_counts_every_fold_and_input_stays_untouched():
    x, y = blobs(n=40)
    before, calls = x.copy(), []
    x.setflags(write=False)
    cross_validate(
        {"a": x, "b": x}, y, repeats=2, folds=4, progress=lambda done, total: calls.append((done, total))
    )
    assert calls == [(i, 16) for i in range(1, 17)]
    np.testing.assert_array_equal(x, before)


def test_warnings_of_a_users_own_code_are_still_heard():
    x, y = blobs(n=40)

    def make(seed):
        import warnings

        warnings.warn("mine", ConvergenceWarning, stacklevel=1)
        return x

    with pytest.warns(ConvergenceWarning, match="mine"):
        cross_validate(make, y, repeats=1, folds=4)


def test_equal_graphs_are_equally_near_whatever_the_rounding():
    rng = np.random.default_rng(0)
    kinds = rng.normal(size=(7, 33)) * 1e3 + 0.1
    x = kinds[rng.integers(7, size=120)]
    train, test = np.arange(90), np.arange(90, 120)
    ranks = FoldSpace(x, train, test, scale=True).ranks()
    for row in range(120):
        same = (x[:90] == x[row]).all(axis=1)
        assert np.all(ranks[row, same] == 0)
        assert len(np.unique(ranks[row])) == 7
