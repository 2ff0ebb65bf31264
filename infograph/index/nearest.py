"""Nearest vectors: the exact ones, those that faiss finds, and vectors that coincide."""

from __future__ import annotations

import importlib.util
import math
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from infograph.data.graphset import IntArray
from infograph.errors import InvalidFile, InvalidParameter

Metric = Literal["cosine", "euclidean"]
Vectors = NDArray[np.float32]
Found = tuple[IntArray, Vectors]
SCORES_BYTES = 64 << 20  # of scores at a time
ROUNDING = 2.0**-24
SLACK = 16  # roundings besides those of the sum: of the query, lengths, scores
UNDERFLOW = 1e-36
BLOCK = 4096  # rows that are in memory in double precision at a time
SHORTEST, LONGEST = 1e-18, 1e18  # lengths whose squares float32 can hold
POINTS_PER_CELL = 39  # from which on faiss calls k-means well-founded
KMEANS_SAMPLE = 128  # points per cell that k-means learns from
LEAST_PROBES, PROBED_SHARE = 24, 8  # cells looked at: 24, or one in eight
TOLERANCE: dict[Metric, float] = {"cosine": 5e-11, "euclidean": 1e-5}  # both: 1e-5 of the vectors' length
TOLERANCE_BELOW: dict[Metric, float] = {"cosine": 0.5, "euclidean": 1.0}  # here a zero vector is near all
DIRECTIONS, SAMPLE = 6, 2048  # in which a sample differs most: with more, trees are slow
MOST_PAIRS = 30_000_000  # half a gigabyte


def check_metric(metric: str) -> None:
    """Refuse a metric that there is not."""
    if metric not in get_args(Metric):
        raise InvalidParameter(f"metric={metric!r}: expected 'cosine' or 'euclidean'")


def check_vectors(vectors: Any, ids: NDArray[Any] | None = None) -> Vectors:
    """One finite vector per row, as float32. (G, D). The message names the graph that has none."""
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
        block = found[start : start + BLOCK]
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.einsum("gd,gd->g", block, block)
        bad = np.flatnonzero(~(squares < LONGEST**2)) + start  # NaN, too
        if len(bad):
            name = "" if ids is None else f" of graph {ids[bad[:1]].tolist()[0]!r}"
            raise InvalidParameter(
                f"vector {bad[0]}{name} is not finite, or longer than {LONGEST:g}: leave it out"
            )
    return found


def norms_of(vectors: Vectors) -> NDArray[np.float64]:
    """The lengths of vectors. (G, D) -> (G,)."""
    norms = np.empty(len(vectors))
    for start in range(0, len(vectors), BLOCK):
        rows = np.asarray(vectors[start : start + BLOCK], np.float64)
        norms[start : start + BLOCK] = np.sqrt((rows * rows).sum(axis=1))
    return norms


def _inverse(norms: NDArray[np.float64]) -> NDArray[np.float64]:
    """One over each length; 0 for a vector that is too short to have a direction."""
    return np.where(norms > SHORTEST, 1 / np.maximum(norms, SHORTEST), 0.0)


# Exact nearest neighbours: float32 products find the candidates, double precision decides.
#
# A product of float32 vectors is wrong by at most about D * 2^-24 of their lengths (Higham 2002, Eq. 3.5).
# Every row that could be among the k best within this bound is scored again in double precision, so that the
# result is that of a loop in double precision, ties included, at the speed of one pass over the vectors.


@dataclass(frozen=True, eq=False)
class Exact:
    """The search through all vectors (G, D), whose lengths are `norms` (G,)."""

    metric: Metric
    vectors: Vectors
    norms: NDArray[np.float64]

    def nearest(self, queries: Vectors, k: int) -> Found:
        """The `k` best rows of each query, best first, and their scores. (Q, D) -> (Q, k), (Q, k).

        Of equal scores the row that was stored first comes first. Memory: 64 MB, or one score per vector.
        """
        k = min(k, len(self.vectors))
        rows, scores = np.empty((len(queries), k), np.int64), np.empty((len(queries), k), np.float32)
        at_once = max(1, SCORES_BYTES // (4 * max(len(self.vectors), 1)))
        for start in range(0, len(queries) if k else 0, at_once):
            part = queries[start : start + at_once]
            costs, errors = self._costs(part)  # (B, G), (B, G) or (B, 1)
            for place, query in enumerate(part):
                worst = np.partition(costs[place] + errors[place], k - 1)[k - 1]
                possible = np.flatnonzero(costs[place] - errors[place] <= worst)
                rows[start + place], scores[start + place] = self.best(query, possible, k)
        return rows, scores

    def _costs(self, queries: Vectors) -> tuple[Vectors, Vectors]:
        """What is to be small, in float32, and how far it may be off: minus cosine, or squared distance."""
        own = norms_of(queries)[:, None]  # (B, 1)
        relative = 1.1 * (self.vectors.shape[1] + SLACK) * ROUNDING
        if self.metric == "cosine":
            costs = (queries * _inverse(own)).astype(np.float32) @ self.vectors.T  # (B, G)
            costs *= -_inverse(self.norms).astype(np.float32)
            return costs, np.full((len(queries), 1), relative, np.float32)
        costs = queries @ self.vectors.T
        costs *= -2
        squares = (self.norms**2).astype(np.float32) + (own**2).astype(np.float32)  # (B, G)
        costs += squares
        return costs, (relative * squares + UNDERFLOW).astype(np.float32)

    def best(self, query: Vectors, rows: IntArray, k: int) -> Found:
        """The `k` best of some rows, scored in double precision and rounded once; ties in their order.

        Every row is summed in the same order, so that equal vectors have equal scores wherever they stand.
        The cosine with a vector of length 0 is 0.
        """
        wanted = np.asarray(query, np.float64)
        exact = np.empty(len(rows))
        for start in range(0, len(rows), BLOCK):
            part = slice(start, start + BLOCK)
            chosen = self.vectors[rows[part]].astype(np.float64)  # (B, D)
            if self.metric == "cosine":
                exact[part] = (chosen * wanted).sum(axis=1) * _inverse(self.norms[rows[part]])
            else:
                exact[part] = np.sqrt(((chosen - wanted) ** 2).sum(axis=1))
        if self.metric == "cosine":
            exact = np.clip(exact * _inverse(norms_of(query[None])), -1, 1)
        scores = exact.astype(np.float32)
        order = np.lexsort((rows, -scores if self.metric == "cosine" else scores))[:k]
        return rows[order], scores[order]

    def points(self, part: Any = slice(None)) -> NDArray[np.float64]:
        """What is near where the metric says so: vectors, or their directions for the cosine. (B, D)."""
        rows = self.vectors[part].astype(np.float64)
        factors = _inverse(self.norms[part]) if self.metric == "cosine" else np.ones(1)
        return np.asarray(rows * factors[:, None])


# Approximate nearest neighbours by faiss: an inverted file over k-means cells (IVF-flat).
#
# On 40,000 molecules of QM9, vectors of 512 numbers, the exact search took 6 ms a query; IVF-flat 0.9 ms, and
# with 25 of 200 cells missed no neighbour; HNSW 0.12 ms, and missed 0.05 %. IVF-flat was chosen because it is
# built in 4.6 s instead of 8.4 s and opened as a memory map in 0.4 ms instead of 67 ms.
#
# faiss proposes candidates, and these are scored as the exact search does it. So scores are the same in both
# forms, and only a neighbour in a cell that was not looked at can be missing.


def faiss_installed() -> bool:
    """Whether the approximate search is possible."""
    return importlib.util.find_spec("faiss") is not None


@dataclass(frozen=True, eq=False)
class Approximate:
    """The inverted file of the first `covered` vectors; those behind them are searched exactly.

    Nothing here changes once it is made: any number of threads may search.
    """

    cells: Any
    covered: int

    @classmethod
    def build(cls, exact: Exact) -> Approximate:
        """Learn cells from a sample and sort all vectors into them. Always the same for the same vectors."""
        faiss = importlib.import_module("faiss")
        n_vectors, dim = exact.vectors.shape
        n_cells = max(1, min(round(math.sqrt(n_vectors)), n_vectors // POINTS_PER_CELL))
        cells = faiss.index_factory(dim, f"IVF{n_cells},Flat", faiss.METRIC_L2)
        size = min(n_vectors, KMEANS_SAMPLE * n_cells)
        sample = np.sort(np.random.default_rng(0).choice(n_vectors, size, replace=False))
        cells.train(exact.points(sample).astype(np.float32))
        for start in range(0, n_vectors, BLOCK):
            cells.add(exact.points(slice(start, start + BLOCK)).astype(np.float32))
        return cls._of(cells)

    @classmethod
    def _of(cls, cells: Any) -> Approximate:
        cells.nprobe = min(cells.nlist, max(LEAST_PROBES, cells.nlist // PROBED_SHARE))
        return cls(cells, cells.ntotal)

    def nearest(self, exact: Exact, queries: Vectors, k: int) -> Found:
        """As `Exact.nearest`, but a neighbour may be missing."""
        k = min(k, len(exact.vectors))
        asked = Exact(exact.metric, queries, norms_of(queries)).points().astype(np.float32)
        wanted = min(2 * k + 16, self.covered)  # faiss rounds in float32: the order of near ones is ours
        proposed = self.cells.search(asked, wanted)[1]  # (Q, wanted)
        behind = Exact(exact.metric, exact.vectors[self.covered :], exact.norms[self.covered :])
        late = behind.nearest(queries, k)[0] + self.covered
        rows, scores = np.empty((len(queries), k), np.int64), np.empty((len(queries), k), np.float32)
        for place, query in enumerate(queries):
            likely = np.concatenate([proposed[place][proposed[place] >= 0], late[place]])
            if len(likely) < k:  # the cells hold too few
                likely = np.arange(len(exact.vectors))
            rows[place], scores[place] = exact.best(query, likely, k)
        return rows, scores

    def save(self, path: Path) -> None:
        """Write faiss's own file."""
        importlib.import_module("faiss").write_index(self.cells, str(path))

    @classmethod
    def open(cls, path: Path, covered: int) -> Approximate:
        """Map the file into memory."""
        faiss = importlib.import_module("faiss")
        try:
            found = cls._of(faiss.read_index(str(path), faiss.IO_FLAG_MMAP))
        except (RuntimeError, AttributeError) as error:
            raise InvalidFile(f"{path} is no index of faiss: save the index again") from error
        if found.covered != covered:
            raise InvalidFile(
                f"{path} holds {found.covered} vectors, expected {covered}: save the index again"
            )
        return found


# Vectors that coincide.
#
# Directions of coinciding vectors are near, and so are the logarithms of their lengths where distances count.
# A projection never increases a distance: near pairs in a few directions are all candidates, and these are
# compared in full. Any orthonormal directions are right; those in which a sample differs leave few pairs.


def coinciding(exact: Exact, tolerance: float | None = None) -> list[IntArray]:
    """Groups of rows that coincide as `GraphIndex.near_duplicates` says, in the order of their first rows."""
    bound = TOLERANCE_BELOW[exact.metric]
    allowed = TOLERANCE[exact.metric] if tolerance is None else float(tolerance)
    if not 0 <= allowed < bound:
        raise InvalidParameter(f"tolerance={tolerance}: expected 0 to below {bound} ({exact.metric})")
    digests = [blake2b(row.tobytes(), digest_size=16).digest() for row in exact.vectors]
    _, first, place = np.unique(digests, return_index=True, return_inverse=True)  # equal vectors once
    label: IntArray = np.arange(len(first))
    pairs = _near_pairs(exact, first, allowed)
    for start in range(0, len(pairs), BLOCK):
        left, right = pairs[start : start + BLOCK].T
        apart = label[left] != label[right]  # not linked already
        left, right = left[apart], right[apart]
        same = _coincide(exact, first[left], first[right], allowed)
        links = coo_array(
            (np.ones(same.sum(), bool), (label[left[same]], label[right[same]])), shape=(len(first),) * 2
        )
        label = connected_components(links, directed=False)[1][label]
    label = label[place]
    order = np.argsort(label, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    return sorted((group for group in groups if len(group) > 1), key=lambda group: int(group[0]))


def _near_pairs(exact: Exact, rows: IntArray, tolerance: float) -> IntArray:
    """Pairs of these rows, as positions among them, that may coincide. (P, 2)."""
    directions = Exact("cosine", exact.vectors, exact.norms)
    some = np.random.default_rng(0).choice(len(rows), min(SAMPLE, len(rows)), replace=False)
    sample = directions.points(rows[some])
    sample -= sample.mean(axis=0)
    axes = np.linalg.eigh(sample.T @ sample)[1][:, -DIRECTIONS:]  # (D, <= 6)
    blocks = np.array_split(rows, -(-len(rows) // BLOCK))
    points = np.vstack([directions.points(block) @ axes for block in blocks])
    radius = math.sqrt(2 * tolerance)  # 1 - cos = |x - y|^2 / 2 of unit vectors
    if exact.metric == "euclidean":  # |x - y| <= t |x| of the longer x: directions differ by 2 t at most
        points = np.column_stack([points, np.log(np.maximum(exact.norms[rows], SHORTEST))])
        radius = math.hypot(2 * tolerance, math.log1p(-tolerance))
    tree, radius = cKDTree(points), radius * (1 + 1e-9) + 1e-12
    n_near = tree.query_ball_point(points[some], radius, return_length=True) - 1
    n_pairs = n_near.mean() * len(rows) / 2
    if n_pairs > MOST_PAIRS:
        raise InvalidParameter(f"tolerance={tolerance:g}: about {n_pairs:.0e} pairs are that near, too many")
    return np.asarray(tree.query_pairs(radius, output_type="ndarray"))


def _coincide(exact: Exact, left: IntArray, right: IntArray, tolerance: float) -> NDArray[np.bool_]:
    squares = ((exact.points(left) - exact.points(right)) ** 2).sum(axis=1)
    if exact.metric == "cosine":
        return np.asarray(squares / 2 <= tolerance)
    return np.asarray(np.sqrt(squares) <= tolerance * np.maximum(exact.norms[left], exact.norms[right]))
