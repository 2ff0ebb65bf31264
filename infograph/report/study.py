"""The whole job on one set of graphs: train, embed, judge beside the untrained encoder, map, report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from infograph.data.embeddings import Embeddings
from infograph.data.graphset import GraphSet
from infograph.errors import InvalidParameter
from infograph.estimators.infograph import InfoGraph
from infograph.evaluate import Evaluation, cross_validate, paired_test
from infograph.evaluate.options import check_names
from infograph.maps.map2d import Method, choose_method, project
from infograph.report.canvas import make_figure
from infograph.report.palette import LIGHT
from infograph.report.result import Row, Study
from infograph.report.study_files import check_study_folder, write_study
from infograph.report.target import Target
from infograph.report.watch import Silent, Watch
from infograph.reproduce.paper import Figure, paper_score
from infograph.train.loop import Progress

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class _Trained:
    """The first encoder, and the vectors of all repeats."""

    model: InfoGraph
    vectors: list[Vectors]
    untrained: list[Vectors]


def study(
    graphs: GraphSet,
    out: str | Path,
    *,
    name: str = "graphs",
    estimator: InfoGraph | None = None,
    repeats: int = 5,
    folds: int = 10,
    inner_folds: int = 5,
    classifiers: Sequence[str] | str = "svm-rbf",
    method: Method = "tsne",
    watch: Watch | None = None,
) -> Study:
    """Train on `graphs`, judge the vectors, and leave a model, vectors, a map and a report in `out`.

    Repeat r trains a new encoder with the seed `random_state + r` and splits with that seed; the model that
    is saved, embedded and drawn is the first one. Where the graphs have no classes in the column `y`, one
    encoder is trained and nothing is judged.

    Args:
        graphs: the graphs; those without a label are trained on, and left out of the evaluation.
        out: the folder; gets `model/`, `embeddings.parquet`, `map.png`, `results.json` and `report.html`.
            Other files in it stay.
        name: what the graphs are called; the name of a benchmark set puts the paper's figure beside the
            results.
        estimator: the settings, not fitted; the defaults otherwise.
        repeats: encoders trained and cross-validations made.
        folds: of each cross-validation.
        inner_folds: of each training part, where C is chosen.
        classifiers: what predicts the classes from vectors; of several, the best on inner folds.
        method: of the map.
        watch: is told about progress.

    Raises:
        InvalidParameter: the labels cannot be judged in that many folds, or `out` cannot be used.
    """
    estimator, watch = estimator or InfoGraph(), watch or Silent()
    check_names(classifiers)
    if repeats < 1:
        raise InvalidParameter(f"repeats={repeats}: expected at least 1")
    method = choose_method(len(graphs), method)
    target = Target.of(graphs, folds, inner_folds)
    check_study_folder(out)
    make_figure(1, 1, LIGHT)  # before the work that only matplotlib can finish
    began = time.perf_counter()
    trained = _train(estimator, graphs, repeats if target.judged is not None else 1, watch)
    trained_at = time.perf_counter()
    evaluation = _judge(target, trained, estimator.random_state, (folds, inner_folds), classifiers, watch)
    judged_at = time.perf_counter()
    watch.stage("map", 1)
    points = project(trained.vectors[0], method, estimator.random_state)
    watch.advance(1)
    seconds = {"training": trained_at - began, "cross-validation": judged_at - trained_at}
    seconds["map"] = time.perf_counter() - judged_at
    found = Study(
        name=name,
        label=target.column,
        graphs=graphs,
        model=trained.model,
        embeddings=Embeddings.of(
            graphs, trained.vectors[0], columns=[target.column] if target.column else ()
        ),
        points=points,
        method=method,
        evaluation=evaluation,
        rows=() if evaluation is None else _table(evaluation, paper_score("InfoGraph", name)),
        difference=None
        if evaluation is None
        else paired_test(evaluation.select(["InfoGraph"]), evaluation.select(["untrained"])),
        notes=target.notes,
        seconds=seconds,
    )
    write_study(found, out)
    return found


def _train(estimator: InfoGraph, graphs: GraphSet, repeats: int, watch: Watch) -> _Trained:
    models, vectors, untrained = [], [], []
    steps = max(estimator.epochs, 1)
    for repeat in range(repeats):
        seed = estimator.random_state + repeat
        watch.stage(f"training {repeat + 1} of {repeats}, seed {seed}", steps)

        def advance(progress: Progress) -> None:
            shown = progress.shown
            text = f"loss {shown['loss']:.4g}, pairs {100 * shown['accuracy']:.1f} %"
            watch.advance(progress.epoch - (progress.step < progress.steps), text)

        models.append(clone(estimator).set_params(random_state=seed))
        vectors.append(models[-1].fit_transform(graphs, watchers=[advance]))
        untrained.append(clone(models[-1]).set_params(epochs=0).fit_transform(graphs))
    return _Trained(models[0], vectors, untrained)


def _judge(
    target: Target,
    trained: _Trained,
    seed: int,
    folds: tuple[int, int],
    classifiers: Sequence[str] | str,
    watch: Watch,
) -> Evaluation | None:
    if target.judged is None:
        return None
    settings = {"InfoGraph": trained.vectors, "untrained": trained.untrained}
    repeats = len(trained.vectors)
    watch.stage("cross-validation", len(settings) * repeats * folds[0])
    return cross_validate(
        {name: [vectors[target.judged] for vectors in each] for name, each in settings.items()},
        target.values[target.judged],
        classifiers=classifiers,
        repeats=repeats,
        folds=folds[0],
        inner_folds=folds[1],
        random_state=seed,
        progress=lambda done, total: watch.advance(done),
    )


def _table(evaluation: Evaluation, published: Figure | None) -> tuple[Row, ...]:
    rows = [
        Row.of("InfoGraph", evaluation.select(["InfoGraph"]).leak_free(), "measured here"),
        Row.of(
            "untrained encoder", evaluation.select(["untrained"]).leak_free(), "measured here, random weights"
        ),
    ]
    if published:
        rows.append(Row("InfoGraph in the paper", *published, note="published, best of its settings"))
    rows.append(Row("majority class", 100 * evaluation.plan.majority, note="always the largest class"))
    return tuple(rows)
