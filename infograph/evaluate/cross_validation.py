"""The evaluation protocol: repeated, nested, stratified cross-validation on given representations."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from infograph.data.labels import encode_labels
from infograph.errors import InvalidParameter
from infograph.evaluate.evaluation import Candidate, Evaluation, Floats, Plan, Rows, stratified

Progress = Callable[[int, int], None]
VECTOR_CLASSIFIERS = ("svm-rbf", "svm-linear", "logistic", "knn")
GRAM_CLASSIFIERS = ("svm", "knn")
DEFAULT_SETTING = "default"
Part = slice | Rows
Scores = tuple[Floats, NDArray[np.int64]]  # accuracy and fits that stopped early, both (P,) for P grid values
Classifier = Callable[[Part, Part], Scores]


@dataclass(frozen=True, eq=False)
class Gram:
    """Kernel values between all pairs of graphs, checked once when made.

    Positive semidefiniteness is not checked (it costs G^3); LIBSVM also accepts indefinite matrices.

    Args:
        matrix: (G, G), symmetric up to rounding, finite. Kept as float64; the caller's array is not changed.
        normalise: divide by the square roots of the diagonal, so that every graph has k(x, x) = 1. It looks
            at two graphs at a time, so it leaks nothing between folds. With k(x, x) = 0 the zeros stay.

    Raises:
        InvalidParameter: the matrix is not square, not symmetric, not finite, or has a negative diagonal.
    """

    matrix: NDArray[np.float64]  # (G, G)
    normalise: bool = False

    def __post_init__(self) -> None:
        matrix = _checked(self.matrix)
        if self.normalise:
            root = np.sqrt(np.diagonal(matrix))
            root = np.where(root > 0, root, 1.0)
            matrix = matrix / np.outer(root, root)
        object.__setattr__(self, "matrix", matrix)

    def __len__(self) -> int:
        return len(self.matrix)


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

    Raises:
        InvalidParameter: any input that cannot be evaluated, with what to do about it.
    """
    codes, names = encode_labels(y)
    for name, value, least in (("repeats", repeats, 1), ("folds", folds, 2), ("inner_folds", inner_folds, 2)):
        check_count(name, value, least)
    check_count("random_state", random_state, 0)
    if n_jobs == 0:
        raise InvalidParameter("n_jobs=0 runs nothing; use -1 for all cores, or 1")
    plan = Plan.of(codes, names, folds, inner_folds)
    wanted = check_names(classifiers)
    options = Options.checked(C, neighbours, scale, max_iter, logistic_max_iter)
    settings = read_settings(representations, len(codes), repeats, random_state)
    seeds = tuple(int(random_state) + r for r in range(repeats))
    tick = _counter(progress, len(settings) * repeats * folds)
    candidates: list[Candidate] = []
    for setting in settings:
        candidates += _candidates(setting, codes, plan, seeds, wanted, options, n_jobs, tick)
    return Evaluation(plan=plan, seeds=seeds, candidates=tuple(candidates))


def _candidates(
    setting: Setting,
    codes: Rows,
    plan: Plan,
    seeds: tuple[int, ...],
    classifiers: tuple[str, ...] | None,
    options: Options,
    n_jobs: int,
    tick: Callable[[], None],
) -> list[Candidate]:
    """Run all repeats of one setting; only one repeat's representation is held at a time."""
    rows: list[list[FoldScores]] = []  # repeats x folds, each of all classifiers
    names: tuple[str, ...] | None = None
    for r, seed in enumerate(seeds):
        representation = setting.get(r)
        chosen = fitting(classifiers, isinstance(representation, Gram), setting.name)
        if names not in (None, chosen):
            raise InvalidParameter(f"setting {setting.name!r} mixes vectors and Gram matrices; use one kind")
        names = chosen
        rows += _run_repeat(representation, codes, plan, seed, names, options, n_jobs, tick)
    shape = (len(seeds), plan.folds, -1)
    return [
        Candidate(
            setting=setting.name,
            classifier=name,
            grid=options.grid(name),
            scale=options.scale and not isinstance(representation, Gram),
            max_iter=options.bound(name),
            inner=np.reshape([row[i].inner for row in rows], shape),
            outer=np.reshape([row[i].outer for row in rows], shape),
            stopped=np.reshape([row[i].stopped for row in rows], shape),
        )
        for i, name in enumerate(names or ())
    ]


def _run_repeat(
    representation: Representation,
    codes: Rows,
    plan: Plan,
    seed: int,
    classifiers: tuple[str, ...],
    options: Options,
    n_jobs: int,
    tick: Callable[[], None],
) -> list[list[FoldScores]]:
    """Score all outer folds of one repeat, in their order."""
    jobs = (
        delayed(score_fold)(representation, codes, split, classifiers, options, plan.inner_folds, seed)
        for split in plan.outer(codes, seed)
    )
    # LIBSVM releases the interpreter lock, so threads share the matrices without copies: 1.9x on 2 cores with
    # 1000 graphs, where processes gain 1.6x after 1.5 s of start. Below 300 graphs Python's own share is most
    # of a fit, and threads gain nothing.
    workers = 1 if len(codes) < 300 else n_jobs
    results = []
    with _quiet_single_blas():
        for scores in Parallel(n_jobs=workers, backend="threading", return_as="generator")(jobs):
            results.append(scores)
            tick()
    return results


@contextmanager
def _quiet_single_blas() -> Iterator[None]:
    """One BLAS thread, so that sums round alike for every n_jobs; convergence is counted, not warned about.

    Both are properties of the process. They are set here around the threads, where they cannot race.
    """
    with threadpool_limits(limits=1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _counter(progress: Progress | None, total: int) -> Callable[[], None]:
    done = iter(range(1, total + 1))

    def tick() -> None:
        if progress is not None:
            progress(next(done), total)

    return tick


@dataclass(frozen=True)
class Options:
    """What the classifiers may try; the fields are those of `cross_validate`."""

    C: tuple[float, ...]
    neighbours: tuple[int, ...]
    scale: bool
    max_iter: int
    logistic_max_iter: int

    def grid(self, classifier: str) -> tuple[float, ...]:
        """The values tried for one classifier, smallest first: numbers of neighbours for knn, else C."""
        return tuple(float(k) for k in self.neighbours) if classifier == "knn" else self.C

    def bound(self, classifier: str) -> int:
        """The iteration bound of one classifier; 0 for knn, which does not iterate."""
        return {"knn": 0, "logistic": self.logistic_max_iter}.get(classifier, self.max_iter)

    @classmethod
    def checked(
        cls,
        C: Sequence[float],
        neighbours: Sequence[int],
        scale: bool,
        max_iter: int,
        logistic_max_iter: int,
    ) -> Options:
        """Sort the grids, so that the first of equals is the smallest; refuse what no classifier takes."""
        for value in C:
            if not (math.isfinite(value) and value > 0):
                raise InvalidParameter(f"C must be positive and finite; {value} came")
        for k in neighbours:
            check_count("neighbours", k, 1)
        if not C or not neighbours:
            raise InvalidParameter(
                f"C and neighbours need at least one value each; C={C}, neighbours={neighbours}"
            )
        check_count("max_iter", max_iter, 1)
        check_count("logistic_max_iter", logistic_max_iter, 1)
        return cls(
            C=tuple(sorted({float(value) for value in C})),
            neighbours=tuple(sorted({int(k) for k in neighbours})),
            scale=bool(scale),
            max_iter=int(max_iter),
            logistic_max_iter=int(logistic_max_iter),
        )


def check_count(name: str, value: Any, least: int) -> None:
    """Refuse what is not a whole number of at least `least`."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
        raise InvalidParameter(f"{name} must be a whole number of at least {least}; {value!r} came")


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


def fitting(names: tuple[str, ...] | None, gram: bool, setting: str) -> tuple[str, ...]:
    """The classifiers for this kind of input; None means one SVM.

    Raises:
        InvalidParameter: a classifier that needs vectors where a Gram matrix came, or the reverse.
    """
    allowed, kind = (GRAM_CLASSIFIERS, "a Gram matrix") if gram else (VECTOR_CLASSIFIERS, "vectors")
    if names is None:
        return allowed[:1]
    for name in names:
        if name not in allowed:
            raise InvalidParameter(
                f"classifier {name!r} does not go with setting {setting!r}, which is {kind}: choose from "
                f"{allowed}. Evaluate vectors and Gram matrices in two calls and merge them to compare both"
            )
    return names


Representation = NDArray[np.float64] | Gram


@dataclass(frozen=True)
class Setting:
    """One way to represent all graphs: `get(r)` is its (G, D) array or Gram matrix in repeat r, checked."""

    name: str
    get: Callable[[int], Representation]


def read_settings(representations: Any, n_graphs: int, repeats: int, random_state: int) -> list[Setting]:
    """Read one representation, or a mapping of names to them.

    Everything but callables is checked here, before the first fold is fitted.

    Raises:
        InvalidParameter: no settings, a wrong number of repeats or graphs, NaN, infinity, or no array at all.
    """
    if not isinstance(representations, Mapping):
        representations = {DEFAULT_SETTING: representations}
    if not representations:
        raise InvalidParameter("representations is an empty mapping; pass at least one setting")
    return [
        Setting(str(name), _reader(source, str(name), n_graphs, repeats, random_state))
        for name, source in representations.items()
    ]


def _reader(
    source: Any, name: str, n_graphs: int, repeats: int, random_state: int
) -> Callable[[int], Representation]:
    def where(r: int) -> str:
        return f"setting {name!r}, repeat {r}"

    if callable(source) and not hasattr(source, "__array__"):
        make: Callable[[int], Any] = source
        return lambda r: check_representation(make(random_state + r), n_graphs, where(r))
    if _is_per_repeat(source):
        if len(source) != repeats:
            raise InvalidParameter(
                f"setting {name!r}: {len(source)} representations came for repeats={repeats}; pass one per "
                "repeat, or a single (G, D) array that serves all"
            )
        each = [check_representation(source[r], n_graphs, where(r)) for r in range(repeats)]
        return lambda r: each[r]
    single = check_representation(source, n_graphs, f"setting {name!r}")
    return lambda r: single


def _is_per_repeat(source: Any) -> bool:
    """A list of matrices, or a stacked (repeats, G, D) array; a list of rows is one matrix."""
    if isinstance(source, np.ndarray):
        return source.ndim == 3
    if not isinstance(source, Sequence) or isinstance(source, str) or not len(source):
        return False
    return isinstance(source[0], Gram) or hasattr(source[0], "toarray") or np.ndim(source[0]) >= 2


def check_representation(values: Any, n_graphs: int, where: str) -> Representation:
    """One representation as float64, or an error that names the setting, the repeat and the graph."""
    if isinstance(values, Gram):
        if len(values) != n_graphs:
            raise InvalidParameter(
                f"{where}: the Gram matrix is of {len(values)} graphs, y of {n_graphs}; "
                "both must be of the same graphs"
            )
        return values
    if hasattr(values, "toarray"):
        raise InvalidParameter(
            f"{where}: a sparse matrix came; pass x.toarray(), or Gram((x @ x.T).toarray()) for a kernel"
        )
    try:
        vectors = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        kind = type(values).__name__
        raise InvalidParameter(
            f"{where}: expected a (G, D) array of numbers or a Gram; {kind} came"
        ) from error
    if vectors.ndim != 2 or vectors.shape[1] == 0:
        raise InvalidParameter(
            f"{where}: expected a (G, D) array, a vector per graph; shape {vectors.shape} came"
        )
    if len(vectors) != n_graphs:
        raise InvalidParameter(
            f"{where}: {len(vectors)} vectors came for {n_graphs} labels; pass one per graph"
        )
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if bad.size:
        raise InvalidParameter(
            f"{where}: {bad.size} of {n_graphs} vectors hold NaN or infinity, the first is graph {bad[0]}; "
            "leave these graphs out, or look for a diverged training"
        )
    return vectors


def _checked(values: ArrayLike) -> NDArray[np.float64]:
    try:
        matrix: NDArray[Any] = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        kind = type(values).__name__
        raise InvalidParameter(
            f"a Gram matrix must be a dense array of numbers; {kind} came ({error})"
        ) from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InvalidParameter(
            f"a Gram matrix must be square, graphs by graphs; shape {matrix.shape} came. "
            "Pass vectors without Gram(...), or multiply them: Gram(x @ x.T)"
        )
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if bad.size:
        raise InvalidParameter(
            f"the Gram matrix holds NaN or infinity in {bad.size} of {len(matrix)} rows, the first is row "
            f"{bad[0]}; recompute the kernel for these graphs or leave them out"
        )
    if matrix.size and np.diagonal(matrix).min() < 0:
        row = int(np.diagonal(matrix).argmin())
        raise InvalidParameter(
            f"k(x, x) is {matrix[row, row]:.6g} for graph {row}, but a kernel of a graph with itself is "
            "never negative; pass similarities, not distances"
        )
    return _symmetric(matrix)


def _symmetric(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Refuse what is not symmetric; even out rounding, so that row and column say the same."""
    gap = np.abs(matrix - matrix.T)
    if not gap.any():
        return matrix
    worst = np.unravel_index(int(gap.argmax()), gap.shape)
    if gap[worst] > 1e-6 * np.abs(matrix).max():
        i, j = int(worst[0]), int(worst[1])
        raise InvalidParameter(
            f"the Gram matrix is not symmetric: entry ({i}, {j}) is {matrix[i, j]:.6g} and entry ({j}, {i}) "
            f"is {matrix[j, i]:.6g}; pass (K + K.T) / 2 if that is meant"
        )
    return (matrix + matrix.T) / 2


@dataclass(frozen=True, eq=False)
class FoldScores:
    """Scores of one classifier in one outer fold, for the P values of its grid.

    Attributes:
        inner: mean accuracy over the inner folds.
        outer: accuracy on the outer test fold after fitting on the whole outer training part.
        stopped: how many of these fits reached the iteration bound.
    """

    inner: Floats  # (P,)
    outer: Floats  # (P,)
    stopped: NDArray[np.int64]  # (P,)


def score_fold(
    representation: Representation,
    codes: Rows,
    split: tuple[Rows, Rows],
    classifiers: Sequence[str],
    options: Options,
    inner_folds: int,
    seed: int,
) -> list[FoldScores]:
    """Score every classifier in one outer fold.

    Test labels are read for `outer` only: `inner` and all that is fitted depend on the training labels alone.

    Args:
        representation: vectors (G, D) or a Gram matrix.
        codes: (G,) class codes.
        split: outer training and test rows.
        classifiers: their names.
        options: grids and bounds.
        inner_folds: folds of the training part.
        seed: seed of the inner folds.
    """
    train, test = split
    ordered = np.concatenate([codes[train], codes[test]])  # (G,)
    whole, held_out = slice(0, len(train)), slice(len(train), len(codes))
    inner_splits = list(stratified(codes[train], inner_folds, seed))
    results = []
    # Inputs were checked once; scikit-learn's own checks cost a sixth of each fit on 150 graphs.
    with config_context(assume_finite=True, skip_parameter_validation=True):
        space = FoldSpace(representation, train, test, options.scale)
        for name in classifiers:
            score = make_classifier(name, space, ordered, options)
            inner, stopped = zip(*(score(fit, judged) for fit, judged in inner_splits), strict=True)
            outer, stopped_outer = score(whole, held_out)
            results.append(FoldScores(np.mean(inner, axis=0), outer, np.sum(stopped, axis=0) + stopped_outer))
    return results


def make_classifier(name: str, space: FoldSpace, codes: Rows, options: Options) -> Classifier:
    """Prepare what all inner folds share (kernel or distances) and return (fit rows, judged rows) -> scores.

    Args:
        name: one of the names in `infograph.evaluate.cross_validation`.
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


class FoldSpace:
    """Vectors and kernels of one outer fold; rows are its T training graphs, then its test graphs.

    Nothing here depends on labels, and nothing fitted here saw a test graph. The matrices are made once and
    serve all inner folds and every C, as their rows and columns.

    Args:
        representation: (G, D) vectors or a Gram matrix.
        train: (T,) training rows.
        test: (G - T,) test rows.
        scale: give every column mean 0 and variance 1 on the training rows (vectors only).
    """

    def __init__(self, representation: Representation, train: Rows, test: Rows, scale: bool) -> None:
        self.n_train = len(train)
        order = np.concatenate([train, test])
        self._gram: Floats | None = None
        self._vectors: Floats | None = None
        if isinstance(representation, Gram):
            self._gram = representation.matrix[np.ix_(order, train)]  # (G, T)
            self._squares = np.diagonal(representation.matrix)[order]  # (G,)
        else:
            vectors = representation[order]  # (G, D)
            if scale:
                # StandardScaler leaves constant columns at 0 instead of dividing by a zero deviation.
                vectors = StandardScaler().fit(vectors[: self.n_train]).transform(vectors)
            self._vectors = vectors
            self._squares = np.einsum("gd,gd->g", vectors, vectors)

    @property
    def vectors(self) -> Floats:
        """The scaled vectors, (G, D)."""
        if self._vectors is None:
            raise TypeError("a Gram matrix has no vectors")
        return self._vectors

    @cached_property
    def products(self) -> Floats:
        """The linear kernel, or the given Gram matrix, against the training graphs: (G, T)."""
        if self._gram is not None:
            return self._gram
        return np.ascontiguousarray(self.vectors @ self.vectors[: self.n_train].T)

    def squared_distances(self) -> Floats:
        """Squared distances to the training graphs, (G, T); a new array, as each user needs it once."""
        distances = self.products * -2.0
        distances += self._squares[:, None]
        distances += self._squares[None, : self.n_train]
        return np.maximum(distances, 0.0, out=distances)

    def rbf(self) -> Floats:
        """exp(-gamma |x - x'|^2) against the training graphs, (G, T).

        gamma is scikit-learn's "scale", 1 / (D * variance of all entries), of the training rows.
        """
        train = self.vectors[: self.n_train]
        variance = float(train.var())
        gamma = 1.0 / (train.shape[1] * variance) if variance > 0 else 1.0
        kernel = self.squared_distances()
        kernel *= -gamma
        return np.exp(kernel, out=kernel)

    def ranks(self) -> Floats:
        """Squared distances in whole steps of 1e-9 of the mean square, (G, T).

        Data sets hold many equal graphs. Rounding errors of the matrix product must not decide which of two
        equal ones is the nearer.
        """
        step = 1e-9 * float(self._squares[: self.n_train].mean()) or 1.0
        distances = self.squared_distances()
        distances /= step
        return np.rint(distances, out=distances)
