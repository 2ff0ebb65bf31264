"""Where the nodes of any graph go: each connected piece by itself, the pieces packed side by side."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from threadpoolctl import threadpool_limits

from infograph.data.graphset import IntArray, pointer
from infograph.understand.arcs import distinct
from infograph.understand.forces import force_layout
from infograph.understand.stress import stress_layout

SMALL = 450  # nodes of a piece whose distances are all looked at
GAP = 0.8  # between pieces, in lengths of an edge
STEP = 0.6  # between nodes without edges
STEPS, FEWEST = 10_000, 8  # of the layouts of all pieces together, and of each at least
Points = NDArray[np.float64]
Box = tuple[float, float, float, float]


def layout(n_nodes: int, edges: IntArray, box: Box) -> Points:
    """A point per node inside a box. (n, 2).

    The same graph always gets the same points. Pieces are turned so that they are wider than high and packed
    in rows, the largest first; nodes without edges come last, as a grid.

    Args:
        n_nodes: how many.
        edges: (2, e) arcs; directions, repetitions and self-loops do not matter.
        box: left, top, width and height.
    """
    plain = distinct(np.sort(edges[:, edges[0] != edges[1]], axis=0))
    ratio = box[2] / box[3]
    with threadpool_limits(1):  # sums over threads round differently, and the eye would see it
        found = _pieces(n_nodes, plain)
        steps = max(FEWEST, STEPS // max(len(found), 1))
        pieces = [(nodes, _place(len(nodes), own, steps)) for nodes, own in found]
    alone = np.setdiff1d(np.arange(n_nodes), plain)
    if len(alone):
        widest = max((float(np.ptp(points[:, 0])) for _, points in pieces), default=0.0)
        columns = max(math.ceil(math.sqrt(len(alone) * ratio)), math.floor(widest / STEP) + 1)
        grid = np.stack(np.divmod(np.arange(len(alone)), columns)[::-1], axis=1)
        pieces.append((alone, grid * STEP))
    return _fit(_pack(n_nodes, pieces, ratio), box)


def _place(n_nodes: int, edges: IntArray, steps: int) -> Points:
    """The points of one piece, its longest direction horizontal."""
    if n_nodes == 2:
        return np.array([[0.0, 0.0], [1.0, 0.0]])
    both = np.hstack([edges, edges[::-1]])
    matrix = csr_array((np.ones(both.shape[1]), (both[0], both[1])), (n_nodes, n_nodes))
    points = stress_layout(matrix, steps) if n_nodes <= SMALL else force_layout(matrix, edges)
    points = points - points.mean(axis=0)
    _, axes = np.linalg.eigh(points.T @ points)
    axes = axes[:, ::-1]
    return np.asarray(points @ (axes * np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])))


def _pieces(n_nodes: int, edges: IntArray) -> list[tuple[IntArray, IntArray]]:
    """Pieces of two nodes or more, the largest first: their nodes, and edges in numbers of their own."""
    matrix = csr_array((np.ones(edges.shape[1], np.int8), (edges[0], edges[1])), (n_nodes, n_nodes))
    count, piece = connected_components(matrix, directed=False)
    order = np.argsort(piece, kind="stable")
    starts = pointer(np.bincount(piece, minlength=count))
    own = np.empty(n_nodes, np.int64)
    own[order] = np.arange(n_nodes) - np.repeat(starts[:-1], np.diff(starts))
    owner = piece[edges[0]]
    edge_order, edge_starts = np.argsort(owner, kind="stable"), pointer(np.bincount(owner, minlength=count))
    numbered = own[edges[:, edge_order]]
    found = [
        (order[starts[k] : starts[k + 1]], numbered[:, edge_starts[k] : edge_starts[k + 1]])
        for k in np.flatnonzero(np.diff(starts) > 1)
    ]
    return sorted(found, key=lambda entry: (-len(entry[0]), int(entry[0][0])))


def _pack(n_nodes: int, pieces: list[tuple[IntArray, Points]], ratio: float) -> Points:
    """Pieces in rows, such that all rows together have about the ratio of the box."""
    lows = [points.min(axis=0) for _, points in pieces]
    sizes = [(points.max(axis=0) - low + GAP).tolist() for (_, points), low in zip(pieces, lows, strict=True)]
    area = sum(width * height for width, height in sizes)
    limit = max(math.sqrt(area * ratio) * 1.05, max(width for width, _ in sizes))
    placed = np.zeros((n_nodes, 2))
    x = y = row = 0.0
    for (nodes, points), low, (width, height) in zip(pieces, lows, sizes, strict=True):
        if x > 0 and x + width > limit:
            x, y, row = 0.0, y + row, 0.0
        placed[nodes] = points - low + [x, y]
        x, row = x + width, max(row, height)
    return placed


def _fit(points: Points, box: Box) -> Points:
    """Scaled and centred into the box, both directions alike."""
    left, top, width, height = box
    low, high = points.min(axis=0), points.max(axis=0)
    span = np.maximum(high - low, 1e-9)
    factor = min(width / span[0], height / span[1], min(width, height) / 2)
    return np.asarray((points - (low + high) / 2) * factor + [left + width / 2, top + height / 2])
