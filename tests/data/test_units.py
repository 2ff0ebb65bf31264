"""Units from headers and from the user, in every kind of file; columns named with or without them."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from rdkit import Chem

from infograph import Column, GraphSet, Schema, read_graphs, save_graphs
from infograph.data.units import graph_column, match_name, split_header
from infograph.errors import InvalidParameter, SchemaMismatch

WITH = """
logS [mol/L]|solubility [g/L]|Tm (K)|Tm(°C)|IC50 (nM)|conc (µg/mL)|gap [kcal/mol]|E [kJ mol-1]|eps (M-1 cm-1)
Cv [cal/(mol K)]|Papp (10^-6 cm/s)|alpha [Bohr^3]|V (Å^3)|area (m²)|k (1/s)|S (log(mol/L))|S [log mol/L]
inhibition (%)|mass_[g]|mu [D]|r2 [bohr^2]|U0 [hartree]|refractivity [cm3/mol]|x (a) (K)
"""
WITHOUT = """
pIC50|energy_kcal_mol|value(s)|logP (octanol/water)|activity (mean)|class [0/1]|x (1)|dH (g)|dH (l)|label (A)
[K]|(K)|| |x ()|x [2]|x)|a (b [K)|K|trade (TM)|score (log)
"""


@pytest.mark.parametrize("header", WITH.strip().replace("\n", "|").split("|"))
def test_headers_with_units(header: str) -> None:
    name, unit = split_header(header)
    assert unit and header in [f"{name}{gap}{a}{unit}{b}" for gap in (" ", "", "_") for a, b in ("()", "[]")]


@pytest.mark.parametrize("header", WITHOUT.strip().replace("\n", "|").split("|"))
def test_headers_without_units(header: str) -> None:
    assert split_header(header) == (header, "")


def test_naming_a_column() -> None:
    names = ["Tm (K)", "Tm (°C)", "logS [mol/L]", "logP"]
    assert match_name(names, "logS") == match_name(names, "logS [mol/L]") == "logS [mol/L]"
    assert match_name(names, "logP") == "logP" and match_name(names, "nothing") is None
    with pytest.raises(
        InvalidParameter, match=r"'Tm' is one of \['Tm \(K\)', 'Tm \(°C\)'\]: name the column"
    ):
        match_name(names, "Tm")
    schema = Schema(graph=(Column("logS [mol/L]", "float"),))
    assert graph_column(schema, "logS").name == "logS [mol/L]"
    with pytest.raises(SchemaMismatch, match=r"no graph column 'x'; the graphs have: 'logS \[mol/L\]'"):
        graph_column(schema, "x")


ROWS = {
    "smiles": ["CC", "CO"],
    "logS [mol/L]": [-1.5, -2.0],
    "Tm (K)": [300, 310],
    "pIC50": [6.5, 7],
    "kind (K)": ["a", "a"],
}


def units(graphs: GraphSet) -> dict[str, str]:
    return {column.name: column.unit for column in graphs.schema.graph if column.kind == "float"}


def table(folder: Path, kind: str) -> Path:
    path = folder / f"a.{kind}"
    if kind == "parquet":
        parquet.write_table(pa.table(ROWS), path)
    elif kind == "csv":
        rows = (list(ROWS), *zip(*ROWS.values(), strict=True))
        path.write_text("\n".join(",".join(map(str, row)) for row in rows), encoding="utf-8")
    else:
        writer = Chem.SDWriter(str(path))
        for row in zip(*ROWS.values(), strict=True):
            mol = Chem.MolFromSmiles(row[0])
            for name, value in list(zip(ROWS, row, strict=True))[1:]:
                mol.SetProp(name, str(value))
            writer.write(mol)
        writer.close()
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet", "sdf"])
def test_files_of_molecules(tmp_path: Path, kind: str) -> None:
    path = table(tmp_path, kind)
    assert units(read_graphs(path)) == {"logS [mol/L]": "mol/L", "Tm (K)": "K", "pIC50": ""}
    given = {"logS": "log(mol/L)", "pIC50": "-log M"}
    expected = {"logS [mol/L]": "log(mol/L)", "Tm (K)": "K", "pIC50": "-log M"}
    assert units(read_graphs(path, units=given)) == expected
    for name in ("logS", "logS [mol/L]"):
        labelled = read_graphs(path, label=name)
        assert labelled.graph["y"].tolist() == [-1.5, -2.0] and units(labelled)["y"] == "mol/L"
        for key in ("logS", "logS [mol/L]"):
            assert units(read_graphs(path, label=name, units={key: "g/L"}))["y"] == "g/L"


def test_units_that_do_not_fit(tmp_path: Path) -> None:
    path = table(tmp_path, "csv")
    with pytest.raises(InvalidParameter, match=r"units: the column 'kind \(K\)' holds no numbers"):
        read_graphs(path, units={"kind": "K"})
    with pytest.raises(InvalidParameter, match="units: the column 'Tm' holds no numbers"):
        read_graphs(path, label="Tm", units={"Tm": "K"})  # whole numbers are classes
    (tmp_path / "b.csv").write_text("smiles,logS\nCC,\nCO,\n")
    assert len(read_graphs(tmp_path / "b.csv", units={"logS": "mol/L"})) == 2  # nothing there yet


def test_networks_json_lines_and_stored_sets(tmp_path: Path) -> None:
    folder = tmp_path / "networks"
    folder.mkdir()
    nx.write_graphml(nx.path_graph(2), folder / "g1.graphml")
    nx.write_graphml(nx.path_graph(3), folder / "g2.graphml")
    (folder / "labels.csv").write_text("id,flow [L/min],size\ng1,0.5,2.5\ng2,1.5,3.5\n")
    graphs = read_graphs(folder, label="flow", units={"size": "m"})
    assert graphs.graph["y"].tolist() == [0.5, 1.5] and units(graphs) == {"y": "L/min", "size": "m"}

    lines = [{"nodes": 2, "edges": [[0, 1]], "flow [L/min]": value, "size": 2.5} for value in (0.5, 1.5)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert units(read_graphs(tmp_path / "a.jsonl")) == {"flow [L/min]": "L/min", "size": ""}
    graphs = read_graphs(tmp_path / "a.jsonl", label="flow", units={"flow": "m3/h", "size": "m"})
    assert graphs.graph["y"].tolist() == [0.5, 1.5] and units(graphs) == {"y": "m3/h", "size": "m"}

    stored = save_graphs(read_graphs(tmp_path / "a.jsonl"), tmp_path / "stored")
    graphs = read_graphs(stored, label="flow", units={"size": "m"})
    assert units(graphs) == {"flow [L/min]": "L/min", "size": "m", "y": "L/min"}
    np.testing.assert_array_equal(graphs.graph["y"], [0.5, 1.5])
