"""From subgraphs, induced or not, to induced graphlets: all three- and four-node graphs, connected or not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

THREE = ("empty", "edge", "wedge", "triangle")
FOUR = (
    "empty",
    "edge",
    "two edges",
    "wedge + node",
    "triangle + node",
    "path",
    "star",
    "cycle",
    "paw",
    "diamond",
    "clique",
)
N_CONNECTED = {3: 2, 4: 6}  # the last ones


def three_nodes(raw: NDArray[np.int64]) -> NDArray[Any]:
    """Counts of the induced three-node graphs, as Python's whole numbers, which do not overflow. (G, 4)."""
    n, m, wedges, triangles, *_ = raw.astype(object).T
    wedge = wedges - 3 * triangles
    edge = m * (n - 2) - 2 * wedge - 3 * triangles
    edge = np.where(n < 3, 0, edge)
    empty = n * (n - 1) * (n - 2) // 6 - edge - wedge - triangles
    return np.stack([empty, edge, wedge, triangles], axis=1)


def four_nodes(raw: NDArray[np.int64]) -> NDArray[Any]:
    """Counts of the induced four-node graphs, as Python's whole numbers. (G, 11).

    Each line takes a subgraph's count and subtracts how often it is inside every denser graph on four nodes.
    The unconnected ones count, over all sets of four nodes, something with a closed form: triangles, wedges,
    pairs of disjoint edges, edges, and the sets themselves.
    """
    n, m, wedges, triangles, stars, paths, cycles, paws, diamonds, clique = raw.astype(object).T
    diamond = diamonds - 6 * clique
    paw = paws - 4 * diamond - 12 * clique
    cycle = cycles - diamond - 3 * clique
    star = stars - paw - 2 * diamond - 4 * clique
    path = paths - 2 * paw - 4 * cycle - 6 * diamond - 12 * clique
    triangle = triangles * (n - 3) - paw - 2 * diamond - 4 * clique
    wedge = (wedges - 3 * triangles) * (n - 3) - 2 * path - 3 * star - 4 * cycle - 2 * paw - 2 * diamond
    apart = m * (m - 1) // 2 - wedges - path - 2 * cycle - paw - 2 * diamond - 3 * clique
    denser = 2 * (apart + wedge) + 3 * (triangle + path + star) + 4 * (cycle + paw) + 5 * diamond + 6 * clique
    edge = m * ((n - 2) * (n - 3) // 2) - denser
    rest = edge + apart + wedge + triangle + path + star + cycle + paw + diamond + clique
    empty = n * (n - 1) * (n - 2) * (n - 3) // 24 - rest
    counts = np.stack([empty, edge, apart, wedge, triangle, path, star, cycle, paw, diamond, clique], axis=1)
    counts[(n < 4).astype(bool)] = 0  # (n - 3) is negative there
    return counts
