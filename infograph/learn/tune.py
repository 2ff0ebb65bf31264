"""A search over settings: a grid here, or successive halving in processes or on Ray; the best is judged once.

Successive halving (Jamieson and Talwalkar 2016): all settings train shortly, the best third three times as
long, and so on, each from the checkpoint of its last round. Rounds are synchronous: who goes on is decided
when all of a round are done, so the outcome does not depend on how many ran at a time, or where.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from infograph.cells import Cell, Result, run_cell
from infograph.data.graphset import GRAPHSET, GraphSet, fingerprint, open_graphs, save_graphs
from infograph.data.labels import missing
from infograph.errors import InvalidParameter, TrainingDiverged
from infograph.estimators.base import GraphEstimator
from infograph.estimators.infograph import InfoGraph
from infograph.estimators.labelled import SemiSupervised
from infograph.evaluate import cross_validate
from infograph.io import remove_folder
from infograph.jobs import Lost, run
from infograph.learn.parts import Parts
from infograph.learn.predictions import errors_of
from infograph.parameters import CUSTOM, changed, saved
from infograph.progress import ERROR, Epoch, Watcher
from infograph.train.checkpoint import kept_epochs

COSTS = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)  # the paper's C
FACTOR = 3
FOLDS, INNER_FOLDS = 5, 3  # by which vectors are judged
FIXED = ("epochs", "random_state", "verbose", "device", "warm_start")  # what is no setting to search
TRAIN, VALIDATION = "train", "validation"
Announce = Callable[[int, int, int, str], None]  # round from 1, done in it, of how many, a line on the last
AnnounceGrid = Callable[[int, int, Mapping[str, Any]], None]
Setting = dict[str, Any]
Model = TypeVar("Model", bound=SemiSupervised)
__all__ = ["Range", "Space", "Tuned", "tune"]


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`: drawn evenly on a logarithmic scale, and whole where both ends are."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (0 < self.low < self.high < math.inf):
            raise InvalidParameter(f"the range {self.low:g}..{self.high:g}: expected 0 < low < high")

    def draw(self, rng: np.random.Generator) -> float | int:
        """One of them; three digits are enough."""
        value = math.exp(rng.uniform(math.log(self.low), math.log(self.high)))
        if isinstance(self.low, int) and isinstance(self.high, int):
            return round(value)
        return float(f"{value:.3g}")


Space = Mapping[str, Sequence[Any] | Range]


@dataclass(frozen=True)
class Trial:
    """What became of one setting.

    Attributes:
        settings: its values.
        error: by which it was judged, after its longest training; NaN where training diverged or its process
            died. Of labels the least validation error of its epochs, in the unit of the target (the mean over
            the networks of an ensemble), of vectors the share of graphs that a classifier gets wrong.
        epochs: how many it was trained for.
        seconds: how long that took; of a grid.
        why: the reason for a NaN.
    """

    settings: Mapping[str, Any]
    error: float
    epochs: int
    seconds: float = math.nan
    why: str = ""


@dataclass(frozen=True, eq=False)
class Tuned:
    """What a search by halving found.

    Attributes:
        model: trained with the best setting on the graphs of the search; fitted.
        best: that setting.
        tried: all settings, the best first.
        test: its error on graphs that the search never saw, per target; NaN where none were held out.
        baseline: the same of the estimator as it was given.
    """

    model: GraphEstimator
    best: Setting
    tried: tuple[Trial, ...]
    test: tuple[float, ...]
    baseline: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""

        def plain(value: float) -> float | None:
            return None if math.isnan(value) else value

        tried = [
            {"setting": each.settings, "epochs": each.epochs, "error": plain(each.error), "why": each.why}
            for each in self.tried
        ]
        test, baseline = ([plain(value) for value in errors] for errors in (self.test, self.baseline))
        return {"best": self.best, "test": test, "baseline": baseline, "tried": tried}


@dataclass(frozen=True, eq=False)
class Search(Generic[Model]):
    """What a search over a grid found.

    Attributes:
        best: the fitted estimator of the best combination.
        trials: all combinations, in the order they were trained.
    """

    best: Model
    trials: tuple[Trial, ...]

    @property
    def chosen(self) -> Trial:
        """The combination with the least error; the first of equal ones."""
        return min(self.trials, key=lambda trial: (math.isnan(trial.error), trial.error))


def search_settings(
    estimator: Model,
    grid: Mapping[str, Sequence[Any]],
    graphs: Any,
    y: Any = None,
    *,
    validation: float | tuple[Any, Any] = 0.1,
    watchers: Sequence[Watcher] = (),
    announce: AnnounceGrid | None = None,
) -> Search[Model]:
    """Train an estimator with every combination of settings; keep the one with the least validation error.

        grid = {"lam": [1e-3, 1e-4, 1e-5], "weight_decay": [0, 1e-4]}
        model = search_settings(InfoGraphRegressor(), grid, graphs, y).best

    All combinations learn from and are judged by the same graphs. The error of the best one is too good an
    estimate, because it was chosen by it: keep test graphs that no search sees.

    Args:
        estimator: its other settings; it is left as it is.
        grid: setting -> the values to try. The paper's are lam 1e-3, 1e-4, 1e-5 and
            weight_decay 0, 1e-3, 1e-4.
        graphs, y: as in `fit`.
        validation: as in `fit`; there must be some.
        watchers: as in `fit`.
        announce: called before each combination with its number from 1, how many there are, and its settings.
    """
    _check_names(estimator, grid, fixed=())
    for name, values in grid.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise InvalidParameter(f"{name}={values!r}: expected a list of values to try")
    if validation is None:
        raise InvalidParameter("a search needs validation graphs: pass validation=(graphs, y), or a share")
    settings = draw_settings(grid, math.prod(map(len, grid.values())), 0)
    trials: list[Trial] = []
    best: Model | None = None
    for number, setting in enumerate(settings, start=1):
        if announce is not None:
            announce(number, len(settings), setting)
        model, began = changed(estimator, setting), time.perf_counter()
        try:
            history = model.fit(graphs, y, validation=validation, watchers=watchers).history_
        except TrainingDiverged as problem:
            trials.append(Trial(setting, math.nan, 0, time.perf_counter() - began, str(problem)))
            continue
        trial = Trial(setting, least_error(history), len(history), time.perf_counter() - began)
        least = min((each.error for each in trials if not math.isnan(each.error)), default=math.inf)
        if best is None or trial.error < least:
            best = model
        trials.append(trial)
    if best is None:
        raise TrainingDiverged(f"all {len(settings)} combinations of {', '.join(grid)} diverged: lower lr")
    return Search(best, tuple(trials))


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
    estimator's `epochs` (`infograph.learn.tune`). An estimator of labels is judged by its error on
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
    _check_names(estimator, space, fixed=FIXED)
    _check_judged(estimator, parts)
    results = Path(results).absolute()
    data = results / ".work" / "data"  # for processes that may be far away
    save_graphs(parts.train, data / TRAIN)
    if len(parts.validation):
        save_graphs(parts.validation, data / VALIDATION)
    settings = draw_settings(space, trials, seed)
    about = _about(estimator, parts)
    found: dict[int, Trial] = {}

    def training(number: int, epochs: int) -> _Training:
        setting = settings[number]
        shown = " ".join(f"{name}={value}" for name, value in setting.items())
        own = {**about, "parameters": {**about["parameters"], **setting}, "epochs": epochs}
        made = changed(estimator, {**setting, "epochs": epochs, "verbose": False})
        return _Training(number, made, Cell("tune", f"{shown} epochs={epochs}", own), results)

    chosen = list(range(len(settings)))
    for number, (count, epochs) in enumerate(rounds_of(len(settings), estimator.epochs), start=1):
        chosen = promoted({n: found[n].error for n in chosen}, count) if number > 1 else chosen
        jobs = [training(n, epochs) for n in chosen]
        for done, (job, result) in enumerate(run(_Training.run, jobs, workers=workers, on=on), start=1):
            if isinstance(result, Lost):
                result = {"scores": {"error": None}, "empty": result.reason}
            error, why = result["scores"]["error"], result["empty"]
            trial = Trial(settings[job.number], math.nan if error is None else error, epochs, why=why)
            found[job.number] = trial
            shown = ", ".join(f"{name} {value}" for name, value in trial.settings.items())
            line = f"{shown}: {why or f'error {trial.error:.4g}'} after {epochs} epochs"
            announce(number, done, len(jobs), line)
    (winner,) = promoted({n: found[n].error for n in chosen}, 1)
    if math.isnan(found[winner].error):
        raise TrainingDiverged(f"no setting of the search could be trained: {found[winner].why}")
    model = training(winner, estimator.epochs).fit(parts.train, parts.validation, parts.y)
    plain = _fit(changed(estimator, {"verbose": False}), parts.train, parts.validation, parts.y)
    _sweep(data, [training(n, 0).checkpoint for n in found])

    def place(n: int) -> tuple[Any, ...]:
        return n != winner, -found[n].epochs, math.isnan(found[n].error), found[n].error

    return Tuned(
        model,
        settings[winner],
        tuple(found[n] for n in sorted(found, key=place)),
        tuple(held_out_errors(model, parts)),
        tuple(held_out_errors(plain, parts)),
    )


def _check_names(estimator: Any, space: Mapping[str, Any], fixed: Sequence[str]) -> None:
    for name in space:
        if name in fixed:
            raise InvalidParameter(f"{name!r} is no setting to search")
        changed(estimator, {name: None})  # refuses names that nothing has
    if not space:
        raise InvalidParameter("nothing to search: name settings and the values of each")


def _check_judged(estimator: InfoGraph | SemiSupervised, parts: Parts) -> None:
    if isinstance(estimator, SemiSupervised):
        if not len(parts.validation):
            raise InvalidParameter("settings are chosen on validation graphs: hold some out")
    elif parts.task != "classification" or len(parts.targets) != 1:
        raise InvalidParameter(
            "vectors are judged by how well one column of classes is predicted from them; for numbers, "
            "search an InfoGraphRegressor"
        )


def _about(estimator: InfoGraph | SemiSupervised, parts: Parts) -> dict[str, Any]:
    """What the results of all settings depend on."""

    def checksums(graphs: GraphSet) -> list[Any]:
        """Of graphs, and of what is to be learned, with its unit."""
        columns = [graphs.schema.column("graph", name) for name in parts.targets]
        values = "\n".join(str(value) for name in parts.targets for value in graphs.values("graph", name))
        labels = hashlib.sha256(values.encode()).hexdigest()[:16]
        return [fingerprint(graphs), labels, [column.unit if column else "" for column in columns]]

    data = json.dumps([checksums(graphs) for graphs in (parts.train, parts.validation)])
    given = estimator.get_params(deep=False)
    return {
        "kind": type(estimator).__name__,
        "targets": list(parts.targets),
        "seed": estimator.random_state,
        "data": hashlib.sha256(data.encode()).hexdigest()[:16],
        "parameters": {
            name: repr(value) if CUSTOM in json.dumps(saved(value)) else saved(value)
            for name, value in given.items()
            if name not in ("epochs", "random_state", "verbose")
        },
    }


def _sweep(data: Path, checkpoints: Sequence[Path]) -> None:
    """Remove what lay beside the results while the search went on, and nothing else."""
    remove_folder(data / TRAIN, GRAPHSET)
    remove_folder(data / VALIDATION, GRAPHSET)
    for checkpoint in checkpoints:
        shutil.rmtree(checkpoint, ignore_errors=True)
    for folder in (data, data.parent / "tune", data.parent):
        with suppress(OSError):  # not empty, or not there
            folder.rmdir()


def _fit(estimator: Any, train: GraphSet, validation: GraphSet, y: Any, **keeping: Any) -> Any:
    if isinstance(estimator, SemiSupervised):
        return estimator.fit(train, y, validation=(validation, y), **keeping)
    return estimator.fit(train, **keeping)


@dataclass(frozen=True, eq=False)
class _Training:
    """One training, which may be far away: settings with their number, and the cell of the result."""

    number: int
    estimator: Any
    cell: Cell
    results: Path

    @property
    def checkpoint(self) -> Path:
        """Where the network of these settings is kept while the search goes on."""
        own = {**self.cell.settings, "epochs": 0}
        return self.results / ".work" / "tune" / Cell("tune", f"setting {self.number}", own).key

    def run(self) -> Result:
        """Train, or read what an earlier search found."""
        return run_cell(self.cell, lambda *_: self._compute(), self.results)

    def fit(self, train: GraphSet, validation: GraphSet, y: Any) -> Any:
        """Fit, from the last checkpoint if it is of no more epochs."""
        done = kept_epochs(self.checkpoint)
        resume = done is not None and done <= self.estimator.epochs
        return _fit(self.estimator, train, validation, y, checkpoint=self.checkpoint, resume=resume)

    def _compute(self) -> Result:
        data, targets = self.results / ".work" / "data", self.cell.settings["targets"]
        train = open_graphs(data / TRAIN)
        try:
            if isinstance(self.estimator, SemiSupervised):
                y = targets if len(targets) > 1 else targets[0]
                error = least_error(self.fit(train, open_graphs(data / VALIDATION), y).history_)
            else:
                error = _error_of_vectors(self.fit(train, train, None), train, targets[0])
        except TrainingDiverged as problem:
            return {"scores": {"error": None}, "empty": str(problem), "history": []}
        history = [
            {name: value for name, value in record.items() if "second" not in name}
            for record in self.estimator.history_
        ]
        return {"scores": {"error": None if math.isnan(error) else error}, "empty": "", "history": history}


def least_error(history: Sequence[Epoch]) -> float:
    """The validation error of the weights that were kept; the mean over several networks."""
    of_model: dict[float, float] = {}
    for record in history:
        model = record.get("model", 1.0)
        of_model[model] = min(record[ERROR], of_model.get(model, math.inf))
    return sum(of_model.values()) / len(of_model) if of_model else math.nan


def _error_of_vectors(model: InfoGraph, graphs: GraphSet, label: str) -> float:
    """The share of graphs that a classifier gets wrong, by nested cross-validation over the labelled ones."""
    classes = graphs.values("graph", label)
    known = ~missing(classes)
    judged = cross_validate(
        model.transform(graphs)[known],
        classes[known],
        repeats=1,
        folds=FOLDS,
        inner_folds=INNER_FOLDS,
        random_state=model.random_state,
        n_jobs=1,
    )
    return 1 - judged.leak_free().mean


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


def draw_settings(space: Space, trials: int, seed: int) -> list[Setting]:
    """All combinations where there are no more than `trials` of them, otherwise different random ones."""
    if any(not isinstance(values, Range) and not values for values in space.values()):
        raise InvalidParameter("nothing to search: name settings and the values of each")
    if trials < 1:
        raise InvalidParameter(f"trials={trials}: expected 1 or more")
    choices = {name: values for name, values in space.items() if not isinstance(values, Range)}
    if len(choices) == len(space) and math.prod(map(len, choices.values())) <= trials:
        return [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]
    rng = np.random.default_rng(seed)
    drawn: list[Setting] = []
    for _ in range(100 * trials):  # a space of few combinations repeats itself
        setting = {
            name: values.draw(rng) if isinstance(values, Range) else values[int(rng.integers(len(values)))]
            for name, values in space.items()
        }
        if setting not in drawn:
            drawn.append(setting)
        if len(drawn) == trials:
            break
    return drawn


def rounds_of(trials: int, epochs: int) -> list[tuple[int, int]]:
    """(settings, epochs) of each round: a third of the settings, three times the epochs; the last has all."""
    n_rounds = 1
    while trials > FACTOR**n_rounds and epochs >= FACTOR**n_rounds:
        n_rounds += 1
    return [
        (math.ceil(trials / FACTOR**k), max(1, epochs // FACTOR ** (n_rounds - 1 - k)))
        for k in range(n_rounds)
    ]


def promoted(errors: Mapping[int, float], count: int) -> list[int]:
    """The `count` settings with the least error, NaN last, of equal ones the first; in their own order."""
    order = sorted(errors, key=lambda n: (math.isnan(errors[n]), errors[n], n))
    return sorted(order[:count])


def parse_space(texts: Sequence[str]) -> dict[str, list[Any] | Range]:
    """`lr=1e-4..1e-2`, `layers=2,4,8`, `readout=sum,mean` as typed on a command line."""
    space: dict[str, list[Any] | Range] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not (name and equals and values):
            raise InvalidParameter(f"{text!r}: expected NAME=VALUE,VALUE or NAME=LOW..HIGH")
        low, dots, high = values.partition("..")
        if dots:
            ends = [_value(end) for end in (low, high)]
            if not all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends):
                raise InvalidParameter(f"{text!r}: the ends of a range are numbers")
            space[name.replace("-", "_")] = Range(*ends)
        else:
            space[name.replace("-", "_")] = [_value(value) for value in values.split(",")]
    return space


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False, "none": None}.get(text.casefold(), text)
