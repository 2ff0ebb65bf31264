"""Figures: the map of all graphs, and the course of a training run, as files or as a part of a page."""

from __future__ import annotations

import csv
import io
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from infograph.data.labels import class_name, count_classes, is_continuous, is_known
from infograph.data.units import LABEL
from infograph.data.vectors import Embeddings
from infograph.errors import InvalidFile, InvalidParameter, MissingExtra
from infograph.estimators.base import load
from infograph.io import read_json, replaced_file
from infograph.look.project import Method, project
from infograph.look.svg import LIGHT, shorten
from infograph.progress import ERROR, WRONG, terms_of, validation_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

History = Sequence[Mapping[str, float]]  # one record per epoch, `history_` of a model
WIDE_LEGEND = 6  # groups that still fit under the map; more stand beside it
MAX_GROUPS = 20  # in a legend; the rest of a larger column is drawn as one
MAX_VECTOR_POINTS = 5_000  # more of them are pixels inside an SVG
SHOWN = 20  # epochs in a table
MAX_DOTS = 30  # epochs that are still drawn as dots
MARKERS = ("o", "^", "s")
PANEL = 3.0, 2.4  # inches
HEADINGS = {"accuracy": "pairs, %", "confident": "confident, %", "lr": "learning rate"}
IN_PER_CENT = ("accuracy", "confident")
VARIABLES = {  # colours of figures -> those of pages, light or dark
    **{hue: f"var(--hue{place})" for place, hue in enumerate(LIGHT.hues)},
    **{getattr(LIGHT, name): f"var(--{name})" for name in ("page", "ink", "faint", "missing")},
}


def draw_embeddings(
    embeddings: Embeddings,
    path: str | Path,
    *,
    column: str | None = None,
    method: Method = "tsne",
    title: str = "",
    random_state: int = 0,
) -> int:
    """Draw the map of all graphs that have a vector to a file, and return how many those are.

    The column colours the points; without one it is `y`, where there is that.
    """
    if column is None and LABEL in embeddings.columns:
        column = LABEL
    known = embeddings.select(embeddings.usable)
    labels = None if column is None else known.column(column)
    if labels is not None and not is_continuous(labels) and 20 < len(labels) == len(count_classes(labels)):
        raise InvalidParameter(f"the column {column!r} is different for every graph: it cannot colour a map")
    make_figure(1, 1)  # before the work that only matplotlib can finish
    points = project(known.vectors, method, random_state)
    write_figure(map_figure(points, labels, title=title, column=column or ""), path)
    return len(known)


def map_figure(
    points: NDArray[np.float64], labels: NDArray[Any] | None, *, title: str = "", column: str = ""
) -> Figure:
    """Points (G, 2), coloured by `labels` (G,), classes or measured values that are called `column`."""
    figure = make_figure(6.0, 4.9)
    draw_map(figure.add_subplot(), points, labels, title=title, column=column)
    return figure


def draw_map(
    axes: Axes, points: NDArray[np.float64], labels: NDArray[Any] | None, *, title: str = "", column: str = ""
) -> None:
    """The same into axes that are there."""
    strip(axes)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_aspect("equal", adjustable="datalim")
    if title:
        axes.set_title(title, color=LIGHT.ink, fontsize=12, loc="left", parse_math=False)
    area = float(np.clip(9000 / max(len(points), 1), 3, 42))
    style: dict[str, Any] = {"s": area, "linewidths": 0.4, "rasterized": len(points) > MAX_VECTOR_POINTS}
    if labels is None:
        axes.scatter(*points.T, color=LIGHT.hues[0], alpha=0.8, **(style | {"linewidths": 0}))
    elif is_continuous(labels):
        _scatter_values(axes, points, labels, column, style)
    else:
        _scatter_classes(axes, points, labels, column, style)


def _scatter_values(
    axes: Axes, points: NDArray[np.float64], labels: NDArray[Any], column: str, style: dict[str, Any]
) -> None:
    known = is_known(labels)
    axes.scatter(*points[~known].T, color=LIGHT.missing, marker=".", **(style | {"linewidths": 0}))
    values = labels[known].astype(np.float64)
    x, y = points[known].T
    drawn = axes.scatter(x, y, c=values, cmap=LIGHT.scale, edgecolors=LIGHT.faint, **style)
    bar = axes.figure.colorbar(drawn, ax=axes, shrink=0.8)
    missing = "" if known.all() else f", {np.count_nonzero(~known):,} without"
    bar.set_label(f"{shorten(column)} ({len(values):,}{missing})", color=LIGHT.ink, parse_math=False)
    bar.ax.tick_params(colors=LIGHT.ink, labelsize=8)
    bar.outline.set_visible(False)


def _scatter_classes(
    axes: Axes, points: NDArray[np.float64], labels: NDArray[Any], column: str, style: dict[str, Any]
) -> None:
    """A hue and marker per class, the largest first; beyond 20 the smallest are one group."""
    classes, known = count_classes(labels), is_known(labels)
    shown = [name for name, _ in classes[: MAX_GROUPS if len(classes) <= MAX_GROUPS else MAX_GROUPS - 1]]
    names = np.array([class_name(value) if there else "" for value, there in zip(labels, known, strict=True)])
    groups = []
    for place, name in enumerate(shown):
        hue = LIGHT.hues[place % len(LIGHT.hues)]
        groups.append((shorten(name), known & (names == name), hue, MARKERS[place // 7], place))
    rest = f"{len(classes) - len(shown)} other values"
    groups.append((rest, known & ~np.isin(names, shown), LIGHT.missing, "D", -1))
    groups.append(("no value", ~known, LIGHT.missing, ".", -1))
    handles, texts = [], []
    for name, chosen, hue, marker, order in groups:
        if chosen.any():
            look = {"color": hue, "marker": marker, "edgecolors": LIGHT.page, "zorder": order + 3, **style}
            handles.append(axes.scatter(*points[chosen].T, alpha=0.85, **look))
            texts.append(f"{name} ({np.count_nonzero(chosen):,})")
    below = len(texts) <= WIDE_LEGEND
    legend = axes.legend(
        handles,
        texts,
        title=shorten(column) or None,
        loc="upper left",
        bbox_to_anchor=(0, 0) if below else (1, 1),
        borderaxespad=0.3,
        ncols=min(len(texts), 3) if below else 1,
        frameon=False,
        markerscale=(36 / style["s"]) ** 0.5,
        fontsize=9,
        title_fontsize=9,
        labelcolor=LIGHT.ink,
        alignment="left",
    )
    legend.get_title().set_color(LIGHT.ink)
    for text in (legend.get_title(), *legend.get_texts()):
        text.set_parse_math(False)  # a user's "$" is no formula


def draw_history(history: History, path: str | Path, *, unit: str = "") -> Path:
    """Draw the convergence plot of a training run to a `.png` or `.svg` file, as in the paper's Appendix."""
    if Path(path).suffix not in (".png", ".svg"):
        raise InvalidParameter(f"{path}: a history is drawn to .png or .svg files")
    return write_figure(history_figure(history, unit), path)


def history_figure(history: History, unit: str = "") -> Figure:
    """A panel per loss term, whose sizes differ by orders of magnitude; networks of an ensemble are lines."""
    columns = columns_of(history, unit)
    across = math.ceil(math.sqrt(len(columns)))
    down = math.ceil(len(columns) / across)
    figure = make_figure(PANEL[0] * max(across, 2), PANEL[1] * down + 0.2)
    for place, (key, (heading, factor)) in enumerate(columns.items()):
        axes = figure.add_subplot(down, across, place + 1)
        strip(axes, heading, "epoch" if place >= len(columns) - across else "")
        draw_course(axes, history, key, factor, LIGHT.hues[place % len(LIGHT.hues)])
    return figure


def draw_course(axes: Axes, history: History, key: str, factor: float, hue: str) -> None:
    """One figure of a history over the epochs, a line per network."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    records = [record for record in history if key in record]
    values = [factor * record[key] for record in records]
    networks = list(dict.fromkeys(record.get("model", 1.0) for record in records))
    for network in networks:
        own = [record for record in records if record.get("model", 1.0) == network]
        axes.plot(
            [record["epoch"] for record in own],
            [factor * record[key] for record in own],
            color=hue,
            drawstyle="steps-mid" if key == "lr" else "default",
            marker="o" if len(own) <= MAX_DOTS and len(networks) == 1 else "",
            markersize=3.5,
            linewidth=1.6,
            alpha=1.0 if network == networks[0] else 0.45,
        )
    if key not in IN_PER_CENT and 0 < 20 * min(values) < max(values):
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))


def history_table(history: History, unit: str = "") -> tuple[list[str], list[list[str]]]:
    """Head and rows for a terminal: evenly chosen epochs, and the last one."""
    columns = columns_of(history, unit)
    rows = []
    for record in [*history[: -1 : math.ceil(len(history) / SHOWN)], history[-1]]:
        row = [f"{record[key]:g}" for key in ("model", "epoch") if key in record]
        for key, (_, factor) in columns.items():
            row.append(f"{factor * record[key]:{'.1f' if factor > 1 else '.4g'}}" if key in record else "")
        rows.append(row)
    head = ["network"] * ("model" in history[0]) + ["epoch", *(heading for heading, _ in columns.values())]
    return head, rows


def columns_of(history: History, unit: str) -> dict[str, tuple[str, float]]:
    """What is worth a look, in order: key -> heading, and what to multiply by.

    Not `mi`, which is the loss upside down, nor one term alone, which is the loss, nor a constant rate.
    """
    if not history:
        raise InvalidParameter("there is no history: the model was not trained")
    first, terms = history[0], terms_of(history[0])
    keys = ["loss", *(terms if len(terms) > 1 or "loss" not in first else ()), *IN_PER_CENT]
    keys += [key for key in first if key.startswith(ERROR)]
    if len({record.get("lr") for record in history}) > 1:
        keys.append("lr")
    columns = {key: (HEADINGS.get(key, key), 100.0 if key in IN_PER_CENT else 1.0) for key in keys}
    if unit:
        columns[ERROR] = (f"{ERROR}, {unit}", 100.0 if unit == WRONG else 1.0)
    return {key: columns[key] for key in keys if key in first}


def write_history(history: History, path: str | Path) -> Path:
    """Write all records to a CSV file, whole or not at all."""
    columns_of(history, "")
    names = list(dict.fromkeys(name for record in history for name in record))
    with replaced_file(path) as work, work.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, restval="")
        writer.writeheader()
        writer.writerows(history)
    return Path(path)


def history_of(path: str | Path) -> tuple[History, str]:
    """The history of a model folder, or of a result file, and the unit of its validation error."""
    path = Path(path)
    if path.suffix == ".json" and not path.is_dir():
        content = read_json(path)
        if not isinstance(content.get("history"), list):
            raise InvalidFile(f"{path} has no history of a training run")
        return content["history"], str(content.get("unit", ""))
    model = load(path)
    return model.history_, error_unit(model)


def error_unit(model: Any) -> str:
    """Of a model's validation error; empty where it predicts nothing."""
    units = getattr(model, "target_units_", None)
    return "" if units is None else validation_unit(units, classes=hasattr(model, "classes_"))


def draw_errors(
    axes: Axes,
    given: NDArray[np.float64],
    said: NDArray[np.float64],
    bounds: Sequence[NDArray[np.float64]] | None,
) -> None:
    """Predicted over measured numbers (G,), with intervals as bars; on the line they would be right."""
    ends = [min(given.min(), said.min()), max(given.max(), said.max())]
    axes.plot(ends, ends, color=LIGHT.missing, linewidth=1)
    pixels = len(given) > MAX_VECTOR_POINTS
    if bounds is not None:
        axes.vlines(given, *bounds, color=LIGHT.hues[5], linewidth=1.3, alpha=0.8, rasterized=pixels)
    axes.scatter(given, said, s=14, color=LIGHT.hues[0], linewidths=0, zorder=3, rasterized=pixels)


def make_figure(width: float, height: float) -> Figure:
    """An empty figure of that many inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("matplotlib", "plot") from error
    return Figure(figsize=(width, height), layout="constrained", facecolor=LIGHT.page)


def strip(axes: Axes, title: str = "", across: str = "", up: str = "") -> None:
    """Leave only what a reader needs: a frame around a map, or titles and two axes with a grid for curves."""
    axes.set_facecolor(LIGHT.page)
    for side, spine in axes.spines.items():
        spine.set_visible(not title or side in ("left", "bottom"))
        spine.set_color(LIGHT.faint)
    if title:
        axes.tick_params(colors=LIGHT.ink, labelsize=8)
        axes.grid(color=LIGHT.faint, linewidth=0.5, alpha=0.6)
        axes.set_title(title, color=LIGHT.ink, fontsize=10, loc="left", parse_math=False)
        axes.set_xlabel(across, color=LIGHT.ink, fontsize=9)
        axes.set_ylabel(up, color=LIGHT.ink, fontsize=9)


def as_svg(figure: Figure) -> Markup:
    """A figure as a part of a page, which it takes its colours from."""
    text = _saved(figure, "svg").decode()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r' xmlns(:\w+)?="[^"]*"', "", text)
    colour = re.compile(r"(fill|stroke): (#[0-9a-f]{6})")
    return Markup(colour.sub(lambda found: f"{found[1]}: {VARIABLES.get(found[2], found[2])}", text))


def write_figure(figure: Figure, path: str | Path) -> Path:
    """Write a figure to a file, whole or not at all."""
    with replaced_file(path) as work:
        work.write_bytes(_saved(figure, Path(path).suffix[1:]))
    return Path(path)


def _saved(figure: Figure, form: str) -> bytes:
    import matplotlib as mpl

    buffer = io.BytesIO()
    same = {"svg.hashsalt": "infograph", "svg.fonttype": "none"}  # the same figure, the same file
    with warnings.catch_warnings(), mpl.rc_context(same):
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)  # a name in another script
        figure.savefig(buffer, format=form, dpi=150, metadata={"Date": None} if form == "svg" else None)
    return buffer.getvalue()
