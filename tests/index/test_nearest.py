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


@pytest.mark.parametrize("metric", METRICS)
def test_as_a_loop_finds_them(metric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    many, few = clustered(200), clustered(5, seed=1)
    near = 1000 + 1e-3 * np.random.default_rng(0).standard_normal((300, 64))
    assert len(np.unique(near.astype(np.float32) @ np.ones(64, np.float32))) < 100  # float32 cannot tell
    monkeypatch.setattr(nearest, "SCORES_BYTES", 4 * 200 * 3)  # three queries at a time
    for vectors, queries, k in (
        *((many, few, k) for k in (1, 7, 1000)),
        *((many * scale, few * scale, 5) for scale in (1e15, 1e-17)),  # very long and very short
        (near, near[:4] + 1e-3, 10),
    ):
        vectors, queries = vectors.astype(np.float32), queries.astype(np.float32)
        hits = of_vectors(vectors, metric=metric).search(queries, k)
        for place, query in enumerate(queries):
            rows, scores = zip(*loop(vectors, query, metric, k), strict=True)
            assert hits.rows[place].tolist() == list(rows)
            assert np.allclose(hits.scores[place], scores, rtol=2e-7, atol=1e-7)


@given(
    st.lists(st.lists(st.integers(-3, 3), min_size=4, max_size=4), min_size=2, max_size=20),
    st.sampled_from(METRICS),
    st.integers(1, 25),
)
def test_ties_and_zero_vectors(rows: list[list[int]], metric: str, k: int) -> None:
    vectors = np.array(rows, np.float32)
    hits = of_vectors(vectors, metric=metric).search(vectors[:1], k)
    expected = loop(vectors, vectors[0], metric, k)
    assert sorted(hits.scores[0].tolist()) == pytest.approx(sorted(s for _, s in expected), abs=1e-6)
    steps = np.diff(hits.scores[0])
    assert (steps <= 0).all() if metric == "cosine" else (steps >= 0).all()
    assert (np.diff(hits.rows[0])[steps == 0] > 0).all()  # in the order of the index
    equal = of_vectors(np.tile(vectors, (3, 1)), metric=metric).search(vectors[0], 3 * len(vectors))
    assert (np.diff(equal.rows[0])[np.diff(equal.scores[0]) == 0] > 0).all()


# ---- by faiss


@needs_faiss
@pytest.mark.parametrize("metric", METRICS)
def test_finds_nearly_all_and_scores_as_the_exact_search(metric: str) -> None:
    vectors = np.vstack([np.zeros((5, 16)), clustered(3000)])
    near, exact = of_vectors(vectors, metric=metric, approximate=True), of_vectors(vectors, metric=metric)
    assert near.is_approximate and not exact.is_approximate
    assert near.recall() > 0.95 and exact.recall() == 1
    found, expected = near.search(vectors[50:100]), exact.search(vectors[50:100])
    same = found.rows == expected.rows
    assert same.mean() > 0.95 and np.array_equal(found.scores[same], expected.scores[same])
    for n_rows in (1, 2, 30, 100):  # fewer than are asked for
        few = of_vectors(vectors[:n_rows], metric=metric, approximate=True).search(vectors[:9], 500)
        assert np.array_equal(
            few.rows, of_vectors(vectors[:n_rows], metric=metric).search(vectors[:9], 500).rows
        )


@needs_faiss
def test_recall_notices_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "LEAST_PROBES", 1)
    monkeypatch.setattr(nearest, "PROBED_SHARE", 10**9)
    vectors = np.random.default_rng(0).standard_normal((2000, 16)).astype(np.float32)
    index, exact = of_vectors(vectors, approximate=True), of_vectors(vectors)
    pairs = ((exact.search_id(i, 3).rows, index.search_id(i, 3).rows) for i in range(0, 2000, 10))
    found = np.mean([np.isin(*pair).mean() for pair in pairs])
    assert 0.05 < index.recall(sample=2000, k=3) == pytest.approx(found, abs=0.08)


@needs_faiss
def test_above_the_bound_by_itself_and_saved(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setattr(graph_index, "EXACT_UP_TO", 500)
    assert not of_vectors(clustered(500)).is_approximate
    index = of_vectors(clustered(501))
    assert index.is_approximate and not of_vectors(clustered(501), approximate=False).is_approximate
    opened = GraphIndex.open(index.save(tmp_path / "index"))
    queries = clustered(20, seed=1)
    assert opened.is_approximate and np.array_equal(opened.search(queries).rows, index.search(queries).rows)
    with monkeypatch.context() as without:
        without.setattr(graph_index, "faiss_installed", lambda: False)
        with pytest.warns(UserWarning, match="searched exactly"):
            assert not GraphIndex.open(tmp_path / "index").is_approximate
    path = tmp_path / "index" / "faiss.index"
    with pytest.raises(InvalidFile, match="expected 5"):
        nearest.Approximate.open(path, 5)
    path.unlink()  # the opened index has the old file in memory, and faiss may still be reading ahead
    path.write_bytes(b"no index at all")
    with pytest.raises(InvalidFile, match="no index of faiss"):
        nearest.Approximate.open(path, 501)


def test_without_faiss(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    if nearest.faiss_installed():
        of_vectors(clustered(100), approximate=True).save(tmp_path / "index")
    monkeypatch.setattr(graph_index, "faiss_installed", lambda: False)
    monkeypatch.setattr(graph_index, "EXACT_UP_TO", 500)
    with pytest.raises(MissingExtra, match=r"this needs faiss.*pip install 'infograph\[search\]'"):
        of_vectors(clustered(10), approximate=True)
    if (tmp_path / "index").exists():
        with pytest.raises(MissingExtra, match="this needs faiss"):
            GraphIndex.open(tmp_path / "index")
    with pytest.warns(UserWarning, match="501 vectors are searched exactly, as faiss is not installed"):
        assert of_vectors(clustered(501)).recall() == 1
    assert not of_vectors(clustered(501), approximate=False).is_approximate  # without a warning


# ---- vectors that coincide


def all_pairs(vectors: np.ndarray, metric: str, tolerance: float) -> list[list[int]]:
    rows = np.asarray(vectors, np.float32).astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1)
    units = rows / np.where(lengths, lengths, 1)[:, None]
    links = nx.empty_graph(len(rows))
    for i in range(len(rows)):
        for j in range(i):
            if metric == "cosine":
                near = ((units[i] - units[j]) ** 2).sum() / 2 <= tolerance
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
    networks = [nx.gnm_random_graph(12 + i, 40, seed=i) for i in range(10)]
    orders = (dict(enumerate(rng.permutation(len(network)).tolist())) for network in networks)
    pairs = zip(networks, orders, strict=True)
    graphs = as_graphset([*networks, *(nx.relabel_nodes(network, order) for network, order in pairs)])
    model = InfoGraph(dim=32, epochs=2).fit(graphs)
    for metric in METRICS:
        groups = GraphIndex.build(model, graphs, metric=metric).near_duplicates()
        assert groups == [[i, i + 10] for i in range(10)]
