"""The TU reader against plain loops, PyG, and every way a file can be wrong."""

from __future__ import annotations

import importlib.util
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infograph import GraphSet
from infograph.data.tu import read_tu
from infograph.errors import FileMissing, InvalidFile
from tests.data.equal import assert_equal

REAL = os.environ.get("INFOGRAPH_DATA", "")
needs_real = pytest.mark.skipif(not REAL, reason="INFOGRAPH_DATA is not set to a folder with the TU zips")

# Graph 1: a path 1-2-3 with a self-loop at 3; graph 2: nodes 4 and 5, no edges; graph 3: an arc 6 -> 7.
SMALL = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n3, 3\n6, 7\n",
    "graph_indicator": "1\n1\n1\n2\n2\n3\n3\n",
    "graph_labels": "1\n-1\n10\n",
    "node_labels": "5\n0\n5\n9\n0\n5\n5\n",
    "edge_labels": "0\n0\n2\n2\n1\n3\n",
}


@pytest.fixture
def make(tmp_path) -> Callable[..., Path]:
    """Writes a TU folder `T`: SMALL, with other or without (None) some of its files."""

    def write(**changes: str | None) -> Path:
        folder = tmp_path / "T"
        folder.mkdir(exist_ok=True)
        for part, text in {**SMALL, **changes}.items():
            if text is not None:
                (folder / f"T_{part}.txt").write_text(text, newline="")
        return folder

    return write


def zipped(folder: Path, inside: str) -> Path:
    archive = folder.parent / f"{folder.name}.zip"
    with zipfile.ZipFile(archive, "w") as out:
        for path in folder.iterdir():
            out.write(path, f"{inside}{path.name}")
    return archive


def assert_equals_loop(graphs: GraphSet, read: Callable[[str], str | None]) -> None:
    """By the format's definition and nothing else; `read` gives a file's text by its part."""
    graph_of = [int(line) - 1 for line in (read("graph_indicator") or "").split()]
    nodes: list[list[int]] = [[] for _ in range(max(graph_of) + 1)]
    for node, graph in enumerate(graph_of):
        nodes[graph].append(node)
    labels, rows = (read("node_labels") or "").split(), (read("A") or "").strip().split("\n")
    edge_labels = (read("edge_labels") or "0\n" * len(rows)).split()
    arcs: list[dict[tuple[int, int], str]] = [{} for _ in nodes]
    for row, label in zip(rows, edge_labels, strict=True):
        u, v = (int(cell) - 1 for cell in row.split(","))
        own = nodes[graph_of[u]][0]
        arcs[graph_of[u]].setdefault((u - own, v - own), label)
    for graph, own, members, y in zip(graphs, arcs, nodes, (read("graph_labels") or "").split(), strict=True):
        found = list(zip(*graph.edges.tolist(), strict=True)) if graph.n_edges else []
        assert found == sorted(own, key=lambda arc: (arc[1], arc[0]))
        assert graph.n_nodes == len(members)
        assert str(graph.values("graph", "y")[0]) == y
        if labels:
            assert [str(value) for value in graph.values("node", "label")] == [labels[i] for i in members]
        if "label" in graph.edge:
            assert [str(value) for value in graph.values("edge", "label")] == [own[arc] for arc in found]


def test_small_set(make):
    graphs = read_tu(make())
    assert_equals_loop(graphs, SMALL.get)
    assert graphs.edges.dtype == np.int32 and graphs.ids.tolist() == [0, 1, 2]
    assert graphs.schema.column("graph", "y").categories == (-1, 1, 10)  # as numbers, not as text
    assert [(c.name, c.categories, c.used) for c in graphs.schema.node] == [("label", (0, 5, 9), True)]
    assert [(c.name, c.categories, c.used) for c in graphs.schema.edge] == [("label", (0, 1, 2, 3), False)]


@needs_real
@pytest.mark.parametrize("name", ["MUTAG", "PTC_MR"])
def test_real_sets_equal_loop(name):
    with zipfile.ZipFile(Path(REAL) / f"{name}.zip") as archive:
        members = {member: archive.read(member).decode() for member in archive.namelist()}
    graphs = read_tu(Path(REAL) / f"{name}.zip")
    assert_equals_loop(graphs, lambda part: members.get(f"{name}/{name}_{part}.txt"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # PyG's import uses torch.jit
def test_cuneiform_equals_pyg():
    """Two columns of node labels, attributes on nodes and arcs; PyG reads the same numbers."""
    read_tu_data = pytest.importorskip("torch_geometric.io").read_tu_data
    spec = importlib.util.find_spec("grakel")
    if spec is None:
        pytest.skip("grakel, whose wheel carries this set, is not installed")
    folder = Path(spec.submodule_search_locations[0]) / "tests" / "data" / "Cuneiform"
    graphs = read_tu(folder)
    data, slices, sizes = read_tu_data(str(folder), "Cuneiform")
    assert sizes["num_node_attributes"] == graphs.node["attributes"].shape[1] == 3
    one_hot = [c.encode(graphs.node[c.name]) for c in graphs.schema.node if c.kind == "categorical"]
    np.testing.assert_array_equal(np.hstack([graphs.node["attributes"], *one_hot]), data.x.numpy())
    np.testing.assert_array_equal(graphs.edge_ptr, slices["edge_index"].numpy())
    order = np.lexsort((*graphs.edges[::-1], graphs.edge_graph))  # PyG sorts by source, then target
    np.testing.assert_array_equal(graphs.edges[:, order], data.edge_index.numpy())
    np.testing.assert_array_equal(graphs.edge["attributes"][order], data.edge_attr.numpy()[:, :2])
    np.testing.assert_array_equal(graphs.graph["y"], data.y.numpy())
    assert [column.name for column in graphs.schema.node] == ["label_0", "label_1", "attributes"]
    assert not any(column.used for column in graphs.schema.edge)


@settings(max_examples=40)
@given(st.data())
def test_any_set_equals_loop(tmp_path_factory, data):
    sizes = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=5))
    first = np.concatenate([[1], 1 + np.cumsum(sizes)]).tolist()
    pairs = [(a + u, a + v) for a, n in zip(first, sizes, strict=False) for u in range(n) for v in range(n)]
    arcs = data.draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=30))

    def codes(n: int) -> str:
        drawn = data.draw(st.lists(st.integers(-3, 12), min_size=n, max_size=n))
        return "".join(f"{code}\n" for code in drawn)

    files = {
        "A": "".join(f"{u}, {v}\n" for u, v in arcs),
        "graph_indicator": "".join(f"{g + 1}\n" * n for g, n in enumerate(sizes)),
        "graph_labels": codes(len(sizes)),
        "node_labels": codes(sum(sizes)),
        "edge_labels": codes(len(arcs)),
    }
    folder = tmp_path_factory.mktemp("tu")
    for part, text in files.items():
        (folder / f"X_{part}.txt").write_text(text)
    assert_equals_loop(read_tu(folder), files.get)


def test_nodes_of_a_graph_need_not_stand_together(make):
    mixed = {  # nodes 1 ... 7 are written at the places 6, 2, 7, 1, 3, 4, 5
        "A": "6, 2\n2, 6\n2, 7\n7, 2\n7, 7\n4, 5\n",
        "graph_indicator": "2\n1\n2\n3\n3\n1\n1\n",
        "node_labels": "9\n0\n0\n5\n5\n5\n5\n",
    }
    graphs = read_tu(make(**mixed))  # inside a graph nodes stay in file order: 2, 6, 7 stand for 2, 1, 3
    assert graphs.sizes.tolist() == [3, 2, 2]
    assert graphs[0].edges.tolist() == [[1, 2, 0, 0, 2], [0, 0, 1, 2, 2]]
    assert graphs[0].values("edge", "label").tolist() == [0, 2, 0, 2, 1]
    assert graphs.values("node", "label").tolist() == [0, 5, 5, 9, 0, 5, 5]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text + "\n  \n\n",
        lambda text: text.replace(", ", " ,  "),
        lambda text: "\n" + text.replace("\n", "\n\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", ".0\n"),
    ],
    ids=["crlf", "blank-end", "more-spaces", "blank-lines", "bom", "decimal-point"],
)
def test_spelling_is_tolerated(make, change):
    expected = read_tu(make())
    assert_equal(expected, read_tu(make(**{part: change(text) for part, text in SMALL.items()})))


def test_attributes_and_large_labels(make):
    graphs = read_tu(
        make(
            node_labels=None,
            node_attributes="".join(f"{i}.5, -1e-2\n" for i in range(7)),
            edge_attributes="1\n2\n3\n4\n5\n6\n",
            graph_attributes="0.5,1\nnan,2\n1.5,3\n",
            graph_labels="12345678901\n-7\n0\n",
        )
    )
    assert graphs.node["attributes"].dtype == np.float32
    np.testing.assert_allclose(graphs.node["attributes"][3], [3.5, -0.01])
    assert graphs.edge["attributes"].tolist() == [2, 1, 4, 3, 5, 6]
    shapes = [(c.kind, c.width, c.used) for c in (*graphs.schema.node, *graphs.schema.edge[1:])]
    assert shapes == [("float", 2, True), ("float", 1, False)]
    np.testing.assert_array_equal(graphs.graph["attributes_0"], np.array([0.5, np.nan, 1.5], np.float32))
    assert graphs.graph["attributes_1"].tolist() == [1, 2, 3]
    assert graphs.values("graph", "y").tolist() == [12345678901, -7, 0]


def test_layouts(make, tmp_path):
    folder = make()
    expected = read_tu(folder)
    for inside in ("T/", "", "deep/er/"):
        assert_equal(expected, read_tu(zipped(folder, inside)))
    for nested in ("once", "twice/raw"):
        shutil.copytree(folder, tmp_path / nested / "T")
        assert_equal(expected, read_tu(tmp_path / nested.split("/")[0]))
        assert_equal(expected, read_tu(str(tmp_path / nested), "t"))
    for path in list(folder.glob("T_*")):  # several sets in one folder
        shutil.copy(path, folder / path.name.replace("T_", "U_", 1))
        shutil.copy(path, folder / f"._{path.name}")
    (folder / "U_graph_labels.txt").write_text("7\n7\n7\n")
    assert read_tu(folder, "U").graph["y"].tolist() == [0, 0, 0]
    assert read_tu(folder).graph["y"].tolist() == [1, 0, 2]  # T, as the folder is called
    with pytest.raises(InvalidFile, match=r"holds the TU data sets T, U, not 'V': pass name="):
        read_tu(folder, "V")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"A": ""}, r"T_A\.txt is empty"),
        ({"A": "1, 2\n2, x\n"}, r"A\.txt: .*Row #2: .*' ?x'.*fresh copy"),
        ({"A": "1, 2\n\n2\n"}, r"T_A\.txt: .*Expected 2 columns, got 1"),
        ({"A": "1, 2\n2, 1.5\n"}, r"T_A\.txt, line 2: 1\.5 is no whole number"),
        ({"A": "1\n2\n"}, r"T_A\.txt has 1 columns, expected 2"),
        ({"A": "1, 2\n\n2, 8\n"}, r"line 3: an edge to node 8, but the graph indicator has 7 nodes"),
        ({"A": "1, 99999999999\n"}, r"T_A\.txt, line 1: an edge to node 99999999999"),
        ({"A": "1, 2\n3, 4\n"}, "line 2: an edge between node 3 of graph 1 and node 4 of graph 2"),
        ({"graph_indicator": "1\n1\n1\n0\n2\n3\n3\n"}, r"indicator\.txt, line 4: graph 0, but .* from 1"),
        ({"graph_indicator": "1\n1\n1\n2\n2\n4\n4\n"}, r"indicator\.txt: not all of 4 graphs have nodes"),
        ({"graph_indicator": "1\n1\n1\n2\n2\n3\n900\n"}, r"indicator\.txt: not all of 900 graphs"),
        ({"node_labels": "5\n0\n5\n9\n"}, r"node_labels\.txt has 4 rows, but .*indicator\.txt has 7 nodes"),
        ({"graph_labels": "1e300\n1\n2\n"}, "line 1: 1e.300 is no whole number"),
        ({"edge_labels": "1\n"}, r"T_edge_labels\.txt has 1 rows, but .*T_A\.txt has 6 arcs"),
        ({"node_attributes": "1\n2\nnan\n4\n5\n6\n7\n"}, r"attributes\.txt, line 3: nan is no finite"),
        ({"graph_attributes": "1\n1e60\n3\n"}, r"graph_attributes\.txt, line 2: inf is no finite number"),
    ],
)
def test_damaged_files_are_named(make, changes, message):
    folder = make(**changes)
    for path in (folder, zipped(folder, "T/")):
        with pytest.raises(InvalidFile, match=message):
            read_tu(path)


def test_damaged_zips_and_missing_files(make, tmp_path):
    archive = zipped(make(), "T/")
    content = archive.read_bytes()
    for damaged, message in (
        (content[: len(content) // 2], r"T\.zip is no zip file .*get a fresh copy"),
        (content.replace(b"6, 7", b"6, 6"), r"T_A\.txt cannot be unpacked \(Bad CRC"),  # stored uncompressed
    ):
        archive.write_bytes(damaged)
        with pytest.raises(InvalidFile, match=message):
            read_tu(archive)
    (tmp_path / "T" / "T_graph_indicator.txt").unlink()
    for path, error, message in (
        (tmp_path / "nowhere", FileMissing, "nowhere: no such file or folder"),
        (tmp_path / "T", FileMissing, r"T_graph_indicator\.txt is missing"),
        (Path(__file__).parent, InvalidFile, "is no TU data set"),
    ):
        with pytest.raises(error, match=message):
            read_tu(path)
