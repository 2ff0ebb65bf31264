"""The shortest-path kernel: pairs of nodes by their labels and their distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from infograph.baselines import words
from infograph.baselines.base import CountKernel, label_schema
from infograph.baselines.walks import Ints, Nodes, adjacency, breadth_first, compiled
from infograph.baselines.words import Matrix, Tokens
from infograph.data.colours import node_inputs
from infograph.data.graphset import GraphSet
from infograph.data.schema import Schema


@dataclass(eq=False, repr=False)
class ShortestPath(CountKernel):
    """The kernel of Borgwardt and Kriegel (2005), with the delta kernel on labels and lengths.

        ShortestPath(normalise=True).fit(graphs).gram()

    k(x, y) counts the pairs (path of x, path of y) whose two end labels and lengths are equal. Paths belong
    to ordered pairs of different nodes, so an undirected path is there in both directions; pairs that are not
    connected have none. Nodes without labels are all alike: then lengths alone are compared. `transform`
    gives the counts of (label, label, length) as a sparse matrix.

    Every arc has length 1: weights are not looked at, and self-loops and repeated edges change nothing.
    Directed graphs are walked along their arcs. A graph without edges has no features, and k(x, x) = 0.
    Distances come from one breadth-first search per node, n (n + m) steps per graph.

    Args:
        normalise: k(x, y) / sqrt(k(x, x) k(y, y)).
        node_columns: the node columns that are the labels; None takes those the schema marks as used, and []
            none.
    """

    _: KW_ONLY
    normalise: bool = False
    node_columns: Sequence[str] | None = None

    def _schema(self, graphs: GraphSet) -> Schema:
        return label_schema(graphs, self.node_columns, edges=False)

    def _count(self, graphs: GraphSet) -> tuple[Tokens, Matrix]:
        return count_shortest_paths(graphs)


def count_shortest_paths(graphs: GraphSet) -> tuple[Tokens, Matrix]:
    """Distinct paths (labels of both ends and length; 2, C), and how many pairs of nodes have each (G, C)."""
    label = node_inputs(graphs)[0].astype(np.int64)  # (N,)
    first = np.unique(label, return_index=True)[1]
    order, place, names, name_ptr = _sort_labels(graphs, label)
    arcs = adjacency(graphs)
    first_node = np.repeat(graphs.node_ptr[graphs.node_graph], np.diff(arcs.indptr))
    rows, row_ptr = count_paths(
        graphs.node_ptr.astype(np.int64),
        arcs.indptr.astype(np.int64),
        (arcs.indices - first_node).astype(np.int32),
        order,
        place,
    )
    offset = np.repeat(name_ptr[:-1], np.diff(row_ptr))
    source, target = names[rows[:, 0] + offset], names[rows[:, 1] + offset]  # (R,) labels
    n_labels, n_lengths = len(first), rows[:, 2].max(initial=0) + 1
    paths, columns = np.unique((source * n_labels + target) * n_lengths + rows[:, 2], return_inverse=True)
    counts = csr_matrix((rows[:, 3].astype(np.float64), columns, row_ptr), (len(graphs), len(paths)))
    label_tokens = words.row_tokens(graphs, "node", graphs.schema.features("node"))[:, first]  # (2, L)
    ends, length = np.divmod(paths, n_lengths)
    source, target = np.divmod(ends, n_labels)
    return words.join(label_tokens[:, source], label_tokens[:, target], words.number_tokens(length)), counts


def _sort_labels(graphs: GraphSet, label: Ints) -> tuple[Nodes, Nodes, Ints, Ints]:
    """Nodes in the order of their labels (N,), the place of each node's label among those of its graph (N,),
    the labels of all graphs, one graph after the other (P,), and where each graph's begin (G+1,).
    """
    graph = graphs.node_graph
    order = np.lexsort((label, graph))  # graphs stay where they are
    starts = np.ones(len(order), bool)
    starts[1:] = (graph[1:] != graph[:-1]) | (label[order][1:] != label[order][:-1])
    name_ptr = np.concatenate([[0], np.cumsum(starts)])[graphs.node_ptr]
    place = np.empty(len(order), np.int32)
    place[order] = np.cumsum(starts) - 1 - name_ptr[graph]
    inside = order - graphs.node_ptr[graph]
    return inside.astype(np.int32), place, label[order][starts], name_ptr


@compiled
def count_paths(
    node_ptr: Ints, ptr: Ints, targets: Nodes, order: Nodes, place: Nodes
) -> tuple[NDArray[np.int64], Ints]:
    """How many ordered pairs of nodes have which labels and which distance: (R, 4) rows (place of source
    label, place of target label, length, count), and the rows of every graph (G+1,).

    Sources are taken label by label, so only a table of target labels times lengths is in memory. `targets`
    and `order` are numbered from 0 inside each graph; `order` and `place` are those of `_sort_labels`.
    """
    rows = np.empty((1024, 4), np.int64)
    used = 0
    row_ptr = np.zeros(len(node_ptr), np.int64)
    for g in range(len(node_ptr) - 1):
        start, stop = node_ptr[g], node_ptr[g + 1]
        n = stop - start
        own, sources = place[start:stop], order[start:stop]
        cells = (own[sources[n - 1]] + 1) * n
        table, touched = np.zeros(cells, np.int64), np.empty(cells, np.int64)
        distance, queue = np.full(n, -1, np.int32), np.empty(n, np.int32)
        n_touched = 0
        for i in range(n):
            u = sources[i]
            reached = breadth_first(u, ptr[start : stop + 1], targets, distance, queue)
            for v in queue[1:reached]:
                cell = own[v] * n + distance[v]
                if table[cell] == 0:
                    touched[n_touched] = cell
                    n_touched += 1
                table[cell] += 1
            for v in queue[:reached]:
                distance[v] = -1
            if i + 1 < n and own[sources[i + 1]] == own[u]:
                continue
            while used + n_touched > len(rows):
                longer = np.empty((2 * len(rows), 4), np.int64)
                longer[:used] = rows[:used]
                rows = longer
            for j in range(n_touched):
                cell = touched[j]
                rows[used, 0], rows[used, 1] = own[u], cell // n
                rows[used, 2], rows[used, 3] = cell % n, table[cell]
                table[cell] = 0
                used += 1
            n_touched = 0
        row_ptr[g + 1] = used
    return rows[:used].copy(), row_ptr
