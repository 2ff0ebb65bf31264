"""Exact nearest neighbours: float32 products find the candidates, double precision decides.

A product of float32 vectors is wrong by at most about D * 2^-24 of their lengths (Higham 2002, Eq. 3.5).
Every row that could be among the k best within this bound is scored again in double precision, so that the
result is that of a loop in double precision, ties included, at the speed of one pass over the vectors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import IntArray
from infograph.index.metric import Metric, best_first, inverse, scores_of

MEMORY = 64 << 20  # bytes of scores at a time
ROUNDING = 2.0**-24
SLACK = 16  # roundings besides those of the sum: of the query, lengths, scores
UNDERFLOW = 1e-36


def nearest(
    metric: Metric,
    vectors: NDArray[np.float32],
    norms: NDArray[np.float64],
    queries: NDArray[np.float32],
    k: int,
) -> tuple[IntArray, NDArray[np.float32]]:
    """The `k` best rows of each query, best first, and their scores. (Q, D) -> (Q, k), (Q, k).

    Of equal scores the row that was stored first comes first. Memory: 64 MB, or one score per vector.
    """
    k = min(k, len(vectors))
    rows = np.empty((len(queries), k), np.int64)
    scores = np.empty((len(queries), k), np.float32)
    if not k:
        return rows, scores
    at_once = max(1, MEMORY // (4 * len(vectors)))
    for start in range(0, len(queries), at_once):
        part = queries[start : start + at_once]
        costs, errors = _costs(metric, vectors, norms, part)  # (B, G), (B, G) or (B, 1)
        for place, query in enumerate(part):
            possible = _possible(costs[place], errors[place], k)
            found = scores_of(metric, vectors, norms, query, possible)
            rows[start + place], scores[start + place] = best_first(metric, possible, found, k)
    return rows, scores


def _costs(
    metric: Metric,
    vectors: NDArray[np.float32],
    norms: NDArray[np.float64],
    queries: NDArray[np.float32],
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """What is to be small, in float32, and how far it may be off: minus the cosine, or squared distances."""
    wide = queries.astype(np.float64)
    own = np.sqrt((wide * wide).sum(axis=1))[:, None]  # (B, 1)
    relative = 1.1 * (vectors.shape[1] + SLACK) * ROUNDING
    if metric == "cosine":
        directions = (wide * inverse(own)).astype(np.float32)
        costs = directions @ vectors.T  # (B, G)
        costs *= -inverse(norms).astype(np.float32)
        return costs, np.full((len(queries), 1), relative, np.float32)
    costs = queries @ vectors.T
    costs *= -2
    squares = (norms**2).astype(np.float32) + (own**2).astype(np.float32)  # (B, G)
    costs += squares
    return costs, (relative * squares + UNDERFLOW).astype(np.float32)


def _possible(costs: NDArray[np.float32], errors: NDArray[np.float32], k: int) -> IntArray:
    """Rows that may be among the `k` of least cost, whatever the rounding was."""
    worst = np.partition(costs + errors, k - 1)[k - 1]
    return np.flatnonzero(costs - errors <= worst)
