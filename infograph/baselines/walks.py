"""Loops that numba compiles and their random numbers, adjacency of all graphs, and random walks over them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from infograph.data.colours import mix64
from infograph.data.graphset import GraphSet, IntArray
from infograph.errors import InvalidGraph, MissingExtra

TRIALS = 32  # proposals before the exact scan, which p = 4, q = 1/4 needs in 4% of the steps on REDDIT-BINARY
Ints = NDArray[np.int64]
Nodes = NDArray[np.int32]
Floats = NDArray[np.float64]
Keys = NDArray[np.uint64]
F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F, *, fast: bool = False) -> F:
    """Compile a loop over arrays on its first call; without numba the call raises MissingExtra.

    With `fast` sums of floats may be reordered: four times faster inner products. A signal that comes while
    the loop runs, such as Ctrl-C, raises what it always does, once the loop has ended.
    """
    try:
        import numba
    except ImportError:

        @functools.wraps(function)
        def missing(*_: object) -> None:
            raise MissingExtra("numba", "baselines")

        return cast(F, missing)
    dispatcher = numba.njit(cache=True, nogil=True, fastmath=fast)(function)

    @functools.wraps(function)
    def call(*arguments: object) -> object:
        try:
            return dispatcher(*arguments)
        except SystemError as error:  # numba's, once or twice around what the signal raised
            cause: BaseException = error
            while cause.__cause__ is not None:
                cause = cause.__cause__
            raise cause from None

    call._numba_type_ = dispatcher._numba_type_  # type: ignore[attr-defined]  # for other compiled loops
    return cast(F, call)


def compiled_fast(function: F) -> F:
    """`compiled` with `fast`."""
    return compiled(function, fast=True)


# ---- random numbers: SplitMix64, a state of 64 bits that any key may start

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def mix_keys(*parts: object) -> Keys:
    """64-bit keys out of some whole numbers or arrays of them, one after the other; broadcast together."""
    with np.errstate(over="ignore"):
        key = np.zeros((), np.uint64)
        for part in parts:
            values = np.asarray(part)
            bits = values if values.dtype == np.uint64 else values.astype(np.int64).view(np.uint64)
            key = mix64(key * GOLDEN + bits + GOLDEN)
    return np.asarray(key)


bits: Any = compiled(mix64)


@compiled
def uniform(state: np.uint64) -> float:
    """A number in [0, 1)."""
    return np.float64(bits(state) >> np.uint64(11)) * 2.0**-53


@compiled
def below(state: np.uint64, n: int) -> int:
    """A whole number 0 ... n - 1."""
    return int(uniform(state) * n)


# ---- adjacency


def adjacency(graphs: GraphSet, weights: Floats | None = None) -> csr_matrix:
    """All graphs as one block-diagonal matrix of arcs, sorted; repeated ones are added up. (N, N)."""
    weights = np.ones(graphs.n_edges) if weights is None else weights
    return csr_matrix((weights, tuple(graphs.edge_index)), shape=(graphs.n_nodes, graphs.n_nodes))


def simple_adjacency(graphs: GraphSet) -> csr_matrix:
    """The same with all arcs both ways and once, and without loops: symmetric, entries are 1. (N, N)."""
    source, target = graphs.edge_index
    one_way = adjacency(graphs, (source != target).astype(np.float64))
    matrix = csr_matrix(one_way + one_way.T)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    matrix.data[:] = 1
    return matrix


@compiled
def has_arc(ptr: Ints, targets: NDArray[Any], source: int, target: int) -> bool:
    """Whether there is an arc; the targets of a node are sorted."""
    low, high = ptr[source], ptr[source + 1]
    while low < high:
        middle = (low + high) // 2
        if targets[middle] < target:
            low = middle + 1
        else:
            high = middle
    return bool(low < ptr[source + 1] and targets[low] == target)


# ---- random walks


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
) -> Nodes:
    """Second-order walks (Grover and Leskovec 2016, Section 3.2), nodes numbered through all graphs.

    From v, reached from t, a walk goes to x with a probability proportional to w_vx times 1/p (x is t),
    1 (t has an arc to x) or 1/q (neither). Every walk has a generator of its own, keyed by the seed, its
    start's number inside its graph and its turn, so a graph has the same walks in any set.

    Walks follow arcs, a repeated one that much more often, to `length` nodes; one ends earlier, and -1
    follows, where no arc leaves a node. They begin `per_node` times at every node, or at `starts`, where
    `turns` tell those with the same start apart. (per_node * N, length): turn after turn.
    """
    column, weights = graphs.schema.weight, None
    if column is not None:
        weights = graphs.edge[column.name].reshape(-1).astype(np.float64)
        bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
        if len(bad):
            index = int(graphs.edge_graph[bad[0]])
            raise InvalidGraph(
                f"an arc has the weight {weights[bad[0]]:g}: a walk needs 0 or more",
                index=index,
                graph_id=graphs.ids[index].item(),
            )
    matrix = adjacency(graphs, weights)
    matrix.eliminate_zeros()
    ptr = matrix.indptr.astype(np.int64)
    running = np.concatenate([[0.0], np.cumsum(matrix.data)])
    cumulative = running[1:] - np.repeat(running[ptr[:-1]], np.diff(ptr))  # sums of each node's arcs so far
    begin = np.arange(graphs.n_nodes) if starts is None else np.asarray(starts)
    inside = begin - graphs.node_ptr[np.searchsorted(graphs.node_ptr, begin, side="right") - 1]
    own = np.zeros(len(begin), np.int64) if turns is None else np.asarray(turns)
    keys = mix_keys(random_state, np.arange(per_node)[:, None], inside[None, :], own[None, :]).reshape(-1)
    every = np.tile(begin, per_node).astype(np.int32)
    return biased_walks(ptr, matrix.indices.astype(np.int32), cumulative, every, keys, length, p, q)


@compiled
def biased_walks(
    ptr: Ints, targets: Nodes, cumulative: Floats, starts: Nodes, keys: Keys, length: int, p: float, q: float
) -> Nodes:
    """Walks of at most `length` nodes, -1 behind their end. (W, length).

    Proposals by arc weight are accepted with the share that p and q give them: exact, and no table is needed.
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
                state += GOLDEN
                candidate = int(targets[pick(cumulative, low, high, uniform(state) * cumulative[high - 1])])
                if before < 0 or (p == 1.0 and q == 1.0):
                    chosen = candidate
                    break
                state += GOLDEN
                if uniform(state) * top < bias(ptr, targets, before, candidate, p, q):
                    chosen = candidate
                    break
            if chosen < 0:
                state += GOLDEN
                chosen = scan(ptr, targets, cumulative, before, at, p, q, uniform(state))
            before, at = at, chosen
            walks[w, position] = at
    return walks


@compiled
def pick(cumulative: Floats, low: int, high: int, value: float) -> int:
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
def bias(ptr: Ints, targets: Nodes, before: int, candidate: int, p: float, q: float) -> float:
    """node2vec's alpha: 1/p back to where the walk was, 1 to its neighbours, 1/q further away."""
    if candidate == before:
        return 1.0 / p
    return 1.0 if has_arc(ptr, targets, before, candidate) else 1.0 / q


@compiled
def scan(
    ptr: Ints, targets: Nodes, cumulative: Floats, before: int, at: int, p: float, q: float, share: float
) -> int:
    """A neighbour by its exact probability, which is where `share` of their sum is."""
    total, chosen = 0.0, int(targets[ptr[at]])
    for turn in range(2):
        left, total = share * total, 0.0
        for arc in range(ptr[at], ptr[at + 1]):
            weight = cumulative[arc] - (cumulative[arc - 1] if arc > ptr[at] else 0.0)
            total += weight * bias(ptr, targets, before, targets[arc], p, q)
            if turn == 1 and total > left:
                return int(targets[arc])
    return chosen


@compiled
def breadth_first(
    source: int, ptr: Ints, targets: NDArray[Any], distance: NDArray[Any], queue: NDArray[Any]
) -> int:
    """Breadth-first: how many nodes are reached, in `queue`; `distance` is -1 everywhere before."""
    distance[source] = 0
    queue[0] = source
    head, tail = 0, 1
    while head < tail:
        u = queue[head]
        for arc in range(ptr[u], ptr[u + 1]):
            v = targets[arc]
            if distance[v] < 0:
                distance[v] = distance[u] + 1
                queue[tail] = v
                tail += 1
        head += 1
    return tail
