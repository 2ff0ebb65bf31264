"""The compiled loops of skip-gram and of paragraph vectors, both with negative sampling."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.compiled import compiled_fast
from infograph.baselines.generator import advance, below

Floats32 = NDArray[np.float32]


@compiled_fast
def attract(
    x: Floats32, outputs: Floats32, targets: NDArray[np.int64], rate: float, sum_: Floats32, learn: bool
) -> None:
    """One step of x towards outputs[targets[0]] and away from the others; these move too if `learn`.

    The gradient of log s(x o_0) + sum_k log s(-x o_k) at x and, row after row, at the outputs.
    """
    width = len(x)
    sum_[:] = 0
    for k in range(len(targets)):
        if k and targets[k] == targets[0]:
            continue  # a negative that is the positive
        o = outputs[targets[k]]
        score = np.float32(0)
        for d in range(width):
            score += x[d] * o[d]
        score = max(min(score, np.float32(30)), np.float32(-30))
        wanted = np.float32(1) if k == 0 else np.float32(0)
        g = np.float32(rate) * (wanted - np.float32(1) / (np.float32(1) + np.exp(-score)))
        if learn:
            for d in range(width):
                sum_[d] += g * o[d]
                o[d] += g * x[d]
        else:
            for d in range(width):
                sum_[d] += g * o[d]
    for d in range(width):
        x[d] += sum_[d]


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

    The window of a position is drawn from 1 ... `window`. The contexts of one position share its negatives,
    which stay in the cache: at width 512 that is over twice as fast as fresh ones for each pair.
    """
    state = seed
    sum_ = np.zeros(inputs.shape[1], np.float32)
    targets = np.zeros(n_negative + 1, np.int64)
    for row in range(len(walks)):
        rate = rates[0] + (rates[1] - rates[0]) * row / len(walks)
        length = 0
        while length < walks.shape[1] and walks[row, length] >= 0:
            length += 1
        for i in range(length):
            state = advance(state)
            reach = 1 + below(state, window)
            targets[0] = walks[row, i]
            for k in range(n_negative):
                state = advance(state)
                targets[k + 1] = table[below(state, len(table))]
            for j in range(max(0, i - reach), min(length, i + reach + 1)):
                if j != i:
                    attract(inputs[walks[row, j]], outputs, targets, rate, sum_, True)


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
    targets = np.zeros(n_negative + 1, np.int64)
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
            targets[0] = tokens[low + below(state, size)]
            for k in range(n_negative):
                state = advance(state)
                targets[k + 1] = table[below(state, len(table))]
            rate = rates[0] + (rates[1] - rates[0]) * share
            attract(documents[document], outputs, targets, rate, sum_, learn)
