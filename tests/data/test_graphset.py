"""GraphSet: views, selections, joins, and the folder on disk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infograph.data.convert import Record, assemble
from infograph.data.graphset import GraphSet, concatenate, open_graphs, ranges, save_graphs
from infograph.data.schema import LEVELS, Column, Schema
from infograph.errors import FileMissing, InvalidFile, InvalidGraph, InvalidParameter, SchemaMismatch


def assert_equal(left: GraphSet, right: GraphSet) -> None:
    """Every array the same to the last bit, and the same schema."""
    assert left.schema == right.schema
    for name in ("node_ptr", "edge_ptr", "edges", "ids"):
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name))
    for level in LEVELS:
        assert list(getattr(left, level)) == list(getattr(right, level))
        for name, values in getattr(left, level).items():
            other = getattr(right, level)[name]
            assert values.dtype == other.dtype
            np.testing.assert_array_equal(values, other)


def loop(graphs: GraphSet, chosen: list[int]) -> GraphSet:
    """The slow oracle of selection: one graph after the other, joined by hand."""
    columns = {level: {name: [] for name in getattr(graphs, level)} for level in LEVELS}
    nodes, arcs, ids, edges = [0], [0], [], []
    for g in chosen:
        a, b, c, d = *graphs.node_ptr[g : g + 2], *graphs.edge_ptr[g : g + 2]
        nodes.append(nodes[-1] + b - a)
        arcs.append(arcs[-1] + d - c)
        ids.append(graphs.ids[g])
        edges.extend(graphs.edges.T[c:d].tolist())
        for level, (start, stop) in zip(LEVELS, ((a, b), (c, d), (g, g + 1)), strict=True):
            for name, values in getattr(graphs, level).items():
                columns[level][name].extend(values[start:stop].tolist())
    arrays = {
        level: {
            name: np.array(columns[level][name], values.dtype).reshape(-1, *values.shape[1:])
            for name, values in getattr(graphs, level).items()
        }
        for level in LEVELS
    }
    return GraphSet(
        np.array(nodes),
        np.array(arcs),
        np.array(edges, np.int32).reshape(-1, 2).T,
        ids=np.array(ids, graphs.ids.dtype),
        schema=graphs.schema,
        **arrays,
    )


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
def test_selection_equals_a_loop(graphs: GraphSet, data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(graphs) - 1), max_size=8))
    assert_equal(graphs[chosen], loop(graphs, chosen))
    start, stop = sorted(data.draw(st.tuples(*[st.integers(0, len(graphs))] * 2)))
    assert_equal(graphs[start:stop], loop(graphs, list(range(start, stop))))
    assert_equal(graphs[::-1], loop(graphs, list(range(len(graphs)))[::-1]))


@given(random_sets())
def test_concatenating_the_parts_gives_the_whole(graphs: GraphSet) -> None:
    assert_equal(concatenate(list(graphs)), graphs)


def test_a_slice_is_a_view(corner_cases: GraphSet) -> None:
    part = corner_cases[2:7]
    assert np.shares_memory(part.edges, corner_cases.edges)
    assert np.shares_memory(part.node["label"], corner_cases.node["label"])
    assert np.shares_memory(part.edge["bond"], corner_cases.edge["bond"])
    assert part.ids.tolist() == corner_cases.ids[2:7].tolist()


def test_masks_negative_and_numpy_indices(corner_cases: GraphSet) -> None:
    assert corner_cases[-1].ids.tolist() == ["ring"]
    assert corner_cases[np.int64(1)].n_nodes == 1
    large = corner_cases[corner_cases.sizes > 100]
    assert large.ids.tolist() == ["huge hub"] and large.n_edges == 600
    assert len(corner_cases[3:3]) == len(corner_cases[[]]) == 0
    with pytest.raises(IndexError, match="graph 10 of a set of 10"):
        corner_cases[10]


def test_iteration_and_numbering(corner_cases: GraphSet) -> None:
    parts = list(corner_cases)
    assert [part.n_nodes for part in parts] == corner_cases.sizes.tolist() == [4, 1, 5, 3, 1, 3, 301, 4, 6, 6]
    source, target = corner_cases.edge_index
    assert (corner_cases.node_graph[source] == corner_cases.edge_graph).all()
    assert (corner_cases.node_graph[target] == corner_cases.edge_graph).all()
    assert "10 graphs, 334 nodes" in repr(corner_cases)


def test_edge_policy(corner_cases: GraphSet) -> None:
    arcs = {part.ids[0]: sorted(map(tuple, part.edges.T.tolist())) for part in corner_cases}
    assert arcs["self-loops"] == [(0, 0), (0, 1), (1, 0), (1, 2), (2, 1), (2, 2)]
    assert arcs["repeated edges"].count((0, 1)) == arcs["repeated edges"].count((1, 0)) == 3
    assert arcs["repeated edges"].count((2, 2)) == 2
    assert arcs["directed"] == [(0, 1), (1, 2), (2, 0), (2, 3)]


def test_undirected_adds_what_is_missing(corner_cases: GraphSet) -> None:
    both = corner_cases.undirected()
    arcs = {part.ids[0]: sorted(map(tuple, part.edges.T.tolist())) for part in both}
    assert arcs["directed"] == sorted([(0, 1), (1, 0), (1, 2), (2, 1), (2, 0), (0, 2), (2, 3), (3, 2)])
    others = [i for i in range(len(both)) if both.ids[i] != "directed"]
    assert_equal(both[others], corner_cases[others])
    bond = both[7].values("edge", "bond")
    assert all(bond[i] == ("single", "double")[sum(arc) % 2] for i, arc in enumerate(both[7].edges.T))


def test_ranges_is_a_gather_of_rows() -> None:
    rows, starts = ranges(np.array([0, 2, 2, 5]), np.array([2, 0, 1, 2]))
    assert rows.tolist() == [2, 3, 4, 0, 1, 2, 3, 4] and starts.tolist() == [0, 3, 5, 5, 8]


def test_values_and_with_column(corner_cases: GraphSet) -> None:
    assert corner_cases.values("node", "label")[:4].tolist() == ["a", "b", "c", "a"]
    more = corner_cases.with_column("graph", Column("y", "float"), np.arange(10.0))
    assert more[3:5].graph["y"].tolist() == [3.0, 4.0] and "y" not in corner_cases.graph
    with pytest.raises(KeyError):
        corner_cases.values("node", "nothing")


def test_save_and_open_is_bit_equal_and_mapped(corner_cases: GraphSet, tmp_path: Path) -> None:
    full = corner_cases.with_column("graph", Column("name", "text"), corner_cases.ids)
    full = full.with_column("node", Column("x", "float", width=2, unit="m"), np.ones((334, 2), np.float32))
    opened = open_graphs(save_graphs(full, tmp_path / "set"))
    assert_equal(opened, full)
    assert isinstance(opened.edges, np.memmap) and isinstance(opened[2:4].node["label"], np.memmap)
    assert_equal(open_graphs(save_graphs(opened[::2], tmp_path / "set")), full[::2])  # over itself
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


def test_an_edgeless_set_can_be_saved(corner_cases: GraphSet, tmp_path: Path) -> None:
    assert_equal(open_graphs(save_graphs(corner_cases[:2], tmp_path / "set")), corner_cases[:2])


def test_options_of_the_reader_survive(corner_cases: GraphSet, tmp_path: Path) -> None:
    schema = Schema(corner_cases.schema.node, corner_cases.schema.edge, options=(("hydrogens", True),))
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
    assert schema.option("hydrogens") is True and schema.option("stereo") is None


@pytest.fixture
def saved(corner_cases: GraphSet, tmp_path: Path) -> Iterator[Path]:
    return save_graphs(corner_cases, tmp_path / "set")


def test_damaged_folders(saved: Path) -> None:
    edges = saved / "edges.npy"
    content = edges.read_bytes()
    edges.write_bytes(content[: len(content) // 2])
    with pytest.raises(InvalidFile, match=r"edges\.npy is damaged .* save the GraphSet again"):
        open_graphs(saved)
    np.save(edges, np.zeros((2, 3)))
    with pytest.raises(InvalidFile, match=r"edges\.npy is damaged: shape \[2, 3\], expected \[2, 649\]"):
        open_graphs(saved)
    edges.unlink()
    with pytest.raises(FileMissing, match=r"edges\.npy is missing"):
        open_graphs(saved)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "holds no JSON"),
        ("[]", "expected a JSON object, it holds a list"),
        ('{"format": "other"}', "not a saved GraphSet"),
        ('{"format": "infograph-graphset-1", "arrays": {}}', "'schema' is missing"),
        ('{"format": "infograph-graphset-1", "schema": {"node": 3}, "arrays": {}}', "not a schema"),
        (
            '{"format": "infograph-graphset-1", "schema": {"node":[],"edge":[],"graph":[]}, "arrays": {}}',
            "'node_ptr'",
        ),
    ],
)
def test_damaged_schema(saved: Path, content: str, message: str) -> None:
    (saved / "schema.json").write_text(content)
    with pytest.raises(InvalidFile, match=message):
        open_graphs(saved)


def test_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(FileMissing, match=r"schema\.json is missing"):
        open_graphs(tmp_path / "nowhere")


def test_a_failed_save_keeps_the_old_folder(
    saved: Path, corner_cases: GraphSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(np, "save", full_disk)
    with pytest.raises(OSError, match="no space left"):
        save_graphs(corner_cases[:1], saved)
    monkeypatch.undo()
    assert_equal(open_graphs(saved), corner_cases)
    assert [path.name for path in saved.parent.iterdir()] == ["set"]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError])
@pytest.mark.parametrize("rename", [1, 2])
@pytest.mark.parametrize("done", [False, True])
def test_a_save_that_is_stopped_between_renames_loses_nothing(
    saved: Path,
    corner_cases: GraphSet,
    monkeypatch: pytest.MonkeyPatch,
    stop: type[BaseException],
    rename: int,
    done: bool,
) -> None:
    """Stopped in place of a rename, or right after it."""
    renames, replace = 0, Path.replace

    def stopping(path: Path, target: Path) -> Path:
        nonlocal renames
        renames += 1
        if renames != rename or done:
            path = replace(path, target)
        if renames == rename:
            raise stop
        return path

    monkeypatch.setattr(Path, "replace", stopping)
    with pytest.raises(stop):
        save_graphs(corner_cases[:1], saved)
    monkeypatch.undo()
    assert_equal(open_graphs(saved), corner_cases[:1] if (rename, done) == (2, True) else corner_cases)
    assert [path.name for path in saved.parent.iterdir()] == ["set"]


def test_the_old_folder_is_kept_where_it_cannot_be_put_back(
    saved: Path, corner_cases: GraphSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    renames, replace = 0, Path.replace

    def stopping(path: Path, target: Path) -> Path:
        nonlocal renames
        renames += 1
        if renames > 1:
            raise KeyboardInterrupt
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", stopping)
    with pytest.raises(KeyboardInterrupt):
        save_graphs(corner_cases[:1], saved)
    monkeypatch.undo()
    (kept,) = saved.parent.glob(".set-old-*/old")
    assert_equal(open_graphs(kept), corner_cases)


def test_concatenate_joins_categories() -> None:
    one = assemble([Record(2, np.zeros((2, 0), int), node={"kind": np.array(["b", "a"], object)})])
    two = assemble(
        [Record(2, np.zeros((2, 0), int), node={"kind": np.array(["c", None], object)}, graph_id="x")]
    )
    both = concatenate([one, two])
    assert both.values("node", "kind").tolist() == ["b", "a", "c", None]
    assert both.ids.tolist() == ["0", "x"]


def test_concatenate_refuses(corner_cases: GraphSet) -> None:
    other = assemble([Record(2, np.zeros((2, 0), int), node={"kind": np.array([1, 2])})])
    with pytest.raises(SchemaMismatch, match=r"set 1 has the node columns \['kind'\], set 0 has \['label'\]"):
        concatenate([corner_cases, other])
    with pytest.raises(InvalidParameter, match="nothing to concatenate"):
        concatenate([])


NO_EDGES = np.zeros((2, 0), np.int64)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (Record(0, NO_EDGES, node={"x": np.zeros((0, 2))}), "graph 1: it has no nodes"),
        (
            Record(2, np.array([[0], [2]]), node={"x": np.zeros((2, 2))}),
            "an edge leads to node 2, but the nodes are 0",
        ),
        (Record(2, np.array([[0], [-1]]), node={"x": np.zeros((2, 2))}), "an edge leads to node -1"),
        (Record(2, np.zeros((3, 1), int), node={"x": np.zeros((2, 2))}), r"edges of shape \(3, 1\)"),
        (
            Record(2, NO_EDGES, node={"x": np.zeros((2, 3))}),
            "'x': 3 numbers each, while the first graph has 2",
        ),
        (Record(2, NO_EDGES, node={"x": np.zeros((3, 2))}), "'x': 3 rows for 2 nodes"),
        (Record(2, NO_EDGES, node={"x": np.array([[0, 0], [0, np.nan]])}), "not a finite number in row 1"),
        (Record(2, NO_EDGES, node={"x": np.array([[0, np.inf], [0, 0]])}), "not a finite number in row 0"),
        (
            Record(2, NO_EDGES, node={"z": np.zeros((2, 2))}),
            r"node columns \['z'\], while the first graph has \['x'\]",
        ),
    ],
)
def test_bad_graphs_are_named(record: Record, message: str) -> None:
    good = Record(2, NO_EDGES, node={"x": np.zeros((2, 2))})
    with pytest.raises(InvalidGraph, match=message) as error:
        assemble([good, record])
    assert error.value.index == 1
    kept = assemble([good, record, good], errors="skip")
    assert kept.ids.tolist() == [0, 2]
    assert [(bad.index, bad.graph_id) for bad in kept.rejected] == [(1, 1)]


def test_nothing_at_all() -> None:
    with pytest.raises(InvalidParameter, match="no graphs: the input is empty"):
        assemble([])
    with pytest.raises(InvalidParameter, match="all 1 were rejected; the first: it has no nodes"):
        assemble([Record(0, NO_EDGES)], errors="skip")
    with pytest.raises(InvalidParameter, match="errors='ignore': expected 'raise' or 'skip'"):
        assemble([], errors="ignore")  # type: ignore[arg-type]


def test_only_a_saved_set_is_replaced(tmp_path: Path, corner_cases: GraphSet) -> None:
    (tmp_path / "mine").mkdir()
    precious = tmp_path / "mine" / "precious.txt"
    precious.write_text("keep me")
    with pytest.raises(InvalidParameter, match="holds other files"):
        save_graphs(corner_cases, tmp_path / "mine")
    with pytest.raises(InvalidParameter, match="is a file"):
        save_graphs(corner_cases, precious)
    assert precious.read_text() == "keep me"


def test_behind_a_symbolic_link_the_folder_itself_is_replaced(tmp_path: Path, corner_cases: GraphSet) -> None:
    save_graphs(corner_cases, tmp_path / "set")
    (tmp_path / "link").symlink_to("set")
    save_graphs(corner_cases[:2], tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert len(open_graphs(tmp_path / "set")) == 2


def test_join_of_what_is_no_set(corner_cases: GraphSet) -> None:
    with pytest.raises(InvalidParameter, match="a NoneType came"):
        concatenate([corner_cases, None])  # type: ignore[list-item]
    assert len(concatenate(iter([corner_cases, corner_cases]))) == 2 * len(corner_cases)
