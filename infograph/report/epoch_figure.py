"""Accuracy against epochs: does longer training help, and does training help at all?"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from infograph.report.canvas import make_figure, strip
from infograph.report.palette import LIGHT, Theme
from infograph.reproduce.accuracies import Accuracy, Table1
from infograph.reproduce.methods import DEPTHS, EPOCHS, RATES
from infograph.reproduce.paper import paper_table1
from infograph.reproduce.versus import TRAINED, UNTRAINED

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT, ACROSS = 3.2, 2.5, 3  # inches of a panel, and panels in a row
MARKS, STYLES = ("o", "s", "^"), ("-", "--", ":")

Course = dict[
    tuple[int, float], list[float | None]
]  # (layers, lr) -> accuracy after each of EPOCHS, per cent


def course(cell: Accuracy) -> Course:
    """Mean outer accuracy over repeats and folds after each number of epochs, C chosen on inner folds."""
    if cell.evaluation is None:
        return {}
    means = {each.setting: 100 * float(each.chosen_outer.mean()) for each in cell.evaluation.candidates}
    lines = {
        (layers, lr): [means.get(f"layers={layers} lr={lr} epochs={epochs}") for epochs in EPOCHS]
        for layers in DEPTHS
        for lr in RATES
    }
    return {key: line for key, line in lines.items() if any(value is not None for value in line)}


def drawn_sets(table: Table1) -> list[str]:
    """The data sets with something to draw."""
    return [data for data in paper_table1().datasets if course(table[data, TRAINED])]


def svg_epochs(table: Table1, theme: Theme = LIGHT) -> bytes:
    """A panel per data set: colours are learning rates, marks are depths, grey is the untrained encoder.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    names = drawn_sets(table)
    across = min(len(names), ACROSS)
    down = -(-len(names) // across)
    figure = make_figure(max(WIDTH * across, 5.5), HEIGHT * down + 0.6, theme)
    for place, data in enumerate(names):
        axes = figure.add_subplot(down, across, place + 1)
        strip(axes, theme, ticks=True)
        _draw(axes, course(table[data, TRAINED]), table[data, UNTRAINED], theme)
        axes.set_title(data, color=theme.ink, fontsize=10, loc="left")
        if place >= len(names) - across:
            axes.set_xlabel("epochs", color=theme.ink, fontsize=9)
        if place % across == 0:
            axes.set_ylabel("accuracy, %", color=theme.ink, fontsize=9)
    handles = _legend(theme)
    figure.legend(
        handles=handles,
        loc="outside lower left",
        ncols=4,
        frameon=False,
        fontsize=8,
        labelcolor=theme.ink,
    )
    return _svg(figure)


def _draw(axes: Axes, lines: Course, untrained: Accuracy, theme: Theme) -> None:
    if untrained.leak_free is not None:
        axes.axhline(untrained.leak_free[0], color=theme.missing, linewidth=2.0, zorder=1)
    for (layers, lr), values in lines.items():
        look = DEPTHS.index(layers)
        known = [(place, value) for place, value in enumerate(values) if value is not None]
        axes.plot(
            *zip(*known, strict=True),
            color=theme.hues[RATES.index(lr)],
            marker=MARKS[look],
            linestyle=STYLES[look],
            markersize=4,
            linewidth=1.4,
        )
    axes.set_xticks(range(len(EPOCHS)), [str(each) for each in EPOCHS])
    axes.set_xlim(-0.15, len(EPOCHS) - 0.85)


def _legend(theme: Theme) -> Sequence[object]:
    from matplotlib.lines import Line2D

    rates = [
        Line2D([], [], color=theme.hues[p], linewidth=2.5, label=f"lr {lr:g}") for p, lr in enumerate(RATES)
    ]
    depths = [
        Line2D(
            [], [], color=theme.ink, marker=MARKS[p], linestyle=STYLES[p], markersize=4, label=f"{d} layers"
        )
        for p, d in enumerate(DEPTHS)
    ]
    flat = Line2D([], [], color=theme.missing, linewidth=2.0, label="untrained")
    return [*(line for pair in zip(rates, depths, strict=True) for line in pair), flat]


def _svg(figure: object) -> bytes:
    import matplotlib as mpl

    buffer = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "infograph"}):  # the same figure, the same file
        figure.savefig(buffer, format="svg", metadata={"Date": None})  # type: ignore[attr-defined]
    return buffer.getvalue()
