"""What people see while a model trains."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from infograph import GIN, InfoGraph, load_dataset
from infograph.progress import Progress, ProgressReport, duration, validation_unit


def test_plain_lines_where_there_is_no_terminal():
    text = io.StringIO()
    with ProgressReport(Console(file=text, width=60), every=0) as report:
        InfoGraph(dim=8, epochs=3, encoder=GIN(layers=2)).fit(load_dataset("MUTAG")[:30], watchers=[report])
    lines = text.getvalue().splitlines()
    assert [line.split("  ")[0] for line in lines] == ["epoch 1/3", "epoch 2/3", "epoch 3/3"]
    assert all("loss" in line and "MI" in line and "pairs" in line and "graphs/s" in line for line in lines)
    assert lines[-1].endswith("0:00 left")


def test_a_live_line_on_a_terminal():
    text = io.StringIO()
    with ProgressReport(Console(file=text, force_terminal=True, width=100)) as report:
        InfoGraph(dim=8, epochs=2, encoder=GIN(layers=2)).fit(load_dataset("MUTAG")[:30], watchers=[report])
    assert "epoch 2/2" in text.getvalue()


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


def shown(width: int, terminal: bool, unit: str = "hartree", error: float = 0.4212) -> str:
    text = io.StringIO()
    with ProgressReport(Console(file=text, force_terminal=terminal, width=width), unit=unit) as report:
        report(Progress(12, 50, 1, 2, RECORD))
        report(Progress(12, 50, 2, 2, {**RECORD, "lr": 1e-3, "validation": error}))
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text.getvalue())
    return plain.replace("\r", "\n")


def test_plain_lines_show_every_term_and_the_error_in_its_unit():
    line = shown(60, terminal=False).strip()
    assert line.startswith("epoch 12/50  loss 1.234  supervised 0.123  unsupervised 1.11  transfer 0.00123")
    assert "validation 0.4212 hartree" in line and line.endswith("left")
    assert "validation 12.5 % wrong" in shown(60, terminal=False, unit="% wrong", error=0.125)


@pytest.mark.parametrize("width", [40, 60, 140])
def test_live_lines_fit_the_terminal(width):
    text = shown(width, terminal=True)
    assert max(map(len, text.splitlines())) <= width
    assert "epoch 12/50" in text and "hartree" in text


def test_runs_that_follow_each_other_are_counted():
    text = io.StringIO()
    one = {"loss": 1.0, "seconds": 1.0, "graphs_per_second": 1.0}
    with ProgressReport(Console(file=text, width=80), every=0, runs=3) as report:
        for _ in range(3):
            for epoch in (1, 2):
                report(Progress(epoch, 2, 1, 1, one))
    starts = [line.split("  ")[0] for line in text.getvalue().splitlines()]
    assert starts == [f"run {run}/3 epoch {epoch}/2" for run in (1, 2, 3) for epoch in (1, 2)]
    assert text.getvalue().rstrip().endswith("0:00 left")


def test_a_run_that_begins_again_is_the_same_run():
    text = io.StringIO()
    one = {"loss": 1.0, "seconds": 1.0, "graphs_per_second": 1.0}
    with ProgressReport(Console(file=text, width=80), every=0) as report:
        for epoch in (1, 2, 2, 3):  # a worker was lost in epoch 2
            report(Progress(epoch, 3, 1, 1, one))
    starts = [line.split("  ")[0] for line in text.getvalue().splitlines()]
    assert starts == ["epoch 1/3", "epoch 2/3", "epoch 2/3", "epoch 3/3"]


def test_validation_units():
    assert validation_unit(["hartree"]) == "hartree"
    assert validation_unit(["", "K"]) == "deviations"
    assert validation_unit([""], classes=True) == "% wrong"


def test_verbose_writes_to_standard_error_only(capsys):
    InfoGraph(dim=8, epochs=2, verbose=True, encoder=GIN(layers=2)).fit(load_dataset("MUTAG")[:30])
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "epoch 2/2" in captured.err


def test_durations():
    assert duration(5) == "0:05"
    assert duration(125.4) == "2:05"
    assert duration(3725) == "1:02:05"
