"""Kernels with explicit features: k(x, y) is the inner product of two vectors that can be written down."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix, diags

from infograph.baselines.kernel import Floats, GraphKernel, Matrix, inverse_root
from infograph.baselines.products import inner_products
from infograph.baselines.tokens import Tokens
from infograph.baselines.vocabulary import Vocabulary
from infograph.contract import State
from infograph.data.graphset import GraphSet


class FeatureKernel(GraphKernel):
    """Base of kernels with explicit features, dense or sparse.

    `transform` gives the features; with `normalise` each row is divided by sqrt(k(x, x)), so that inner
    products of rows are the values of `gram`. Subclasses have `_represent(graphs)`; those that learn which
    features there are have `_learn` as well.

    Attributes:
        features_: (G, F) of the fitted graphs, not normalised.
        squares_: (G,) k(x, x) of the fitted graphs.
    """

    features_: Matrix
    squares_: Floats

    def _represent(self, graphs: GraphSet) -> tuple[Matrix, Floats]:
        """Features (G', F) and k(x, x) (G',), to which features that no fitted graph has contribute."""
        raise NotImplementedError

    def _learn(self, graphs: GraphSet) -> None:
        self.features_, self.squares_ = self._represent(graphs)

    def _compare(self, graphs: GraphSet | None) -> tuple[Floats, Floats]:
        if graphs is None:
            return inner_products(self.features_, self.features_), self.squares_
        features, squares = self._represent(graphs)
        return inner_products(features, self.features_), squares

    def _features(self, graphs: GraphSet | None) -> Matrix:
        features, squares = (self.features_, self.squares_) if graphs is None else self._represent(graphs)
        if not self.normalise:
            return features.copy()
        if isinstance(features, csr_matrix):
            return csr_matrix(diags(inverse_root(squares)) @ features)
        return features * inverse_root(squares)[:, None]

    def _squares(self) -> Floats:
        return self.squares_

    @property
    def _n_features_out(self) -> int:
        return int(self.features_.shape[1])

    def _state(self) -> State:
        if not isinstance(self.features_, csr_matrix):
            return {"features": self.features_, "squares": self.squares_}
        x = self.features_
        return {"data": x.data, "indices": x.indices, "indptr": x.indptr, "squares": self.squares_}

    def _set_state(self, state: State) -> None:
        self.features_, self.squares_ = state["features"], state["squares"]


class CountKernel(FeatureKernel):
    """Base of kernels that count things which they learn to know in `fit`: colours, paths.

    Subclasses have `_count(graphs)`, which names what it counted by tokens. What is new in later graphs
    has no column, so it does not change a value against a fitted graph, and it does count in k(x, x).

    Attributes:
        vocabulary_: the columns' tokens.
    """

    vocabulary_: Vocabulary

    def _count(self, graphs: GraphSet) -> tuple[Tokens, Matrix]:
        """Distinct tokens (2, C), and how often each occurs in each graph: sparse (G', C)."""
        raise NotImplementedError

    def _learn(self, graphs: GraphSet) -> None:
        tokens, counts = self._count(graphs)
        self.vocabulary_, place = Vocabulary.of(tokens)
        self.features_, self.squares_ = self.vocabulary_.counts(tokens, counts, place)

    def _represent(self, graphs: GraphSet) -> tuple[Matrix, Floats]:
        return self.vocabulary_.counts(*self._count(graphs))

    def _state(self) -> State:
        return {**super()._state(), "tokens": self.vocabulary_.tokens}

    def _set_state(self, state: State) -> None:
        self.vocabulary_ = Vocabulary(np.asarray(state["tokens"], np.uint64))
        parts = (state["data"], state["indices"], state["indptr"])
        self.features_ = csr_matrix(parts, shape=(len(state["indptr"]) - 1, len(self.vocabulary_)))
        self.squares_ = state["squares"]
