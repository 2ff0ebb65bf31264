"""README and docs keep their word: tables come from result files, verbs, names and files exist."""

from __future__ import annotations

import ast
import re

import numpy as np
import pytest
import typer.main

import infograph
from benchmarks.public_names import GROUPS
from benchmarks.readme import FIGURES, MARKER, PAGES, ROOT, blocks, render
from infograph.cli.app import app
from infograph.paper.report import write_report

README = (ROOT / "README.md").read_text()
CODE = {page: re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL) for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_are_what_the_files_give(page):
    assert render(page.read_text()) == page.read_text()


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_what_the_files_give(name):
    assert FIGURES[name]() == (ROOT / "docs" / name).read_text()


def test_every_table_has_its_place():
    placed = {name for page in PAGES for name in MARKER.findall(page.read_text())}
    assert placed == set(blocks())


def test_every_public_name_is_in_the_reference():
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(infograph.__all__[1:])


@pytest.mark.parametrize("page", [page for page in CODE if CODE[page]], ids=lambda page: page.name)
def test_code_uses_public_names(page):
    for node in (node for block in CODE[page] for node in ast.walk(ast.parse(block))):
        if isinstance(node, ast.ImportFrom) and node.module == "infograph":
            assert {name.name for name in node.names} <= set(infograph.__all__)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "infograph":
            assert node.attr in infograph.__all__


def test_readme_is_a_page_with_an_example_for_each_kind_of_user():
    examples = CODE[ROOT / "README.md"]
    assert len(examples) == 3 and all(len(block.splitlines()) <= 10 for block in examples)
    assert len(README.splitlines()) < 150


def test_the_report_is_what_the_files_give(tmp_path):
    written = write_report(ROOT / "results", tmp_path).tables
    assert (ROOT / "results" / "report" / "tables.md").read_text() == written.read_text()


def test_verbs_exist():
    verbs = set(typer.main.get_command(app).commands)
    page = (ROOT / "docs" / "commands.md").read_text()
    assert set(re.findall(r"^infograph (\w+)", page, re.MULTILINE)) == verbs
    assert set(re.findall(r"`infograph (\w+)", README)) <= verbs


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
def test_files_it_points_to_exist(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_files_of_the_formats_page_are_read(tmp_path):
    page = (ROOT / "docs" / "formats.md").read_text()
    blocks = re.findall(r"^```\w+ (\S+)\n(.*?)^```", page, re.DOTALL | re.M)
    for name, content in blocks:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    table = infograph.read_graphs(tmp_path / "solubility.csv", label="class")
    assert list(table.ids) == ["m1", "m2", "m3"] and {"logS [log(mol/L)]", "y"} <= set(table.graph)
    assert list(infograph.read_graphs(tmp_path / "molecules.smi").ids) == ["ethanol", "benzene"]
    networks = infograph.read_graphs(tmp_path / "networks")
    assert list(networks.sizes) == [3, 3] and list(networks.values("graph", "y")) == ["ring", "chain"]
    assert list(infograph.read_graphs(tmp_path / "graphs.jsonl").sizes) == [3, 2]
    typed = infograph.read_graphs(tmp_path / "typed.jsonl")
    assert "kind" in typed.node and "bond" in typed.edge and "year" in typed.graph and len(blocks) == 9


def test_code_of_the_formats_page_runs(tmp_path, monkeypatch, capsys):
    page = (ROOT / "docs" / "formats.md").read_text()
    for name, content in re.findall(r"^```\w+ (\S+)\n(.*?)^```", page, re.DOTALL | re.M):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.M)
    said = []
    for block in blocks:
        exec(compile(block, "formats.md", "exec"), found := {})
        said += re.findall(r"print\(.*\)  # (.*)", block)
    assert capsys.readouterr().out.splitlines() == said and len(blocks) == 3
    assert np.diff(found["graphs"].edge_ptr).tolist() == [4, 8] and list(found["weighted"].edge) == ["weight"]


def test_every_promise_has_its_test():
    named = re.findall(r"`(tests/\S+\.py)::(test_\w+)`", (ROOT / "docs" / "promises.md").read_text())
    assert len(named) > 20
    for file, test in named:
        assert f"def {test}(" in (ROOT / file).read_text(), f"{file}::{test}"
