"""Table 2: its cells, what they measure, and what their files give: ratios and intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from infograph.cells import run_cell
from infograph.data.datasets import entry_for, wheel_folder
from infograph.data.qm9 import read_qm9
from infograph.errors import InvalidGraph, InvalidParameter
from infograph.paper import table2
from infograph.paper.report import COLUMNS2, search_sheet, table2_sheet
from infograph.paper.table2 import (
    AT_ONCE,
    FIRST_EPOCHS,
    OBJECTIVES,
    ROWS,
    SEARCH_EPOCHS,
    compute_table2,
    plan_table2,
    planned_cells,
    ratio_interval,
    read_table2,
    table2_cell,
    table2_stages,
    tried_what,
    validation_error,
)

SIZES = {"labelled": 60, "validation": 40, "test": 30, "schedule": 20, "epochs": 1}


def test_cells_are_chosen_by_name(tmp_path):
    given = {"lam": 1e-3, "weight_decay": 0.0}
    (cells,) = table2_stages(tmp_path, ["U0", "mu"], ["all"], **given, epochs=2, seeds=[4])
    assert len(cells) == 2 * len(ROWS) and {cell.settings["seed"] for cell in cells} == {4}
    assert {cell.settings["target"] for cell in cells} == {"U0", "mu"}
    (cells,) = table2_stages(tmp_path, ["U0", "mu"], ["supervised"], **given)
    lengths = [(c.settings["target"], c.settings["seed"], c.settings["parameters"]["epochs"]) for c in cells]
    assert lengths == [("U0", 0, 50), ("mu", 0, 30), ("U0", 1, 50), ("U0", 2, 50)]
    (means,) = table2_stages(tmp_path, ["all", "U0"], ["mean"], lam=0.1, seeds=[0])
    assert len(means) == 12 and "parameters" not in means[0].settings
    with pytest.raises(InvalidParameter, match="no objective 'magic'; there are: mean"):
        next(table2_stages(tmp_path, ["U0"], ["magic"]))
    given = [table2_cell("U0", row, lam=0.5).settings["parameters"]["lam"] for row in OBJECTIVES]
    assert given == [1e-3, 1e-3, 0.5, 0.5]  # what a method does not look at stays at its default


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


def test_intervals_are_those_of_a_plain_loop(monkeypatch):
    for name, value in {"RESAMPLES": AT_ONCE + 30, "SEED": 7, "CONFIDENCE": 0.9}.items():
        monkeypatch.setattr(table2, name, value)  # more than one portion
    rng = np.random.default_rng(3)
    ours, theirs = rng.gamma(2.0, 1.0, 50), rng.gamma(2.0, 1.2, 50)
    draws = np.random.default_rng(7)
    ratios = []
    for _ in range(AT_ONCE + 30):
        molecules = draws.integers(50, size=50)
        ratios.append(ours[molecules].mean() / theirs[molecules].mean())
    assert ratio_interval(ours, theirs) == pytest.approx(np.quantile(ratios, [0.05, 0.95]), rel=1e-12)
    assert ratio_interval(0.5 * theirs, theirs) == pytest.approx((0.5, 0.5))  # molecules are paired


def test_the_search_decides_which_cells_the_table_has(results):
    results.search(decay=1e-4, lam=1e-5)
    results.error("U0", "infograph*", [9.0], weight_decay=0.0, lam=1e-3)  # of a setting that was not chosen
    results.error("U0", "infograph*", [4.0], weight_decay=1e-4, lam=1e-5)
    table = read_table2(results.folder)
    assert table.plan.open == ()
    tried = [tried_what(cell) for cell in table.plan.chosen]
    assert tried == [("weight decay", 1e-4), ("lambda", 1e-5), ("lambda", 1e-5)]
    assert table.errors["U0", "infograph*"].mae == 4.0
    assert len(table.search) == 9 and all(error is not None for _, error in table.search)


def test_while_the_search_is_under_way_the_first_values_are_shown(results):
    results.error("U0", "infograph*", [9.0], weight_decay=0.0, lam=1e-3)
    table = read_table2(results.folder)
    assert table.plan.open == ("weight decay", "lambda") and table.plan.chosen == ()
    assert table.errors["U0", "infograph*"].mae == 9.0
    for decay in (0.0, 1e-3, 1e-4):
        given = {"weight_decay": decay, "epochs": SEARCH_EPOCHS}
        results.error("alpha", "supervised", [1.0], validation=1 - 100 * decay, **given)
    results.error("alpha", "supervised", [], weight_decay=1e-4, epochs=SEARCH_EPOCHS)  # diverged
    plan = plan_table2(results.folder)
    assert plan.open == ("lambda",) and [*map(tried_what, plan.chosen)] == [("weight decay", 1e-3)]
    decays = {c.settings["parameters"]["weight_decay"] for c in plan.cells if "parameters" in c.settings}
    assert decays == {1e-3}


def test_ratios_and_marks(results):
    """On U0 the paper has 0.44 for InfoGraph* and 1.16 for Mean Teacher."""
    results.search(decay=0.0, lam=1e-3)
    base = np.random.default_rng(0).gamma(1.0, 1.0, 200)
    noise = np.random.default_rng(1).uniform(0.7, 1.3, 200)
    results.error("U0", "supervised", base)
    results.error("U0", "infograph*", 0.44 * base * noise)
    results.error("U0", "mean-teacher", 0.5 * base)
    results.error("U0", "mean", 3 * base)
    results.error("G", "atom-counts", [0.5, 1.5])  # without the supervised model
    errors = read_table2(results.folder).errors
    star, teacher = errors["U0", "infograph*"], errors["U0", "mean-teacher"]
    assert star.ratio == pytest.approx((base * noise).mean() / base.mean() * 0.44)
    assert star.interval is not None and star.interval[0] < 0.44 < star.interval[1] and star.inside
    assert teacher.interval == pytest.approx((0.5, 0.5)) and not teacher.inside
    assert teacher.difference == pytest.approx(0.5 - 1.16)
    assert errors["U0", "mean"].published is None and not errors["U0", "mean"].inside
    alone = errors["G", "atom-counts"]
    assert (alone.mae, alone.ratio, alone.interval) == (1.0, None, None)


def test_a_training_that_diverged_has_no_figure_and_says_why(results):
    results.search(decay=0.0, lam=1e-4)
    results.error("U0", "supervised", [1.0, 2.0])
    results.error("U0", "mean-teacher", [2.0, 4.0])
    results.error("U0", "infograph*", [], lam=1e-4)
    results.error("alpha", "infograph", [], lam=1e-3, epochs=SEARCH_EPOCHS)
    table = read_table2(results.folder)
    star = table.errors["U0", "infograph*"]
    assert (star.mae, star.ratio, star.interval, star.reason) == (None, None, None, "the loss is nan.")
    assert table.errors["U0", "mean-teacher"].ratio == 2.0
    row = next(row for row in table2_sheet(table).rows if row[0].lines[0] == "U0, hartree")
    assert row[2 + list(COLUMNS2).index("infograph*")].lines[0] == "no figure"
    assert ["diverged" in row[2].lines for row in search_sheet(table).rows].count(True) == 1


def test_three_seeds_have_an_interval_over_seeds(results):
    results.search(decay=0.0, lam=1e-3)
    base, own = (2.0, 2.5, 4.0), (1.0, 1.5, 1.6)
    for seed, (theirs, ours) in enumerate(zip(base, own, strict=True)):
        results.error("U0", "supervised", [theirs], seed=seed)
        results.error("U0", "infograph*", [ours], seed=seed)
    results.error("U0", "infograph", [2.0], seed=1)  # one seed: over its molecules
    table = read_table2(results.folder)
    star, ratios = table.errors["U0", "infograph*"], np.divide(own, base)
    assert star.mae == pytest.approx(np.mean(own)) and star.ratio == pytest.approx(ratios.mean())
    reach = stats.t.interval(0.95, 2, loc=ratios.mean(), scale=stats.sem(ratios))
    assert star.interval == pytest.approx(reach)
    assert str(table.lengths["U0"]) == "50 epochs, 3 seeds" and table.lengths["U0"].over == "seeds"
    assert table.errors["U0", "infograph"].ratio == pytest.approx(2.0 / 2.5)


def test_what_was_not_trained_again_has_the_first_runs_figures(results):
    results.search(decay=0.0, lam=1e-3)
    first = {"first": True, "epochs": FIRST_EPOCHS}
    for target in ("G", "U0"):
        results.error(target, "supervised", [4.0], **first)
        results.error(target, "mean-teacher", [6.0], **first)
    results.error("U0", "supervised", [1.0])
    table = read_table2(results.folder)
    assert table.errors["G", "mean-teacher"].ratio == 1.5 and table.lengths["G"].epochs == FIRST_EPOCHS
    assert table.errors["U0", "mean-teacher"].mae is None  # never beside a model that was trained otherwise
    assert table.errors["U0", "supervised"].mae == 1.0 and table.lengths["U0"].epochs == 50
    assert {cell.key for _, cell in planned_cells(results.folder)} >= {
        table2_cell("G", "supervised", **first).key,
        table2_cell("U0", "infograph*", epochs=150, lam=1e-3, weight_decay=0.0).key,
    }
