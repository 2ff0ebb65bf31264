"""The Weisfeiler-Lehman subtree kernel, straight from the colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from scipy.sparse import hstack

from infograph.baselines.bounded import Estimate, check_whole
from infograph.baselines.feature_kernel import CountKernel
from infograph.baselines.kernel import BASE_MB, Matrix
from infograph.baselines.reading import label_schema
from infograph.baselines.tokens import Tokens, join, mix, number_tokens, row_tokens
from infograph.data.colours import Colouring, Round, group_rows, refine
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.data.schema import Schema
from infograph.errors import InvalidParameter

NodeFeatures = Literal["auto", "constant", "degree"]
NODE_FEATURES = ("auto", "constant", "degree")


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
        if self.node_features not in NODE_FEATURES:
            raise InvalidParameter(f"node_features={self.node_features!r}: expected one of {NODE_FEATURES}")

    def _schema(self, graphs: GraphSet) -> Schema:
        node = self.node_columns if self.node_features == "auto" else ()
        return label_schema(graphs, node, self.edge_columns)

    def _count(self, graphs: GraphSet) -> tuple[Tokens, Matrix]:
        rounds, features = int(self._made_with["rounds"]), str(self._made_with["node_features"])
        colours = refine(graphs, rounds, node_features=features)
        heard = _edge_tokens(graphs)
        tokens = [_first_tokens(graphs, colours, features)]
        for k, made in enumerate(colours.rounds, start=1):
            tokens.append(_next_tokens(tokens[-1], heard, made, k))
        return np.hstack(tokens), hstack(colours.graph_counts, format="csr")

    def estimate(self, graphs: Any) -> Estimate:
        """From the nodes and arcs to colour in every round, and the pairs of graphs to multiply."""
        self._check_settings()
        known = as_graphset(graphs)
        steps = (self.rounds + 1) * (known.n_nodes + known.n_edges)
        pairs = len(known) ** 2
        return Estimate(4e-7 * steps + 3e-7 * pairs, BASE_MB + (30 * steps + 24 * pairs) / 1e6)


def _first_tokens(graphs: GraphSet, colours: Colouring, features: str) -> Tokens:
    """Tokens of the round-0 colours. (2, C_0)."""
    first = np.unique(colours.node_colours[0], return_index=True)[1]
    if features == "degree":
        degree = np.bincount(graphs.edge_index[1], minlength=graphs.n_nodes)
        return number_tokens(degree[first])
    return row_tokens(graphs, "node", graphs.schema.features("node"))[:, first]


def _edge_tokens(graphs: GraphSet) -> Tokens:
    """Tokens of the edge codes that `refine` gives: numbered as they appear among arcs sorted by target."""
    columns = graphs.schema.features("edge")
    if not columns or not graphs.n_edges:
        return np.zeros((2, 1), np.uint64)
    order = np.argsort(graphs.edge_index[1], kind="stable")
    first = group_rows([graphs.edge[column.name][order] for column in columns])[1]
    return row_tokens(graphs, "edge", columns)[:, order[first]]


def _next_tokens(before: Tokens, heard: Tokens, made: Round, k: int) -> Tokens:
    """Tokens of one round's colours: of the round, the colour before, and the multiset of what is heard."""
    n_codes = heard.shape[1]
    pairs = join(np.repeat(before, n_codes, axis=1), np.tile(heard, before.shape[1]))  # (2, C' * L)
    counts = made.incoming
    sums = np.zeros((2, counts.shape[0]), np.uint64)
    filled = np.flatnonzero(np.diff(counts.indptr))
    if len(filled):
        terms = pairs[:, counts.indices] * counts.data.astype(np.uint64)
        sums[:, filled] = np.add.reduceat(terms, counts.indptr[filled], axis=1)
    return mix(join(before[:, made.parent], sums) + np.uint64(k))
