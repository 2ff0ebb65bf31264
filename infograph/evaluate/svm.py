"""Support vector machines for a whole grid of C: LIBSVM's answers, from one kernel matrix.

Sequential minimal optimisation with second-order working sets (Fan, Chen and Lin 2005) and shrinking (Chang
and Lin 2011), in the order and precision of LIBSVM: single for kernel values, double for sums. On x86-64 the
decisions are those of scikit-learn's `SVC` to the last bit, in less than half the time (docs/benchmarks.md):
kernel values are read once for all C, and in a row, and loops have no branches, so that they are compiled to
vector instructions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.walks import compiled

TOLERANCE = 1e-3  # of the optimality conditions: scikit-learn's default
FLAT = 1e-12  # the curvature where it is none, as of two equal graphs
PATIENCE = 1_000  # steps between two looks at what can be left out
SIGN, REST = np.int64(63), np.int64(2**63 - 1)
ALPHA, SLOPE, LIMIT, UP, LOW, SQUARE, SIDE = range(7)  # rows of the state; `a, b = state` is not vectorised
Floats = NDArray[np.float64]


def classify(
    matrix: NDArray[Any],
    fit: NDArray[np.int64],
    judged: NDArray[np.int64],
    known: NDArray[Any],
    grid: Sequence[float],
    max_iter: int,
) -> Iterator[tuple[NDArray[Any], Floats, bool]]:
    """For every C: classes, how far the second is ahead of the first, and whether a fit stopped early.

    Args:
        matrix: kernel values, (G, T) or more columns.
        fit, judged: the rows to learn from, which are columns too, and those to judge.
        known: the classes of `fit`.
        grid: values of C.
        max_iter: bound on the steps for a pair of classes.
    """
    classes, codes = np.unique(known, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    begin = np.searchsorted(codes[order], np.arange(len(classes) + 1))
    rows = fit[order]
    inside, across = matrix[np.ix_(rows, rows)], matrix[np.ix_(judged, rows)]
    diagonal, inside = inside.diagonal().astype(np.float64), inside.astype(np.float32, copy=False)
    votes = np.zeros((len(grid), len(judged), len(classes)), np.int64)
    first, early = np.empty((len(grid), len(judged))), np.zeros(len(grid), bool)
    pairs = list(combinations(range(len(classes)), 2))
    for a, b in pairs:
        parts = slice(begin[a], begin[a + 1]), slice(begin[b], begin[b + 1])
        kernel = np.block([[inside[row, column] for column in parts] for row in parts])
        both = np.r_[parts]
        sides = np.where(both < begin[a + 1], 1.0, -1.0)
        for p, C in enumerate(grid):
            weights, offset, stopped = _solve(kernel, diagonal[both], sides, float(C), max_iter)
            decided = _decide(across, both, weights, offset)  # (judged,), above 0 for class a
            votes[p, np.arange(len(judged)), np.where(decided > 0, a, b)] += 1
            early[p] |= stopped
            if (a, b) == pairs[0]:
                first[p] = -decided
    for p in range(len(grid)):
        yield classes[votes[p].argmax(axis=1)], first[p], bool(early[p])


@compiled
def _solve(
    kernel: NDArray[np.float32], diagonal: Floats, sides: Floats, C: float, max_iter: int
) -> tuple[Floats, float, bool]:
    """Multipliers times sides (n,), the offset, and whether `max_iter` was reached."""
    n = len(sides)
    state = np.zeros((7, n))  # whatever changes places with a graph that is left out
    alpha, slope, limit, side = state[ALPHA], state[SLOPE], state[LIMIT], state[SIDE]
    up, low, square = state[UP], state[LOW], state[SQUARE]
    square[:], side[:], slope[:] = diagonal, sides, -sides
    # `slope` is side times gradient; `limit` the part of it from multipliers at C. `up` and `low` are 0 for
    # those whose multiplier may move up or down along the constraint, in direction of their side; else -inf.
    up[:], low[:] = np.where(sides > 0, 0.0, -np.inf), np.where(sides > 0, -np.inf, 0.0)
    order, scratch = np.arange(n), np.empty(n)
    active, restored, moved, stopped, steps = n, False, False, False, 0
    countdown = min(n, PATIENCE) + 1
    while True:
        if steps >= max_iter:
            stopped = True
            break
        countdown -= 1
        if countdown == 0:
            countdown = min(n, PATIENCE)
            top, bottom = _extremes(state, scratch, active)
            if not restored and top + bottom <= 10 * TOLERANCE:
                restored = True
                _restore(kernel, state, active, C)
                active = n
            swaps, active = _leave_out(state, order, active, top, bottom, C)
            if len(swaps):
                kernel = kernel if moved else kernel.copy()
                moved = True
                _swap(kernel, swaps)
        i, j = _choose(kernel, state, scratch, active)
        if j < 0:  # optimal among those that are left, maybe among all
            _restore(kernel, state, active, C)
            active = n
            i, j = _choose(kernel, state, scratch, active)
            if j < 0:
                break
            countdown = 1
        steps += 1
        before_i, before_j = alpha[i], alpha[j]
        curve = square[i] + square[j] - 2.0 * kernel[i, j]
        _move(state, i, j, curve if curve > 0 else FLAT, C)
        by_i, by_j = side[i] * (alpha[i] - before_i), side[j] * (alpha[j] - before_j)
        row_i, row_j = kernel[i], kernel[j]
        for t in range(active):
            slope[t] += row_i[t] * by_i + row_j[t] * by_j
        for k, before in ((i, before_i), (j, before_j)):
            full = alpha[k] >= C
            if full != (before >= C):
                change, row = side[k] * (C if full else -C), kernel[k]
                for t in range(n):
                    limit[t] += change * row[t]
            more, less = alpha[k] < C, alpha[k] > 0
            up[k] = 0.0 if (more if side[k] > 0 else less) else -np.inf
            low[k] = 0.0 if (less if side[k] > 0 else more) else -np.inf
    weights = np.empty(n)
    weights[order] = alpha * side
    return weights, _offset(state, active, C), stopped


@compiled
def _choose(kernel: NDArray[np.float32], state: Floats, scratch: Floats, active: int) -> tuple[int, int]:
    """The two that move next: the steepest, and with which the objective falls most; -1 at an optimum."""
    slope, up, low, square = state[SLOPE], state[UP], state[LOW], state[SQUARE]
    for t in range(active):
        scratch[t] = up[t] - slope[t]
    i = _largest(scratch, active)
    top = scratch[i]
    if top == -np.inf:
        return -1, -1
    row, own = kernel[i], square[i]
    for t in range(active):
        gap = top + (low[t] + slope[t])
        curve = own + square[t] - 2.0 * row[t]
        gain = np.divide(gap * gap, curve if curve > 0 else FLAT)  # `/` would look for zeros, one by one
        scratch[t] = gain if gap > 0 else -np.inf
    j = _largest(scratch, active)
    if scratch[j] == -np.inf:
        return i, -1
    if top + (low[j] + slope[j]) < TOLERANCE:  # perhaps of all
        for t in range(active):
            scratch[t] = low[t] + slope[t]
        if top + scratch[_largest(scratch, active)] < TOLERANCE:
            return i, -1
    return i, j


@compiled
def _largest(values: Floats, n: int) -> int:
    """The last place of the largest of the first n; by bits: loops over whole numbers are vectorised."""
    bits, top, place = values.view(np.int64), -REST, -1
    for t in range(n):
        top = max(top, bits[t] ^ ((bits[t] >> SIGN) & REST))
    for t in range(n):
        place = max(place, t if bits[t] ^ ((bits[t] >> SIGN) & REST) == top else -1)
    return place


@compiled
def _move(state: Floats, i: int, j: int, curve: float, C: float) -> None:
    """Two multipliers to the least of the objective along their constraint, inside 0 and C."""
    alpha, slope, side = state[ALPHA], state[SLOPE], state[SIDE]
    a, b = alpha[i], alpha[j]
    if side[i] == side[j]:
        step, total = (side[i] * slope[i] - side[j] * slope[j]) / curve, a + b
        a, b = a - step, b + step
        if total > C:
            if a > C:
                a, b = C, total - C
            if b > C:
                a, b = total - C, C
        else:
            if b < 0:
                a, b = total, 0.0
            if a < 0:
                a, b = 0.0, total
    else:
        step, apart = (-side[i] * slope[i] - side[j] * slope[j]) / curve, a - b
        a, b = a + step, b + step
        if apart > 0:
            if b < 0:
                a, b = apart, 0.0
            if a > C:
                a, b = C, C - apart
        else:
            if a < 0:
                a, b = 0.0, -apart
            if b > C:
                a, b = C + apart, C
    alpha[i], alpha[j] = a, b


@compiled
def _extremes(state: Floats, scratch: Floats, active: int) -> tuple[float, float]:
    """The largest negative slope of those that may move up, and the largest of those that may move down."""
    slope, up, low = state[SLOPE], state[UP], state[LOW]
    for t in range(active):
        scratch[t] = up[t] - slope[t]
    top = scratch[_largest(scratch, active)]
    for t in range(active):
        scratch[t] = low[t] + slope[t]
    return top, scratch[_largest(scratch, active)]


@compiled
def _leave_out(
    state: Floats, order: NDArray[np.int64], active: int, top: float, bottom: float, C: float
) -> tuple[NDArray[np.int64], int]:
    """Places beyond `active` for those at a bound that will not move; which changed places, and the rest."""
    swaps, n_swaps, t = np.empty((active, 2), np.int64), 0, 0
    while t < active:
        if _stays(state, t, top, bottom, C):
            active -= 1
            while active > t and _stays(state, active, top, bottom, C):
                active -= 1
            if active > t:
                for row in state:
                    row[t], row[active] = row[active], row[t]
                order[t], order[active] = order[active], order[t]
                swaps[n_swaps, 0], swaps[n_swaps, 1] = t, active
                n_swaps += 1
        t += 1
    return swaps[:n_swaps], active


@compiled
def _stays(state: Floats, t: int, top: float, bottom: float, C: float) -> bool:
    alpha, slope, side = state[ALPHA, t], state[SLOPE, t], state[SIDE, t]
    if 0 < alpha < C:
        return False
    return bool(-slope > top if (alpha >= C) == (side > 0) else slope > bottom)


@compiled
def _swap(kernel: NDArray[np.float32], swaps: NDArray[np.int64]) -> None:
    for row in kernel:
        for k in range(len(swaps)):
            a, b = swaps[k]
            row[a], row[b] = row[b], row[a]
    for k in range(len(swaps)):
        a, b = swaps[k]
        for t in range(len(kernel)):
            kernel[a, t], kernel[b, t] = kernel[b, t], kernel[a, t]


@compiled
def _restore(kernel: NDArray[np.float32], state: Floats, active: int, C: float) -> None:
    """The slopes of those that were left out; asymmetric kernels are read in LIBSVM's direction."""
    alpha, slope, limit, side = state[ALPHA], state[SLOPE], state[LIMIT], state[SIDE]
    n = len(alpha)
    free = [t for t in range(active) if 0 < alpha[t] < C]
    for t in range(active, n):
        slope[t] = limit[t] - side[t]
    if len(free) * n > 2 * active * (n - active):
        for t in range(active, n):
            for k in free:
                slope[t] += alpha[k] * side[k] * kernel[t, k]
    else:
        for k in free:
            weight, row = alpha[k] * side[k], kernel[k]
            for t in range(active, n):
                slope[t] += weight * row[t]


@compiled
def _offset(state: Floats, active: int, C: float) -> float:
    """The mean slope of free multipliers, or the middle of what those at bounds allow."""
    alpha, slope, side = state[ALPHA], state[SLOPE], state[SIDE]
    most, least, total, n_free = np.inf, -np.inf, 0.0, 0
    for t in range(active):
        if 0 < alpha[t] < C:
            total, n_free = total + slope[t], n_free + 1
        elif (alpha[t] >= C) == (side[t] > 0):
            least = max(least, slope[t])
        else:
            most = min(most, slope[t])
    return total / n_free if n_free else (most + least) / 2


@compiled
def _decide(across: NDArray[Any], both: NDArray[np.int64], weights: Floats, offset: float) -> Floats:
    """On which side of a pair every row is, added up in LIBSVM's order."""
    found = np.empty(len(across))
    for r in range(len(across)):
        total = 0.0
        for k in range(len(both)):
            total += weights[k] * across[r, both[k]]
        found[r] = total - offset
    return found
