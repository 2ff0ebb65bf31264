"""Calls in processes of this machine: what one raises ends the others, and none is left behind."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from pathlib import Path

import pytest

from infograph.jobs import side_by_side
from tests.workers.processes import alive, children_of, started, wait_for

LONG = 300.0  # seconds
PARENT = """
import sys
import time
from pathlib import Path
from infograph.jobs import side_by_side

def work(name):
    Path(name).touch()
    time.sleep(300)

if __name__ == "__main__":
    list(side_by_side(work, sys.argv[1:], workers=2))
"""
in_proc = pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="processes are found in /proc")


def fail_or_sleep(folder: Path | None) -> None:
    """Without a folder fail; else leave the process's id there, and sleep."""
    if folder is None:
        raise ValueError("a mistake in one of them")
    (folder / f"{os.getpid()}").touch()
    time.sleep(LONG)


def fail_late(folder: Path) -> None:
    """The first of two sleeps; the second waits for it, and fails."""
    try:
        (folder / "first").touch(exist_ok=False)
    except FileExistsError:
        wait_for(lambda: len(list(folder.iterdir())) > 1)
        fail_or_sleep(None)
    fail_or_sleep(folder)


@in_proc
def test_an_error_ends_the_others_at_once_and_quietly(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match="a mistake in one of them"):
        list(side_by_side(fail_late, [tmp_path, tmp_path], workers=2))
    (sleeper,) = [int(path.name) for path in tmp_path.iterdir() if path.name != "first"]
    assert not alive(sleeper) and not multiprocessing.active_children()
    assert capfd.readouterr().err == ""


@in_proc
def test_one_who_stops_listening_ends_them(tmp_path: Path) -> None:
    heard = side_by_side(fail_late, [tmp_path / "none", tmp_path], workers=1)
    with pytest.raises(FileNotFoundError):
        next(heard)
    outcomes = side_by_side(abs, [-1, -2, -3], workers=2)
    assert next(outcomes)[1] in (1, 2)
    outcomes.close()
    assert not multiprocessing.active_children()


def test_all_outcomes_come_and_no_process_stays() -> None:
    found = dict(side_by_side(abs, range(-4, 0), workers=2))
    assert found == {-4: 4, -3: 3, -2: 2, -1: 1}
    assert not multiprocessing.active_children()


@in_proc
def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    marks = [tmp_path / "first", tmp_path / "second"]
    with started([sys.executable, script, *marks], env={**os.environ, "PYTHONPATH": "."}) as parent:
        wait_for(lambda: all(mark.is_file() for mark in marks) or parent.poll() is not None)
        family = children_of(parent.pid)
        assert len(family) >= 2  # workers, and the tracker of resources
        parent.kill()
        wait_for(lambda: not any(alive(pid) for pid in family))
