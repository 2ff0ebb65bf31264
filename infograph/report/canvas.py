"""An empty figure outside pyplot, which belongs to the user, and its way to a PNG file."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from infograph.data.storage import replaced_file
from infograph.errors import MissingExtra
from infograph.report.palette import Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 150


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
