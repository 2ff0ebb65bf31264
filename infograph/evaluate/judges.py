"""What vectors and kernels are judged by: classifiers and regressors over a grid, and their scores.

Every judge answers for all values of its grid at once, from one matrix that serves all inner folds. SVMs are
LIBSVM's, or for many graphs those of `svm`, with the same answers; "ridge" and "ridge-rbf" are least squares
(on -1 and 1 for classes), of which one decomposition serves the whole grid; the forest has 500 trees (100 on
inner folds) and no grid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from infograph.errors import InvalidParameter

Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
Part = slice | Rows
VECTOR_CLASSIFIERS = ("svm-rbf", "svm-linear", "logistic", "knn", "ridge", "ridge-rbf", "forest")
VECTOR_REGRESSORS = ("svm-rbf", "svm-linear", "ridge", "ridge-rbf", "forest", "knn")
GRAM_CLASSIFIERS = ("svm", "ridge", "knn")
MANY = 1_000  # graphs from which on `svm` takes LIBSVM's place: fits of fewer are not worth compiling for
TREES, INNER_TREES = 500, 100  # on test folds; on inner folds, where they only compare settings


@dataclass(frozen=True)
class Scoring:
    """A figure of merit."""

    score: Callable[[Any, Any], float]  # expected and predicted values -> the figure
    needs: str = "numbers"  # what is predicted: "classes", "ranks" of two classes, or "numbers"
    lower: bool = False  # whether less is better
    percent: bool = False


def _rmse(expected: Floats, predicted: Floats) -> float:
    return float(np.sqrt(np.mean((expected - predicted) ** 2)))


def _r2(expected: Floats, predicted: Floats) -> float:
    spread = float(np.sum((expected - expected.mean()) ** 2))
    return 1 - float(np.sum((expected - predicted) ** 2)) / spread if spread > 0 else np.nan


def _with_both(score: Callable[[Any, Any], float]) -> Callable[[Any, Any], float]:
    return lambda expected, ranks: float(score(expected, ranks)) if 0 < expected.mean() < 1 else np.nan


SCORINGS = {
    "accuracy": Scoring(lambda expected, found: float(np.mean(expected == found)), "classes", percent=True),
    "roc_auc": Scoring(_with_both(roc_auc_score), "ranks", percent=True),
    "average_precision": Scoring(_with_both(average_precision_score), "ranks", percent=True),
    "rmse": Scoring(_rmse, lower=True),
    "mae": Scoring(lambda expected, found: float(np.mean(np.abs(expected - found))), lower=True),
    "r2": Scoring(_r2),
}


class Judge(NamedTuple):
    """A classifier or regressor by its name, and what is tried."""

    name: str
    grid: tuple[float, ...]  # smallest first
    max_iter: int = 0  # bound on the iterations of a fit; 0 where it does not iterate


class Space:
    """All graphs as one outer fold sees them, its T training graphs first, then its test graphs.

    Nothing here depends on labels, and nothing fitted here saw a test graph. The matrices are made once and
    serve all inner folds, every target and every value of a grid, as their rows and columns. `given` are
    vectors (G, D), or kernel values (G, G) if `gram`.
    """

    def __init__(self, given: Floats, train: Rows, test: Rows, *, scale: bool, gram: bool = False) -> None:
        self.n_train, self.gram = len(train), gram
        self._kept: dict[Any, Any] = {}
        order = np.concatenate([train, test])
        if gram:
            self.products = given[np.ix_(order, train)]
            self.squares = given.diagonal()[order]  # (G,)
            return
        self.vectors = given[order]  # (G, D)
        if scale:  # StandardScaler leaves constant columns at 0
            self.vectors = StandardScaler().fit(self.vectors[: self.n_train]).transform(self.vectors)
        self.squares = np.einsum("gd,gd->g", self.vectors, self.vectors)

    @cached_property
    def products(self) -> Floats:
        """The linear kernel, or the given Gram matrix, against the training graphs: (G, T)."""
        return np.ascontiguousarray(self.vectors @ self.vectors[: self.n_train].T)

    def matrix(self, judge: str) -> Floats:
        """What a judge is fitted to: vectors (G, D), kernel values or distances (G, T)."""
        if judge not in self._kept:
            self._kept[judge] = self._matrix(judge)
        return cast(Floats, self._kept[judge])

    def _matrix(self, judge: str) -> Floats:
        if (self.gram and judge != "knn") or judge == "svm-linear":
            return self.products
        if judge in ("logistic", "forest", "ridge"):
            return np.asarray(self.vectors)
        distances = self.products * -2.0  # squared, to the training graphs
        distances += self.squares[:, None]
        distances += self.squares[None, : self.n_train]
        np.maximum(distances, 0.0, out=distances)
        if judge in ("svm-rbf", "ridge-rbf"):  # exp(-gamma |x - x'|^2) with scikit-learn's gamma "scale"
            train = self.vectors[: self.n_train]
            variance = float(train.var())
            distances *= -1.0 / (train.shape[1] * variance) if variance > 0 else -1.0
            return np.exp(distances, out=distances)
        # Data sets hold many equal graphs. In whole steps of 1e-9 of the mean square, rounding errors of the
        # matrix product do not decide which of two equal ones is the nearer.
        distances /= 1e-9 * float(self.squares[: self.n_train].mean()) or 1.0
        return np.rint(distances, out=distances)

    def solved(self, judge: str, fit: Part) -> tuple[Floats, Floats, Floats]:
        """The decomposition that least squares on some rows needs; kept, as several targets share it."""
        rows, matrix = np.arange(self.n_train)[fit], self.matrix(judge)
        key = (judge, rows.tobytes())
        if key not in self._kept:
            if judge == "ridge" and not self.gram:  # of vectors, which have fewer columns than there are rows
                mean, width = matrix[rows].mean(axis=0), np.sqrt(matrix.shape[1])
                left, values, right = np.linalg.svd((matrix[rows] - mean) / width, full_matrices=False)
                self._kept[key] = (left, values**2, ((matrix - mean) / width @ right.T) * values)
            else:
                values, left = np.linalg.eigh(matrix[np.ix_(rows, rows)])
                self._kept[key] = (left, np.maximum(values, 0), matrix[:, rows] @ left)
        found: tuple[Floats, Floats, Floats] = self._kept[key]
        return found


def score_grid(
    judge: Judge, space: Space, targets: NDArray[Any], fit: Part, judged: Part, scoring: Scoring, seed: int
) -> tuple[Floats, Rows]:
    """The score on the rows `judged`, and whether the fit to the rows `fit` stopped early, for every value of
    the grid. Targets are codes of classes, or numbers."""
    scores, stopped = np.full(len(judge.grid), np.nan), np.zeros(len(judge.grid), np.int64)
    known, expected = targets[fit], targets[judged]
    if not len(known) or not len(expected):
        return scores, stopped
    if np.all(known == known[0]):  # nothing to learn
        scores[:] = scoring.score(expected, np.full(len(expected), known[0]))
        return scores, stopped
    answers = _answers(judge, space, known, fit, judged, scoring.needs, seed)
    for p, (answer, early) in enumerate(answers):
        scores[p], stopped[p] = scoring.score(expected, answer), early
    return scores, stopped


def _answers(
    judge: Judge, space: Space, known: NDArray[Any], fit: Part, judged: Part, needs: str, seed: int
) -> Iterator[tuple[NDArray[Any], bool]]:
    """Classes, ranks or numbers for every value of the grid, and whether the fit stopped early."""
    (name, grid, max_iter), matrix = judge, space.matrix(judge.name)
    if name == "knn":
        for answer in _nearest(block(matrix, judged, fit), known, np.array(grid, np.int64), needs):
            yield answer, False
    elif name.startswith("ridge"):
        for answer in _least_squares(space.solved(name, fit), known, grid, judged, needs):
            yield answer, False
    elif name == "forest":
        tested = np.arange(len(matrix))[judged][0] >= space.n_train
        n_trees = TREES if tested else INNER_TREES
        yield _forest(matrix[fit], known, matrix[judged], needs, n_trees, seed), False
    elif name == "logistic":
        for C in grid:
            model = LogisticRegression(C=C, max_iter=max_iter).fit(matrix[fit], known)
            yield _ask(model, matrix[judged], needs), model.n_iter_.max() >= max_iter
    elif needs != "numbers" and len(known) >= MANY and find_spec("numba"):
        from infograph.evaluate import svm  # and numba with it, which takes half a second

        rows = np.arange(len(matrix))
        for classes, ranks, early in svm.classify(matrix, rows[fit], rows[judged], known, grid, max_iter):
            yield ranks if needs == "ranks" else classes, early
    else:
        inside, across = block(matrix, fit, fit), block(matrix, judged, fit)
        mean, spread = (known.mean(), known.std()) if needs == "numbers" else (0.0, 1.0)
        for C in grid:
            make: Any = SVR if needs == "numbers" else SVC
            given = (known - mean) / spread if needs == "numbers" else known
            model = make(C=C, kernel="precomputed", max_iter=max_iter).fit(inside, given)
            answer = _ask(model, across, needs)
            yield answer * spread + mean if needs == "numbers" else answer, model.fit_status_ != 0


def _ask(model: Any, rows: Floats, needs: str) -> NDArray[Any]:
    return np.asarray(model.decision_function(rows) if needs == "ranks" else model.predict(rows))


def _least_squares(
    solved: tuple[Floats, Floats, Floats], known: NDArray[Any], grid: Sequence[float], rows: Part, needs: str
) -> Iterator[NDArray[Any]]:
    """Ridge regression with the penalty 1 / C; classes are the largest of one answer per class."""
    left, values, across = solved
    classes = int(known.max()) + 1 if needs == "classes" else 1
    wanted = np.where(known[:, None] == np.arange(classes), 1.0, -1.0) if classes > 1 else known[:, None]
    mean = wanted.mean(axis=0)
    turned = left.T @ (wanted - mean)  # (n, outputs)
    for C in grid:
        answer = across[rows] @ (turned / (values + 1 / C)[:, None]) + mean
        yield answer.argmax(axis=1) if classes > 1 else answer[:, 0]


def _forest(
    rows: Floats, known: NDArray[Any], asked: Floats, needs: str, n_trees: int, seed: int
) -> NDArray[Any]:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    make: Any = RandomForestRegressor if needs == "numbers" else RandomForestClassifier
    model = make(n_trees, max_features="sqrt", random_state=seed).fit(rows, known)
    return np.asarray(model.predict_proba(asked)[:, 1] if needs == "ranks" else model.predict(asked))


def _nearest(ranks: Floats, given: NDArray[Any], neighbours: Rows, needs: str) -> Iterator[NDArray[Any]]:
    most = neighbours[-1]
    if most > len(given):
        raise InvalidParameter(f"neighbours={most}, but an inner fold trains on {len(given)} graphs")
    # A stable order: of equally far graphs the earlier one counts, on every machine.
    values = given[np.argsort(ranks, axis=1, kind="stable")[:, :most]]  # (judged, most)
    for k in neighbours:
        if needs == "classes":  # equal votes go to the first class
            votes = (values[:, :k, None] == np.arange(given.max() + 1)).sum(axis=1)
            yield votes.argmax(axis=1)
        else:
            yield values[:, :k].mean(axis=1)


def block(matrix: Floats, rows: Part, columns: Part) -> Floats:
    """A view for the outer fold's slices, one copy for inner folds' indices."""
    if isinstance(rows, slice) or isinstance(columns, slice):
        return matrix[rows, columns]
    return matrix[np.ix_(rows, columns)]
