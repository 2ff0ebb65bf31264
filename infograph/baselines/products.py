"""Inner products of sparse feature vectors, as one dense matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

Floats = NDArray[np.float64]
FREQUENT = 1 / 32  # columns in more graphs than this are multiplied as dense blocks, 20x faster than sparse
BLOCK = 2**25  # numbers in a dense block: 256 MB


def inner_products(x: Any, y: Any) -> Floats:
    """x @ y.T as a dense array. (X, F), (Y, F) -> (X, Y).

    Columns in few rows are multiplied as sparse matrices, the others as dense blocks; columns that only one
    side has, which are most of them, are left out. Whole numbers stay exact up to 2^53.
    """
    if not isinstance(x, csr_matrix):
        return np.asarray(x @ y.T, dtype=np.float64)
    in_x, in_y = (np.bincount(side.indices, minlength=side.shape[1]) for side in (x, y))  # (F,)
    shared = (in_x > 0) & (in_y > 0)
    if x is y:
        shared = in_x > 1
    frequent = shared & ((in_x > FREQUENT * x.shape[0]) | (in_y > FREQUENT * y.shape[0]))
    result = np.zeros((x.shape[0], y.shape[0]))
    _add_sparse(result, x, y, np.flatnonzero(shared & ~frequent))
    _add_dense(result, x, y, np.flatnonzero(frequent))
    if x is y:
        np.fill_diagonal(result, squared_norms(x))
    return result


def squared_norms(x: Any) -> Floats:
    """The sum of squares of every row. (X, F) -> (X,)."""
    if not isinstance(x, csr_matrix):
        return np.asarray(np.einsum("gf,gf->g", x, x), dtype=np.float64)
    return np.asarray(x.multiply(x).sum(axis=1), dtype=np.float64).reshape(-1)


def _add_sparse(result: Floats, x: Any, y: Any, columns: NDArray[Any]) -> None:
    if not len(columns):
        return
    left, right = x[:, columns], y[:, columns].T.tocsr()
    step = max(1, BLOCK // max(1, result.shape[1]))
    for start in range(0, result.shape[0], step):
        result[start : start + step] += (left[start : start + step] @ right).toarray()


def _add_dense(result: Floats, x: Any, y: Any, columns: NDArray[Any]) -> None:
    step = max(1, BLOCK // max(result.shape))
    for start in range(0, len(columns), step):
        chosen = columns[start : start + step]
        left = x[:, chosen].toarray()
        result += left @ (left if x is y else y[:, chosen].toarray()).T
