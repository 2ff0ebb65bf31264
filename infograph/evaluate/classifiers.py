"""The classifiers: fit on some rows of a fold, give the accuracy on others, for every value of the grid."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from infograph.errors import InvalidParameter
from infograph.evaluate.kernels import Floats, FoldSpace
from infograph.evaluate.options import Options
from infograph.evaluate.plan import Rows

Part = slice | Rows
Scores = tuple[Floats, NDArray[np.int64]]  # accuracy and fits that stopped early, both (P,) for P grid values
Classifier = Callable[[Part, Part], Scores]


def make_classifier(name: str, space: FoldSpace, codes: Rows, options: Options) -> Classifier:
    """Prepare what all inner folds share (kernel or distances) and return (fit rows, judged rows) -> scores.

    Args:
        name: one of the names in `infograph.evaluate.options`.
        space: the fold's vectors and kernels.
        codes: (G,) class codes in the order of the space's rows.
        options: grids and bounds.
    """
    if name == "logistic":
        return _logistic(space.vectors, codes, options)
    if name == "knn":
        return _nearest(space.ranks(), codes, options)
    return _svm(space.rbf() if name == "svm-rbf" else space.products, codes, options)


def _block(matrix: Floats, rows: Part, columns: Part) -> Floats:
    """Rows and columns of a matrix: a view for the outer fold's slices, one copy for inner folds' indices."""
    if isinstance(rows, slice) or isinstance(columns, slice):
        return matrix[rows, columns]
    return matrix[np.ix_(rows, columns)]


def _svm(kernel: Floats, codes: Rows, options: Options) -> Classifier:
    def score(fit: Part, judged: Part) -> Scores:
        inside, across = _block(kernel, fit, fit), _block(kernel, judged, fit)
        accuracy, stopped = np.empty(len(options.C)), np.zeros(len(options.C), np.int64)
        for p, C in enumerate(options.C):
            model = SVC(C=C, kernel="precomputed", max_iter=options.max_iter).fit(inside, codes[fit])
            accuracy[p] = np.mean(model.predict(across) == codes[judged])
            stopped[p] = model.fit_status_ != 0
        return accuracy, stopped

    return score


def _logistic(vectors: Floats, codes: Rows, options: Options) -> Classifier:
    def score(fit: Part, judged: Part) -> Scores:
        inside, across = vectors[fit], vectors[judged]
        accuracy, stopped = np.empty(len(options.C)), np.zeros(len(options.C), np.int64)
        for p, C in enumerate(options.C):
            model = LogisticRegression(C=C, max_iter=options.logistic_max_iter).fit(inside, codes[fit])
            accuracy[p] = np.mean(model.predict(across) == codes[judged])
            stopped[p] = model.n_iter_.max() >= options.logistic_max_iter
        return accuracy, stopped

    return score


def _nearest(ranks: Floats, codes: Rows, options: Options) -> Classifier:
    n_classes, most = int(codes.max()) + 1, options.neighbours[-1]
    columns = np.array(options.neighbours) - 1

    def score(fit: Part, judged: Part) -> Scores:
        labels, block = codes[fit], _block(ranks, judged, fit)
        if most > len(labels):
            raise InvalidParameter(
                f"neighbours={most}, but an inner fold trains on {len(labels)} graphs; "
                f"ask for at most {len(labels)}"
            )
        # A stable order: of equally far graphs the earlier one counts, on every machine.
        nearest = np.argsort(block, axis=1, kind="stable")[:, :most]  # (judged, most)
        votes = np.cumsum(
            labels[nearest][:, :, None] == np.arange(n_classes), axis=1
        )  # (judged, most, classes)
        answers = votes[:, columns].argmax(axis=2)  # (judged, P); equal votes go to the first class
        return np.mean(answers == codes[judged][:, None], axis=0), np.zeros(len(columns), np.int64)

    return score
