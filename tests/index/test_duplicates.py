"""Groups of coinciding vectors against a comparison of all pairs."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infograph import InfoGraph, as_graphset
from infograph.errors import InvalidParameter
from infograph.index import GraphIndex, nearest
from tests.index.conftest import clustered, of_vectors


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


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("tolerance", [0.0, 1e-6, 1e-3, 0.02, 0.1, 0.4])
@pytest.mark.parametrize("offset", [0, 30])
def test_as_all_pairs(metric: str, tolerance: float, offset: float) -> None:
    vectors = clustered(150) * np.float32(3) + np.float32(offset)
    vectors[20:30] = vectors[5]
    vectors[40:50] = vectors[60:70] * np.float32(1 + 1e-6)
    vectors[80:85] = 0
    found = of_vectors(vectors, metric=metric).near_duplicates(tolerance)
    assert found == all_pairs(vectors, metric, tolerance)


@given(
    st.lists(
        st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(1, 1000)), min_size=1, max_size=30
    ),
    st.sampled_from(["cosine", "euclidean"]),
    st.sampled_from([0.0, 1e-4, 0.3]),
)
def test_lengths_of_all_kinds(rows: list[tuple[int, int, int]], metric: str, tolerance: float) -> None:
    vectors = np.array([[a * scale, b * scale, a] for a, b, scale in rows])
    found = of_vectors(vectors, metric=metric).near_duplicates(tolerance)
    expected = all_pairs(vectors, metric, tolerance)
    if tolerance or metric == "euclidean":  # unit vectors of exact multiples may differ by a rounding
        assert found == expected


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_small_tiles_change_nothing(metric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, tolerance = clustered(300, 4), {"cosine": 0.001, "euclidean": 0.05}[metric]
    expected = of_vectors(vectors, metric=metric).near_duplicates(tolerance)
    assert len(expected) > 5
    for name, size in (("HEIGHT", 3), ("WIDTH", 5), ("ROWS", 2), ("BLOCK", 7), ("DIRECTIONS_SAMPLE", 9)):
        monkeypatch.setattr(nearest, name, size)
    assert of_vectors(vectors, metric=metric).near_duplicates(tolerance) == expected


def test_one_hash_for_all_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    class Flat:
        def integers(self, low: int, high: int, size: int, dtype: type) -> np.ndarray:
            return np.ones(size, dtype)

        def __getattr__(self, name: str) -> object:
            return getattr(np.random.Generator(np.random.PCG64(0)), name)

    monkeypatch.setattr(nearest.np.random, "default_rng", lambda seed: Flat())
    vectors = np.array([[1, 2], [2, 1], [1, 2], [2, 1]], np.float32)  # sums of bits are all equal
    assert nearest._bit_equal(vectors).tolist() == [0, 1, 0, 3]
    assert of_vectors(vectors).near_duplicates() == [[0, 2], [1, 3]]


def test_all_equal_and_all_different() -> None:
    assert of_vectors(np.ones((5000, 8))).near_duplicates() == [list(range(5000))]
    assert of_vectors(clustered(500)).near_duplicates() == []
    assert of_vectors(np.ones((1, 8))).near_duplicates() == []
    noisy = np.ones((3000, 8)) + 1e-7 * np.random.default_rng(0).standard_normal((3000, 8))
    assert len(of_vectors(noisy).near_duplicates()) == 1


def test_the_default_joins_a_graph_in_two_orders_of_its_nodes() -> None:
    rng = np.random.default_rng(0)
    networks = [nx.gnp_random_graph(12 + i, 0.3, seed=i) for i in range(20)]
    shuffled = [nx.relabel_nodes(g, dict(enumerate(rng.permutation(len(g)).tolist()))) for g in networks]
    shuffled = [nx.Graph(sorted(g.edges)) for g in shuffled]
    graphs = as_graphset([*networks, *shuffled])
    model = InfoGraph(dim=32, epochs=2).fit(graphs)
    whole = {i for i in range(20) if len(networks[i]) == len(shuffled[i])}  # without isolated nodes
    for metric in ("cosine", "euclidean"):
        groups = GraphIndex.build(model, graphs, metric=metric).near_duplicates()
        assert groups == [[i, i + 20] for i in sorted(whole)]


def test_mistakes() -> None:
    index = of_vectors(clustered(5))
    for tolerance in (-1e-9, 0.5, np.nan):
        with pytest.raises(InvalidParameter, match=r"expected a number from 0 to below 0\.5"):
            index.near_duplicates(tolerance)
