"""The graphlet kernel: how often each small graph occurs as an induced subgraph."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations, permutations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.base import BASE_MB, Estimate, FeatureKernel, check_bool, check_whole
from infograph.baselines.walks import Adjacency, advance, below, compiled, mix_keys, simple_graphs
from infograph.baselines.words import Floats, squared_norms
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.data.schema import Schema
from infograph.errors import InvalidParameter

Values = Literal["frequencies", "counts"]
Ints = NDArray[np.int64]
RAW = ("nodes", "edges", "wedges", "triangles", "stars", "paths", "cycles", "paws", "diamonds", "cliques")
THREE = ("empty", "edge", "wedge", "triangle")
FOUR = (
    "empty",
    "edge",
    "two edges",
    "wedge + node",
    "triangle + node",
    "path",
    "star",
    "cycle",
    "paw",
    "diamond",
    "clique",
)
N_CONNECTED = {3: 2, 4: 6}  # the last ones
PAIRS = tuple(combinations(range(5), 2))  # bit b is the edge PAIRS[b]


class Graphlets(FeatureKernel):
    """The kernel of Shervashidze et al. (2009): the distribution of all graphs on `size` nodes in a graph.

        Graphlets(size=4).fit(graphs).gram()

    Three and four nodes are counted exactly, connected graphlets and unconnected ones, from degrees,
    triangles, four-cycles and four-cliques. Five nodes are sampled: sets of five nodes, drawn uniformly,
    whose shares are unbiased estimates of the frequencies. With n samples the sum of their absolute errors is
    below e with probability 1 - d if n >= 2 (34 log 2 + log(1 / d)) / e^2 (the paper's bound for 34 types):
    5,174 samples for e = d = 0.1. In large sparse graphs nearly all sets are empty; `connected_only` samples
    the connected ones by growing them along edges, each weighted by the inverse of its chance, so that counts
    are unbiased; there is no such bound for these.

    Node and edge labels are not looked at, and graphs are taken as simple and undirected: directions are
    dropped, repeated edges are one edge, self-loops are left out. A graph with fewer nodes than `size` (or no
    connected graphlet, with `connected_only`) has zero features, and k(x, x) = 0.

    Args:
        size: 3, 4 or 5, the sizes of the paper; 4 is the largest that is exact.
        connected_only: leave out the unconnected graphlets, as exact counts in GraKeL do.
        values: "frequencies", which add up to 1 (the paper's choice), or "counts".
        n_samples: sets drawn per graph for `size=5`.
        normalise: k(x, y) / sqrt(k(x, x) k(y, y)).
        max_minutes, memory_mb: `fit` refuses to begin where `estimate` says more; None for no limit.
        random_state: seed of the samples. A graph has the same samples in any set, but others once its nodes
            are renumbered.

    Attributes:
        graphlet_names_: (F,) what is counted; types of five nodes have numbers, by their number of edges.
    """

    _remedy = "leave out the largest graphs, or take size=3 or fewer samples"

    def __init__(
        self,
        size: int = 4,
        *,
        connected_only: bool = False,
        values: Values = "frequencies",
        n_samples: int = 5174,
        normalise: bool = False,
        max_minutes: float | None = 60.0,
        memory_mb: float | None = 8192.0,
        random_state: int = 0,
    ) -> None:
        self.size = size
        self.connected_only = connected_only
        self.values = values
        self.n_samples = n_samples
        self.normalise = normalise
        self.max_minutes = max_minutes
        self.memory_mb = memory_mb
        self.random_state = random_state

    def _check_settings(self) -> None:
        if isinstance(self.size, bool) or self.size not in (3, 4, 5):
            raise InvalidParameter(f"size={self.size!r}: expected 3, 4 or 5 nodes per graphlet")
        if self.values not in ("frequencies", "counts"):
            raise InvalidParameter(f"values={self.values!r}: expected 'frequencies' or 'counts'")
        check_bool("connected_only", self.connected_only)
        check_whole("n_samples", self.n_samples, 1)
        check_whole("random_state", self.random_state, 0)

    def _schema(self, graphs: GraphSet) -> Schema:
        return Schema(options=graphs.schema.options)  # any graph will do

    @property
    def graphlet_names_(self) -> tuple[str, ...]:
        """What the columns count."""
        self._check_fitted()
        size, connected = self._made_with["size"], self._made_with["connected_only"]
        if size == 5:
            kept = np.flatnonzero(five_node_types()[1] | (not connected))
            return tuple(f"five nodes, type {number}" for number in kept)
        names = THREE if size == 3 else FOUR
        return names[-N_CONNECTED[size] :] if connected else names

    def _represent(self, graphs: GraphSet) -> tuple[Floats, Floats]:
        simple = simple_graphs(graphs)
        if self._made_with["size"] == 5:
            counts = self._sampled(simple)
        else:
            counts = self._exact(simple)
        if self._made_with["values"] == "frequencies":
            total = counts.sum(axis=1, keepdims=True)
            counts = counts / np.where(total > 0, total, 1.0)
        return counts, squared_norms(counts)

    def _exact(self, simple: Adjacency) -> Floats:
        raw = raw_counts(simple.node_ptr, simple.ptr, simple.targets)
        size = self._made_with["size"]
        counts = three_nodes(raw) if size == 3 else four_nodes(raw)
        if self._made_with["connected_only"]:
            counts = counts[:, -N_CONNECTED[size] :]
        return counts.astype(np.float64)

    def _sampled(self, simple: Adjacency) -> Floats:
        types, connected = five_node_types()
        sizes = np.diff(simple.node_ptr)
        keys = mix_keys(self._made_with["random_state"], sizes)
        parts = (simple.node_ptr, simple.ptr, simple.targets, types, keys, int(self._made_with["n_samples"]))
        if self._made_with["connected_only"]:
            return sample_connected(*parts)[:, connected]
        return sample_sets(*parts) * _n_sets(sizes)[:, None]

    def estimate(self, graphs: Any) -> Estimate:
        """From the triangles and cycles to look at (exact) or the samples to draw (five nodes)."""
        self._check_settings()
        known = as_graphset(graphs)
        n, pairs = known.n_nodes + known.n_edges, len(known) ** 2
        seconds = 1e-6 * n + 1e-8 * pairs
        if self.size == 5:
            seconds += 2e-6 * self.n_samples * len(known)
        else:
            degree = np.bincount(known.edge_index[0], minlength=known.n_nodes)
            source, target = known.edge_index
            seconds += 1e-8 * float(np.minimum(degree[source], degree[target]).sum())
        return Estimate(seconds, BASE_MB + (120 * n + 24 * pairs) / 1e6)


def _n_sets(sizes: NDArray[np.int64]) -> Floats:
    """How many sets of five nodes a graph has; as floats, since 64 bits hold it only up to 6,000 nodes."""
    n = sizes.astype(np.float64)
    return n * (n - 1) * (n - 2) * (n - 3) * (n - 4) / 120


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
    The unconnected ones count, over all sets of four nodes, something with a closed form: triangles, wedges,
    pairs of disjoint edges, edges, and the sets themselves.
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
def sample_sets(
    node_ptr: Ints, ptr: Ints, targets: Ints, types: Ints, keys: NDArray[np.uint64], n_samples: int
) -> Floats:
    """Shares of the types among uniformly drawn sets of five nodes. (G, 34); zeros below five nodes."""
    result = np.zeros((len(node_ptr) - 1, 34))
    chosen = np.empty(5, np.int64)
    linked = np.empty((5, 5), np.int64)
    for g in range(len(node_ptr) - 1):
        n = node_ptr[g + 1] - node_ptr[g]
        state = keys[g]
        for _ in range(n_samples if n >= 5 else 0):
            size = 0
            while size < 5:
                state = advance(state)
                v = node_ptr[g] + below(state, n)
                new = True
                for i in range(size):
                    new = new and chosen[i] != v
                if new:
                    chosen[size] = v
                    size += 1
            result[g, types[_code(chosen, ptr, targets, linked)]] += 1.0 / n_samples
    return result


@compiled
def sample_connected(
    node_ptr: Ints, ptr: Ints, targets: Ints, types: Ints, keys: NDArray[np.uint64], n_samples: int
) -> Floats:
    """Unbiased estimates of how many connected sets of five nodes there are of each type. (G, 34).

    A set grows from a random arc: three times a random arc that leaves the set is followed. The chance that
    it becomes S is summed over all orders in which S could have grown, and S counts as 1 / chance (Horvitz
    and Thompson). Where no arc leaves the set it counts 0.
    """
    result = np.zeros((len(node_ptr) - 1, 34))
    chosen = np.empty(5, np.int64)
    linked = np.empty((5, 5), np.int64)
    for g in range(len(node_ptr) - 1):
        first, last = ptr[node_ptr[g]], ptr[node_ptr[g + 1]]
        state = keys[g]
        for _ in range(n_samples if last > first else 0):
            state = advance(state)
            arc = first + below(state, last - first)
            chosen[0] = _source(arc, node_ptr[g], node_ptr[g + 1], ptr)
            chosen[1] = targets[arc]
            size = 2
            while size < 5:
                state = _grow(chosen, size, ptr, targets, state)
                if chosen[size] < 0:
                    break
                size += 1
            if size == 5:
                code = _code(chosen, ptr, targets, linked)
                chance = _chance(chosen, linked, ptr, (last - first) // 2)
                result[g, types[code]] += 1.0 / (chance * n_samples)
    return result


@compiled
def _source(arc: int, low: int, high: int, ptr: Ints) -> int:
    """The node that an arc belongs to, by bisection."""
    while high - low > 1:
        middle = (low + high) // 2
        if ptr[middle] <= arc:
            low = middle
        else:
            high = middle
    return low


@compiled
def _grow(chosen: Ints, size: int, ptr: Ints, targets: Ints, state: np.uint64) -> np.uint64:
    """Put the end of a random arc that leaves the set into its next place; -1 where there is none."""
    total, within = 0, 0
    for i in range(size):
        total += ptr[chosen[i] + 1] - ptr[chosen[i]]
        for j in range(size):
            if _has(chosen[i], chosen[j], ptr, targets):
                within += 1
    chosen[size] = -1
    while total > within:  # draw among all arcs of the set until one leaves it
        state = advance(state)
        arc = below(state, total)
        i = 0
        while arc >= ptr[chosen[i] + 1] - ptr[chosen[i]]:
            arc -= ptr[chosen[i] + 1] - ptr[chosen[i]]
            i += 1
        v = targets[ptr[chosen[i]] + arc]
        outside = True
        for j in range(size):
            outside = outside and chosen[j] != v
        if outside:
            chosen[size] = v
            break
    return state


@compiled
def _has(u: int, v: int, ptr: Ints, targets: Ints) -> bool:
    """Whether there is an edge; bisection in the shorter list."""
    if ptr[u + 1] - ptr[u] > ptr[v + 1] - ptr[v]:
        u, v = v, u
    low, high = ptr[u], ptr[u + 1]
    while low < high:
        middle = (low + high) // 2
        if targets[middle] < v:
            low = middle + 1
        else:
            high = middle
    return bool(low < ptr[u + 1] and targets[low] == v)


@compiled
def _code(chosen: Ints, ptr: Ints, targets: Ints, linked: Ints) -> int:
    """The ten bits of the graph on five nodes; `linked` becomes its adjacency matrix."""
    code, bit = 0, 0
    for i in range(5):
        linked[i, i] = 0
        for j in range(i + 1, 5):
            edge = 1 if _has(chosen[i], chosen[j], ptr, targets) else 0
            linked[i, j] = edge
            linked[j, i] = edge
            code |= edge << bit
            bit += 1
    return code


@compiled
def _chance(chosen: Ints, linked: Ints, ptr: Ints, n_edges: int) -> float:
    """The chance that a random edge grows into this set: a sum over its 32 subsets, smaller ones first."""
    chance = np.zeros(32)
    for mask in range(32):
        size, total, within = 0, 0, 0
        for i in range(5):
            if mask >> i & 1:
                size += 1
                total += ptr[chosen[i] + 1] - ptr[chosen[i]]
                for j in range(5):
                    if mask >> j & 1:
                        within += linked[i, j]
        if size == 2 and within:
            chance[mask] = 1.0 / n_edges
        if chance[mask] == 0.0 or size == 5:
            continue
        for v in range(5):
            if not mask >> v & 1:
                edges = 0
                for i in range(5):
                    if mask >> i & 1:
                        edges += linked[i, v]
                chance[mask | 1 << v] += chance[mask] * edges / (total - within)
    return float(chance[31])


@lru_cache(maxsize=1)
def five_node_types() -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The type of every ten-bit code, and whether each type is connected.

    Two codes are of one type if renumbering the nodes turns one into the other. Types are ordered by their
    number of edges, then by their smallest code.

    Returns:
        (1024,) types 0 ... 33, and (34,) connected or not.
    """
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
    connected = np.array([_is_connected(code) for code in kinds])
    return number[smallest], connected


def _is_connected(code: int) -> bool:
    reached = {0}
    for _ in range(4):
        for b, (i, j) in enumerate(PAIRS):
            if code >> b & 1 and (i in reached or j in reached):
                reached |= {i, j}
    return len(reached) == 5
