"""Units from headers and from the user, in every kind of file; columns named with or without them."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdkit import Chem

from infograph.data.graphset import GraphSet, save_graphs
from infograph.data.read import read_graphs
from infograph.data.schema import Column, Schema
from infograph.data.units import graph_column, match_name, split_header
from infograph.errors import InvalidParameter, SchemaMismatch


@pytest.mark.parametrize(
    ("header", "name", "unit"),
    [
        ("logS [mol/L]", "logS", "mol/L"),
        ("solubility [g/L]", "solubility", "g/L"),
        ("Tm (K)", "Tm", "K"),
        ("Tm(°C)", "Tm", "°C"),
        ("IC50 (nM)", "IC50", "nM"),
        ("conc (µg/mL)", "conc", "µg/mL"),
        ("gap [kcal/mol]", "gap", "kcal/mol"),
        ("E [kJ mol-1]", "E", "kJ mol-1"),
        ("eps (M-1 cm-1)", "eps", "M-1 cm-1"),
        ("Cv [cal/(mol K)]", "Cv", "cal/(mol K)"),
        ("Papp (10^-6 cm/s)", "Papp", "10^-6 cm/s"),
        ("alpha [Bohr^3]", "alpha", "Bohr^3"),
        ("V (Å^3)", "V", "Å^3"),
        ("area (m²)", "area", "m²"),
        ("k (1/s)", "k", "1/s"),
        ("S (log(mol/L))", "S", "log(mol/L)"),
        ("S [log mol/L]", "S", "log mol/L"),
        ("inhibition (%)", "inhibition", "%"),
        ("mass_[g]", "mass", "g"),
    ],
)
def test_headers_with_units(header: str, name: str, unit: str) -> None:
    assert split_header(header) == (name, unit)


@pytest.mark.parametrize(
    "header",
    [
        "pIC50",
        "energy_kcal_mol",
        "value(s)",
        "logP (octanol/water)",
        "activity (mean)",
        "class [0/1]",
        "x (1)",
        "dH (g)",
        "dH (l)",
        "label (A)",
        "[K]",
        "(K)",
        "",
        " ",
        "x ()",
        "x [2]",
        "x)",
        "a (b [K)",
        "K",
        "trade (TM)",
    ],
)
def test_headers_without_units(header: str) -> None:
    assert split_header(header) == (header, "")


@given(
    st.text(max_size=12),
    st.sampled_from(["K", "mol/L", "kcal/mol", "log(mol/L)"]),
    st.sampled_from(["[]", "()"]),
)
def test_headers_come_apart_as_they_were_put_together(name: str, unit: str, brackets: str) -> None:
    header = f"{name.strip()} {brackets[0]}{unit}{brackets[1]}"
    stem = name.strip().rstrip(" _")
    assert split_header(header) == ((stem, unit) if stem else (header, ""))


def test_naming_a_column() -> None:
    names = ["Tm (K)", "Tm (°C)", "logS [mol/L]", "logP"]
    assert match_name(names, "logS") == match_name(names, "logS [mol/L]") == "logS [mol/L]"
    assert match_name(names, "logP") == "logP" and match_name(names, "nothing") is None
    with pytest.raises(
        InvalidParameter, match=r"'Tm' is one of \['Tm \(K\)', 'Tm \(°C\)'\]: name the column with its"
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
        return path
    separator = {"csv": ",", "tsv": "\t"}.get(kind)
    if separator:
        lines = [separator.join(map(str, row)) for row in (list(ROWS), *zip(*ROWS.values(), strict=True))]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path
    writer = Chem.SDWriter(str(path))
    for row in zip(*ROWS.values(), strict=True):
        mol = Chem.MolFromSmiles(row[0])
        for name, value in list(zip(ROWS, row, strict=True))[1:]:
            mol.SetProp(name, str(value))
        writer.write(mol)
    writer.close()
    return path


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "sdf"])
def test_files_of_molecules(tmp_path: Path, kind: str) -> None:
    path = table(tmp_path, kind)
    assert units(read_graphs(path)) == {"logS [mol/L]": "mol/L", "Tm (K)": "K", "pIC50": ""}
    given = {"logS": "log(mol/L)", "pIC50": "-log M"}
    assert units(read_graphs(path, units=given)) == {
        "logS [mol/L]": "log(mol/L)",
        "Tm (K)": "K",
        "pIC50": "-log M",
    }
    for name in ("logS", "logS [mol/L]"):
        labelled = read_graphs(path, label=name)
        assert labelled.graph["y"].tolist() == [-1.5, -2.0] and units(labelled)["y"] == "mol/L"
        for key in ("logS", "logS [mol/L]"):
            assert units(read_graphs(path, label=name, units={key: "g/L"}))["y"] == "g/L"


def test_units_that_do_not_fit(tmp_path: Path) -> None:
    path = table(tmp_path, "csv")
    with pytest.raises(
        InvalidParameter, match=r"units: there is no graph column 'logP', only \['smiles', 'logS"
    ):
        read_graphs(path, units={"logP": "K"})
    with pytest.raises(
        InvalidParameter, match=r"units: the column 'kind \(K\)' holds categories, no numbers"
    ):
        read_graphs(path, units={"kind": "K"})
    with pytest.raises(
        InvalidParameter, match="units: the column 'Tm' holds classes, no numbers, and so has no unit"
    ):
        read_graphs(path, label="Tm", units={"Tm": "K"})  # whole numbers are classes
    with pytest.raises(InvalidParameter, match="units: ' ' for 'pIC50'; expected a text such as 'mol/L'"):
        read_graphs(path, units={"pIC50": " "})
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
