"""The compiled loops of random walks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.compiled import compiled
from infograph.baselines.generator import advance, uniform

TRIALS = 32  # proposals before the exact scan, which p = 4, q = 1/4 needs in 4% of the steps on REDDIT-BINARY


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
