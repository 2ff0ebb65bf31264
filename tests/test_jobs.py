"""Calls in processes of this machine: a lost one costs its job, an error ends the others, none is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from infograph.errors import InvalidParameter, JobStopped, MissingExtra
from infograph.jobs import Lost, OverLimit, limited, run
from tests.processes import alive, interrupted, started, wait_for

LONG = 300.0  # seconds
PARENT = """
import os, sys, time
from functools import partial
from pathlib import Path
from infograph.jobs import limited, run

def work(name):
    Path(name).with_name(f"{os.getpid()}.pid").touch()
    time.sleep(300)

if sys.argv[1] == "run":
    list(run(work, sys.argv[2:], workers=2))
else:
    list(run(partial(limited, work), sys.argv[2:], workers=2))  # children of workers
"""


def work(job):
    """Do as the job says; processes leave their ids in its folder."""
    what, folder = job
    (folder / f"{os.getpid()}.pid").touch()
    if what == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "die once":
        try:
            (folder / "died").touch(exist_ok=False)
        except FileExistsError:
            return "alive"
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "fail":
        wait_for(lambda: (folder / "asleep").is_file())
        raise MissingExtra("a", "mistake")
    if what == "sleep":
        (folder / "asleep").touch()
        time.sleep(LONG)
    return os.environ["OMP_NUM_THREADS"]


def pids(folder):
    return [int(path.stem) for path in folder.glob("*.pid")]


def test_a_lost_process_costs_its_job_alone(tmp_path):
    jobs = [(what, tmp_path) for what in ("work", "die", "die once", "work", "work", "work")]
    found = list(run(work, jobs, workers=2))
    assert sorted(job[0] for job, _ in found) == sorted(job[0] for job in jobs)
    outcomes = {job[0]: outcome for job, outcome in found}
    assert outcomes == {
        "work": "1",
        "die once": "alive",
        "die": Lost("its process died 3 times (SIGKILL(-9))"),
    }
    assert not any(map(alive, pids(tmp_path)))


def test_an_error_ends_the_others_at_once_and_quietly(tmp_path, capfd):
    with pytest.raises(MissingExtra, match=r"this needs a, .*infograph\[mistake\]"):
        list(run(work, [("sleep", tmp_path), ("fail", tmp_path)], workers=2))
    assert len(pids(tmp_path)) == 2 and not any(map(alive, pids(tmp_path)))
    assert capfd.readouterr().err == ""


def test_one_who_stops_listening_ends_them(tmp_path):
    outcomes = run(work, [("work", tmp_path), ("sleep", tmp_path)], workers=2)
    next(outcomes)
    outcomes.close()
    assert not any(map(alive, pids(tmp_path)))


def test_one_worker_works_here():
    assert list(run(lambda job: (job, os.getpid()), range(2))) == [(n, (n, os.getpid())) for n in range(2)]
    with pytest.raises(InvalidParameter, match="workers=0"):
        list(run(abs, [1], workers=0))
    for on in ("ray://", "spark", "ray://host", "ray://host:port"):
        with pytest.raises(InvalidParameter, match="expected 'local'"):
            list(run(abs, [1], on=on))


def test_time_and_memory_have_limits(tmp_path):
    with pytest.raises(OverLimit, match="minutes, the budget"):
        limited(work, ("sleep", tmp_path), seconds=0.01)
    with pytest.raises(OverLimit, match="MB, the limit is 5"):
        limited(work, ("sleep", tmp_path), megabytes=5)
    with pytest.raises(JobStopped, match=r"its process died \(SIGKILL\(-9\)\)"):
        limited(work, ("die", tmp_path))
    assert limited(abs, -3, seconds=LONG, megabytes=10_000) == 3
    assert not any(map(alive, pids(tmp_path)))


@pytest.mark.parametrize("way", ["run", "limited"])
@pytest.mark.parametrize("how", ["killed", "interrupted"])
def test_processes_end_with_the_one_that_started_them(tmp_path, way, how):
    """In a script without `if __name__ == "__main__"`."""
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    command = [sys.executable, script, way, tmp_path / "first", tmp_path / "second"]
    environment = {**os.environ, "PYTHONPATH": "."}
    with started(command, stderr=subprocess.PIPE, env=environment) as parent:
        wait_for(lambda: len(pids(tmp_path)) == 2 or parent.poll() is not None)
        family = psutil.Process(parent.pid).children(recursive=True)
        assert set(pids(tmp_path)) <= {each.pid for each in family}
        if how == "killed":
            parent.kill()
        else:
            assert "KeyboardInterrupt" in interrupted(parent)
        wait_for(lambda: not any(alive(each.pid) for each in family))
