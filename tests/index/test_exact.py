"""The exact search against a loop in double precision."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infograph.errors import InvalidParameter
from infograph.index import nearest
from tests.index.conftest import clustered, of_vectors

METRICS = ("cosine", "euclidean")


def loop(vectors: np.ndarray, query: np.ndarray, metric: str, k: int) -> list[tuple[int, float]]:
    """Row and score of the k nearest, one by one."""
    scored = []
    for row, vector in enumerate(np.asarray(vectors, np.float64).tolist()):
        other = np.asarray(query, np.float64).tolist()
        if metric == "cosine":
            lengths = math.hypot(*vector) * math.hypot(*other)
            score = math.fsum(a * b for a, b in zip(vector, other, strict=True)) / lengths if lengths else 0.0
        else:
            score = math.dist(vector, other)
        scored.append((row, float(np.float32(score))))
    return sorted(scored, key=lambda item: (-item[1] if metric == "cosine" else item[1], item[0]))[:k]


def check(vectors: np.ndarray, queries: np.ndarray, metric: str, k: int) -> None:
    hits = of_vectors(vectors, metric=metric).search(np.asarray(queries, np.float32), k)
    for place, query in enumerate(np.asarray(queries, np.float32)):
        expected = loop(np.asarray(vectors, np.float32), query, metric, k)
        assert hits.rows[place].tolist() == [row for row, _ in expected]
        assert np.allclose(hits.scores[place], [score for _, score in expected], rtol=2e-7, atol=1e-7)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("k", [1, 7, 200, 1000])
def test_as_a_loop_finds_them(metric: str, k: int) -> None:
    check(clustered(200), clustered(5, seed=1), metric, k)


@pytest.mark.parametrize("metric", METRICS)
def test_nearly_equal_vectors_far_from_the_origin(metric: str) -> None:
    rng = np.random.default_rng(0)
    vectors = 1000 + 1e-3 * rng.standard_normal((300, 64))
    assert len(np.unique(vectors.astype(np.float32) @ np.ones(64, np.float32))) < 100  # float32 cannot tell
    check(vectors, vectors[:4] + 1e-3, metric, 10)


@pytest.mark.parametrize("metric", METRICS)
def test_ties_come_in_the_order_of_the_index(metric: str) -> None:
    vectors = np.tile(clustered(4, 32), (50, 1))  # every vector fifty times
    hits = of_vectors(vectors, metric=metric).search(vectors[2], 60)
    assert hits.rows[0, :50].tolist() == list(range(2, 200, 4))
    assert len(set(hits.scores[0, :50].tolist())) == 1
    everything = of_vectors(np.ones((30, 8)), metric=metric).search(np.ones(8), 5)
    assert everything.rows.tolist() == [[0, 1, 2, 3, 4]]


@given(
    st.integers(1, 12).flatmap(
        lambda dim: st.lists(
            st.lists(st.integers(-3, 3), min_size=dim, max_size=dim), min_size=2, max_size=20
        )
    ),
    st.sampled_from(METRICS),
    st.integers(1, 25),
)
def test_small_whole_numbers(rows: list[list[int]], metric: str, k: int) -> None:
    vectors = np.array(rows, np.float32)
    hits = of_vectors(vectors, metric=metric).search(vectors[:2], k)
    for place in range(2):
        expected = loop(vectors, vectors[place], metric, k)
        assert sorted(hits.scores[place].tolist()) == pytest.approx(sorted(s for _, s in expected), abs=1e-6)
        steps = np.diff(hits.scores[place])
        assert (steps <= 0).all() if metric == "cosine" else (steps >= 0).all()
        level = steps == 0
        assert (np.diff(hits.rows[place])[level] > 0).all()


def test_zero_vectors() -> None:
    vectors = np.array([[0, 0], [1, 0], [0, 0], [-1, 0]])
    index = of_vectors(vectors)
    assert index.search([1.0, 0.0]).rows.tolist() == [[1, 0, 2, 3]]
    assert index.search([1.0, 0.0]).scores.tolist() == [[1, 0, 0, -1]]
    assert index.search([0.0, 0.0]).scores.tolist() == [[0, 0, 0, 0]]
    assert of_vectors(vectors, metric="euclidean").search([0, 0]).rows.tolist() == [[0, 2, 1, 3]]


@pytest.mark.parametrize("metric", METRICS)
def test_very_long_and_very_short_vectors(metric: str) -> None:
    for scale in (1e15, 1e-17):
        check(clustered(50) * scale, clustered(3, seed=1) * scale, metric, 5)


def test_many_queries_do_not_depend_on_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, queries = clustered(300), clustered(40, seed=1)
    whole = of_vectors(vectors).search(queries)
    monkeypatch.setattr(nearest, "MEMORY", 4 * 300 * 7)
    parts = of_vectors(vectors).search(queries)
    assert np.array_equal(whole.rows, parts.rows) and np.array_equal(whole.scores, parts.scores)
    single = [of_vectors(vectors).search(query).rows[0] for query in queries]
    assert np.array_equal(whole.rows, single)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e30])
def test_vectors_that_are_no_numbers_are_refused(bad: float) -> None:
    vectors = clustered(5)
    vectors[3, 2] = bad
    with pytest.raises(InvalidParameter, match=r"graph 3 \(id '?\w*3'?\) is not finite, or longer.*select"):
        of_vectors(vectors)
    with pytest.raises(InvalidParameter, match="vector 0 is not finite"):
        of_vectors(clustered(5)).search(vectors[3])


def test_queries_of_another_length_and_counts() -> None:
    index = of_vectors(clustered(5))
    with pytest.raises(InvalidParameter, match="a query of 3 numbers, the vectors of the index have 16"):
        index.search(np.ones(3))
    with pytest.raises(InvalidParameter, match=r"expected \(G, D\)"):
        index.search(np.ones((2, 2, 16)))
    for k in (0, -1, 2.5, True):
        with pytest.raises(InvalidParameter, match=r"k=.*expected a whole number of at least 1"):
            index.search(np.ones(16), k)
    with pytest.raises(InvalidParameter, match="metric='dot': expected 'cosine' or 'euclidean'"):
        of_vectors(clustered(5), metric="dot")
