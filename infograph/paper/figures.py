"""Accuracy over the epochs of training, which the report shows."""

from __future__ import annotations

from typing import Any

from infograph.evaluate.methods import DEPTHS, EPOCHS, RATES
from infograph.evaluate.published import paper_table1
from infograph.look.svg import LIGHT
from infograph.paper.table1 import TRAINED, UNTRAINED, Accuracy, Table1
from infograph.report.figures import as_svg, make_figure, strip

PANEL = 3.2, 2.5  # inches
MARKERS, STYLES = ("o", "s", "^"), ("-", "--", ":")


def epochs_figure(table: Table1) -> str:
    """A panel per data set: colours are learning rates, marks are depths, grey is the untrained encoder."""
    courses = {data: course(table[data, TRAINED]) for data in paper_table1().datasets}
    drawn = {data: lines for data, lines in courses.items() if lines}
    if not drawn:
        return ""
    from matplotlib.lines import Line2D

    across = min(len(drawn), 3)
    down = -(-len(drawn) // across)
    figure = make_figure(max(PANEL[0] * across, 5.5), PANEL[1] * down + 0.6)
    for place, (data, lines) in enumerate(drawn.items()):
        axes = figure.add_subplot(down, across, place + 1)
        below = "epochs" if place >= len(drawn) - across else ""
        strip(axes, data, below, "" if place % across else "accuracy, %")
        untrained = table[data, UNTRAINED].leak_free
        if untrained is not None:
            axes.axhline(untrained[0], color=LIGHT.missing, linewidth=2.0, zorder=1)
        for (layers, lr), values in lines.items():
            known = [(EPOCHS.index(epochs), value) for epochs, value in values.items()]
            axes.plot(*zip(*known, strict=True), color=LIGHT.hues[RATES.index(lr)], **_depth_style(layers))
        axes.set_xticks(range(len(EPOCHS)), [str(each) for each in EPOCHS])
        axes.set_xlim(-0.15, len(EPOCHS) - 0.85)
    handles = []
    for place, (lr, depth) in enumerate(zip(RATES, DEPTHS, strict=True)):
        handles.append(Line2D([], [], color=LIGHT.hues[place], linewidth=2.5, label=f"lr {lr:g}"))
        handles.append(Line2D([], [], color=LIGHT.ink, label=f"{depth} layers", **_depth_style(depth)))
    handles.append(Line2D([], [], color=LIGHT.missing, linewidth=2.0, label="untrained"))
    look = {"loc": "outside lower left", "ncols": 4, "frameon": False, "fontsize": 8}
    figure.legend(handles=handles, labelcolor=LIGHT.ink, **look)
    return as_svg(figure)


def _depth_style(layers: int) -> dict[str, Any]:
    place = DEPTHS.index(layers)
    return {"marker": MARKERS[place], "linestyle": STYLES[place], "markersize": 4, "linewidth": 1.4}


def course(cell: Accuracy) -> dict[tuple[int, float], dict[int, float]]:
    """(layers, lr) -> mean outer accuracy after each number of epochs, C chosen on inner folds."""
    lines: dict[tuple[int, float], dict[int, float]] = {}
    for candidate in () if cell.evaluation is None else cell.evaluation.candidates:
        of = dict(part.split("=") for part in candidate.setting.split())
        line = lines.setdefault((int(of["layers"]), float(of["lr"])), {})
        line[int(of["epochs"])] = 100 * float(candidate.chosen_outer.mean())
    return lines
