"""What colours the nodes of a drawing, and the legend that says so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet, IntArray
from infograph.data.label_columns import class_name
from infograph.report.palette import Theme, shorten
from infograph.understand.scale import THUMBNAIL, Scale, legend_height, make_scale, scale_legend
from infograph.understand.svg import circle, label

LEVELS = 32  # colours of scores in a drawing of many nodes, each one path


@dataclass(frozen=True)
class NodeColours:
    """A colour per node, the names they stand for (empty where they stand for numbers), and the legend."""

    colours: list[str]
    names: list[str]
    legend: str
    height: float


def by_score(scores: NDArray[np.float64], size: tuple[int, int], theme: Theme) -> NodeColours:
    """Colours of a scale."""
    scale = make_scale(scores, theme)
    shown = scores if len(scores) <= 1000 else _rounded(scores, scale)
    legend = scale_legend(scale, size, theme)
    return NodeColours(scale.colours(shown), [""] * len(scores), legend, legend_height(size))


def by_category(graph: GraphSet, nodes: IntArray, size: tuple[int, int], theme: Theme) -> NodeColours:
    """Hues of the first categorical node column; one hue where there is none.

    Seven categories have a hue, by their place in the schema, so that a category looks the same in all
    drawings of a set; where there are more, the most frequent of this graph have one and the rest is grey.
    """
    column = next((c for c in graph.schema.node if c.kind == "categorical"), None)
    if column is None:
        return NodeColours([theme.hues[0]] * len(nodes), [""] * len(nodes), "", 0.0)
    codes = np.asarray(graph.node[column.name])[nodes]
    present, counts = np.unique(codes, return_counts=True)
    ordered = present[np.argsort(-counts, kind="stable")].tolist()
    fixed = column.unknown <= len(theme.hues)
    hued = sorted(ordered) if fixed else ordered[: len(theme.hues)]
    hue = {
        code: theme.hues[code if fixed else place] for place, code in enumerate(hued) if code < column.unknown
    }
    name = {code: class_name(column.categories[code]) for code in ordered if code < column.unknown}
    entries = [(hue[code], name[code]) for code in hued if code in hue]
    if len(entries) < len(ordered):
        entries.append((theme.missing, "other"))
    legend, height = _legend(entries, f"{column.name}: ", size, theme)
    return NodeColours(
        [hue.get(code, theme.missing) for code in codes.tolist()],
        [f"{column.name} {name[code]}" if code in name else "" for code in codes.tolist()],
        legend,
        height,
    )


def _legend(
    entries: list[tuple[str, str]], head: str, size: tuple[int, int], theme: Theme
) -> tuple[str, float]:
    """Dots and names in rows at the lower edge; none in a thumbnail, where there is no room."""
    width, height = size
    if min(size) < THUMBNAIL:
        return "", 0.0
    rows: list[list[tuple[float, str, str]]] = [[]]
    x = 0.0
    for colour, name in [("", head), *((colour, shorten(name)) for colour, name in entries)]:
        length = 6.2 * len(name) + (18.0 if colour else 2.0)
        if rows[-1] and x + length > width - 24:
            rows.append([])
            x = 0.0
        rows[-1].append((x, colour, name))
        x += length + (10.0 if colour else 0.0)
    top = height - 16.0 * len(rows)
    parts = []
    for place, row in enumerate(rows):
        y = top + 16.0 * place + 4
        for x, colour, name in row:
            if colour:
                parts.append(circle(12 + x + 5, y - 1, 4, colour))
            parts.append(label(12 + x + (13 if colour else 0), y + 3, name, 11, theme.ink))
    return f'<g class="legend">{"".join(parts)}</g>', 16.0 * len(rows) + 6


def _rounded(scores: NDArray[np.float64], scale: Scale) -> NDArray[np.float64]:
    """Scores in a few levels, so that there are few colours."""
    span = (scale.high - scale.low) or 1.0
    return np.asarray(scale.low + np.rint((scores - scale.low) / span * LEVELS) / LEVELS * span)
