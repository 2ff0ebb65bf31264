"""A Gram matrix: what a graph kernel gives in place of vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from infograph.errors import InvalidParameter


@dataclass(frozen=True, eq=False)
class Gram:
    """Kernel values between all pairs of graphs, checked once when made.

    Positive semidefiniteness is not checked (it costs G^3); LIBSVM also accepts indefinite matrices.

    Args:
        matrix: (G, G), symmetric up to rounding, finite. Kept as float64; the caller's array is not changed.
        normalise: divide by the square roots of the diagonal, so that every graph has k(x, x) = 1. It looks
            at two graphs at a time, so it leaks nothing between folds. With k(x, x) = 0 the zeros stay.

    Raises:
        InvalidParameter: the matrix is not square, not symmetric, not finite, or has a negative diagonal.
    """

    matrix: NDArray[np.float64]  # (G, G)
    normalise: bool = False

    def __post_init__(self) -> None:
        matrix = _checked(self.matrix)
        if self.normalise:
            root = np.sqrt(np.diagonal(matrix))
            root = np.where(root > 0, root, 1.0)
            matrix = matrix / np.outer(root, root)
        object.__setattr__(self, "matrix", matrix)

    def __len__(self) -> int:
        return len(self.matrix)


def _checked(values: ArrayLike) -> NDArray[np.float64]:
    try:
        matrix: NDArray[Any] = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        kind = type(values).__name__
        raise InvalidParameter(
            f"a Gram matrix must be a dense array of numbers; {kind} came ({error})"
        ) from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InvalidParameter(
            f"a Gram matrix must be square, graphs by graphs; shape {matrix.shape} came. "
            "Pass vectors without Gram(...), or multiply them: Gram(x @ x.T)"
        )
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if bad.size:
        raise InvalidParameter(
            f"the Gram matrix holds NaN or infinity in {bad.size} of {len(matrix)} rows, the first is row "
            f"{bad[0]}; recompute the kernel for these graphs or leave them out"
        )
    if matrix.size and np.diagonal(matrix).min() < 0:
        row = int(np.diagonal(matrix).argmin())
        raise InvalidParameter(
            f"k(x, x) is {matrix[row, row]:.6g} for graph {row}, but a kernel of a graph with itself is "
            "never negative; pass similarities, not distances"
        )
    return _symmetric(matrix)


def _symmetric(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Refuse what is not symmetric; even out rounding, so that row and column say the same."""
    gap = np.abs(matrix - matrix.T)
    if not gap.any():
        return matrix
    worst = np.unravel_index(int(gap.argmax()), gap.shape)
    if gap[worst] > 1e-6 * np.abs(matrix).max():
        i, j = int(worst[0]), int(worst[1])
        raise InvalidParameter(
            f"the Gram matrix is not symmetric: entry ({i}, {j}) is {matrix[i, j]:.6g} and entry ({j}, {i}) "
            f"is {matrix[j, i]:.6g}; pass (K + K.T) / 2 if that is meant"
        )
    return (matrix + matrix.T) / 2
