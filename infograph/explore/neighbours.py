"""The nearest graphs of every graph, for files that are read without the index."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import IntArray
from infograph.index import GraphIndex
from infograph.index.neighbours import without_own

BLOCK = 1024  # graphs at a time


def neighbour_table(index: GraphIndex, k: int) -> tuple[IntArray, NDArray[np.float32]]:
    """Rows and scores of the `k` nearest graphs of each, itself left out, best first. (G, k), (G, k)."""
    k = min(k, len(index) - 1)
    rows = np.zeros((len(index), max(k, 0)), np.int64)
    scores = np.zeros(rows.shape, np.float32)
    for start in range(0, len(index) if k > 0 else 0, BLOCK):
        own = np.arange(start, min(start + BLOCK, len(index)))
        hits = index.search(np.asarray(index.vectors[own]), k + 1)
        rows[own], scores[own] = without_own((hits.rows, hits.scores), own)
    return rows, scores
