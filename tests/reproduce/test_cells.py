"""Cells: one result file each, never computed twice, and where they were after a kill."""

from __future__ import annotations

import json

import numpy as np
import pytest

from infograph.data.qm9.read import read_qm9
from infograph.data.sets.catalogue import entry_for
from infograph.data.sets.places import wheel_folder
from infograph.errors import InvalidParameter
from infograph.reproduce import table2
from infograph.reproduce.cells import Cell, run_cell
from infograph.reproduce.table2 import choose_cells, compute_table2, table2_cell


def test_a_finished_cell_is_read_and_not_computed(tmp_path):
    cell = Cell("table9", "U0 infograph* 3", {"seed": 3, "target": "U0"})
    calls = []

    def compute(given, work):
        calls.append(given)
        assert work.is_dir()
        return {"scores": {"test_mae": 0.5}}

    first, second = (run_cell(cell, compute, tmp_path) for _ in range(2))
    assert first == second and len(calls) == 1
    assert first["settings"] == cell.settings and first["measured"]["seconds"] >= 0
    (file,) = (tmp_path / "table9").iterdir()
    assert file.name.startswith("U0-infograph-star-3-") and json.loads(file.read_text()) == first
    assert not any((tmp_path / ".work" / "table9").iterdir())
    run_cell(cell, compute, tmp_path, again=lambda found: found["scores"]["test_mae"] > 0)
    assert len(calls) == 2


def test_another_setting_is_another_cell(tmp_path):
    cells = [Cell("t", "same name", {"epochs": epochs}) for epochs in (1, 2)]
    values = [run_cell(cell, lambda c, _: {"v": c.settings["epochs"]}, tmp_path)["v"] for cell in cells]
    assert values == [1, 2]
    assert len({cell.path(tmp_path) for cell in cells}) == 2


def test_a_failed_cell_leaves_no_result(tmp_path):
    cell = Cell("t", "fails", {})

    def fail(*_):
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        run_cell(cell, fail, tmp_path)
    assert cell.read(tmp_path) is None
    assert run_cell(cell, lambda *_: {"v": 1}, tmp_path)["v"] == 1


def test_cells_are_chosen_by_name():
    cells = choose_cells(["U0", "alpha"], ["all"], epochs=2)
    assert len(cells) == 2 * (len(table2.OBJECTIVES) + len(table2.REFERENCES))
    assert {cell.settings["target"] for cell in cells} == {"U0", "alpha"}
    assert len(choose_cells(["all", "U0"], ["mean"])) == 12
    with pytest.raises(InvalidParameter, match="no objective 'magic'; there are: mean"):
        choose_cells(["U0"], ["magic"])
    assert "lam" not in table2_cell("U0", "supervised").settings
    assert "epochs" not in table2_cell("U0", "mean").settings


@pytest.fixture(scope="module")
def molecules():
    folder = wheel_folder(entry_for("QM9"))
    if folder is None:
        pytest.skip("the qm9pack package is not installed")
    return read_qm9(folder, limit=300)


def test_a_cell_of_table_2_is_the_error_of_its_test_molecules(molecules, tmp_path, monkeypatch):
    monkeypatch.setattr(table2, "load_dataset", lambda name: molecules)
    sizes = {"labelled": 60, "validation": 40, "test": 30, "schedule": 20, "epochs": 1}
    for objective in ("atom-counts", "supervised"):
        result = run_cell(table2_cell("U0", objective, **sizes), compute_table2, tmp_path)
        assert result["unit"] == "hartree" and len(result["test_errors"]) == 30
        assert np.mean(result["test_errors"]) == pytest.approx(result["scores"]["test_mae"], rel=1e-3)
    (epoch,) = result["history"]
    assert {"supervised", "validation", "lr"} <= set(epoch) and "seconds" not in epoch
