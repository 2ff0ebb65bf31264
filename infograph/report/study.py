"""The whole job on one set of graphs: train, embed, cross-validate beside the untrained encoder, map, report."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from infograph.contract import check_model_folder
from infograph.data.embedding_files import write_embeddings
from infograph.data.embeddings import Embeddings
from infograph.data.graphset import GraphSet
from infograph.data.storage import check_writable, replaced_file
from infograph.errors import InvalidParameter
from infograph.estimators.infograph import InfoGraph
from infograph.evaluate import Evaluation, Plan, cross_validate, paired_test
from infograph.evaluate.labels import encode_labels
from infograph.evaluate.options import check_names
from infograph.report.figures import draw_map
from infograph.report.html import render_report
from infograph.report.labels import is_continuous, is_known
from infograph.report.map2d import Method, project
from infograph.report.result import Row, Study
from infograph.reproduce.paper import Figure, paper_score
from infograph.train.loop import Progress

LABEL = "y"
INNER_FOLDS = 5
Vectors = NDArray[np.float32]


class Watch(Protocol):
    """Is told how far a study is."""

    def stage(self, name: str, total: int) -> None:
        """A stage of `total` steps begins."""
        ...

    def advance(self, done: int, text: str = "") -> None:
        """So many steps of it are done."""
        ...


class _Silent:
    def stage(self, name: str, total: int) -> None: ...

    def advance(self, done: int, text: str = "") -> None: ...


def study(
    graphs: GraphSet,
    out: str | Path,
    *,
    name: str = "graphs",
    estimator: InfoGraph | None = None,
    repeats: int = 5,
    folds: int = 10,
    classifiers: Sequence[str] | str = "svm-rbf",
    method: Method = "tsne",
    watch: Watch | None = None,
) -> Study:
    """Train on `graphs`, judge the vectors, and leave a model, vectors, a map and a report in `out`.

    Repeat r trains a new encoder with the seed `random_state + r` and splits with that seed; the model that is saved,
    embedded and drawn is the first one. Where the graphs have no classes in the column `y`, one encoder is trained and
    nothing is judged.

    Args:
        graphs: the graphs; those without a label are trained on, and left out of the evaluation.
        out: the folder; gets `model/`, `embeddings.parquet`, `map.png`, `report.html` and `results.json`. Other files in
            it stay.
        name: what the graphs are called; a name of a benchmark set puts the paper's figure beside the results.
        estimator: the settings, not fitted; the defaults otherwise.
        repeats: encoders trained and cross-validations made.
        folds: of each cross-validation.
        classifiers: what predicts the classes from vectors; of several, the best on inner folds.
        method: of the map.
        watch: is told about progress.

    Raises:
        InvalidParameter: the labels cannot be judged in that many folds, or `out` cannot be used.
    """
    estimator, watch = estimator or InfoGraph(), watch or _Silent()
    _check_targets(Path(out))
    label, judged, notes = _find_labels(graphs, folds)
    check_names(classifiers)
    if repeats < 1:
        raise InvalidParameter(f"repeats={repeats}: expected at least 1")
    seconds: dict[str, float] = {}
    with _timed(seconds, "training"):
        model, trained, untrained = _train(estimator, graphs, repeats if judged is not None else 1, watch)
    evaluation = None
    if judged is not None:
        with _timed(seconds, "cross-validation"):
            evaluation = _judge(
                graphs, label, judged, trained, untrained, estimator, repeats, folds, classifiers, watch
            )
    with _timed(seconds, "map"):
        watch.stage("map", 1)
        points = project(trained[0], method, estimator.random_state)
        watch.advance(1)
    found = Study(
        name=name,
        label=label,
        graphs=graphs,
        model=model,
        embeddings=Embeddings.of(graphs, trained[0], columns=[label] if label else ()),
        points=points,
        method=method,
        evaluation=evaluation,
        rows=_table(evaluation, paper_score("InfoGraph", name)) if evaluation else (),
        difference=paired_test(evaluation.select(["InfoGraph"]), evaluation.select(["untrained"]))
        if evaluation
        else None,
        notes=notes,
        seconds=seconds,
    )
    write_study(found, out)
    return found


def write_study(found: Study, out: str | Path) -> None:
    """Write everything a study found to the folder `out`, each file whole or not at all."""
    out = Path(out)
    found.model.save(out / "model")
    write_embeddings(found.embeddings, out / "embeddings.parquet")
    draw_map(found.points, found.labels, out / "map.png", title=found.name, column=found.label)
    with replaced_file(out / "results.json") as work:
        work.write_text(json.dumps(found.to_dict(), indent=1) + "\n", encoding="utf-8")
    with replaced_file(out / "report.html") as work:
        work.write_text(render_report(found), encoding="utf-8")


def _check_targets(out: Path) -> None:
    if out.is_file():
        raise InvalidParameter(f"{out} is a file; a study is written to a folder")
    check_writable(out / "report.html")
    check_model_folder(out / "model")


def _find_labels(graphs: GraphSet, folds: int) -> tuple[str, NDArray[np.bool_] | None, tuple[str, ...]]:
    """The label column, which graphs are judged by it, and what to tell the reader."""
    if graphs.schema.column("graph", LABEL) is None:
        return "", None, ("The graphs have no labels, so nothing was predicted.",)
    values = graphs.values("graph", LABEL)
    if is_continuous(values):
        return LABEL, None, ("The labels are measured values and no classes, so no accuracy was measured.",)
    known = is_known(values)
    Plan.of(*encode_labels(values[known]), folds, INNER_FOLDS)  # refuses what could not be judged later
    missing = int(np.count_nonzero(~known))
    note = f"{missing:,} graphs without a label took part in the training and not in the evaluation."
    return LABEL, known, (note,) if missing else ()


def _train(
    estimator: InfoGraph, graphs: GraphSet, repeats: int, watch: Watch
) -> tuple[InfoGraph, list[Vectors], list[Vectors]]:
    """The first trained encoder, and the vectors of all, trained and untrained."""
    models, trained, untrained = [], [], []
    for repeat in range(repeats):
        seed = estimator.random_state + repeat
        watch.stage(f"training {repeat + 1} of {repeats}, seed {seed}", max(estimator.epochs, 1))

        def advance(progress: Progress) -> None:
            shown = progress.shown
            text = f"loss {shown['loss']:.4g}, pairs told apart {100 * shown['accuracy']:.1f} %"
            watch.advance(progress.epoch - (progress.step < progress.steps), text)

        models.append(clone(estimator).set_params(random_state=seed))
        trained.append(models[-1].fit_transform(graphs, watchers=[advance]))
        untrained.append(clone(models[-1]).set_params(epochs=0).fit_transform(graphs))
        watch.advance(max(estimator.epochs, 1))
    return models[0], trained, untrained


def _judge(
    graphs: GraphSet,
    label: str,
    judged: NDArray[np.bool_],
    trained: list[Vectors],
    untrained: list[Vectors],
    estimator: InfoGraph,
    repeats: int,
    folds: int,
    classifiers: Sequence[str] | str,
    watch: Watch,
) -> Evaluation:
    watch.stage("cross-validation", 2 * repeats * folds)
    return cross_validate(
        {
            "InfoGraph": [vectors[judged] for vectors in trained],
            "untrained": [vectors[judged] for vectors in untrained],
        },
        graphs.values("graph", label)[judged],
        classifiers=classifiers,
        repeats=repeats,
        folds=folds,
        inner_folds=INNER_FOLDS,
        random_state=estimator.random_state,
        progress=lambda done, total: watch.advance(done),
    )


def _table(evaluation: Evaluation, published: Figure | None) -> tuple[Row, ...]:
    rows = [
        Row.of("InfoGraph", evaluation.select(["InfoGraph"]).leak_free(), "measured here"),
        Row.of("untrained encoder", evaluation.select(["untrained"]).leak_free(), "measured here, random weights"),
    ]
    if published:
        rows.append(Row("InfoGraph in the paper", *published, note="published, best of its settings"))
    rows.append(Row("majority class", 100 * evaluation.plan.majority, note="always the largest class"))
    return tuple(rows)


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - started
