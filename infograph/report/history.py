"""The course of a training run as a figure: every loss term, the validation error, the learning rate."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from infograph.errors import InvalidParameter
from infograph.report.canvas import make_figure, strip, to_png, write_png
from infograph.report.history_table import Panel, panels_of, rate_changes
from infograph.report.palette import LIGHT, Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ACROSS = {1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 6: 3}  # panels -> how many in a row; more have four
WIDTH, HEIGHT = 3.0, 2.4  # inches of a panel
DOTS = 30  # epochs that are still drawn as dots

History = Sequence[Mapping[str, float]]


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
