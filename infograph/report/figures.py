"""Figures: the map of all graphs, and the course of a training run, as files or as a part of a page."""

from __future__ import annotations

import csv
import io
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from infograph.data.labels import class_name, count_classes, is_continuous, is_known
from infograph.data.units import LABEL
from infograph.data.vectors import Embeddings
from infograph.errors import InvalidFile, InvalidParameter, MissingExtra
from infograph.estimators.base import load
from infograph.io import check_writable, read_json, replaced_file
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
MAX_DOTS = 30  # epochs that are still drawn as dots
MARKERS = ("o", "^", "s")
PANEL = 3.0, 2.4  # inches
HEADINGS = {"accuracy": "pairs, %", "confident": "confident, %", "lr": "learning rate"}
IN_PER_CENT = ("accuracy", "confident")
VARIABLES = {  # colours of figures -> those of pages, light or dark
    **{hue: f"var(--hue{place})" for place, hue in enumerate(LIGHT.hues)},
    **{getattr(LIGHT, name): f"var(--{name})" for name in ("page", "ink", "faint", "missing")},
}


def draw_map(
    points: NDArray[Any], labels: NDArray[Any] | None, path: str | Path, *, title: str = "", column: str = ""
) -> Path:
    """Draw points in the plane to a PNG file.

    Args:
        points: (G, 2).
        labels: (G,) classes or measured values that colour the points; None for one colour.
        path: the file; it appears whole or not at all.
        title: stands above the map.
        column: what the labels are called.
    """
    return _write(map_figure(points, labels, title=title, column=column), path)


def draw_embeddings(
    embeddings: Embeddings,
    path: str | Path,
    *,
    column: str | None = None,
    method: Method = "tsne",
    title: str = "",
    random_state: int = 0,
) -> int:
    """Draw the map of all graphs that have a vector to a PNG file, and return how many those are.

    Args:
        embeddings: the vectors and columns.
        path: the PNG file.
        column: what colours the points; by default the column `y`, if there is one.
        method: of the layout, see `project`.
        title: stands above the map.
        random_state: seed of the map.
    """
    if Path(path).suffix != ".png":
        raise InvalidParameter(f"{path}: maps are drawn to .png files")
    if column is None and LABEL in embeddings.columns:
        column = LABEL
    known = embeddings.select(embeddings.usable)
    labels = None if column is None else known.column(column)
    if labels is not None and not is_continuous(labels) and 20 < len(labels) == len(count_classes(labels)):
        raise InvalidParameter(f"the column {column!r} is different for every graph: it cannot colour a map")
    check_writable(path)
    make_figure(1, 1)  # before the work that only matplotlib can finish
    points = project(known.vectors, method, random_state)
    draw_map(points, labels, path, title=title, column=column or "")
    return len(known)


def draw_history(history: History, path: str | Path, *, unit: str = "") -> Path:
    """Draw the convergence plot of a training run to a `.png` or `.svg` file, as in the paper's Appendix.

    Every loss term has a panel of its own, because their sizes differ by orders of magnitude. The networks of
    an ensemble are lines of their own.

    Args:
        history: one record per epoch, `history_` of a model.
        path: the file; it appears whole or not at all.
        unit: of the validation error.
    """
    if Path(path).suffix not in (".png", ".svg"):
        raise InvalidParameter(f"{path}: a history is drawn to .png or .svg files")
    return _write(history_figure(history, unit), path)


def map_figure(
    points: NDArray[Any], labels: NDArray[Any] | None, *, title: str = "", column: str = ""
) -> Figure:
    """The figure that `draw_map` writes."""
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise InvalidParameter(f"a map has points of shape (G, 2); shape {points.shape} came")
    if labels is not None and len(labels) != len(points):
        raise InvalidParameter(f"{len(labels)} labels came for {len(points)} points")
    figure = make_figure(6.0, 4.9)
    axes = figure.add_subplot()
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
        _scatter_values(figure, axes, points, labels, column, style)
    else:
        _scatter_groups(figure, axes, points, group_points(labels), column, style)
    return figure


def _scatter_groups(
    figure: Figure,
    axes: Axes,
    points: NDArray[np.float64],
    groups: Sequence[Group],
    column: str,
    style: dict[str, Any],
) -> None:
    handles = []
    for order, group in enumerate(groups, start=3):
        order = 2 if group.hue == LIGHT.missing else order
        look = {"color": group.hue, "marker": group.marker, "edgecolors": LIGHT.page, **style}
        handles.append(axes.scatter(*points[group.rows].T, alpha=0.85, zorder=order, **look))
    below = len(groups) <= WIDE_LEGEND
    legend = figure.legend(
        handles,
        [group.legend for group in groups],
        title=shorten(column) or None,
        loc="outside lower left" if below else "outside right upper",
        ncols=min(len(groups), 3) if below else 1,
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


def _scatter_values(
    figure: Figure,
    axes: Axes,
    points: NDArray[np.float64],
    labels: NDArray[Any],
    column: str,
    style: dict[str, Any],
) -> None:
    known = is_known(labels)
    axes.scatter(*points[~known].T, color=LIGHT.missing, marker=".", **(style | {"linewidths": 0}))
    values = labels[known].astype(np.float64)
    x, y = points[known].T
    drawn = axes.scatter(x, y, c=values, cmap=LIGHT.scale, edgecolors=LIGHT.faint, **style)
    bar = figure.colorbar(drawn, ax=axes, shrink=0.8)
    missing = "" if known.all() else f", {np.count_nonzero(~known):,} without"
    bar.set_label(f"{shorten(column)} ({len(values):,}{missing})", color=LIGHT.ink, parse_math=False)
    bar.ax.tick_params(colors=LIGHT.ink, labelsize=8)
    bar.outline.set_visible(False)


class Group(NamedTuple):
    """Points that look alike: their rows, hue, marker, and the line in the legend."""

    rows: NDArray[np.intp]
    hue: str
    marker: str
    legend: str


def group_points(values: NDArray[Any]) -> list[Group]:
    """Classes as hues and markers, the largest first.

    Beyond 20 the smallest are one group, and so are missing values.
    """
    classes = count_classes(values)
    shown = classes if len(classes) <= MAX_GROUPS else classes[: MAX_GROUPS - 1]
    known = is_known(values)
    names = np.array([class_name(value) if there else "" for value, there in zip(values, known, strict=True)])
    groups = []
    for place, (name, count) in enumerate(shown):
        round_, hue = divmod(place, len(LIGHT.hues))
        rows = np.flatnonzero(known & (names == name))
        groups.append(Group(rows, LIGHT.hues[hue], MARKERS[round_], f"{shorten(name)} ({count:,})"))
    rest = np.flatnonzero(known & ~np.isin(names, [name for name, _ in shown]))
    if len(rest):
        hidden = len(classes) - len(shown)
        groups.append(Group(rest, LIGHT.missing, "D", f"{hidden} other values ({len(rest):,})"))
    if not known.all():
        unknown = np.flatnonzero(~known)
        groups.append(Group(unknown, LIGHT.missing, ".", f"no value ({len(unknown):,})"))
    return groups


def history_figure(history: History, unit: str = "") -> Figure:
    """The figure that `draw_history` writes."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    columns = _columns(history, unit)
    across = math.ceil(math.sqrt(len(columns)))
    down = math.ceil(len(columns) / across)
    figure = make_figure(PANEL[0] * max(across, 2), PANEL[1] * down + 0.2)
    for place, (key, (heading, factor)) in enumerate(columns.items()):
        axes = figure.add_subplot(down, across, place + 1)
        strip(axes, heading, "epoch" if place >= len(columns) - across else "")
        lines: dict[float, list[tuple[float, float]]] = {}
        for record in history:
            if key in record:
                network = lines.setdefault(record.get("model", 1.0), [])
                network.append((record["epoch"], factor * record[key]))
        for number, line in enumerate(lines.values()):
            axes.plot(
                *zip(*line, strict=True),
                color=LIGHT.hues[place % len(LIGHT.hues)],
                drawstyle="steps-mid" if key == "lr" else "default",
                marker="o" if len(line) <= MAX_DOTS and len(lines) == 1 else "",
                markersize=3.5,
                linewidth=1.6,
                alpha=0.45 if number else 1.0,
            )
        values = [value for line in lines.values() for _, value in line]
        if key not in IN_PER_CENT and 0 < 20 * min(values) < max(values):
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_minor_locator(NullLocator())
            axes.yaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    return figure


def history_table(history: History, unit: str = "", *, most: int = 20) -> tuple[list[str], list[list[str]]]:
    """Head and rows for a terminal: evenly chosen epochs, and the last one."""
    columns = _columns(history, unit)
    step = math.ceil(len(history) / most)
    rows = []
    for record in [*history[:-1:step], history[-1]]:
        row = [f"{record[key]:g}" for key in ("model", "epoch") if key in record]
        for key, (_, factor) in columns.items():
            digits = ".1f" if factor > 1 else ".4g"
            row.append(f"{factor * record[key]:{digits}}" if key in record else "")
        rows.append(row)
    head = ["network"] * ("model" in history[0]) + ["epoch", *(heading for heading, _ in columns.values())]
    return head, rows


def _columns(history: History, unit: str) -> dict[str, tuple[str, float]]:
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
    _columns(history, "")
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
    units = getattr(model, "target_units_", None)
    unit = "" if units is None else validation_unit(units, classes=hasattr(model, "classes_"))
    return model.history_, unit


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


def _write(figure: Figure, path: str | Path) -> Path:
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
