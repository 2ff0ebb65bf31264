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

from infograph.baselines.compiled import mix_keys

Vectors = NDArray[np.float32]
Ints = NDArray[np.int64]
RATES = (0.025, 0.0001)  # gensim's first and last learning rate
ROWS = 4096  # vectors that are drawn at a time: 64-bit numbers for all would take five times the vectors


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
    from infograph.baselines.skipgram_walks import learn_walks

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
    from infograph.baselines.skipgram_documents import learn_documents

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
    from infograph.baselines.skipgram_documents import learn_documents

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
