"""One training of a search: some settings for some epochs, and the error by which they are judged."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from infograph.contract import GraphEstimator
from infograph.data.graphset import GraphSet
from infograph.data.labels import missing
from infograph.data.storage import open_graphs
from infograph.errors import TrainingDiverged
from infograph.estimators.classifier import InfoGraphClassifier
from infograph.estimators.infograph import InfoGraph
from infograph.estimators.regressor import InfoGraphRegressor
from infograph.estimators.search import least_error
from infograph.estimators.semi import SemiSupervised
from infograph.evaluate import cross_validate
from infograph.reproduce.cells import Cell, Result, run_cell
from infograph.train.checkpoint import kept_epochs

KINDS = {kind.__name__: kind for kind in (InfoGraph, InfoGraphRegressor, InfoGraphClassifier)}
TRAIN, VALIDATION = "train", "validation"
FOLDS, INNER_FOLDS = 5, 3  # by which vectors are judged


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
