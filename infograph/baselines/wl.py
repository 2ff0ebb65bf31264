"""The Weisfeiler-Lehman subtree kernel, straight from the colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infograph.baselines.base import BASE_MB, CountKernel, Estimate, check_choice, check_whole, label_schema
from infograph.baselines.words import NODE_FEATURES, Matrix, NodeFeatures, Tokens, count_subtrees
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.data.schema import Schema


class WeisfeilerLehman(CountKernel):
    """The subtree kernel of Shervashidze et al. (2011): how many nodes of each colour two graphs share.

        WeisfeilerLehman(rounds=5).fit(graphs).gram()

    k(x, y) is the sum over rounds 0 ... `rounds` and over colours of the product of their counts.
    `transform` gives these counts as a sparse matrix, one column per colour of the fitted graphs.

    A node's next colour is its colour and the multiset of (colour, edge label) it hears along incoming arcs.
    So directed graphs are coloured along their arcs, a self-loop lets a node hear itself, and repeated edges
    are heard as often as they are there. Graphs without edges and single nodes keep their first colours.
    Edge weights are not looked at. Nodes without labels all start alike.

    Args:
        rounds: 5 is GraKeL's default; Table 1 here chooses it from 1 ... 5 on the training data.
        normalise: k(x, y) / sqrt(k(x, x) k(y, y)).
        node_columns: the node columns that are the labels; None takes those the schema marks as used.
        edge_columns: the same for edges; TU data sets mark their edge labels as not used.
        node_features: what the first colour is: "auto" (the labels, a constant where there are none),
            "constant", or "degree".
        max_minutes, memory_mb: `fit` refuses to begin where `estimate` says more; None for no limit.
    """

    _remedy = "take fewer rounds or fewer graphs"

    def __init__(
        self,
        rounds: int = 5,
        *,
        normalise: bool = False,
        node_columns: Sequence[str] | None = None,
        edge_columns: Sequence[str] | None = None,
        node_features: NodeFeatures = "auto",
        max_minutes: float | None = 60.0,
        memory_mb: float | None = 8192.0,
    ) -> None:
        self.rounds = rounds
        self.normalise = normalise
        self.node_columns = node_columns
        self.edge_columns = edge_columns
        self.node_features = node_features
        self.max_minutes = max_minutes
        self.memory_mb = memory_mb

    def _check_settings(self) -> None:
        check_whole("rounds", self.rounds, 0)
        check_choice("node_features", self.node_features, NODE_FEATURES)

    def _schema(self, graphs: GraphSet) -> Schema:
        node = self.node_columns if self.node_features == "auto" else ()
        return label_schema(graphs, node, self.edge_columns)

    def _count(self, graphs: GraphSet) -> tuple[Tokens, Matrix]:
        return count_subtrees(graphs, self._made_with["rounds"], self._made_with["node_features"])

    def estimate(self, graphs: Any) -> Estimate:
        """From the nodes and arcs to colour in every round, and the pairs of graphs to multiply."""
        self._check_settings()
        known = as_graphset(graphs)
        steps = (self.rounds + 1) * (known.n_nodes + known.n_edges)
        pairs = len(known) ** 2
        return Estimate(4e-7 * steps + 3e-7 * pairs, BASE_MB + (30 * steps + 24 * pairs) / 1e6)
