"""Vectors that coincide, among very many, in little memory.

A projection onto a unit vector never increases a distance. So rows are sorted along the direction in which
they differ most, only rows within the radius along it are paired, tile by tile; pairs that are too far apart
in a few more directions are dropped, and the rest are compared in full.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from infograph.data.graphset import IntArray
from infograph.errors import InvalidParameter
from infograph.index.metric import BLOCK, Metric, inverse

DEFAULT: dict[Metric, float] = {"cosine": 5e-11, "euclidean": 1e-5}  # both: 1e-5 of the vectors' length
BOUND: dict[Metric, float] = {"cosine": 0.5, "euclidean": 1.0}  # from here on a zero vector is near all
DIRECTIONS, SAMPLE = 16, 2048
HEIGHT, WIDTH, ROWS = 256, 4096, 2048  # of a tile of pairs, and pairs compared in full at a time


def check_tolerance(metric: Metric, tolerance: float | None) -> float:
    """The tolerance, or the default one where it is None."""
    if tolerance is None:
        return DEFAULT[metric]
    if not 0 <= tolerance < BOUND[metric]:
        raise InvalidParameter(
            f"tolerance={tolerance}: expected a number from 0 to below {BOUND[metric]}, with the metric "
            f"{metric!r}"
        )
    return float(tolerance)


def coinciding(
    metric: Metric, vectors: NDArray[np.float32], norms: NDArray[np.float64], tolerance: float
) -> list[IntArray]:
    """Groups of rows that coincide, each sorted, in the order of their first rows.

    `infograph.index.GraphIndex.near_duplicates` says what they are.
    """
    first = _bit_equal(vectors)  # (G,) the first row with the same bits
    chosen = np.unique(first)
    label = np.empty(len(vectors), np.int64)
    label[chosen] = _group(_Points(metric, vectors, norms, chosen), tolerance)
    label = label[first]
    order = np.argsort(label, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    return sorted((group for group in groups if len(group) > 1), key=lambda group: int(group[0]))


def _bit_equal(vectors: NDArray[np.float32]) -> IntArray:
    """For every row the first row of the same bits, found by a hash and then compared. (G,)."""
    n_rows, dim = vectors.shape
    factors = np.random.default_rng(0).integers(1, 2**63, dim, dtype=np.uint64) | np.uint64(1)
    bits = vectors.view(np.uint32)
    hashes = np.empty(n_rows, np.uint64)
    for start in range(0, n_rows, BLOCK):
        part = bits[start : start + BLOCK].astype(np.uint64)
        hashes[start : start + BLOCK] = (part * factors).sum(axis=1, dtype=np.uint64)
    _, place, inverse_place = np.unique(hashes, return_index=True, return_inverse=True)
    first: IntArray = place[inverse_place]
    for start in range(0, n_rows, BLOCK):
        rows = np.arange(start, min(start + BLOCK, n_rows))
        differ = (bits[rows] != bits[first[rows]]).any(axis=1)
        first[rows[differ]] = rows[differ]  # another vector of the same hash
    return first


class _Points:
    """Some rows as points: unit vectors for the cosine, the vectors themselves otherwise."""

    def __init__(
        self, metric: Metric, vectors: NDArray[np.float32], norms: NDArray[np.float64], chosen: IntArray
    ) -> None:
        self.metric, self.vectors, self.chosen = metric, vectors, chosen
        self.norms = norms[chosen]
        self.factors = inverse(self.norms) if metric == "cosine" else np.ones(len(chosen))

    def __len__(self) -> int:
        return len(self.chosen)

    def at(self, rows: IntArray) -> NDArray[np.float64]:
        """(R, D)."""
        return self.vectors[self.chosen[rows]].astype(np.float64) * self.factors[rows, None]

    def radius(self, tolerance: float) -> NDArray[np.float64]:
        """How far from each point a coinciding shorter one can be, rounded up. (R,)."""
        if self.metric == "cosine":  # 1 - cos = |x - y|^2 / 2 of unit vectors
            return np.full(len(self), np.sqrt(2 * tolerance) * (1 + 1e-9) + 1e-12)
        return np.asarray(tolerance * self.norms * (1 + 1e-9) + 1e-12 * self.norms.max())

    def projected(self) -> NDArray[np.float64]:
        """Coordinates along orthonormal directions in which the points differ, most first. (R, <=16)."""
        rng = np.random.default_rng(0)
        sample = self.at(rng.choice(len(self), min(SAMPLE, len(self)), replace=False))
        centre = sample.mean(axis=0)
        sample -= centre
        dim = len(centre)
        axes = np.linalg.qr(rng.standard_normal((dim, min(DIRECTIONS, dim))))[0]
        for _ in range(3):  # subspace iteration; any orthonormal axes are right, good ones are fast
            axes = np.linalg.qr(sample.T @ (sample @ axes))[0]
        blocks = np.array_split(np.arange(len(self)), -(-len(self) // BLOCK))
        return np.vstack([(self.at(block) - centre) @ axes for block in blocks])


def _group(points: _Points, tolerance: float) -> IntArray:
    """A number per point, the same for points that are linked by coinciding pairs. (R,)."""
    coordinates = points.projected()
    order = np.argsort(coordinates[:, 0], kind="stable")
    coordinates, radius = coordinates[order], points.radius(tolerance)[order]
    label: IntArray = np.arange(len(points))
    for here, there in _windows(coordinates[:, 0], radius):
        near = _near(coordinates, radius, here, there)
        near &= label[here, None] != label[there]  # without what is linked already
        left, right = np.nonzero(near)
        left, right = left + here.start, right + there.start
        while len(left):
            same = _same(points, order[left[:ROWS]], order[right[:ROWS]], tolerance)
            if same.any():
                label = _linked(label, left[:ROWS][same], right[:ROWS][same])
            left, right = left[ROWS:], right[ROWS:]
            apart = label[left] != label[right]
            left, right = left[apart], right[apart]
    found = np.empty_like(label)
    found[order] = label
    return found


def _windows(along: NDArray[np.float64], radius: NDArray[np.float64]) -> Iterator[tuple[slice, slice]]:
    """Tiles of sorted values that hold every pair within the larger of its radii."""
    stop = np.searchsorted(along, along + radius, side="right")
    start = np.arange(len(along))
    if np.ptp(radius):  # a near one may stand before, and have a smaller radius
        start = np.searchsorted(along, along - radius, side="left")
    for first in range(0, len(along), HEIGHT):
        here = slice(first, min(first + HEIGHT, len(along)))
        end = int(stop[here].max())
        for left in range(int(start[here].min()), end, WIDTH):
            yield here, slice(left, min(left + WIDTH, end))


def _near(
    coordinates: NDArray[np.float64], radius: NDArray[np.float64], here: slice, there: slice
) -> NDArray[np.bool_]:
    """Which pairs of a tile can coincide, by their distance along all directions."""
    rows, columns = coordinates[here], coordinates[there]
    first, second = (rows**2).sum(axis=1)[:, None], (columns**2).sum(axis=1)
    squares = first + second - 2 * (rows @ columns.T)
    reach = np.maximum(radius[here, None], radius[there]) ** 2
    return np.asarray(squares <= reach + 1e-13 * (first + second))


def _same(points: _Points, left: IntArray, right: IntArray, tolerance: float) -> NDArray[np.bool_]:
    """Which pairs coincide, in double precision."""
    same = np.zeros(len(left), bool)
    for start in range(0, len(left), ROWS):
        part = slice(start, start + ROWS)
        squares = ((points.at(left[part]) - points.at(right[part])) ** 2).sum(axis=1)
        if points.metric == "cosine":
            same[part] = squares / 2 <= tolerance
        else:
            longer = np.maximum(points.norms[left[part]], points.norms[right[part]])
            same[part] = np.sqrt(squares) <= tolerance * longer
    return same


def _linked(label: IntArray, left: IntArray, right: IntArray) -> IntArray:
    """Labels after the groups of `left` and `right` were joined."""
    names, places = np.unique(np.concatenate([label[left], label[right]]), return_inverse=True)
    ends = places.reshape(2, -1)
    links = coo_array((np.ones(ends.shape[1], bool), (ends[0], ends[1])), shape=(len(names), len(names)))
    part = connected_components(links, directed=False)[1]
    least = np.full(part.max() + 1, len(label))
    np.minimum.at(least, part, names)
    table = np.arange(len(label))
    table[names] = least[part]
    return table[label]
