"""The examples run as they stand."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(name: str, *arguments: int) -> None:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(*arguments)


def test_networks(capsys):
    run("networks")
    shown = capsys.readouterr().out
    assert "60 graphs" in shown
    accuracy = float(shown.split("kind of network: ")[1].split(" %")[0])
    assert accuracy > 80  # chance is 33


def test_molecules(capsys):
    run("molecules")
    shown = capsys.readouterr().out
    assert "could not be read: 1 of 3" in shown
    assert "toluene" in shown


def test_paper(capsys):
    run("paper", 1)
    shown = capsys.readouterr().out
    assert float(shown.split("InfoGraph  ")[1].split(" %")[0]) > 75


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_examples_are_short(path):
    assert len(path.read_text().splitlines()) < 80
