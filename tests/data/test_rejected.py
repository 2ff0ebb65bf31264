"""Rows that cannot be read: named by their place in every kind of file, and written to a table."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from rdkit import Chem

from infograph.data.molecules import from_molecules
from infograph.data.read import place_of, read_graphs, write_rejected
from infograph.errors import InvalidParameter

SEPARATED = [
    ("id", "smiles", "note"),
    ("a", "CC", "first,\nof two"),
    ("b", "C1CC", ""),
    ("c", "CO", ""),
    ("d", "", ""),
]
BAD = ["the SMILES 'C1CC' does not parse (unclosed ring)", "no SMILES: the text is empty"]


def rows_of(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize(("name", "separator"), [("a.csv", ","), ("a.csv.gz", ";"), ("a.tsv", "\t")])
def test_tables(tmp_path: Path, name: str, separator: str) -> None:
    path = tmp_path / name
    plain = tmp_path / "plain"
    with plain.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=separator).writerows(SEPARATED)
    path.write_bytes(gzip.compress(plain.read_bytes()) if path.suffix == ".gz" else plain.read_bytes())
    graphs = read_graphs(path, errors="skip")
    assert graphs.ids.tolist() == ["a", "c"]
    written = write_rejected(graphs, tmp_path / "out" / "rejected.csv")
    assert rows_of(written) == [
        ["place", "position", "id", "problem"],
        ["line 4", "1", "b", BAD[0]],  # the first row takes two lines
        ["line 6", "3", "d", BAD[1]],
    ]


def test_smi_parquet_sdf_and_json(tmp_path: Path) -> None:
    (tmp_path / "a.smi").write_text("CC a\nC1CC b\n")
    parquet.write_table(pa.table({"smiles": ["CC", None, "C1CC"]}), tmp_path / "a.parquet")
    bad = Chem.MolFromSmiles("C(C)(C)(C)(C)C", sanitize=False)
    bad.SetProp("_Name", "five bonds")
    good = Chem.MolToMolBlock(Chem.MolFromSmiles("CC"))
    records = [f"one{good}", Chem.MolToMolBlock(bad, kekulize=False), f"cut{good[:20]}\n", f"last{good}"]
    (tmp_path / "a.sdf").write_text("$$$$\n".join(records))
    (tmp_path / "a.jsonl").write_text(json.dumps({"nodes": 1}) + "\n\nnot json\n")
    found = {
        name: [
            (*place_of(each)[:1], each.index, each.graph_id)
            for each in read_graphs(tmp_path / name, errors="skip").rejected
        ]
        for name in ("a.smi", "a.parquet", "a.sdf", "a.jsonl")
    }
    second = records[0].count("\n") + 2
    third = second + records[1].count("\n") + 1
    assert found == {
        "a.smi": [("line 2", 1, "b")],
        "a.parquet": [("row 2", 1, 1), ("row 3", 2, 2)],
        "a.sdf": [(f"record 2 (line {second})", 1, "five bonds"), (f"record 3 (line {third})", 2, "cut")],
        "a.jsonl": [("line 3", 1, 1)],
    }
    lines = (tmp_path / "a.sdf").read_text().split("\n")
    assert lines[second - 1] == "five bonds" and lines[third - 1] == "cut"


def test_without_a_file_and_without_problems(tmp_path: Path) -> None:
    graphs = from_molecules(["CC", None], errors="skip")
    assert rows_of(write_rejected(graphs, tmp_path / "a.csv"))[1:] == [
        ["", "1", "1", "no SMILES: the value is missing"]
    ]
    assert rows_of(write_rejected(from_molecules(["CC"]), tmp_path / "a.csv")) == [
        ["place", "position", "id", "problem"]
    ]
    with pytest.raises(InvalidParameter, match="is a folder; expected the name of a file"):
        write_rejected(graphs, tmp_path)


def test_ids_that_cannot_be_ids(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("name,smiles\nx,CC\n,CO\n")
    with pytest.warns(
        UserWarning, match=r"a\.csv: the column 'name' has empty cells, so graphs are numbered"
    ):
        graphs = read_graphs(path)
    assert graphs.ids.tolist() == [0, 1] and graphs.graph["name"].tolist() == ["x", ""]
    assert read_graphs(path, id="name").ids.tolist() == ["x", "1"]
    path.write_text("name,id,smiles\nx,1,CC\nx,2,CO\n")
    assert read_graphs(path).ids.tolist() == [1, 2]  # another column will do
    path.write_text("name,smiles\nx,CC\ny\nz,CO\n")
    kept = read_graphs(path, errors="skip")  # a broken row is no reason to forget the others' ids
    assert kept.ids.tolist() == ["x", "z"] and place_of(kept.rejected[0])[0] == "line 3"


def test_the_canonical_smiles_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("structure,smiles\nOCC,x\nCO,x\n")
    graphs = read_graphs(path, smiles="structure")
    assert graphs.graph["smiles"].tolist() == ["CCO", "CO"]
    assert graphs.values("graph", "smiles_in_file").tolist() == ["x", "x"]
