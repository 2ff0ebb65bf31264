"""What node2vec, sub2vec and graph2vec share: the checks, the calls and a card."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.bounded import BoundedTransformer, check_whole

Vectors = NDArray[np.float32]


class GraphEmbedding(BoundedTransformer):
    """Base of the embeddings that learn one vector per graph from words: `fit`, `transform`, `estimate`.

    Subclasses have `_check_settings`, `_schema`, `estimate`, `_learn(graphs)`, which gives the vectors of
    the fitted graphs, and `transform`.
    """

    _remedy: ClassVar[str] = "lower max_tokens or dim"
    dim: int
    random_state: int

    # ---- for subclasses

    def _check_settings(self) -> None:
        """Refuse settings outside their range."""
        check_whole("dim", self.dim, 1)
        check_whole("random_state", self.random_state, 0)

    def transform(self, graphs: Any) -> Vectors:
        """One vector per graph. (G', dim)."""
        raise NotImplementedError

    # ---- the public calls

    def fit(self, graphs: Any, y: object = None) -> Self:
        """Learn from these graphs; `y` is ignored.

        Raises:
            InvalidParameter: a setting is out of range, or the work would take too long or too much memory.
            MissingExtra: numba is not installed.
        """
        self._fit(graphs)
        return self

    def fit_transform(self, graphs: Any, y: object = None) -> Vectors:
        """`fit(graphs).transform(graphs)`, in one pass."""
        return self._fit(graphs)

    # ---- inside

    def _fit(self, graphs: Any) -> Vectors:
        import infograph.baselines.generator  # noqa: F401  raises MissingExtra before any work

        vectors: Vectors = super()._fit(graphs)
        return vectors.copy()

    @property
    def _n_features_out(self) -> int:
        return int(self._made_with["dim"])

    def _card(self) -> str:
        settings = "".join(f"- {name}: {v}\n" for name, v in self.get_params(deep=False).items())
        return (
            f"# {type(self).__name__}\n\nTurns a graph into {self._n_features_out} numbers; fitted "
            f"to {self.n_graphs_:,} graphs.\n\n    infograph.load(folder).transform(graphs)\n\n{settings}"
        )
