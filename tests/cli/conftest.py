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
        assert self.code == 0, self.err
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
        return Result(code, *capsys.readouterr())

    return call


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "COLUMNS": "80", "OMP_NUM_THREADS": "1", **more}


def run_alone(*arguments: str | Path, **more: str) -> Result:
    """`infograph` in a process of its own."""
    command, options = [sys.executable, "-m", "infograph", *map(str, arguments)], {"timeout": PATIENCE}
    done = subprocess.run(command, capture_output=True, text=True, env=environment(**more), **options)
    return Result(done.returncode, done.stdout, done.stderr)


def write_table(path: Path, head: str, values: Sequence[str]) -> Path:
    """Molecules mol0, mol1, ... with a column, or several in one text."""
    rows = [f"mol{i},{'C' * (i // 8)}{MOLECULES[i % 8]},{value}" for i, value in enumerate(values)]
    path.write_text("\n".join([f"name,smiles,{head}", *rows]) + "\n")
    return path


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cli")


@pytest.fixture(scope="session")
def mutag_model(folder: Path) -> Path:
    assert main(["train", "MUTAG", "--out", str(folder / "mutag"), *SMALL]) == 0
    return folder / "mutag"


@pytest.fixture(scope="session")
def table(folder: Path) -> Path:
    """64 molecules: a value of which a third is missing, and a class."""
    values = [f"{'' if i % 3 == 0 else f'{i / 9:.3f}'},{'yes' if i % 2 else 'no'}" for i in range(64)]
    return write_table(folder / "mine.csv", "logS [mol/L],active", values)


@pytest.fixture(scope="session")
def molecule_model(folder: Path, table: Path) -> Path:
    assert main(["train", str(table), "--out", str(folder / "molecules"), *SMALL]) == 0
    return folder / "molecules"


@pytest.fixture(scope="session")
def regressor(folder: Path, table: Path) -> Path:
    """Two networks that predict the value."""
    words = ["train", str(table), "--target", "logS", "--out", str(folder / "regressor"), "--n-models", "2"]
    words += ["--objective", "infograph-star"]
    assert main([*words, *QUICK]) == 0
    return folder / "regressor"


@pytest.fixture(scope="session")
def index(folder: Path, table: Path, molecule_model: Path) -> Path:
    assert main(["index", str(molecule_model), str(table), "--out", str(folder / "index")]) == 0
    return folder / "index"


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
