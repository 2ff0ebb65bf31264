"""MoleculeNet by name: which file, which tasks, that it is the right one, and what the page says of it."""

from __future__ import annotations

import gzip
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from infograph import load_dataset
from infograph.data import datasets
from infograph.data.datasets import MOLECULENET
from infograph.errors import FileMissing, InvalidFile

REAL = os.environ.get("INFOGRAPH_DATA", "")
PAGE = Path(__file__).parents[2] / "docs" / "formats.md"
SOLUBLE = "smiles,logp,another\nCCO,0.5,1\nCCC,-1.25,2\nc1ccccc1,-2,3\n"
TASKS = "mol_id,smiles,assay a,assay b\n1,CCO,1,\n2,CCC,0,1\n3,not a molecule,1,0\n"


@pytest.fixture(autouse=True)
def nothing_here(tmp_path, monkeypatch):
    """An empty cache, no data folder, nobody to ask, and sets of three molecules."""
    monkeypatch.setenv("INFOGRAPH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("INFOGRAPH_DATA", raising=False)

    def refuse(url, *_, **__):
        raise OSError(f"nobody answers at {url}")

    monkeypatch.setattr("pooch.retrieve", refuse)


@pytest.fixture
def small(monkeypatch):
    for name, tasks in (("ESOL", 1), ("Tox21", 2)):
        monkeypatch.setitem(MOLECULENET, name, replace(MOLECULENET[name], molecules=3, tasks=tasks))
    entries = [replace(entry, counts=None) for entry in datasets.CATALOGUE]
    monkeypatch.setattr(datasets, "CATALOGUE", tuple(entries))


@pytest.mark.parametrize(
    "place", ["delaney.csv", "moleculenet/delaney-processed.csv", "moleculenet/delaney.csv.gz"]
)
def test_one_task_is_y_with_its_unit(tmp_path, small, place):
    (tmp_path / place).parent.mkdir(exist_ok=True)
    packed = gzip.compress(SOLUBLE.encode()) if place.endswith("gz") else SOLUBLE.encode()
    (tmp_path / place).write_bytes(packed)
    graphs = load_dataset("esol", root=tmp_path)
    assert list(graphs.graph) == ["smiles", "y"]
    assert graphs.values("graph", "y").tolist() == [0.5, -1.25, -2.0]
    assert graphs.schema.column("graph", "y").unit == "log(mol/L)"


def test_several_tasks_keep_names_and_gaps_and_molecules_that_do_not_parse_are_left_out(tmp_path, small):
    (tmp_path / "tox21.csv").write_text(TASKS)
    graphs = load_dataset("Tox21", root=tmp_path)
    assert list(graphs.graph) == ["smiles", "assay a", "assay b"]
    assert graphs.values("graph", "smiles").tolist() == ["CCO", "CCC"]
    assert np.array_equal(graphs.values("graph", "assay b"), [np.nan, 1.0], equal_nan=True)


def test_a_file_that_is_something_else_is_named(tmp_path, small):
    (tmp_path / "delaney.csv").write_text(SOLUBLE.replace("CCO,0.5,1\n", "").replace("logp", "melting"))
    with pytest.raises(InvalidFile, match=r"delaney\.csv has 2 molecules and 0 tasks instead of 3 and 1\."):
        load_dataset("ESOL", root=tmp_path)


@pytest.mark.parametrize("name", MOLECULENET)
def test_a_set_that_is_not_there(tmp_path, name):
    file = MOLECULENET[name].url.rpartition("/")[2]
    for download, reason in (
        (None, "could not be downloaded (nobody"),
        (False, f"download=True) would look for {MOLECULENET[name].url}"),
    ):
        with pytest.raises(FileMissing) as caught:
            load_dataset(name, root=tmp_path, download=download)
        said = str(caught.value)
        assert said.startswith(f"the data set {name} is not on this machine. Searched: root {tmp_path}, ")
        assert (
            reason in said and f"put {file} into a folder and give that as root= or in INFOGRAPH_DATA" in said
        )


def test_the_page_says_what_the_sets_are():
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in PAGE.read_text().splitlines()]
    told = {row[0].strip("`"): row for row in rows if row and row[0].strip("`") in MOLECULENET}
    assert list(told) == list(MOLECULENET)
    for name, known in MOLECULENET.items():
        entry = datasets.entry_for(name)
        assert told[name][1] == f"{entry.counts.graphs:,}" and all(
            file in told[name][6] for file in known.files
        )
        assert told[name][2].startswith("`y`" if known.tasks == 1 else f"{known.tasks}")
        assert not known.unit or told[name][3] == known.unit
    assert f"{MOLECULENET['Tox21'].molecules:,}, of which 8 do not parse" in told["Tox21"][6]


@pytest.mark.skipif(not (Path(REAL) / "moleculenet").is_dir(), reason="INFOGRAPH_DATA has no moleculenet")
@pytest.mark.filterwarnings("ignore")
def test_the_real_sets(monkeypatch):
    monkeypatch.setenv("INFOGRAPH_DATA", REAL)
    for name in ("ESOL", "FreeSolv", "ClinTox"):
        graphs = load_dataset(name, download=False)
        assert len(graphs) == MOLECULENET[name].molecules
        assert len(graphs.graph) == 1 + MOLECULENET[name].tasks
