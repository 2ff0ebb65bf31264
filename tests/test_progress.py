"""What people see of a job that takes a while."""

from __future__ import annotations

import io
import math
import re

import pytest
from rich.console import Console

from infograph import GIN, InfoGraph, load_dataset, read_graphs
from infograph.progress import Progress, ProgressReport, Report, ShardProgress, least_error, validation_unit

ONE = {"loss": 1.0, "seconds": 1.0, "graphs_per_second": 1.0}
RECORD = {
    "epoch": 12,
    "loss": 1.2345,
    "supervised": 0.12345,
    "unsupervised": 1.11,
    "transfer": 0.0012345,
    "accuracy": 0.7,
    "seconds": 1.0,
    "graphs_per_second": 1234.0,
}


def test_plain_lines_where_there_is_no_terminal(capsys):
    with Report(every=0) as report:
        told = report.count("reading QM9")
        for done in (512, 130_831):
            told(done, 130_831)
        report.stage("embedding", 100)
        report.shards(ShardProgress(20_000, 1, 4, 0.25))
    first, second, read, rows, embedded = capsys.readouterr().err.splitlines()
    assert [first, second] == [f"reading QM9: {done} of 130,831" for done in ("512", "130,831")]
    assert re.fullmatch(r"reading QM9: \d+\.\d s, 130,831 of 130,831", read)
    assert re.fullmatch(r"embedding: 20,000 rows, .* per second, 1 of 4 shards", rows)
    assert re.fullmatch(r"embedding: \d+\.\d s, 20,000 rows, .*", embedded)


def test_nothing_is_shown_of_quick_readers(capsys, tmp_path):
    (tmp_path / "a.smi").write_text("CCO\nCCN\n")
    with Report() as report:
        read_graphs(tmp_path / "a.smi", progress=report.count("reading"))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("width", [60, 80])
def test_bars_on_a_terminal(width):
    text = io.StringIO()
    with Report(Console(file=text, force_terminal=True, width=width)) as report:
        told = report.count("reading a[old].csv")
        for job in (0, 1):  # a download, then the parsing
            for done in (1, 60, 100):
                told(done, 100 if job else 0)
    assert "reading a[old].csv" in text.getvalue() and "100 of 100" in text.getvalue()


def shown(width, terminal, unit="hartree", error=0.4212):
    text = io.StringIO()
    with ProgressReport(Console(file=text, force_terminal=terminal, width=width), unit=unit) as report:
        report(Progress(12, 50, 1, 2, RECORD))
        report(Progress(12, 50, 2, 2, {**RECORD, "lr": 1e-3, "validation": error}))
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text.getvalue()).replace("\r", "\n")


def test_plain_lines_show_every_term_and_the_error_in_its_unit():
    line = shown(60, terminal=False).strip()
    assert line.startswith("epoch 12/50  loss 1.234  supervised 0.123  unsupervised 1.11  transfer 0.00123")
    assert "validation 0.4212 hartree" in line and line.endswith("left")
    assert "validation 12.5 % wrong" in shown(60, terminal=False, unit="% wrong", error=0.125)


def test_time_left_is_that_of_the_stage():
    """A quarter of the heads took two seconds; the epochs that follow are not charged with it."""
    text = io.StringIO()
    with ProgressReport(Console(file=text, force_terminal=False, width=200)) as report:
        report(Progress(1, 1, 1, 4, {"seconds": 2.0}, what="heads"))
        report(Progress(1, 3, 1, 1, {**RECORD, "seconds": 10.0}))
    first, second = text.getvalue().splitlines()
    assert first == "heads 1/4  0:00:06 left" and second.startswith("epoch 1/3  ")
    assert second.endswith("0:00:20 left")


@pytest.mark.parametrize("width", [40, 60, 140])
def test_live_lines_fit_the_terminal(width):
    text = shown(width, terminal=True)
    assert max(map(len, text.splitlines())) <= width
    assert "epoch 12/50" in text and "hartree" in text


@pytest.mark.parametrize(
    ("runs", "epochs", "expected"),
    [
        (3, (1, 2) * 3, [f"run {run}/3 epoch {epoch}/2" for run in (1, 2, 3) for epoch in (1, 2)]),
        (1, (1, 2, 2, 3), ["epoch 1/3", "epoch 2/3", "epoch 2/3", "epoch 3/3"]),  # a worker was lost
    ],
)
def test_runs_that_follow_each_other_are_counted(runs, epochs, expected):
    text = io.StringIO()
    with ProgressReport(Console(file=text, width=80), every=0, runs=runs) as report:
        for epoch in epochs:
            report(Progress(epoch, max(epochs), 1, 1, ONE))
    assert [line.split("  ")[0] for line in text.getvalue().splitlines()] == expected
    assert text.getvalue().rstrip().endswith("0:00 left")


def test_verbose_writes_to_standard_error_only(capsys):
    InfoGraph(dim=8, epochs=2, verbose=True, encoder=GIN(layers=2)).fit(load_dataset("MUTAG")[:30])
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    assert captured.out == "" and [line.split("  ")[0] for line in lines] == ["epoch 1/2", "epoch 2/2"]
    assert all("loss" in line and "MI" in line and "pairs" in line and "graphs/s" in line for line in lines)


def test_the_least_error_is_no_nan():
    errors = {1: (math.nan, 0.3, math.nan, 0.5), 2: (0.1, math.nan)}
    history = [{"model": model, "validation": error} for model in errors for error in errors[model]]
    assert least_error(history) == pytest.approx(0.2)
    assert math.isnan(least_error([{"validation": math.nan}]))


def test_validation_units():
    assert validation_unit(["hartree"]) == "hartree"
    assert validation_unit(["", "K"]) == "deviations"
    assert validation_unit([""], classes=True) == "% wrong"
    assert validation_unit(["", ""], classes=True) == ""
