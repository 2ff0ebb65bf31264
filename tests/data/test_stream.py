"""Graphs written chunk by chunk, and coloured block by block: what one piece gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from infograph import InfoGraph, concatenate
from infograph.data.colours import (
    Colouring,
    Numbering,
    open_colouring,
    refine,
    refine_on_disk,
    save_colouring,
)
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet, open_graphs
from infograph.errors import FileMissing, InvalidFile, InvalidParameter, SchemaMismatch
from infograph.scale.store import save_stream
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


def assert_same_graphs(a: GraphSet, b: GraphSet) -> None:
    assert a.schema == b.schema
    for name in ("node_ptr", "edge_ptr", "edges", "ids"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    for level in ("node", "edge", "graph"):
        for column, values in getattr(a, level).items():
            np.testing.assert_array_equal(values, getattr(b, level)[column])


def assert_same_colours(a: Colouring, b: Colouring) -> None:
    assert len(a.rounds) == len(b.rounds)
    for k, counts in enumerate(a.graph_counts):
        np.testing.assert_array_equal(a.node_colours[k], b.node_colours[k])
        assert counts.shape == b.graph_counts[k].shape and (counts != b.graph_counts[k]).nnz == 0
    for own, other in zip(a.rounds, b.rounds, strict=True):
        np.testing.assert_array_equal(own.parent, other.parent)
        assert own.incoming.shape == other.incoming.shape and (own.incoming != other.incoming).nnz == 0
    for name in ("node_ptr", "node_table", "edge_table", "graph_kinds"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def test_a_stream_is_its_chunks_joined(tmp_path: Path) -> None:
    chunks = [random_networks(count, seed) for seed, count in enumerate((5, 1, 30, 2))]
    saved = save_stream(iter(chunks), tmp_path / "all")
    assert_same_graphs(saved, concatenate(chunks))
    assert isinstance(saved.edges, np.memmap) and [path.name for path in tmp_path.iterdir()] == ["all"]
    again = save_stream([as_graphset(molecules(4)), as_graphset(molecules(9, seed=1))], tmp_path / "all")
    assert len(again) == 13 and again.graph["smiles"].dtype.kind == "U"
    assert_same_graphs(again, concatenate([as_graphset(molecules(4)), as_graphset(molecules(9, seed=1))]))


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


@pytest.mark.parametrize("block", [1, 40, 10**6])
@pytest.mark.parametrize("features", ["auto", "constant", "degree"])
@pytest.mark.parametrize("weights", [False, True])
def test_blocks_give_the_colours_of_one_piece(
    tmp_path: Path, block: int, features: str, weights: bool
) -> None:
    graphs = random_networks(60, 1, weights=weights)
    expected = refine(graphs, 5, node_features=features)
    found = refine_on_disk(graphs, 5, tmp_path / "c", node_features=features, block=block)
    assert_same_colours(expected, found)
    assert found.folder == tmp_path / "c"
    assert_same_colours(expected, open_colouring(save_colouring(expected, tmp_path / "d")))


def test_graphs_without_edges_or_features(tmp_path: Path) -> None:
    lonely = as_graphset([nx.empty_graph(n) for n in (1, 3, 2)])
    assert_same_colours(refine(lonely, 3), refine_on_disk(lonely, 3, tmp_path / "c", block=2))
    plain = as_graphset([nx.path_graph(4), nx.empty_graph(2), nx.cycle_graph(5)])
    assert_same_colours(refine(plain, 3), refine_on_disk(plain, 3, tmp_path / "c", block=2))


def test_numbers_are_given_in_the_order_of_appearance() -> None:
    numbering, keys = Numbering(), np.array([7, 3, 7, 9], np.uint64)
    codes, new = numbering.number(keys, keys)
    assert codes.tolist() == [0, 1, 0, 2] and new.tolist() == [0, 1, 3]
    more = np.array([9, 1, 3, 1], np.uint64)
    codes, new = numbering.number(more, more)
    assert codes.tolist() == [2, 3, 1, 3] and new.tolist() == [1] and len(numbering) == 4
    with pytest.raises(ArithmeticError):
        numbering.number(np.array([3], np.uint64), np.array([4], np.uint64))


def test_damaged_colours(tmp_path: Path) -> None:
    graphs = random_networks(10, 0)
    refine_on_disk(graphs, 2, tmp_path / "c")
    (tmp_path / "c" / "colours_1.npy").write_bytes(b"no array")
    with pytest.raises(InvalidFile, match="colour the graphs again"):
        open_colouring(tmp_path / "c")
    (tmp_path / "c" / "colours_1.npy").unlink()
    with pytest.raises(FileMissing, match=r"colours_1\.npy is missing: colour the graphs again"):
        open_colouring(tmp_path / "c")


def test_training_from_disk_is_training_in_memory(tmp_path: Path) -> None:
    saved = save_stream([as_graphset(molecules(40, seed=n)) for n in range(3)], tmp_path / "graphs")
    model = InfoGraph(dim=12, layers=2, epochs=2).fit(saved)
    disk = InfoGraph(dim=12, layers=2, epochs=2).fit(saved, scratch=tmp_path / "scratch")
    np.testing.assert_array_equal(model.transform(saved), disk.transform(saved))
    (colours,) = (tmp_path / "scratch").iterdir()
    before = (colours / "colours.json").stat().st_mtime_ns
    again = InfoGraph(dim=12, layers=2, epochs=2).fit(saved, scratch=tmp_path / "scratch")
    assert (colours / "colours.json").stat().st_mtime_ns == before
    np.testing.assert_array_equal(model.transform(saved), again.transform(saved))


LIMITED = """
import resource, sys, threading
import torch
torch.set_num_threads(1)
from infograph import InfoGraph
from infograph.data.graphset import open_graphs
graphs = open_graphs(sys.argv[1])
model = InfoGraph(dim=8, layers=3, epochs=1, batch_size=2048, memory_mb=20)
model.fit(graphs[:3000])  # everything is imported and warm
used = int(open("/proc/self/statm").read().split()[5]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_DATA, (used + int(sys.argv[2]) * 2**20, -1))
try:
    model.fit(graphs, scratch=sys.argv[3] if len(sys.argv) > 3 else None)
except MemoryError:
    sys.exit(3)
except RuntimeError as error:
    sys.exit(3 if "memory" in str(error) else 1)
print(len(model.history_))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are told the system's own way")
def test_training_on_more_than_fits_into_memory(tmp_path: Path) -> None:
    """A limit under which colouring in memory fails, and training from disk does not."""
    one = as_graphset(molecules(3000))
    save_stream((one for _ in range(100)), tmp_path / "graphs")
    assert len(open_graphs(tmp_path / "graphs")) == 300_000
    code = tmp_path / "limited.py"
    code.write_text(LIMITED)
    command = [sys.executable, str(code), str(tmp_path / "graphs"), "350"]
    assert subprocess.run(command, capture_output=True).returncode == 3
    small = subprocess.run([*command, str(tmp_path / "scratch")], capture_output=True, text=True)
    assert small.returncode == 0, small.stderr[-2000:]
    assert small.stdout.strip() == "1"
