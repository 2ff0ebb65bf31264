"""Random walks over all graphs of a set, biased as in node2vec."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from infograph.baselines.compiled import mix_keys
from infograph.data.graphset import GraphSet, IntArray
from infograph.errors import InvalidGraph


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Who can be reached from whom, over all graphs. N nodes, E' distinct arcs.

    Attributes:
        ptr: (N+1,) node v reaches the nodes neighbours[ptr[v]] ... neighbours[ptr[v+1] - 1].
        neighbours: (E',) sorted for each node, repeated arcs once.
        cumulative: (E',) running sums of the weights of a node's arcs; a repeated arc weighs that much more.
    """

    ptr: NDArray[np.int64]
    neighbours: NDArray[np.int32]
    cumulative: NDArray[np.float64]


def neighbours_of(graphs: GraphSet) -> Neighbours:
    """The arcs of all graphs, with the weight column where there is one.

    Raises:
        InvalidGraph: a weight is negative or not finite.
    """
    column = graphs.schema.weight
    weights = np.ones(graphs.n_edges)
    if column is not None:
        weights = graphs.edge[column.name].reshape(-1).astype(np.float64)
        bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
        if len(bad):
            index = int(graphs.edge_graph[bad[0]])
            raise InvalidGraph(
                f"an arc has the weight {weights[bad[0]]:g}, which no walk can take: expected 0 or more",
                index=index,
                graph_id=graphs.ids[index].item(),
            )
    source, target = graphs.edge_index
    matrix = csr_matrix((weights, (source, target)), shape=(graphs.n_nodes, graphs.n_nodes))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    running = np.concatenate([[0.0], np.cumsum(matrix.data)])
    ptr = matrix.indptr.astype(np.int64)
    cumulative = running[1:] - np.repeat(running[ptr[:-1]], np.diff(ptr))
    return Neighbours(ptr, matrix.indices.astype(np.int32), cumulative)


def random_walks(
    graphs: GraphSet,
    *,
    per_node: int,
    length: int,
    p: float = 1.0,
    q: float = 1.0,
    random_state: int = 0,
    starts: IntArray | None = None,
    turns: IntArray | None = None,
) -> NDArray[np.int32]:
    """Second-order walks (Grover and Leskovec 2016, Section 3.2), nodes numbered through all graphs.

    From v, reached from t, a walk goes to x with a probability proportional to w_vx times 1/p (x is t),
    1 (t has an arc to x) or 1/q (neither). Every walk has a generator of its own, keyed by the seed, its
    start's number inside its graph and its turn, so a graph has the same walks in any set.

    Args:
        graphs: the graphs; arcs are followed from source to target.
        per_node: walks from every node.
        length: nodes per walk; it ends earlier, and -1 follows, where no arc leaves a node.
        p, q: the return and the in-out parameter.
        random_state: the seed.
        starts: where walks begin, instead of every node.
        turns: what tells walks with the same start apart, one per start; 0 otherwise.

    Returns:
        (per_node * N, length): turn after turn, in each turn one walk per start.
    """
    from infograph.baselines.stepping import biased_walks

    known = neighbours_of(graphs)
    begin = np.arange(graphs.n_nodes) if starts is None else np.asarray(starts)
    inside = begin - graphs.node_ptr[np.searchsorted(graphs.node_ptr, begin, side="right") - 1]
    own = np.zeros(len(begin), np.int64) if turns is None else np.asarray(turns)
    keys = mix_keys(random_state, np.arange(per_node)[:, None], inside[None, :], own[None, :]).reshape(-1)
    every = np.tile(begin, per_node).astype(np.int32)
    return biased_walks(known.ptr, known.neighbours, known.cumulative, every, keys, length, p, q)
