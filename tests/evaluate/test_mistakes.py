"""What is refused, and a word of the message."""

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
        (spoiled(X, (7, 1), np.nan), "'default': 1 of 40 rows hold NaN or infinity, the first is graph 7"),
        (spoiled(X, (7, 1), np.inf), "NaN or infinity"),
        (lambda seed: spoiled(X, (3, 0), np.nan), "'default', repeat 0: 1 of 40"),
        ({"wide": X, "bad": [X, spoiled(X, (9, 0), np.nan)]}, "'bad', repeat 1: 1 of 40 .* graph 9"),
        (X[:30], "30 graphs came for 40 labels; pass one per graph"),
        (X[:, 0], r"shape \(40,\) came"),
        (X[:, :0], r"shape \(40, 0\) came"),
        ([X, X, X], "3 representations came for repeats=2; pass one per repeat"),
        ("vectors", "array of numbers; str came"),
        ({}, "empty mapping"),
        (csr_array(X), "dense array of numbers; csr_array came"),
        (Gram(K[:30, :30]), "30 graphs came for 40 labels"),
        ([X, Gram(K)], "mixes vectors and Gram matrices"),
    ],
)
def test_representations(representations, message):
    with pytest.raises(InvalidParameter, match=message):
        cross_validate(representations, Y, repeats=2, folds=3)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (X, r"graphs by graphs; shape \(40, 3\) came"),
        (np.zeros((0, 0)), r"shape \(0, 0\) came"),
        (spoiled(K, (4, 5), np.nan), "NaN or infinity, the first is graph 4"),
        (spoiled(K, (4, 5), 99.0), r"not symmetric at \(4, 5\)"),
        (-K, "pass similarities, not distances"),
        (csr_array(K), "dense array of numbers; csr_array came"),
    ],
)
def test_gram_matrices(matrix, message):
    with pytest.raises(InvalidParameter, match=message):
        Gram(matrix)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(40), "only class 0"),
        (np.zeros(0), "no labels"),
        (spoiled(Y.astype(float), 3, 0.5), "graph 3 .* 0.5"),
        (spoiled(Y.astype(float), 3, np.nan), "no label for 1 graphs .*first at graph 3"),
        (spoiled(Y.astype(float), 3, np.inf), "graph 3 .*inf"),
        ([None, *Y[1:].tolist()], "no label for 1 graphs .*first at graph 0"),
        (["", *map(str, Y[1:])], "no label for 1 graphs"),
        (np.array(["a", np.nan] * 20), "no label for 20 graphs"),
        (np.array(["a", *Y[1:].tolist()], dtype=object), "all integers"),
        (Y[:, None], r"shape \(40, 1\)"),
        (Y.astype(complex), "all integers"),
        (["rare"] * 4 + ["often"] * 36, "class rare has 4 members.*folds=10.*use fewer folds"),
        (np.repeat([0, 1], [32, 8]), "class 1 has 8 members"),
    ],
)
def test_labels(y, message):
    with pytest.raises(InvalidParameter, match=message):
        cross_validate(X, y)


def test_classes_too_small_for_the_inner_folds():
    y = np.repeat([0, 1], [34, 6])
    with pytest.raises(InvalidParameter, match="a training part keeps 4: too few for folds=3, inner_folds=5"):
        cross_validate(X, y, folds=3)
    assert 0 <= cross_validate(X, y, folds=3, inner_folds=4, repeats=1, C=(1.0,)).mean <= 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classifiers": ("knn", "forest")}, "no classifier 'forest'; for vectors there are svm-rbf"),
        ({"classifiers": ()}, "one or more different names"),
        ({"classifiers": ("knn", "knn")}, "one or more different names"),
        ({"C": (0.0, 1.0)}, "C must be positive and finite; 0.0 came"),
        ({"C": ()}, "at least one value each"),
        ({"neighbours": (0,)}, "neighbours must be a whole number of at least 1; 0 came"),
        ({"repeats": 0}, "repeats must be a whole number of at least 1; 0 came"),
        ({"folds": 2.5}, "folds must be a whole number of at least 2; 2.5 came"),
        ({"inner_folds": True}, "inner_folds must be a whole number of at least 2; True came"),
        ({"random_state": -1}, "random_state must be a whole number of at least 0; -1 came"),
        ({"max_iter": 0}, "max_iter must be a whole number of at least 1; 0 came"),
        ({"n_jobs": 0}, "n_jobs=0 runs nothing"),
    ],
)
def test_parameters_are_checked_before_an_encoder_is_trained(options, message):
    def train(seed):
        raise AssertionError("trained for nothing")

    with pytest.raises(InvalidParameter, match=message):
        cross_validate(train, Y, **options)


def test_classifiers_that_do_not_go_with_what_came():
    with pytest.raises(InvalidParameter, match="'svm' does not go with setting 'default', which is vectors"):
        cross_validate(X, Y, classifiers="svm")
    for name in ("svm-rbf", "svm-linear", "logistic"):
        with pytest.raises(InvalidParameter, match=f"'{name}' does not go with .* which is a Gram"):
            cross_validate(Gram(K), Y, classifiers=name)
    with pytest.raises(InvalidParameter, match="neighbours=33, but an inner fold trains on 28"):
        cross_validate(X, Y, neighbours=(1, 33), classifiers="knn")
