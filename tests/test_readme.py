"""README keeps its word: tables come from result files, code parses, verbs and names exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import infograph
from benchmarks.readme import ROOT, render, render_scale
from infograph.cli.app import app
from infograph.report.reproduction import Tables, as_tables

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_tables_are_what_the_files_give():
    assert render(README) == README
    scale = (ROOT / "docs" / "scale.md").read_text()
    assert render_scale(scale) == scale


@pytest.mark.parametrize("block", BLOCKS)
def test_code_uses_public_names(block):
    for node in ast.walk(ast.parse(block)):
        if isinstance(node, ast.ImportFrom) and node.module == "infograph":
            assert {name.name for name in node.names} <= set(infograph.__all__)
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "infograph"
        ):
            assert node.attr in infograph.__all__


def test_there_is_an_example_for_each_kind_of_user():
    assert len(BLOCKS) == 5
    assert all(len(block.splitlines()) <= 10 for block in BLOCKS)


def test_the_report_is_what_the_files_give():
    results = Path(ROOT) / "results"
    _, _, written = (results / "report" / "tables.md").read_text().partition("## Table 1")
    _, _, expected = as_tables(Tables.read(results), ()).partition("## Table 1")
    assert written == expected


def test_verbs_exist():
    verbs = {command.name for command in (*app.registered_commands, *app.registered_groups)}
    assert set(re.findall(r"^infograph (\w+)", README, re.MULTILINE)) == verbs


def test_files_it_points_to_exist():
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (Path(ROOT) / target).exists(), target
