"""What all graph kernels share: features or similarities, a Gram matrix, a card."""

from __future__ import annotations

from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.bounded import BoundedTransformer, check_bool
from infograph.baselines.reading import read_like
from infograph.data.graphset import GraphSet

Floats = NDArray[np.float64]
Matrix: TypeAlias = Any  # a (G, F) numpy array or scipy CSR matrix, both float64
BASE_MB = 400.0  # the interpreter and its libraries


class GraphKernel(BoundedTransformer):
    """Base of all graph kernels: similarities k(x, y) of graphs that are inner products of some features.

    `gram()` gives the kernel values of the fitted graphs, `gram(graphs)` those between new graphs and the
    fitted ones. A classifier takes the former as `infograph.evaluate.gram.Gram(kernel.gram())`. `transform`
    gives explicit features where a kernel has them, and the rows of `gram(graphs)` where it has none.

    Every kernel has the parameters `normalise` (k(x, y) / sqrt(k(x, x) k(y, y)); 0 where k(x, x) or k(y, y)
    is), which may be changed after `fit`, and `max_minutes` and `memory_mb`: `fit` refuses to begin where
    `estimate` says that the Gram matrix would take more; None never refuses. All other settings stay what
    they were in `fit`.

    Subclasses have `_check_settings`, `_schema`, `estimate`, and
      * `_learn(graphs)`: learn from graphs that fit the schema;
      * `_compare(graphs)`: values against the fitted graphs and k(x, x), neither normalised;
      * `_features(graphs)`: what `transform` returns, only where there are explicit features.
    In both, None stands for the fitted graphs, for which nothing is computed twice.
    """

    _free: ClassVar[tuple[str, ...]] = ("normalise", "max_minutes", "memory_mb")  # may change after fit
    normalise: bool

    # ---- for subclasses

    def _compare(self, graphs: GraphSet | None) -> tuple[Floats, Floats]:
        """Values between graphs and the fitted ones (G', G), and k(x, x) (G',); not normalised."""
        raise NotImplementedError

    def _features(self, graphs: GraphSet | None) -> Matrix:
        """Explicit features; here the kernel values against the fitted graphs, which any kernel has."""
        return self._gram(graphs)

    def _squares(self) -> Floats:
        """k(x, x) of the fitted graphs, not normalised. (G,)."""
        raise NotImplementedError

    @property
    def _n_features_out(self) -> int:
        return self.n_graphs_

    # ---- the public calls

    def fit(self, graphs: Any, y: object = None) -> Self:
        """Learn the features of these graphs; `y` is ignored.

        Raises:
            InvalidParameter: a setting is out of range, or the work would take too long or too much memory.
        """
        check_bool("normalise", self.normalise)
        self._fit(graphs)
        return self

    def fit_transform(self, graphs: Any, y: object = None) -> Matrix:
        """`fit(graphs).transform(graphs)`, in one pass."""
        return self.fit(graphs)._features(None)

    def transform(self, graphs: Any) -> Matrix:
        """Explicit features of graphs, or their kernel values against the fitted ones. (G', F)."""
        self._check_fitted()
        return self._features(read_like(graphs, self.schema_))

    def gram(self, graphs: Any = None) -> Floats:
        """Kernel values of the fitted graphs (G, G), or between `graphs` and the fitted ones (G', G)."""
        self._check_fitted()
        return self._gram(None if graphs is None else read_like(graphs, self.schema_))

    # ---- inside

    def _gram(self, graphs: GraphSet | None) -> Floats:
        values, squares = self._compare(graphs)
        if not self.normalise:
            return values
        values = values * np.outer(inverse_root(squares), inverse_root(self._squares()))
        if graphs is None:
            np.fill_diagonal(values, np.where(squares > 0, 1.0, 0.0))
        return values

    def _card(self) -> str:
        kind = type(self).__name__
        settings = "".join(f"- {name}: {value}\n" for name, value in self.get_params(deep=False).items())
        return (
            f"# {kind}\n\nA graph kernel, fitted to {self.n_graphs_:,} graphs.\n\n"
            "    kernel = infograph.load(folder)\n"
            f"    kernel.gram(graphs)  # values against the fitted graphs\n\n{settings}"
        )


def inverse_root(squares: Floats) -> Floats:
    """1 / sqrt(k(x, x)), and 0 where k(x, x) is 0."""
    safe = np.where(squares > 0, squares, 1.0)
    return np.where(squares > 0, 1.0 / np.sqrt(safe), 0.0)
