"""Table 2 from result files: ratios, intervals, and the cells of the chosen setting only."""

from __future__ import annotations

import numpy as np
import pytest

from infograph.paper.report import COLUMNS2, search_sheet, table2_sheet
from infograph.paper.table2 import AT_ONCE, plan_table2, ratio_intervals, read_table2, tried_what


def test_intervals_are_those_of_a_plain_loop():
    rng = np.random.default_rng(3)
    ours, theirs = rng.gamma(2.0, 1.0, 50), rng.gamma(2.0, 1.2, 50)
    draws = np.random.default_rng(7)
    ratios = []
    for _ in range(AT_ONCE + 30):  # more than one portion
        molecules = draws.integers(50, size=50)
        ratios.append(ours[molecules].mean() / theirs[molecules].mean())
    errors = {"base": theirs, "ours": ours, "half": 0.5 * theirs}
    found = ratio_intervals(errors, "base", level=0.9, resamples=AT_ONCE + 30, seed=7)
    assert found["ours"] == pytest.approx(np.quantile(ratios, [0.05, 0.95]), rel=1e-12)
    assert found["base"] == pytest.approx((1.0, 1.0))
    assert found["half"] == pytest.approx((0.5, 0.5))  # molecules are paired


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
        results.error("alpha", "supervised", [1.0], validation=1 - 100 * decay, weight_decay=decay)
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
    results.diverged("U0", "infograph*", lam=1e-4)
    results.diverged("alpha", "infograph", lam=1e-3)  # of the search
    table = read_table2(results.folder)
    star = table.errors["U0", "infograph*"]
    assert (star.mae, star.ratio, star.interval, star.reason) == (None, None, None, "the loss is nan.")
    assert table.errors["U0", "mean-teacher"].ratio == 2.0
    row = next(row for row in table2_sheet(table).rows if row[0].lines[0] == "U0, hartree")
    assert row[2 + list(COLUMNS2).index("infograph*")].lines[0] == "no figure"
    assert ["diverged" in row[2].lines for row in search_sheet(table).rows].count(True) == 1
