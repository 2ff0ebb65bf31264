"""The evaluation protocol: repeated, nested, stratified cross-validation of given vectors or kernels."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
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
from infograph.errors import InvalidParameter
from infograph.evaluate.evaluation import Candidate, Evaluation, Floats, Plan, Rows

Progress = Callable[[int, int], None]
VECTOR_CLASSIFIERS = ("svm-rbf", "svm-linear", "logistic", "knn")
GRAM_CLASSIFIERS = ("svm", "knn")
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
                f"a Gram matrix is graphs by graphs; shape {matrix.shape} came. Pass vectors without "
                "Gram(...), or multiply them: Gram(x @ x.T)"
            )
        if matrix.diagonal().min() < 0:
            raise InvalidParameter("k(x, x) is negative for a graph; pass similarities, not distances")
        gap = np.abs(matrix - matrix.T)
        if gap.any():
            if gap.max() > 1e-6 * np.abs(matrix).max():
                i, j = np.unravel_index(int(gap.argmax()), gap.shape)
                raise InvalidParameter(
                    f"the Gram matrix is not symmetric at ({i}, {j}); pass (K + K.T) / 2 if that is meant"
                )
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
            function of the seed `random_state + r` that makes them; or a mapping of names to any of these.
        y: (G,) classes as integers or strings.
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
    codes, names = encode_labels(y)
    for name, value, least in (
        ("repeats", repeats, 1),
        ("folds", folds, 2),
        ("inner_folds", inner_folds, 2),
        ("random_state", random_state, 0),
        ("max_iter", max_iter, 1),
        ("logistic_max_iter", logistic_max_iter, 1),
    ):
        _check_count(name, value, least)
    if n_jobs == 0:
        raise InvalidParameter("n_jobs=0 runs nothing; use -1 for all cores, or 1")
    plan = Plan.of(codes, names, folds, inner_folds)
    wanted = check_names(classifiers)
    grids = _grids(C, neighbours, int(max_iter), int(logistic_max_iter))
    if not isinstance(representations, Mapping):
        representations = {"default": representations}
    if not representations:
        raise InvalidParameter("representations is an empty mapping; pass at least one setting")
    sources = {
        str(name): _per_repeat(source, f"setting {str(name)!r}", len(codes), repeats, random_state)
        for name, source in representations.items()
    }
    seeds = tuple(int(random_state) + r for r in range(repeats))
    done = iter(range(1, len(sources) * repeats * folds + 1))

    def tick() -> None:
        if progress is not None:
            progress(next(done), len(sources) * repeats * folds)

    candidates: list[Candidate] = []
    for setting, get in sources.items():
        candidates += _candidates(setting, get, codes, plan, seeds, wanted, grids, bool(scale), n_jobs, tick)
    return Evaluation(plan, seeds, tuple(candidates))


Grids = dict[
    str, tuple[tuple[float, ...], int]
]  # classifier -> values to try, smallest first; bound of a fit


def _candidates(
    setting: str,
    get: Callable[[int], Representation],
    codes: Rows,
    plan: Plan,
    seeds: tuple[int, ...],
    wanted: tuple[str, ...] | None,
    grids: Grids,
    scale: bool,
    n_jobs: int,
    tick: Callable[[], None],
) -> list[Candidate]:
    """Run all repeats of one setting; only one repeat's representation is held at a time."""
    rows: list[list[Scores]] = []  # repeats x folds, each of all classifiers
    kinds = set()
    for r, seed in enumerate(seeds):
        representation = get(r)
        gram = isinstance(representation, Gram)
        kinds.add(gram)
        if len(kinds) > 1:
            raise InvalidParameter(f"setting {setting!r} mixes vectors and Gram matrices; use one kind")
        chosen = {name: grids[name] for name in _fitting(wanted, gram, setting)}
        score = delayed(_score_fold)
        jobs = (
            score(representation, codes, split, chosen, scale, plan.inner_folds, seed)
            for split in _stratified(codes, plan.folds, seed)
        )
        # LIBSVM releases the interpreter lock, so threads share the matrices without copies: 1.9x on 2 cores
        # with 1000 graphs, where processes gain 1.6x after 1.5 s of start. One BLAS thread, so that sums
        # round alike for every n_jobs; early stops are counted, not warned about. Both are properties of the
        # process, and set around the threads, where they cannot race.
        workers = 1 if len(codes) < FEW else n_jobs
        with threadpool_limits(limits=1, user_api="blas"), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            for scores in Parallel(n_jobs=workers, backend="threading", return_as="generator")(jobs):
                rows.append(scores)
                tick()
    shape = (len(seeds), plan.folds, -1)
    return [
        Candidate(
            setting,
            name,
            tuple(map(float, grid)),
            scale and not gram,
            max_iter,
            *(np.reshape([row[i][part] for row in rows], shape) for part in range(3)),
        )
        for i, (name, (grid, max_iter)) in enumerate(chosen.items())
    ]


def _stratified(codes: Rows, folds: int, seed: int) -> Iterator[tuple[Rows, Rows]]:
    yield from StratifiedKFold(folds, shuffle=True, random_state=seed).split(np.zeros(len(codes)), codes)


# ---- what came in


def _check_count(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
        raise InvalidParameter(f"{name} must be a whole number of at least {least}; {value!r} came")


def _grids(C: Sequence[float], neighbours: Sequence[int], max_iter: int, logistic_max_iter: int) -> Grids:
    if not C or not neighbours:
        raise InvalidParameter(
            f"C and neighbours need at least one value each; C={C}, neighbours={neighbours}"
        )
    for value in C:
        if not (math.isfinite(value) and value > 0):
            raise InvalidParameter(f"C must be positive and finite; {value} came")
    for k in neighbours:
        _check_count("neighbours", k, 1)
    costs = tuple(sorted({float(value) for value in C}))
    return {
        **dict.fromkeys(("svm-rbf", "svm-linear", "svm"), (costs, max_iter)),
        "logistic": (costs, logistic_max_iter),
        "knn": (tuple(sorted({int(k) for k in neighbours})), 0),
    }


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


def _fitting(names: tuple[str, ...] | None, gram: bool, setting: str) -> tuple[str, ...]:
    """The classifiers for this kind of input; None means one SVM."""
    allowed, kind = (GRAM_CLASSIFIERS, "a Gram matrix") if gram else (VECTOR_CLASSIFIERS, "vectors")
    for name in names or ():
        if name not in allowed:
            raise InvalidParameter(
                f"classifier {name!r} does not go with setting {setting!r}, which is {kind}: choose from "
                f"{allowed}. Evaluate vectors and Gram matrices in two calls and merge them to compare both"
            )
    return names or allowed[:1]


def _per_repeat(
    source: Any, where: str, n_graphs: int, repeats: int, seed: int
) -> Callable[[int], Representation]:
    """The representation of a repeat. All but what a function makes is checked before the first fold."""
    if callable(source) and not hasattr(source, "__array__"):
        return lambda r: _representation(source(seed + r), n_graphs, f"{where}, repeat {r}")
    several = isinstance(source, np.ndarray) and source.ndim == 3
    if isinstance(source, Sequence) and len(source):  # of matrices; a list of rows is one matrix
        several = isinstance(source[0], Gram) or np.ndim(source[0]) >= 2
    if not several:
        single = _representation(source, n_graphs, where)
        return lambda r: single
    if len(source) != repeats:
        raise InvalidParameter(
            f"{where}: {len(source)} representations came for repeats={repeats}; pass one per repeat, or a "
            "single one that serves all"
        )
    each = [_representation(one, n_graphs, f"{where}, repeat {r}") for r, one in enumerate(source)]
    return lambda r: each[r]


def _representation(values: Any, n_graphs: int, where: str) -> Representation:
    found = values if isinstance(values, Gram) else _numbers(values, where)
    if len(found) != n_graphs:
        raise InvalidParameter(f"{where}: {len(found)} graphs came for {n_graphs} labels; pass one per graph")
    return found


def _numbers(values: ArrayLike, where: str) -> Floats:
    """A matrix of finite float64."""
    try:
        matrix: Floats = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        kind = type(values).__name__
        raise InvalidParameter(f"{where}: expected a dense array of numbers; {kind} came") from error
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise InvalidParameter(
            f"{where}: expected a (G, D) array, a row per graph; shape {matrix.shape} came"
        )
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if bad.size:
        raise InvalidParameter(
            f"{where}: {bad.size} of {len(matrix)} rows hold NaN or infinity, the first is graph {bad[0]}; "
            "leave these graphs out, or look for a diverged training"
        )
    return matrix


# ---- one outer fold

Scores = tuple[Floats, Floats, Rows]  # inner and outer accuracy, fits that stopped early: (P,) each
Part = slice | Rows


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
    whole, held_out = slice(0, len(train)), slice(len(train), len(codes))
    inner_splits = list(_stratified(codes[train], inner_folds, seed))
    results = []
    # Inputs were checked once; scikit-learn's own checks cost a sixth of each fit on 150 graphs.
    with config_context(assume_finite=True, skip_parameter_validation=True):
        space = _Space(representation, train, test, scale)
        for name, (grid, max_iter) in grids.items():
            score = _classifier(name, space, labels, grid, max_iter)
            inner, stopped = zip(*(score(fit, judged) for fit, judged in inner_splits), strict=True)
            outer, stopped_outer = score(whole, held_out)
            results.append((np.mean(inner, axis=0), outer, np.sum(stopped, axis=0) + stopped_outer))
    return results


def _classifier(
    name: str, space: _Space, labels: Rows, grid: Sequence[float], max_iter: int
) -> Callable[[Part, Part], tuple[Floats, Rows]]:
    """Prepare what all inner folds share, and return (fit rows, judged rows) -> accuracy, stopped early."""
    if name == "knn":
        return partial(_nearest, space.ranks(), labels, np.array(grid))
    if name == "logistic":
        return partial(_fit_each, "logistic", space.vectors, labels, grid, max_iter)
    return partial(
        _fit_each, "svm", space.rbf() if name == "svm-rbf" else space.products, labels, grid, max_iter
    )


def _fit_each(
    kind: str, matrix: Floats, labels: Rows, grid: Sequence[float], max_iter: int, fit: Part, judged: Part
) -> tuple[Floats, Rows]:
    """One fit per C, by rows and columns of a kernel, or by rows of vectors."""
    svm = kind == "svm"
    inside, across = (_block(matrix, rows, fit) if svm else matrix[rows] for rows in (fit, judged))
    accuracy, stopped = np.empty(len(grid)), np.zeros(len(grid), np.int64)
    for p, C in enumerate(grid):
        if svm:
            model = SVC(C=C, kernel="precomputed", max_iter=max_iter).fit(inside, labels[fit])
            stopped[p] = model.fit_status_ != 0
        else:
            model = LogisticRegression(C=C, max_iter=max_iter).fit(inside, labels[fit])
            stopped[p] = model.n_iter_.max() >= max_iter
        accuracy[p] = np.mean(model.predict(across) == labels[judged])
    return accuracy, stopped


def _nearest(ranks: Floats, labels: Rows, neighbours: Rows, fit: Part, judged: Part) -> tuple[Floats, Rows]:
    given, most = labels[fit], neighbours[-1]
    if most > len(given):
        raise InvalidParameter(
            f"neighbours={most}, but an inner fold trains on {len(given)} graphs; ask for fewer"
        )
    # A stable order: of equally far graphs the earlier one counts, on every machine.
    nearest = np.argsort(_block(ranks, judged, fit), axis=1, kind="stable")[:, :most]  # (judged, most)
    votes = np.cumsum(given[nearest][:, :, None] == np.arange(labels.max() + 1), axis=1)  # (judged, most, C)
    answers = votes[:, neighbours - 1].argmax(axis=2)  # (judged, P); equal votes go to the first class
    return np.mean(answers == labels[judged][:, None], axis=0), np.zeros(len(neighbours), np.int64)


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

    def distances(self) -> Floats:
        """Squared, to the training graphs, (G, T); a new array, as each user needs it once."""
        distances = self.products * -2.0
        distances += self.squares[:, None]
        distances += self.squares[None, : self.n_train]
        return np.maximum(distances, 0.0, out=distances)

    def rbf(self) -> Floats:
        """exp(-gamma |x - x'|^2), (G, T); gamma is scikit-learn's "scale" of the training rows."""
        train = self.vectors[: self.n_train]
        variance = float(train.var())
        kernel = self.distances()
        kernel *= -1.0 / (train.shape[1] * variance) if variance > 0 else -1.0
        return np.exp(kernel, out=kernel)

    def ranks(self) -> Floats:
        """Squared distances in whole steps of 1e-9 of the mean square, (G, T).

        Data sets hold many equal graphs. Rounding errors of the matrix product must not decide which of two
        equal ones is the nearer.
        """
        distances = self.distances()
        distances /= 1e-9 * float(self.squares[: self.n_train].mean()) or 1.0
        return np.rint(distances, out=distances)
