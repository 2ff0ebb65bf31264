"""The whole job on one set of graphs: train, embed, judge beside the untrained encoder, map, report."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray
from sklearn.base import clone

from infograph.data.graphset import GraphSet
from infograph.data.labels import is_continuous, is_known
from infograph.data.targets import encode_labels
from infograph.data.units import LABEL
from infograph.data.vectors import Embeddings, write_embeddings
from infograph.errors import InvalidParameter
from infograph.estimators.folder import MODEL
from infograph.estimators.infograph import MOST_EPOCHS, InfoGraph
from infograph.evaluate import Evaluation, PairedTest, cross_validate, paired_test
from infograph.evaluate.evaluation import Plan, Row
from infograph.evaluate.inputs import check_names
from infograph.evaluate.published import Figure, paper_score
from infograph.io import check_own, check_replaceable, check_writable, write_text
from infograph.look.project import NAMES, Method, choose_method, project
from infograph.parameters import described
from infograph.progress import Progress, Watch
from infograph.report.describe import describe_graphs, in_words
from infograph.report.figures import as_svg, history_figure, make_figure, map_figure, write_figure
from infograph.report.pages import Sheet, bar, render, text

CLASSIFIERS = {
    "svm-rbf": "a support vector machine with an RBF kernel",
    "svm-linear": "a linear support vector machine",
    "logistic": "logistic regression",
    "knn": "nearest neighbours",
}
FILES = ("embeddings.parquet", "map.png", "results.json", "report.html")


@dataclass(frozen=True, eq=False)
class Study:
    """Everything a study found."""

    name: str
    label: str  # the graph column that was predicted, and colours the map; empty where there is none
    graphs: GraphSet
    model: InfoGraph  # of the first repeat, the one that is saved
    embeddings: Embeddings
    points: NDArray[np.float64]  # (G, 2)
    method: Method
    evaluation: Evaluation | None  # of "InfoGraph" and "untrained"; None where there are no classes
    published: Figure | None  # the paper's accuracy on these graphs
    notes: tuple[str, ...]
    seconds: Mapping[str, float]  # by stage

    @property
    def labels(self) -> NDArray[Any] | None:
        """(G,) the values of the label column."""
        return self.graphs.values("graph", self.label) if self.label else None

    @property
    def rows(self) -> tuple[Row, ...]:
        """The table of accuracies."""
        if self.evaluation is None:
            return ()
        trained, untrained = (
            self.evaluation.select([name]).leak_free() for name in ("InfoGraph", "untrained")
        )
        rows = [
            Row.of("InfoGraph", trained, "measured here"),
            Row.of("untrained encoder", untrained, "measured here, random weights"),
        ]
        if self.published:
            note = "published, best of its settings"
            rows.append(Row("InfoGraph in the paper", *self.published, note=note))
        majority = Row("majority class", 100 * self.evaluation.plan.majority, note="always the largest class")
        return (*rows, majority)

    @property
    def difference(self) -> PairedTest | None:
        """InfoGraph against the untrained encoder on the same folds."""
        if self.evaluation is None:
            return None
        return paired_test(self.evaluation.select(["InfoGraph"]), self.evaluation.select(["untrained"]))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: the table, and every score behind it."""
        return {
            "source": self.name,
            "graphs": len(self.graphs),
            "label": self.label or None,
            "table": [row.to_dict() for row in self.rows],
            "difference": vars(self.difference) if self.difference else None,
            "notes": list(self.notes),
            "settings": described(self.model),
            "history": self.model.history_,
            "seconds": dict(self.seconds),
            "evaluation": self.evaluation.to_dict() if self.evaluation else None,
        }


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
    encoder is trained and nothing is judged; graphs without a label are trained on, and not judged.

    Other files in `out` stay. The `name` of a benchmark set puts the paper's figure beside the results.
    """
    estimator, watch = estimator or InfoGraph(), watch or Watch()
    check_names(classifiers)
    if repeats < 1:
        raise InvalidParameter(f"repeats={repeats}: expected at least 1")
    method = choose_method(len(graphs), method)
    label, judged, notes = _judged(graphs, folds, inner_folds)
    _check_place(Path(out))
    make_figure(1, 1)  # before the work that only matplotlib can finish
    clock = [time.perf_counter()]
    models, vectors = _train(estimator, graphs, repeats if judged is not None else 1, watch)
    clock.append(time.perf_counter())
    evaluation = None
    if judged is not None:
        watch.stage("cross-validation", 2 * repeats * folds)
        evaluation = cross_validate(
            {setting: [each[judged] for each in made] for setting, made in vectors.items()},
            graphs.values("graph", label)[judged],
            classifiers=classifiers,
            repeats=repeats,
            folds=folds,
            inner_folds=inner_folds,
            random_state=estimator.random_state,
            progress=lambda done, total: watch.advance(done),
        )
    clock.append(time.perf_counter())
    watch.stage("map", 1)
    points = project(vectors["InfoGraph"][0], method, estimator.random_state)
    watch.advance(1)
    clock.append(time.perf_counter())
    found = Study(
        name=name,
        label=label,
        graphs=graphs,
        model=models[0],
        embeddings=Embeddings.of(graphs, vectors["InfoGraph"][0], columns=[label] * bool(label)),
        points=points,
        method=method,
        evaluation=evaluation,
        published=paper_score("InfoGraph", name),
        notes=notes,
        seconds=dict(zip(("training", "cross-validation", "map"), np.diff(clock).tolist(), strict=True)),
    )
    _write(found, Path(out))
    return found


def _check_place(out: Path) -> None:
    if out.is_file():
        raise InvalidParameter(f"{out} is a file; a study is written to a folder")
    check_own(out, FILES, "results.json", {"source", "graphs", "table", "settings"})
    check_writable(out / "report.html")
    check_replaceable(out / "model", MODEL)


def _judged(
    graphs: GraphSet, folds: int, inner_folds: int
) -> tuple[str, NDArray[np.bool_] | None, tuple[str, ...]]:
    """The column of the labels, which graphs (G,) are evaluated, if any, and what a reader must know.

    Classes that are too small for that many folds are refused.
    """
    if graphs.schema.column("graph", LABEL) is None:
        return "", None, ("The graphs have no labels, so nothing was predicted.",)
    values = graphs.values("graph", LABEL)
    if is_continuous(values):
        return LABEL, None, ("The labels are measured values and no classes, so no accuracy was measured.",)
    known = is_known(values)
    Plan.of(*encode_labels(values[known]), folds, inner_folds)
    missing = int(np.count_nonzero(~known))
    note = f"{missing:,} graphs without a label took part in the training and not in the evaluation."
    return LABEL, known, (note,) if missing else ()


def _train(
    estimator: InfoGraph, graphs: GraphSet, repeats: int, watch: Watch
) -> tuple[list[InfoGraph], dict[str, list[NDArray[np.float32]]]]:
    """A model per repeat, and its vectors, trained and not."""
    models: list[InfoGraph] = []
    vectors: dict[str, list[NDArray[np.float32]]] = {"InfoGraph": [], "untrained": []}

    def advance(progress: Progress) -> None:
        shown = progress.shown
        told = f"loss {shown['loss']:.4g}, pairs {100 * shown['accuracy']:.1f} %"
        watch.advance(progress.epoch - (progress.step < progress.steps), told)

    for repeat in range(repeats):
        seed = estimator.random_state + repeat
        most = MOST_EPOCHS if estimator.epochs == "auto" else max(estimator.epochs, 1)
        watch.stage(f"training {repeat + 1} of {repeats}, seed {seed}", most)
        models.append(clone(estimator).set_params(random_state=seed))
        vectors["InfoGraph"].append(models[-1].fit_transform(graphs, watchers=[advance]))
        vectors["untrained"].append(clone(models[-1]).set_params(epochs=0).fit_transform(graphs))
    return models, vectors


def _write(study: Study, out: Path) -> None:
    """Each file whole or not at all; other files in the folder stay."""
    study.model.save(out / "model")
    vectors, drawing, results, report = (out / name for name in FILES)
    write_embeddings(study.embeddings, vectors)
    write_figure(map_figure(study.points, study.labels, title=study.name, column=study.label), drawing)
    write_text(results, json.dumps(study.to_dict(), indent=1) + "\n")
    used: list[str] = [] if study.evaluation is None else [c.classifier for c in study.evaluation.candidates]
    about = describe_graphs(study.graphs)
    about.pop("kind")
    page = render(
        "study.html",
        title=f"InfoGraph on {study.name}",
        study=study,
        accuracies=_accuracies(study.rows),
        map=as_svg(map_figure(study.points, study.labels, column=study.label)),
        method=NAMES[study.method],
        curves=as_svg(history_figure(study.model.history_)) if study.model.history_ else Markup(""),
        classifiers=" or ".join(CLASSIFIERS.get(name, name) for name in dict.fromkeys(used)),
        graphs=in_words(about),
    )
    write_text(report, page)


def _accuracies(rows: Sequence[Row]) -> Sheet:
    lines = []
    for place, row in enumerate(rows):
        deviations = ["" if d != d else f"± {d:.1f}" for d in (row.std, row.std_folds)]
        name = text(row.method, row.note, bold=place == 0)
        lines.append((name, f"{row.mean:.1f} %", *deviations, bar(row.mean)))
    return Sheet.of(("method", "accuracy", "over repeats", "over folds", ""), lines)
