"""The evaluation protocol: repeated, nested, stratified cross-validation of given vectors or kernels."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from infograph.data.labels import is_continuous, missing
from infograph.data.targets import as_numbers, encode_labels, label_columns
from infograph.errors import InvalidParameter, TargetWarning
from infograph.evaluate.evaluation import Candidate, Evaluation, Floats, Plan, Rows
from infograph.evaluate.judges import (
    GRAM_CLASSIFIERS,
    SCORINGS,
    TREES,
    VECTOR_CLASSIFIERS,
    VECTOR_REGRESSORS,
    Part,
    Scoring,
    Space,
    score_grid,
)

Progress = Callable[[int, int], None]
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
    scoring: str | None = None,
    groups: ArrayLike | None = None,
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
    """How well representations predict classes or measured values, by nested cross-validation.

    Repeat r splits with the seed `random_state + r`. Scaler and kernel width are fitted on each outer
    training fold, whose one kernel matrix serves its inner folds and every C. All scores are kept, so that
    `Evaluation.leak_free()` and `.paper()` are read off the same run. Representations learnt from all graphs
    without labels make this transductive, as in the paper. The result does not depend on `n_jobs`.

    A single setting with one classifier and one value of its grid has nothing to choose: its inner folds are
    not computed, and its inner scores are NaN.

    Differs from the paper: it chooses C on the training folds, as here, but the setting by the "best average"
    accuracy; `leak_free` chooses both on the training folds.

    Args:
        representations: a (G, D) array or a `Gram` for all repeats; a sequence of them, one per repeat; a
            function of the seed `random_state + r` that makes them; or a mapping of names to any of these. A
            symmetric (G, G) array is taken as a `Gram`.
        y: (G,) classes as integers or strings, or measured values; graphs without one (NaN, None) are left
            out, with a warning. (G, T) is T columns of two classes each, or of numbers, with gaps; scores are
            means over the columns.
        classifiers: "svm-rbf", "svm-linear", "logistic", "knn", "ridge", "ridge-rbf" or "forest" for vectors,
            all but "logistic" for measured values, too; "svm", "ridge", "knn" for Gram matrices. None means
            "svm-rbf" and "svm". SVMs are LIBSVM's; ridge is least squares, on -1 and 1 for classes.
        scoring: "accuracy", "roc_auc" or "average_precision" (of the class 1, against 0), of classes;
            "rmse", "mae" or "r2" of numbers.
            None means accuracy, ROC-AUC for several columns of classes, and RMSE for numbers.
        groups: (G,) what stays in one fold, such as `scaffold_groups(molecules)`; folds are stratified by
            class otherwise, or random for numbers and several columns.
        repeats: how often to repeat the cross-validation (paper: 5).
        folds: outer folds (paper: 10).
        inner_folds: folds of each outer training part.
        C: values tried for the SVMs, logistic and ridge regression (paper: 1e-3 to 1e3); of equals the
            smallest.
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
    targets, known = _targets(y, scoring, groups)
    if not known.all():
        warnings.warn(
            f"{int((~known).sum())} of {len(known)} graphs have no label and are left out",
            TargetWarning,
            stacklevel=2,
        )
    plan = _plan(targets, folds, inner_folds)
    wanted = check_names(classifiers)
    costs = tuple(sorted({float(value) for value in C}))
    grids: Grids = {
        **dict.fromkeys(("svm-rbf", "svm-linear", "svm"), (costs, int(max_iter))),
        **dict.fromkeys(("ridge", "ridge-rbf"), (costs, 0)),
        "logistic": (costs, int(logistic_max_iter)),
        "knn": (tuple(sorted({int(k) for k in neighbours})), 0),
        "forest": ((float(TREES),), 0),
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
            fitting = _fitting(wanted, representation, setting, targets.scoring.needs == "numbers")
            chosen = {name: grids[name] for name in fitting}
            alone = len(sources) == 1 and sum(len(grid) for grid, _ in chosen.values()) == 1
            inside = 0 if alone else inner_folds  # where nothing is chosen, inner folds are for nothing
            for fold in _score_repeat(
                representation, targets, folds, inside, seed, chosen, bool(scale), n_jobs
            ):
                scores.append(fold)
                done += 1
                if progress is not None:
                    progress(done, total)
        for i, (name, (grid, bound)) in enumerate(chosen.items()):
            shape = (repeats, folds, *scores[0][i][0].shape)  # (R, F, P), or (R, F, T, P)
            inner, outer, stopped = (
                np.reshape([fold[i][part] for fold in scores], shape) for part in range(3)
            )
            scaled, values = bool(scale) and kinds == {False}, tuple(map(float, grid))
            found = (inner, outer, stopped, targets.name)
            candidates.append(Candidate(setting, name, values, scaled, bound, *found))
    return Evaluation(plan, seeds, tuple(candidates))


def cross_predict(
    predict: Callable[[int, Rows, Rows, Floats], NDArray[Any]],
    y: Any,
    *,
    scoring: str | None = None,
    groups: ArrayLike | None = None,
    repeats: int = 5,
    folds: int = 10,
    inner_folds: int = 5,
    random_state: int = 0,
) -> Evaluation:
    """How well a method predicts that learns from labels by itself, on the folds of `cross_validate`.

    Args:
        predict: from a seed, the rows to learn from, those to predict, and values (G, T) with gaps, codes of
            classes or numbers, what is scored of each row: numbers or ranks (rows, T), or codes (rows,).
        y, scoring, groups, repeats, folds, inner_folds, random_state: as there; all graphs have a label.
    """
    targets, known = _targets(y, scoring, groups)
    if not known.all():
        raise InvalidParameter(f"{int((~known).sum())} graphs have no label: leave them out")
    plan, everyone = _plan(targets, folds, inner_folds), np.arange(len(known))
    seeds, n_columns = tuple(int(random_state) + r for r in range(repeats)), targets.values.shape[1]
    outer = np.full((repeats, folds, n_columns, 1), np.nan)
    for r, seed in enumerate(seeds):
        for fold, (train, test) in enumerate(_splits(targets, everyone, folds, seed)):
            hidden = targets.values.copy()
            hidden[test] = np.nan
            answers = np.asarray(predict(seed, train, test, hidden)).reshape(len(test), n_columns)
            for column, given in enumerate(targets.values[test].T):
                there = ~np.isnan(given)
                if there.any():
                    outer[r, fold, column] = targets.scoring.score(given[there], answers[there, column])
    outer = outer if n_columns > 1 else outer[:, :, 0]
    none = np.full(outer.shape, np.nan), outer, np.zeros(outer.shape, np.int64)
    return Evaluation(plan, seeds, (Candidate("default", "own", (0.0,), False, 0, *none, targets.name),))


def check_protocol(
    y: Any, *, scoring: str | None, groups: ArrayLike | None, folds: int, inner_folds: int, **_: Any
) -> str:
    """Refuse what `cross_validate` would refuse of these, before anything is computed; gives the scoring."""
    targets, _known = _targets(y, scoring, groups)
    _plan(targets, folds, inner_folds)
    return targets.name


# ---- what came in

Grids = dict[str, tuple[tuple[float, ...], int]]  # classifier -> values, smallest first; bound of a fit


@dataclass(frozen=True, eq=False)
class Targets:
    """What is predicted for G graphs, those without any label left out."""

    values: Floats  # (G, T) numbers, or codes of classes; NaN where there is none
    names: tuple[str, ...]  # of the classes; none for numbers
    name: str  # of the scoring
    groups: Rows | None  # (G,)

    @property
    def scoring(self) -> Scoring:
        return SCORINGS[self.name]


def _targets(y: Any, scoring: str | None, groups: ArrayLike | None) -> tuple[Targets, NDArray[np.bool_]]:
    """What is predicted, and which graphs have a label. (G,)."""
    if scoring is not None and (not isinstance(scoring, str) or scoring not in SCORINGS):
        raise InvalidParameter(f"there is no scoring {scoring!r}; there are {', '.join(SCORINGS)}")
    columns = label_columns(y)
    numbers = scoring is not None and SCORINGS[scoring].needs == "numbers"
    measured = any(is_continuous(column) for column in columns)
    if measured and scoring is not None and not numbers:
        raise InvalidParameter(
            f"scoring={scoring!r} needs classes, and these are measured values: use 'rmse'"
        )
    names: tuple[str, ...] = ()
    if numbers or measured:
        values = np.column_stack([as_numbers(column) for column in columns])
        scoring = scoring or "rmse"
    else:
        encoded = [encode_labels(column) for column in columns]
        values = np.column_stack([np.where(codes < 0, np.nan, codes) for codes, _ in encoded])
        names = encoded[0][1]
        scoring = scoring or ("accuracy" if len(columns) == 1 else "roc_auc")
        plain = (("0", "1"), ("False", "True"))
        odd = next((found for _, found in encoded if found not in plain), None)
        if scoring == "average_precision" and odd:
            raise InvalidParameter(
                f"scoring='average_precision' needs to know which class counts: label it 1 and the other 0, "
                f"instead of {', '.join(odd)}"
            )
        several = next((found for _, found in encoded if len(found) > 2), None)
        if several and SCORINGS[scoring].needs == "ranks":
            raise InvalidParameter(f"scoring={scoring!r} needs two classes; there are {len(several)}")
    known = np.asarray(~np.isnan(values).all(axis=1))
    together = None
    if groups is not None:
        given = np.asarray(groups).reshape(-1)
        if lost := int(missing(given).sum()):
            raise InvalidParameter(f"{lost} graphs are in no group; give each one of its own")
        together = np.unique(given, return_inverse=True)[1].reshape(-1)
        if len(together) != len(values):
            raise InvalidParameter(
                f"{len(together)} groups came for {len(values)} graphs; pass one per graph"
            )
        together = together[known]
    return Targets(values[known], names, scoring, together), known


def _plan(targets: Targets, folds: int, inner_folds: int) -> Plan:
    """The folds; stratified ones refuse a class that is too small for them."""
    stratified = targets.groups is None and len(targets.names) > 1 and targets.values.shape[1] == 1
    if stratified:
        return Plan.of(targets.values[:, 0].astype(np.int64), targets.names, folds, inner_folds)
    if len(targets.values) < max(folds * 2, math.ceil(inner_folds * folds / (folds - 1))):
        raise InvalidParameter(
            f"{len(targets.values)} graphs are too few for folds={folds}, inner_folds={inner_folds}"
        )
    return Plan.without_classes(targets.values, targets.groups, folds, inner_folds)


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


def _fitting(
    names: tuple[str, ...] | None, given: Representation, setting: str, numbers: bool
) -> tuple[str, ...]:
    """The judges for this kind of input and target; None means one SVM."""
    gram = isinstance(given, Gram)
    allowed: tuple[str, ...]
    allowed, kind = (GRAM_CLASSIFIERS, "a Gram matrix") if gram else (VECTOR_CLASSIFIERS, "vectors")
    if numbers and not gram:
        allowed, kind = VECTOR_REGRESSORS, "vectors for measured values"
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


# ---- folds

Split = tuple[Rows, Rows]


def group_folds(groups: Rows, folds: int, seed: int) -> Rows:
    """The fold of every graph, such that no group is in two and all are of nearly one size. (G,).

    Groups of more than half a fold come first, the largest of them leading, the others in an order that the
    seed draws; each goes to the fold that has fewest graphs.
    """
    distinct, place = np.unique(groups, return_inverse=True)
    sizes = np.bincount(place)
    large = np.where(sizes > len(groups) / folds / 2, sizes, 0)
    order = np.lexsort((np.random.default_rng(seed).random(len(distinct)), -large))
    filled, fold_of = np.zeros(folds, np.int64), np.zeros(len(distinct), np.int64)
    for group in order:
        fold_of[group] = fold = int(filled.argmin())
        filled[fold] += sizes[group]
    if not filled.all():
        raise InvalidParameter(
            f"{len(distinct)} groups cannot be cut into folds={folds}: too few, or one is too large"
        )
    return np.asarray(fold_of[place])


def _splits(targets: Targets, rows: Rows, folds: int, seed: int) -> list[Split]:
    """Positions among `rows` to train on and to test on: by group, by class, or at random."""
    if targets.groups is not None:
        fold = group_folds(targets.groups[rows], folds, seed)
        return [(np.flatnonzero(fold != number), np.flatnonzero(fold == number)) for number in range(folds)]
    if targets.names and targets.values.shape[1] == 1:
        cutter: Any = StratifiedKFold(folds, shuffle=True, random_state=seed)
        return list(cutter.split(np.zeros(len(rows)), targets.values[rows, 0]))
    return list(KFold(folds, shuffle=True, random_state=seed).split(np.zeros(len(rows))))


# ---- one repeat, one outer fold

Scores = tuple[Floats, Floats, Rows]  # inner and outer score, fits that stopped early: (P,), or (T, P) each


def _score_repeat(
    given: Representation,
    targets: Targets,
    folds: int,
    inner_folds: int,
    seed: int,
    grids: Grids,
    scale: bool,
    n_jobs: int,
) -> Iterator[list[Scores]]:
    """The outer folds of one repeat, in order.

    LIBSVM releases the interpreter lock, so threads share the matrices without copies: 1.9x on 2 cores with
    1000 graphs, where processes gain 1.6x after 1.5 s of start. One BLAS thread, so that sums round alike for
    every n_jobs; early stops are counted, not warned about. Both are properties of the process, and set
    around the threads, where they cannot race.
    """
    score, everyone = delayed(_score_fold), np.arange(len(targets.values))
    jobs = (
        score(given, targets, split, grids, scale, inner_folds, seed)
        for split in _splits(targets, everyone, folds, seed)
    )
    workers = 1 if len(everyone) < FEW else n_jobs
    with threadpool_limits(limits=1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield from Parallel(n_jobs=workers, backend="threading", return_as="generator")(jobs)


def _score_fold(
    representation: Representation,
    targets: Targets,
    split: Split,
    grids: Grids,
    scale: bool,
    inner_folds: int,
    seed: int,
) -> list[Scores]:
    """Score every judge in one outer fold; test labels are read for the outer score alone.

    With `inner_folds=0` inner scores are NaN.
    """
    train, test = split
    values = targets.values[np.concatenate(split)]  # (G, T)
    splits: list[tuple[Part, Part]] = [*_splits(targets, train, inner_folds, seed)] if inner_folds else []
    splits.append((slice(0, len(train)), slice(len(train), len(values))))
    gram = isinstance(representation, Gram)
    given = representation.matrix if isinstance(representation, Gram) else representation
    results = []
    # Inputs were checked once; scikit-learn's own checks cost a sixth of each fit on 150 graphs.
    with config_context(assume_finite=True, skip_parameter_validation=True):
        space = Space(given, train, test, scale=scale, gram=gram)
        for name, (grid, max_iter) in grids.items():
            tasks: list[Scores] = []
            for column in values.T:
                known = ~np.isnan(column)
                wanted = column.astype(np.int64) if targets.names and known.all() else column
                parts = (
                    splits
                    if known.all()
                    else [tuple(_known(part, known) for part in each) for each in splits]
                )
                found = [
                    score_grid(name, space, wanted, grid, max_iter, fit, judged, targets.scoring, seed)
                    for fit, judged in parts
                ]
                scores, stopped = (np.array(each) for each in zip(*found, strict=True))  # (inner + 1, P)
                tasks.append((_mean(scores[:-1]), scores[-1], stopped.sum(axis=0)))
            inner, outer, early = (np.stack(each) for each in zip(*tasks, strict=True))
            results.append(tasks[0] if len(tasks) == 1 else (inner, outer, early))
    return results


def _known(part: Part, known: NDArray[np.bool_]) -> Rows:
    rows = np.arange(len(known))[part]
    return np.asarray(rows[known[rows]])


def _mean(scores: Floats) -> Floats:
    """Over inner folds; those that could not be scored do not count. (inner, P) -> (P,)."""
    if len(scores) and not np.isnan(scores).any():
        return np.asarray(scores.mean(axis=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of nothing
        return np.asarray(np.nanmean(scores, axis=0))
