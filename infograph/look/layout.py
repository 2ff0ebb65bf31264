"""Where the nodes of any graph go: each connected piece by itself, the pieces packed side by side."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra, shortest_path
from scipy.spatial import cKDTree
from threadpoolctl import threadpool_limits

from infograph.data.graphset import IntArray

SMALL = 450  # nodes of a piece whose distances are all looked at
GAP = 0.8  # between pieces, in lengths of an edge
STEP = 0.6  # between nodes without edges
ALL_STEPS, FEWEST = 10_000, 8  # of the layouts of all pieces together, and of each at least
Points = NDArray[np.float64]
Box = tuple[float, float, float, float]
STRESS_WORK = 16_000_000  # pairs times steps: a quarter of a second
STILL = 2e-4  # movement per node, in lengths of an edge, at which nothing changes that could be seen
PIVOTS = 12
NEAR = 8  # neighbours in the plane that repel a node
FORCES_WORK = 90_000  # nodes times steps: half a second
SPRINGS = 60_000  # edges that pull, evenly spread over all


def layout(n_nodes: int, edges: IntArray, box: Box) -> Points:
    """A point per node inside a box (left, top, width, height), always the same ones. (2, e) -> (n, 2).

    Directions, repetitions and self-loops do not matter. Pieces are turned so that they are wider than high
    and packed in rows, the largest first; nodes without edges come last, as a grid.
    """
    plain = distinct(np.sort(edges[:, edges[0] != edges[1]], axis=0))
    ratio = box[2] / box[3]
    with threadpool_limits(1):  # sums over threads round differently, and the eye would see it
        found = _pieces(n_nodes, plain)
        steps = max(FEWEST, ALL_STEPS // max(len(found), 1))
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
    points = _stress_layout(matrix, steps) if n_nodes <= SMALL else _force_layout(matrix, edges)
    points = points - points.mean(axis=0)
    _, axes = np.linalg.eigh(points.T @ points)
    axes = axes[:, ::-1]
    return np.asarray(points @ (axes * np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])))


def _pieces(n_nodes: int, edges: IntArray) -> list[tuple[IntArray, IntArray]]:
    """Pieces of two nodes or more, the largest first: their nodes, and edges in numbers of their own."""
    matrix = csr_array((np.ones(edges.shape[1], np.int8), (edges[0], edges[1])), (n_nodes, n_nodes))
    count, piece = connected_components(matrix, directed=False)
    found = []
    for k in np.flatnonzero(np.bincount(piece, minlength=count) > 1):
        nodes = np.flatnonzero(piece == k)
        found.append((nodes, np.searchsorted(nodes, edges[:, piece[edges[0]] == k])))
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


# Few nodes in the plane: distances on the page as proportional to distances in the graph as can be.
#
# The energy is Kamada and Kawai's (1989), sum over pairs of (|x_u - x_v| - d_uv)^2 / d_uv^2. Majorisation
# (Gansner, Koren and North 2004) lowers it in every step, without step sizes or chance, and some ten times
# faster than networkx's minimiser: 10 ms instead of 130 ms for 32 nodes.


def _stress_layout(matrix: csr_array, steps: int) -> Points:
    """A point per node of a connected graph, an edge about as long as 1. (n, n) adjacency -> (n, 2)."""
    distances = np.asarray(shortest_path(matrix, directed=False, unweighted=True))  # (n, n)
    points = _start(distances)
    with np.errstate(divide="ignore"):
        weights = np.where(distances > 0, distances**-2.0, 0.0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    n_nodes = len(points)
    solve = np.linalg.inv(laplacian + 1 / n_nodes) - 1 / n_nodes
    wanted = weights * distances  # 1 / d
    for _ in range(min(steps, STRESS_WORK // n_nodes**2)):
        moved = solve @ _pull(points, wanted)
        change = np.abs(moved - points).max()
        points = moved
        if change < STILL:
            break
    return points


def _start(distances: NDArray[np.float64]) -> Points:
    """Classical scaling, with a small seeded offset that parts nodes which have the same distances to all."""
    squared = distances**2
    means = squared.mean(axis=0)
    _, directions = np.linalg.eigh(means[:, None] + means - squared - squared.mean())
    plane = directions[:, ::-1][:, :2]
    plane = plane * np.sign(plane[np.abs(plane).argmax(axis=0), [0, 1]])
    offsets = np.random.default_rng(0).normal(size=plane.shape) * 0.2
    return np.asarray(plane * distances.mean() * np.sqrt(len(plane)) + offsets)


def _pull(points: Points, wanted: NDArray[np.float64]) -> Points:
    """B(X) X: every pair pulls or pushes towards its distance."""
    lengths = (points**2).sum(axis=1)
    ratio = points @ points.T  # (n, n)
    ratio *= -2
    ratio += lengths[:, None]
    ratio += lengths
    np.sqrt(np.maximum(ratio, 1e-10, out=ratio), out=ratio)
    np.divide(wanted, ratio, out=ratio)
    return np.asarray(ratio.sum(axis=1)[:, None] * points - ratio @ points)


# Many nodes in the plane: a rough shape from a few distances, then springs.
#
# Distances to a few pivots give the large shape (Brandes and Pich 2007); springs along edges and repulsion
# between near nodes (Fruchterman and Reingold 1991) untangle what coincides, such as the leaves of a star.


def _force_layout(matrix: csr_array, edges: IntArray) -> Points:
    """A point per node of a connected graph, of its adjacency (n, n) and edges (2, e). (n, 2)."""
    n_nodes = matrix.shape[0]
    points = _pivot_layout(matrix)
    steps = int(np.clip(FORCES_WORK // n_nodes, 4, 60))
    heat = np.sqrt(n_nodes) / 8
    if edges.shape[1] > SPRINGS:
        edges = edges[:, np.linspace(0, edges.shape[1] - 1, SPRINGS).astype(np.int64)]
    degree = np.maximum(np.bincount(edges.ravel(), minlength=n_nodes), 1)[:, None]
    for step in range(steps):
        force = _springs(points, edges) / np.sqrt(degree) + _repulsion(points)
        size = np.maximum(np.sqrt((force**2).sum(axis=1, keepdims=True)), 1e-9)
        points = points + force / size * np.minimum(size, heat * (1 - step / steps) + 0.02)
    return _gather(points)


def _pivot_layout(matrix: csr_array) -> Points:
    """Classical scaling of the distances to pivots, each the node farthest from those before."""
    n_nodes = matrix.shape[0]
    pivot, nearest, columns = int(np.diff(matrix.indptr).argmax()), np.full(n_nodes, np.inf), []
    for _ in range(PIVOTS):
        distance = dijkstra(matrix, unweighted=True, indices=pivot)
        columns.append(distance)
        nearest = np.minimum(nearest, distance)
        pivot = int(nearest.argmax())
    squared = np.stack(columns, axis=1) ** 2  # (n, pivots)
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1, keepdims=True) + squared.mean()
    _, directions = np.linalg.eigh(centred.T @ centred)
    plane = centred @ directions[:, ::-1][:, :2]
    spread = np.maximum(plane.std(axis=0), 1e-9)
    plane = plane / spread * [1.0, max(0.4, min(1.0, spread[1] / spread[0]))]
    offsets = np.random.default_rng(0).normal(size=(n_nodes, 2)) * 0.15
    return _gather((plane + offsets) * np.sqrt(n_nodes) / 3)


def _gather(points: Points) -> Points:
    """A few nodes that are far from all others come nearer, or everything else would be tiny."""
    centred = points - np.median(points, axis=0)
    radius = np.maximum(np.sqrt((centred**2).sum(axis=1, keepdims=True)), 1e-9)
    usual = max(float(np.percentile(radius, 90)), 1e-9)
    beyond = np.maximum(radius / usual, 1.0)
    return np.asarray(centred * (1 + 0.6 * np.log(beyond)) / beyond)


def _springs(points: Points, edges: IntArray) -> Points:
    """Along every edge, the square of its length."""
    pull = points[edges[1]] - points[edges[0]]  # (e, 2)
    pull *= np.minimum(np.sqrt((pull**2).sum(axis=1, keepdims=True)), 30.0)
    force = np.empty_like(points)
    for axis in range(2):
        force[:, axis] = np.bincount(edges[0], pull[:, axis], len(points))
        force[:, axis] -= np.bincount(edges[1], pull[:, axis], len(points))
    return force


def _repulsion(points: Points) -> Points:
    """1 / distance away from the nearest nodes."""
    _, near = cKDTree(points).query(points, k=NEAR + 1)
    away = points[:, None] - points[near[:, 1:]]  # (n, near, 2)
    squared = np.maximum((away**2).sum(axis=2, keepdims=True), 1e-4)
    return np.asarray((away / squared).sum(axis=1) * 2.0)


def distinct(pairs: IntArray) -> IntArray:
    """Each pair of nodes once, sorted. (2, e) -> (2, at most e). Half a million take 50 ms."""
    base = int(pairs.max(initial=0)) + 1
    return np.stack(np.divmod(np.unique(pairs[0].astype(np.int64) * base + pairs[1]), base))
