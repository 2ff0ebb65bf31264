"""What people see while a model trains."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from infograph import GIN, InfoGraph, load_dataset
from infograph.progress import Progress, ProgressReport, duration, validation_unit

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


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (140, "transfer 0.00123  pairs 70.0 %  validation 0.4212 hartree  1,234 graphs/s"),
        (80, "sup. 0.123  unsup. 1.11  transfer 0.00123  pairs 70.0 %  val. 0.4212 hartree"),
        (60, "sup. 0.123  unsup. 1.11  val. 0.4212 hartree"),
        (40, "sup. 0.123  val. 0.4212 hartree"),
    ],
)
def test_live_lines_fit_the_terminal(width, expected):
    lines = [line.rstrip() for line in shown(width, terminal=True).splitlines()]
    assert any(line.endswith(expected) for line in lines) and max(map(len, lines)) <= width
    assert any(line.startswith("epoch 12/50") and line.endswith("left") for line in lines)


@pytest.mark.parametrize(
    ("runs", "epochs", "starts"),
    [
        (3, [1, 2, 1, 2, 1, 2], [f"run {run}/3 epoch {epoch}/2" for run in (1, 2, 3) for epoch in (1, 2)]),
        (1, [1, 2, 2], ["epoch 1/2", "epoch 2/2", "epoch 2/2"]),  # a worker was lost in epoch 2
    ],
)
def test_runs_that_follow_each_other_are_counted(runs, epochs, starts):
    text = io.StringIO()
    with ProgressReport(Console(file=text, width=80), every=0, runs=runs) as report:
        for epoch in epochs:
            report(Progress(epoch, 2, 1, 1, {"loss": 1.0, "seconds": 1.0, "graphs_per_second": 1.0}))
    assert [line.split("  ")[0] for line in text.getvalue().splitlines()] == starts
    assert text.getvalue().rstrip().endswith("0:00 left")


def test_verbose_writes_to_standard_error_only(capsys):
    InfoGraph(dim=8, epochs=2, verbose=True, encoder=GIN(layers=2)).fit(load_dataset("MUTAG")[:30])
    captured = capsys.readouterr()
    assert captured.out == ""
    (last,) = [line for line in captured.err.splitlines() if line.startswith("epoch 2/2")]
    assert all(word in last for word in ("loss", "MI", "pairs", "graphs/s", "0:00 left"))


def test_units_and_durations():
    assert validation_unit(["hartree"]) == "hartree"
    assert validation_unit(["", "K"]) == "deviations"
    assert validation_unit([""], classes=True) == "% wrong"
    assert [duration(seconds) for seconds in (5, 125.4, 3725)] == ["0:05", "2:05", "1:02:05"]
