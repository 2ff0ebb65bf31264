"""One graph as a picture that lies on any page."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from infograph.data.graphset import GraphSet
from infograph.understand import draw_graph
from infograph.understand.svg import THEMES, document

SIZES = {160: (160, 120), 400: (400, 300)}  # the width asked for, and the drawing


def draw(graphs: GraphSet, row: int, *, size: int, theme: str, scores: Any = None) -> str:
    """One graph as SVG that is see-through; an empty picture of a graph without nodes.

    Args:
        graphs: the graphs, with atoms named where they are molecules.
        row: which one.
        size: 160 or 400 pixels wide, 3/4 as high.
        theme: "light" or "dark".
        scores: one number per node.
    """
    paper = replace(THEMES[theme], page="none")
    one = graphs[row]
    if not one.n_nodes:
        return document(*SIZES[size], paper, f"graph {one.ids[0]}", ())
    return draw_graph(one, 0, scores=scores, size=SIZES[size], theme=paper)
