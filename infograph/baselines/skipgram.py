"""Skip-gram (word2vec) and paragraph vectors (doc2vec) on arrays of word numbers.

Mikolov et al. 2013 (negative sampling) and Le and Mikolov 2014 (PV-DBOW), compiled with numba instead of run
by gensim: several times as fast as gensim's one worker (`benchmarks/skipgram.py`), bit-equal for a seed in
any process (gensim's inference hashes words with Python's salted hash), no document is cut at 10,000 words,
and words are whole numbers, so that a model is saved as arrays. gensim is the oracle in tests.

Differs from the papers: all pairs of one position move together, from vectors as they were before it, and
share their negatives; see `skipgram_walks`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.walks import advance, below, compiled_fast, mix_keys

Vectors = NDArray[np.float32]
Ints = NDArray[np.int64]
RATES = (0.025, 0.0001)  # gensim's first and last learning rate
ROWS = 4096  # vectors that are drawn at a time: 64-bit numbers for all would take five times the vectors
MOST = 10  # contexts of a block
Floats32 = NDArray[np.float32]
Six = tuple[np.float32, np.float32, np.float32, np.float32, np.float32, np.float32]
TILE = 6  # the usual positive and its five negatives
PART = 512  # dimensions at a time
STEP = PART + 16  # not a power of two: rows a multiple of 4 KB apart would share their places in the cache


def first_vectors(keys: NDArray[np.uint64], dim: int) -> Vectors:
    """Random vectors in [-1, 1] / (2 dim), as word2vec starts; one row per key, the same for the same key."""
    vectors = no_vectors(len(keys), dim)
    for start in range(0, len(keys), ROWS):
        drawn = mix_keys(keys[start : start + ROWS, None], np.arange(dim)[None, :])  # (ROWS, dim)
        unit = (drawn >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24)
        vectors[start : start + ROWS] = (unit - np.float32(0.5)) / np.float32(dim)
    return vectors


def no_vectors(n_rows: int, dim: int) -> Vectors:
    """Zeros that begin on a cache line, so that rows of a multiple of 16 numbers do too.

    numpy begins large arrays 16 bytes behind one; every second load then touches two lines, which costs
    skip-gram a twentieth to a tenth of its speed.
    """
    line = 64 // 4
    flat = np.zeros(n_rows * dim + line - 1, np.float32)
    first = -flat.ctypes.data // 4 % line
    return flat[first : first + n_rows * dim].reshape(n_rows, dim)


def noise_table(counts: Ints) -> NDArray[np.int32]:
    """Words to draw negatives from: each as often as its count to the power 3/4 says."""
    running = np.cumsum(counts.astype(np.float64) ** 0.75)
    size = int(np.clip(20 * len(counts), 2**16, 2**24))
    places = (np.arange(size) + 0.5) / size * running[-1]
    return np.asarray(np.searchsorted(running, places, side="right"), np.int32)


def word_vectors(
    walks: NDArray[np.int32],
    n_words: int,
    *,
    dim: int,
    window: int,
    epochs: int = 1,
    n_negative: int = 5,
    random_state: int = 0,
) -> Vectors:
    """Skip-gram vectors of words from rows of word numbers, -1 behind the end of a row. (n_words, dim).

    A word that never occurs keeps its first vector.
    """
    counts = np.bincount(walks[walks >= 0], minlength=n_words)
    table = noise_table(counts)
    inputs = first_vectors(mix_keys(random_state, np.arange(n_words)), dim)
    outputs = no_vectors(n_words, dim)
    for epoch in range(epochs):
        seed = np.uint64(mix_keys(random_state, -1, epoch))
        rates = _between(epoch, epochs)
        learn_walks(walks, inputs, outputs, window, table, n_negative, rates, seed)
    return inputs


def document_vectors(
    tokens: NDArray[np.int32],
    ptr: Ints,
    keys: NDArray[np.uint64],
    n_words: int,
    *,
    dim: int,
    epochs: int,
    n_negative: int = 5,
    random_state: int = 0,
) -> tuple[Vectors, Vectors, Ints]:
    """PV-DBOW: vectors of documents (rows, dim), and outputs (n_words, dim) and counts (n_words,) of words.

    Args:
        tokens: the words of all documents, one document after the other.
        ptr: (rows+1,) where each begins.
        keys: (rows,) what each draws its random numbers from.
        n_words: how many words there are.
        dim, epochs, n_negative, random_state: as usual.
    """
    counts = np.bincount(tokens, minlength=n_words)
    table = noise_table(counts)
    documents = first_vectors(mix_keys(random_state, keys), dim)
    outputs = no_vectors(n_words, dim)
    for epoch in range(epochs):
        order = np.random.default_rng([random_state, epoch]).permutation(len(ptr) - 1)
        own = mix_keys(random_state, epoch, keys)
        rates = _between(epoch, epochs)
        learn_documents(tokens, ptr, order, own, documents, outputs, table, n_negative, rates, True)
    return documents, outputs, counts


def infer_documents(
    tokens: NDArray[np.int32],
    ptr: Ints,
    keys: NDArray[np.uint64],
    outputs: Vectors,
    counts: Ints,
    *,
    epochs: int,
    n_negative: int = 5,
    random_state: int = 0,
) -> Vectors:
    """Vectors of new documents for fixed words; each depends on its own words and key alone. (rows, dim)."""
    table = noise_table(counts)
    documents = first_vectors(mix_keys(random_state, keys), outputs.shape[1])
    order = np.arange(len(ptr) - 1)
    for epoch in range(epochs):
        own = mix_keys(random_state, epoch, keys)
        rates = _between(epoch, epochs)
        learn_documents(tokens, ptr, order, own, documents, outputs, table, n_negative, rates, False)
    return documents


def _between(epoch: int, epochs: int) -> NDArray[np.float64]:
    """The learning rates at the begin and the end of an epoch; it falls linearly over all of them."""
    first, last = RATES
    return first + (last - first) * np.array([epoch, epoch + 1]) / epochs


# The compiled loop of skip-gram with negative sampling.
#
# Ten contexts of a position are one small block, as in Ji et al. 2016 ("Parallelizing word2vec in shared and
# distributed memory"): contexts C (rows of the inputs X) share the position's targets T (rows of the outputs
# O, the positive and the negatives). With everything on the right as it was before the block,
#
#     G = rate * (wanted - s(X_C O_T'))  # (C, T)
#     O_T += G' X_C,  X_C += G O_T
#
# More of them at once would be one large step, and with wide windows diverge. The products run over tiles of
# two contexts and six targets: at width 512 over twice as fast as pair after pair.


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


# Products of a few rows whose numbers stay in registers: the arithmetic of skip-gram.
#
# The six rows of a tile lie `STEP` apart in one array. Since the compiler knows that distance, one test
# tells it that nothing overlaps, and it vectorises; loops over as many rows at arbitrary places it leaves
# alone.


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
