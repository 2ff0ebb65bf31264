"""GraphSet: views, selections, joins, the folder on disk, a model's schema, checksums."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infograph import GraphSet, as_graphset, concatenate, open_graphs, save_graphs
from infograph.data.graphset import fingerprint
from infograph.data.joining import align
from infograph.data.records import Record, assemble, store_graph_column
from infograph.data.schema import LEVELS, Column, Schema
from infograph.errors import (
    FileMissing,
    InvalidFile,
    InvalidParameter,
    SchemaMismatch,
    UnknownCategoryWarning,
)
from tests.data.equal import assert_equal


def rows_of(graphs: GraphSet, chosen: list[int]) -> list[list[Any]]:
    """The slow oracle of selection: everything about each graph, one after the other."""
    found = []
    for g in chosen:
        (a, b), (c, d) = graphs.node_ptr[g : g + 2], graphs.edge_ptr[g : g + 2]
        spans = {"node": slice(a, b), "edge": slice(c, d), "graph": slice(g, g + 1)}
        columns = [v[spans[level]].tolist() for level in LEVELS for v in getattr(graphs, level).values()]
        found.append([graphs.ids[g], b - a, graphs.edges[:, c:d].tolist(), *columns])
    return found


@st.composite
def random_sets(draw: st.DrawFn) -> GraphSet:
    records = []
    for _ in range(draw(st.integers(1, 6))):
        n = draw(st.integers(1, 6))
        arcs = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=8))
        records.append(
            Record(
                n,
                np.array(arcs, np.int64).reshape(-1, 2).T,
                node={"kind": np.arange(n) % 3, "x": np.arange(2.0 * n).reshape(n, 2)},
                edge={"w": np.arange(float(len(arcs)))},
                graph={"y": float(n)},
            )
        )
    return assemble(records)


@given(random_sets(), st.data())
def test_selection_equals_a_loop(graphs, data):
    every = list(range(len(graphs)))
    chosen = data.draw(st.lists(st.sampled_from(every), max_size=8))
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(graphs))] * 2)))
    for selection, places in (
        (chosen, chosen),
        (slice(start, stop), every[start:stop]),
        (slice(None, None, -1), every[::-1]),
    ):
        found = graphs[selection]
        assert rows_of(found, list(range(len(found)))) == rows_of(graphs, places)
    assert_equal(concatenate(list(graphs)), graphs)


def test_a_slice_is_a_view(corner_cases):
    part = corner_cases[2:7]
    assert np.shares_memory(part.edges, corner_cases.edges)
    assert np.shares_memory(part.node["label"], corner_cases.node["label"])


def test_masks_negative_and_numpy_indices(corner_cases):
    assert corner_cases[-1].ids.tolist() == ["ring"] and corner_cases[np.int64(1)].n_nodes == 1
    large = corner_cases[corner_cases.sizes > 100]
    assert large.ids.tolist() == ["huge hub"] and large.n_edges == 600
    assert len(corner_cases[3:3]) == len(corner_cases[[]]) == 0
    with pytest.raises(IndexError, match="graph 10 of a set of 10"):
        corner_cases[10]
    for ends in corner_cases.edge_index:
        assert (corner_cases.node_graph[ends] == corner_cases.edge_graph).all()
    assert "10 graphs, 334 nodes" in repr(corner_cases)


def test_edge_policy(corner_cases):
    arcs = {part.ids[0]: sorted(map(tuple, part.edges.T.tolist())) for part in corner_cases}
    assert arcs["self-loops"] == [(0, 0), (0, 1), (1, 0), (1, 2), (2, 1), (2, 2)]
    assert arcs["repeated edges"].count((0, 1)) == arcs["repeated edges"].count((1, 0)) == 3
    assert arcs["repeated edges"].count((2, 2)) == 2
    assert arcs["directed"] == [(0, 1), (1, 2), (2, 0), (2, 3)]
    both = corner_cases.undirected()
    assert sorted(map(tuple, both[7].edges.T.tolist())) == sorted(
        [*arcs["directed"], *((v, u) for u, v in arcs["directed"])]
    )
    others = [i for i in range(len(both)) if both.ids[i] != "directed"]
    assert_equal(both[others], corner_cases[others])
    bond = both[7].values("edge", "bond")
    assert all(bond[i] == ("single", "double")[sum(arc) % 2] for i, arc in enumerate(both[7].edges.T))


def test_save_and_open_is_bit_equal_and_mapped(corner_cases, tmp_path):
    full = corner_cases.with_column("graph", Column("name", "text"), corner_cases.ids)
    full = full.with_column("node", Column("x", "float", width=2, unit="m"), np.ones((334, 2), np.float32))
    opened = open_graphs(save_graphs(full, tmp_path / "set"))
    assert_equal(opened, full)
    assert_equal(open_graphs(save_graphs(full[:2], tmp_path / "set")), full[:2])  # no edges
    assert isinstance(opened.edges, np.memmap) and isinstance(opened[2:4].node["label"], np.memmap)
    assert_equal(open_graphs(save_graphs(opened[::2], tmp_path / "set")), full[::2])  # over itself
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


@pytest.fixture
def saved(corner_cases: GraphSet, tmp_path: Path) -> Iterator[Path]:
    return save_graphs(corner_cases, tmp_path / "set")


def test_damaged_folders(saved, tmp_path):
    edges = saved / "edges.npy"
    content = edges.read_bytes()
    edges.write_bytes(content[: len(content) // 2])
    with pytest.raises(InvalidFile, match=r"edges\.npy is damaged .* save the GraphSet again"):
        open_graphs(saved)
    np.save(edges, np.zeros((2, 3)))
    with pytest.raises(InvalidFile, match=r"edges\.npy is damaged: shape \[2, 3\], expected \[2, 649\]"):
        open_graphs(saved)
    edges.unlink()
    for folder in (saved, tmp_path / "nowhere"):
        with pytest.raises(FileMissing, match="is missing"):
            open_graphs(folder)


def changed(folder: Path, name: str, place: tuple[int, ...], value: int) -> None:
    values = np.load(folder / f"{name}.npy")
    values[place] = value
    np.save(folder / f"{name}.npy", values)


CHANGES = [
    ("node_ptr", (1,), 10**6, r"node_ptr\.npy is damaged: expected numbers from 0 that grow"),
    ("edge_ptr", (0,), 1, r"edge_ptr\.npy is damaged: expected numbers from 0 that grow"),
    ("edges", (1, 400), 99_999, r"edges\.npy is damaged: graph \d+ has \d+ nodes and an arc to another"),
    ("edges", (0, 648), -1, r"edges\.npy is damaged: graph \d+ has \d+ nodes and an arc to another"),
    ("node_0", (7,), 99, r"node_0\.npy is damaged: a code of no category of 'label'"),
    ("edge_0", (7,), -1, r"edge_0\.npy is damaged: a code of no category of"),
]


@pytest.mark.parametrize(("name", "place", "value", "words"), CHANGES)
@pytest.mark.parametrize("block", [10, 1_000_000])
def test_changed_arrays(saved, monkeypatch, name, place, value, words, block):
    monkeypatch.setattr("infograph.data.graphset.ROWS", block)
    changed(saved, name, place, value)
    with pytest.raises(InvalidFile, match=rf"{name}\.npy was changed: its checksum is another; save the Gr"):
        open_graphs(saved)
    marker = json.loads((saved / "schema.json").read_text())
    del marker["sha256"]  # as older folders are
    (saved / "schema.json").write_text(json.dumps(marker))
    with pytest.raises(InvalidFile, match=words):
        open_graphs(saved)


def test_an_arc_to_another_node_of_its_graph(saved, monkeypatch):
    changed(saved, "edges", (0, 648), 1)
    with pytest.raises(InvalidFile, match=r"edges\.npy was changed"):
        open_graphs(saved)
    monkeypatch.setattr("infograph.io.CHECKED", 100)
    open_graphs(saved)  # large arrays are only checked for their ranges


FORMAT = '{"format": "infograph-graphset-1", "arrays": {}'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "holds no JSON"),
        ('{"format": ' + "[" * 100_000, "holds no JSON"),
        ("[]", "expected a JSON object, it holds a list"),
        ('{"format": "other"}', "not a saved GraphSet"),
        (FORMAT + "}", "'schema' is missing"),
        (FORMAT + ', "schema": {"node": 3}}', "not a schema"),
        (FORMAT + ', "schema": {"node":[],"edge":[],"graph":[]}}', "'node_ptr'"),
    ],
)
def test_damaged_schema(saved, content, message):
    (saved / "schema.json").write_text(content)
    with pytest.raises(InvalidFile, match=message):
        open_graphs(saved)


@pytest.mark.parametrize(("rename", "done"), [(1, False), (1, True), (2, False), (2, True)])
def test_a_save_that_is_stopped_between_renames_loses_nothing(saved, corner_cases, monkeypatch, rename, done):
    """Stopped in place of a rename, or right after it."""
    renames, replace = 0, Path.replace

    def stopping(path: Path, target: Path) -> Path:
        nonlocal renames
        renames += 1
        if renames != rename or done:
            path = replace(path, target)
        if renames == rename:
            raise KeyboardInterrupt
        return path

    monkeypatch.setattr(Path, "replace", stopping)
    monkeypatch.setattr("infograph.io._exchange", lambda *paths: False)  # as on systems without it
    with pytest.raises(KeyboardInterrupt):
        save_graphs(corner_cases[:1], saved)
    monkeypatch.undo()
    assert_equal(open_graphs(saved), corner_cases[:1] if (rename, done) == (2, True) else corner_cases)
    assert [path.name for path in saved.parent.iterdir()] == ["set"]


def test_concatenate_joins_categories_and_fills_what_others_lack():
    def one(*kinds, x=None, **others):
        node = {"kind": np.array(kinds, object), **({} if x is None else {"x": x})}
        return assemble([Record(len(kinds), np.zeros((2, 0), int), node=node, **others)])

    both = concatenate([one("b", "a"), one("c", None, graph_id="x")])
    assert both.values("node", "kind").tolist() == ["b", "a", "c", None] and both.ids.tolist() == ["0", "x"]
    first = one("a", x=np.zeros((1, 2)), graph={"y": 1.5})
    first = first.with_column("graph", Column("name", "text"), np.array(["one"]))
    both = concatenate([first, one("b", "a", graph={"z": 2.0}), first], fill=True)
    assert both.values("node", "kind").tolist() == ["a", "b", "a", "a"]
    np.testing.assert_array_equal(both.node["x"][1:3], np.full((2, 2), np.nan, np.float32))
    np.testing.assert_array_equal(both.graph["y"], [1.5, np.nan, 1.5])
    assert both.graph["name"].tolist() == ["one", "", "one"] and set(both.graph) == {"y", "name"}
    bare = as_graphset([(np.zeros((2, 0)), 2)])
    assert concatenate([first, bare], fill=True).values("node", "kind").tolist() == ["a", None, None]
    with pytest.raises(SchemaMismatch, match="'x' holds 1 float value"):
        concatenate([first, one("a", x=np.zeros(1))], fill=True)


def labelled(labels: list[str | None], unit: str = "") -> GraphSet:
    values, column = store_graph_column("y", labels, Column("y", "categorical"))
    made = as_graphset([(np.zeros((2, 0)), 1)] * len(labels)).with_column("graph", column, values)
    return made.with_column("graph", Column("E", "float", unit=unit), np.zeros(len(labels)))


def test_joined_sets_keep_gaps_places_and_units():
    both = concatenate([labelled(["a", "b", None]), labelled(["a", None])])
    np.testing.assert_array_equal(both.graph["y"], [0, 1, np.nan, 0, np.nan])  # in both codings of a gap
    part = as_graphset(["CC", "C(", "CO"], errors="skip")
    assert [each.index for each in concatenate([part, part[:1], part]).rejected] == [1, 5]
    joined = concatenate([labelled(["a"], unit="eV"), labelled(["a"])])
    assert joined.schema.graph[-1].unit == "eV"
    with pytest.raises(SchemaMismatch, match="the graph column 'E' is in hartree, expected eV"):
        concatenate([joined, labelled(["a"], unit="hartree")])


def test_only_a_saved_set_is_replaced(tmp_path, corner_cases):
    (tmp_path / "mine").mkdir()
    precious = tmp_path / "mine" / "precious.txt"
    precious.write_text("keep me")
    for folder, message in ((tmp_path / "mine", "holds other files"), (precious, "is a file")):
        with pytest.raises(InvalidParameter, match=message):
            save_graphs(corner_cases, folder)
    assert precious.read_text() == "keep me"
    save_graphs(corner_cases, tmp_path / "set")
    (tmp_path / "link").symlink_to("set")
    save_graphs(corner_cases[:2], tmp_path / "link")  # behind a link, the folder itself is replaced
    assert (tmp_path / "link").is_symlink() and len(open_graphs(tmp_path / "set")) == 2


def chain(*kinds: str, **others: list[float]) -> nx.Graph:
    graph = nx.path_graph(len(kinds))
    nx.set_node_attributes(graph, dict(enumerate(kinds)), "kind")
    for name, values in others.items():
        nx.set_node_attributes(graph, dict(enumerate(values)), name)
    return graph


def test_unknown_categories_are_counted_in_one_warning():
    model = as_graphset([chain("a", "b")], node="kind", edge={}).schema
    other = as_graphset([chain("z", "a", "z"), chain("y", "b")], node="kind")
    with pytest.warns(UnknownCategoryWarning, match=r"'kind': 'y' \(1x\), 'z' \(2x\)") as caught:
        graphs = align(other, model)
    assert len(caught) == 1 and graphs.node["kind"].tolist() == [2, 0, 2, 2, 1]
    assert graphs.values("node", "kind").tolist() == [None, "a", None, None, "b"]
    assert align(graphs, model) is graphs
    with pytest.warns(UnknownCategoryWarning, match=r"'b00' \(1x\).*and 12 more$"):
        as_graphset([chain(*(f"b{i:02}" for i in range(20)))], schema=model)


def test_other_columns_are_named(corner_cases):
    wide, narrow = ([(np.zeros((2, 0)), np.zeros((2, width)))] for width in (3, 2))
    texts, element = [(np.zeros((2, 0)), ["a"])], Column("element", "categorical", categories=("C",))
    bare = replace(corner_cases, edge={}, schema=replace(corner_cases.schema, edge=()))
    assert align(bare, corner_cases.schema).edge == {}  # no encoder misses it
    for graphs, model, message in (
        (corner_cases, Schema(node=(element,)), "'element' is missing; these graphs have: 'label'"),
        (bare, corner_cases.schema.select("edge", ["bond"]), "'bond' is missing; these graphs have: none"),
        (wide, as_graphset(narrow).schema, r"'x' holds 3 float value\(s\) each, expected 2 float"),
        (wide, as_graphset(texts).schema, r"'x' holds 3 float value\(s\) each, expected categories"),
    ):
        with pytest.raises(SchemaMismatch, match=message):
            as_graphset(graphs, schema=model)


def test_columns_the_schema_lacks_are_left_out_or_stay_unseen():
    model = as_graphset([chain("a")], node="kind").schema
    graphs = as_graphset([chain("a", "a", size=[1.5, 2.5])], node=["size", "kind"])
    graphs = graphs.with_column("graph", Column("y", "float"), np.array([3.0]))
    aligned = align(graphs, model)
    assert list(aligned.node) == ["kind"] and aligned.graph["y"].tolist() == [3.0]
    kept = as_graphset(graphs, schema=model, keep=True)
    assert kept.node["size"].tolist() == [1.5, 2.5] and kept.node["kind"].tolist() == [0, 0]
    assert kept.schema.features("node") == model.features("node")
    assert kept.schema.column("node", "size") == replace(graphs.schema.node[0], used=False)


def test_checksums_of_molecules_with_coordinates_last():
    """As enn-s2s has them: element, a scaled number, and coordinates."""
    record = Record(
        2,
        np.array([[0, 1], [1, 0]]),
        node={"element": np.array(["C", "O"], object), "z": np.array([6.0, 8.0]), "position": np.eye(2, 3)},
    )
    known = Schema(
        node=(
            Column("element", "categorical"),
            Column("z", "float", mean=(7.0,), scale=(1.0,)),
            Column("position", "float", width=3, role="position"),
        )
    )
    assert fingerprint(assemble([record], columns=known)) == "d85b9137b5ffc685"


def test_kinds_and_roles_that_are_not_as_usual():
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, [0.0, 0.0, 0.0], "pos")
    nx.set_edge_attributes(graph, 0.5, "w")
    placed = as_graphset([graph], node={"pos": "float"}, edge=[])
    position = placed.schema.node[0]
    assert position.role == "position"
    feature, scaled = replace(position, role="feature"), replace(position, role="feature", scale=(2.0,))
    columns = [position, feature, scaled, Column("pos", "categorical")]
    sets = [replace(placed, schema=placed.schema.replace("node", [column])) for column in columns]
    sets += [as_graphset([graph], edge="w"), as_graphset([graph], weight="w")]
    checksums = [fingerprint(graphs) for graphs in sets]
    assert len(set(checksums)) == 5 and checksums[1] == checksums[2]  # scales follow from the graphs
