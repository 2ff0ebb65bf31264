"""What is refused, and what the message says."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from infograph.errors import InvalidParameter
from infograph.evaluate import Gram, cross_validate

X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.arange(40) % 2
K = X @ X.T


def spoiled(values, at, value):
    values = values.copy()
    values[at] = value
    return values


@pytest.mark.parametrize(
    ("representations", "message"),
    [
        (spoiled(X, (7, 1), np.nan), "'default': 1 of 40 vectors hold NaN or infinity, the first is graph 7"),
        (spoiled(X, (7, 1), np.inf), "NaN or infinity"),
        (lambda seed: spoiled(X, (3, 0), np.nan), "'default', repeat 0: 1 of 40"),
        ({"wide": X, "bad": [X, spoiled(X, (9, 0), np.nan)]}, "'bad', repeat 1: 1 of 40 .* graph 9"),
        (X[:30], "30 vectors came for 40 labels; pass one per graph"),
        (X[:, 0], r"expected a \(G, D\) array, a vector per graph; shape \(40,\) came"),
        (X[:, :0], r"shape \(40, 0\) came"),
        ([X, X, X], "3 representations came for repeats=2; pass one per repeat"),
        ("vectors", r"expected a \(G, D\) array of numbers or a Gram; str came"),
        ({}, "empty mapping; pass at least one setting"),
        (csr_array(X), r"a sparse matrix came; pass x.toarray\(\)"),
        (Gram(K[:30, :30]), "the Gram matrix is of 30 graphs, y of 40"),
        ([X, Gram(K)], "mixes vectors and Gram matrices"),
    ],
)
def test_representations(representations, message):
    with pytest.raises(InvalidParameter, match=message):
        cross_validate(representations, Y, repeats=2, folds=3)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (X, r"must be square, graphs by graphs; shape \(40, 3\) came"),
        (spoiled(K, (4, 5), np.nan), "NaN or infinity in 1 of 40 rows, the first is row 4"),
        (spoiled(K, (4, 5), 99.0), r"not symmetric: entry \(4, 5\) is 99 and entry \(5, 4\)"),
        (-K, "never negative; pass similarities, not distances"),
        (csr_array(K), "dense array of numbers; csr_array came"),
    ],
)
def test_gram_matrices(matrix, message):
    with pytest.raises(InvalidParameter, match=message):
        Gram(matrix)


def test_gram_evens_out_rounding_and_leaves_the_users_array_alone():
    skew = spoiled(K, (0, 1), K[0, 1] * (1 + 1e-9))
    before = skew.copy()
    gram = Gram(skew, normalise=True)
    np.testing.assert_array_equal(gram.matrix, gram.matrix.T)
    np.testing.assert_array_equal(skew, before)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(40), "y holds only class 0; classification needs at least two classes"),
        (np.zeros(0), "y holds no labels"),
        (spoiled(Y.astype(float), 3, 0.5), "y must hold classes, but graph 3 has the value 0.5"),
        (spoiled(Y.astype(float), 3, np.nan), r"no label for 1 graphs \(NaN or infinity, first at graph 3\)"),
        ([None, *Y[1:].tolist()], r"no label for 1 graphs \(None, first at graph 0\)"),
        (np.array(["a", *Y[1:].tolist()], dtype=object), "all integers or all strings; it holds int, str"),
        (Y[:, None], r"one label per graph, shape \(G,\); shape \(40, 1\) came"),
        (Y.astype(complex), "y must hold integers or strings; it holds complex128"),
        (
            ["rare"] * 4 + ["often"] * 36,
            "class rare has 4 members, fewer than folds=10; use folds=4 or fewer",
        ),
        (["rare"] + ["often"] * 39, "class rare has 1 member, fewer than folds=10; leave the class out"),
    ],
)
def test_labels(y, message):
    with pytest.raises(InvalidParameter, match=message):
        cross_validate(X, y)


def test_classes_too_small_for_the_inner_folds():
    y = np.repeat([0, 1], [34, 6])
    with pytest.raises(
        InvalidParameter, match=r"class 1 has 6 members, of which .* folds=3 keeps 4, .* inner_folds=4 or"
    ):
        cross_validate(X, y, folds=3)
    assert 0 <= cross_validate(X, y, folds=3, inner_folds=4, repeats=1).mean <= 1
    with pytest.raises(
        InvalidParameter, match="keeps 1, fewer than inner_folds=2; use more folds or leave the class"
    ):
        cross_validate(X, np.repeat([0, 1], [38, 2]), folds=2, inner_folds=2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"classifiers": "forest"},
            "no classifier 'forest'; for vectors there are svm-rbf, svm-linear, logistic, knn; for Gram",
        ),
        ({"classifiers": ()}, "one or more different names"),
        ({"classifiers": ("knn", "knn")}, "one or more different names"),
        ({"classifiers": "svm"}, "classifier 'svm' does not go with setting 'default', which is vectors"),
        ({"C": (0.0, 1.0)}, "C must be positive and finite; 0.0 came"),
        ({"C": ()}, "at least one value each"),
        ({"neighbours": (0,)}, "neighbours must be a whole number of at least 1; 0 came"),
        ({"neighbours": (1, 33), "classifiers": "knn"}, "neighbours=33, but an inner fold trains on 28"),
        ({"repeats": 0}, "repeats must be a whole number of at least 1; 0 came"),
        ({"folds": 1}, "folds must be a whole number of at least 2; 1 came"),
        ({"folds": 2.5}, "folds must be a whole number of at least 2; 2.5 came"),
        ({"inner_folds": True}, "inner_folds must be a whole number of at least 2; True came"),
        ({"random_state": -1}, "random_state must be a whole number of at least 0; -1 came"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1; 0 came"),
        ({"n_jobs": 0}, "n_jobs=0 runs nothing"),
    ],
)
def test_parameters(options, message):
    with pytest.raises(InvalidParameter, match=message):
        cross_validate(X, Y, **options)


def test_an_unknown_classifier_is_found_before_an_encoder_is_trained():
    def train(seed):
        raise AssertionError("trained for nothing")

    with pytest.raises(InvalidParameter, match="no classifier 'forest'"):
        cross_validate(train, Y, classifiers=("knn", "forest"))


@pytest.mark.parametrize("name", ["svm-rbf", "svm-linear", "logistic"])
def test_a_gram_matrix_takes_no_vector_classifier(name):
    with pytest.raises(
        InvalidParameter, match=f"'{name}' does not go with setting 'default', which is a Gram"
    ):
        cross_validate(Gram(K), Y, classifiers=name)
