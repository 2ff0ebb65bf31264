"""Simple undirected graphs with their nodes grouped: what the multi-scale Laplacian kernel looks at."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from infograph.baselines.subtrees import named_colours, or_degree
from infograph.baselines.tokens import Tokens
from infograph.data.graphset import GraphSet

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """Nodes, their neighbours and their kinds. N nodes, R groups of nodes of one graph and one colour.

    Attributes:
        node_ptr: (G+1,) the nodes of every graph.
        ptr, targets: the neighbours of node v are targets[ptr[v]] ... targets[ptr[v+1] - 1], sorted by
            colour.
        labels: (2, N) the token of every node's label.
        centres: (R,) the first node of every group.
        group: (N,) the group of every node.
        kinds: (2, R) the token of every group's colour.
        sizes: (R,) nodes in each group.
    """

    node_ptr: Ints
    ptr: Ints
    targets: Ints
    labels: Tokens
    centres: Ints
    group: Ints
    kinds: Tokens
    sizes: Ints


def neighbourhoods(graphs: GraphSet, rounds: int) -> Neighbourhoods:
    """Colour the simple undirected graphs behind the graphs and group the nodes of each by colour.

    Nothing here depends on other graphs of the set, and nothing on the numbering of nodes except which node
    of a group is its first.
    """
    simple, matrix = simplified(graphs)
    colours, tokens = named_colours(simple, rounds, or_degree(simple))
    name = tokens[-1][:, colours.node_colours[-1]]  # (2, N)
    pair = graphs.node_graph.astype(np.int64) * colours.n_colours(rounds) + colours.node_colours[-1]
    _, centres, group, sizes = np.unique(pair, return_index=True, return_inverse=True, return_counts=True)
    source = np.repeat(np.arange(graphs.n_nodes), np.diff(matrix.indptr))
    order = np.lexsort((matrix.indices, name[0][matrix.indices], source))
    return Neighbourhoods(
        graphs.node_ptr.astype(np.int64),
        matrix.indptr.astype(np.int64),
        matrix.indices[order].astype(np.int64),
        tokens[0][:, colours.node_colours[0]],
        centres,
        group,
        name[:, centres],
        sizes,
    )


def simplified(graphs: GraphSet) -> tuple[GraphSet, csr_matrix]:
    """The graphs without directions, repeated edges, loops and edge columns, and their adjacency (N, N)."""
    source, target = graphs.edge_index
    proper = source != target
    ends = np.concatenate([source[proper], target[proper]]), np.concatenate([target[proper], source[proper]])
    matrix = csr_matrix((np.ones(len(ends[0]), np.int8), ends), shape=(graphs.n_nodes, graphs.n_nodes))
    matrix.sum_duplicates()
    matrix.data[:] = 1
    offset = np.repeat(graphs.node_ptr[:-1], graphs.sizes)  # (N,)
    sources = np.repeat(np.arange(graphs.n_nodes), np.diff(matrix.indptr))
    edges = np.stack([sources - offset[sources], matrix.indices - offset[sources]])
    schema = graphs.schema.replace("edge", ())
    edge_ptr = matrix.indptr[graphs.node_ptr].astype(np.int64)
    return replace(graphs, edges=edges, edge_ptr=edge_ptr, edge={}, schema=schema), matrix
