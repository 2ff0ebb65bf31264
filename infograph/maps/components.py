"""Vectors -> a few principal components of their standardised columns, in blocks of bounded memory.

The covariance of D columns is a (D, D) matrix whatever the number of graphs, so 130,000 vectors of length 512
need one pass for it and one for the projection, and never a second copy of the vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from infograph.errors import InvalidParameter

BLOCK = 8192  # rows in float64 at a time: 33 MB of 512 columns


def principal_components(
    vectors: NDArray[Any], components: int, *, residual: bool = False
) -> NDArray[np.float64]:
    """The coordinates of every vector along the directions of most variance. (G, D) -> (G, components).

    Columns are standardised first and constant columns left out. The sign of a direction is such that its
    largest weight is positive: the same vectors always have the same coordinates.

    Args:
        vectors: one row per graph, finite.
        components: how many at most; there are never more than columns that vary, or graphs less one.
        residual: append how far each vector is from the plane of these components, as one more column, so
            that what is odd in a direction of little variance is seen, too.

    Raises:
        InvalidParameter: no vectors, vectors that are not finite, or fewer than one component.
    """
    rows = check_vectors(vectors)
    if components < 1:
        raise InvalidParameter(f"components={components}: expected 1 or more")
    with threadpool_limits(1):  # sums over threads round differently from run to run
        mean, scale, varying = _moments(rows)
        directions = _directions(rows, varying, mean, scale)[:, : min(components, len(rows) - 1)]  # (D', c)
        parts = [_project(block, mean, scale, directions, residual) for block in _blocks(rows, varying)]
    return np.concatenate(parts)


def check_vectors(vectors: NDArray[Any]) -> NDArray[Any]:
    """The vectors as a (G, D) array.

    Raises:
        InvalidParameter: they are not, or one of them is not finite.
    """
    rows = np.asarray(vectors)
    if rows.ndim != 2 or not rows.size or rows.dtype.kind not in "fiu":
        raise InvalidParameter(f"expected vectors, numbers of shape (G, D); {rows.dtype} {rows.shape} came")
    for start in range(0, len(rows), BLOCK):
        finite = np.isfinite(rows[start : start + BLOCK]).all(axis=1)
        if not finite.all():
            bad = start + int(np.flatnonzero(~finite)[0])
            raise InvalidParameter(f"vector {bad} holds NaN or infinity: leave that graph out")
    return rows


def _blocks(rows: NDArray[Any], columns: Any = slice(None)) -> Iterator[NDArray[np.float64]]:
    for start in range(0, len(rows), BLOCK):
        yield np.asarray(rows[start : start + BLOCK, columns], dtype=np.float64)


def _moments(rows: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]]:
    """Mean and deviation of the columns that are not constant, and which those are. (D',) each."""
    mean = sum(block.sum(axis=0) for block in _blocks(rows)) / len(rows)
    variance = sum(((block - mean) ** 2).sum(axis=0) for block in _blocks(rows)) / len(rows)
    largest = np.max([np.abs(block).max(axis=0) for block in _blocks(rows)], axis=0)
    deviation = np.sqrt(variance)
    varying = np.flatnonzero(deviation > 1e-9 * np.maximum(largest, 1e-30))
    return np.asarray(mean)[varying], deviation[varying], varying


def _directions(
    rows: NDArray[Any], varying: NDArray[np.intp], mean: NDArray[np.float64], scale: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Eigenvectors of the correlation matrix, the largest eigenvalue first; none of eigenvalue zero."""
    if not len(varying):
        return np.zeros((0, 0))
    correlation = np.zeros((len(varying), len(varying)))
    for block in _blocks(rows, varying):
        scaled = (block - mean) / scale
        correlation += scaled.T @ scaled
    values, directions = np.linalg.eigh(correlation / len(rows))
    directions = directions[:, ::-1][:, values[::-1] > 1e-10]
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=0)[None], axis=0)
    return np.asarray(directions * np.sign(largest))


def _project(
    block: NDArray[np.float64],
    mean: NDArray[np.float64],
    scale: NDArray[np.float64],
    directions: NDArray[np.float64],
    residual: bool,
) -> NDArray[np.float64]:
    scaled = (block - mean) / scale
    points = scaled @ directions
    if not residual:
        return points
    rest = np.maximum((scaled**2).sum(axis=1) - (points**2).sum(axis=1), 0.0)
    return np.column_stack([points, np.sqrt(rest)])
