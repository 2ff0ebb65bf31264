"""Figures as PNG: the map of all graphs, and the course of a training run."""

from __future__ import annotations

import csv
import io
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.labels import class_name, count_classes, is_continuous, is_known
from infograph.data.units import LABEL
from infograph.data.vectors import Embeddings
from infograph.errors import InvalidFile, InvalidParameter, MissingExtra
from infograph.estimators.base import load
from infograph.io import check_writable, read_json, replaced_file
from infograph.look.project import Method, project
from infograph.look.svg import LIGHT, Theme, shorten
from infograph.progress import ERROR, WRONG, terms_of, validation_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE_LEGEND = 6  # groups that still fit under the map; more stand beside it
MOST = 20  # groups in a legend; the rest of a larger column is drawn as one
MARKERS = ("o", "^", "s")
DPI = 150
ACROSS = {1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 6: 3}  # panels -> how many in a row; more have four
WIDTH, HEIGHT = 3.0, 2.4  # inches of a panel
DOTS = 30  # epochs that are still drawn as dots
History = Sequence[Mapping[str, float]]
TITLES = {"mi": "mutual information", "accuracy": "pairs told apart (%)", "lr": "learning rate"}
PERCENT = ("accuracy", "confident")


def draw_map(
    points: NDArray[Any],
    labels: NDArray[Any] | None,
    path: str | Path,
    *,
    title: str = "",
    column: str = "",
    theme: Theme = LIGHT,
) -> Path:
    """Draw points in the plane to a PNG file.

    Args:
        points: (G, 2).
        labels: (G,) classes or measured values that colour the points; None for one colour.
        path: the file; it appears whole or not at all.
        title: stands above the map.
        column: what the labels are called.
        theme: light or dark.

    Raises:
        InvalidParameter: lengths differ.
        MissingExtra: matplotlib is not installed.
    """
    return write_png(png_map(points, labels, title=title, column=column, theme=theme), path)


def png_map(
    points: NDArray[Any],
    labels: NDArray[Any] | None,
    *,
    title: str = "",
    column: str = "",
    theme: Theme = LIGHT,
) -> bytes:
    """The PNG that `draw_map` writes."""
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise InvalidParameter(f"a map has points of shape (G, 2); shape {points.shape} came")
    if labels is not None and len(labels) != len(points):
        raise InvalidParameter(f"{len(labels)} labels came for {len(points)} points")
    figure = make_figure(6.0, 4.9, theme)
    axes = figure.add_subplot()
    strip(axes, theme)
    if title:
        axes.set_title(title, color=theme.ink, fontsize=12, loc="left", parse_math=False)
    if labels is not None and is_continuous(labels):
        _scatter_values(figure, axes, points, labels, column, theme)
    else:
        _scatter_groups(figure, axes, points, labels, column, theme)
    return to_png(figure)


def _scatter_groups(
    figure: Figure,
    axes: Axes,
    points: NDArray[np.float64],
    labels: NDArray[Any] | None,
    column: str,
    theme: Theme,
) -> None:
    x, y = points.T
    if labels is None:
        axes.scatter(x, y, s=_area(len(points)), color=theme.hues[0], alpha=0.8, linewidths=0)
        return
    groups = group_points(labels, theme)
    handles = []
    for order, group in enumerate(groups, start=3):
        faint = group.hue == theme.missing
        handles.append(
            axes.scatter(
                x[group.rows],
                y[group.rows],
                s=_area(len(points)),
                color=group.hue,
                marker=group.marker,
                alpha=0.85,
                zorder=2 if faint else order,
                edgecolors=theme.page,
                linewidths=0 if faint else 0.4,
            )
        )
    below = len(groups) <= WIDE_LEGEND
    legend = figure.legend(
        handles,
        [group.legend for group in groups],
        title=shorten(column) or None,
        loc="outside lower left" if below else "outside right upper",
        ncols=min(len(groups), 3) if below else 1,
        frameon=False,
        markerscale=(36 / _area(len(points))) ** 0.5,
        fontsize=9,
        title_fontsize=9,
        labelcolor=theme.ink,
        alignment="left",
    )
    legend.get_title().set_color(theme.ink)
    for text in (legend.get_title(), *legend.get_texts()):
        text.set_parse_math(False)  # a user's "$" is no formula


def _scatter_values(
    figure: Figure,
    axes: Axes,
    points: NDArray[np.float64],
    labels: NDArray[Any],
    column: str,
    theme: Theme,
) -> None:
    known, (x, y) = is_known(labels), points.T
    if not known.all():
        axes.scatter(
            x[~known], y[~known], s=_area(len(points)), color=theme.missing, marker=".", linewidths=0
        )
    values = labels[known].astype(np.float64)
    drawn = axes.scatter(
        x[known],
        y[known],
        c=values,
        cmap=theme.scale,
        s=_area(len(points)),
        edgecolors=theme.faint,
        linewidths=0.4,
    )
    bar = figure.colorbar(drawn, ax=axes, shrink=0.8)
    missing = "" if known.all() else f", {np.count_nonzero(~known):,} without"
    bar.set_label(f"{shorten(column)} ({len(values):,}{missing})", color=theme.ink, parse_math=False)
    bar.ax.tick_params(colors=theme.ink, labelsize=8)
    bar.outline.set_visible(False)


def _area(n_points: int) -> float:
    """Size of a marker: large for few points, small for many."""
    return float(np.clip(9000 / max(n_points, 1), 3, 42))


@dataclass(frozen=True)
class Group:
    """Points that look alike: their rows, hue, marker, and the line in the legend."""

    rows: NDArray[np.intp]
    hue: str
    marker: str
    legend: str


def group_points(values: NDArray[Any], theme: Theme) -> list[Group]:
    """Classes as hues and markers, the largest first.

    Beyond 20 the smallest are one group, and so are missing values.
    """
    classes = count_classes(values)
    shown = classes if len(classes) <= MOST else classes[: MOST - 1]
    known = is_known(values)
    names = np.array([class_name(value) if there else "" for value, there in zip(values, known, strict=True)])
    groups = [
        Group(
            rows=np.flatnonzero(known & (names == name)),
            hue=theme.hues[place % len(theme.hues)],
            marker=MARKERS[place // len(theme.hues) % len(MARKERS)],
            legend=f"{shorten(name)} ({count:,})",
        )
        for place, (name, count) in enumerate(shown)
    ]
    rest = np.flatnonzero(known & ~np.isin(names, [name for name, _ in shown]))
    if len(rest):
        hidden = len(classes) - len(shown)
        groups.append(Group(rest, theme.missing, "D", f"{hidden} other values ({len(rest):,})"))
    unknown = np.flatnonzero(~known)
    if len(unknown):
        groups.append(Group(unknown, theme.missing, ".", f"no value ({len(unknown):,})"))
    return groups


def make_figure(width: float, height: float, theme: Theme) -> Figure:
    """An empty figure of that many inches.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("matplotlib", "plot") from error
    figure = Figure(figsize=(width, height), dpi=DPI, layout="constrained", facecolor=theme.page)
    FigureCanvasAgg(figure)
    return figure


def strip(axes: Axes, theme: Theme, *, ticks: bool = False) -> None:
    """Leave only what a reader needs: a frame around a map, or two axes with a grid behind a curve."""
    axes.set_facecolor(theme.page)
    for side, spine in axes.spines.items():
        spine.set_visible(not ticks or side in ("left", "bottom"))
        spine.set_color(theme.faint)
    if ticks:
        axes.tick_params(colors=theme.ink, labelsize=8)
        axes.grid(color=theme.faint, linewidth=0.5, alpha=0.6)
        return
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_aspect("equal", adjustable="datalim")


def to_png(figure: Figure) -> bytes:
    """The figure as the content of a PNG file."""
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)  # a name in another script
        figure.savefig(buffer, format="png", dpi=DPI)
    return buffer.getvalue()


def write_png(png: bytes, path: str | Path) -> Path:
    """Write a PNG file, whole or not at all."""
    with replaced_file(path) as work:
        work.write_bytes(png)
    return Path(path)


def draw_embeddings(
    embeddings: Embeddings,
    path: str | Path,
    *,
    column: str | None = None,
    method: Method = "tsne",
    title: str = "",
    random_state: int = 0,
) -> int:
    """Draw the map of all graphs that have a vector, and return how many those are.

    Args:
        embeddings: the vectors and columns.
        path: the PNG file.
        column: what colours the points; by default the column `y`, if there is one.
        method: of the layout, see `project`.
        title: stands above the map.
        random_state: seed of the map.

    Raises:
        SchemaMismatch: there is no such column.
        InvalidParameter: the column holds a different text for every graph, or the file is no PNG.
        MissingExtra: matplotlib is not installed.
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
    make_figure(1, 1, LIGHT)  # before the work that only matplotlib can finish
    points = project(known.vectors, method, random_state)
    draw_map(points, labels, path, title=title, column=column or "")
    return len(known)


def draw_history(history: History, path: str | Path, *, unit: str = "", theme: Theme = LIGHT) -> Path:
    """Draw the convergence plot of a training run to a `.png` or `.svg` file, as in the paper's Appendix.

    Every loss term has a panel of its own, because their sizes differ by orders of magnitude. Dotted lines
    are epochs at which the learning rate fell; a ring is the epoch whose weights were kept. The networks of
    an ensemble are lines of their own.

    Args:
        history: one record per epoch, `history_` of a model.
        path: the file; it appears whole or not at all.
        unit: of the validation error.
        theme: light or dark.

    Raises:
        InvalidParameter: nothing was trained, or another kind of file.
        MissingExtra: matplotlib is not installed.
    """
    if Path(path).suffix not in (".png", ".svg"):
        raise InvalidParameter(f"{path}: a history is drawn to .png or .svg files")
    if Path(path).suffix == ".png":
        return write_png(png_history(history, unit=unit, theme=theme), path)
    return write_png(_svg(_figure(history, unit, theme)), path)


def png_history(history: History, *, unit: str = "", theme: Theme = LIGHT) -> bytes:
    """The PNG that `draw_history` writes."""
    return to_png(_figure(history, unit, theme))


def _figure(history: History, unit: str, theme: Theme) -> Figure:
    panels = panels_of(history, unit)
    across = ACROSS.get(len(panels), 4)
    down = math.ceil(len(panels) / across)
    figure = make_figure(WIDTH * max(across, 2), max(HEIGHT * down, 2.6), theme)
    changes = rate_changes(history)
    for place, panel in enumerate(panels):
        axes = figure.add_subplot(down, across, place + 1)
        strip(axes, theme, ticks=True)
        _draw(axes, panel, theme.ink if panel.key == "lr" else theme.hues[place % len(theme.hues)], theme)
        for epoch in changes if panel.key != "lr" else ():
            axes.axvline(epoch, color=theme.missing, linestyle=":", linewidth=1.0, zorder=1)
        axes.set_title(panel.title, color=theme.ink, fontsize=10, loc="left", parse_math=False)
        if place >= len(panels) - across:
            axes.set_xlabel("epoch", color=theme.ink, fontsize=9)
    return figure


def _draw(axes: Axes, panel: Panel, hue: str, theme: Theme) -> None:
    from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

    for number, (epochs, values) in enumerate(panel.lines):
        marker = "o" if len(epochs) <= DOTS and len(panel.lines) == 1 else ""
        faint = 1.0 if number == 0 else 0.45
        if panel.key == "lr":
            axes.step(epochs, values, where="mid", color=hue, linewidth=1.6, alpha=faint)
            continue
        axes.plot(epochs, values, color=hue, marker=marker, markersize=3.5, linewidth=1.6, alpha=faint)
        if panel.key == "validation" and values:
            best = min(range(len(values)), key=values.__getitem__)
            axes.plot(
                epochs[best],
                values[best],
                marker="o",
                markersize=9,
                markerfacecolor="none",
                markeredgecolor=theme.ink,
                linestyle="",
            )
    if panel.logarithmic:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))


def _svg(figure: Figure) -> bytes:
    import matplotlib as mpl

    buffer = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "infograph"}):  # the same figure, the same file
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


@dataclass(frozen=True)
class Panel:
    """One figure over the epochs.

    Attributes:
        key: its name in the history.
        title: for people, with its unit.
        lines: (epochs, values) of every network.
        logarithmic: whether the axis should be.
    """

    key: str
    title: str
    lines: tuple[tuple[list[float], list[float]], ...]
    logarithmic: bool = False


def panels_of(history: History, unit: str = "") -> list[Panel]:
    """What of a history is worth a look, in order: loss, its terms, accuracy, validation, learning rate.

    Raises:
        InvalidParameter: nothing was trained.
    """
    _check(history)
    keys = [key for key in _keys(history) if _worth(history, key)]
    return [_panel(history, key, unit) for key in keys]


def rate_changes(history: History) -> list[float]:
    """The epochs of the first network from which on the learning rate was lower."""
    epochs, rates = _lines(history, "lr")[0] if any("lr" in record for record in history) else ([], [])
    return [epochs[i] for i in range(1, len(rates)) if rates[i] < rates[i - 1]]


def history_table(
    history: History, unit: str = "", *, most: int = 20, width: int | None = None
) -> tuple[list[str], list[list[str]]]:
    """Head and rows for a terminal: evenly chosen epochs, the best and the last one among them.

    The best epoch of every network is marked with a star. Where `width` letters are too few for all columns,
    the error of the whole is the last to go, and the terms of the loss are the last but one.
    """
    _check(history)
    keys = [key for key in _keys(history) if _worth(history, key)]
    for key in _least_needed(keys):
        head, rows = _table(history, keys, unit, most)
        wide = sum(max(map(len, column)) + 2 for column in zip(head, *rows, strict=True))
        if width is None or wide - 2 <= width:
            break
        keys = [other for other in keys if other != key]
    return _table(history, keys, unit, most)


def _least_needed(keys: Sequence[str]) -> list[str]:
    """The columns to leave out, in that order, where not all fit."""
    each = [key for key in keys if key.startswith(f"{ERROR} ")]
    first = [*each, *(key for key in (*PERCENT, "lr", "loss") if key in keys)]
    return [*first, *(key for key in reversed(keys) if key not in first and key != ERROR)]


def _table(history: History, keys: Sequence[str], unit: str, most: int) -> tuple[list[str], list[list[str]]]:
    head = ["epoch", *(_heading(key, unit) for key in keys)]
    if "model" in history[0]:
        head.insert(0, "network")
    best = set(best_rows(history))
    step = max(1, -(-len(history) // most))
    shown = sorted({*range(0, len(history), step), *best, len(history) - 1})
    rows = []
    for row in shown:
        record = history[row]
        star = " *" if row in best else ""
        cells = [f"{record['epoch']:g}{star}", *(_cell(record.get(key), key, unit) for key in keys)]
        rows.append([f"{record['model']:g}", *cells] if "model" in record else cells)
    return head, rows


def best_rows(history: History) -> list[int]:
    """The record of every network whose weights were kept; none where there was no validation."""
    best: dict[float, int] = {}
    for row, record in enumerate(history):
        model = record.get("model", 1.0)
        if ERROR in record and (model not in best or record[ERROR] < history[best[model]][ERROR]):
            best[model] = row
    return list(best.values())


def write_history(history: History, path: str | Path) -> Path:
    """Write all records to a CSV file, whole or not at all."""
    _check(history)
    names = list(dict.fromkeys(name for record in history for name in record))
    with replaced_file(path) as work, work.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names, restval="")
        writer.writeheader()
        writer.writerows(history)
    return Path(path)


def history_of(path: str | Path) -> tuple[History, str]:
    """The history of a model folder, or of a result file, and the unit of its validation error.

    Raises:
        FileMissing, InvalidFile: there is no such thing, or it is something else.
    """
    path = Path(path)
    if path.suffix != ".json" or path.is_dir():
        model = load(path)
        return model.history_, history_unit(model)
    content = read_json(path)
    history = content.get("history")
    if not isinstance(history, list):
        raise InvalidFile(f"{path} has no history of a training run")
    return history, str(content.get("unit", ""))


def history_unit(model: Any) -> str:
    """The unit of the validation error of a fitted model's history; empty for models without one."""
    units = getattr(model, "target_units_", None)
    return "" if units is None else validation_unit(units, classes=hasattr(model, "classes_"))


def _check(history: History) -> None:
    if not history:
        raise InvalidParameter("there is no history to draw: the model was not trained")


def _keys(history: History) -> list[str]:
    record = history[0]
    known = ["loss", *terms_of(record), "mi", "accuracy", "confident", ERROR]
    each = [name for name in record if name.startswith(f"{ERROR} ")]
    return [key for key in [*known, *each, "lr"] if key in record]


def _worth(history: History, key: str) -> bool:
    if key == "mi":  # the same curve as the loss, upside down
        return False
    if key in terms_of(history[0]) and len(terms_of(history[0])) == 1 and "loss" in history[0]:
        return False  # one term alone is the loss
    return key != "lr" or len({record.get("lr") for record in history}) > 1


def _lines(history: History, key: str) -> list[tuple[list[float], list[float]]]:
    lines: dict[float, tuple[list[float], list[float]]] = {}
    for record in history:
        epochs, values = lines.setdefault(record.get("model", 1.0), ([], []))
        if key in record:
            epochs.append(float(len(epochs) + 1))
            values.append(record[key])
    return list(lines.values())


def _panel(history: History, key: str, unit: str) -> Panel:
    factor = 100.0 if key in PERCENT or (key == ERROR and unit == WRONG) else 1.0
    lines = tuple((epochs, [factor * v for v in values]) for epochs, values in _lines(history, key))
    every = [value for _, values in lines for value in values]
    positive = key not in PERCENT and min(every) > 0
    return Panel(key, _title(key, unit), lines, positive and max(every) > 20 * min(every))


def _title(key: str, unit: str) -> str:
    if key == ERROR:
        return f"validation error ({unit})" if unit else "validation error"
    return TITLES.get(key, f"{key} (%)" if key in PERCENT else key)


def _heading(key: str, unit: str) -> str:
    if key == ERROR:
        return f"validation, {unit}" if unit else "validation"
    return {"accuracy": "pairs, %", "confident": "confident, %"}.get(key, key)


def _cell(value: float | None, key: str, unit: str) -> str:
    if value is None:
        return ""
    return f"{100 * value:.1f}" if key in PERCENT or (key == ERROR and unit == WRONG) else f"{value:.4g}"
