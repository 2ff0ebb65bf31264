"""The compiled loop of skip-gram with negative sampling.

Ten contexts of a position are one small block, as in Ji et al. 2016 ("Parallelizing word2vec in shared and
distributed memory"): contexts C (rows of the inputs X) share the position's targets T (rows of the outputs O,
the positive and the negatives). With everything on the right as it was before the block,

    G = rate * (wanted - s(X_C O_T'))  # (C, T)
    O_T += G' X_C,  X_C += G O_T

More of them at once would be one large step, and with wide windows diverge. The products run over tiles of
two contexts and six targets: at width 512 over twice as fast as pair after pair.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.compiled import compiled_fast
from infograph.baselines.generator import advance, below
from infograph.baselines.skipgram_tiles import (
    PART,
    STEP,
    TILE,
    Floats32,
    Ints,
    gain,
    give,
    keep,
    pull,
    score,
    spread,
)

MOST = 10  # contexts of a block


@compiled_fast
def find_contexts(
    walk: NDArray[np.int32], i: int, start: int, end: int, contexts: Ints, times: Ints
) -> tuple[int, int]:
    """The different words at places start ... end - 1 but i: how many, and the place to go on from.

    At most `MOST` places are looked at. Which words, and how often each, is in `contexts` and `times`.
    """
    n = taken = 0
    place = start
    while place < end and taken < MOST:
        if place != i:
            c = 0
            while c < n and contexts[c] != walk[place]:
                c += 1
            if c == n:
                contexts[n], times[n] = walk[place], 0
                n += 1
            times[c] += 1
            taken += 1
        place += 1
    return n, place


@compiled_fast
def learn_block(
    inputs: Floats32,
    contexts: Ints,
    times: Ints,
    n: int,
    outputs: Floats32,
    targets: Ints,
    rate: float,
    gains: Floats32,
    old: Floats32,
    sums: Floats32,
) -> None:
    """One position: n different contexts, each so many times, and targets, the positive first.

    The number of targets is a multiple of `TILE`; those behind the first that equal it are left out, so the
    positive also fills up. An odd context is paired with any other word, whose gains are zero.
    """
    width, size = inputs.shape[1], len(targets)
    contexts[n] = (contexts[n - 1] + 1) % len(inputs)
    gains[: n + 1] = 0
    for low in range(0, width, PART):
        high = min(width, low + PART)
        for t in range(0, size, TILE):
            tile = old[(low // PART * size + t) // TILE]
            for k in range(TILE):
                keep(outputs, targets[t + k], low, high, tile, k)
            for c in range(0, n, 2):
                score(inputs, contexts[c], contexts[c + 1], low, high, tile, gains, c, t)
    gains[n] = 0
    for c in range(n):
        gains[c, 0] = gain(gains[c, 0], True, rate * times[c])
        for t in range(1, size):
            left_out = targets[t] == targets[0]
            gains[c, t] = np.float32(0) if left_out else gain(gains[c, t], False, rate * times[c])
    for low in range(0, width, PART):
        high = min(width, low + PART)
        for t in range(0, size, TILE):
            for c in range(0, n, 2):
                spread(inputs, contexts[c], contexts[c + 1], low, high, sums, gains, c, t)
            for k in range(TILE):
                give(outputs, targets[t + k], low, high, sums, k)
        for t in range(0, size, TILE):
            tile = old[(low // PART * size + t) // TILE]
            for c in range(0, n, 2):
                pull(inputs, contexts[c], contexts[c + 1], low, high, tile, gains, c, t)


@compiled_fast
def learn_walks(
    walks: NDArray[np.int32],
    inputs: Floats32,
    outputs: Floats32,
    window: int,
    table: NDArray[np.int32],
    n_negative: int,
    rates: NDArray[np.float64],
    seed: np.uint64,
) -> None:
    """Skip-gram over rows of words; -1 ends a row. The rate falls from rates[0] to rates[1].

    The window of a position is drawn from 1 ... `window`. The contexts of one position share its negatives.
    A word that occurs m times in a block is one context whose gains count m times, which is the same sum:
    walks over small graphs come back often.
    """
    state = seed
    size = (n_negative // TILE + 1) * TILE
    targets = np.zeros(size, np.int64)
    contexts, times = np.zeros(MOST + 1, np.int64), np.zeros(MOST, np.int64)
    gains = np.zeros((MOST + 1, size), np.float32)
    parts = (inputs.shape[1] + PART - 1) // PART
    old = np.zeros((parts * size // TILE, TILE * STEP), np.float32)
    sums = np.zeros(TILE * STEP, np.float32)
    for row in range(len(walks)):
        rate = rates[0] + (rates[1] - rates[0]) * row / len(walks)
        length = 0
        while length < walks.shape[1] and walks[row, length] >= 0:
            length += 1
        for i in range(length):
            state = advance(state)
            reach = 1 + below(state, window)
            targets[:] = walks[row, i]
            for k in range(n_negative):
                state = advance(state)
                targets[k + 1] = table[below(state, len(table))]
            place, end = max(0, i - reach), min(length, i + reach + 1)
            while place < end:
                n, place = find_contexts(walks[row], i, place, end, contexts, times)
                if n:
                    learn_block(inputs, contexts, times, n, outputs, targets, rate, gains, old, sums)
