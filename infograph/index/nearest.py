"""Nearest vectors: the exact ones, those that faiss finds, and vectors that coincide."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from infograph.data.graphset import IntArray
from infograph.errors import InvalidFile, InvalidParameter, MissingExtra

MEMORY = 64 << 20  # bytes of scores at a time
ROUNDING = 2.0**-24
SLACK = 16  # roundings besides those of the sum: of the query, lengths, scores
UNDERFLOW = 1e-36
Metric = Literal["cosine", "euclidean"]
BLOCK = 4096  # rows that are in memory in double precision at a time
SHORTEST, LONGEST = 1e-18, 1e18  # lengths whose squares float32 can hold
POINTS = 39  # per cell, from which on faiss calls k-means well-founded
KMEANS_SAMPLE = 128  # points per cell that k-means learns from
LEAST_CELLS, SHARE = 24, 8  # cells looked at: 24, or one in eight
DEFAULT: dict[Metric, float] = {"cosine": 5e-11, "euclidean": 1e-5}  # both: 1e-5 of the vectors' length
BOUND: dict[Metric, float] = {"cosine": 0.5, "euclidean": 1.0}  # from here on a zero vector is near all
DIRECTIONS, DIRECTIONS_SAMPLE = 16, 2048
HEIGHT, WIDTH, ROWS = 256, 4096, 2048  # of a tile of pairs, and pairs compared in full at a time


# Exact nearest neighbours: float32 products find the candidates, double precision decides.
#
# A product of float32 vectors is wrong by at most about D * 2^-24 of their lengths (Higham 2002, Eq. 3.5).
# Every row that could be among the k best within this bound is scored again in double precision, so that the
# result is that of a loop in double precision, ties included, at the speed of one pass over the vectors.


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


# Approximate nearest neighbours by faiss: an inverted file over k-means cells (IVF-flat).
#
# Measured once on 40,000 molecules of QM9, vectors of 512 numbers, one core of a busy machine, 200 stored
# vectors as queries. The exact search took 6 ms; IVF-flat (25 of 200 cells) 0.9 ms, HNSW (M = 32, efSearch =
# 64) 0.12 ms. With 16 cells IVF-flat found 99.6 % of the ten nearest, with 25, chosen on these queries, all
# of them; HNSW found 99.95 %. HNSW is the faster search. IVF-flat was chosen because it was built in 4.6 s
# instead of 8.4 s and is opened as a memory map in 0.4 ms instead of 67 ms.
#
# faiss proposes candidates, and these are scored as the exact search does it. So scores are the same in both
# forms, and only a neighbour in a cell that was not looked at can be missing.


def faiss_installed() -> bool:
    """Whether the approximate search is possible."""
    return importlib.util.find_spec("faiss") is not None


def load_faiss() -> Any:
    """The module.

    Raises:
        MissingExtra: it is not installed.
    """
    if not faiss_installed():
        raise MissingExtra("faiss", "search")
    return importlib.import_module("faiss")


@dataclass(frozen=True, eq=False)
class Approximate:
    """The inverted file of the first `covered` vectors; those behind them are searched exactly.

    Nothing here changes once it is made: any number of threads may search.
    """

    cells: Any
    covered: int

    @classmethod
    def build(cls, metric: Metric, vectors: NDArray[np.float32], norms: NDArray[np.float64]) -> Approximate:
        """Learn cells from a sample and sort all vectors into them. Always the same for the same vectors."""
        faiss = load_faiss()
        n_vectors, dim = vectors.shape
        n_cells = max(1, min(round(math.sqrt(n_vectors)), n_vectors // POINTS))
        cells = faiss.index_factory(dim, f"IVF{n_cells},Flat", faiss.METRIC_L2)
        cells.nprobe = probes(n_cells)
        size = min(n_vectors, KMEANS_SAMPLE * n_cells)
        sample = np.sort(np.random.default_rng(0).choice(n_vectors, size, replace=False))
        cells.train(_directions(metric, vectors[sample], norms[sample]))
        for start in range(0, n_vectors, BLOCK):
            part = slice(start, start + BLOCK)
            cells.add(_directions(metric, vectors[part], norms[part]))
        return cls(cells, n_vectors)

    def nearest(
        self,
        metric: Metric,
        vectors: NDArray[np.float32],
        norms: NDArray[np.float64],
        queries: NDArray[np.float32],
        k: int,
    ) -> tuple[IntArray, NDArray[np.float32]]:
        """As `infograph.index.nearest.nearest`, but a neighbour may be missing."""
        k = min(k, len(vectors))
        lengths = np.sqrt((queries.astype(np.float64) ** 2).sum(axis=1))
        wanted = min(2 * k + 16, self.covered)  # faiss rounds in float32: the order of near ones is ours
        found = self.cells.search(_directions(metric, queries, lengths), wanted)[1]  # (Q, wanted)
        late = nearest(metric, vectors[self.covered :], norms[self.covered :], queries, k)[0] + self.covered
        rows, scores = np.empty((len(queries), k), np.int64), np.empty((len(queries), k), np.float32)
        for place, query in enumerate(queries):
            likely = np.concatenate([found[place][found[place] >= 0], late[place]])
            if len(likely) < k:  # the cells hold too few
                one = nearest(metric, vectors, norms, query[None], k)
                rows[place], scores[place] = one[0][0], one[1][0]
                continue
            known = scores_of(metric, vectors, norms, query, likely)
            rows[place], scores[place] = best_first(metric, likely, known, k)
        return rows, scores

    def save(self, path: Path) -> None:
        """Write faiss's own file."""
        load_faiss().write_index(self.cells, str(path))

    @classmethod
    def open(cls, path: Path, covered: int) -> Approximate:
        """Map the file into memory.

        Raises:
            InvalidFile: faiss cannot read it.
            MissingExtra: faiss is not installed.
        """
        faiss = load_faiss()
        try:
            cells = faiss.read_index(str(path), faiss.IO_FLAG_MMAP)
            cells.nprobe = probes(cells.nlist)
        except (RuntimeError, AttributeError) as error:
            raise InvalidFile(f"{path} is no index of faiss: build and save the index again") from error
        if cells.ntotal != covered:
            raise InvalidFile(
                f"{path} holds {cells.ntotal} vectors, expected {covered}: save the index again"
            )
        return cls(cells, covered)


def probes(n_cells: int) -> int:
    """How many cells a search looks at."""
    return min(n_cells, max(LEAST_CELLS, n_cells // SHARE))


def _directions(
    metric: Metric, vectors: NDArray[np.float32], norms: NDArray[np.float64]
) -> NDArray[np.float32]:
    """What faiss compares by squared distance: unit vectors are as near as their cosine is large."""
    if metric == "euclidean":
        return np.ascontiguousarray(vectors, np.float32)
    return (vectors * inverse(norms)[:, None]).astype(np.float32)


# Vectors that coincide, among very many, in little memory.
#
# A projection onto a unit vector never increases a distance. So rows are sorted along the direction in which
# they differ most, only rows within the radius along it are paired, tile by tile; pairs that are too far
# apart in a few more directions are dropped, and the rest are compared in full.


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
        sample = self.at(rng.choice(len(self), min(DIRECTIONS_SAMPLE, len(self)), replace=False))
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
