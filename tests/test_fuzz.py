"""A slice of fuzzing: whatever bytes a reader gets, it gives graphs or one of the package's own errors."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infograph import InfoGraph, load, load_dataset, open_graphs, read_graphs, save_graphs
from infograph.errors import InfoGraphError

FEW = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
PIECES = st.one_of(st.binary(max_size=6), st.sampled_from([b"\r", b"\0", b"\xff", b",", b"[", b"9" * 40]))
CHANGES = st.lists(st.tuples(st.floats(0, 1), PIECES), min_size=1, max_size=6)


def samples(folder: Path) -> dict[str, bytes]:
    """A small file of every kind."""
    graph = nx.path_graph(4)
    nx.set_node_attributes(graph, {0: "C", 1: "N", 2: "O", 3: "C"}, "atom")
    for ending in ("graphml", "gexf", "gml"):
        getattr(nx, f"write_{ending}")(graph, folder / f"a.{ending}")
    nx.write_pajek(graph, folder / "a.net")
    nx.write_graph6(graph, folder / "a.g6")
    found = {path.suffix: path.read_bytes() for path in folder.iterdir()}
    return {
        **found,
        ".csv": b"name,smiles,y\na,CCO,1.5\nb,c1ccccc1,2\nc,CC(=O)O,\n",
        ".smi": b"CCO a\nCCN b\n",
        ".jsonl": b'{"nodes": 3, "edges": [[0, 1], [1, 2]], "label": "x"}\n{"nodes": [{"id": "a"}]}\n',
        ".edgelist": b"0 1 2.5\n1 2 {'w': 3}\n# end\n",
    }


def changed(content: bytes, changes: list[tuple[float, bytes]]) -> bytes:
    for place, piece in changes:
        at = int(place * len(content))
        content = content[:at] + piece + content[at + len(piece) // 2 + 1 :]
    return content


ENDINGS = [".csv", ".smi", ".jsonl", ".edgelist", ".graphml", ".gexf", ".gml", ".net", ".g6"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_mangled_files_are_graphs_or_one_sentence(ending, tmp_path):
    whole = samples(tmp_path)[ending]
    file = tmp_path / f"mangled{ending}"

    @FEW
    @given(CHANGES)
    def attempt(changes):
        file.write_bytes(changed(whole, changes))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                assert len(read_graphs(file, errors="skip")) > 0
            except InfoGraphError as error:
                assert str(error)

    attempt()


@pytest.mark.parametrize("kind", ["model", "graphs"])
def test_mangled_folders_are_refused_or_read(kind, tmp_path):
    graphs = load_dataset("MUTAG")[:6]
    saved, copy = tmp_path / "saved", tmp_path / "copy"
    InfoGraph(dim=4, epochs=0).fit(graphs).save(saved) if kind == "model" else save_graphs(graphs, saved)
    files = sorted(path.name for path in saved.iterdir() if path.name != "README.md")

    @FEW
    @given(st.sampled_from(files), CHANGES)
    def attempt(name, changes):
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(saved, copy)
        (copy / name).write_bytes(changed((copy / name).read_bytes(), changes))
        try:
            vectors = load(copy).transform(graphs) if kind == "model" else open_graphs(copy).sizes
            assert np.isfinite(vectors).all()
        except InfoGraphError as error:
            assert str(error)

    attempt()
