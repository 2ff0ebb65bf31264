"""The report: marks, empty cells, sentences, README's blocks, and a page that needs nothing else."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from infograph.paper.report import course, grid_text, readme_blocks, table1_sheet, write_report
from infograph.paper.run import standings
from infograph.paper.table1 import BASES, read_table1
from infograph.report.pages import Sheet, as_html, as_markdown, signed, text

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


def test_sentences_come_from_the_figures(some, tmp_path):
    sentences = write_report(some, tmp_path / "out").summary
    assert sentences[0].startswith("Table 1: of the paper's 52 accuracies 2 were measured and 1 reproduced")
    for expected in (
        "InfoGraph: reproduced on IMDB-BINARY.",
        "WL: lower than the paper on MUTAG (by 4.7 points).",
        "RW has no figure on MUTAG: needs <1 TB> | more.",
        "Table 1 has no results yet on PTC_MR, REDDIT-BINARY, REDDIT-MULTI-5K and IMDB-MULTI.",
        "Accuracies of Table 1 that lack repeats or settings, and say so: 3.",
        "InfoGraph* has a smaller error than the supervised model on 1 of 2 targets, with its whole interval "
        "below 1: U0.",
        "“Atom counts” has a smaller error than InfoGraph* on U0.",
        "Not run on alpha: atom counts.",
    ):
        assert expected in sentences
    assert any("ours is higher on alpha (by 0.060) and U0 (by 0.160)" in each for each in sentences)


def test_the_page_is_whole_and_escaped(some, tmp_path):
    report = write_report(some, tmp_path / "out")
    page = report.page.read_text()
    assert not re.search(r"""(src|href)=["']?(http|//)""", page) and "<script" not in page
    assert "needs &lt;1 TB&gt; | more" in page and "a &lt;fast&gt; one" in page
    assert "GraphMAE" in page and "not measured here" in page
    assert page.count("data:image/svg+xml") == 2 and page.count("data:image/png") == 2
    assert "3 of 5 repeats" in page and "6 of 27 settings" in page
    tables = report.tables.read_text()
    assert "needs &lt;1 TB> \\| more" in tables and "GraphMAE" not in tables
    rows = [line for line in tables.splitlines() if line.startswith("| ")]
    assert all(len(re.findall(r"(?<!\\)\|", row)) > 2 for row in rows)


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


def test_readme_blocks_are_the_same_bytes_each_time(some):
    first, again = readme_blocks(some), readme_blocks(some)
    assert first == again and list(first) == ["table1", "table2"]
    lines = first["table1"].splitlines()
    assert lines[0] == "| method | MUTAG | IMDB-BINARY |"  # those with results
    absent = "Not run yet: PTC\\_MR, REDDIT-BINARY, REDDIT-MULTI-5K and IMDB-MULTI."
    assert absent.replace("\\_", "_") in first["table1"].replace("\\_", "_")
    assert "76.0 ± 0.1<br>76.0 (80.72)<br>3 of 5 repeats" in first["table1"]
    assert "not run<br>(72.30)" in first["table1"]
    (u0,) = [line for line in first["table2"].splitlines() if line.startswith("| U0")]
    assert "| 1.50<br>(0.3204) | not run<br>(1.16) |" in u0
    assert "| 0.900<br>0.60 (0.44) |" in u0 and "**0.0150**<br>0.01" in u0
    assert "Not run yet: mu" in first["table2"] and "| mu" not in first["table2"]
    assert "lambda 0.0001 for InfoGraph\\*" in first["table2"] and "is not over" not in first["table2"]


def test_nothing_at_all_is_a_report_of_empty_tables(tmp_path):
    report = write_report(tmp_path / "none", tmp_path / "out")
    assert "Table 2: 0 of 84 errors were measured." in report.summary
    assert "search for weight decay and lambda on alpha is not over" in report.page.read_text()
    assert "data:image" not in report.page.read_text()


def test_files_of_other_settings_are_counted_and_left_out(some, tmp_path):
    (some / "table1" / "MUTAG-other-0-12345678.json").write_text("{}")
    assert "Result files of other settings, not shown: 1." in write_report(some, tmp_path / "out").summary


def test_accuracy_against_epochs(some):
    lines = course(read_table1(some)["IMDB-BINARY", "infograph"])
    assert lines == {
        (4, 0.01): pytest.approx([70.0, 80.0, 90.0]),
        (4, 0.001): pytest.approx([90.0, 91.0, 92.0]),
    }


def test_sheets_are_plain_text_in_both_forms():
    sheet = Sheet(("a|b", "c"), ((text("x*", "", "<y>", ""), text("1", bold=True)), (text("part"),)))
    assert as_markdown(sheet).splitlines() == [
        "| a\\|b | c |",
        "|---|--:|",
        "| x\\*<br><br>&lt;y> | **1** |",
        "| *part* |  |",
    ]
    page = as_html(sheet)
    assert "<small>&lt;y&gt;</small>" in page and "<strong>1</strong>" in page and 'colspan="2"' in page


@pytest.mark.parametrize(
    ("value", "shown"), [(-0.0001, "0.00"), (0.001, "0.00"), (1.239, "+1.24"), (-2.0, "-2.00")]
)
def test_a_difference_that_rounds_to_zero_has_no_sign(value, shown):
    assert signed(value, 2) == shown


def test_grids_in_words():
    assert grid_text(["layers=4 lr=0.1", "layers=8 lr=0.1", "layers=4 lr=0.1"]) == "layers 4 / 8, lr 0.1"
    assert grid_text(["default", "default"]) == "one setting"
    assert grid_text(["wl", "walk"]) == "wl, walk"


def test_how_far_it_is(some):
    found = {(each.table, each.column, each.row): each.outlook for each in standings(some)}
    wl = found["table1", "MUTAG", "wl"]
    assert (wl.done, wl.cells, wl.seconds, wl.unknown) == (15, 25, 30.0, 0)
    assert found["table1", "PTC_MR", "wl"].unknown == 25
    assert (
        found["table2", "U0", "infograph*"].done == 1 and found["table2", "G", "infograph*"].seconds == 60.0
    )
    assert sum(outlook.cells for (_, column, _), outlook in found.items() if column == "search") == 6


def test_the_verbs(some, tmp_path):
    import typer

    from infograph.cli.reproduce import report, status

    app = typer.Typer()
    app.command("report")(report)
    app.command("status")(status)
    run = CliRunner()
    written = run.invoke(app, ["report", "--results", str(some), "--out", str(tmp_path / "out")])
    assert written.exit_code == 0 and "WL: lower than the paper on MUTAG" in written.output
    assert (tmp_path / "out" / "report.html").is_file() and (tmp_path / "out" / "tables.md").is_file()
    shown = run.invoke(app, ["status", "--results", str(some)])
    assert shown.exit_code == 0 and "wl 15/25" in shown.output
    listed = json.loads(run.invoke(app, ["status", "--results", str(some), "--json"]).stdout)
    row = next(each for each in listed if (each["column"], each["row"]) == ("MUTAG", "wl"))
    assert (row["table"], row["done"], row["cells"], row["seconds"]) == ("table1", 15, 25, 30.0)


def test_variants_stand_beside_their_base(results, tmp_path):
    for repeat in (0, 1):
        results.accuracy("MUTAG", "infograph", BASES["infograph"], repeat, [0.8, 0.82, 0.81])
    results.variant("MUTAG", "linear", 1, [0.83, 0.85, 0.84])
    written = write_report(results.folder, tmp_path / "out")
    _, _, section = written.tables.read_text().partition("## Variants")
    first, second = re.findall(r"^\| (InfoGraph<br>.*?|a linear.*?) \| (.*?) \|", section, re.MULTILINE)
    assert first == ("InfoGraph<br>layers=4 lr=0.001", "82.0 ± 0.0<br>82.0<br>2 of 5 repeats")
    assert second[1] == "85.0<br>85.0<br>+3.0<br>1 of 5 repeats"
    assert "<h2>Variants</h2>" in written.page.read_text() and "GK<br>" not in section
    assert "3.0<br>1 of 5 repeats | not run | not run | not run |" in section


def test_what_one_change_does_is_said(results, tmp_path):
    for repeat in range(5):
        results.accuracy("IMDB-BINARY", "infograph", BASES["infograph"], repeat, [0.7, 0.7, 0.7])
        results.variant("IMDB-BINARY", "degree", repeat, [0.72, 0.75, 0.74])
        results.variant("IMDB-BINARY", "mean", repeat, [0.7, 0.7, 0.7])
    first, second = (
        s for s in write_report(results.folder, tmp_path / "out").summary if "ariant" in s or "One" in s
    )
    assert "2 tests of which 0.1 would" in first and first.endswith("Worse: none.")
    better = "InfoGraph with degrees as node features on IMDB-BINARY (+5.0 points, p below 0.001)"
    assert f"Better: {better}." in first
    assert "mean readout" not in first
    assert second.startswith("Variants of InfoGraph that reach the paper's 73.0 on IMDB-BINARY")
    assert second.endswith("degrees as node features (75.0).")


def test_no_variants_no_section(some, tmp_path):
    assert "Variants" not in write_report(some, tmp_path / "out").tables.read_text()
