"""Cells: one result file each, never computed twice."""

from __future__ import annotations

import json

import pytest

from infograph import InfoGraph
from infograph import cells as cells_module
from infograph.cells import Busy, Cell, parameters_of, run_cell


def test_a_finished_cell_is_read_and_not_computed(tmp_path):
    cell = Cell("table9", "U0 infograph* 3", {"seed": 3, "target": "U0"})
    calls = []

    def compute(given, work):
        calls.append(given)
        assert work.is_dir()
        with pytest.raises(Busy, match=r"another process computes U0.*run the same command again"):
            run_cell(cell, lambda *_: {}, tmp_path, again=lambda found: True)
        return {"scores": {"test_mae": 0.5}, "measured": {"rows": 3}}

    first, second = (run_cell(cell, compute, tmp_path) for _ in range(2))
    assert first == second and len(calls) == 1
    measured = first["measured"]
    assert first["settings"] == cell.settings and measured["seconds"] >= 0 and measured["peak_mb"] > 0
    assert measured["rows"] == 3 and measured["machine"]["processor"] and measured["machine"]["threads"] >= 1
    (file,) = (tmp_path / "table9").iterdir()
    assert file.name.startswith("U0-infograph-star-3-") and json.loads(file.read_text()) == first
    assert not any((tmp_path / ".work" / "table9").iterdir())
    run_cell(cell, compute, tmp_path, again=lambda found: found["scores"]["test_mae"] > 0)
    assert len(calls) == 2
    assert Cell("table9", cell.name, {"seed": 4}).path(tmp_path) != cell.path(tmp_path)


def test_a_result_says_which_code_made_it(tmp_path, monkeypatch):
    """The versions at the beginning, and the commit of the repository that the package lies in, no other."""

    def replace(*_):
        monkeypatch.setattr(cells_module, "version", lambda name: "new")
        return {}

    monkeypatch.setattr(cells_module, "version", lambda name: "old")
    found = run_cell(Cell("t", "one", {}), replace, tmp_path)["measured"]
    assert {found["versions"][name] for name in cells_module.PACKAGES} == {"old"}
    if (cells_module.Path(cells_module.__file__).parents[1] / ".git").exists():
        assert len(found["commit"].removesuffix("+")) == 40
    monkeypatch.setattr(cells_module, "__file__", str(tmp_path / "site-packages/infograph/cells.py"))
    assert run_cell(Cell("t", "two", {}), lambda *_: {}, tmp_path)["measured"]["commit"] is None


def test_parameters_are_json_and_leave_out_what_changes_no_result():
    found = parameters_of(InfoGraph.paper(node_columns=("a", "b"), random_state=3))
    assert json.loads(json.dumps(found)) == found
    assert found["epochs"] == 20 and found["node_columns"] == "('a', 'b')"
    assert not {"random_state", "device", "verbose"} & set(found)
