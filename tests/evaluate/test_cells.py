"""Cells: one result file each, never computed twice, and those of Table 2."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from infograph import InfoGraph
from infograph import cells as cells_module
from infograph.cells import Busy, Cell, parameters_of, run_cell
from infograph.cli.output import MISTAKE, explain
from infograph.data.datasets import entry_for, wheel_folder
from infograph.data.qm9 import read_qm9
from infograph.errors import InvalidGraph, InvalidParameter
from infograph.paper import table2
from infograph.paper.table2 import best_cell, compute_table2, table2_cell, table2_stages, validation_error


def test_a_finished_cell_is_read_and_not_computed(tmp_path):
    cell = Cell("table9", "U0 infograph* 3", {"seed": 3, "target": "U0"})
    calls = []

    def compute(given, work):
        calls.append(given)
        assert work.is_dir()
        with pytest.raises(Busy, match=r"another process computes U0.*run the same command again") as busy:
            run_cell(cell, lambda *_: {}, tmp_path, again=lambda _: True)
        assert explain(busy.value) == MISTAKE
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


def test_a_failed_cell_leaves_no_result(tmp_path):
    cell = Cell("t", "fails", {})

    def fail(*_):
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        run_cell(cell, fail, tmp_path)
    assert cell.read(tmp_path) is None
    assert run_cell(cell, lambda *_: {"v": 1}, tmp_path)["v"] == 1


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
    found = parameters_of(InfoGraph(node_columns=("a", "b"), random_state=3))
    assert json.loads(json.dumps(found)) == found
    assert found["epochs"] == 20 and found["node_columns"] == "('a', 'b')"
    assert not {"random_state", "device", "verbose"} & set(found)


# ---- Table 2

SIZES = {"labelled": 60, "validation": 40, "test": 30, "schedule": 20, "epochs": 1}


def keep(cell, error, folder):
    """A result that no training gave."""
    scores = {"scores": {"validation_mae": error, "test_mae": 1.0}}
    run_cell(cell, lambda *_: scores if error else {"empty": "the loss is nan", "scores": {}}, folder)


def test_cells_are_chosen_by_name(tmp_path):
    (cells,) = table2_stages(tmp_path, ["U0", "alpha"], ["all"], lam=1e-3, weight_decay=0.0, epochs=2)
    assert len(cells) == 2 * len(table2.ROWS)
    assert {cell.settings["target"] for cell in cells} == {"U0", "alpha"}
    (means,) = table2_stages(tmp_path, ["all", "U0"], ["mean"], lam=0.1)
    assert len(means) == 12 and "parameters" not in means[0].settings
    with pytest.raises(InvalidParameter, match="no objective 'magic'; there are: mean"):
        next(table2_stages(tmp_path, ["U0"], ["magic"]))
    given = [table2_cell("U0", row, lam=0.5).settings["parameters"]["lam"] for row in table2.OBJECTIVES]
    assert given == [1e-3, 1e-3, 0.5, 0.5]  # what a method does not look at stays at its default


def test_settings_are_chosen_on_the_validation_molecules_of_alpha(tmp_path):
    stages = table2_stages(tmp_path, ["U0"], ["supervised", "infograph*"])
    decays = next(stages)
    assert [cell.settings["parameters"]["weight_decay"] for cell in decays] == [0.0, 1e-3, 1e-4]
    keep(decays[0], 3.0, tmp_path)
    keep(decays[1], None, tmp_path)  # diverged
    with pytest.raises(InvalidParameter, match="alpha supervised 0 has no result yet"):
        best_cell(decays, tmp_path)
    with pytest.raises(InvalidParameter, match="alpha supervised 0 diverged with every setting"):
        best_cell(decays[1:2], tmp_path)
    keep(decays[2], 1.0, tmp_path)
    lams = next(stages)
    assert {cell.settings["parameters"]["weight_decay"] for cell in lams} == {1e-4}
    for cell, error in zip(lams, (3.0, 1.0, 2.0), strict=True):
        keep(cell, error, tmp_path)
    (supervised, star), last = next(stages), next(stages, None)
    assert last is None and star.settings["target"] == "U0"
    assert star.settings["parameters"]["lam"] == 1e-4 == supervised.settings["parameters"]["weight_decay"]


@pytest.fixture(scope="module")
def molecules():
    folder = wheel_folder(entry_for("QM9"))
    if folder is None:
        pytest.skip("the qm9pack package is not installed")
    return read_qm9(folder, limit=300)


def test_a_cell_is_the_error_of_its_test_molecules(molecules, tmp_path, monkeypatch):
    monkeypatch.setattr(table2, "load_dataset", lambda name: molecules)
    for objective in ("atom-counts", "supervised"):
        result = run_cell(table2_cell("U0", objective, **SIZES), compute_table2, tmp_path)
        assert result["unit"] == "hartree" and len(result["test_errors"]) == 30
        assert np.mean(result["test_errors"]) == pytest.approx(result["scores"]["test_mae"], rel=1e-3)
    (epoch,) = result["history"]
    assert {"supervised", "validation", "lr"} <= set(epoch) and "seconds" not in epoch


def test_a_training_that_diverges_has_a_reason_and_no_figure(molecules, tmp_path, monkeypatch):
    def refuse(*_):
        raise InvalidGraph("its prediction is not finite", index=3)

    monkeypatch.setattr(table2, "load_dataset", lambda name: molecules)
    monkeypatch.setattr(table2.MeanPredictor, "predict", refuse)
    diverging = table2_cell("U0", "infograph*", lam=1e39, **SIZES)  # infinite in single precision
    sizes = {name: SIZES[name] for name in ("labelled", "validation", "test")}
    for cell, why in ((diverging, "loss"), (table2_cell("U0", "mean", **sizes), "prediction is not finite")):
        result = run_cell(cell, compute_table2, tmp_path)
        assert why in result["empty"]
        assert (result["unit"], result["scores"], result["test_errors"]) == ("hartree", {}, [])
        assert validation_error(cell, tmp_path) == math.inf
