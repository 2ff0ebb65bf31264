"""The evaluation protocol: repeated, nested, stratified cross-validation of given vectors or kernels."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from infograph.data.labels import encode_labels
from infograph.errors import InvalidParameter, TargetWarning
from infograph.evaluate.evaluation import Candidate, Evaluation, Floats, Plan, Rows

Progress = Callable[[int, int], None]
VECTOR_CLASSIFIERS, GRAM_CLASSIFIERS = ("svm-rbf", "svm-linear", "logistic", "knn"), ("svm", "knn")
ROUNDING = 1e-6  # by which a symmetric matrix may differ from its transpose, relative to its largest entry
FEW = 300  # graphs; below, Python's own share is most of a fit, and threads gain nothing


@dataclass(frozen=True, eq=False)
class Gram:
    """Kernel values between all pairs of graphs, checked once when made.

    Positive semidefiniteness is not checked (it costs G^3); LIBSVM also accepts indefinite matrices.

    Args:
        matrix: (G, G), symmetric up to rounding, finite. Kept as float64; the caller's array is not changed.
        normalise: divide by the square roots of the diagonal, so that every graph has k(x, x) = 1. It looks
            at two graphs at a time, so it leaks nothing between folds. With k(x, x) = 0 the zeros stay.
    """

    matrix: Floats  # (G, G)
    normalise: bool = False

    def __post_init__(self) -> None:
        matrix = _numbers(self.matrix, "a Gram matrix")
        if matrix.shape[0] != matrix.shape[1]:
            raise InvalidParameter(
                f"a Gram matrix is graphs by graphs; shape {matrix.shape} came. For vectors: Gram(x @ x.T)"
            )
        if matrix.diagonal().min() < 0:
            raise InvalidParameter("k(x, x) is negative for a graph; pass similarities, not distances")
        gap = np.abs(matrix - matrix.T)
        if gap.any():
            if gap.max() > ROUNDING * np.abs(matrix).max():
                i, j = np.unravel_index(int(gap.argmax()), gap.shape)
                raise InvalidParameter(f"the Gram matrix is not symmetric at ({i}, {j}); pass (K + K.T) / 2")
            matrix = (matrix + matrix.T) / 2  # even out rounding, so that row and column say the same
        if self.normalise:
            root = np.sqrt(matrix.diagonal())
            root = np.where(root > 0, root, 1.0)
            matrix = matrix / np.outer(root, root)
        object.__setattr__(self, "matrix", matrix)

    def __len__(self) -> int:
        return len(self.matrix)


Representation = Floats | Gram
Source = NDArray[Any] | Gram | Sequence[NDArray[Any]] | Sequence[Gram] | Callable[[int], NDArray[Any] | Gram]


def cross_validate(
    representations: Source | Mapping[str, Source],
    y: Any,
    *,
    classifiers: Sequence[str] | str | None = None,
    repeats: int = 5,
    folds: int = 10,
    inner_folds: int = 5,
    C: Sequence[float] = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3),
    neighbours: Sequence[int] = (1, 3, 5, 11),
    scale: bool = True,
    max_iter: int = 100_000,
    logistic_max_iter: int = 1000,
    random_state: int = 0,
    n_jobs: int = -1,
    progress: Progress | None = None,
) -> Evaluation:
    """Classification accuracy of representations by nested cross-validation.

    Repeat r splits with the seed `random_state + r`. Scaler and kernel width are fitted on each outer
    training fold, whose one kernel matrix serves its inner folds and every C. All scores are kept, so that
    `Evaluation.leak_free()` and `.paper()` are read off the same run. Representations learnt from all graphs
    without labels make this transductive, as in the paper. The result does not depend on `n_jobs`.

    Differs from the paper: it chooses C on the training folds, as here, but the setting by the "best average"
    accuracy; `leak_free` chooses both on the training folds.

    Args:
        representations: a (G, D) array or a `Gram` for all repeats; a sequence of them, one per repeat; a
            function of the seed `random_state + r` that makes them; or a mapping of names to any of these. A
            symmetric (G, G) array is taken as a `Gram`.
        y: (G,) classes as integers or strings; graphs without one (NaN, None) are left out, with a warning.
        classifiers: "svm-rbf", "svm-linear", "logistic", "knn" for vectors; "svm", "knn" for Gram matrices.
            None means "svm-rbf" and "svm". SVMs are LIBSVM's.
        repeats: how often to repeat the cross-validation (paper: 5).
        folds: outer folds (paper: 10).
        inner_folds: folds of each outer training part.
        C: values tried for the SVMs and logistic regression (paper: 1e-3 to 1e3); of equals the smallest.
        neighbours: numbers of neighbours tried for "knn"; of equals the smallest.
        scale: standardise the columns of vectors.
        max_iter: bound on the iterations of LIBSVM per fit. The RBF kernel needed 10,000 on 5000 graphs; the
            linear one with a large C may need millions, at 6 s per million. Fits that stop early are counted.
        logistic_max_iter: the same for logistic regression.
        random_state: seed of the first repeat; repeats run one by one with their own seeds can be merged.
        n_jobs: folds run at the same time, -1 for one per core. Each holds about 3 matrices of G x G float64.
        progress: called with (folds done, folds in all) after every fold.
    """
    for name, value, least in (
        ("repeats", repeats, 1),
        ("folds", folds, 2),
        ("inner_folds", inner_folds, 2),
        ("random_state", random_state, 0),
        ("max_iter", max_iter, 1),
        ("logistic_max_iter", logistic_max_iter, 1),
        *(("neighbours", k, 1) for k in neighbours),
    ):
        if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
            raise InvalidParameter(f"{name} must be a whole number of at least {least}; {value!r} came")
    if not (C and neighbours and all(0 < value < math.inf for value in C)):
        raise InvalidParameter(
            f"C and neighbours must be positive and finite; C={C}, neighbours={neighbours}"
        )
    if n_jobs == 0:
        raise InvalidParameter("n_jobs=0 runs nothing; use -1 for all cores, or 1")
    given = representations if isinstance(representations, Mapping) else {"default": representations}
    for source in given.values():
        if hasattr(source, "fit_transform"):
            raise InvalidParameter(
                f"a {type(source).__name__} came: pass its vectors, model.fit_transform(graphs), or a "
                f"function of the seed that makes them"
            )
    codes, names = encode_labels(y)
    known = codes >= 0
    if not known.all():
        warnings.warn(
            f"{int((~known).sum())} of {len(known)} graphs have no label and are left out",
            TargetWarning,
            stacklevel=2,
        )
        codes = codes[known]
    plan = Plan.of(codes, names, folds, inner_folds)
    wanted = check_names(classifiers)
    costs = tuple(sorted({float(value) for value in C}))
    grids: Grids = {
        **dict.fromkeys(("svm-rbf", "svm-linear", "svm"), (costs, int(max_iter))),
        "logistic": (costs, int(logistic_max_iter)),
        "knn": (tuple(sorted({int(k) for k in neighbours})), 0),
    }
    if not given:
        raise InvalidParameter("representations is an empty mapping; pass at least one setting")
    sources = {
        str(name): _per_repeat(source, f"setting {str(name)!r}", known, repeats, random_state)
        for name, source in given.items()
    }
    seeds = tuple(int(random_state) + r for r in range(repeats))
    candidates: list[Candidate] = []
    done, total = 0, len(sources) * repeats * folds
    for setting, get in sources.items():
        scores: list[list[Scores]] = []  # repeats x folds, each of all classifiers
        kinds = set()
        for r, seed in enumerate(seeds):  # only one repeat's representation is held at a time
            representation = get(r)
            kinds.add(isinstance(representation, Gram))
            if len(kinds) > 1:
                raise InvalidParameter(f"setting {setting!r} mixes vectors and Gram matrices; use one kind")
            chosen = {name: grids[name] for name in _fitting(wanted, representation, setting)}
            for fold in _score_repeat(representation, codes, plan, seed, chosen, bool(scale), n_jobs):
                scores.append(fold)
                done += 1
                if progress is not None:
                    progress(done, total)
        for i, (name, (grid, bound)) in enumerate(chosen.items()):
            parts = (
                np.reshape([fold[i][part] for fold in scores], (repeats, folds, -1)) for part in range(3)
            )
            scaled = bool(scale) and kinds == {False}
            candidates.append(Candidate(setting, name, tuple(map(float, grid)), scaled, bound, *parts))
    return Evaluation(plan, seeds, tuple(candidates))


# ---- what came in

Grids = dict[str, tuple[tuple[float, ...], int]]  # classifier -> values, smallest first; bound of a fit


def check_names(classifiers: Sequence[str] | str | None) -> tuple[str, ...] | None:
    """The names as a tuple, known and different; None stays None."""
    if classifiers is None:
        return None
    names = (classifiers,) if isinstance(classifiers, str) else tuple(classifiers)
    if not names or len(set(names)) < len(names):
        raise InvalidParameter(f"classifiers must be one or more different names; {names} came")
    for name in names:
        if name not in VECTOR_CLASSIFIERS + GRAM_CLASSIFIERS:
            raise InvalidParameter(
                f"there is no classifier {name!r}; for vectors there are {', '.join(VECTOR_CLASSIFIERS)}; "
                f"for Gram matrices {', '.join(GRAM_CLASSIFIERS)}"
            )
    return names


def _fitting(names: tuple[str, ...] | None, given: Representation, setting: str) -> tuple[str, ...]:
    """The classifiers for this kind of input; None means one SVM."""
    gram = isinstance(given, Gram)
    allowed, kind = (GRAM_CLASSIFIERS, "a Gram matrix") if gram else (VECTOR_CLASSIFIERS, "vectors")
    for name in names or ():
        if name not in allowed:
            raise InvalidParameter(
                f"classifier {name!r} does not go with setting {setting!r}, which is {kind}: choose from "
                f"{allowed}. Evaluate both kinds in two calls and merge them"
            )
    return names or allowed[:1]


def _per_repeat(
    source: Any, where: str, known: NDArray[np.bool_], repeats: int, seed: int
) -> Callable[[int], Representation]:
    """The representation of a repeat. All but what a function makes is checked before the first fold."""
    if callable(source) and not hasattr(source, "__array__"):
        return lambda r: _representation(source(seed + r), known, f"{where}, repeat {r}")
    several = isinstance(source, np.ndarray) and source.ndim == 3
    if isinstance(source, Sequence) and len(source):  # of matrices; a list of rows is one matrix
        several = isinstance(source[0], Gram) or np.ndim(source[0]) >= 2
    if not several:
        single = _representation(source, known, where)
        return lambda r: single
    if len(source) != repeats:
        raise InvalidParameter(f"{where}: {len(source)} representations came for repeats={repeats}")
    each = [_representation(one, known, f"{where}, repeat {r}") for r, one in enumerate(source)]
    return lambda r: each[r]


def _representation(values: Any, known: NDArray[np.bool_], where: str) -> Representation:
    found = values if isinstance(values, Gram) else _numbers(values, where)
    if len(found) != len(known):
        raise InvalidParameter(
            f"{where}: {len(found)} graphs came for {len(known)} labels; pass one per graph"
        )
    if not isinstance(found, Gram) and _is_symmetric(found):
        found = Gram(found)  # as kernels give it
    if known.all():
        return found
    return Gram(found.matrix[np.ix_(known, known)]) if isinstance(found, Gram) else found[known]


def _is_symmetric(matrix: Floats) -> bool:
    if matrix.shape[0] != matrix.shape[1]:
        return False
    return bool(np.abs(matrix - matrix.T).max() <= ROUNDING * np.abs(matrix).max())


def _numbers(values: ArrayLike, where: str) -> Floats:
    """A matrix of finite float64."""
    try:
        matrix: Floats = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        kind = type(values).__name__
        raise InvalidParameter(f"{where}: expected a dense array of numbers; {kind} came") from error
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise InvalidParameter(f"{where}: expected a (G, D) array; shape {matrix.shape} came")
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if bad.size:
        raise InvalidParameter(
            f"{where}: {bad.size} of {len(matrix)} rows hold NaN or infinity, the first is graph {bad[0]}; "
            "leave these graphs out"
        )
    return matrix


# ---- one repeat, one outer fold

Scores = tuple[Floats, Floats, Rows]  # inner and outer accuracy, fits that stopped early: (P,) each
Part = slice | Rows


def _score_repeat(
    given: Representation, codes: Rows, plan: Plan, seed: int, grids: Grids, scale: bool, n_jobs: int
) -> Iterator[list[Scores]]:
    """The outer folds of one repeat, in order.

    LIBSVM releases the interpreter lock, so threads share the matrices without copies: 1.9x on 2 cores with
    1000 graphs, where processes gain 1.6x after 1.5 s of start. One BLAS thread, so that sums round alike for
    every n_jobs; early stops are counted, not warned about. Both are properties of the process, and set
    around the threads, where they cannot race.
    """
    score = delayed(_score_fold)
    jobs = (
        score(given, codes, split, grids, scale, plan.inner_folds, seed)
        for split in _stratified(codes, plan.folds, seed)
    )
    workers = 1 if len(codes) < FEW else n_jobs
    with threadpool_limits(limits=1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield from Parallel(n_jobs=workers, backend="threading", return_as="generator")(jobs)


def _stratified(codes: Rows, folds: int, seed: int) -> Iterator[tuple[Rows, Rows]]:
    yield from StratifiedKFold(folds, shuffle=True, random_state=seed).split(np.zeros(len(codes)), codes)


def _score_fold(
    representation: Representation,
    codes: Rows,
    split: tuple[Rows, Rows],
    grids: Grids,
    scale: bool,
    inner_folds: int,
    seed: int,
) -> list[Scores]:
    """Score every classifier in one outer fold; test labels are read for the outer accuracy alone."""
    train, test = split
    labels = codes[np.concatenate(split)]  # (G,)
    splits: list[tuple[Part, Part]] = [*_stratified(codes[train], inner_folds, seed)]
    splits.append((slice(0, len(train)), slice(len(train), len(codes))))
    results = []
    # Inputs were checked once; scikit-learn's own checks cost a sixth of each fit on 150 graphs.
    with config_context(assume_finite=True, skip_parameter_validation=True):
        space = _Space(representation, train, test, scale)
        for name, (grid, max_iter) in grids.items():
            matrix = space.matrix(name)  # all inner folds share it
            found = [_fit(name, matrix, labels, grid, max_iter, *rows) for rows in splits]
            accuracy, stopped = (np.array(each) for each in zip(*found, strict=True))  # (inner + 1, P)
            results.append((accuracy[:-1].mean(axis=0), accuracy[-1], stopped.sum(axis=0)))
    return results


def _fit(
    name: str, matrix: Floats, labels: Rows, grid: Sequence[float], max_iter: int, fit: Part, judged: Part
) -> tuple[Floats, Rows]:
    """Accuracy, and whether the fit stopped early, for every value of the grid."""
    accuracy, stopped = np.empty(len(grid)), np.zeros(len(grid), np.int64)
    if name == "knn":
        return _nearest(_block(matrix, judged, fit), labels[fit], labels[judged], np.array(grid)), stopped
    logistic = name == "logistic"
    inside, across = (matrix[rows] if logistic else _block(matrix, rows, fit) for rows in (fit, judged))
    for p, C in enumerate(grid):
        if logistic:
            model = LogisticRegression(C=C, max_iter=max_iter).fit(inside, labels[fit])
            stopped[p] = model.n_iter_.max() >= max_iter
        else:
            model = SVC(C=C, kernel="precomputed", max_iter=max_iter).fit(inside, labels[fit])
            stopped[p] = model.fit_status_ != 0
        accuracy[p] = np.mean(model.predict(across) == labels[judged])
    return accuracy, stopped


def _nearest(ranks: Floats, given: Rows, expected: Rows, neighbours: Rows) -> Floats:
    most = neighbours[-1]
    if most > len(given):
        raise InvalidParameter(f"neighbours={most}, but an inner fold trains on {len(given)} graphs")
    # A stable order: of equally far graphs the earlier one counts, on every machine.
    nearest = np.argsort(ranks, axis=1, kind="stable")[:, :most]  # (judged, most)
    votes = np.cumsum(given[nearest][:, :, None] == np.arange(given.max() + 1), axis=1)  # (judged, most, C)
    answers = votes[:, neighbours - 1].argmax(axis=2)  # (judged, P); equal votes go to the first class
    return np.asarray(np.mean(answers == expected[:, None], axis=0))


def _block(matrix: Floats, rows: Part, columns: Part) -> Floats:
    """A view for the outer fold's slices, one copy for inner folds' indices."""
    if isinstance(rows, slice) or isinstance(columns, slice):
        return matrix[rows, columns]
    return matrix[np.ix_(rows, columns)]


class _Space:
    """All graphs as one outer fold sees them, its T training graphs first, then its test graphs.

    Nothing here depends on labels, and nothing fitted here saw a test graph. The matrices are made once and
    serve all inner folds and every C, as their rows and columns.
    """

    def __init__(self, representation: Representation, train: Rows, test: Rows, scale: bool) -> None:
        self.n_train = len(train)
        order = np.concatenate([train, test])
        if isinstance(representation, Gram):
            self.products = representation.matrix[np.ix_(order, train)]
            self.squares = representation.matrix.diagonal()[order]  # (G,)
            return
        self.vectors = representation[order]  # (G, D)
        if scale:  # StandardScaler leaves constant columns at 0
            self.vectors = StandardScaler().fit(self.vectors[: self.n_train]).transform(self.vectors)
        self.squares = np.einsum("gd,gd->g", self.vectors, self.vectors)

    @cached_property
    def products(self) -> Floats:
        """The linear kernel, or the given Gram matrix, against the training graphs: (G, T)."""
        return np.ascontiguousarray(self.vectors @ self.vectors[: self.n_train].T)

    def matrix(self, classifier: str) -> Floats:
        """What a classifier is fitted to: vectors (G, D), kernel values or distances (G, T)."""
        if classifier == "logistic":
            return np.asarray(self.vectors)
        if classifier in ("svm", "svm-linear"):
            return self.products
        distances = self.products * -2.0  # squared, to the training graphs
        distances += self.squares[:, None]
        distances += self.squares[None, : self.n_train]
        np.maximum(distances, 0.0, out=distances)
        if classifier == "svm-rbf":  # exp(-gamma |x - x'|^2) with scikit-learn's gamma "scale"
            train = self.vectors[: self.n_train]
            variance = float(train.var())
            distances *= -1.0 / (train.shape[1] * variance) if variance > 0 else -1.0
            return np.exp(distances, out=distances)
        # Data sets hold many equal graphs. In whole steps of 1e-9 of the mean square, rounding errors of the
        # matrix product do not decide which of two equal ones is the nearer.
        distances /= 1e-9 * float(self.squares[: self.n_train].mean()) or 1.0
        return np.rint(distances, out=distances)
