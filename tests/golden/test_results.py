"""Every file under `results/` is the result of a cell of today's tables: nothing that was computed is lost.

A file is called by the name of its cell and by the digest of the cell's settings, which are in the file, with
the names that the estimators' parameters had in format 1. A cell whose settings are written in any other way
has another file, and what was computed for days would be computed anew.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from infograph.cli import main

RESULTS = Path(__file__).parents[2] / "results"
TABLES = {"table1": 900, "table2": 90, "variants": 190}  # and how many results each had at format 1


def told(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Any:
    """What the command prints with `--json`."""
    capsys.readouterr()
    code = main([*map(str, arguments), "--json"])
    found = capsys.readouterr()
    assert code == 0, found.err
    return json.loads(found.out)


@cache
def results_of(table: str) -> dict[Path, dict[str, Any]]:
    return {path: json.loads(path.read_text()) for path in sorted((RESULTS / table).glob("*.json"))}


def key(cell: str, settings: dict[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]
    return re.sub(r"[^A-Za-z0-9]+", "-", cell.replace("*", "-star")).strip("-") + f"-{digest}"


@pytest.mark.parametrize("table", TABLES)
def test_a_file_is_called_by_its_settings_and_none_is_gone(table):
    assert len(results_of(table)) >= TABLES.get(table, 1)
    for path, result in results_of(table).items():
        assert path.stem == key(result["cell"], result["settings"])


def test_every_result_is_a_cell_of_todays_tables(capsys):
    """`infograph reproduce status` counts the cells that have a file: as many as there are files.

    By data set or target, and by method or objective, so that a difference says where it is.
    """
    found: Counter[tuple[str, str, str]] = Counter()
    for group in told(capsys, "reproduce", "status", "--results", RESULTS):
        column = group["column"] if group["column"] != "search" else "alpha"  # settings are chosen on alpha
        found[group["table"], column, group["row"]] += group["done"]
    files: Counter[tuple[str, str, str]] = Counter()
    for table in TABLES:
        for result in results_of(table).values():
            of = result["settings"]
            place = (of["target"], of["objective"]) if table == "table2" else (of["data"], of["method"])
            files[table, *place] += 1
    assert +found == files
