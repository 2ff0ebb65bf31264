"""The compiled loop of paragraph vectors (PV-DBOW) with negative sampling."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.compiled import compiled_fast
from infograph.baselines.generator import advance, below
from infograph.baselines.skipgram_tiles import TILE, Floats32, Ints, gain


@compiled_fast
def attract(
    x: Floats32, outputs: Floats32, targets: Ints, rate: float, gains: Floats32, sum_: Floats32, learn: bool
) -> None:
    """One step of x towards outputs[targets[0]] and away from the others; these move too if `learn`.

    The gradient of log s(x o_0) + sum_k log s(-x o_k) at x and at the outputs, all as they were before.
    Targets are as in `skipgram_walks.learn_block`. Six rows are read at a time: with 200,000 words, whose
    rows are not in the cache, that is half as fast again as row after row.
    """
    sum_[:] = 0
    for t in range(0, len(targets), TILE):
        score_rows(x, outputs, targets[t : t + TILE], gains[t : t + TILE])
        for k in range(t, t + TILE):
            left_out = k > 0 and targets[k] == targets[0]
            gains[k] = np.float32(0) if left_out else gain(gains[k], k == 0, rate)
        sum_rows(sum_, outputs, targets[t : t + TILE], gains[t : t + TILE])
    if learn:
        for k in range(len(targets)):
            if gains[k] != 0:
                o, g = outputs[targets[k]], gains[k]
                for i in range(len(x)):
                    o[i] += g * x[i]
    for i in range(len(x)):
        x[i] += sum_[i]


@compiled_fast
def score_rows(x: Floats32, outputs: Floats32, rows: Ints, scores: Floats32) -> None:
    """The inner products of x with six rows."""
    a, b, c = outputs[rows[0]], outputs[rows[1]], outputs[rows[2]]
    d, e, f = outputs[rows[3]], outputs[rows[4]], outputs[rows[5]]
    xa = xb = xc = xd = xe = xf = np.float32(0)
    for i in range(len(x)):
        xa, xb, xc = xa + x[i] * a[i], xb + x[i] * b[i], xc + x[i] * c[i]
        xd, xe, xf = xd + x[i] * d[i], xe + x[i] * e[i], xf + x[i] * f[i]
    scores[0], scores[1], scores[2], scores[3], scores[4], scores[5] = xa, xb, xc, xd, xe, xf


@compiled_fast
def sum_rows(sum_: Floats32, outputs: Floats32, rows: Ints, gains: Floats32) -> None:
    """Add six rows times their gains."""
    a, b, c = outputs[rows[0]], outputs[rows[1]], outputs[rows[2]]
    d, e, f = outputs[rows[3]], outputs[rows[4]], outputs[rows[5]]
    ga, gb, gc, gd, ge, gf = gains[0], gains[1], gains[2], gains[3], gains[4], gains[5]
    for i in range(len(sum_)):
        sum_[i] += ga * a[i] + gb * b[i] + gc * c[i] + gd * d[i] + ge * e[i] + gf * f[i]


@compiled_fast
def learn_documents(
    tokens: NDArray[np.int32],
    ptr: NDArray[np.int64],
    order: NDArray[np.int64],
    keys: NDArray[np.uint64],
    documents: Floats32,
    outputs: Floats32,
    table: NDArray[np.int32],
    n_negative: int,
    rates: NDArray[np.float64],
    learn: bool,
) -> None:
    """One epoch of PV-DBOW: every document draws as many of its words as it has.

    What a document draws depends on its own key alone, and the order of its words only through `tokens`.
    """
    sum_ = np.zeros(documents.shape[1], np.float32)
    size = (n_negative // TILE + 1) * TILE
    targets, gains = np.zeros(size, np.int64), np.zeros(size, np.float32)
    total, done = max(1, len(tokens)), 0
    for document in order:
        low, size = ptr[document], ptr[document + 1] - ptr[document]
        state = keys[document]
        for i in range(size):
            if learn:
                share = done / total
            else:
                share = i / size  # alone: the other documents of the call do not count
            done += 1
            state = advance(state)
            targets[:] = tokens[low + below(state, size)]
            for k in range(n_negative):
                state = advance(state)
                targets[k + 1] = table[below(state, len(table))]
            rate = rates[0] + (rates[1] - rates[0]) * share
            attract(documents[document], outputs, targets, rate, gains, sum_, learn)
