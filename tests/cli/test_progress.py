"""What people see of a job that takes a while."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from infograph.data.graphset import GraphSet
from infograph.progress import OnProgress, Report, ShardProgress
from tests.cli.conftest import Run


def test_plain_lines_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
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


def test_nothing_is_shown_of_quick_readers(capsys: pytest.CaptureFixture[str]) -> None:
    with Report() as report:
        report.count("reading MUTAG")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("width", [60, 80])
def test_bars_on_a_terminal(width: int) -> None:
    text = io.StringIO()
    with Report(Console(file=text, force_terminal=True, width=width)) as report:
        told = report.count("reading QM9")
        for job in (0, 1):  # a download, then the parsing
            for done in (1, 60, 100):
                told(done, 100 if job else 0)
    assert "reading QM9" in text.getvalue() and "100 of 100" in text.getvalue()


def test_the_bar_reaches_the_reader(
    run: Run, monkeypatch: pytest.MonkeyPatch, corner_cases: GraphSet
) -> None:
    def slow(name: str, *, download: bool | None, progress: OnProgress) -> GraphSet:
        progress(10, 10)
        return corner_cases

    monkeypatch.setattr("infograph.data.datasets.load_dataset", slow)
    done = run("info", "QM9", "--json")
    assert done.json["graphs"] == 10
    assert re.fullmatch(r"reading QM9: \d+\.\d s, 10 of 10\n", done.err)


def test_a_file_has_no_bar(run: Run, molecules: Path) -> None:
    assert run("info", molecules).err == ""
