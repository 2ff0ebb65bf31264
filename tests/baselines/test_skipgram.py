"""Skip-gram and paragraph vectors against their equations, gensim, and what they must not depend on."""

from __future__ import annotations

import numpy as np
import pytest

from infograph.baselines.skipgram import (
    NEGATIVES,
    first_vectors,
    learn_documents,
    learn_walks,
    noise_table,
    word_vectors,
)


def topics(n_rows: int, length: int) -> np.ndarray:
    """Rows of words out of one of three topics of ten words each."""
    rng = np.random.default_rng(0)
    topic = rng.integers(3, size=(n_rows, 1))
    return (topic * 10 + rng.integers(10, size=(n_rows, length))).astype(np.int32)


def separation(vectors: np.ndarray, groups: np.ndarray) -> float:
    """Mean cosine within groups minus mean cosine between them."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosine = unit @ unit.T
    same = groups[:, None] == groups[None, :]
    own = np.eye(len(groups), dtype=bool)
    return float(cosine[same & ~own].mean() - cosine[~same].mean())


class Draws:
    """SplitMix64 in whole numbers of Python."""

    def __init__(self, state: int) -> None:
        self.state = state

    def below(self, n: int) -> int:
        mask = 2**64 - 1
        self.state = z = (self.state + 0x9E3779B97F4A7C15) & mask
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
        return int(((z ^ (z >> 31)) >> 11) * 2.0**-53 * n)

    def targets(self, positive: int, table: np.ndarray) -> list[int]:
        drawn = [int(table[self.below(len(table))]) for _ in range(NEGATIVES)]
        return [positive, *(word for word in drawn if word != positive)]


def step(x: np.ndarray, o: np.ndarray, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """What is added to rows of inputs and of outputs, the positive first, from both as they are.

    The gradient of log s(x o_0) + sum_k log s(-x o_k), times the rate.
    """
    wanted = np.arange(len(o)) == 0
    gains = rate * (wanted - 1 / (1 + np.exp(-np.clip(x @ o.T, -30, 30))))
    return gains @ o, gains.T @ x


def random_vectors(n_words: int, dim: int, rng: np.random.Generator) -> np.ndarray:
    return (rng.normal(size=(n_words, dim)) / dim**0.25).astype(np.float32)


def assert_close(found: np.ndarray, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize(("dim", "window", "n_words"), [(1, 1, 9), (5, 3, 2), (33, 7, 40), (512, 14, 20)])
def test_walks_follow_the_equations(dim: int, window: int, n_words: int):
    rng = np.random.default_rng(dim + window)
    walks = rng.integers(n_words, size=(4, 15)).astype(np.int32)
    walks[1, 6:], walks[2, 1:] = -1, -1
    table, rates, seed = noise_table(np.arange(n_words) + 1), np.array([0.05, 0.01]), 2**63 + dim
    inputs, outputs = random_vectors(n_words, dim, rng), random_vectors(n_words, dim, rng)
    x, o = inputs.astype(np.float64), outputs.astype(np.float64)
    draws = Draws(seed)
    for row, walk in enumerate(walks):
        words = walk[walk >= 0]
        for i, word in enumerate(words):
            reach = 1 + draws.below(window)
            targets = draws.targets(word, table)
            contexts = np.concatenate([words[max(0, i - reach) : i], words[i + 1 : i + 1 + reach]])
            rate = rates[0] + (rates[1] - rates[0]) * row / len(walks)
            for block in np.split(contexts, range(10, len(contexts), 10)):
                to_x, to_o = step(x[block], o[targets], rate)
                np.add.at(x, block, to_x)
                np.add.at(o, targets, to_o)
    learn_walks(walks, inputs, outputs, window, table, rates, np.uint64(seed))
    assert_close(inputs, x)
    assert_close(outputs, o)


@pytest.mark.parametrize("learn", [True, False])
@pytest.mark.parametrize("dim", [1, 33, 512])
def test_documents_follow_the_equations(dim: int, learn: bool):
    rng = np.random.default_rng(dim)
    tokens, ptr = rng.integers(9, size=40).astype(np.int32), np.array([0, 15, 15, 16, 40])
    keys, order = rng.integers(2**62, size=4).astype(np.uint64), np.array([3, 0, 1, 2])
    table, rates = noise_table(np.arange(9) + 1), np.array([0.05, 0.01])
    documents, outputs = random_vectors(4, dim, rng), random_vectors(9, dim, rng)
    x, o, done = documents.astype(np.float64), outputs.astype(np.float64), 0
    for document in order:
        words, draws = tokens[ptr[document] : ptr[document + 1]], Draws(int(keys[document]))
        for i in range(len(words)):
            targets = draws.targets(words[draws.below(len(words))], table)
            share = done / len(tokens) if learn else i / len(words)
            to_x, to_o = step(x[[document]], o[targets], rates[0] + (rates[1] - rates[0]) * share)
            x[document] += to_x[0]
            np.add.at(o, targets, to_o if learn else 0)
            done += 1
    learn_documents(tokens, ptr, order, keys, documents, outputs, table, rates, learn)
    assert_close(documents, x)
    assert_close(outputs, o)


def test_negatives_are_drawn_by_three_quarters_of_their_counts():
    counts = np.array([1, 0, 16, 81, 10_000])
    share = np.bincount(noise_table(counts), minlength=5) / len(noise_table(counts))
    np.testing.assert_allclose(share, counts**0.75 / (counts**0.75).sum(), atol=1e-4)
    assert share[1] == 0


def test_word_vectors_find_topics_as_gensim_does():
    gensim = pytest.importorskip("gensim.models")
    walks = topics(600, 20)
    groups = np.arange(30) // 10
    ours = word_vectors(walks, 30, dim=16, window=5, epochs=5)
    usual = {"vector_size": 16, "window": 5, "sg": 1, "min_count": 1, "sample": 0, "epochs": 5}
    theirs = gensim.Word2Vec(walks.tolist(), **usual, negative=NEGATIVES, workers=1, seed=0)
    reference = theirs.wv.vectors[[theirs.wv.key_to_index[word] for word in range(30)]]
    assert separation(ours, groups) > 0.5
    assert separation(ours, groups) == pytest.approx(separation(reference, groups), abs=0.25)


def test_unused_words_keep_their_first_vector():
    walks = topics(50, 10)
    first = word_vectors(walks, 31, dim=8, window=3)
    longer = np.hstack([walks, np.full((50, 4), -1, np.int32)])
    assert np.array_equal(first, word_vectors(longer, 31, dim=8, window=3))
    start = first_vectors(np.arange(10_000, dtype=np.uint64), 8)
    assert np.abs(start).max() <= 1 / 16 and np.abs(first[30]).max() <= 1 / 16
    assert start.std() == pytest.approx(1 / 8 / np.sqrt(12), rel=0.02)
