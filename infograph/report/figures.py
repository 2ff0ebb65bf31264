"""Figures as PNG: the map of all graphs, and the course of a training run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.label_columns import is_continuous, is_known
from infograph.errors import InvalidParameter
from infograph.report.canvas import make_figure, strip, to_png, write_png
from infograph.report.history import draw_history as draw_history
from infograph.report.history import png_history as png_history
from infograph.report.palette import LIGHT, Theme, group_points, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE_LEGEND = 6  # groups that still fit under the map; more stand beside it


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
