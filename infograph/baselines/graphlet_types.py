"""The 34 graphs on five nodes, and which of them ten bits of an adjacency matrix are."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

PAIRS = tuple(combinations(range(5), 2))  # bit b is the edge PAIRS[b]


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
