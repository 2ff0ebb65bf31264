"""The search by faiss, and what happens without it."""

from __future__ import annotations

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from infograph.errors import InvalidFile, MissingExtra
from infograph.index import GraphIndex, graph_index, nearest
from tests.index.conftest import clustered, of_vectors

needs_faiss = pytest.mark.skipif(not nearest.faiss_installed(), reason="faiss is not installed")


@needs_faiss
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_finds_nearly_all_and_scores_as_the_exact_search(metric: str) -> None:
    vectors = clustered(3000)
    near, exact = of_vectors(vectors, metric=metric, approximate=True), of_vectors(vectors, metric=metric)
    assert near.is_approximate and not exact.is_approximate
    assert near.recall() > 0.95 and exact.recall() == 1
    found, expected = near.search(vectors[:50]), exact.search(vectors[:50])
    for place in range(50):
        right = dict(zip(expected.rows[place].tolist(), expected.scores[place].tolist(), strict=True))
        for row, score in zip(found.rows[place].tolist(), found.scores[place].tolist(), strict=True):
            assert right.get(row, score) == score
    assert (found.rows == expected.rows).mean() > 0.95
    assert near.search_id(7).rows.tolist() == exact.search_id(7).rows.tolist()


@needs_faiss
def test_recall_notices_misses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest, "probes", lambda n_cells: 1)
    vectors = np.random.default_rng(0).standard_normal((3000, 16)).astype(np.float32)
    index = of_vectors(vectors, approximate=True)
    assert 0.05 < index.recall() < 0.8
    own = index.recall(sample=3000, k=3)
    exact = of_vectors(vectors)
    shares = [
        np.isin(exact.search_id(i, 3).rows, index.search_id(i, 3).rows).mean() for i in range(0, 3000, 10)
    ]
    assert own == pytest.approx(np.mean(shares), abs=0.08)


@needs_faiss
def test_few_vectors_ties_and_large_k() -> None:
    for n_rows in (1, 2, 30, 100):
        vectors = clustered(n_rows)
        near, exact = of_vectors(vectors, approximate=True), of_vectors(vectors)
        assert np.array_equal(near.search(vectors, 500).rows, exact.search(vectors, 500).rows)
    many = of_vectors(clustered(2000), approximate=True)
    assert sorted(many.search(np.ones(16), 5000).rows[0].tolist()) == list(range(2000))
    zeros = np.vstack([np.zeros((5, 16)), clustered(200)])
    assert of_vectors(zeros, approximate=True).search(zeros[6], 3).rows[0, 0] == 6


@needs_faiss
def test_vectors_that_came_later_are_found() -> None:
    vectors = clustered(1000)
    index = of_vectors(vectors[:950], approximate=True)
    cells = index._state[1]
    index.add_vectors(np.arange(950, 1000), vectors[950:])
    assert index._state[1] is cells
    assert index.search(vectors[960:990], 1).rows[:, 0].tolist() == list(range(960, 990))
    index.add_vectors(np.arange(1000, 1200), clustered(200, seed=1))
    assert index._state[1] is not cells and index._state[1] is not None and index._state[1].covered == 1200


@needs_faiss
def test_above_the_bound_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_index, "EXACT_UP_TO", 500)
    assert not of_vectors(clustered(500)).is_approximate
    index = of_vectors(clustered(501))
    assert index.is_approximate
    assert not of_vectors(clustered(501), approximate=False).is_approximate


@needs_faiss
def test_saved_and_opened(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = of_vectors(clustered(1000), approximate=True)
    opened = GraphIndex.open(index.save(tmp_path / "index"))
    assert opened.is_approximate and opened.recall() == index.recall()
    queries = clustered(20, seed=1)
    assert np.array_equal(opened.search(queries).rows, index.search(queries).rows)
    monkeypatch.setattr(nearest, "faiss_installed", lambda: False)
    with pytest.raises(MissingExtra, match=r"pip install 'infograph\[search\]'"):
        GraphIndex.open(tmp_path / "index")


@needs_faiss
def test_a_file_that_is_none_of_faiss(tmp_path) -> None:
    path = tmp_path / "faiss.index"
    path.write_bytes(b"no index at all")
    with pytest.raises(InvalidFile, match="is no index of faiss"):
        nearest.Approximate.open(path, 5)
    index = of_vectors(clustered(100), approximate=True)
    index._state[1].save(path)
    with pytest.raises(InvalidFile, match="holds 100 vectors, expected 5"):
        nearest.Approximate.open(path, 5)


@needs_faiss
def test_many_threads() -> None:
    vectors = clustered(2000)
    index = of_vectors(vectors, approximate=True)
    expected = index.search(vectors[:100]).rows
    start = threading.Barrier(8)

    def work(worker: int) -> bool:
        start.wait()
        places = [(i * 7 + worker) % 100 for i in range(100)]
        return all(np.array_equal(index.search(vectors[i]).rows[0], expected[i]) for i in places)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


@needs_faiss
def test_opening_without_faiss_what_was_made_with_it(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_index, "EXACT_UP_TO", 500)
    index = of_vectors(clustered(501))
    index.save(tmp_path / "index")
    for module in (nearest, graph_index):
        monkeypatch.setattr(module, "faiss_installed", lambda: False)
    with pytest.warns(UserWarning, match="searched exactly"):
        opened = GraphIndex.open(tmp_path / "index")
    assert not opened.is_approximate and opened.search(clustered(501)[7], 1).rows.tolist() == [[7]]


@needs_faiss
def test_opening_never_builds(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_vectors(clustered(501)).save(tmp_path / "index")
    monkeypatch.setattr(graph_index, "EXACT_UP_TO", 500)
    opened = GraphIndex.open(tmp_path / "index")
    assert not opened.is_approximate
    opened.add_vectors([501], np.ones((1, 16)))
    assert opened.is_approximate


def test_without_faiss(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (nearest, graph_index):
        monkeypatch.setattr(module, "faiss_installed", lambda: False)
    monkeypatch.setattr(graph_index, "EXACT_UP_TO", 500)
    with pytest.raises(MissingExtra, match=r"this needs faiss.*pip install 'infograph\[search\]'"):
        of_vectors(clustered(10), approximate=True)
    with pytest.warns(UserWarning, match="501 vectors are searched exactly, as faiss is not installed"):
        index = of_vectors(clustered(501))
    assert index.search(clustered(501)[7], 1).rows.tolist() == [[7]] and index.recall() == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        of_vectors(clustered(500))
        of_vectors(clustered(501), approximate=False)
