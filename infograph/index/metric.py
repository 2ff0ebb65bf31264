"""How alike two vectors are: cosine similarity or Euclidean distance, in double precision."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import IntArray
from infograph.errors import InvalidParameter

Metric = Literal["cosine", "euclidean"]
BLOCK = 4096  # rows that are in memory in double precision at a time
SHORTEST, LONGEST = 1e-18, 1e18  # lengths whose squares float32 can hold


def check_metric(metric: str) -> None:
    """Refuse a metric that there is not."""
    if metric not in get_args(Metric):
        raise InvalidParameter(f"metric={metric!r}: expected 'cosine' or 'euclidean'")


def norms_of(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """The lengths of vectors. (G, D) -> (G,)."""
    norms = np.empty(len(vectors))
    for start in range(0, len(vectors), BLOCK):
        rows = np.asarray(vectors[start : start + BLOCK], np.float64)
        norms[start : start + BLOCK] = np.sqrt((rows * rows).sum(axis=1))
    return norms


def inverse(norms: NDArray[np.float64]) -> NDArray[np.float64]:
    """One over each length; 0 for a vector that is too short to have a direction. (G,)."""
    return np.where(norms > SHORTEST, 1 / np.maximum(norms, SHORTEST), 0.0)


def scores_of(
    metric: Metric,
    vectors: NDArray[np.float32],
    norms: NDArray[np.float64],
    query: NDArray[np.float32],
    rows: IntArray,
) -> NDArray[np.float32]:
    """The scores of some rows, summed in double precision and rounded once. (R,) -> (R,).

    Every row is summed in the same order, so that equal vectors have equal scores wherever they stand. The
    cosine with a vector of length 0 is 0.
    """
    wanted = np.asarray(query, np.float64)
    scores = np.empty(len(rows))
    for start in range(0, len(rows), BLOCK):
        part = slice(start, start + BLOCK)
        chosen = vectors[rows[part]].astype(np.float64)  # (B, D)
        if metric == "cosine":
            scores[part] = (chosen * wanted).sum(axis=1) * inverse(norms[rows[part]])
        else:
            scores[part] = np.sqrt(((chosen - wanted) ** 2).sum(axis=1))
    if metric == "cosine":
        own = inverse(np.sqrt((wanted * wanted).sum(keepdims=True)))
        scores = np.clip(scores * own, -1, 1)
    return scores.astype(np.float32)


def best_first(
    metric: Metric, rows: IntArray, scores: NDArray[np.float32], k: int
) -> tuple[IntArray, NDArray[np.float32]]:
    """The `k` best rows and their scores; of equal scores the row that was stored first."""
    order = np.lexsort((rows, -scores if metric == "cosine" else scores))[:k]
    return rows[order], scores[order]


def check_vectors(vectors: Any, ids: NDArray[Any] | None = None) -> NDArray[np.float32]:
    """One vector per row, as float32. (G, D).

    Raises:
        InvalidParameter: it is no such array, or a vector is not finite or too long; the message names it.
    """
    try:
        with np.errstate(over="ignore"):  # becomes infinite, and is refused below
            found = np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InvalidParameter(
            f"expected an array of vectors (G, D), got {type(vectors).__name__}"
        ) from error
    if found.ndim != 2 or not found.size:
        raise InvalidParameter(f"vectors of shape {found.shape}: expected (G, D), one row for each graph")
    for start in range(0, len(found), BLOCK):
        rows = found[start : start + BLOCK]
        bad = np.flatnonzero(~(np.abs(rows).max(axis=1) < LONGEST / np.sqrt(found.shape[1])))  # NaN, too
        if len(bad):
            row = start + int(bad[0])
            name = f"vector {row}"
            if ids is not None:
                name = f"the vector of graph {row} (id {ids[row : row + 1].tolist()[0]!r})"
            raise InvalidParameter(
                f"{name} is not finite, or longer than {LONGEST:g}: leave it out, for instance with "
                f"embeddings.select(embeddings.usable)"
            )
    return found
