"""What people see while a data set is read for the first time."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from infograph.data.graphset import GraphSet
from infograph.progress import OnProgress, Reading
from tests.cli.conftest import Run


def test_plain_lines_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with Reading("QM9") as bar:
        for done in (512, 1024, 130_831):
            bar(done, 130_831)
    lines = ["reading QM9: 512 of 130,831", "reading QM9: 130,831 of 130,831"]
    assert capsys.readouterr().err.splitlines() == lines


def test_nothing_is_shown_of_quick_readers(capsys: pytest.CaptureFixture[str]) -> None:
    with Reading("MUTAG"):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("width", [60, 80])
def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=width)
    monkeypatch.setattr("infograph.progress.err", lambda: console)
    with Reading("QM9") as bar:
        for job in (0, 1):  # a download, then the parsing
            for done in (1, 60, 100):
                bar(done, 100 if job else 0)
    assert "reading QM9" in text.getvalue() and "100/100" in text.getvalue()


def test_the_bar_reaches_the_reader(
    run: Run, monkeypatch: pytest.MonkeyPatch, corner_cases: GraphSet
) -> None:
    def slow(name: str, *, download: bool | None, progress: OnProgress) -> GraphSet:
        progress(10, 10)
        return corner_cases

    monkeypatch.setattr("infograph.data.datasets.load_dataset", slow)
    done = run("info", "QM9", "--json")
    assert done.json["graphs"] == 10
    assert done.err == "reading QM9: 10 of 10\n"


def test_a_file_has_no_bar(run: Run, molecules: Path) -> None:
    assert run("info", molecules).err == ""
