"""Products of a few rows whose numbers stay in registers: the arithmetic of skip-gram.

The six rows of a tile lie `STEP` apart in one array. Since the compiler knows that distance, one test tells
it that nothing overlaps, and it vectorises; loops over as many rows at arbitrary places it leaves alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.compiled import compiled_fast

Floats32 = NDArray[np.float32]
Ints = NDArray[np.int64]
Six = tuple[np.float32, np.float32, np.float32, np.float32, np.float32, np.float32]
TILE = 6  # the usual positive and its five negatives
PART = 512  # dimensions at a time
STEP = PART + 16  # not a power of two: rows a multiple of 4 KB apart would share their places in the cache


@compiled_fast
def gain(score: np.float32, wanted: bool, rate: float) -> np.float32:
    """How far a pair moves: the rate times the derivative of log s(score) or log s(-score)."""
    clipped = max(min(score, np.float32(30)), np.float32(-30))
    likely: np.float32 = np.float32(1) / (np.float32(1) + np.exp(-clipped))
    return np.float32(rate) * (np.float32(wanted) - likely)


@compiled_fast
def six(values: Floats32, row: int, first: int) -> Six:
    """Six neighbours in a row."""
    v = values[row, first : first + TILE]
    return v[0], v[1], v[2], v[3], v[4], v[5]


@compiled_fast
def keep(outputs: Floats32, row: int, low: int, high: int, tile: Floats32, place: int) -> None:
    """Copy a part of one row to its place in a tile."""
    source, goal = outputs[row, low:high], tile[place * STEP :]
    for i in range(len(source)):
        goal[i] = source[i]


@compiled_fast
def give(outputs: Floats32, row: int, low: int, high: int, tile: Floats32, place: int) -> None:
    """Add a row of a tile to a part of one row, and clear it for the next position."""
    goal, source = outputs[row, low:high], tile[place * STEP :]
    for i in range(len(goal)):
        goal[i] += source[i]
        source[i] = 0


@compiled_fast
def score(
    inputs: Floats32,
    one: int,
    two: int,
    low: int,
    high: int,
    tile: Floats32,
    scores: Floats32,
    c: int,
    t: int,
) -> None:
    """Add the inner products of two contexts with a tile to scores[c : c + 2, t : t + TILE]."""
    x, y = inputs[one, low:high], inputs[two, low:high]
    x0 = x1 = x2 = x3 = x4 = x5 = np.float32(0)
    y0 = y1 = y2 = y3 = y4 = y5 = np.float32(0)
    for i in range(len(x)):
        o0, o1, o2 = tile[i], tile[STEP + i], tile[2 * STEP + i]
        o3, o4, o5 = tile[3 * STEP + i], tile[4 * STEP + i], tile[5 * STEP + i]
        x0, x1, x2 = x0 + x[i] * o0, x1 + x[i] * o1, x2 + x[i] * o2
        x3, x4, x5 = x3 + x[i] * o3, x4 + x[i] * o4, x5 + x[i] * o5
        y0, y1, y2 = y0 + y[i] * o0, y1 + y[i] * o1, y2 + y[i] * o2
        y3, y4, y5 = y3 + y[i] * o3, y4 + y[i] * o4, y5 + y[i] * o5
    for k, (a, b) in enumerate(((x0, y0), (x1, y1), (x2, y2), (x3, y3), (x4, y4), (x5, y5))):
        scores[c, t + k] += a
        scores[c + 1, t + k] += b


@compiled_fast
def spread(
    inputs: Floats32, one: int, two: int, low: int, high: int, tile: Floats32, gains: Floats32, c: int, t: int
) -> None:
    """Add two contexts times their gains to the rows of a tile."""
    x, y = inputs[one, low:high], inputs[two, low:high]
    x0, x1, x2, x3, x4, x5 = six(gains, c, t)
    y0, y1, y2, y3, y4, y5 = six(gains, c + 1, t)
    for i in range(len(x)):
        tile[i] += x0 * x[i] + y0 * y[i]
        tile[STEP + i] += x1 * x[i] + y1 * y[i]
        tile[2 * STEP + i] += x2 * x[i] + y2 * y[i]
        tile[3 * STEP + i] += x3 * x[i] + y3 * y[i]
        tile[4 * STEP + i] += x4 * x[i] + y4 * y[i]
        tile[5 * STEP + i] += x5 * x[i] + y5 * y[i]


@compiled_fast
def pull(
    inputs: Floats32, one: int, two: int, low: int, high: int, tile: Floats32, gains: Floats32, c: int, t: int
) -> None:
    """Add the rows of a tile times their gains to two contexts."""
    x, y = inputs[one, low:high], inputs[two, low:high]
    x0, x1, x2, x3, x4, x5 = six(gains, c, t)
    y0, y1, y2, y3, y4, y5 = six(gains, c + 1, t)
    for i in range(len(x)):
        o0, o1, o2 = tile[i], tile[STEP + i], tile[2 * STEP + i]
        o3, o4, o5 = tile[3 * STEP + i], tile[4 * STEP + i], tile[5 * STEP + i]
        x[i] += x0 * o0 + x1 * o1 + x2 * o2 + x3 * o3 + x4 * o4 + x5 * o5
        y[i] += y0 * o0 + y1 * o1 + y2 * o2 + y3 * o3 + y4 * o4 + y5 * o5
