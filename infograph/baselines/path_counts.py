"""Shortest paths of all graphs by breadth-first search, in compiled code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.compiled import compiled

Ints = NDArray[np.int64]
Nodes = NDArray[np.int32]


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
