"""Adjacency lists of all graphs at once, as kernels that ignore weights need them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from infograph.data.graphset import GraphSet

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Adjacency:
    """The arcs of all graphs by source, nodes numbered through all graphs.

    Attributes:
        node_ptr: (G+1,) the nodes of every graph.
        ptr: (N+1,) the arcs of node v are ptr[v] ... ptr[v+1] - 1.
        targets: where arcs lead to, sorted for each node, each target once.
        multiplicity: how often each arc is there.
    """

    node_ptr: Ints
    ptr: Ints
    targets: Ints
    multiplicity: Ints

    @property
    def degrees(self) -> Ints:
        """Distinct targets of every node. (N,)."""
        return np.diff(self.ptr)


def arcs_of(graphs: GraphSet) -> Adjacency:
    """All arcs as they are: directed, self-loops included, repeated ones counted."""
    source, target = graphs.edge_index
    return _collapse(graphs, source, target)


def simple_graphs(graphs: GraphSet) -> Adjacency:
    """The simple undirected graphs behind the graphs.

    Directions are dropped, repeated edges are one edge, self-loops are left out. The nodes of every graph are
    renumbered by degree, so that neighbours with a larger number have at least as many neighbours.
    """
    source, target = graphs.edge_index
    proper = source != target
    source, target = source[proper], target[proper]
    both = np.concatenate([source, target]), np.concatenate([target, source])
    degrees = _collapse(graphs, *both).degrees
    rank = np.empty(graphs.n_nodes, np.int64)
    rank[np.lexsort((degrees, graphs.node_graph))] = np.arange(graphs.n_nodes)
    return _collapse(graphs, rank[both[0]], rank[both[1]])


def _collapse(graphs: GraphSet, source: NDArray[np.integer], target: NDArray[np.integer]) -> Adjacency:
    n = graphs.n_nodes
    matrix = csr_matrix((np.ones(len(source), np.int64), (source, target)), shape=(n, n))
    matrix.sum_duplicates()
    return Adjacency(
        graphs.node_ptr.astype(np.int64),
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int64),
        matrix.data,
    )
