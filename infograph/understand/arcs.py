"""Edges as they are drawn: undirected ones as lines, single arcs with a head, self-loops as small circles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import IntArray
from infograph.understand.svg import number

MOST_MARKS = 1_000  # heads and self-loops; more would be a grey cloud
Points = NDArray[np.float64]


def distinct(pairs: IntArray) -> IntArray:
    """Each pair of nodes once, sorted. (2, e) -> (2, at most e). Half a million take 50 ms."""
    if not pairs.shape[1]:
        return pairs.astype(np.int64)
    base = int(pairs.max()) + 1
    keys = np.sort(pairs[0].astype(np.int64) * base + pairs[1])
    first = np.concatenate([[True], keys[1:] != keys[:-1]])
    return np.stack(np.divmod(keys[first], base))


def plain_edges(arcs: IntArray) -> tuple[IntArray, IntArray]:
    """Each edge once, without self-loops (2, e); and arcs that have no opposite (2, a).

    A repeated edge is one line.
    """
    between = distinct(arcs[:, arcs[0] != arcs[1]])
    if not between.shape[1]:
        return between, between
    base = int(between.max()) + 1
    forward, backward = between[0] * base + between[1], between[1] * base + between[0]
    place = np.searchsorted(forward, backward)  # they are sorted
    opposite = forward[np.minimum(place, len(forward) - 1)] == backward
    return distinct(np.sort(between, axis=0)), between[:, ~opposite]


def left_out(arcs: IntArray) -> list[str]:
    """What of a graph's arcs is too much to be shown, in words."""
    _, single = plain_edges(arcs)
    n_loops = len(np.unique(arcs[0, arcs[0] == arcs[1]]))
    return [
        *(["no self-loops"] if n_loops > MOST_MARKS else []),
        *(["no directions"] if single.shape[1] > MOST_MARKS else []),
    ]


def arrow_heads(start: Points, stop: Points, radius: float, colour: str) -> list[str]:
    """Triangles that end at the rim of the target, as one path."""
    if not len(start) or len(start) > MOST_MARKS:
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
    return [f'<path class="heads" d="{"".join(marks)}" fill="{colour}" fill-opacity="0.55"/>']


def loops(arcs: IntArray, points: Points, radius: float, stroke: str) -> list[str]:
    """A small circle above every node with a self-loop, as one path."""
    places = points[np.unique(arcs[0, arcs[0] == arcs[1]])]
    if not len(places) or len(places) > MOST_MARKS:
        return []
    r = max(radius * 0.9, 1.5)
    marks = [f"M{number(x)} {number(y)}a{number(r)} {number(r)} 0 1 1 .1 0" for x, y in places.tolist()]
    return [f'<path class="loops" d="{"".join(marks)}" {stroke}/>']
