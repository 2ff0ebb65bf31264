"""Triangles, four-cycles, four-cliques and what else exact graphlet counts are made of, in compiled code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.compiled import compiled

Ints = NDArray[np.int64]
RAW = ("nodes", "edges", "wedges", "triangles", "stars", "paths", "cycles", "paws", "diamonds", "cliques")


@compiled
def raw_counts(node_ptr: Ints, ptr: Ints, targets: Ints) -> Ints:
    """Subgraphs of every graph, induced or not, in the order of `RAW`; the last six have four nodes.

    Nodes are numbered by degree. Triangles and cliques are found from their lowest node and cycles from their
    highest (Chiba and Nishizeki 1985), so a hub costs no more than its neighbours' degrees: E times the
    arboricity instead of a hub's degree squared.

    Args:
        node_ptr: (G+1,) nodes of every graph.
        ptr, targets: the neighbours of every node, sorted, in simple graphs.

    Returns:
        (G, 10) counts.
    """
    n_graphs = len(node_ptr) - 1
    result = np.zeros((n_graphs, 10), np.int64)
    n_nodes = node_ptr[n_graphs]
    mark = np.full(n_nodes, -1, np.int64)  # the arc from the current node to a higher neighbour
    inner = np.full(n_nodes, -1, np.int64)  # the last triangle base that a node closes
    at_node = np.zeros(n_nodes, np.int64)  # triangles
    at_edge = np.zeros(len(targets), np.int64)  # triangles, at the arc from the lower to the higher node
    seen = np.zeros(n_nodes, np.int64)
    higher = _first_higher(ptr, targets)
    for g in range(n_graphs):
        result[g, 0] = node_ptr[g + 1] - node_ptr[g]
        for u in range(node_ptr[g], node_ptr[g + 1]):
            _add_triangles(u, ptr, higher, targets, mark, inner, at_node, at_edge, result[g])
            result[g, 6] += _cycles(u, ptr, targets, seen)
        _add_degrees(node_ptr[g], node_ptr[g + 1], ptr, targets, at_node, at_edge, result[g])
    return result


@compiled
def _first_higher(ptr: Ints, targets: Ints) -> Ints:
    """Where the arcs of every node to higher nodes begin. (N,)."""
    higher = ptr[1:].copy()
    for u in range(len(higher)):
        while higher[u] > ptr[u] and targets[higher[u] - 1] > u:
            higher[u] -= 1
    return higher


@compiled
def _add_triangles(
    u: int,
    ptr: Ints,
    higher: Ints,
    targets: Ints,
    mark: Ints,
    inner: Ints,
    at_node: Ints,
    at_edge: Ints,
    result: Ints,
) -> None:
    """Triangles and four-cliques whose lowest node is u."""
    for arc in range(higher[u], ptr[u + 1]):
        mark[targets[arc]] = arc
    for arc in range(higher[u], ptr[u + 1]):
        v = targets[arc]
        for second in range(higher[v], ptr[v + 1]):
            w = targets[second]
            if mark[w] >= 0:
                result[3] += 1
                at_node[u] += 1
                at_node[v] += 1
                at_node[w] += 1
                at_edge[arc] += 1
                at_edge[second] += 1
                at_edge[mark[w]] += 1
                inner[w] = arc
        for second in range(higher[v], ptr[v + 1]):
            w = targets[second]
            if inner[w] == arc:
                for third in range(higher[w], ptr[w + 1]):
                    if inner[targets[third]] == arc:
                        result[9] += 1
    for arc in range(higher[u], ptr[u + 1]):
        mark[targets[arc]] = -1


@compiled
def _cycles(u: int, ptr: Ints, targets: Ints, seen: Ints) -> int:
    """Four-cycles whose highest node is u: pairs of ways u - v - w to the same opposite node w."""
    total = 0
    for arc in range(ptr[u], ptr[u + 1]):
        v = targets[arc]
        if v > u:
            break
        for second in range(ptr[v], ptr[v + 1]):
            w = targets[second]
            if w >= u:
                break
            total += seen[w]
            seen[w] += 1
    for arc in range(ptr[u], ptr[u + 1]):
        v = targets[arc]
        if v > u:
            break
        for second in range(ptr[v], ptr[v + 1]):
            w = targets[second]
            if w >= u:
                break
            seen[w] = 0
    return total


@compiled
def _add_degrees(
    first: int, last: int, ptr: Ints, targets: Ints, at_node: Ints, at_edge: Ints, result: Ints
) -> None:
    """What follows from degrees, and from triangles per node and edge."""
    for u in range(first, last):
        d = ptr[u + 1] - ptr[u]
        result[2] += d * (d - 1) // 2
        result[4] += d * (d - 1) // 2 * (d - 2) // 3
        result[7] += at_node[u] * (d - 2)
        for arc in range(ptr[u], ptr[u + 1]):
            v = targets[arc]
            if v > u:
                result[1] += 1
                result[5] += (d - 1) * (ptr[v + 1] - ptr[v] - 1)
                result[8] += at_edge[arc] * (at_edge[arc] - 1) // 2
    result[5] -= 3 * result[3]
