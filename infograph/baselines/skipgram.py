"""Skip-gram (word2vec) and paragraph vectors (doc2vec) on arrays of word numbers.

Mikolov et al. 2013 (negative sampling) and Le and Mikolov 2014 (PV-DBOW), compiled with numba instead of run
by gensim: faster than gensim's one worker (`benchmarks/skipgram.py`), bit-equal for a seed in any process,
and words are whole numbers, so that a model is saved as arrays. gensim is the oracle in tests.

Differs from the papers: up to ten contexts of a position move together, from vectors as they were before it,
and all share its negatives (Ji et al. 2016, "Parallelizing word2vec in shared and distributed memory").
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.walks import GOLDEN, Floats, Ints, Keys, Nodes, below, compiled_fast, mix_keys

Vectors = NDArray[np.float32]
RATES = (0.025, 0.0001)  # gensim's first and last learning rate
NEGATIVES = 5  # gensim's default; `score` and `add_rows` are written for one positive and five
CONTEXTS = 10  # that move together; more would be one large step, and with wide windows diverge
ROWS = 4096  # vectors that are drawn at a time: 64-bit numbers for all would take five times the vectors


def word_vectors(
    walks: Nodes, n_words: int, *, dim: int, window: int, epochs: int = 1, random_state: int = 0
) -> Vectors:
    """Skip-gram vectors of words from rows of word numbers, -1 behind the end of a row. (n_words, dim).

    A word that never occurs keeps its first vector.
    """
    table = noise_table(np.bincount(walks[walks >= 0], minlength=n_words))
    inputs = first_vectors(mix_keys(random_state, np.arange(n_words)), dim)
    outputs = np.zeros((n_words, dim), np.float32)
    for epoch in range(epochs):
        seed = np.uint64(mix_keys(random_state, -1, epoch))
        learn_walks(walks, inputs, outputs, window, table, _rates(epoch, epochs), seed)
    return inputs


def document_vectors(
    tokens: Nodes, ptr: Ints, keys: Keys, n_words: int, *, dim: int, epochs: int, random_state: int = 0
) -> tuple[Vectors, Vectors, Ints]:
    """PV-DBOW: vectors of documents (rows, dim), and outputs (n_words, dim) and counts (n_words,) of words.

    `tokens` are the words of all documents, one document after the other, and `ptr` (rows+1,) says where each
    begins. From its key (rows,) each draws its random numbers.
    """
    counts, outputs = np.bincount(tokens, minlength=n_words), np.zeros((n_words, dim), np.float32)
    settings = {"epochs": epochs, "random_state": random_state}
    return infer_documents(tokens, ptr, keys, outputs, counts, **settings, learn=True), outputs, counts


def infer_documents(
    tokens: Nodes,
    ptr: Ints,
    keys: Keys,
    outputs: Vectors,
    counts: Ints,
    *,
    epochs: int,
    random_state: int = 0,
    learn: bool = False,
) -> Vectors:
    """Vectors of new documents for fixed words; each depends on its own words and key alone. (rows, dim).

    With `learn` the outputs are learned with them, in place.
    """
    table = noise_table(counts)
    documents = first_vectors(mix_keys(random_state, keys), outputs.shape[1])
    order = np.arange(len(ptr) - 1)
    for epoch in range(epochs):
        if learn:
            order = np.random.default_rng([random_state, epoch]).permutation(len(ptr) - 1)
        own, rates = mix_keys(random_state, epoch, keys), _rates(epoch, epochs)
        learn_documents(tokens, ptr, order, own, documents, outputs, table, rates, learn)
    return documents


def first_vectors(keys: Keys, dim: int) -> Vectors:
    """Random vectors in [-1, 1] / (2 dim), as word2vec starts; one row per key. (keys, dim)."""
    vectors = np.empty((len(keys), dim), np.float32)
    for start in range(0, len(keys), ROWS):
        drawn = mix_keys(keys[start : start + ROWS, None], np.arange(dim)[None, :])  # (ROWS, dim)
        unit = (drawn >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24)
        vectors[start : start + ROWS] = (unit - np.float32(0.5)) / np.float32(dim)
    return vectors


def noise_table(counts: Ints) -> Nodes:
    """Words to draw negatives from: each as often as its count to the power 3/4 says."""
    running = np.cumsum(counts.astype(np.float64) ** 0.75)
    size = int(np.clip(20 * len(counts), 2**16, 2**24))
    places = (np.arange(size) + 0.5) / size * running.max(initial=0)
    return np.asarray(np.searchsorted(running, places, side="right"), np.int32)


def _rates(epoch: int, epochs: int) -> Floats:
    """The learning rates at the begin and the end of an epoch; it falls linearly over all of them."""
    first, last = RATES
    return first + (last - first) * np.array([epoch, epoch + 1]) / epochs


@compiled_fast
def learn_walks(
    walks: Nodes, inputs: Vectors, outputs: Vectors, window: int, table: Nodes, rates: Floats, seed: np.uint64
) -> None:
    """Skip-gram over rows of words; -1 ends a row. The window of a position is drawn from 1 ... `window`."""
    state = seed
    targets, contexts = np.zeros(NEGATIVES + 1, np.int64), np.zeros(CONTEXTS, np.int64)
    times = np.zeros(CONTEXTS, np.int64)
    gains = np.zeros((CONTEXTS, NEGATIVES + 1), np.float32)
    moves = np.zeros((CONTEXTS, inputs.shape[1]), np.float32)
    for row in range(len(walks)):
        rate = rates[0] + (rates[1] - rates[0]) * row / len(walks)
        length = 0
        while length < walks.shape[1] and walks[row, length] >= 0:
            length += 1
        for i in range(length):
            state += GOLDEN
            reach = 1 + below(state, window)
            targets[0] = walks[row, i]
            for k in range(NEGATIVES):
                state += GOLDEN
                targets[k + 1] = table[below(state, len(table))]
            place, end = max(0, i - reach), min(length, i + reach + 1)
            while place < end:
                n, place = find_contexts(walks[row], i, place, end, contexts, times)
                if n:
                    step(inputs, contexts[:n], times, outputs, targets, rate, True, gains, moves)


@compiled_fast
def find_contexts(walk: Nodes, i: int, start: int, end: int, contexts: Ints, times: Ints) -> tuple[int, int]:
    """The different words at `CONTEXTS` places from `start` on but i: how many, and the place to go on from.

    A word that is there m times is one context whose gains count m times: small graphs repeat words often.
    """
    n = taken = 0
    place = start
    while place < end and taken < CONTEXTS:
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
def learn_documents(
    tokens: Nodes,
    ptr: Ints,
    order: Ints,
    keys: Keys,
    documents: Vectors,
    outputs: Vectors,
    table: Nodes,
    rates: Floats,
    learn: bool,
) -> None:
    """One epoch of PV-DBOW: every document draws as many of its words as it has; `learn` moves words, too."""
    targets, context = np.zeros(NEGATIVES + 1, np.int64), np.zeros(1, np.int64)
    once = np.ones(1, np.int64)
    gains, moves = np.zeros((1, NEGATIVES + 1), np.float32), np.zeros((1, documents.shape[1]), np.float32)
    total, done = max(1, len(tokens)), 0
    for document in order:
        low, size = ptr[document], ptr[document + 1] - ptr[document]
        state = keys[document]
        context[0] = document
        for i in range(size):
            # alone, the other documents of the call do not count
            share = done / total if learn else i / size
            done += 1
            state += GOLDEN
            targets[0] = tokens[low + below(state, size)]
            for k in range(NEGATIVES):
                state += GOLDEN
                targets[k + 1] = table[below(state, len(table))]
            rate = rates[0] + (rates[1] - rates[0]) * share
            step(documents, context, once, outputs, targets, rate, learn, gains, moves)


@compiled_fast
def step(
    inputs: Vectors,
    contexts: Ints,
    times: Ints,
    outputs: Vectors,
    targets: Ints,
    rate: float,
    learn: bool,
    gains: Vectors,
    moves: Vectors,
) -> None:
    """Move contexts C (rows of X) and, if `learn`, targets T (rows of O) from where both were before:

        G = rate * (wanted - s(X_C O_T'))  # (C, T); wanted is the first target
        O_T += G' X_C,  X_C += G O_T

    A context counts `times`. Negatives that are the positive are left out. `gains`, `moves`: work space.
    """
    for c in range(len(contexts)):
        score(inputs[contexts[c]], outputs, targets, gains[c])
        for t in range(len(targets)):
            clipped = max(min(gains[c, t], np.float32(30)), np.float32(-30))
            likely = np.float32(1) / (np.float32(1) + np.exp(-clipped))
            gains[c, t] = np.float32(rate * times[c]) * (np.float32(t == 0) - likely)
            if t > 0 and targets[t] == targets[0]:
                gains[c, t] = 0
        moves[c] = 0
        add_rows(moves[c], outputs, targets, gains[c])
    if learn:
        for t in range(len(targets)):
            row = outputs[targets[t]]
            for c in range(len(contexts)):
                x, gain = inputs[contexts[c]], gains[c, t]
                for i in range(len(x)):
                    row[i] += gain * x[i]
    for c in range(len(contexts)):
        x, move = inputs[contexts[c]], moves[c]
        for i in range(len(x)):
            x[i] += move[i]


@compiled_fast
def score(x: Vectors, outputs: Vectors, rows: Ints, scores: Vectors) -> None:
    """The inner products of x with six rows, read together: half as fast again as row after row."""
    a, b, c = outputs[rows[0]], outputs[rows[1]], outputs[rows[2]]
    d, e, f = outputs[rows[3]], outputs[rows[4]], outputs[rows[5]]
    xa = xb = xc = xd = xe = xf = np.float32(0)
    for i in range(len(x)):
        xa, xb, xc = xa + x[i] * a[i], xb + x[i] * b[i], xc + x[i] * c[i]
        xd, xe, xf = xd + x[i] * d[i], xe + x[i] * e[i], xf + x[i] * f[i]
    scores[0], scores[1], scores[2], scores[3], scores[4], scores[5] = xa, xb, xc, xd, xe, xf


@compiled_fast
def add_rows(total: Vectors, outputs: Vectors, rows: Ints, gains: Vectors) -> None:
    """Add six rows times their gains."""
    a, b, c = outputs[rows[0]], outputs[rows[1]], outputs[rows[2]]
    d, e, f = outputs[rows[3]], outputs[rows[4]], outputs[rows[5]]
    ga, gb, gc, gd, ge, gf = gains[0], gains[1], gains[2], gains[3], gains[4], gains[5]
    for i in range(len(total)):
        total[i] += ga * a[i] + gb * b[i] + gc * c[i] + gd * d[i] + ge * e[i] + gf * f[i]
