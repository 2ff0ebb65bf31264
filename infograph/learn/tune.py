"""A search over settings: trials here, in processes or on Ray, and the best of them judged once."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from torch import nn

from infograph.cells import Cell, Result, run_cell
from infograph.data.graphset import GRAPHSET, GraphSet, fingerprint, open_graphs, save_graphs
from infograph.data.labels import missing
from infograph.errors import InvalidParameter, TrainingDiverged
from infograph.estimators.base import GraphEstimator
from infograph.estimators.infograph import InfoGraph
from infograph.estimators.labelled import InfoGraphClassifier, InfoGraphRegressor, SemiSupervised
from infograph.evaluate import cross_validate
from infograph.io import json_ready, remove_folder
from infograph.jobs import Lost, side_by_side
from infograph.learn.parts import Parts
from infograph.learn.predictions import errors_of
from infograph.progress import ERROR, Epoch, Watcher
from infograph.train.checkpoint import kept_epochs

COSTS = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)  # the paper's C
Announce = Callable[[int, int, int, str], None]  # round from 1, done in it, of how many, a line on the last
Setting = dict[str, Any]
FACTOR = 3
KINDS = {kind.__name__: kind for kind in (InfoGraph, InfoGraphRegressor, InfoGraphClassifier)}
TRAIN, VALIDATION = "train", "validation"
FOLDS, INNER_FOLDS = 5, 3  # by which vectors are judged
Model = TypeVar("Model", bound=SemiSupervised)
AnnounceGrid = Callable[[int, int, Mapping[str, Any]], None]
__all__ = ["Range", "Space", "Tuned", "tune"]


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
    _check_space(estimator, space, parts)
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


def _check_space(estimator: InfoGraph | SemiSupervised, space: Space, parts: Parts) -> None:
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


def draw_settings(space: Space, trials: int, seed: int) -> list[Setting]:
    """All combinations where there are no more than `trials` of them, otherwise different random ones.

    Raises:
        InvalidParameter: nothing to choose from.
    """
    if not space or any(not isinstance(values, Range) and not values for values in space.values()):
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


def parse_space(texts: Sequence[str]) -> dict[str, list[Any] | Range]:
    """`lr=1e-4..1e-2`, `layers=2,4,8`, `readout=sum,mean` as typed on a command line.

    Raises:
        InvalidParameter: a text that is none of these.
    """
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


# Successive halving (Jamieson and Talwalkar 2016): all settings train shortly, the best third on and on.
#
# Rounds are synchronous: who goes on is decided when all of a round are done, so the outcome does not depend
# on how many ran at a time, or where.


def rounds_of(trials: int, epochs: int, least: int = 1) -> list[tuple[int, int]]:
    """(settings, epochs) of each round: a third of the settings, three times the epochs.

    The last round has all epochs; the first at least `least`.
    """
    n_rounds = 1
    while trials > FACTOR**n_rounds and epochs // FACTOR**n_rounds >= max(1, least):
        n_rounds += 1
    return [
        (math.ceil(trials / FACTOR**k), max(1, epochs // FACTOR ** (n_rounds - 1 - k)))
        for k in range(n_rounds)
    ]


def promoted(errors: Mapping[int, float], count: int) -> list[int]:
    """The `count` settings with the least error, NaN last, of equal ones the first; in their own order."""
    order: Sequence[int] = sorted(errors, key=lambda n: (math.isnan(errors[n]), errors[n], n))
    return sorted(order[:count])


@dataclass(frozen=True)
class Trial:
    """A training to do: plain values, for a process that may be far away.

    Attributes:
        number: of its settings.
        cell: all that its outcome depends on.
        data: the folder of the graphs.
        results: the folder of all results.
    """

    number: int
    cell: Cell
    data: Path
    results: Path


def run_trial(trial: Trial) -> Result:
    """Train, or read what an earlier search found. More epochs go on from the checkpoint of fewer."""
    return run_cell(trial.cell, lambda cell, _: _compute(trial, cell), trial.results)


def checkpoint_of(trial: Trial) -> Path:
    """Where the network of these settings is kept while the search goes on."""
    own = {**trial.cell.settings, "epochs": 0}
    return trial.results / ".work" / "tune" / Cell("tune", f"setting {trial.number}", own).key


def kept_at(checkpoint: Path, epochs: int) -> dict[str, Any]:
    """How `fit` shall use a checkpoint: it goes on from one of no more than so many epochs."""
    done = kept_epochs(checkpoint)
    return {"checkpoint": checkpoint, "resume": done is not None and done <= epochs}


def make_estimator(settings: dict[str, Any]) -> GraphEstimator:
    """The estimator that a cell's settings describe."""
    made = KINDS[settings["kind"]](**settings["parameters"], epochs=settings["epochs"])
    return cast(GraphEstimator, made.set_params(random_state=settings["seed"]))


def _compute(trial: Trial, cell: Cell) -> Result:
    settings, checkpoint = cell.settings, checkpoint_of(trial)
    estimator, train = make_estimator(settings), open_graphs(trial.data / TRAIN)
    keeping = kept_at(checkpoint, cell.settings["epochs"])
    try:
        if isinstance(estimator, SemiSupervised):
            validation = open_graphs(trial.data / VALIDATION)
            y = settings["targets"] if len(settings["targets"]) > 1 else settings["targets"][0]
            estimator.fit(train, y, validation=(validation, y), **keeping)
            error = least_error(estimator.history_)
        else:
            assert isinstance(estimator, InfoGraph)
            vectors = estimator.fit_transform(train, **keeping)
            error = error_of_vectors(vectors, train, settings["targets"][0], settings["seed"])
    except TrainingDiverged as problem:
        return {"scores": {"error": None}, "empty": str(problem), "history": []}
    history = [{k: v for k, v in record.items() if "second" not in k} for record in estimator.history_]
    return {"scores": {"error": None if math.isnan(error) else error}, "empty": "", "history": history}


def error_of_vectors(vectors: NDArray[np.float32], graphs: GraphSet, label: str, seed: int) -> float:
    """The share of graphs that a classifier gets wrong, by nested cross-validation over the labelled ones."""
    classes = graphs.values("graph", label)
    known = ~missing(classes)
    judged = cross_validate(
        vectors[known],
        classes[known],
        repeats=1,
        folds=FOLDS,
        inner_folds=INNER_FOLDS,
        random_state=seed,
        n_jobs=1,
    )
    return 1 - judged.leak_free().mean


@dataclass(frozen=True)
class GridTrial:
    """One combination of settings.

    Attributes:
        settings: those that were searched.
        error: the least validation error of its epochs, in the unit of the target (the mean over the networks
            of an ensemble); NaN where training diverged.
        epochs: how many were trained.
        seconds: how long that took.
    """

    settings: Mapping[str, Any]
    error: float
    epochs: int
    seconds: float


@dataclass(frozen=True, eq=False)
class Search(Generic[Model]):
    """What a search found.

    Attributes:
        best: the fitted estimator of the best combination.
        trials: all combinations, in the order they were trained.
    """

    best: Model
    trials: tuple[GridTrial, ...]

    @property
    def chosen(self) -> GridTrial:
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

    Raises:
        InvalidParameter: an unknown setting, no values, or no validation graphs.
        TrainingDiverged: every combination diverged.
    """
    _check_grid(estimator, grid, validation)
    combinations = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    best: Model | None = None
    trials: list[GridTrial] = []
    for number, settings in enumerate(combinations, start=1):
        if announce is not None:
            announce(number, len(combinations), settings)
        model = type(estimator)(**{**estimator.get_params(deep=False), **settings})
        began = time.perf_counter()
        try:
            history = model.fit(graphs, y, validation=validation, watchers=watchers).history_
        except TrainingDiverged:
            trials.append(GridTrial(settings, math.nan, 0, time.perf_counter() - began))
            continue
        trial = GridTrial(settings, least_error(history), len(history), time.perf_counter() - began)
        before = min((t.error for t in trials if not math.isnan(t.error)), default=math.inf)
        if best is None or trial.error < before:
            best = model
        trials.append(trial)
    if best is None:
        raise TrainingDiverged(
            f"all {len(combinations)} combinations of {', '.join(grid)} diverged: lower lr"
        )
    return Search(best, tuple(trials))


def least_error(history: Sequence[Epoch]) -> float:
    """The validation error of the weights that were kept; the mean over several networks."""
    of_model: dict[float, float] = {}
    for record in history:
        model = record.get("model", 1.0)
        of_model[model] = min(record[ERROR], of_model.get(model, math.inf))
    return sum(of_model.values()) / len(of_model) if of_model else math.nan


def _check_grid(estimator: SemiSupervised, grid: Mapping[str, Sequence[Any]], validation: object) -> None:
    known = estimator.get_params(deep=False)
    for name, values in grid.items():
        if name not in known:
            raise InvalidParameter(f"grid: {type(estimator).__name__} has no setting {name!r}")
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise InvalidParameter(f"grid: {name}={values!r}, expected a list of values to try")
    if not grid:
        raise InvalidParameter("grid is empty: name a setting and the values to try")
    if validation is None:
        raise InvalidParameter("a search needs validation graphs: pass validation=(graphs, y), or a share")
