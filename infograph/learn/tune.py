"""A search over settings by successive halving, in processes or on Ray; the best is judged once.

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
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from infograph.cells import Cell, Result, run_cell
from infograph.data.graphset import GRAPHSET, GraphSet, fingerprint, open_graphs, save_graphs
from infograph.data.labels import missing
from infograph.data.units import graph_column
from infograph.errors import InvalidParameter, TrainingDiverged
from infograph.estimators.infograph import GraphNetwork, InfoGraph
from infograph.estimators.labelled import SemiSupervised
from infograph.evaluate import cross_validate
from infograph.io import remove_folder, without_nan
from infograph.jobs import Lost, run
from infograph.learn.judging import Judged
from infograph.learn.parts import Parts
from infograph.parameters import CUSTOM, changed, in_words, own_code, saved
from infograph.progress import least_error
from infograph.train.checkpoint import kept_epochs

COSTS = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)  # the paper's C
FACTOR = 3
FOLDS, INNER_FOLDS = 5, 3  # by which vectors are judged
FIXED = ("epochs", "random_state", "verbose", "device", "warm_start")  # what is no setting to search
TRAIN, VALIDATION = "train", "validation"
Announce = Callable[[int, int, int, str], None]  # round from 1, done in it, of how many, a line on the last
Setting = dict[str, Any]
EPOCHS = 20  # of the last round, where an estimator would end by itself
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
        why: the reason for a NaN.
    """

    settings: Mapping[str, Any]
    error: float
    epochs: int
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

    model: GraphNetwork
    best: Setting
    tried: tuple[Trial, ...]
    test: tuple[float, ...]
    baseline: tuple[float, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        tried = [
            {"setting": _named(s.settings), "epochs": s.epochs, "error": s.error, "why": s.why}
            for s in self.tried
        ]
        found = {"best": _named(self.best), "test": self.test, "baseline": self.baseline, "tried": tried}
        return dict(without_nan(found))


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
    """
    _check_search(estimator, space, parts)
    most = EPOCHS if estimator.epochs == "auto" else estimator.epochs
    settings, results = draw_settings(space, trials, seed), Path(results).absolute()
    about, work = _about(estimator, parts), results / ".work"
    for name, graphs in ((TRAIN, parts.train), (VALIDATION, parts.validation)):
        if len(graphs):  # in files, for processes that may be far away
            save_graphs(graphs, work / "data" / name)

    def training(number: int, epochs: int) -> _Training:
        setting = settings[number]
        made = changed(estimator, {**setting, "epochs": epochs, "verbose": False})
        named = _named(setting)
        shown = " ".join(f"{name}={value}" for name, value in named.items())
        own = {**about, "parameters": {**about["parameters"], **named}, "epochs": epochs}
        own |= {"code": own_code(made)}
        return _Training(number, made, Cell("tune", f"{shown} epochs={epochs}", own), results)

    chosen, found = list(range(len(settings))), {}  # type: list[int], dict[int, Trial]
    for number, (count, epochs) in enumerate(rounds_of(len(settings), most), start=1):
        chosen = promoted({n: found[n].error for n in chosen}, count) if number > 1 else chosen
        jobs = [training(n, epochs) for n in chosen]
        for done, (job, result) in enumerate(run(_Training.run, jobs, workers=workers, on=on), start=1):
            if isinstance(result, Lost):
                result = {"scores": {"error": None}, "empty": result.reason}
            error, why = result["scores"]["error"], result["empty"]
            trial = Trial(settings[job.number], math.nan if error is None else error, epochs, why)
            found[job.number] = trial
            shown = ", ".join(f"{name} {value}" for name, value in trial.settings.items())
            line = f"{shown}: {why or f'error {trial.error:.4g}'} after {epochs} epochs"
            announce(number, done, len(jobs), line)
    (winner,) = promoted({n: found[n].error for n in chosen}, 1)
    if math.isnan(found[winner].error):
        raise TrainingDiverged(f"no setting of the search could be trained: {found[winner].why}")
    model = training(winner, most).fit(parts.train, parts.validation, parts.y)
    plain = _fit(changed(estimator, {"verbose": False}), parts.train, parts.validation, parts.y)
    _clear(work, [training(n, 0).checkpoint for n in found])

    def place(n: int) -> tuple[Any, ...]:
        return n != winner, -found[n].epochs, math.isnan(found[n].error), found[n].error

    tried = tuple(found[n] for n in sorted(found, key=place))
    test, baseline = (tuple(held_out_errors(each, parts)) for each in (model, plain))
    return Tuned(model, settings[winner], tried, test, baseline)


def _check_search(estimator: InfoGraph | SemiSupervised, space: Space, parts: Parts) -> None:
    for name in space:
        if name in FIXED:
            raise InvalidParameter(f"{name!r} is no setting to search")
        changed(estimator, {name: None})  # refuses names that nothing has
    if isinstance(estimator, SemiSupervised):
        if not len(parts.validation):
            raise InvalidParameter("settings are chosen on validation graphs: hold some out")
    elif parts.task != "classification" or len(parts.targets) != 1:
        raise InvalidParameter(
            "vectors are judged by how well one column of classes is predicted from them; for numbers, "
            "search an InfoGraphRegressor"
        )


def _clear(work: Path, checkpoints: Sequence[Path]) -> None:
    """Remove what a search that is over needs no more."""
    for name in (TRAIN, VALIDATION):
        remove_folder(work / "data" / name, GRAPHSET)
    for checkpoint in checkpoints:
        shutil.rmtree(checkpoint, ignore_errors=True)
    for folder in (work / "data", work / "tune", work):
        with suppress(OSError):  # not empty, or not there
            folder.rmdir()


def _about(estimator: InfoGraph | SemiSupervised, parts: Parts) -> dict[str, Any]:
    """What the results of all settings depend on."""
    data: list[Any] = []
    parameters, apart = _named(estimator.get_params(deep=False)), ("epochs", "random_state", "verbose")
    for graphs in (parts.train, parts.validation):
        columns = [graph_column(graphs.schema, name) for name in parts.targets]
        values = [[c.unit, *map(str, graphs.values("graph", c.name))] for c in columns]
        data.append([fingerprint(graphs), values])
    return {
        "kind": type(estimator).__name__,
        "targets": list(parts.targets),
        "seed": estimator.random_state,
        "data": hashlib.sha256(json.dumps(data).encode()).hexdigest()[:16],
        "parameters": {name: parameters[name] for name in parameters if name not in apart},
    }


def _named(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters for the name of a result, and for JSON: a user's own objects in words."""
    return {
        name: in_words(value) if CUSTOM in json.dumps(saved(value)) else saved(value)
        for name, value in parameters.items()
    }


def _fit(estimator: Any, train: GraphSet, validation: GraphSet, y: Any, **keeping: Any) -> Any:
    chosen_by = {"validation": (validation, y)} if isinstance(estimator, SemiSupervised) else {}
    return estimator.fit(train, y, **chosen_by, **keeping)


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
            return {"scores": {"error": None}, "empty": str(problem)}
        return {"scores": {"error": None if math.isnan(error) else error}, "empty": ""}


def _error_of_vectors(model: InfoGraph, graphs: GraphSet, label: str) -> float:
    """The share of graphs that a classifier gets wrong, by nested cross-validation over the labelled ones."""
    classes = graphs.values("graph", label)
    known = ~missing(classes)
    folds: dict[str, Any] = {"repeats": 1, "folds": FOLDS, "inner_folds": INNER_FOLDS, "n_jobs": 1}
    vectors, seed = model.transform(graphs)[known], model.random_state
    return 1 - cross_validate(vectors, classes[known], **folds, random_state=seed).leak_free().mean


def held_out_errors(model: GraphNetwork, parts: Parts) -> list[float]:
    """The errors of a fitted model on the test graphs: mean absolute ones, or the share of wrong classes."""
    if not len(parts.test):
        return [math.nan] * len(parts.targets)
    if isinstance(model, SemiSupervised):
        judged = Judged.of(model, parts.test, parts.targets)
        return [next(iter(each.values())) for each in judged.figures]
    assert isinstance(model, InfoGraph)
    classes = parts.train.values("graph", parts.targets[0])
    known = ~missing(classes)
    classifier = make_pipeline(StandardScaler(), GridSearchCV(SVC(), {"C": COSTS}, cv=FOLDS))
    classifier.fit(model.transform(parts.train[known]), classes[known].astype(str))
    predicted = classifier.predict(model.transform(parts.test))
    return [float(np.mean(predicted != parts.test.values("graph", parts.targets[0]).astype(str)))]


def grid_of(choices: Mapping[str, Sequence[Any]]) -> list[Setting]:
    """All combinations."""
    return [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]


def draw_settings(space: Space, trials: int, seed: int) -> list[Setting]:
    """All combinations where there are no more than `trials` of them, otherwise different random ones."""
    choices = {name: values for name, values in space.items() if not isinstance(values, Range)}
    if not space or not all(map(len, choices.values())):
        raise InvalidParameter("nothing to search: name settings and the values of each")
    if trials < 1:
        raise InvalidParameter(f"trials={trials}: expected 1 or more")
    if len(choices) == len(space) and math.prod(map(len, choices.values())) <= trials:
        return grid_of(choices)
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
        name, _, given = text.partition("=")
        low, dots, high = given.partition("..")
        values = [_value(value) for value in ((low, high) if dots else given.split(","))]
        if not name or not given:
            raise InvalidParameter(f"{text!r}: expected NAME=VALUE,VALUE or NAME=LOW..HIGH")
        if dots and not all(type(end) in (int, float) for end in values):
            raise InvalidParameter(f"{text!r}: the ends of a range are numbers")
        space[name.replace("-", "_")] = Range(*values) if dots else values
    return space


def _value(text: str) -> Any:
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return {"true": True, "false": False, "none": None}.get(text.casefold(), text)
