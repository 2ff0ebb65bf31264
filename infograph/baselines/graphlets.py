"""The graphlet kernel: how often each small graph occurs as an induced subgraph."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from itertools import combinations, permutations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.base import FeatureKernel
from infograph.baselines.walks import GOLDEN, Ints, Keys, below, compiled, has_arc, mix_keys, simple_adjacency
from infograph.baselines.words import Floats, squared_norms
from infograph.data.graphset import GraphSet
from infograph.data.schema import Schema
from infograph.errors import InvalidParameter

NAMES = {
    3: ("empty", "edge", "wedge", "triangle"),
    4: (
        *("empty", "edge", "two edges", "wedge + node", "triangle + node"),
        *("path", "star", "cycle", "paw", "diamond", "clique"),
    ),
    5: tuple(f"five nodes, type {number}" for number in range(34)),
}
N_CONNECTED = {3: 2, 4: 6}  # the last ones
PAIRS = tuple(combinations(range(5), 2))  # bit b is the edge PAIRS[b]


@dataclass(eq=False, repr=False)
class Graphlets(FeatureKernel):
    """The kernel of Shervashidze et al. (2009): the distribution of all graphs on `size` nodes in a graph.

        Graphlets(size=4).fit(graphs).gram()

    Three and four nodes are counted exactly, connected graphlets and unconnected ones. Five nodes are
    sampled: sets drawn uniformly, whose shares are unbiased estimates of the frequencies. With n samples the
    sum of their absolute errors is below e with probability 1 - d if n >= 2 (34 log 2 + log(1 / d)) / e^2
    (the paper's bound for 34 types): 5,174 samples for e = d = 0.1.

    Node and edge labels are not looked at, and graphs are taken as simple and undirected: directions are
    dropped, repeated edges are one edge, self-loops are left out. A graph with fewer nodes than `size` (or no
    connected graphlet, with `connected_only`) has zero features, and k(x, x) = 0.

    Args:
        size: 3, 4 or 5, the sizes of the paper; 4 is the largest that is exact.
        connected_only: leave out the unconnected graphlets, as exact counts in GraKeL do; not for `size=5`.
        values: "frequencies", which add up to 1 (the paper's choice), or "counts".
        n_samples: sets drawn per graph for `size=5`.
        normalise: k(x, y) / sqrt(k(x, x) k(y, y)).
        random_state: seed of the samples. A graph has the same samples in any set, but others once its nodes
            are renumbered.

    Attributes:
        graphlet_names_: (F,) what is counted; types of five nodes have numbers, by their number of edges.
    """

    size: int = 4
    _: KW_ONLY
    connected_only: bool = False
    values: Literal["frequencies", "counts"] = "frequencies"
    n_samples: int = 5174
    normalise: bool = False
    random_state: int = 0

    def _schema(self, graphs: GraphSet) -> Schema:
        return Schema(options=graphs.schema.options)  # any graph will do

    @property
    def graphlet_names_(self) -> tuple[str, ...]:
        """What the columns count."""
        self._check_fitted()
        names = NAMES[self._made.size]
        return names[-N_CONNECTED[self._made.size] :] if self._made.connected_only else names

    def _represent(self, graphs: GraphSet) -> tuple[Floats, Floats]:
        made = self._made
        if made.size == 5 and made.connected_only:
            raise InvalidParameter(
                "connected_only=True: graphlets of five nodes are sampled from all sets; take size=4"
            )
        node_ptr, ptr, targets = _by_degree(graphs)
        if made.size == 5:
            sizes = graphs.sizes.astype(np.float64)
            keys = mix_keys(made.random_state, graphs.sizes)
            shares = sample_sets(node_ptr, ptr, targets, five_node_types(), keys, int(made.n_samples))
            n_sets = sizes * (sizes - 1) * (sizes - 2) * (sizes - 3) * (sizes - 4) / 120
            counts = shares * n_sets[:, None]  # as floats: 64 bits hold their number up to 6,000 nodes only
        else:
            raw = raw_counts(node_ptr, ptr, targets)
            counts = (three_nodes(raw) if made.size == 3 else four_nodes(raw)).astype(np.float64)
            counts = counts[:, -N_CONNECTED[made.size] :] if made.connected_only else counts
        if made.values == "frequencies":
            total = counts.sum(axis=1, keepdims=True)
            counts = counts / np.where(total > 0, total, 1.0)
        return counts, squared_norms(counts)


def _by_degree(graphs: GraphSet) -> tuple[Ints, Ints, Ints]:
    """Simple graphs with their nodes numbered by degree: nodes of every graph, and sorted neighbours."""
    matrix = simple_adjacency(graphs)
    order = np.lexsort((np.diff(matrix.indptr), graphs.node_graph))
    matrix = matrix[order][:, order]
    matrix.sort_indices()
    parts = (graphs.node_ptr, matrix.indptr, matrix.indices)
    node_ptr, ptr, targets = (part.astype(np.int64) for part in parts)
    return node_ptr, ptr, targets


@compiled
def raw_counts(node_ptr: Ints, ptr: Ints, targets: Ints) -> Ints:
    """Subgraphs of every graph, induced or not: nodes, edges, wedges, triangles, stars, paths, cycles, paws,
    diamonds and cliques; the last six have four nodes. (G, 10).

    Nodes are numbered by degree. Triangles and cliques are found from their lowest node and cycles from their
    highest (Chiba and Nishizeki 1985), so a hub costs no more than its neighbours' degrees: E times the
    arboricity instead of a hub's degree squared.
    """
    n_graphs = len(node_ptr) - 1
    result = np.zeros((n_graphs, 10), np.int64)
    n_nodes = node_ptr[n_graphs]
    marks = np.full((2, n_nodes), -1, np.int64)
    at_node = np.zeros(n_nodes, np.int64)  # triangles
    at_edge = np.zeros(len(targets), np.int64)  # triangles, at the arc from the lower to the higher node
    seen = np.zeros(n_nodes, np.int64)
    higher = ptr[1:].copy()  # where the arcs of every node to higher nodes begin
    for u in range(n_nodes):
        while higher[u] > ptr[u] and targets[higher[u] - 1] > u:
            higher[u] -= 1
    for g in range(n_graphs):
        result[g, 0] = node_ptr[g + 1] - node_ptr[g]
        for u in range(node_ptr[g], node_ptr[g + 1]):
            _add_triangles(u, ptr, higher, targets, marks, at_node, at_edge, result[g])
            result[g, 6] += _cycles(u, ptr, targets, seen)
        _add_degrees(node_ptr[g], node_ptr[g + 1], ptr, targets, at_node, at_edge, result[g])
    return result


@compiled
def _add_triangles(
    u: int, ptr: Ints, higher: Ints, targets: Ints, marks: Ints, at_node: Ints, at_edge: Ints, result: Ints
) -> None:
    """Triangles and four-cliques whose lowest node is u."""
    # the arc from u to a higher neighbour; the last triangle base that a node closes
    mark, inner = marks[0], marks[1]
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
            if targets[second] >= u:
                break
            seen[targets[second]] = 0
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


def three_nodes(raw: NDArray[np.int64]) -> NDArray[Any]:
    """Counts of the induced three-node graphs, as Python's whole numbers, which do not overflow. (G, 4)."""
    n, m, wedges, triangles, *_ = raw.astype(object).T
    wedge = wedges - 3 * triangles
    edge = m * (n - 2) - 2 * wedge - 3 * triangles
    edge = np.where(n < 3, 0, edge)
    empty = n * (n - 1) * (n - 2) // 6 - edge - wedge - triangles
    return np.stack([empty, edge, wedge, triangles], axis=1)


def four_nodes(raw: NDArray[np.int64]) -> NDArray[Any]:
    """Counts of the induced four-node graphs, as Python's whole numbers. (G, 11).

    Each line takes a subgraph's count and subtracts how often it is inside every denser graph on four nodes.
    """
    n, m, wedges, triangles, stars, paths, cycles, paws, diamonds, clique = raw.astype(object).T
    diamond = diamonds - 6 * clique
    paw = paws - 4 * diamond - 12 * clique
    cycle = cycles - diamond - 3 * clique
    star = stars - paw - 2 * diamond - 4 * clique
    path = paths - 2 * paw - 4 * cycle - 6 * diamond - 12 * clique
    triangle = triangles * (n - 3) - paw - 2 * diamond - 4 * clique
    wedge = (wedges - 3 * triangles) * (n - 3) - 2 * path - 3 * star - 4 * cycle - 2 * paw - 2 * diamond
    apart = m * (m - 1) // 2 - wedges - path - 2 * cycle - paw - 2 * diamond - 3 * clique
    denser = 2 * (apart + wedge) + 3 * (triangle + path + star) + 4 * (cycle + paw) + 5 * diamond + 6 * clique
    edge = m * ((n - 2) * (n - 3) // 2) - denser
    rest = edge + apart + wedge + triangle + path + star + cycle + paw + diamond + clique
    empty = n * (n - 1) * (n - 2) * (n - 3) // 24 - rest
    counts = np.stack([empty, edge, apart, wedge, triangle, path, star, cycle, paw, diamond, clique], axis=1)
    counts[(n < 4).astype(bool)] = 0  # (n - 3) is negative there
    return counts


@compiled
def sample_sets(node_ptr: Ints, ptr: Ints, targets: Ints, types: Ints, keys: Keys, n_samples: int) -> Floats:
    """Shares of the types among uniformly drawn sets of five nodes. (G, 34); zeros below five nodes."""
    result = np.zeros((len(node_ptr) - 1, 34))
    chosen = np.empty(5, np.int64)
    for g in range(len(node_ptr) - 1):
        n = node_ptr[g + 1] - node_ptr[g]
        state = keys[g]
        for _ in range(n_samples if n >= 5 else 0):
            size = 0
            while size < 5:
                state += GOLDEN
                v = node_ptr[g] + below(state, n)
                new = True
                for i in range(size):
                    new = new and chosen[i] != v
                if new:
                    chosen[size] = v
                    size += 1
            code, bit = 0, 0  # the edges between them, in the order of PAIRS
            for i in range(5):
                for j in range(i + 1, 5):
                    if has_arc(ptr, targets, chosen[i], chosen[j]):
                        code |= 1 << bit
                    bit += 1
            result[g, types[code]] += 1.0 / n_samples
    return result


@lru_cache(maxsize=1)
def five_node_types() -> NDArray[np.int64]:
    """The type of every ten-bit code: equal if renumbering the nodes turns one into the other. (1024,)."""
    codes = np.arange(1024)
    bit = {pair: b for b, pair in enumerate(PAIRS)}
    smallest = codes.copy()
    for order in permutations(range(5)):
        moved = np.zeros_like(codes)
        for b, (i, j) in enumerate(PAIRS):
            u, v = sorted((order[i], order[j]))
            moved |= ((codes >> b) & 1) << bit[u, v]
        smallest = np.minimum(smallest, moved)
    kinds = sorted(set(smallest.tolist()), key=lambda code: (int(code).bit_count(), code))
    number = np.zeros(1024, np.int64)
    number[kinds] = np.arange(len(kinds))
    return number[smallest]
