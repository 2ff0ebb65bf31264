"""Files of molecules to one GraphSet on disk."""

from __future__ import annotations

import json
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from infograph import as_graphset, read_graphs
from infograph.cli import main
from infograph.data.graphset import open_graphs, save_graphs
from infograph.data.read import ReadOptions
from infograph.errors import InvalidGraph, InvalidParameter, SchemaMismatch
from infograph.scale import Progress, store_graphs
from tests.scale.conftest import molecules


def test_shards_become_one_set(write, tmp_path):
    for n in range(3):
        smiles = [*molecules(50, seed=n), None]
        write(f"p{n}.parquet", smiles, id=[f"m{n}-{k}" for k in range(51)], logS=pa.array([*range(50), None]))
    seen, options = [], {"columns": ["logS"], "rejects": tmp_path / "bad.csv", "block": 7}
    stored = store_graphs(tmp_path / "in", tmp_path / "all", **options, progress=seen.append)
    assert seen[-1] == Progress(153, 3, 3, 1.0)
    assert (stored.rows, stored.rejected, len(stored.graphs)) == (153, 3, 150)
    assert stored.graphs.graph["logS"].tolist() == [float(k) for k in range(50)] * 3
    assert stored.graphs.ids[50] == "m1-0"
    lines = (tmp_path / "bad.csv").read_text().splitlines()
    assert lines[0] == "file,row,id,problem" and len(lines) == 4 and "p1.parquet,50,m1-50,row 51" in lines[2]
    one = read_graphs(tmp_path / "in" / "p0.parquet", errors="skip")
    np.testing.assert_array_equal(one.edges, stored.graphs[:50].edges)
    for name, values in one.node.items():
        np.testing.assert_array_equal(values, stored.graphs[:50].node[name])
    with pytest.raises(InvalidGraph, match=r"p0\.parquet, row 51 \(id 'm0-50'\)"):
        store_graphs(tmp_path / "in", tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_tables_of_text(tmp_path):
    table = tmp_path / "a.csv"
    table.write_text("smiles,logS,who\nCC,1.5,x\nCO,,y\nCN,nan,3\nCF,2,z\n")
    stored = store_graphs(table, tmp_path / "all", columns=None, block=2).graphs
    np.testing.assert_array_equal(stored.graph["logS"], [1.5, np.nan, np.nan, 2.0])
    assert stored.graph["who"].tolist() == ["x", "y", "3", "z"]
    table.write_text("smiles,logS\nCC,1.5\nCO,2\nCN,high\n")
    stored = store_graphs(table, tmp_path / "other", columns=["logS"], block=2).graphs
    assert stored.graph["logS"].tolist() == ["1.5", "2", "high"]  # as read at once
    table.write_text("smiles\n((\n")
    with pytest.raises(InvalidParameter, match="not one of 1 rows is a graph"):
        store_graphs(table, tmp_path / "other", rejects=tmp_path / "bad.csv")
    (tmp_path / "b.csv").write_text("name,smiles\na,CC\n")
    own = {"reading": ReadOptions(id="name"), "rejects": tmp_path / "bad.csv"}
    with pytest.raises(InvalidParameter, match=r"id='name': .*a\.csv has no such column"):
        store_graphs([tmp_path / "b.csv", table], tmp_path / "other", **own)


def gaps_first():
    """A table whose columns have no values in the first six rows of nine; one has none at all."""
    gaps = [None] * 6
    return {
        "smiles": ["CC", "CO", "CN", "CF", "CCC", "CCO", "CCN", "CCF", "C"],
        "id": [f"m{row}" for row in range(9)],
        "logS [mol/L]": [*gaps, "1.5", None, "2"],
        "nothing": [None] * 9,
        "who": [*gaps, "x", "y", "3"],
        "late": [None, "nan", None, "N/A", None, None, None, None, "7"],
        "salt": [None, None, "none", *gaps],
    }


def assert_stored_as_read(stored, path):
    """The graphs and columns that reading the file at once gives, but for the canonical SMILES."""
    read = read_graphs(path)
    assert (stored.schema.node, stored.schema.edge) == (read.schema.node, read.schema.edge)
    for name in ("node_ptr", "edge_ptr", "edges", "ids"):
        np.testing.assert_array_equal(getattr(stored, name), getattr(read, name))
    columns = [column for column in read.schema.graph if column.name != "smiles"]
    assert list(stored.schema.graph) == columns
    for column in columns:
        np.testing.assert_array_equal(stored.graph[column.name], read.graph[column.name])


@pytest.mark.parametrize("block", [1, 4, 100])
@pytest.mark.parametrize("form", ["csv", "parquet", "typed parquet"])
def test_columns_that_begin_with_gaps(tmp_path, form, block):
    table, path = gaps_first(), tmp_path / f"a.{form.split()[-1]}"
    if form == "csv":
        rows = zip(*table.values(), strict=True)
        path.write_text("\n".join(",".join(cell or "" for cell in row) for row in (table.keys(), *rows)))
    else:
        columns = {name: pa.array(cells, pa.string()) for name, cells in table.items()}
        if form == "typed parquet":
            columns["logS [mol/L]"] = pa.array([*[None] * 6, 1.5, None, 2], pa.float64())
            columns["nothing"] = pa.nulls(9)
        parquet.write_table(pa.table(columns), path)
    kept = [name for name in table if name not in ("smiles", "id")]
    stored = store_graphs(path, tmp_path / "all", columns=kept, block=block).graphs
    assert_stored_as_read(stored, path)
    first, late = ("text" if form == "parquet" else "float"), ("float" if form == "csv" else "text")
    assert [column.kind for column in stored.schema.graph] == [first, "float", "text", late, "text"]
    assert stored.schema.graph[0].unit == ("" if form == "parquet" else "mol/L")
    assert stored.graph["salt"].tolist() == ["", "", "none", *[""] * 6]
    assert np.isnan(stored.graph["nothing"]).all()


def test_a_first_shard_with_an_empty_column(write, tmp_path):
    none = {"logS": pa.nulls(3), "who": pa.nulls(3, pa.float64()), "nothing": pa.nulls(3, pa.string())}
    write("p0.parquet", molecules(3), **none)
    more = {"logS": pa.array([1.0, None]), "who": pa.array(["x", None]), "nothing": pa.nulls(2, pa.int64())}
    write("p1.parquet", molecules(2), **more)
    (tmp_path / "in" / "p2.csv").write_text("smiles,logS,who,nothing\nCC,,,\nCO,3,none,\n")
    stored = store_graphs(tmp_path / "in", tmp_path / "all", columns=["logS", "who", "nothing"]).graphs
    np.testing.assert_array_equal(stored.graph["logS"], [*[np.nan] * 3, 1, np.nan, np.nan, 3])
    assert stored.graph["who"].tolist() == ["", "", "", "x", "", "", "none"]
    assert stored.schema.column("graph", "nothing").kind == "float"
    write("p3.parquet", molecules(2), logS=pa.array([1, 2]), who=pa.array([1, 2]), nothing=pa.nulls(2))
    with pytest.raises(SchemaMismatch, match=r"p3\.parquet: the column 'who' is one of kind 'float', and of"):
        store_graphs(tmp_path / "in", tmp_path / "other", columns=["logS", "who", "nothing"])


def test_a_first_set_with_an_empty_column(tmp_path):
    """Graphs that are read whole may have classes, which are known by other codes in each file."""
    for name, classes in (("a", [None, None]), ("b", ["q", "p", "q"]), ("c", ["r", "p", "p"])):
        networks = [nx.path_graph(n + 2) for n in range(len(classes))]
        for network, own in zip(networks, classes, strict=True):
            network.graph["x"] = float("nan") if own is None else own
        save_graphs(as_graphset(networks), tmp_path / "in" / name)
    shards = [tmp_path / "in" / name for name in "abc"]
    assert [open_graphs(shard).schema.graph[0].kind for shard in shards] == ["float", *["categorical"] * 2]
    stored = store_graphs(shards, tmp_path / "all", block=1).graphs
    assert stored.values("graph", "x").tolist() == [None, None, "q", "p", "q", "r", "p", "p"]


@pytest.mark.parametrize("where", ["array", "join"])
def test_a_full_disk_keeps_the_set_before(tmp_path, monkeypatch, where):
    (tmp_path / "a.csv").write_text("smiles\nCC\nCO\n")
    kept = store_graphs(tmp_path / "a.csv", tmp_path / "graphs").graphs
    if where == "array":

        def full(path, values, **_):
            raise OSError("86180 requested and 64480 written")

        monkeypatch.setattr("infograph.data.graphset.np.save", full)
    else:
        monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=100))
    with pytest.raises(
        OSError, match=r"the disk is full: .*graphs.* could not be written, .* is kept; make room"
    ):
        store_graphs(tmp_path / "a.csv", tmp_path / "graphs")
    monkeypatch.undo()
    assert open_graphs(tmp_path / "graphs").n_edges == kept.n_edges
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "graphs"]


def test_the_verb(write, tmp_path, capsys):
    write("p0.parquet", molecules(30))
    assert main(["store", f"{tmp_path / 'in'}/*.parquet", "--out", str(tmp_path / "all"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["graphs"] == len(open_graphs(tmp_path / "all")) == 30
