"""Random walks over all graphs of a set, biased as in node2vec; and what compiles loops."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from infograph.data.graphset import GraphSet, IntArray
from infograph.errors import InvalidGraph, MissingExtra

TRIALS = 32  # proposals before the exact scan, which p = 4, q = 1/4 needs in 4% of the steps on REDDIT-BINARY
Ints = NDArray[np.int64]
F = TypeVar("F", bound=Callable[..., object])
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
STEP_30, STEP_27, STEP_31, STEP_11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
UNIT = 2.0**-53


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
    known = neighbours_of(graphs)
    begin = np.arange(graphs.n_nodes) if starts is None else np.asarray(starts)
    inside = begin - graphs.node_ptr[np.searchsorted(graphs.node_ptr, begin, side="right") - 1]
    own = np.zeros(len(begin), np.int64) if turns is None else np.asarray(turns)
    keys = mix_keys(random_state, np.arange(per_node)[:, None], inside[None, :], own[None, :]).reshape(-1)
    every = np.tile(begin, per_node).astype(np.int32)
    return biased_walks(known.ptr, known.neighbours, known.cumulative, every, keys, length, p, q)


def compiled(function: F) -> F:
    """Compile a loop over arrays to machine code, on its first call; later processes find it in a cache.

    Where numba is not installed, the call raises MissingExtra.
    """
    return _jit(function, fast=False)


def _jit(function: F, *, fast: bool) -> F:
    try:
        import numba
    except ImportError:
        return cast(F, _missing(function))
    return cast(F, numba.njit(cache=True, nogil=True, fastmath=fast)(function))


def _missing(function: F) -> Callable[..., object]:
    @functools.wraps(function)
    def missing(*_: object) -> None:
        need_numba()

    return missing


def need_numba() -> None:
    """Refuse before the work what would fail in the middle of it.

    Raises:
        MissingExtra: numba is not installed.
    """
    try:
        import numba  # noqa: F401
    except ImportError as error:
        raise MissingExtra("numba", "baselines") from error


@compiled
def biased_walks(
    ptr: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    cumulative: NDArray[np.float64],
    starts: NDArray[np.int32],
    keys: NDArray[np.uint64],
    length: int,
    p: float,
    q: float,
) -> NDArray[np.int32]:
    """Walks of at most `length` nodes, -1 behind their end. (W, length).

    Proposals by arc weight are accepted with the share that p and q give them (exact, whatever the degree);
    no table per arc is needed.
    """
    walks = np.full((len(starts), length), -1, np.int32)
    top = max(1.0, 1.0 / p, 1.0 / q)
    for w in range(len(starts)):
        state = keys[w]
        before, at = -1, int(starts[w])
        walks[w, 0] = at
        for position in range(1, length):
            low, high = ptr[at], ptr[at + 1]
            if low == high:
                break
            chosen = -1
            for _ in range(TRIALS):
                state = advance(state)
                arc = pick(cumulative, low, high, uniform(state) * cumulative[high - 1])
                candidate = int(neighbours[arc])
                if before < 0 or (p == 1.0 and q == 1.0):
                    chosen = candidate
                    break
                state = advance(state)
                if uniform(state) * top < bias(ptr, neighbours, before, candidate, p, q):
                    chosen = candidate
                    break
            if chosen < 0:
                state = advance(state)
                chosen = scan(ptr, neighbours, cumulative, before, at, p, q, uniform(state))
            before, at = at, chosen
            walks[w, position] = at
    return walks


@compiled
def pick(cumulative: NDArray[np.float64], low: int, high: int, value: float) -> int:
    """The first of the arcs low ... high - 1 whose cumulative weight exceeds `value`."""
    last = high - 1
    while low < last:
        middle = (low + last) // 2
        if cumulative[middle] > value:
            last = middle
        else:
            low = middle + 1
    return low


@compiled
def bias(
    ptr: NDArray[np.int64], neighbours: NDArray[np.int32], before: int, candidate: int, p: float, q: float
) -> float:
    """node2vec's alpha: 1/p back to where the walk was, 1 to its neighbours, 1/q further away."""
    if candidate == before:
        return 1.0 / p
    return 1.0 if has_arc(ptr, neighbours, before, candidate) else 1.0 / q


@compiled
def has_arc(ptr: NDArray[np.int64], neighbours: NDArray[np.int32], source: int, target: int) -> bool:
    """Whether there is an arc; the neighbours of a node are sorted."""
    low, high = ptr[source], ptr[source + 1]
    while low < high:
        middle = (low + high) // 2
        if neighbours[middle] < target:
            low = middle + 1
        else:
            high = middle
    return bool(low < ptr[source + 1] and neighbours[low] == target)


@compiled
def scan(
    ptr: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    cumulative: NDArray[np.float64],
    before: int,
    at: int,
    p: float,
    q: float,
    share: float,
) -> int:
    """A neighbour by its exact probability, looking at all of them."""
    total, chosen = 0.0, int(neighbours[ptr[at]])
    for turn in range(2):
        left, total = share * total, 0.0
        for arc in range(ptr[at], ptr[at + 1]):
            weight = cumulative[arc] - (cumulative[arc - 1] if arc > ptr[at] else 0.0)
            total += weight * bias(ptr, neighbours, before, neighbours[arc], p, q)
            if turn == 1 and total > left:
                return int(neighbours[arc])
    return chosen


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


def compiled_fast(function: F) -> F:
    """`compiled`, and sums of floats may be reordered: four times faster inner products."""
    return _jit(function, fast=True)


def mix_keys(*parts: object) -> np.ndarray:
    """64-bit keys out of some whole numbers or arrays of them, one after the other; broadcast together."""
    with np.errstate(over="ignore"):
        key = np.zeros((), np.uint64)
        for part in parts:
            values = np.asarray(part)
            bits = values if values.dtype == np.uint64 else values.astype(np.int64).view(np.uint64)
            key = mix64(key * GOLDEN + bits + GOLDEN)
    return np.asarray(key)


def mix64(values: np.ndarray) -> np.ndarray:
    """SplitMix64's finaliser: every input bit moves every output bit."""
    with np.errstate(over="ignore"):
        values = (values ^ (values >> STEP_30)) * FIRST
        values = (values ^ (values >> STEP_27)) * SECOND
        return np.asarray(values ^ (values >> STEP_31))


@compiled
def advance(state: np.uint64) -> np.uint64:
    """The next state."""
    return state + GOLDEN


@compiled
def bits(state: np.uint64) -> np.uint64:
    """64 random bits of a state."""
    value = (state ^ (state >> STEP_30)) * FIRST
    value = (value ^ (value >> STEP_27)) * SECOND
    return value ^ (value >> STEP_31)


@compiled
def uniform(state: np.uint64) -> float:
    """A number in [0, 1)."""
    return np.float64(bits(state) >> STEP_11) * UNIT


@compiled
def below(state: np.uint64, n: int) -> int:
    """A whole number 0 ... n - 1."""
    return int(uniform(state) * n)
