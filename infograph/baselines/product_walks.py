"""Walks that two labelled graphs have in common, in compiled code."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.compiled import compiled

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Arrays = tuple[Ints, Ints, Ints, Ints, Ints, Ints]


@compiled
def all_pairs(left: Arrays, right: Arrays, decay: float, ratio: float, symmetric: bool) -> Floats:
    """Kernel values of all pairs; of the upper half, mirrored, where both sides are the same. (X, Y)."""
    n_left, n_right = len(left[0]) - 1, len(right[0]) - 1
    values = np.zeros((n_left, n_right))
    for g in range(n_left):
        for h in range(g if symmetric else 0, n_right):
            values[g, h] = pair_value(left, g, right, h, decay, ratio)
            if symmetric:
                values[h, g] = values[g, h]
    return values


@compiled
def diagonal(graphs: Arrays, decay: float, ratio: float) -> Floats:
    """Kernel values of every graph with itself. (G,)."""
    values = np.zeros(len(graphs[0]) - 1)
    for g in range(len(values)):
        values[g] = pair_value(graphs, g, graphs, g, decay, ratio)
    return values


@compiled
def pair_value(left: Arrays, g: int, right: Arrays, h: int, decay: float, ratio: float) -> float:
    """1' X 1 for X = M + decay M o (sum over edge labels of A X B'), by its fixed point, term by term.

    M says which nodes have equal labels, A and B are the arcs of one label. A term has at most `ratio` of the
    norm of the one before, so the rest of the series is at most sqrt(|M|) |term| ratio / (1 - ratio); the sum
    ends where this is below 1e-13 of it. (Where every walk ends, the next term is zero.)
    """
    first, n = left[0][g], left[0][g + 1] - left[0][g]
    second, m = right[0][h], right[0][h + 1] - right[0][h]
    match = np.zeros((n, m))
    total = 0.0
    for i in range(n):
        for j in range(m):
            if left[2][first + i] == right[2][second + j]:
                match[i, j] = 1.0
                total += 1.0
    term, moved, following = match.copy(), np.zeros((n, m)), np.zeros((n, m))
    bound = np.sqrt(total) * ratio / (1.0 - ratio)
    while total > 0.0:
        _step(left, g, right, h, term, moved, following)
        added, square = 0.0, 0.0
        for i in range(n):
            for j in range(m):
                value = decay * match[i, j] * following[i, j]
                term[i, j] = value
                added += value
                square += value * value
        total += added
        if bound * np.sqrt(square) <= 1e-13 * total:
            break
    return total


@compiled
def _step(
    left: Arrays, g: int, right: Arrays, h: int, term: Floats, moved: Floats, following: Floats
) -> None:
    """following = sum over edge labels of A term B'; arcs are sorted by label on both sides."""
    following[:] = 0.0
    a, a_end = left[1][g], left[1][g + 1]
    b, b_end = right[1][h], right[1][h + 1]
    while a < a_end and b < b_end:
        label = left[5][a]
        if label != right[5][b]:
            if label < right[5][b]:
                a += 1
            else:
                b += 1
            continue
        moved[:] = 0.0
        while a < a_end and left[5][a] == label:
            u, v = left[3][a], left[4][a]
            for j in range(term.shape[1]):
                moved[u, j] += term[v, j]
            a += 1
        b_start = b
        while b < b_end and right[5][b] == label:
            b += 1
        for i in range(term.shape[0]):
            for arc in range(b_start, b):
                following[i, right[3][arc]] += moved[i, right[4][arc]]
