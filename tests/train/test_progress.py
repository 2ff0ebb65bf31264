"""What people see while a model trains."""

from __future__ import annotations

import io

from rich.console import Console

from infograph import InfoGraph, load_dataset
from infograph.train.progress import ProgressReport, duration


def test_plain_lines_where_there_is_no_terminal():
    text = io.StringIO()
    with ProgressReport(Console(file=text, width=60), every=0) as report:
        InfoGraph(dim=8, layers=2, epochs=3).fit(load_dataset("MUTAG")[:30], watchers=[report])
    lines = text.getvalue().splitlines()
    assert [line.split("  ")[0] for line in lines] == ["epoch 1/3", "epoch 2/3", "epoch 3/3"]
    assert all("loss" in line and "MI" in line and "pairs" in line and "graphs/s" in line for line in lines)
    assert lines[-1].endswith("0:00 left")


def test_a_live_line_on_a_terminal():
    text = io.StringIO()
    with ProgressReport(Console(file=text, force_terminal=True, width=100)) as report:
        InfoGraph(dim=8, layers=2, epochs=2).fit(load_dataset("MUTAG")[:30], watchers=[report])
    assert "epoch 2/2" in text.getvalue()


def test_verbose_writes_to_standard_error_only(capsys):
    InfoGraph(dim=8, layers=2, epochs=2, verbose=True).fit(load_dataset("MUTAG")[:30])
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "epoch 2/2" in captured.err


def test_durations():
    assert duration(5) == "0:05"
    assert duration(125.4) == "2:05"
    assert duration(3725) == "1:02:05"
