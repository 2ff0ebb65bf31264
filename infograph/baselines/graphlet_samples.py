"""Random five-node graphlets, in compiled code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.compiled import compiled
from infograph.baselines.generator import advance, below

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


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
