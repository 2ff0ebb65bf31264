"""The shortest-path kernel: pairs of nodes by their labels and their distance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from infograph.baselines.base import BASE_MB, CountKernel, Estimate, label_schema
from infograph.baselines.walks import Ints, arcs_of, compiled
from infograph.baselines.words import Matrix, Tokens, join, number_tokens, row_tokens
from infograph.data.colours import node_inputs
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.schema import Schema

LENGTHS = 20  # different lengths in a graph, as a rule; for the estimate
Nodes = NDArray[np.int32]


class ShortestPath(CountKernel):
    """The kernel of Borgwardt and Kriegel (2005), with the delta kernel on labels and lengths.

        ShortestPath(normalise=True).fit(graphs).gram()

    k(x, y) counts the pairs (path of x, path of y) whose two end labels and lengths are equal. Paths belong
    to ordered pairs of different nodes, so an undirected path is there in both directions; pairs that are not
    connected have none. Nodes without labels are all alike: then lengths alone are compared. `transform`
    gives the counts of (label, label, length) as a sparse matrix.

    Every arc has length 1: weights are not looked at, and self-loops and repeated edges change nothing.
    Directed graphs are walked along their arcs. A graph without edges has no features, and k(x, x) = 0.

    Distances come from one breadth-first search per node, n (n + m) steps per graph, with one row of
    distances in memory at a time.

    Args:
        normalise: k(x, y) / sqrt(k(x, x) k(y, y)).
        node_columns: the node columns that are the labels; None takes those the schema marks as used, and []
            none.
        max_minutes, memory_mb: `fit` refuses to begin where `estimate` says more; None for no limit.
    """

    _remedy = "leave out the largest graphs, or compare lengths only with node_columns=[]"

    def __init__(
        self,
        *,
        normalise: bool = False,
        node_columns: Sequence[str] | None = None,
        max_minutes: float | None = 60.0,
        memory_mb: float | None = 8192.0,
    ) -> None:
        self.normalise = normalise
        self.node_columns = node_columns
        self.max_minutes = max_minutes
        self.memory_mb = memory_mb

    def _check_settings(self) -> None:
        """There is nothing to check."""

    def _schema(self, graphs: GraphSet) -> Schema:
        return label_schema(graphs, self.node_columns, None, edges=False)

    def _count(self, graphs: GraphSet) -> tuple[Tokens, Matrix]:
        return count_shortest_paths(graphs)

    def estimate(self, graphs: Any) -> Estimate:
        """From n (n + m) steps of breadth-first search per graph, and the number of different paths."""
        self._check_settings()
        known = as_graphset(graphs)
        schema = label_schema(known, self.node_columns, None, edges=False)
        sizes = known.sizes.astype(np.float64)
        arcs = np.diff(known.edge_ptr)
        n_labels = np.prod([float(max(1, column.encoded_width)) for column in schema.node])
        some = np.minimum(sizes, n_labels)  # labels in a graph at most
        paths = np.minimum(sizes**2, some**2 * np.minimum(sizes, LENGTHS)).sum()
        table = float((16 * some * sizes).max())
        seconds = 4e-9 * (sizes * (sizes + arcs)).sum() + 5e-7 * paths + 2e-7 * len(known) ** 2
        return Estimate(float(seconds), float(BASE_MB + (120 * paths + table + 24 * len(known) ** 2) / 1e6))


def count_shortest_paths(graphs: GraphSet) -> tuple[Tokens, Matrix]:
    """Distinct paths (labels of both ends and length; 2, C), and how many pairs of nodes have each (G, C)."""
    label = node_inputs(graphs)[0].astype(np.int64)  # (N,)
    first = np.unique(label, return_index=True)[1]
    order, place, names, name_ptr = _sort_labels(graphs, label)
    arcs = arcs_of(graphs)
    inside = arcs.targets - np.repeat(graphs.node_ptr[graphs.node_graph], arcs.degrees)
    rows, row_ptr = count_paths(arcs.node_ptr, arcs.ptr, inside.astype(np.int32), order, place)
    offset = np.repeat(name_ptr[:-1], np.diff(row_ptr))
    source, target = names[rows[:, 0] + offset], names[rows[:, 1] + offset]  # (R,) labels
    n_labels, n_lengths = len(first), rows[:, 2].max(initial=0) + 1
    paths, columns = np.unique((source * n_labels + target) * n_lengths + rows[:, 2], return_inverse=True)
    counts = csr_matrix((rows[:, 3].astype(np.float64), columns, row_ptr), (len(graphs), len(paths)))
    label_tokens = row_tokens(graphs, "node", graphs.schema.features("node"))[:, first]  # (2, L)
    ends, length = np.divmod(paths, n_lengths)
    source, target = np.divmod(ends, n_labels)
    return join(label_tokens[:, source], label_tokens[:, target], number_tokens(length)), counts


def _sort_labels(
    graphs: GraphSet, label: Ints
) -> tuple[NDArray[np.int32], NDArray[np.int32], Ints, IntArray]:
    """The nodes of every graph sorted by label, and the labels that each graph has.

    Returns:
        (N,) nodes in the order of their labels, (N,) the place of each node's label among those of its
        graph, (P,) the labels of all graphs, one graph after the other, and (G+1,) where each graph's begin.
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
    """How many ordered pairs of nodes have which labels and which distance, graph by graph.

    One row of distances is in memory at a time. Sources are taken label by label, so the table of counts has
    one row per label of a graph and one column per length.

    Args:
        node_ptr: (G+1,) nodes of every graph.
        ptr: (N+1,) arcs of every node, nodes numbered through all graphs.
        targets: (E,) where they lead to, numbered from 0 inside each graph.
        order: (N,) the nodes of every graph, numbered inside it, sorted by label.
        place: (N,) the place of every node's label among the labels of its graph.

    Returns:
        (R, 4) rows (place of source label, place of target label, length, count), and (G+1,) the rows of
        every graph.
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
            n_touched = _add_paths(
                u, ptr[start : stop + 1], targets, own, distance, queue, table, touched, n_touched
            )
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


@compiled
def _add_paths(
    source: int,
    ptr: Ints,
    targets: Nodes,
    place: Nodes,
    distance: Nodes,
    queue: Nodes,
    table: Ints,
    touched: Ints,
    n_touched: int,
) -> int:
    """Add the paths from one node to the table; `distance` is -1 everywhere before and after."""
    n = len(distance)
    distance[source] = 0
    queue[0] = source
    head, tail = 0, 1
    while head < tail:
        u = queue[head]
        step = distance[u] + 1
        for arc in range(ptr[u], ptr[u + 1]):
            v = targets[arc]
            if distance[v] < 0:
                distance[v] = step
                queue[tail] = v
                tail += 1
        head += 1
    distance[source] = -1
    for i in range(1, tail):
        v = queue[i]
        cell = place[v] * n + distance[v]
        distance[v] = -1
        if table[cell] == 0:
            touched[n_touched] = cell
            n_touched += 1
        table[cell] += 1
    return n_touched
