"""Units from headers and from the user, in every kind of file; columns named with or without them."""

from __future__ import annotations

import json
from pathlib import Path

from infograph import GraphSet, read_graphs, save_graphs
from infograph.data.units import match_name, split_header

WITH = """
logS [mol/L]|solubility [g/L]|Tm (K)|Tm(°C)|IC50 (nM)|conc (µg/mL)|gap [kcal/mol]|E [kJ mol-1]|eps (M-1 cm-1)
Cv [cal/(mol K)]|Papp (10^-6 cm/s)|alpha [Bohr^3]|V (Å^3)|area (m²)|k (1/s)|S (log(mol/L))|S [log mol/L]
inhibition (%)|mass_[g]|mu [D]|r2 [bohr^2]|U0 [hartree]|refractivity [cm3/mol]|x (a) (K)
"""
WITHOUT = """
pIC50|energy_kcal_mol|value(s)|logP (octanol/water)|activity (mean)|class [0/1]|x (1)|dH (g)|dH (l)|label (A)
[K]|(K)|| |x ()|x [2]|x)|a (b [K)|K|trade (TM)|score (log)
"""


def test_headers_with_and_without_units() -> None:
    for header in WITH.strip().replace("\n", "|").split("|"):
        name, unit = split_header(header)
        spelled = [f"{name}{gap}{a}{unit}{b}" for gap in (" ", "", "_") for a, b in ("()", "[]")]
        assert unit and header in spelled
    for header in WITHOUT.strip().replace("\n", "|").split("|"):
        assert split_header(header) == (header, "")
    names = ["Tm (K)", "Tm (°C)", "logS [mol/L]", "logP"]
    assert match_name(names, "logS") == match_name(names, "logS [mol/L]") == "logS [mol/L]"
    assert match_name(names, "logP") == "logP" and match_name(names, "nothing") is None


TABLE = "smiles,logS [mol/L],Tm (K),pIC50,kind (K)\nCC,-1.5,300,6.5,a\nCO,-2.0,310,7,a\n"


def units(graphs: GraphSet) -> dict[str, str]:
    return {column.name: column.unit for column in graphs.schema.graph if column.kind == "float"}


def test_files_of_molecules(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(TABLE)
    assert units(read_graphs(path)) == {"logS [mol/L]": "mol/L", "Tm (K)": "K", "pIC50": ""}
    given = {"logS": "log(mol/L)", "pIC50": "-log M"}
    expected = {"logS [mol/L]": "log(mol/L)", "Tm (K)": "K", "pIC50": "-log M"}
    assert units(read_graphs(path, units=given)) == expected
    for name in ("logS", "logS [mol/L]"):
        labelled = read_graphs(path, label=name)
        assert labelled.graph["y"].tolist() == [-1.5, -2.0] and units(labelled)["y"] == "mol/L"
        for key in ("logS", "logS [mol/L]"):
            assert units(read_graphs(path, label=name, units={key: "g/L"}))["y"] == "g/L"
    path.write_text("smiles,logS\nCC,\nCO,\n")
    assert len(read_graphs(path, units={"logS": "mol/L"})) == 2  # nothing there yet


def test_json_lines_and_stored_sets(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [{"nodes": 2, "edges": [[0, 1]], "flow [L/min]": value, "size": 2.5} for value in (0.5, 1.5)]
    path.write_text("\n".join(map(json.dumps, lines)))
    graphs = read_graphs(path, label="flow", units={"flow": "m3/h", "size": "m"})
    assert graphs.graph["y"].tolist() == [0.5, 1.5] and units(graphs) == {"y": "m3/h", "size": "m"}
    stored = save_graphs(read_graphs(path), tmp_path / "stored")
    graphs = read_graphs(stored, label="flow", units={"size": "m"})
    assert units(graphs) == {"flow [L/min]": "L/min", "size": "m", "y": "L/min"}
    assert graphs.graph["y"].tolist() == [0.5, 1.5]
