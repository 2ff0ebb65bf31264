"""Edges as they are drawn: undirected ones as lines, single arcs with a head, self-loops as small circles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import IntArray
from infograph.understand.svg import number

MOST_HEADS = 2_000  # beyond, heads would be a grey cloud
Points = NDArray[np.float64]


def plain_edges(arcs: IntArray) -> tuple[IntArray, IntArray]:
    """Each edge once, without self-loops (2, e); and arcs that have no opposite (2, a).

    A repeated edge is one line. Where no arc of the graph has an opposite and all run from the smaller to the
    larger node, as of edges that were listed once, there is no direction to show.
    """
    between = np.unique(arcs[:, arcs[0] != arcs[1]], axis=1)
    if not between.shape[1]:
        return between, between
    total = int(between.max()) + 1
    forward, backward = between[0] * total + between[1], between[1] * total + between[0]
    single = between[:, ~np.isin(backward, forward)]
    return np.unique(np.sort(between, axis=0), axis=1), single


def arrow_heads(start: Points, stop: Points, radius: float, colour: str) -> list[str]:
    """Triangles that end at the rim of the target, as one path."""
    if not len(start) or len(start) > MOST_HEADS:
        return []
    along = stop - start
    length = np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-9)
    along = along / length
    across = along[:, ::-1] * [-1.0, 1.0]
    size = max(radius * 1.1, 2.5)
    tip = stop - along * (radius + 0.5)
    left, right = (tip - along * size + side * across * size * 0.45 for side in (1, -1))
    marks = [
        f"M{number(a)} {number(b)}L{number(c)} {number(d)}L{number(e)} {number(f)}Z"
        for (a, b), (c, d), (e, f) in zip(tip.tolist(), left.tolist(), right.tolist(), strict=True)
    ]
    return [f'<path class="heads" d="{"".join(marks)}" fill="{colour}"/>']


def loops(arcs: IntArray, points: Points, radius: float, stroke: str) -> list[str]:
    """A small circle above every node with a self-loop, as one path."""
    places = points[np.unique(arcs[0, arcs[0] == arcs[1]])]
    if not len(places):
        return []
    r = max(radius * 0.9, 1.5)
    marks = [f"M{number(x)} {number(y)}a{number(r)} {number(r)} 0 1 1 .1 0" for x, y in places.tolist()]
    return [f'<path class="loops" d="{"".join(marks)}" {stroke}/>']
