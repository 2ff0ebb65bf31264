"""Figures for notebooks and scripts: every function draws into matplotlib's Axes and returns them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.data.targets import class_targets, numeric_targets
from infograph.data.units import match_name
from infograph.errors import InvalidParameter, MissingExtra
from infograph.estimators.base import GraphPredictor
from infograph.evaluate import PairedTest
from infograph.evaluate.judges import SCORINGS
from infograph.look.project import Method, project
from infograph.look.svg import LIGHT, shorten
from infograph.report.figures import PANEL, columns_of, draw_course, draw_errors, draw_map, error_unit, strip

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEVEL = 0.05  # significance of a gain
MOST_CLASSES = 12  # whose counts are readable in a square


def plot_history(model: Any, *what: str, ax: Any = None) -> Any:
    """Draw the course of a training: loss terms, errors and the learning rate over the epochs.

    Args:
        model: a trained model, or its `history_`.
        what: figures of the history, such as "loss", "mi", "validation"; by default those worth a look.
        ax: an Axes, or one for each figure; a new figure by default.

    Returns:
        The Axes where one figure is drawn, else an array of them, as `pyplot.subplots` has it.
    """
    history = getattr(model, "history_", model if isinstance(model, Sequence) else [])
    columns = columns_of(history, error_unit(model))
    for name in what:
        if not any(name in record for record in history):
            have = ", ".join(dict.fromkeys(key for record in history for key in record if key != "epoch"))
            raise InvalidParameter(f"the history has no {name!r}; it has {have}")
    chosen = {name: columns.get(name, (name, 1.0)) for name in what or columns}
    panels = _panels(ax, len(chosen))
    for place, (axes, (key, (heading, factor))) in enumerate(zip(panels, chosen.items(), strict=True)):
        strip(axes, heading, "epoch")
        draw_course(axes, history, key, factor, LIGHT.hues[place % len(LIGHT.hues)])
    return panels[0] if len(panels) == 1 else np.array(panels)


def plot_map(
    vectors: Any,
    colour: Any = None,
    *,
    graphs: GraphSet | None = None,
    method: Method | None = None,
    random_state: int = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw a point per graph, such that near points are similar vectors.

    Args:
        vectors: (G, D), as `transform` gives them, or a GraphIndex; (G, 2) are drawn as they are.
        colour: (G,) classes or measured values, NaN or None where unknown; or the name of a column of the
            GraphIndex or of `graphs`, whose classes have their names then; stored codes have none.
        graphs: the graphs of the vectors, in their order, for a column by its name.
        method: "umap", "tsne" or "pca"; None takes UMAP where it is installed, else t-SNE.
        random_state: seed of the layout.
        ax: where to draw; a new figure by default.
    """
    name = ""
    if isinstance(colour, str):
        name, colour = _named(colour, vectors, graphs)
    rows = np.asarray(getattr(vectors, "vectors", vectors))
    if rows.ndim != 2:
        raise InvalidParameter(f"vectors of the shape {rows.shape}: expected (graphs, numbers)")
    values = None if colour is None else np.asarray(colour)
    if values is not None and values.shape != (len(rows),):
        raise InvalidParameter(f"{len(rows):,} vectors, but colour has the shape {values.shape}")
    axes = _panels(ax, 1, (6.0, 4.9))[0]  # before the work that only matplotlib can finish
    points = rows if rows.shape[1] == 2 else project(rows, method, random_state)
    draw_map(axes, np.asarray(points, np.float64), values, column=name or getattr(colour, "name", "") or "")
    return axes


def _named(name: str, vectors: Any, graphs: GraphSet | None) -> tuple[str, Any]:
    """A column of an index or of graphs by its name, with or without the unit, and its values."""
    columns = getattr(vectors, "columns", None)
    own = columns if isinstance(columns, Mapping) else {}
    others = () if graphs is None else [column.name for column in graphs.schema.graph]
    names = list(dict.fromkeys([*own, *others]))
    found = match_name(names, name)
    if found is None:
        have = ", ".join(map(repr, names)) or "no names: pass graphs= for theirs"
        raise InvalidParameter(f"colour={name!r}: no such column to colour by; there are {have}")
    return found, own[found] if graphs is None or found in own else graphs.values("graph", found)


def plot_predictions(
    model: Any,
    graphs: Any,
    y: Any = None,
    *,
    interval: float | None = 0.9,
    target: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw predictions of labelled graphs: numbers over measured ones, of classes what is taken for what.

    Args:
        model: a fitted model that predicts.
        graphs: graphs with known values, best those that the model did not learn from.
        y: their values, or the name of a column, as in `fit`.
        interval: the share of graphs that the bars are to hold; None for no bars. Models that do not know how
            wrong they are have none.
        target: one of several targets by its name; the first by default.
        ax: where to draw; a new figure by default.
    """
    if not isinstance(model, GraphPredictor):
        raise InvalidParameter(f"a {type(model).__name__} predicts nothing: give a model with a target")
    model._check_fitted()
    known = as_graphset(graphs, schema=model.schema_)
    if target is not None and target not in model.target_names_:
        raise InvalidParameter(f"target={target!r}: the model predicts {', '.join(model.target_names_)}")
    place = 0 if target is None else model.target_names_.index(target)
    if hasattr(model, "classes_"):
        if len(model.target_names_) > 1:
            raise InvalidParameter("several columns of classes: draw one by a classifier of its own")
        given = class_targets(y, known, model.unlabelled, fitting=False)
        _check_any(given.labelled)
        names = np.array([given.classes[code] for code in given.codes[given.labelled].tolist()])
        axes = _panels(ax, 1, (4.4, 4.2))[0]
        return _draw_confusion(axes, model, names, model.predict(known)[given.labelled])
    targets = numeric_targets(y, known, unlabelled=model.unlabelled, fitting=False)
    measured = targets.like(model.target_names_, model.target_units_).values[:, place]
    there = ~np.isnan(measured)
    _check_any(there)
    bars = interval is not None and getattr(model, "error_bars_", None) is not None
    found = model.predict(known, interval=interval) if bars else (model.predict(known),)  # type: ignore[call-arg]
    said, *bounds = (np.reshape(each, (len(known), -1))[there, place] for each in found)
    axes = _panels(ax, 1, (4.6, 4.2))[0]
    name, unit = shorten(model.target_names_[place]), model.target_units_[place]
    beside = f", {unit}" if unit and unit not in name else ""
    wrong = float(np.abs(said - measured[there]).mean())
    strip(axes, f"{name}: mean error {wrong:.3g}", f"measured{beside}", f"predicted{beside}")
    draw_errors(axes, measured[there], said, bounds or None)
    return axes


def _check_any(known: NDArray[np.bool_]) -> None:
    if not known.any():
        raise InvalidParameter("not one of the graphs has a value: there is nothing to draw predictions over")


def _draw_confusion(axes: Axes, model: Any, given: NDArray[Any], said: NDArray[Any]) -> Axes:
    """A square per pair of classes, as dark as the share of its row, with counts."""
    unseen = [each for each in np.unique(given).tolist() if each not in model.classes_]
    classes = [*model.classes_.tolist(), *unseen]
    if len(classes) > MOST_CLASSES:
        raise InvalidParameter(f"{len(classes)} classes: at most {MOST_CLASSES} can be drawn readably")
    counts = np.array([[np.sum((given == a) & (said == b)) for b in classes] for a in classes])  # (C, C)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    right = float(np.trace(counts) / counts.sum())
    title = f"{shorten(model.target_names_[0])}: {100 * right:.1f} % of {counts.sum():,} right"
    strip(axes, title, "predicted", "is")
    axes.grid(False)
    axes.imshow(share, cmap="Blues", vmin=0, vmax=1)
    for (row, column), count in np.ndenumerate(counts):
        ink = LIGHT.page if share[row, column] > 0.55 else LIGHT.ink
        axes.text(column, row, f"{count:,}", ha="center", va="center", color=ink)
    names = [shorten(str(each)) for each in classes]
    long = max(map(len, names)) > 6
    axes.set_xticks(range(len(names)), names, rotation=40 if long else 0, ha="right" if long else "center")
    axes.set_yticks(range(len(names)), names)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return axes


def plot_gains(gains: Mapping[str, PairedTest], *, ax: Axes | None = None) -> Axes:
    """Draw what one method adds over another: a dot per set of graphs, and the interval of the difference.

        plot_gains({"MUTAG": paired_test(trained, untrained)})

    Colours are for differences with p < 0.05: blue ahead, orange behind.

    Args:
        gains: outcomes of `paired_test` by the name of the set, all of one kind of score.
        ax: where to draw; a new figure by default.
    """
    scorings = {each.scoring for each in gains.values()}
    if len(scorings) != 1:
        raise InvalidParameter(f"expected tests of one kind of score, got {sorted(scorings) or 'none'}")
    (scoring,) = scorings
    percent, level = SCORINGS[scoring].percent, next(iter(gains.values())).level
    unit, scale = (f"points of {scoring}", 100) if percent else (scoring, 1)
    axes = _panels(ax, 1, (5.4, 1.0 + 0.34 * len(gains)))[0]
    strip(axes, f"difference, with {100 * level:g} % intervals", unit)
    axes.grid(False, axis="y")
    axes.axvline(0, color=LIGHT.ink, linewidth=1)
    for row, each in enumerate(gains.values()):
        hue = LIGHT.hues[6 if each.p_value >= LEVEL else 0 if each.difference > 0 else 1]
        ends = [scale * end for end in each.interval]
        axes.plot(ends, [row, row], color=hue, linewidth=2.5, solid_capstyle="round")
        axes.plot(scale * each.difference, row, "o", color=hue, markersize=7, markeredgecolor=LIGHT.page)
        chance = "p < 0.001" if each.p_value < 1e-3 else f"p = {each.p_value:.2g}"
        at: Any = {"xycoords": ("axes fraction", "data"), "xytext": (6, 0), "textcoords": "offset points"}
        axes.annotate(chance, (1, row), **at, va="center", fontsize=8, color=LIGHT.ink)
    axes.set_yticks(range(len(gains)), [shorten(name) for name in gains])
    axes.set_ylim(len(gains) - 0.5, -0.5)
    return axes


def _panels(ax: Any, count: int, size: tuple[float, float] | None = None) -> list[Axes]:
    """The axes that a user gave, or new ones that a notebook shows."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingExtra("matplotlib", "plot") from error
    if ax is not None:
        given = [*np.ravel(ax)]
        if len(given) != count:
            raise InvalidParameter(f"ax: {count} figures need as many Axes, got {len(given)}")
        return given
    across = math.ceil(math.sqrt(count))
    down = math.ceil(count / across)
    inches = size or ((4.2, 3.0) if count == 1 else (PANEL[0] * across, PANEL[1] * down + 0.2))
    figure = pyplot.figure(figsize=inches, layout="constrained", facecolor=LIGHT.page)
    return [figure.add_subplot(down, across, place + 1) for place in range(count)]
