"""Nearest and coinciding vectors against loops in double precision; faiss against the exact search."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infograph import GraphIndex, InfoGraph, as_graphset
from infograph.errors import InvalidFile, InvalidParameter, MissingExtra
from infograph.index import graph_index, nearest
from tests.index.conftest import clustered, of_vectors

METRICS = ("cosine", "euclidean")
needs_faiss = pytest.mark.skipif(not nearest.faiss_installed(), reason="faiss is not installed")


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
    vectors, queries = np.asarray(vectors, np.float32), np.asarray(queries, np.float32)
    hits = of_vectors(vectors, metric=metric).search(queries, k)
    for place, query in enumerate(queries):
        expected = loop(vectors, query, metric, k)
        assert hits.rows[place].tolist() == [row for row, _ in expected]
        assert np.allclose(hits.scores[place], [score for _, score in expected], rtol=2e-7, atol=1e-7)


@pytest.mark.parametrize("metric", METRICS)
def test_as_a_loop_finds_them(metric: str) -> None:
    for k in (1, 7, 1000):
        check(clustered(200), clustered(5, seed=1), metric, k)
    for scale in (1e15, 1e-17):  # very long and very short
        check(clustered(50) * scale, clustered(3, seed=1) * scale, metric, 5)
    near = 1000 + 1e-3 * np.random.default_rng(0).standard_normal((300, 64))
    assert len(np.unique(near.astype(np.float32) @ np.ones(64, np.float32))) < 100  # float32 cannot tell
    check(near, near[:4] + 1e-3, metric, 10)


@pytest.mark.parametrize("metric", METRICS)
def test_ties_come_in_the_order_of_the_index(metric: str) -> None:
    vectors = np.tile(clustered(4, 32), (50, 1))  # every vector fifty times
    hits = of_vectors(vectors, metric=metric).search(vectors[2], 60)
    assert hits.rows[0, :50].tolist() == list(range(2, 200, 4))
    assert len(set(hits.scores[0, :50].tolist())) == 1


@given(
    st.lists(st.lists(st.integers(-3, 3), min_size=4, max_size=4), min_size=2, max_size=20),
    st.sampled_from(METRICS),
    st.integers(1, 25),
)
def test_small_whole_numbers(rows: list[list[int]], metric: str, k: int) -> None:
    vectors = np.array(rows, np.float32)
    hits = of_vectors(vectors, metric=metric).search(vectors[:1], k)
    expected = loop(vectors, vectors[0], metric, k)
    assert sorted(hits.scores[0].tolist()) == pytest.approx(sorted(s for _, s in expected), abs=1e-6)
    steps = np.diff(hits.scores[0])
    assert (steps <= 0).all() if metric == "cosine" else (steps >= 0).all()
    assert (np.diff(hits.rows[0])[steps == 0] > 0).all()


def test_zero_vectors() -> None:
    vectors = np.array([[0, 0], [1, 0], [0, 0], [-1, 0]])
    index = of_vectors(vectors)
    assert index.search([1.0, 0.0]).rows.tolist() == [[1, 0, 2, 3]]
    assert index.search([1.0, 0.0]).scores.tolist() == [[1, 0, 0, -1]]
    assert index.search([0.0, 0.0]).scores.tolist() == [[0, 0, 0, 0]]
    assert of_vectors(vectors, metric="euclidean").search([0, 0]).rows.tolist() == [[0, 2, 1, 3]]


def test_many_queries_do_not_depend_on_the_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, queries = clustered(300), clustered(40, seed=1)
    whole = of_vectors(vectors).search(queries)
    monkeypatch.setattr(nearest, "SCORES_BYTES", 4 * 300 * 7)
    parts = of_vectors(vectors).search(queries)
    assert np.array_equal(whole.rows, parts.rows) and np.array_equal(whole.scores, parts.scores)


# ---- by faiss


@needs_faiss
@pytest.mark.parametrize("metric", METRICS)
def test_finds_nearly_all_and_scores_as_the_exact_search(metric: str) -> None:
    vectors = clustered(3000)
    near, exact = of_vectors(vectors, metric=metric, approximate=True), of_vectors(vectors, metric=metric)
    assert near.is_approximate and not exact.is_approximate
    assert near.recall() > 0.95 and exact.recall() == 1
    found, expected = near.search(vectors[:50]), exact.search(vectors[:50])
    same = found.rows == expected.rows
    assert same.mean() > 0.95 and np.array_equal(found.scores[same], expected.scores[same])
    assert near.search_id(7).rows.tolist() == exact.search_id(7).rows.tolist()


@needs_faiss
def test_recall_notices_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "LEAST_PROBES", 1)
    monkeypatch.setattr(nearest, "PROBED_SHARE", 10**9)
    vectors = np.random.default_rng(0).standard_normal((2000, 16)).astype(np.float32)
    index, exact = of_vectors(vectors, approximate=True), of_vectors(vectors)
    pairs = ((exact.search_id(i, 3).rows, index.search_id(i, 3).rows) for i in range(0, 2000, 10))
    assert 0.05 < index.recall() < 0.8
    found = np.mean([np.isin(*pair).mean() for pair in pairs])
    assert index.recall(sample=2000, k=3) == pytest.approx(found, abs=0.08)


@needs_faiss
def test_few_vectors_and_large_k() -> None:
    for n_rows in (1, 2, 30, 100):
        vectors = clustered(n_rows)
        near, exact = of_vectors(vectors, approximate=True), of_vectors(vectors)
        assert np.array_equal(near.search(vectors, 500).rows, exact.search(vectors, 500).rows)
    zeros = np.vstack([np.zeros((5, 16)), clustered(200)])
    assert of_vectors(zeros, approximate=True).search(zeros[6], 3).rows[0, 0] == 6


@needs_faiss
def test_above_the_bound_by_itself(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setattr(graph_index, "EXACT_UP_TO", 500)
    assert not of_vectors(clustered(500)).is_approximate
    index = of_vectors(clustered(501))
    assert index.is_approximate and not of_vectors(clustered(501), approximate=False).is_approximate
    opened = GraphIndex.open(index.save(tmp_path / "index"))
    assert opened.is_approximate and opened.recall() == index.recall()
    queries = clustered(20, seed=1)
    assert np.array_equal(opened.search(queries).rows, index.search(queries).rows)
    monkeypatch.setattr(graph_index, "faiss_installed", lambda: False)
    with pytest.warns(UserWarning, match="searched exactly"):
        opened = GraphIndex.open(tmp_path / "index")
    assert not opened.is_approximate and opened.search(clustered(501)[7], 1).rows.tolist() == [[7]]


@needs_faiss
def test_a_file_that_is_none_of_faiss(tmp_path) -> None:
    path = of_vectors(clustered(100), approximate=True).save(tmp_path / "index") / "faiss.index"
    with pytest.raises(InvalidFile, match="expected 5"):
        nearest.Approximate.open(path, 5)
    path.write_bytes(b"no index at all")
    with pytest.raises(InvalidFile, match="no index of faiss"):
        nearest.Approximate.open(path, 100)


def test_without_faiss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_index, "faiss_installed", lambda: False)
    monkeypatch.setattr(graph_index, "EXACT_UP_TO", 500)
    with pytest.raises(MissingExtra, match=r"this needs faiss.*pip install 'infograph\[search\]'"):
        of_vectors(clustered(10), approximate=True)
    with pytest.warns(UserWarning, match="501 vectors are searched exactly, as faiss is not installed"):
        assert of_vectors(clustered(501)).recall() == 1
    assert not of_vectors(clustered(501), approximate=False).is_approximate  # without a warning


# ---- vectors that coincide


def all_pairs(vectors: np.ndarray, metric: str, tolerance: float) -> list[list[int]]:
    rows = np.asarray(vectors, np.float32).astype(np.float64)
    lengths = np.sqrt((rows**2).sum(axis=1))
    links = nx.empty_graph(len(rows))
    for i in range(len(rows)):
        for j in range(i):
            if metric == "cosine":
                units = [rows[n] / lengths[n] if lengths[n] else rows[n] for n in (i, j)]
                near = ((units[0] - units[1]) ** 2).sum() / 2 <= tolerance
            else:
                near = np.linalg.norm(rows[i] - rows[j]) <= tolerance * max(lengths[i], lengths[j])
            if near:
                links.add_edge(i, j)
    return sorted(sorted(group) for group in nx.connected_components(links) if len(group) > 1)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("tolerance", [0.0, 1e-6, 1e-3, 0.1, 0.4])
@pytest.mark.parametrize("offset", [0, 30])
def test_duplicates_as_all_pairs(
    metric: str, tolerance: float, offset: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = clustered(120) * np.float32(3) + np.float32(offset)
    vectors[20:30] = vectors[5]
    vectors[40:50] = vectors[60:70] * np.float32(1 + 1e-6)
    vectors[80:85] = 0
    found = of_vectors(vectors, metric=metric).near_duplicates(tolerance)
    assert found == all_pairs(vectors, metric, tolerance)
    monkeypatch.setattr(nearest, "BLOCK", 7)
    monkeypatch.setattr(nearest, "SAMPLE", 9)
    assert of_vectors(vectors, metric=metric).near_duplicates(tolerance) == found


def test_all_equal_and_all_different(monkeypatch: pytest.MonkeyPatch) -> None:
    assert of_vectors(np.ones((5000, 8))).near_duplicates() == [list(range(5000))]
    assert of_vectors(clustered(500)).near_duplicates() == []
    noisy = np.ones((1500, 8)) + 1e-7 * np.random.default_rng(0).standard_normal((1500, 8))
    assert len(of_vectors(noisy).near_duplicates()) == 1
    monkeypatch.setattr(nearest, "MOST_PAIRS", 1000)
    with pytest.raises(InvalidParameter, match="too many"):
        of_vectors(noisy).near_duplicates()


def test_the_default_joins_a_graph_in_two_orders_of_its_nodes() -> None:
    rng = np.random.default_rng(0)
    networks = [nx.gnp_random_graph(12 + i, 0.3, seed=i) for i in range(20)]
    shuffled = [nx.relabel_nodes(g, dict(enumerate(rng.permutation(len(g)).tolist()))) for g in networks]
    shuffled = [nx.Graph(sorted(g.edges)) for g in shuffled]
    graphs = as_graphset([*networks, *shuffled])
    model = InfoGraph(dim=32, epochs=2).fit(graphs)
    whole = {i for i in range(20) if len(networks[i]) == len(shuffled[i])}  # without isolated nodes
    for metric in METRICS:
        groups = GraphIndex.build(model, graphs, metric=metric).near_duplicates()
        assert groups == [[i, i + 20] for i in sorted(whole)]
