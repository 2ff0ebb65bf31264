"""The evaluation protocol: repeated, nested, stratified cross-validation of given vectors or kernels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from infograph.errors import InvalidParameter, TargetWarning
from infograph.evaluate.evaluation import Candidate, Evaluation
from infograph.evaluate.inputs import (
    Gram,
    Representation,
    Source,
    Targets,
    check_counts,
    check_grids,
    check_names,
    fitting_judges,
    per_repeat,
    plan_folds,
    read_targets,
)
from infograph.evaluate.judges import TREES, Floats, Judge, Part, Rows, Space, score_grid

Progress = Callable[[int, int], None]
Split = tuple[Rows, Rows]
Scores = tuple[Floats, Floats, Rows]  # inner and outer score, fits that stopped early: (P,), or (T, P) each
FEW = 300  # graphs; below, Python's own share is most of a fit, and threads gain nothing


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
    counts = {"repeats": repeats, "folds": folds, "inner_folds": inner_folds, "random_state": random_state}
    check_counts(**counts, max_iter=max_iter, logistic_max_iter=logistic_max_iter)
    check_grids(C, neighbours)
    if n_jobs == 0:
        raise InvalidParameter("n_jobs=0 runs nothing; use -1 for all cores, or 1")
    given = representations if isinstance(representations, Mapping) else {"default": representations}
    if not given:
        raise InvalidParameter("representations is an empty mapping; pass at least one setting")
    targets, known = read_targets(y, scoring, groups)
    if not known.all():
        warnings.warn(
            f"{int((~known).sum())} of {len(known)} graphs have no label and are left out",
            TargetWarning,
            stacklevel=2,
        )
    plan = plan_folds(targets, folds, inner_folds)
    wanted = check_names(classifiers)
    known_judges = _judges(C, neighbours, int(max_iter), int(logistic_max_iter))
    sources = {
        str(name): per_repeat(source, f"setting {str(name)!r}", known, repeats, random_state)
        for name, source in given.items()
    }
    seeds, everyone = tuple(int(random_state) + r for r in range(repeats)), np.arange(len(targets.values))
    workers = 1 if len(everyone) < FEW else n_jobs
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
            fitting = fitting_judges(wanted, representation, setting, targets.scoring.needs == "numbers")
            judges = [known_judges[name] for name in fitting]
            alone = len(sources) == 1 and sum(len(each.grid) for each in judges) == 1
            inside = 0 if alone else inner_folds  # where nothing is chosen, inner folds are for nothing
            score = partial(_score_fold, representation, targets, judges, bool(scale), inside, seed)
            for fold in _in_threads(score, _splits(targets, everyone, folds, seed), workers):
                scores.append(fold)
                done += 1
                if progress is not None:
                    progress(done, total)
        for judge, *parts in zip(judges, *scores, strict=True):  # parts are of folds
            shape = (repeats, folds, *parts[0][0].shape)  # (R, F, P), or (R, F, T, P)
            inner, outer, stopped = (np.reshape(each, shape) for each in zip(*parts, strict=True))
            scaled, values = bool(scale) and kinds == {False}, tuple(map(float, judge.grid))
            found = (inner, outer, stopped, targets.name)
            candidates.append(Candidate(setting, judge.name, values, scaled, judge.max_iter, *found))
    return Evaluation(plan, seeds, tuple(candidates))


def _judges(
    C: Sequence[float], neighbours: Sequence[int], max_iter: int, logistic_max_iter: int
) -> dict[str, Judge]:
    costs = tuple(sorted({float(value) for value in C}))
    return {
        **{name: Judge(name, costs, max_iter) for name in ("svm-rbf", "svm-linear", "svm")},
        **{name: Judge(name, costs) for name in ("ridge", "ridge-rbf")},
        "logistic": Judge("logistic", costs, logistic_max_iter),
        "knn": Judge("knn", tuple(sorted({int(k) for k in neighbours}))),
        "forest": Judge("forest", (float(TREES),)),
    }


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
    targets, known = read_targets(y, scoring, groups)
    if not known.all():
        raise InvalidParameter(f"{int((~known).sum())} graphs have no label: leave them out")
    plan, everyone = plan_folds(targets, folds, inner_folds), np.arange(len(known))
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


def _in_threads(
    score: Callable[[Split], list[Scores]], splits: Sequence[Split], n_jobs: int
) -> Iterator[list[Scores]]:
    """The scores of some folds, in order.

    Fits release the interpreter lock, so threads share the matrices without copies: 1.9x on 2 cores with
    1000 graphs, where processes gain 1.6x after 1.5 s of start. One BLAS thread, so that sums round alike for
    every n_jobs; early stops are counted, not warned about. Both are properties of the process, and set
    around the threads, where they cannot race.
    """
    with threadpool_limits(limits=1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        work = Parallel(n_jobs=n_jobs, backend="threading", return_as="generator")
        yield from work(delayed(score)(split) for split in splits)


def _score_fold(
    representation: Representation,
    targets: Targets,
    judges: Sequence[Judge],
    scale: bool,
    inner_folds: int,
    seed: int,
    split: Split,
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
        for judge in judges:
            tasks: list[Scores] = []
            for column in values.T:
                known = ~np.isnan(column)
                wanted = column.astype(np.int64) if targets.names and known.all() else column
                parts = splits
                if not known.all():
                    parts = [(_known(fit, known), _known(judged, known)) for fit, judged in splits]
                scored = partial(score_grid, judge, space, wanted, scoring=targets.scoring, seed=seed)
                found = [scored(fit, judged) for fit, judged in parts]
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
