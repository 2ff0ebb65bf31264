from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "a.csv"
    path.write_text("smiles,logS [mol/L],Tm\nCCN.Cl,-1.5,300.5\nCCO,-2.5,310\n")
    return path


def test_salts_and_units(run: Run, table: Path) -> None:
    done = run("info", table, "--salts", "strip", "--unit", "Tm=K", "--unit", "logS = log(mol/L)", "--json")
    content = json.loads(done.out)
    assert content["read_with"]["salts"] == "strip" and content["nodes"] == 6
    assert json.loads(run("info", table, "--json").out)["nodes"] == 7
    units = {column["name"]: column.get("unit") for column in content["columns"]["graph"]}
    assert units == {"smiles": None, "stripped": None, "logS [mol/L]": "log(mol/L)", "Tm": "K"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--unit Tm", "'Tm', expected COLUMN=UNIT such as logS=mol/L"),
        ("--unit =K", "'=K', expected COLUMN=UNIT"),
        ("--unit logP=K", "units: there is no graph column 'logP', only ['smiles', 'logS [mol/L]', 'Tm']"),
        ("--salts remove", "'remove' is not one of"),
    ],
)
def test_mistakes(run: Run, table: Path, words: str, expected: str) -> None:
    done = run("info", table, *words.split())
    assert done.code == 2 and done.out == "" and expected in " ".join(done.err.split())
