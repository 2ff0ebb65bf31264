"""Many nodes in the plane: a rough shape from a few distances, then springs.

Distances to a few pivots give the large shape (Brandes and Pich 2007); springs along edges and repulsion
between near nodes (Fruchterman and Reingold 1991) untangle what coincides, such as the leaves of a star.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree

from infograph.data.graphset import IntArray

PIVOTS = 12
NEAR = 8  # neighbours in the plane that repel a node
WORK = 90_000  # nodes times steps: half a second
SPRINGS = 60_000  # edges that pull, evenly spread over all
Points = NDArray[np.float64]


def force_layout(matrix: csr_array, edges: IntArray) -> Points:
    """A point per node of a connected graph. (n, 2).

    Args:
        matrix: (n, n) its adjacency, symmetric.
        edges: (2, e) each edge once.
    """
    n_nodes = matrix.shape[0]
    points = _pivot_layout(matrix)
    steps = int(np.clip(WORK // n_nodes, 4, 60))
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
