"""The whole job on one set of graphs: train, embed, judge beside the untrained encoder, map, report."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from infograph.data.graphset import GraphSet
from infograph.data.vectors import Embeddings, write_embeddings
from infograph.errors import InvalidParameter
from infograph.estimators.folder import check_model_folder
from infograph.estimators.infograph import InfoGraph
from infograph.evaluate import Evaluation, PairedTest, cross_validate, paired_test
from infograph.evaluate.compare import Target
from infograph.evaluate.cross_validation import check_names
from infograph.evaluate.evaluation import Row
from infograph.evaluate.published import Figure, paper_score
from infograph.io import check_own, check_writable, replaced_file
from infograph.look.project import NAMES, Method, choose_method, project
from infograph.look.svg import DARK, LIGHT
from infograph.progress import Progress, Silent, Watch
from infograph.report.describe import describe_graphs, in_words
from infograph.report.figures import draw_map, make_figure, png_history, png_map
from infograph.report.pages import page

Vectors = NDArray[np.float32]
CLASSIFIERS = {
    "svm-rbf": "a support vector machine with an RBF kernel",
    "svm-linear": "a linear support vector machine",
    "logistic": "logistic regression",
    "knn": "nearest neighbours",
}
FILES = ("embeddings.parquet", "map.png", "results.json", "report.html")
PAIRS = "the share of (node, graph) pairs whose membership the discriminator gets right"


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


@dataclass(frozen=True, eq=False)
class Study:
    """Everything a study found.

    Attributes:
        name: what the graphs are called.
        label: the graph column that was predicted, and colours the map; empty where there is none.
        graphs: the graphs.
        model: the trained encoder of the first repeat, the one that is saved.
        embeddings: its vectors.
        points: (G, 2) their map.
        method: how the map was made.
        evaluation: all scores of the settings "InfoGraph" and "untrained"; None where there are no classes.
        rows: the table of accuracies.
        difference: InfoGraph against the untrained encoder on the same folds.
        notes: what a reader must know besides.
        seconds: by stage.
    """

    name: str
    label: str
    graphs: GraphSet
    model: InfoGraph
    embeddings: Embeddings
    points: NDArray[np.float64]
    method: Method
    evaluation: Evaluation | None
    rows: tuple[Row, ...]
    difference: PairedTest | None
    notes: tuple[str, ...]
    seconds: Mapping[str, float]

    @property
    def labels(self) -> NDArray[Any] | None:
        """(G,) the values of the label column."""
        return self.graphs.values("graph", self.label) if self.label else None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: the table, and every score behind it."""
        return {
            "source": self.name,
            "graphs": len(self.graphs),
            "label": self.label or None,
            "table": [row.to_dict() for row in self.rows],
            "difference": vars(self.difference) if self.difference else None,
            "notes": list(self.notes),
            "settings": {k: v for k, v in self.model.get_params(deep=False).items() if _plain(v)},
            "history": self.model.history_,
            "seconds": dict(self.seconds),
            "evaluation": self.evaluation.to_dict() if self.evaluation else None,
        }


def _plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float | bool | list | tuple)


def check_study_folder(out: str | Path) -> None:
    """Make sure, before the work that leads to it, that a study can be written there.

    Raises:
        InvalidParameter: it is a file, `model` in it is a folder of other things, or a file has the name of
            one of ours.
        OSError: it cannot be made or written to.
    """
    out = Path(out)
    if out.is_file():
        raise InvalidParameter(f"{out} is a file; a study is written to a folder")
    check_own(out, FILES, "results.json", {"source", "graphs", "table", "settings"})
    check_writable(out / "report.html")
    check_model_folder(out / "model")


def write_study(study: Study, out: str | Path) -> dict[str, Path]:
    """Write everything a study found to the folder `out`, each file whole or not at all; other files stay.

    Returns:
        What each path holds.
    """
    out = Path(out)
    paths = {name.partition(".")[0]: out / name for name in ("model", *FILES)}
    study.model.save(paths["model"])
    write_embeddings(study.embeddings, paths["embeddings"])
    draw_map(study.points, study.labels, paths["map"], title=study.name, column=study.label)
    with replaced_file(paths["results"]) as work:
        work.write_text(json.dumps(study.to_dict(), indent=1) + "\n", encoding="utf-8")
    with replaced_file(paths["report"]) as work:
        work.write_text(render_report(study), encoding="utf-8")
    return paths


def render_report(study: Study) -> str:
    """The page as text. Everything that comes from the user is escaped."""
    title = f"InfoGraph on {study.name}"
    sections = [
        _section("Accuracy", _accuracy(study)) if study.rows else "",
        _section("Map", _map(study)),
        _section("Training", _training(study)),
        _section("How it was measured", _protocol(study)) if study.rows else "",
        _section("The graphs", _graphs(study)),
        _section("Settings", _settings(study)),
    ]
    return page(title, "\n".join([_lead(study), *filter(None, sections)]))


def _lead(study: Study) -> str:
    graphs, model = study.graphs, study.model
    text = (
        f"An encoder learned from {len(graphs):,} graphs, without labels, to turn a graph into "
        f"{study.embeddings.dim} numbers: {model.epochs} epochs, {model.layers} layers."
    )
    if study.rows:
        first, second = study.rows[:2]
        text += (
            f" From these numbers the column “{study.label}” is predicted with an accuracy of "
            f"{first.mean:.1f} %; an encoder that learned nothing reaches {second.mean:.1f} %."
        )
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in study.notes)
    return f'<p class="lead">{escape(text)}</p>{notes}'


def _accuracy(study: Study) -> str:
    rows = "".join(_score_row(row) for row in study.rows)
    head = "<tr><th>method</th><th>accuracy</th><th>over repeats</th><th>over folds</th><th></th></tr>"
    verdict = ""
    if study.difference:
        verdict = (
            f"<p>InfoGraph minus untrained encoder, on the same folds: {escape(str(study.difference))}.</p>"
        )
    table = f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"
    return f'<div class="wide">{table}</div>{verdict}'


def _score_row(row: Row) -> str:
    cells = [
        f'<th scope="row">{escape(row.method)}<small>{escape(row.note)}</small></th>',
        f"<td>{row.mean:.1f} %</td>",
        *(f"<td>{'' if value != value else f'± {value:.1f}'}</td>" for value in (row.std, row.std_folds)),
        f'<td class="bar"><span style="width:{row.mean:.1f}%"></span></td>',
    ]
    return f"<tr>{''.join(cells)}</tr>"


def _map(study: Study) -> str:
    figures = [
        png_map(study.points, study.labels, column=study.label, theme=theme) for theme in (LIGHT, DARK)
    ]
    coloured = f", coloured by “{study.label}”" if study.label else ""
    caption = f"Each point is a graph; near points have similar vectors ({NAMES[study.method]}){coloured}."
    return _figure(figures, caption, "Map of all graphs in the plane")


def _training(study: Study) -> str:
    history = study.model.history_
    seconds = ", ".join(f"{stage} {value:.1f} s" for stage, value in study.seconds.items())
    if not history:
        return f"<p>The encoder was not trained. Time: {escape(seconds)}.</p>"
    figures = [png_history(history, theme=theme) for theme in (LIGHT, DARK)]
    last = history[-1]
    caption = (
        f"At the end a loss of {last['loss']:.4g}, and {100 * last['accuracy']:.1f} % of pairs told apart: "
        f"{PAIRS} (50 % is chance). Time: {seconds}."
    )
    return _figure(figures, caption, "Loss and pair accuracy over the epochs")


def _protocol(study: Study) -> str:
    evaluation = study.evaluation
    if evaluation is None:
        return ""
    plan, repeats, seeds = evaluation.plan, len(evaluation.seeds), evaluation.seeds
    used = list(dict.fromkeys(candidate.classifier for candidate in evaluation.candidates))
    classifiers = " or ".join(CLASSIFIERS.get(name, name) for name in used)
    span = f"seed {seeds[0]}" if repeats == 1 else f"seeds {seeds[0]} to {seeds[-1]}"
    sentences = [
        f"The encoder saw all {len(study.graphs):,} graphs, those it is tested on included, but no label of "
        "any (transductive, as in the paper). For graphs it has never seen, expect less.",
        f"{_times(repeats, 'repeat')} ({span}): each trains an encoder of its own and splits the graphs into "
        f"{plan.folds} folds with equal shares of every class. Each fold is predicted once, by {classifiers} "
        "fitted on the other folds.",
        "Whatever has to be chosen (scaling, kernel width, the penalty C) is chosen inside those training "
        f"folds, on {plan.inner_folds} inner folds. No test fold takes part in any choice.",
        "“Over repeats” is the deviation of the repeats' means, “over folds” that of single folds.",
        "The untrained encoder has random weights; its normalisation has seen the graphs once.",
    ]
    if any("paper" in row.method for row in study.rows):
        sentences.append(
            "The paper reports the best average over several layers, learning rates and epochs, chosen by "
            "the same folds that it reports. The figure measured here is of one setting fixed beforehand: "
            "the two are not the same measurement."
        )
    if evaluation.n_stopped:
        sentences.append(
            f"{evaluation.n_stopped:,} of {evaluation.n_fits:,} fits reached their iteration bound."
        )
    return f"<ul>{''.join(f'<li>{escape(sentence)}</li>' for sentence in sentences)}</ul>"


def _graphs(study: Study) -> str:
    about = describe_graphs(study.graphs)
    about.pop("kind")
    return f"{_facts(in_words(about))}<p><small>An undirected edge is two arcs.</small></p>"


def _settings(study: Study) -> str:
    return _facts((name, str(value)) for name, value in study.model.get_params(deep=False).items())


def _facts(pairs: Iterable[tuple[str, str]]) -> str:
    return f"<dl>{''.join(f'<dt>{escape(name)}</dt><dd>{escape(value)}</dd>' for name, value in pairs)}</dl>"


def _figure(figures: Sequence[bytes], caption: str, description: str) -> str:
    light, dark = (f"data:image/png;base64,{base64.b64encode(png).decode()}" for png in figures)
    return (
        f'<figure><picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img src="{light}" alt="{escape(description)}"></picture>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def _section(title: str, content: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{content}</section>"


def _times(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
