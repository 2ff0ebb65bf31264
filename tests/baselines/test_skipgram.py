"""Skip-gram and paragraph vectors against gensim, finite differences, and what they must not depend on."""

from __future__ import annotations

import numpy as np
import pytest

from infograph.baselines.skipgram import (
    document_vectors,
    first_vectors,
    infer_documents,
    noise_table,
    word_vectors,
)
from infograph.baselines.skipgram_loops import attract


def topics(n_rows: int, length: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of words out of one of three topics of ten words each."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(3, size=n_rows)
    return (topic[:, None] * 10 + rng.integers(10, size=(n_rows, length))).astype(np.int32), topic


def separation(vectors: np.ndarray, groups: np.ndarray) -> float:
    """Mean cosine within groups minus mean cosine between them."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosine = unit @ unit.T
    same = groups[:, None] == groups[None, :]
    own = np.eye(len(groups), dtype=bool)
    return float(cosine[same & ~own].mean() - cosine[~same].mean())


def test_a_step_follows_the_gradient():
    rng = np.random.default_rng(0)
    x, outputs = rng.normal(size=8).astype(np.float32), rng.normal(size=(5, 8)).astype(np.float32)
    targets = np.array([2, 0, 4, 2])  # the last negative is the positive and must be left out

    def objective(x: np.ndarray, outputs: np.ndarray) -> float:
        scores = outputs.astype(float) @ x.astype(float)
        return -np.logaddexp(0, -scores[2]) - np.logaddexp(0, scores[0]) - np.logaddexp(0, scores[4])

    moved, moved_outputs = x.copy(), outputs.copy()
    attract(moved, moved_outputs, targets, 1e-3, np.zeros(8, np.float32), True)
    gradient = np.array(
        [(objective(x + e, outputs) - objective(x - e, outputs)) / 2e-3 for e in 1e-3 * np.eye(8)]
    )
    np.testing.assert_allclose((moved - x) / 1e-3, gradient, rtol=2e-2, atol=2e-3)
    assert np.array_equal(moved_outputs[[1, 3]], outputs[[1, 3]])
    frozen = outputs.copy()
    again = x.copy()
    attract(again, frozen, targets, 1e-3, np.zeros(8, np.float32), False)
    assert np.array_equal(frozen, outputs)
    np.testing.assert_allclose(again, moved, rtol=1e-5)


def test_negatives_are_drawn_by_three_quarters_of_their_counts():
    counts = np.array([1, 0, 16, 81, 10_000])
    share = np.bincount(noise_table(counts), minlength=5) / len(noise_table(counts))
    np.testing.assert_allclose(share, counts**0.75 / (counts**0.75).sum(), atol=1e-4)
    assert share[1] == 0


def test_word_vectors_find_topics_as_gensim_does():
    from gensim.models import Word2Vec

    walks, _ = topics(600, 20)
    groups = np.arange(30) // 10
    ours = word_vectors(walks, 30, dim=16, window=5, epochs=5)
    theirs = Word2Vec(
        walks.tolist(),
        vector_size=16,
        window=5,
        sg=1,
        negative=5,
        min_count=1,
        sample=0,
        epochs=5,
        workers=1,
        seed=0,
    )
    reference = theirs.wv.vectors[[theirs.wv.key_to_index[word] for word in range(30)]]
    assert separation(ours, groups) > 0.5
    assert separation(ours, groups) == pytest.approx(separation(reference, groups), abs=0.25)
    assert np.median(np.linalg.norm(ours, axis=1)) == pytest.approx(
        np.median(np.linalg.norm(reference, axis=1)), rel=0.5
    )


def test_documents_are_learned_and_inferred():
    tokens, topic = topics(60, 40)
    ptr, keys = np.arange(61) * 40, np.arange(60).astype(np.uint64)
    settings = {"epochs": 30, "random_state": 5}
    vectors, outputs, counts = document_vectors(tokens.reshape(-1), ptr, keys, 30, dim=12, **settings)
    assert separation(vectors, topic) > 0.5
    inferred = infer_documents(tokens.reshape(-1), ptr, keys, outputs, counts, **settings)
    assert separation(np.vstack([vectors, inferred]), np.tile(topic, 2)) > 0.5
    part = infer_documents(tokens[7:9].reshape(-1), ptr[:3], keys[7:9], outputs, counts, **settings)
    assert np.array_equal(part, inferred[7:9])  # no document looks at another


def test_seeds_and_unused_words():
    walks, _ = topics(50, 10)
    first = word_vectors(walks, 31, dim=8, window=3, random_state=1)
    assert np.array_equal(first, word_vectors(walks, 31, dim=8, window=3, random_state=1))
    assert not np.array_equal(first, word_vectors(walks, 31, dim=8, window=3, random_state=2))
    longer = np.hstack([walks, np.full((50, 4), -1, np.int32)])
    assert np.array_equal(first, word_vectors(longer, 31, dim=8, window=3, random_state=1))
    start = first_vectors(np.arange(10_000, dtype=np.uint64), 8)
    assert np.abs(start).max() <= 1 / 16
    assert start.std() == pytest.approx(1 / 8 / np.sqrt(12), rel=0.02)
    assert np.abs(first[30]).max() <= 1 / 16  # never seen, never moved
