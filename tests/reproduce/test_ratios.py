"""Table 2 from result files: ratios, intervals, and the cells of the chosen setting only."""

from __future__ import annotations

import numpy as np
import pytest

from infograph.paper.report import ENERGIES, ORDER, findings, search_sheet, table2_sheet
from infograph.paper.table1 import read_table1, read_variants
from infograph.paper.table2 import plan_table2, read_table2, settings_text


def test_the_search_decides_which_cells_the_table_has(results):
    results.search(decay=1e-4, lam=1e-5)
    results.error("U0", "infograph*", [9.0], weight_decay=0.0, lam=1e-3)  # of a setting that was not chosen
    results.error("U0", "infograph*", [4.0], weight_decay=1e-4, lam=1e-5)
    table = read_table2(results.folder)
    assert table.plan.open == ()
    assert [settings_text(cell) for cell in table.plan.chosen] == [
        "weight decay 0.0001",
        *["lambda 1e-05"] * 2,
    ]
    assert table.errors["U0", "infograph*"].mae == 4.0
    assert len(table.search) == 9 and all(error is not None for _, error in table.search)


def test_while_the_search_is_under_way_the_first_values_are_shown(results):
    results.error("U0", "infograph*", [9.0], weight_decay=0.0, lam=1e-3)
    table = read_table2(results.folder)
    assert table.plan.open == ("weight decay", "lambda") and table.plan.chosen == ()
    assert table.errors["U0", "infograph*"].mae == 9.0
    for decay in (0.0, 1e-3, 1e-4):
        results.error("alpha", "supervised", [1.0], validation=1 - 100 * decay, weight_decay=decay)
    plan = plan_table2(results.folder)
    assert plan.open == ("lambda",) and [settings_text(cell) for cell in plan.chosen] == [
        "weight decay 0.001"
    ]
    assert {c.settings["parameters"]["weight_decay"] for c in plan.cells if "parameters" in c.settings} == {
        1e-3
    }


def test_ratios_marks_and_counts(results):
    """On U0 the paper has 0.44 for InfoGraph* and 1.16 for Mean Teacher."""
    results.search(decay=0.0, lam=1e-3)
    base = np.random.default_rng(0).gamma(1.0, 1.0, 200)
    noise = np.random.default_rng(1).uniform(0.7, 1.3, 200)
    results.error("U0", "supervised", base)
    results.error("U0", "infograph*", 0.44 * base * noise)
    results.error("U0", "mean-teacher", 0.5 * base)
    results.error("U0", "mean", 3 * base)
    table = read_table2(results.folder)
    star, teacher = table.errors["U0", "infograph*"], table.errors["U0", "mean-teacher"]
    assert star.ratio == pytest.approx((base * noise).mean() / base.mean() * 0.44)
    assert star.interval is not None and star.interval[0] < 0.44 < star.interval[1] and star.inside
    assert teacher.interval == pytest.approx((0.5, 0.5)) and not teacher.inside
    assert teacher.difference == pytest.approx(0.5 - 1.16)
    assert table.errors["U0", "mean"].published is None and not table.errors["U0", "mean"].inside
    assert table.below({"U0": 1.0}) == ["U0"]
    assert table.below(table.lower_ends("mean-teacher")) == ["U0"]
    assert table.below({"U0": 0.4}) == []


def test_without_the_supervised_model_there_is_an_error_and_no_ratio(results):
    results.error("G", "atom-counts", [0.5, 1.5])
    error = read_table2(results.folder).errors["G", "atom-counts"]
    assert (error.mae, error.ratio, error.interval) == (1.0, None, None)


def test_a_training_that_diverged_has_no_figure_and_says_why(results):
    results.search(decay=0.0, lam=1e-4)
    results.error("U0", "supervised", [1.0, 2.0])
    results.error("U0", "mean-teacher", [2.0, 4.0])
    results.diverged("U0", "infograph*", lam=1e-4)
    results.diverged("alpha", "infograph", lam=1e-3)  # of the search
    table = read_table2(results.folder)
    star = table.errors["U0", "infograph*"]
    assert (star.mae, star.ratio, star.interval, star.reason) == (None, None, None, "the loss is nan.")
    assert table.errors["U0", "mean-teacher"].ratio == 2.0
    assert "InfoGraph* has no figure on U0: the loss is nan." in _said(results)
    row = next(row for row in table2_sheet(table).rows if row[0].lines[0] == "U0, hartree")
    assert "no figure" in row[2 + ORDER.index("infograph*")].lines
    assert ["diverged" in row[2].lines for row in search_sheet(table).rows].count(True) == 1


def test_four_energies_are_four_runs_of_one_task(results):
    results.search(decay=0.0, lam=1e-3)
    for number, target in enumerate(ENERGIES, 1):
        results.error(target, "supervised", [1.0 * number])
        assert not any("4 runs" in line for line in _said(results))
        results.error(target, "infograph*", [0.5 + number])
    (line,) = (line for line in _said(results) if "4 runs" in line)
    assert "error goes from 1 to 4 hartree, and the ratio of InfoGraph* from 1.12 to 1.50 there." in line


def _said(results):
    tables = (read_table1(results.folder), read_table2(results.folder), read_variants(results.folder))
    return findings(*tables)
