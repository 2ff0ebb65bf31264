"""The examples run as they stand."""

from __future__ import annotations

import importlib.util
import re
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
    assert "60 graphs" in shown and float(shown.split("kind of network: ")[1].split(" %")[0]) > 80  # of 33


def test_molecules(capsys):
    run("molecules")
    shown = capsys.readouterr().out
    assert "could not be read: 1 of 3" in shown and "toluene" in shown


def test_few_labels_mutag(capsys):
    run("few_labels_mutag", 1, 1)
    shown = capsys.readouterr().out
    assert "accuracy on 168 molecules without a label, mean of 1 draws of 20 labels" in shown
    found = {line[2:23].strip(): float(line[23:28]) for line in shown.splitlines()[1:]}
    assert list(found)[-3:] == ["supervised", "infograph", "infograph*"]
    assert all(60 < found[name] <= 100 for name in ("counts of atoms", "supervised", "infograph*"))


def test_my_molecules(capsys):
    run("my_molecules", 2)
    shown = capsys.readouterr().out
    for text in (
        "left out, line 9: the SMILES 'c1ccccc' does not parse",
        "1 molecule stands there more than once",
        "32.25 32.75 -> 32.5",
        "after loading: butylbenzene",
    ):
        assert text in shown
    assert len(re.findall(r"error on new scaffolds (\d+\.\d\d) cm3/mol", shown)) == 4


def test_paper(capsys):
    run("paper", 1)
    assert float(capsys.readouterr().out.split("InfoGraph  ")[1].split(" %")[0]) > 75


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_examples_are_short(path):
    assert len(path.read_text().splitlines()) < 80
