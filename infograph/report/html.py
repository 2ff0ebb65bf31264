"""A study as one page that needs nothing else: figures are inside, and no address is ever fetched."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape

from infograph.maps.map2d import NAMES
from infograph.report.describe import describe_graphs
from infograph.report.figures import png_history, png_map
from infograph.report.page import page
from infograph.report.palette import DARK, LIGHT
from infograph.report.result import CLASSIFIERS, Row, Study
from infograph.report.words import in_words

PAIRS = "the share of (node, graph) pairs whose membership the discriminator gets right"


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
    rows = "".join(_row(row) for row in study.rows)
    head = "<tr><th>method</th><th>accuracy</th><th>over repeats</th><th>over folds</th><th></th></tr>"
    verdict = ""
    if study.difference:
        verdict = (
            f"<p>InfoGraph minus untrained encoder, on the same folds: {escape(str(study.difference))}.</p>"
        )
    table = f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"
    return f'<div class="wide">{table}</div>{verdict}'


def _row(row: Row) -> str:
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
