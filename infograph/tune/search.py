"""A search over settings: trials here, in processes or on Ray, and the best of them judged once."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from torch import nn

from infograph.contract import GraphEstimator
from infograph.data.fingerprint import fingerprint
from infograph.data.graphset import GraphSet
from infograph.data.labels import missing
from infograph.data.storage import GRAPHSET, json_ready, remove_folder, save_graphs
from infograph.errors import InvalidParameter, TrainingDiverged
from infograph.estimators.infograph import InfoGraph
from infograph.estimators.semi import SemiSupervised
from infograph.learn.parts import Parts
from infograph.learn.references import errors_of
from infograph.reproduce.cells import Cell, Result
from infograph.tune.halving import promoted, rounds_of
from infograph.tune.space import Setting, Space, draw_settings
from infograph.tune.trial import (
    FOLDS,
    TRAIN,
    VALIDATION,
    Trial,
    checkpoint_of,
    kept_at,
    make_estimator,
    run_trial,
)
from infograph.workers.side_by_side import Lost, side_by_side

COSTS = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)  # the paper's C


@dataclass(frozen=True)
class Tried:
    """What became of one setting: the error after its longest training, and how long that was.

    Attributes:
        setting: its values.
        epochs: how many it was trained for.
        error: by which it was judged; NaN where training diverged or its process died.
        why: the reason for a NaN.
    """

    setting: Setting
    epochs: int
    error: float
    why: str = ""


@dataclass(frozen=True, eq=False)
class Tuned:
    """What a search found.

    Attributes:
        model: trained with the best setting on the graphs of the search; fitted.
        best: that setting.
        tried: all settings, the best first.
        test: its error on graphs that the search never saw, per target; NaN where none were held out.
        baseline: the same of the estimator as it was given.
    """

    model: GraphEstimator
    best: Setting
    tried: tuple[Tried, ...]
    test: tuple[float, ...]
    baseline: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "best": self.best,
            "test": [_plain(value) for value in self.test],
            "baseline": [_plain(value) for value in self.baseline],
            "tried": [{**vars(each), "error": _plain(each.error)} for each in self.tried],
        }


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else value


Announce = Callable[[int, int, int, str], None]  # round from 1, done in it, of how many, a line on the last


def tune(
    estimator: InfoGraph | SemiSupervised,
    space: Space,
    parts: Parts,
    results: str | Path,
    *,
    trials: int = 27,
    seed: int = 0,
    workers: int = 1,
    on: str = "local",
    announce: Announce = lambda *_: None,
) -> Tuned:
    """Search the settings of an estimator without looking at the test graphs.

        parts = make_parts(graphs, ["y"], validation=0)
        found = tune(InfoGraph(epochs=90), {"lr": Range(1e-4, 1e-2), "layers": [2, 4, 8]}, parts, "runs/tune")

    Every setting is trained for a few epochs, the better third three times as long, and so on up to the
    estimator's `epochs` (`infograph.tune.halving`). An estimator of labels is judged by its error on
    `parts.validation`, InfoGraph by how well classes are predicted from its vectors, by nested
    cross-validation over the labelled graphs of `parts.train`. The best one, and the estimator as it was
    given, are judged on `parts.test` at the end, once.

    Args:
        estimator: its other settings, and the most epochs; it is left as it is.
        space: setting -> values to choose from, or a `Range`.
        parts: what to learn from, to choose by, and to test on.
        results: a folder with a result per trial; a search that was stopped goes on from there.
        trials: how many settings; all combinations where there are no more.
        seed: of the settings that are drawn.
        workers: trials at a time, with one thread each.
        on: "local", or a Ray cluster, on all machines of which `results` is under the same path.
        announce: told after every trial.

    Raises:
        InvalidParameter: a setting that the estimator does not have, or graphs that nothing can be judged by.
        TrainingDiverged: every setting diverged.
    """
    _check(estimator, space, parts)
    results = Path(results).absolute()
    data = _save(parts, results)
    settings = draw_settings(space, trials, seed)
    make = _maker(estimator, parts, data, results)
    errors: dict[int, Tried] = {}
    chosen = list(range(len(settings)))
    plan = rounds_of(len(settings), estimator.epochs)
    for number, (count, epochs) in enumerate(plan, start=1):
        if number > 1:
            chosen = promoted({n: errors[n].error for n in chosen}, count)
        jobs = [make(n, settings[n], epochs) for n in chosen]
        for done, (trial, result) in enumerate(_run(jobs, workers, on), start=1):
            errors[trial.number] = _tried(settings[trial.number], epochs, result)
            announce(number, done, len(jobs), _line(errors[trial.number]))
    (winner,) = promoted({n: errors[n].error for n in chosen}, 1)
    if math.isnan(errors[winner].error):
        raise TrainingDiverged(f"no setting of the search could be trained: {errors[winner].why}")
    best = make(winner, settings[winner], estimator.epochs)
    model = _fit(make_estimator(best.cell.settings), parts, checkpoint_of(best))
    plain = _fit(make_estimator(make(-1, {}, estimator.epochs).cell.settings), parts, None)
    _sweep(data, [make(n, settings[n], 0) for n in errors])
    order = sorted(
        errors, key=lambda n: (n != winner, -errors[n].epochs, math.isnan(errors[n].error), errors[n].error)
    )
    return Tuned(
        model,
        settings[winner],
        tuple(errors[n] for n in order),
        tuple(held_out_errors(model, parts)),
        tuple(held_out_errors(plain, parts)),
    )


def held_out_errors(model: GraphEstimator, parts: Parts) -> list[float]:
    """The errors of a fitted model on the test graphs: mean absolute ones, or the share of wrong classes."""
    if not len(parts.test):
        return [math.nan] * len(parts.targets)
    if isinstance(model, SemiSupervised):
        return errors_of(model, parts.test, parts.targets)
    assert isinstance(model, InfoGraph)
    classes = parts.train.values("graph", parts.targets[0])
    known = ~missing(classes)
    classifier = make_pipeline(StandardScaler(), GridSearchCV(SVC(), {"C": COSTS}, cv=FOLDS))
    classifier.fit(model.transform(parts.train[known]), classes[known].astype(str))
    predicted = classifier.predict(model.transform(parts.test))
    return [float(np.mean(predicted != parts.test.values("graph", parts.targets[0]).astype(str)))]


def _check(estimator: InfoGraph | SemiSupervised, space: Space, parts: Parts) -> None:
    known = estimator.get_params(deep=False)
    fixed = ("epochs", "random_state", "verbose", "device", "warm_start")
    for name in space:
        if name not in known or name in fixed:
            raise InvalidParameter(
                f"{type(estimator).__name__} has no setting {name!r} to search; there are: "
                f"{', '.join(each for each in known if each not in fixed)}"
            )
    if isinstance(estimator.encoder, nn.Module):
        raise InvalidParameter("a module of your own cannot be searched: take encoder='gin' or 'enn-s2s'")
    if isinstance(estimator, SemiSupervised):
        if not len(parts.validation):
            raise InvalidParameter("settings are chosen on validation graphs: hold some out")
    elif parts.task != "classification" or len(parts.targets) != 1:
        raise InvalidParameter(
            "vectors are judged by how well one column of classes is predicted from them; for numbers, "
            "search an InfoGraphRegressor"
        )


def _save(parts: Parts, results: Path) -> Path:
    """The graphs, for processes that may be far away."""
    data = results / ".work" / "data"
    save_graphs(parts.train, data / TRAIN)
    if len(parts.validation):
        save_graphs(parts.validation, data / VALIDATION)
    return data


def _sweep(data: Path, trials: Sequence[Trial]) -> None:
    """Remove what lay beside the results while the search went on, and nothing else."""
    remove_folder(data / TRAIN, GRAPHSET)
    remove_folder(data / VALIDATION, GRAPHSET)
    for trial in trials:
        shutil.rmtree(checkpoint_of(trial), ignore_errors=True)
    for folder in (data, data.parent / "tune", data.parent):
        with suppress(OSError):  # not empty, or not there
            folder.rmdir()


def _maker(
    estimator: InfoGraph | SemiSupervised, parts: Parts, data: Path, results: Path
) -> Callable[[int, Setting, int], Trial]:
    """(number, setting, epochs) -> the trial."""
    about = json.dumps([_checksums(graphs, parts.targets) for graphs in (parts.train, parts.validation)])
    common = {
        "kind": type(estimator).__name__,
        "targets": list(parts.targets),
        "seed": estimator.random_state,
        "data": hashlib.sha256(about.encode()).hexdigest()[:16],
    }
    own = ("epochs", "random_state", "verbose")
    given = {k: json_ready(v) for k, v in estimator.get_params(deep=False).items() if k not in own}

    def make(number: int, setting: Setting, epochs: int) -> Trial:
        settings = {**common, "parameters": {**given, **setting}, "epochs": epochs}
        shown = " ".join(f"{name}={value}" for name, value in setting.items())
        return Trial(number, Cell("tune", f"{shown} epochs={epochs}", settings), data, results)

    return make


def _checksums(graphs: GraphSet, targets: Sequence[str]) -> list[Any]:
    """Of graphs, and of what is to be learned, with its unit."""
    columns = [graphs.schema.column("graph", name) for name in targets]
    values = "\n".join(str(value) for name in targets for value in graphs.values("graph", name))
    labels = hashlib.sha256(values.encode()).hexdigest()[:16]
    return [fingerprint(graphs), labels, [column.unit if column else "" for column in columns]]


def _run(jobs: Sequence[Trial], workers: int, on: str) -> Iterator[tuple[Trial, Result | Lost]]:
    if workers == 1 and on == "local":
        return ((job, run_trial(job)) for job in jobs)
    return side_by_side(run_trial, jobs, workers=workers, on=on)


def _tried(setting: Setting, epochs: int, result: Result | Lost) -> Tried:
    if isinstance(result, Lost):
        return Tried(setting, epochs, math.nan, result.reason)
    error = result["scores"]["error"]
    return Tried(setting, epochs, math.nan if error is None else error, result["empty"])


def _line(tried: Tried) -> str:
    shown = ", ".join(f"{name} {value}" for name, value in tried.setting.items())
    return f"{shown}: {tried.why or f'error {tried.error:.4g}'} after {tried.epochs} epochs"


def _fit(estimator: GraphEstimator, parts: Parts, checkpoint: Path | None) -> GraphEstimator:
    """Fit, from the last checkpoint of its trial where it has one."""
    keeping = {} if checkpoint is None else kept_at(checkpoint, estimator.get_params()["epochs"])
    if isinstance(estimator, SemiSupervised):
        return estimator.fit(parts.train, parts.y, validation=(parts.validation, parts.y), **keeping)
    assert isinstance(estimator, InfoGraph)
    return estimator.fit(parts.train, **keeping)
