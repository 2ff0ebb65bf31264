"""Where a graph that is not on the map would be: among the graphs it is most like."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infograph.explore.explorer import Explorer

AMONG = 12  # nearest graphs whose places count
SAME = 1e-6  # of the typical distance: the same vector, and so the same place
WORDS = f"at the mean of its {AMONG} nearest graphs, weighted by similarity"


def place(explorer: Explorer, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """A point per vector: the mean of its nearest graphs' points, weighted by similarity. (Q, D) -> (Q, 2).

    A weight is 1 / distance^2, with the cosine distance 1 - cos or the Euclidean one; a graph with the vector
    of a stored one is put onto its point.
    """
    hits = explorer.index.search(vectors, AMONG)
    distances = np.asarray(hits.scores, np.float64)  # (Q, K)
    if hits.metric == "cosine":
        distances = np.maximum(1 - distances, 0)
    typical = np.maximum(distances.max(axis=1, keepdims=True), 1e-12)
    weights = 1 / np.maximum(distances / typical, SAME) ** 2
    weights /= weights.sum(axis=1, keepdims=True)
    points = explorer.atlas.points[hits.rows].astype(np.float64)  # (Q, K, 2)
    return np.asarray((weights[:, :, None] * points).sum(axis=1))
