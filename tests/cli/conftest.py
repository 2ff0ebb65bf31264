from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from infograph.cli import main
from tests.processes import PATIENCE

SMALL = ("--epochs", "2", "--dim", "8", "--layers", "2")
QUICK = ("--epochs", "2", "--dim", "16")
SHORT = ("--epochs", "1", "--dim", "8")
MOLECULES = ("CCO", "c1ccccc1O", "CC(=O)O", "CCN", "c1ccncc1", "CCCC", "C1CCCCC1", "CC#N")


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Result]


def check(done: Result, *expected: str) -> None:
    """Exit code 2, nothing on standard output, one line on standard error that says what is wrong."""
    assert (done.code, done.out) == (2, "")
    assert len(done.err.strip().splitlines()) == 1 and "Traceback" not in done.err
    for text in expected:
        assert text in done.err


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """`infograph` in this process."""

    def call(*arguments: str | Path) -> Result:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return call


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "COLUMNS": "80", "OMP_NUM_THREADS": "1", **more}


@pytest.fixture
def run_alone() -> Run:
    """`infograph` in a process of its own."""

    def call(*arguments: str | Path, **more: str) -> Result:
        command = [sys.executable, "-m", "infograph", *map(str, arguments)]
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment(**more), timeout=PATIENCE
        )
        return Result(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture(scope="session")
def mutag_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mutag") / "model"
    assert main(["train", "MUTAG", "--out", str(folder), *SMALL]) == 0
    return folder


@pytest.fixture(scope="session")
def molecules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """24 molecules: names, a class and a measured value."""
    path = tmp_path_factory.mktemp("molecules") / "molecules.csv"
    rows = [
        f"mol{i},{'C' * (i // 8)}{MOLECULES[i % 8]},{'yes' if i % 2 else 'no'},{i / 7:.3f}" for i in range(24)
    ]
    path.write_text("name,smiles,active,logS\n" + "\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="session")
def molecule_model(tmp_path_factory: pytest.TempPathFactory, molecules: Path) -> Path:
    folder = tmp_path_factory.mktemp("molecules") / "model"
    assert main(["train", str(molecules), "--out", str(folder), *SMALL]) == 0
    return folder


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """64 molecules: a value of which a third is missing, and a class."""
    path = tmp_path_factory.mktemp("mine") / "mine.csv"
    values = ["" if i % 3 == 0 else f"{i / 9:.3f}" for i in range(64)]
    kinds = ["yes" if i % 2 else "no" for i in range(64)]
    rows = [f"mol{i},{'C' * (i // 8)}{MOLECULES[i % 8]},{values[i]},{kinds[i]}" for i in range(64)]
    path.write_text("name,smiles,logS [mol/L],active\n" + "\n".join(rows) + "\n")
    return path


@pytest.fixture(scope="session")
def regressor(tmp_path_factory: pytest.TempPathFactory, table: Path) -> Path:
    """Two networks that predict the value."""
    folder = tmp_path_factory.mktemp("mine") / "model"
    words = ["train", str(table), "--smiles", "smiles", "--target", "logS", "--out", str(folder)]
    assert main([*words, *QUICK, "--n-models", "2"]) == 0
    return folder


def write_table(path: Path, head: str, values: Sequence[str]) -> Path:
    """Molecules m0, m1, ... with a column, or several in one text."""
    rows = [f"m{i},{'C' * (i // 8)}{MOLECULES[i % 8]},{value}" for i, value in enumerate(values)]
    path.write_text("\n".join([f"name,smiles,{head}", *rows]) + "\n")
    return path


@pytest.fixture(scope="session")
def energies(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A table of energies in eV, and a network that predicts them."""
    folder = tmp_path_factory.mktemp("energies")
    table = write_table(folder / "ev.csv", "b [eV]", [f"{i / 7}" for i in range(48)])
    assert main(["train", str(table), "--target", "b", "--out", str(folder / "m"), *SHORT]) == 0
    return table, folder / "m"


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory, molecules: Path, molecule_model: Path) -> Path:
    """An index of 24 molecules."""
    path = tmp_path_factory.mktemp("search") / "index"
    assert main(["index", str(molecule_model), str(molecules), "--out", str(path)]) == 0
    return path


@pytest.fixture(scope="session")
def networks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of 12 GraphML files and their labels."""
    folder = tmp_path_factory.mktemp("networks")
    for i in range(12):
        graph = nx.cycle_graph(4 + i) if i % 2 else nx.star_graph(4 + i)
        nx.set_node_attributes(graph, {node: "hub" if node == 0 else "leaf" for node in graph}, "role")
        nx.write_graphml(graph, folder / f"net{i}.graphml")
    labels = "\n".join(f"net{i},{'ring' if i % 2 else 'star'}" for i in range(12))
    (folder / "labels.csv").write_text(f"id,label\n{labels}\n")
    return folder


@pytest.fixture
def broken_molecules(tmp_path: Path) -> Path:
    path = tmp_path / "broken.csv"
    path.write_text("name,smiles,active\na,CCO,yes\nb,C1CC(,no\nc,CCN,no\n")
    return path
