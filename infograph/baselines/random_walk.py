"""The geometric random-walk kernel, with labels or without."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from infograph.baselines.bounded import Estimate
from infograph.baselines.feature_kernel import FeatureKernel
from infograph.baselines.kernel import BASE_MB, Floats, Matrix
from infograph.baselines.labelled_graphs import LabelledGraphs
from infograph.baselines.products import squared_norms
from infograph.baselines.reading import label_schema
from infograph.baselines.walk_series import arc_matrix, largest_norm, n_terms, walk_counts
from infograph.contract import State
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.data.schema import Schema
from infograph.errors import InvalidParameter

Decay = float | Literal["auto"]
AUTO = 0.5  # of the largest decay for which the series converges


class RandomWalk(FeatureKernel):
    """The kernel of Gaertner et al. (2003): walks that two graphs share, decay^t for each of t steps.

        RandomWalk(decay="auto").fit(graphs).gram()

    Without labels, k(x, y) = sum_t decay^t 1' (A_x (x) A_y)^t 1 = sum_t decay^t (1' A_x^t 1)(1' A_y^t 1), so
    there are explicit features, sqrt(decay^t) times the number of walks of t steps, and large graphs are no
    problem; `transform` gives them. The series is cut where the rest is below double precision: after T terms
    it is at most r^T / (1 - r) of the value, where r = decay s_x s_y and s is the spectral norm of A.

    With node or edge labels only walks with equal labels count, walks of no step included: k(x, y) = 1' X 1,
    where X = M + decay M o sum_l (A_l X B_l'), M says which nodes have equal labels and A_l, B_l are the arcs
    of label l. This is solved for every pair to a relative 1e-13, and `transform` gives the rows of kernel
    values against the fitted graphs.

    Walks follow the arcs of directed graphs; repeated edges are that many ways to go, and a self-loop is one
    to stay. Edge weights are not looked at. Without edges there are only walks of no step.

    Differs from GraKeL: there labelled walks of no step begin at pairs of nodes with different labels too;
    that adds the number of such pairs to every value.

    Args:
        decay: below 1 / s^2, where s is the largest spectral norm of the graphs (the largest eigenvalue, if
            they are undirected); larger values, at which the series diverges, are refused in advance, and so
            are later graphs that are too dense for it. "auto" is half of that limit: Sugiyama and Borgwardt
            (2015) show that a small decay leaves nothing but the shortest walks, and half the limit leaves
            room for new graphs whose norm is up to 1.4 times as large.
        normalise: k(x, y) / sqrt(k(x, x) k(y, y)).
        node_columns: the node columns that are the labels; None takes those the schema marks as used, and []
            none.
        edge_columns: the same for edges; TU data sets mark their edge labels as not used.
        max_minutes, memory_mb: `fit` refuses to begin where `estimate` says more; None for no limit.

    Attributes:
        decay_: the decay that is used.
        norm_: the largest spectral norm of the fitted graphs.
    """

    _remedy = "use node_columns=[] and edge_columns=[] for walks without labels, or a smaller decay"
    decay_: float
    norm_: float
    graphs_: LabelledGraphs | None

    def __init__(
        self,
        decay: Decay = "auto",
        *,
        normalise: bool = False,
        node_columns: Sequence[str] | None = None,
        edge_columns: Sequence[str] | None = None,
        max_minutes: float | None = 60.0,
        memory_mb: float | None = 8192.0,
    ) -> None:
        self.decay = decay
        self.normalise = normalise
        self.node_columns = node_columns
        self.edge_columns = edge_columns
        self.max_minutes = max_minutes
        self.memory_mb = memory_mb

    def _check_settings(self) -> None:
        decay = self.decay
        if isinstance(decay, str) and decay == "auto":
            return
        good = isinstance(decay, int | float | np.number) and not isinstance(decay, bool)
        if not good or not (0 < decay < math.inf):
            raise InvalidParameter(f"decay={decay!r}: expected a positive number, or 'auto'")

    def _schema(self, graphs: GraphSet) -> Schema:
        return label_schema(graphs, self.node_columns, self.edge_columns)

    def _learn(self, graphs: GraphSet) -> None:
        self.norm_ = largest_norm(arc_matrix(graphs), graphs.node_ptr)
        self.decay_ = _choose_decay(self.decay, self.norm_)
        self.graphs_ = LabelledGraphs.of(graphs) if _is_labelled(graphs.schema) else None
        if self.graphs_ is None:
            self.features_, self.squares_ = self._walks(graphs, self.norm_)
        else:
            self.squares_ = self._selves(self.graphs_, self.norm_)

    # ---- without labels

    def _represent(self, graphs: GraphSet) -> tuple[Matrix, Floats]:
        return self._walks(graphs, self._norm_of_new(graphs))

    def _walks(self, graphs: GraphSet, norm: float) -> tuple[Floats, Floats]:
        # Enough for the fitted graphs with any graph that is not refused: there the ratio is below this root.
        kept = n_terms(math.sqrt(self.decay_ * self.norm_**2))
        terms = max(kept, n_terms(self.decay_ * norm**2))
        counts = walk_counts(arc_matrix(graphs), graphs.node_ptr, self.decay_, terms)
        return np.ascontiguousarray(counts[:, :kept]), squared_norms(counts)

    def _norm_of_new(self, graphs: GraphSet) -> float:
        """The largest spectral norm of graphs, once it is known that their own series converges."""
        norm = largest_norm(arc_matrix(graphs), graphs.node_ptr)
        if self.decay_ * norm**2 >= 1:
            raise InvalidParameter(
                f"these graphs have a spectral norm of up to {norm:.6g}, and with the fitted decay of "
                f"{self.decay_:.6g} the walks of the densest do not converge: fit with decay below "
                f"{1 / norm**2:.6g}, or leave these graphs out"
            )
        return norm

    # ---- with labels

    def _compare(self, graphs: GraphSet | None) -> tuple[Floats, Floats]:
        if self.graphs_ is None:
            return super()._compare(graphs)
        from infograph.baselines.product_walks import all_pairs

        fitted = self.graphs_
        if graphs is None:
            ratio = self.decay_ * self.norm_**2
            return all_pairs(fitted.arrays, fitted.arrays, self.decay_, ratio, True), self.squares_
        norm = self._norm_of_new(graphs)
        new = LabelledGraphs.of(graphs)
        known, ratio = new.numbered_like(fitted), self.decay_ * norm * self.norm_
        return all_pairs(known.arrays, fitted.arrays, self.decay_, ratio, False), self._selves(new, norm)

    def _selves(self, graphs: LabelledGraphs, norm: float) -> Floats:
        from infograph.baselines.product_walks import diagonal

        return diagonal(graphs.arrays, self.decay_, self.decay_ * norm**2)

    def _features(self, graphs: GraphSet | None) -> Matrix:
        return super()._features(graphs) if self.graphs_ is None else self._gram(graphs)

    @property
    def _n_features_out(self) -> int:
        return super()._n_features_out if self.graphs_ is None else self.n_graphs_

    # ---- what it takes, and saving

    def estimate(self, graphs: Any) -> Estimate:
        """From the number of terms, and the sizes of all pairs of graphs where there are labels."""
        self._check_settings()
        known = as_graphset(graphs)
        ratio = AUTO
        if self.decay != "auto":
            norm = largest_norm(arc_matrix(known), known.node_ptr)
            ratio = _choose_decay(self.decay, norm) * norm**2
        size, pairs = float(known.n_nodes + known.n_edges), len(known) ** 2
        if _is_labelled(self._schema(known)):
            products = float(known.n_nodes) * (known.n_nodes + known.n_edges)  # over all pairs
            largest = float(known.sizes.max()) ** 2
            return Estimate(
                2e-9 * n_terms(ratio) * products, BASE_MB + (24 * (largest + pairs) + 60 * size) / 1e6
            )
        terms = n_terms(math.sqrt(ratio))
        seconds = 4e-9 * terms * size + 2e-6 * size + 1e-9 * terms * pairs
        return Estimate(seconds, BASE_MB + (16 * terms * len(known) + 150 * size + 24 * pairs) / 1e6)

    def _state(self) -> State:
        if self.graphs_ is None:
            return super()._state()
        return {**self.graphs_.state(), "squares": self.squares_}

    def _set_state(self, state: State) -> None:
        self.graphs_ = LabelledGraphs.from_state(state) if "label" in state else None
        if self.graphs_ is None:
            super()._set_state(state)
        self.squares_ = state["squares"]

    def _learned(self) -> dict[str, Any]:
        return {**super()._learned(), "decay": self.decay_, "norm": self.norm_}

    def _set_learned(self, learned: dict[str, Any]) -> None:
        super()._set_learned(learned)
        self.decay_, self.norm_ = float(learned["decay"]), float(learned["norm"])


def _is_labelled(schema: Schema) -> bool:
    return bool(schema.features("node") or schema.features("edge"))


def _choose_decay(decay: Decay, norm: float) -> float:
    if isinstance(decay, str):
        return AUTO / max(norm, 1.0) ** 2
    if decay * norm**2 >= 1:
        raise InvalidParameter(
            f"decay={decay:g}: the number of walks grows faster than this decays, so their series diverges. "
            f"The largest spectral norm of these graphs is {norm:.6g}: pass a decay below "
            f"{1 / norm**2:.6g}, or 'auto' for {AUTO / max(norm, 1.0) ** 2:.6g}"
        )
    return float(decay)
