"""The local topological profile: histograms of degrees, of neighbours' degrees, and of edges."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from infograph.baselines.base import GraphEmbedding, Vectors, read_like
from infograph.baselines.walks import Floats, Ints, breadth_first, compiled, simple_adjacency
from infograph.data.graphset import GraphSet
from infograph.data.schema import Schema

NODE_FEATURES, EDGE_FEATURES = 5, 3


@dataclass(eq=False, repr=False)
class LocalTopologicalProfile(GraphEmbedding):
    """LTP (Adamczyk and Czech 2023): eight histograms per graph, made to be given to a random forest.

        LocalTopologicalProfile().fit_transform(graphs)

    Five are of nodes: the degree, and least, largest, mean and deviation of the neighbours' degrees (Cai and
    Wang 2018). Three are of edges: betweenness, the Jaccard index of the neighbourhoods of both ends, and the
    local degree score (Lindner et al. 2015). Labels, weights and directions are not looked at. A histogram
    counts values in equal bins between 0 and the largest one of the fitted graphs.

    Args:
        n_bins: 50 in the paper.
    """

    n_bins: int = 50
    _: KW_ONLY

    def _schema(self, graphs: GraphSet) -> Schema:
        return Schema()

    def _learn(self, graphs: GraphSet) -> Vectors:
        nodes, edges, edge_ptr = _profile(graphs)
        self.low_ = np.concatenate([table.min(axis=0, initial=0) for table in (nodes, edges)])
        self.high_ = np.concatenate([table.max(axis=0, initial=0) for table in (nodes, edges)])
        return self._count(graphs, nodes, edges, edge_ptr)

    def transform(self, graphs: Any) -> Vectors:
        """Histograms of graphs, with the bins of the fitted ones; values beyond them count in the last."""
        self._check_fitted()
        known = read_like(graphs, self.schema_)
        return self._count(known, *_profile(known))

    def _count(self, graphs: GraphSet, nodes: Floats, edges: Floats, edge_ptr: Ints) -> Vectors:
        bins, found = self._made.n_bins, []
        owners = (graphs.node_graph, np.repeat(np.arange(len(graphs)), np.diff(edge_ptr)))
        low, high = iter(self.low_), iter(self.high_)
        for table, owner in zip((nodes, edges), owners, strict=True):
            for values in table.T:
                least, most = next(low), next(high)
                place = ((values - least) / (most - least or 1.0) * bins).astype(np.int64).clip(0, bins - 1)
                counts = np.bincount(owner * bins + place, minlength=len(graphs) * bins)
                found.append(counts.reshape(len(graphs), bins))
        return np.hstack(found).astype(np.float32)

    @property
    def _n_features_out(self) -> int:
        return (NODE_FEATURES + EDGE_FEATURES) * self._made.n_bins


def _profile(graphs: GraphSet) -> tuple[Floats, Floats, Ints]:
    """Features of nodes (N, 5) and of undirected edges (M, 3), and where each graph's edges begin (G+1,)."""
    both = simple_adjacency(graphs)
    ptr, targets = both.indptr.astype(np.int64), both.indices.astype(np.int64)
    degree = np.diff(ptr).astype(np.float64)
    nodes = np.zeros((graphs.n_nodes, NODE_FEATURES))
    nodes[:, 0] = degree
    filled = np.flatnonzero(degree)
    if len(filled):
        heard = degree[targets]
        total, squares = (np.add.reduceat(each, ptr[filled]) / degree[filled] for each in (heard, heard**2))
        nodes[filled, 1] = np.minimum.reduceat(heard, ptr[filled])
        nodes[filled, 2] = np.maximum.reduceat(heard, ptr[filled])
        nodes[filled, 3] = total
        nodes[filled, 4] = np.sqrt(np.maximum(squares - total**2, 0))
    source = np.repeat(np.arange(graphs.n_nodes), np.diff(ptr))
    once = source < targets
    edges = np.zeros((len(targets), EDGE_FEATURES))
    if len(targets):
        edges[:, 0] = _betweenness(graphs.node_ptr.astype(np.int64), ptr, targets)
        shared = _shared(ptr, targets)
        edges[:, 1] = shared / (degree[source] + degree[targets] - shared)
        edges[:, 2] = _degree_scores(ptr, targets)
    counts = np.bincount(graphs.node_graph[source[once]], minlength=len(graphs))
    return nodes, edges[once], np.concatenate([[0], np.cumsum(counts)])


@compiled
def _betweenness(node_ptr: Ints, ptr: Ints, targets: Ints) -> Floats:
    """Share of the pairs of a graph's nodes whose shortest paths use an arc or its reverse (Brandes 2001)."""
    found = np.zeros(len(targets))
    n_all = len(ptr) - 1
    distance, queue = np.full(n_all, -1, np.int64), np.empty(n_all, np.int64)
    paths, owed = np.zeros(n_all), np.zeros(n_all)
    for g in range(len(node_ptr) - 1):
        start, stop = node_ptr[g], node_ptr[g + 1]
        for root in range(start, stop):
            tail = breadth_first(root, ptr, targets, distance, queue)
            paths[root] = 1.0
            for place in range(tail):
                u = queue[place]
                for arc in range(ptr[u], ptr[u + 1]):
                    if distance[targets[arc]] == distance[u] + 1:
                        paths[targets[arc]] += paths[u]
            for place in range(tail - 1, -1, -1):
                u = queue[place]
                for arc in range(ptr[u], ptr[u + 1]):
                    v = targets[arc]
                    if distance[v] == distance[u] + 1:
                        share = paths[u] / paths[v] * (1 + owed[v])
                        found[arc] += share
                        owed[u] += share
            for place in range(tail):
                u = queue[place]
                distance[u], paths[u], owed[u] = -1, 0.0, 0.0
        n = stop - start
        for u in range(start, stop):
            for arc in range(ptr[u], ptr[u + 1]):
                if n > 1:
                    found[arc] *= 2.0 / (n * (n - 1))
    return found


@compiled
def _shared(ptr: Ints, targets: Ints) -> Floats:
    """How many neighbours both ends of every arc have; rows of `targets` are sorted."""
    found = np.zeros(len(targets))
    for u in range(len(ptr) - 1):
        for arc in range(ptr[u], ptr[u + 1]):
            v = targets[arc]
            i, j = ptr[u], ptr[v]
            while i < ptr[u + 1] and j < ptr[v + 1]:
                if targets[i] == targets[j]:
                    found[arc] += 1
                    i += 1
                    j += 1
                elif targets[i] < targets[j]:
                    i += 1
                else:
                    j += 1
    return found


@compiled
def _degree_scores(ptr: Ints, targets: Ints) -> Floats:
    """1 - log(rank) / log(degree) of an arc's target among its source's neighbours, the larger of both ends.

    The neighbour of largest degree has rank 1; equal degrees share the first of their ranks.
    """
    found = np.zeros(len(targets))
    for u in range(len(ptr) - 1):
        degree = ptr[u + 1] - ptr[u]
        own = np.empty(degree, np.int64)
        for k in range(degree):
            v = targets[ptr[u] + k]
            own[k] = ptr[v + 1] - ptr[v]
        falling = np.sort(own)[::-1]
        for k in range(degree):
            low, high = 0, degree
            while low < high:  # how many have more
                middle = (low + high) // 2
                if falling[middle] > own[k]:
                    low = middle + 1
                else:
                    high = middle
            found[ptr[u] + k] = 1.0 if degree < 2 else 1 - np.log(low + 1) / np.log(degree)
    both = found.copy()
    for u in range(len(ptr) - 1):
        for arc in range(ptr[u], ptr[u + 1]):
            v = targets[arc]
            low, high = ptr[v], ptr[v + 1]
            while low < high:  # the reverse arc
                middle = (low + high) // 2
                if targets[middle] < u:
                    low = middle + 1
                else:
                    high = middle
            both[arc] = max(found[arc], found[low])
    return both
