"""The report of a training, which its model folder holds: verdict, figures, worst graphs; and the card."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from scipy.stats import binom

from infograph.data.graphset import GraphSet
from infograph.data.molecules import SMILES
from infograph.data.units import split_header
from infograph.estimators.labelled import SemiSupervised
from infograph.io import without_nan, write_text
from infograph.learn.judging import AUC, IN_UNITS, RMSE, deciding, in_digits
from infograph.learn.training import LEVEL, ErrorRow, Learned, label_curve, overview, title_of, unit_of
from infograph.look.svg import LIGHT, shorten
from infograph.parameters import described
from infograph.progress import WRONG
from infograph.report.figures import as_svg, draw_errors, history_figure, make_figure, strip
from infograph.report.pages import Sheet, as_markdown, picture, render, text

WORST = 6  # graphs that are drawn
MORE = 100  # labels that an extrapolation asks about
BINS = 10  # of probabilities
MOST_CLASSES = 12  # in a table of what is taken for what
MOST_PANELS = 12
OF_HEADS = ("objective", "inputs", "head", "dim", "class_weight", "n_models", "random_state", "unlabelled")
Drawn = tuple[Markup, str]  # a figure and its caption


def write_report(
    learned: Learned,
    folder: str | Path,
    *,
    notes: Sequence[str] = (),
    announce: Callable[[str], None] = lambda line: None,
) -> Path:
    """Write `report.html` and `results.json` to the folder of the saved model, and what they say to its card.

    `notes` say what became of molecules before; the learning curve, which takes long, is announced.
    """
    folder, tested = Path(folder), learned.tested
    points = label_curve(learned, announce)
    said = _made(learned, notes), _limits(learned)
    sheets = _sheets(learned.rows)
    figures: dict[str, Drawn] = {}
    if tested.known.any() and not tested.classes:
        figures["Predicted over measured"] = _number_figure(learned)
    elif tested.known.any():
        if tested.headline == AUC:
            figures["ROC curves of the test graphs"] = _roc_figure(learned)
        figures["Predicted probabilities beside what is so"] = _reliability_figure(learned)
    if len(points) > 1:
        figures["Error over the number of labels"] = _curve_figure(learned, points)
    if tested.classes and tested.scores is None and len(learned.model.classes_) <= MOST_CLASSES:
        sheets += [("What is taken for what", _confusion(learned))] if len(tested.given) else []
    trained = learned.model.history_ and not learned.model.inputs_
    page = render(
        "training.html",
        title=f"Model of {_targets(learned)}",
        learned=learned,
        summary=_summary(learned),
        sheets=sheets,
        figures=figures.items(),
        worst=_worst(learned),
        worst_caption=_WORST[tested.classes],
        history=as_svg(history_figure(learned.model.history_, unit_of(learned.parts))) if trained else None,
        made=said[0],
        limits=said[1],
        settings=_settings(learned.model).items(),
    )
    results = {**learned.to_dict(), "learning_curve": points}
    card = (folder / "README.md").read_text(encoding="utf-8")
    beside = "## Columns of the graphs"
    card = card.replace(beside, _card(learned, *said) + beside, 1)
    content = json.dumps(without_nan(results), indent=1) + "\n"
    for name, written in (("report.html", page), ("results.json", content), ("README.md", card)):
        write_text(folder / name, written, errors="replace")
    return folder / "report.html"


# ---- what is said, on the page and on the card


def _targets(learned: Learned) -> str:
    names = learned.parts.targets
    return ", ".join(names) if len(names) <= 3 else f"{len(names)} columns"


def _summary(learned: Learned) -> str:
    parts, what = learned.parts, "classes" if learned.parts.task == "classification" else "numbers"
    graphs = "molecules" if SMILES.name in parts.train.graph else "graphs"
    told = zip(parts.targets, learned.model.target_units_, strict=True)
    units = ", ".join(dict.fromkeys(unit for name, unit in told if unit and not split_header(name)[1]))
    return (
        f"Predicts {_targets(learned)} as {what}{units and ' in ' + units}; learned from "
        f"{parts.n_labelled:,} labelled {graphs} by the method “{title_of(learned.model)}”."
    )


def _made(learned: Learned, notes: Sequence[str]) -> list[str]:
    parts, schema = learned.parts, learned.model.schema_
    even = ", with equal shares of every class" * (parts.task == "classification" and len(parts.targets) == 1)
    drawn = f"at random{even}" if parts.how == "random" else "by scaffold, each in one part only"
    lines = [f"Graphs were divided {drawn}: {parts.in_words}. Test graphs took no part in any choice."]
    if learned.verdicts:
        lines.append(
            "The verdict compares the model with the best of the other methods on the same test graphs: the "
            "interval of the difference is the middle 95 % of 2,000 draws of these graphs with replacement."
        )
    if schema.option("hydrogens") is not None:  # molecules
        stripped, seen, atoms = (schema.option(name) for name in ("salts", "stereo", "hydrogens"))
        salts = "Counter-ions and solvents were removed" if stripped == "strip" else "Salts were kept whole"
        nodes = "atoms of the graphs" if atoms else "no atoms of the graphs but counts"
        stereo = "is seen" if seen else "is not seen"
        lines.append(f"{salts}. Stereochemistry {stereo}. Hydrogens are {nodes}.")
    chosen = learned.model.choice_
    return [*lines, *([chosen] if chosen else []), *notes]


def _settings(model: SemiSupervised) -> dict[str, Any]:
    """Those of the model; of a head of vectors only what it has, and what was chosen for "auto"."""
    every = described(model)
    if not model.inputs_:
        return every
    every |= {"inputs": model.inputs_, "head": model.head_, "dim": model._encoder.dim}
    return {name: every[name] for name in OF_HEADS}


def _limits(learned: Learned) -> list[str]:
    model, counts, lines = learned.model, learned.tested.known.sum(axis=0).tolist(), []
    if learned.parts.how == "random":
        lines.append(
            "Test graphs were drawn from the same source as the others: graphs of another kind are predicted "
            "worse. For molecules, a training that divides by scaffold shows by how much."
        )
    for name, share, count in zip(model.target_names_, learned.covered, counts, strict=False):
        if not count:
            continue
        low, high = (_percent(end / count) for end in binom.ppf([0.025, 0.975], count, LEVEL))
        lines.append(
            f"Intervals of {name} that are to hold {_percent(LEVEL)} of the graphs hold {_percent(share)} of "
            f"{count:,} test graphs; {low} to {high} would be chance. For graphs unlike those of the "
            f"training they are too narrow."
        )
    if not learned.covered and learned.parts.task == "regression":
        lines.append("There are no intervals: errors on graphs that were not learned from are not known.")
    if model._elements:
        lines.append(f"Elements of the training: {', '.join(model._elements)}. Others are guessed.")
    return lines


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _card(learned: Learned, made: Sequence[str], limits: Sequence[str]) -> str:
    lines = [_summary(learned), "", *map(str, learned.verdicts), ""]
    for name, sheet in _sheets(learned.rows)[:3]:
        lines += [f"## {name}", "", as_markdown(sheet), ""]
    for name, told in (("How it was made and measured", made), ("Limits", limits)):
        lines += [f"## {name}", "", *(f"- {line}" for line in told), ""]
    return "\n".join([*lines, ""])


# ---- tables


def _shown(value: float, name: str) -> str:
    return _percent(value) if name == WRONG and value == value else in_digits(value, name)


def _sheets(rows: Sequence[ErrorRow]) -> list[tuple[str, Sheet]]:
    """Methods by figures, per target; of several columns of classes their mean, and each by methods."""
    targets, shown = dict.fromkeys(row.target for row in rows), overview(rows)
    made = []
    for target in dict.fromkeys(row.target for row in shown):
        own = [row for row in shown if row.target == target]
        figures = list(own[0].test)
        chosen = deciding(figures)
        best = {
            name: (min if name in (*IN_UNITS, WRONG) else max)(row.test[name] for row in own)
            for name in figures
        }
        lines = [
            (
                text(row.method, "this model" if place == 0 else ""),
                *(text(_shown(row.test[name], name), bold=row.test[name] == best[name]) for name in figures),
                _shown(row.validation[chosen], chosen),
            )
            for place, row in enumerate(own)
        ]
        names = [name.removeprefix("% ") for name in figures]
        head = ("method", *names, f"{chosen.removeprefix('% ')}, validation")
        made.append((f"{own[0].title}, test graphs", Sheet.of(head, lines)))
    if len(shown) < len(rows):
        methods = dict.fromkeys(row.method for row in rows)
        each = [
            (target, *(_shown(row.test[AUC], AUC) for row in rows if row.target == target))
            for target in list(targets)[1:]
        ]
        made.append(("Test ROC-AUC of every column", Sheet.of(("column", *methods), each)))
    return made


def _confusion(learned: Learned) -> Sheet:
    names = [str(label) for label in learned.model.classes_.tolist()]
    given, said = learned.tested.given[:, 0], learned.tested.said[:, 0]
    rows = []
    for place, name in enumerate(names):
        found = np.bincount(said[given == place].astype(np.int64), minlength=len(names)).tolist()
        cells = (text(f"{n:,}" if n else "", bold=at == place) for at, n in enumerate(found))
        rows.append((name, *cells))
    return Sheet.of(("is, predicted as", *names), rows)


# ---- figures


def _panels(count: int) -> tuple[Any, list[Any]]:
    across = min(count, 3)
    down = math.ceil(count / across)
    size = (4.6, 4.2) if count == 1 else (3.2 * across, 3.0 * down)
    figure = make_figure(*size)
    return figure, [figure.add_subplot(down, across, place + 1) for place in range(count)]


def _number_figure(learned: Learned) -> Drawn:
    """Predicted over measured, and how far off."""
    tested = learned.tested
    targets = np.flatnonzero(tested.known.any(axis=0))[:MOST_PANELS].tolist()
    figure, panels = _panels(len(targets))
    for target, axes in zip(targets, panels, strict=True):
        rows = tested.known[:, target]
        given, said = tested.given[rows, target], tested.said[rows, target]
        strip(axes, shorten(learned.parts.targets[target]), "measured", "predicted")
        bounds = None if learned.bounds is None else [each[rows, target] for each in learned.bounds]
        draw_errors(axes, given, said, bounds)
    words = "Each point is a test graph; on the line it would be right."
    if learned.covered:
        shares = ", ".join(_percent(share) for share in learned.covered if not math.isnan(share))
        words += f" Bars are intervals that are to hold {_percent(LEVEL)} of the graphs: they hold {shares}."
    return as_svg(figure), words


def _roc_figure(learned: Learned) -> Drawn:
    from sklearn.metrics import roc_curve

    tested, second = learned.tested, learned.model.classes_.tolist()[1]
    scores = np.asarray(tested.scores)  # (G, T)
    figure, (axes,) = _panels(1)
    strip(axes, "ROC", f"share of others taken for {second}", f"share of {second} that is found")
    axes.plot([0, 1], [0, 1], color=LIGHT.missing, linewidth=1)
    few = len(tested.names) <= len(LIGHT.hues)
    for target, (name, figures) in enumerate(zip(tested.names, tested.figures, strict=True)):
        rows = tested.known[:, target]
        if not math.isnan(figures[AUC]):
            curve = roc_curve(tested.given[rows, target], scores[rows, target])
            hue = LIGHT.hues[target if few else 0]
            label = f"{shorten(name)} ({figures[AUC]:.2f})"
            axes.plot(*curve[:2], color=hue, linewidth=1.6 if few else 0.8, label=label)
    if few:
        axes.legend(frameon=False, fontsize=8, labelcolor=LIGHT.ink, loc="lower right")
    words = "Each line is a column. The further to the upper left, the better; the diagonal is guessing."
    return as_svg(figure), words


def _reliability_figure(learned: Learned) -> Drawn:
    """Of the probability of the second of two classes, else of the predicted one."""
    tested = learned.tested
    if tested.scores is not None:
        across = f"predicted probability of {learned.model.classes_.tolist()[1]}"
        sure, right = tested.scores[tested.known], tested.given[tested.known] == 1
    else:
        across, rows = "predicted probability", tested.known[:, 0]
        sure = np.asarray(learned.model.predict_proba(learned.parts.test)).max(axis=1)[rows]
        right = tested.wrong[rows, 0] == 0
    figure, (axes,) = _panels(1)
    strip(axes, "Reliability", across, "how often it is so")
    axes.plot([0, 1], [0, 1], color=LIGHT.missing, linewidth=1)
    bins = np.minimum((sure * BINS).astype(np.int64), BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    there = counts > 0
    means = [np.bincount(bins, each, BINS)[there] / counts[there] for each in (sure, right)]
    area = 15 + 150 * counts[there] / counts.max()
    axes.scatter(*means, s=area, color=LIGHT.hues[1], linewidths=0, zorder=3)
    words = "On the diagonal, probabilities can be taken as they are. A point's size is the number of graphs."
    return as_svg(figure), words


# ---- the graphs it is most wrong about


_WORST = {
    False: "The test graphs with the largest errors: mistakes in the table, or graphs of a kind that the "
    "model does not know.",
    True: "The test graphs whose class the model held for least likely: mistakes in the table, or graphs of "
    "a kind that it does not know.",
}


def _worst(learned: Learned) -> list[dict[str, Any]]:
    """Drawing, id, and what was said of each."""
    tested, graphs = learned.tested, learned.parts.test
    far = tested.wrong
    if tested.scores is not None:
        far = np.abs(tested.given - tested.scores)
    elif not tested.classes and len(graphs) > 1 and far.shape[1] > 1:
        far = far / tested.spread
    far = np.where(tested.known, far, -1.0)
    order = np.argsort(-far.max(axis=1, initial=-1.0), kind="stable")[:WORST]
    return [_drawn(learned, graphs, int(row), int(far[row].argmax())) for row in order if far[row].max() > 0]


def _drawn(learned: Learned, graphs: GraphSet, row: int, target: int) -> dict[str, Any]:
    tested, name = learned.tested, learned.parts.targets[target]
    given, said = tested.given[row, target], tested.said[row, target]
    values: list[Any] = [f"{given:.4g}", f"{said:.3g}"]
    if tested.classes:
        known = learned.model.classes_.tolist()
        values = [known[int(each)] if each >= 0 else "another class" for each in (given, said)]
    lines = [f"{name}: {values[0]}", f"predicted: {values[1]}"]
    if tested.scores is not None:
        lines[1] += f" (probability of {learned.model.classes_[1]}: {tested.scores[row, target]:.2f})"
    if learned.bounds is not None:
        low, high = (each[row, target] for each in learned.bounds)
        lines.append(f"{_percent(LEVEL)} interval: {low:.3g} to {high:.3g}")
    own = str(graphs.ids[row])
    return {"drawing": picture(graphs, row, own), "id": own, "lines": lines}


# ---- how the error falls with labels


def _curve_figure(learned: Learned, points: Sequence[tuple[int, float]]) -> Drawn:
    """The points, a power law through them, and what that says of more labels."""
    from matplotlib.ticker import NullLocator

    counts, errors = np.array([n for n, _ in points]), np.array([error for _, error in points])
    name = {AUC: "1 - ROC-AUC", WRONG: "share of wrong classes"}.get(learned.tested.headline, RMSE)
    figure = make_figure(4.6, 4.2)
    axes = figure.add_subplot()
    strip(axes, f"test {name}", "labels", "")
    slope, level = np.polyfit(np.log(counts), np.log(np.maximum(errors, 1e-9)), 1)
    more = np.geomspace(counts[0], counts[-1] + MORE, 50)
    axes.plot(more, np.exp(level) * more**slope, color=LIGHT.missing, linewidth=1, linestyle="--")
    axes.plot(counts, errors, color=LIGHT.hues[0], marker="o", markersize=5, linewidth=1.6)
    axes.set_xscale("log")
    axes.set_xticks(counts, [f"{n:,}" for n in counts])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_ylim(0, 1.08 * float(errors.max()) or None)
    words = f"More labels did not lower the {name} here: nothing can be said of {MORE} more."
    if slope < -0.01:
        then = errors[-1] * ((counts[-1] + MORE) / counts[-1]) ** slope
        words = (
            f"If the error went on falling along the dashed line (a power law), {MORE} more measurements "
            f"would bring the {name} from {errors[-1]:.3g} to about {then:.3g}. That is an extrapolation."
        )
    return as_svg(figure), words
