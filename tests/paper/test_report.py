"""The report: marks, empty cells, counts, README's blocks, and a page that needs nothing else."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import t as student
from typer.testing import CliRunner

from benchmarks.readme import table1_block, table2_block
from infograph.cli.reproduce import reproduce
from infograph.evaluate.published import paper_table1, paper_table2
from infograph.paper.report import cost_of, sides1, sides2, table1_sheet, write_report
from infograph.paper.run import whole_status
from infograph.paper.table1 import BASES, read_table1, row_of, row_titles
from infograph.paper.table2 import PUBLISHED, read_table2

RESULTS = Path(__file__).parents[2] / "results"

WL = [f"rounds={rounds} normalise=True" for rounds in (1, 2, 3, 4, 5)]
HISTORY = [
    {"epoch": n, "loss": 2 / n, "supervised": 1 / n, "transfer": 1 / n, "lr": 0.001, "validation": 3 / n}
    for n in (1, 2, 3)
]


@pytest.fixture
def some(results):
    """WL on MUTAG below the paper, degrees without a paper, a reason, and U0 with the chosen settings."""
    for repeat, shift in enumerate((-0.001, 0.0, 0.001)):
        for setting in WL:
            results.accuracy("MUTAG", "wl", setting, repeat, 0.76 + shift)
        results.accuracy("MUTAG", "degrees", "default", repeat, 0.85)
    results.accuracy("MUTAG", "rw", "default", 0, 0.0, empty="needs <1 TB> | more")
    for rate, outer in ((0.01, [0.7, 0.8, 0.9]), (0.001, [0.9, 0.91, 0.92])):
        results.accuracy("IMDB-BINARY", "infograph", f"layers=4 lr={rate}", 0, outer)
    results.search(decay=0.0, lam=1e-4)
    base = np.linspace(1, 2, 40)
    results.error("U0", "supervised", base)
    results.error("U0", "infograph*", 0.6 * base, lam=1e-4, history=HISTORY)
    results.error("U0", "atom-counts", 0.01 * base)
    return results.folder


def test_the_report_is_whole_and_escaped(some, tmp_path):
    report = write_report(some, tmp_path / "out")
    one, two, three = ([entry.lines for entry in row] for row in report.agreement.rows)
    kinds = ("all methods", "InfoGraph")
    measured = ("2 of 52, 1 once", "1 of 6, 1 once")
    assert one == [("Table 1", "5 repeats"), kinds, measured, ("0", "0"), ("0", "0"), ("1 (4.7)", "0")]
    assert two[0] == ("Table 2: mu, homo, lumo, gap, r2, zpve, U, H, G, Cv", "30 epochs, 1 seed")
    assert three[0] == ("Table 2: alpha, U0", "50 epochs, 1 seed") and three[1][3] == "InfoGraph*"
    assert three[2] == ("1 of 2", "0 of 2", "0 of 2", "1 of 2")
    assert three[4] == ("1 (3.7)", "0", "0", "1 (0.16)")
    page, tables = report.page.read_text(), report.tables.read_text()
    assert not re.search(r"""(src|href)=["']?(http|//)""", page) and "<script" not in page
    assert "needs &lt;1 TB&gt; | more" in page and "a &lt;fast&gt; one" in page
    assert "GraphMAE" in page and "not measured here" in page and page.count("</svg>") == 2
    assert "3 of 5 repeats" in page and "6 of 27 settings" in page
    assert "needs &lt;1 TB> \\| more" in tables and "GraphMAE" not in tables and "Variants" not in tables
    rows = [line for line in tables.splitlines() if line.startswith("| ")]
    assert all(len(re.findall(r"(?<!\\)\|", row)) > 2 for row in rows)


def test_nothing_at_all_is_a_report_of_empty_tables(tmp_path):
    report = write_report(tmp_path / "none", tmp_path / "out")
    assert all(row[2].lines[0].startswith("0 of ") for row in report.agreement.rows)
    page = report.page.read_text()
    assert (
        "search for weight decay and lambda on alpha with the new inputs is not over" in page
        and "<svg" not in page
    )


def test_best_of_a_column_is_bold_and_empty_cells_are_seen(some):
    sheet = table1_sheet(read_table1(some))
    column = sheet.head.index("MUTAG")
    rows = {row[0].lines[0]: row[column] for row in sheet.rows}
    assert [name for name, entry in rows.items() if entry.bold] == ["node degrees"]
    assert rows["WL"].lines == ("76.00 ± 0.10", "76.00 ± 0.10", "80.72 ± 3.00", "-4.72", "3 of 5 repeats")
    assert rows["node degrees"].lines == ("85.00 ± 0.00", "85.00 ± 0.00", "3 of 5 repeats")
    assert rows["SP"].lines == ("not run", "", "85.22 ± 2.43")
    assert rows["RW"].lines[0] == "no figure" and rows["RW"].lines[-1] == "needs <1 TB> | more"
    assert rows["majority class"].lines == ("66.49",)


def test_readme_blocks(some):
    first, second = table1_block(read_table1(some)), table2_block(read_table2(some))
    assert first.splitlines()[0] == "| method | MUTAG | IMDB-BINARY |"  # those with results
    assert "Not run yet: PTC_MR, REDDIT-BINARY, REDDIT-MULTI-5K, IMDB-MULTI." in first
    assert "76.0 ± 0.1<br>76.0 (80.72)<br>3 of 5 repeats" in first and "not run<br>(72.30)" in first
    (u0,) = [line for line in second.splitlines() if line.startswith("| U0")]
    assert "| 1.50<br>(0.3204) | not run<br>(1.16) |" in u0
    assert "| 0.900<br>0.60 (0.44) |" in u0 and "**0.0150**<br>0.01" in u0
    assert "Not run yet: mu" in second and "| mu" not in second
    assert "lambda 0.0001 for InfoGraph\\*" in second and "is not over" not in second


def test_costs_are_those_of_whole_cells(results):
    setting = "layers=4 lr=0.01"
    results.accuracy("MUTAG", "infograph", setting, 0, [0.8, 0.8], lacking="diverged", seconds=1, peak=9999)
    for repeat, seconds in ((1, 12.0), (2, 20.0), (3, 14.0)):
        results.accuracy("MUTAG", "infograph", setting, repeat, [0.8] * 3, seconds=seconds, peak=1200)
    found = read_table1(results.folder)["MUTAG", "infograph"].found
    assert cost_of(found) == ("14", "1,200") and cost_of(found[:1]) == ("", "")


def test_how_far_it_is(some):
    found = whole_status(some)
    wl = found["table1", "MUTAG", "wl"]
    assert (wl.done, wl.cells, wl.seconds, wl.unknown) == (15, 25, 30.0, 0)
    assert found["table1", "PTC_MR", "wl"].unknown == 25
    assert found["table2", "U0", "infograph*"].done == 1 and found["table2", "U0", "infograph*"].cells == 4
    assert found["table2", "alpha", "infograph*"].seconds == 3 * 60  # as long as U0's 50 epochs
    assert sum(state.cells for (_, column, _), state in found.items() if column == "search") == 9
    shown = CliRunner().invoke(reproduce, ["status", "--results", str(some)])
    assert shown.exit_code == 0 and "wl 15/25" in shown.output


def test_variants_stand_beside_their_base(results, tmp_path):
    for repeat in (0, 1):
        results.accuracy("MUTAG", "infograph", BASES["infograph"], repeat, [0.8, 0.82, 0.81])
    results.variant("MUTAG", "linear", 1, [0.83, 0.85, 0.84])
    written = write_report(results.folder, tmp_path / "out")
    _, _, section = written.tables.read_text().partition("## Variants")
    first, second = re.findall(r"^\| (InfoGraph<br>.*?|a linear.*?) \| (.*?) \|", section, re.MULTILINE)
    assert first == ("InfoGraph<br>layers=4 lr=0.001", "82.0 ± 0.0<br>82.0<br>2 of 5 repeats")
    assert second[1] == "85.0<br>85.0<br>+3.0 (+3.0 to +3.0)<br>1 of 5 repeats"
    assert "<h2>Variants</h2>" in written.page.read_text() and "GK<br>" not in section
    assert "+3.0)<br>1 of 5 repeats | not run | not run | not run |" in section


def test_counts_of_inside_above_and_below_are_those_of_the_files():
    """A plain loop over the result files of Table 1, and one over the figures of Table 2."""
    outer = {}
    for path in (RESULTS / "table1").glob("*.json"):
        result = json.loads(path.read_text())
        of, found = result["settings"], result["evaluation"] or {"candidates": []}
        for each in found["candidates"]:
            inner, scores = np.array(each["inner"])[0], np.array(each["outer"])[0]  # (folds, values of C)
            chosen = inner.round(9).argmax(axis=1)  # of equals the smallest C
            repeats = outer.setdefault((of["data"], row_of(of)), {}).setdefault(of["repeat"], {})
            repeats[each["setting"]] = scores[np.arange(len(inner)), chosen].mean()
    counts = Counter()
    for (data, row), repeats in outer.items():
        published = paper_table1().rows.get(row_titles()[row], {}).get(data)
        whole = [each for each in repeats.values() if len(each) == max(map(len, repeats.values()))]
        if not isinstance(published, tuple) or len(whole) < 2:
            continue
        means = max(([each[setting] for each in whole] for setting in sorted(whole[0])), key=np.mean)
        gap = 100 * np.mean(means) - published[0]
        reach = 100 * np.std(means, ddof=1) / np.sqrt(len(means)) * student.ppf(0.975, len(means) - 1)
        counts["inside" if abs(gap) <= reach else "above" if gap > 0 else "below"] += 1
    sides = sides1(read_table1(RESULTS))
    assert counts == {"inside": sides.inside, "above": len(sides.above), "below": len(sides.below)}
    table = read_table2(RESULTS)
    for length, (targets, rows) in sides2(table).items():
        assert all(table.lengths[target] == length for target in targets)
        for row, sides in rows.items():
            counts.clear()
            for target in targets:
                error = table.errors[target, row]
                if error.interval is not None:
                    published = paper_table2().ratios[PUBLISHED[row]][target] if row in PUBLISHED else 1.0
                    low, high = error.interval
                    counts["below" if high < published else "above" if low > published else "inside"] += 1
            assert +counts == +Counter(inside=sides.inside, above=len(sides.above), below=len(sides.below))
    planned = [sides.planned for _, rows in sides2(table).values() for sides in rows.values()]
    assert sum(planned) == 48  # all figures of the paper's table
