"""Graphs written chunk by chunk: what one piece gives."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from infograph import concatenate
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.errors import InvalidParameter, SchemaMismatch
from infograph.scale.store import save_stream
from tests.data.equal import assert_equal
from tests.scale.conftest import molecules


def random_networks(count: int, seed: int, *, weights: bool = False) -> GraphSet:
    """Graphs with categories, floats, edge labels and, if asked for, weights."""
    rng = np.random.default_rng(seed)
    made = []
    for n in range(count):
        graph = nx.gnp_random_graph(int(rng.integers(1, 9)), 0.4, seed=int(rng.integers(1 << 30)))
        for node in graph:
            graph.nodes[node]["kind"] = "abcdefgh"[rng.integers(3 + seed % 4)]
            graph.nodes[node]["size"] = float(rng.integers(3))
        for edge in graph.edges:
            graph.edges[edge]["bond"] = int(rng.integers(3))
            graph.edges[edge]["w"] = float(rng.integers(1, 4))
        graph.graph["y"] = float(n)
        made.append(graph)
    return as_graphset(made, weight="w" if weights else None, edge=["bond"] if not weights else ["bond", "w"])


def test_a_stream_is_its_chunks_joined(tmp_path: Path) -> None:
    chunks = [random_networks(count, seed) for seed, count in enumerate((5, 1, 30, 2))]
    saved = save_stream(iter(chunks), tmp_path / "all")
    assert_equal(saved, concatenate(chunks))
    assert isinstance(saved.edges, np.memmap) and [path.name for path in tmp_path.iterdir()] == ["all"]
    again = save_stream([as_graphset(molecules(4)), as_graphset(molecules(9, seed=1))], tmp_path / "all")
    assert len(again) == 13 and again.graph["smiles"].dtype.kind == "U"
    assert_equal(again, concatenate([as_graphset(molecules(4)), as_graphset(molecules(9, seed=1))]))


def test_ids_that_are_numbers_here_and_texts_there(tmp_path: Path) -> None:
    first, second = as_graphset(molecules(3)), as_graphset(molecules(2))
    named = GraphSet(**{**vars(second), "ids": np.array(["x", "yy"])})
    assert save_stream([first, named], tmp_path / "all").ids.tolist() == ["0", "1", "2", "x", "yy"]


def test_streams_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="no graph"):
        save_stream([], tmp_path / "all")
    with pytest.raises(SchemaMismatch, match="only sets of the same columns"):
        save_stream([random_networks(3, 0), as_graphset(molecules(3))], tmp_path / "all")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("precious")
    with pytest.raises(InvalidParameter, match="holds other files"):
        save_stream([random_networks(3, 0)], tmp_path / "other")
