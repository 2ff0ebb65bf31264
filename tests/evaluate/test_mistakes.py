"""What is refused: the call, and a word of the message."""

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

from infograph import as_graphset
from infograph.errors import InvalidParameter
from infograph.evaluate import Gram, cross_validate

X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.arange(40) % 2
K = X @ X.T


def spoiled(values, at, value):
    values = values.copy()
    values[at] = value
    return values


def train(seed):
    raise AssertionError("trained for nothing")


def represented(given):
    return lambda: cross_validate(given, Y, repeats=2, folds=3)


def gram(matrix):
    return lambda: Gram(matrix)


def labelled(y, **options):
    return lambda: cross_validate(X, y, **options)


def asked(given=train, **options):
    """Parameters are checked before an encoder is trained."""
    return lambda: cross_validate(given, Y, **options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (represented(spoiled(X, (7, 1), np.nan)), "'default': 1 of 40 rows hold NaN .* first is graph 7"),
        (represented(lambda seed: spoiled(X, (3, 0), np.nan)), "'default', repeat 0: 1 of 40"),
        (represented({"wide": X, "bad": [X, spoiled(X, (9, 0), np.nan)]}), "'bad', repeat 1: .* graph 9"),
        (represented(X[:30]), "30 graphs came for 40 labels; pass one per graph"),
        (labelled(as_graphset([nx.path_graph(2)] * 40)), r'y is a GraphSet: pass .* graphs\.graph\["y"\]'),
        (represented(X[:, 0]), r"shape \(40,\) came"),
        (represented(X[:, :0]), r"shape \(40, 0\) came"),
        (represented([X, X, X]), "3 representations came for repeats=2"),
        (represented("vectors"), "array of numbers; str came"),
        (represented({}), "empty mapping"),
        (represented(csr_array(X)), "dense array of numbers; csr_array came"),
        (represented(Gram(K[:30, :30])), "30 graphs came for 40 labels"),
        (represented([X, Gram(K)]), "mixes vectors and Gram matrices"),
        (gram(X), r"graphs by graphs; shape \(40, 3\) came"),
        (gram(spoiled(K, (4, 5), np.nan)), "NaN or infinity, the first is graph 4"),
        (gram(spoiled(K, (4, 5), 99.0)), r"not symmetric at \(4, 5\)"),
        (gram(-K), "pass similarities, not distances"),
        (labelled(np.zeros(40)), "only class 0"),
        (labelled(Y[:, None, None]), r"shape \(40, 1, 1\)"),
        (labelled(Y, scoring="f1"), "no scoring 'f1'; there are accuracy"),
        (labelled(Y, scoring=["accuracy"]), "no scoring .'accuracy'.; there are accuracy"),
        (labelled(["on", "off"] * 20, scoring="average_precision"), "which class counts.*instead of off, on"),
        (labelled(X[:, 0], folds=2, inner_folds=25), "40 graphs are too few for folds=2, inner_folds=25"),
        (labelled(X[:, 0], scoring="accuracy"), "needs classes, and these are measured"),
        (labelled(np.arange(40) % 3, scoring="roc_auc"), "needs two classes; there are 3"),
        (labelled(Y, groups=[1, 2]), "2 groups came for 40 graphs"),
        (labelled(Y, groups=np.array(["a", None] * 20, object)), "20 graphs are in no group"),
        (labelled(Y, groups=np.zeros(40)), "1 groups cannot be cut into folds=10"),
        (labelled(X[:, 0], classifiers="logistic"), "'logistic' does not go with .* measured values"),
        (labelled(["a", "b"] * 20, scoring="rmse"), "expected measured values"),
        (labelled(["rare"] * 4 + ["often"] * 36), "class rare has 4 members.*folds=10.*use fewer folds"),
        (labelled(np.repeat([0, 1], [34, 6]), folds=3), "a training part keeps 4: too few for folds=3, inn"),
        (asked(classifiers=("knn", "trees")), "no classifier 'trees'; for vectors there are svm-rbf"),
        (asked(classifiers=("knn", "knn")), "one or more different names"),
        (asked(C=(0.0, 1.0)), "C and neighbours must be positive"),
        (asked(C=()), "C and neighbours must be positive"),
        (asked(C=1.0), r"one or more in a list each; C=1\.0"),
        (asked(neighbours=3), "one or more in a list each; .* neighbours=3"),
        (asked(neighbours=(0,)), "neighbours must be a whole number of at least 1; 0 came"),
        (asked(folds=2.5), "folds must be a whole number of at least 2; 2.5 came"),
        (asked(inner_folds=True), "inner_folds must be a whole number of at least 2; True came"),
        (asked(random_state=-1), "random_state must be a whole number of at least 0; -1 came"),
        (asked(n_jobs=0), "n_jobs=0 runs nothing"),
        (asked(X, classifiers="svm"), "'svm' does not go with setting 'default', which is vectors"),
        (asked(Gram(K), classifiers="logistic"), "'logistic' does not go with .* which is a Gram"),
        (asked(X, neighbours=(1, 33), classifiers="knn"), "neighbours=33, but an inner fold trains on 28"),
    ],
)
def test_mistakes(call, message):
    with pytest.raises(InvalidParameter, match=message):
        call()
