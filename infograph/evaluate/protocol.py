"""The evaluation protocol: repeated, nested, stratified cross-validation on given representations."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from infograph.errors import InvalidParameter
from infograph.evaluate.candidate import Candidate
from infograph.evaluate.evaluation import Evaluation
from infograph.evaluate.fold import FoldScores, score_fold
from infograph.evaluate.gram import Gram
from infograph.evaluate.inputs import Representation, Setting, read_settings
from infograph.evaluate.labels import encode_labels
from infograph.evaluate.options import Options, check_count, check_names, fitting
from infograph.evaluate.plan import Plan, Rows

Source = NDArray[Any] | Gram | Sequence[NDArray[Any]] | Sequence[Gram] | Callable[[int], NDArray[Any] | Gram]
Progress = Callable[[int, int], None]


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
