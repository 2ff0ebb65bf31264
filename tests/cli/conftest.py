from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from infograph.cli import main
from tests.processes import PATIENCE

SMALL = ("--epochs", "2", "--dim", "8", "--layers", "2")
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
