"""All graphs as one outer fold sees them: scaled and compared by the statistics of its training part."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from infograph.evaluate.gram import Gram
from infograph.evaluate.inputs import Representation
from infograph.evaluate.plan import Rows

Floats = NDArray[np.float64]


class FoldSpace:
    """Vectors and kernels of one outer fold; rows are its T training graphs, then its test graphs.

    Nothing here depends on labels, and nothing fitted here saw a test graph. The matrices are made once and
    serve all inner folds and every C, as their rows and columns.

    Args:
        representation: (G, D) vectors or a Gram matrix.
        train: (T,) training rows.
        test: (G - T,) test rows.
        scale: give every column mean 0 and variance 1 on the training rows (vectors only).
    """

    def __init__(self, representation: Representation, train: Rows, test: Rows, scale: bool) -> None:
        self.n_train = len(train)
        order = np.concatenate([train, test])
        self._gram: Floats | None = None
        self._vectors: Floats | None = None
        if isinstance(representation, Gram):
            self._gram = representation.matrix[np.ix_(order, train)]  # (G, T)
            self._squares = np.diagonal(representation.matrix)[order]  # (G,)
        else:
            vectors = representation[order]  # (G, D)
            if scale:
                # StandardScaler leaves constant columns at 0 instead of dividing by a zero deviation.
                vectors = StandardScaler().fit(vectors[: self.n_train]).transform(vectors)
            self._vectors = vectors
            self._squares = np.einsum("gd,gd->g", vectors, vectors)

    @property
    def vectors(self) -> Floats:
        """The scaled vectors, (G, D)."""
        if self._vectors is None:
            raise TypeError("a Gram matrix has no vectors")
        return self._vectors

    @cached_property
    def products(self) -> Floats:
        """The linear kernel, or the given Gram matrix, against the training graphs: (G, T)."""
        if self._gram is not None:
            return self._gram
        return np.ascontiguousarray(self.vectors @ self.vectors[: self.n_train].T)

    def squared_distances(self) -> Floats:
        """Squared distances to the training graphs, (G, T); a new array, as each user needs it once."""
        distances = self.products * -2.0
        distances += self._squares[:, None]
        distances += self._squares[None, : self.n_train]
        return np.maximum(distances, 0.0, out=distances)

    def rbf(self) -> Floats:
        """exp(-gamma |x - x'|^2) against the training graphs, (G, T).

        gamma is scikit-learn's "scale", 1 / (D * variance of all entries), of the training rows.
        """
        train = self.vectors[: self.n_train]
        variance = float(train.var())
        gamma = 1.0 / (train.shape[1] * variance) if variance > 0 else 1.0
        kernel = self.squared_distances()
        kernel *= -gamma
        return np.exp(kernel, out=kernel)

    def ranks(self) -> Floats:
        """Squared distances in whole steps of 1e-9 of the mean square, (G, T).

        Data sets hold many equal graphs. Rounding errors of the matrix product must not decide which of two
        equal ones is the nearer.
        """
        step = 1e-9 * float(self._squares[: self.n_train].mean()) or 1.0
        distances = self.squared_distances()
        distances /= step
        return np.rint(distances, out=distances)
