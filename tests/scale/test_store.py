"""Files of molecules to one GraphSet on disk."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from infograph import read_graphs
from infograph.cli import main
from infograph.data.storage import open_graphs
from infograph.errors import InvalidFile, InvalidGraph, InvalidParameter
from infograph.scale import store_graphs
from tests.scale.conftest import Write, molecules


def test_shards_become_one_set(write: Write, tmp_path: Path) -> None:
    for n in range(3):
        smiles = [*molecules(50, seed=n), None]
        write(f"p{n}.parquet", smiles, id=[f"m{n}-{k}" for k in range(51)], logS=pa.array([*range(50), None]))
    stored = store_graphs(
        tmp_path / "in", tmp_path / "all", columns=["logS"], rejects=tmp_path / "bad.csv", block=7
    )
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


def test_tables_of_text(tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    table.write_text("smiles,logS,who\nCC,1.5,x\nCO,,y\nCN,nan,3\nCF,2,z\n")
    stored = store_graphs(table, tmp_path / "all", columns=None, block=2).graphs
    np.testing.assert_array_equal(stored.graph["logS"], [1.5, np.nan, np.nan, 2.0])
    assert stored.graph["who"].tolist() == ["x", "y", "3", "z"]
    table.write_text("smiles,logS\nCC,1.5\nCO,2\nCN,high\n")
    with pytest.raises(InvalidFile, match=r"'logS' holds numbers, and 'high' is none"):
        store_graphs(table, tmp_path / "other", columns=["logS"], block=2)
    table.write_text("smiles\n((\n")
    with pytest.raises(InvalidParameter, match="not one of 1 rows is a graph"):
        store_graphs(table, tmp_path / "other", rejects=tmp_path / "bad.csv")


def test_store_then_train(write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for n in range(2):
        write(f"p{n}.parquet", molecules(30, seed=n))
    source, out = f"{tmp_path / 'in'}/*.parquet", tmp_path / "all"
    assert main(["store", source, "--out", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["graphs"] == 60
    assert len(open_graphs(out)) == 60
    given = ["--epochs", "1", "--dim", "8", "--layers", "2", "--scratch", str(tmp_path / "scratch")]
    assert main(["train", str(out), "--out", str(tmp_path / "model"), *given]) == 0
    assert len(list((tmp_path / "scratch").iterdir())) == 1
    assert "60 graphs" in capsys.readouterr().out
