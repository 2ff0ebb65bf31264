"""The neighbours of vectors in an index, exactly or by faiss, and how many of them faiss finds."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import IntArray
from infograph.errors import MissingExtra
from infograph.index.approximate import Approximate, faiss_installed
from infograph.index.exact import nearest
from infograph.index.metric import Metric
from infograph.index.store import Store

EXACT_UP_TO = 100_000
TAIL = 0.1  # the share of vectors that may have come after the cells were learned

Found = tuple[IntArray, NDArray[np.float32]]


def neighbours(
    metric: Metric, store: Store, cells: Approximate | None, queries: NDArray[np.float32], k: int
) -> Found:
    """Rows and scores of the `k` nearest of each query, best first. (Q, k), (Q, k)."""
    find = nearest if cells is None else cells.nearest
    return find(metric, store.vectors, store.norms, queries, k)


def neighbours_of_rows(
    metric: Metric, store: Store, cells: Approximate | None, own: IntArray, k: int
) -> Found:
    """The same for stored vectors, each left out of its own neighbours."""
    return without_own(neighbours(metric, store, cells, store.vectors[own], k + 1), own)


def without_own(found: Found, own: IntArray) -> Found:
    """Neighbours of stored vectors, with one too many of each, without the vectors themselves."""
    rows, scores = found
    keep = rows != own[:, None]
    keep[keep.all(axis=1), -1] = False  # many equal ones stand before it: without the last
    shape = (len(rows), rows.shape[1] - 1)
    return rows[keep].reshape(shape), scores[keep].reshape(shape)


def measured_recall(metric: Metric, store: Store, cells: Approximate | None, sample: int, k: int) -> float:
    """The share of exact neighbours, or of others as near, that `cells` find; see `GraphIndex.recall`."""
    if cells is None or len(store) < 2:
        return 1.0
    drawn = np.random.default_rng(0).choice(len(store), min(sample, len(store)), replace=False)
    _, found = neighbours_of_rows(metric, store, cells, drawn, k)
    _, exact = neighbours_of_rows(metric, store, None, drawn, k)
    worst = exact[:, -1:]
    return float((found >= worst if metric == "cosine" else found <= worst).mean())


def cells_for(
    metric: Metric, store: Store, approximate: bool | None, older: Approximate | None = None
) -> Approximate | None:
    """The approximate form of `store` if it is wanted; an older one serves while few vectors came after it.

    Raises:
        MissingExtra: `approximate=True` without faiss.
    """
    wanted = len(store) > EXACT_UP_TO if approximate is None else approximate
    if not wanted:
        return None
    if older is not None and older.covered >= (1 - TAIL) * len(store):
        return older
    if approximate is None and not faiss_installed():
        warnings.warn(
            f"{len(store):,} vectors are searched exactly, as faiss is not installed: "
            f"pip install 'infograph[search]'",
            stacklevel=3,
        )
        return None
    return Approximate.build(metric, store.vectors, store.norms)


def check_faiss(approximate: bool | None) -> None:
    """Refuse before the work what would fail after it.

    Raises:
        MissingExtra: `approximate=True` without faiss.
    """
    if approximate and not faiss_installed():
        raise MissingExtra("faiss", "search")
