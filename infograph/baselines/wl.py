"""The Weisfeiler-Lehman kernels, straight from the colours: subtrees, and optimal assignment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from scipy.sparse import csr_matrix

from infograph.baselines.base import CountKernel, label_schema
from infograph.baselines.words import Matrix, NodeFeatures, Tokens, count_subtrees, join, number_tokens
from infograph.data.graphset import GraphSet
from infograph.data.schema import Schema


@dataclass(eq=False, repr=False)
class WeisfeilerLehman(CountKernel):
    """The subtree kernel of Shervashidze et al. (2011): how many nodes of each colour two graphs share.

        WeisfeilerLehman(rounds=5).fit(graphs).gram()

    k(x, y) is the sum over rounds 0 ... `rounds` and over colours of the product of their counts.
    `transform` gives these counts as a sparse matrix, one column per colour of the fitted graphs.

    A node's next colour is its colour and the multiset of (colour, edge label) it hears along incoming arcs:
    a self-loop lets a node hear itself, repeated edges are heard as often as they are there. Edge weights are
    not looked at. Nodes without labels all start alike.

    Args:
        rounds: 5 is GraKeL's default; Table 1 here chooses it from 1 ... 5 on the training data.
        normalise: k(x, y) / sqrt(k(x, x) k(y, y)).
        node_columns: the node columns that are the labels; None takes those the schema marks as used.
        edge_columns: the same for edges; TU data sets mark their edge labels as not used.
        node_features: what the first colour is: "auto" (the labels, a constant where there are none),
            "constant", or "degree".
    """

    rounds: int = 5
    _: KW_ONLY
    normalise: bool = False
    node_columns: Sequence[str] | None = None
    edge_columns: Sequence[str] | None = None
    node_features: NodeFeatures = "auto"

    def _schema(self, graphs: GraphSet) -> Schema:
        node = self.node_columns if self.node_features == "auto" else ()
        return label_schema(graphs, node, self.edge_columns)

    def _count(self, graphs: GraphSet) -> tuple[Tokens, Matrix]:
        return count_subtrees(graphs, self._made.rounds, self._made.node_features)


@dataclass(eq=False, repr=False)
class OptimalAssignment(WeisfeilerLehman):
    """The optimal assignment kernel WL-OA of Kriege, Giscard and Wilson (2016).

        OptimalAssignment(rounds=5).fit(graphs).gram()

    Nodes of two graphs are assigned to each other such that as many rounds as possible agree; that is the
    number of nodes of each colour that both graphs have, `sum over colours of min(count, count')`. Written as
    an inner product, a colour that c nodes have is c features: one node has it, two have it, ...

    Args:
        rounds, normalise, node_columns, edge_columns, node_features: as in `WeisfeilerLehman`.
    """

    def _count(self, graphs: GraphSet) -> tuple[Tokens, Matrix]:
        tokens, counts = super()._count(graphs)
        times = counts.data.astype(np.int64)  # (entries,)
        first = np.repeat(np.cumsum(times) - times, times)
        number = np.arange(times.sum()) - first  # 0 ... count - 1 of every entry
        width = int(times.max(initial=1))
        entry = np.repeat(counts.indices.astype(np.int64), times)  # times the width 32 bits are too few
        levels, column = np.unique(entry * width + number, return_inverse=True)
        ptr = np.concatenate([[0], np.cumsum(times)])[counts.indptr]
        expanded = csr_matrix((np.ones(len(column)), column, ptr), (counts.shape[0], len(levels)))
        colour, level = np.divmod(levels, width)
        return join(tokens[:, colour], number_tokens(level)), expanded
