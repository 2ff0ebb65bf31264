"""What a kill or a second process leaves: whole folders under their names, and nothing else."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import textwrap
import time
from multiprocessing import get_context
from pathlib import Path

import psutil
import pytest

from infograph import InfoGraph, load, load_dataset, save_graphs
from infograph.errors import JobStopped
from infograph.io import LOCK, locked, writing
from infograph.train.checkpoint import FILE
from tests.processes import started


def die_while_saving(folder: Path, after: str) -> None:
    """Save a second model into a folder, in a process that ends in the middle of the replacement."""
    script = f"""
    import os
    from pathlib import Path
    import infograph, infograph.io as io
    exchange, replace = io._exchange, Path.replace
    if {after!r} == "exchange":
        io._exchange = lambda *paths: (exchange(*paths), os._exit(9))
    else:
        io._exchange = lambda *paths: False
        Path.replace = lambda *paths: (replace(*paths), os._exit(9))
    infograph.InfoGraph(dim=8, epochs=0).fit(infograph.load_dataset("MUTAG")[:9]).save({str(folder)!r})
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=False, capture_output=True)
    assert done.returncode == 9, done.stderr.decode()


@pytest.mark.parametrize("after", ["exchange", "first rename"])
def test_a_model_is_there_after_a_kill_while_it_is_replaced(tmp_path, after):
    graphs, folder = load_dataset("MUTAG")[:9], tmp_path / "model"
    model = InfoGraph(dim=4, epochs=0).fit(graphs)
    model.save(folder)
    die_while_saving(folder, after)
    if after == "exchange":
        assert load(folder).dim == 8  # the new one, whole
    else:  # a system without exchange: the old one comes back with the next write
        with writing(folder):
            assert load(folder).dim == 4
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] != ["model"] or after != "exchange"
    model.save(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["model"] and load(folder).dim == 4


def test_folders_of_living_processes_are_not_swept(tmp_path):
    graphs = load_dataset("MUTAG")[:3]
    save_graphs(graphs, tmp_path / "g")
    own = tmp_path / f".g-{platform.node()}-{os.getppid()}-abcd"
    other = tmp_path / ".g-notes"
    for folder in (own, other):
        folder.mkdir()
    save_graphs(graphs, tmp_path / "g")
    assert own.is_dir() and other.is_dir()


def test_what_a_killed_store_left_is_swept(tmp_path):
    (tmp_path / "a.smi").write_text("CCO\nCC\nCCC\n")
    script = (
        "import os, infograph.scale.store as s; s.store_graphs('a.smi', 'g', block=1, progress=lambda _: {})"
    )
    for end, code in (("os._exit(9)", 9), ("None", 0)):
        done = subprocess.run([sys.executable, "-c", script.format(end)], cwd=tmp_path, check=False)
        assert done.returncode == code
        assert len([path for path in tmp_path.iterdir() if path.is_dir()]) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.smi", "g"]


@pytest.mark.slow
def test_workers_and_launcher_end_with_a_killed_training(tmp_path, monkeypatch):
    script = """
    from infograph import InfoGraph, load_dataset
    told = lambda now: print(now.epoch, flush=True)
    InfoGraph(dim=8, epochs=100_000).fit(load_dataset("MUTAG")[:9], workers=2, watchers=[told])
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with started(command, stdout=subprocess.PIPE, env=environment) as run:
        assert run.stdout.readline()
        children = psutil.Process(run.pid).children(recursive=True)
        run.kill()
        _, alive = psutil.wait_procs(children, timeout=10)
        for child in alive:
            child.kill()
    assert len(children) >= 3 and not alive
    assert [path.name for path in tmp_path.glob(".*job-*")]
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    InfoGraph(dim=8, epochs=1).fit(load_dataset("MUTAG")[:9], workers=2)
    assert not list(tmp_path.glob(".*job-*")) and not list(tmp_path.glob("torchelastic*"))


def hold(file: Path, begun: Path) -> None:
    with locked(file, "busy"):
        begun.touch()
        time.sleep(60)


@pytest.mark.parametrize("what", ["checkpoint", "out"])
def test_a_second_training_is_refused(tmp_path, what):
    file = tmp_path / "state" / f"{FILE}{LOCK}" if what == "checkpoint" else tmp_path / f".model{LOCK}"
    other = get_context("spawn").Process(target=hold, args=(file, tmp_path / "begun"), daemon=True)
    other.start()
    try:
        while not (tmp_path / "begun").exists():
            time.sleep(0.05)
        model = InfoGraph(dim=4, epochs=1)
        with pytest.raises(JobStopped, match=r"in use by another training|written by another process"):
            model.fit(load_dataset("MUTAG")[:9], checkpoint=tmp_path / "state").save(tmp_path / "model")
    finally:
        other.kill()
        other.join()
    model.fit(load_dataset("MUTAG")[:9], checkpoint=tmp_path / "state").save(tmp_path / "model")


def test_sigterm_clears_up(tmp_path):
    """The process ends with 143, without its temporary folders and without its workers."""
    words = [
        "tune",
        "MUTAG",
        "--target",
        "y",
        "--out",
        "t",
        "--search",
        "lr=1e-3,1e-2,1e-4",
        "--workers",
        "2",
    ]
    run = subprocess.Popen([sys.executable, "-m", "infograph", *words, "--epochs", "3000"], cwd=tmp_path)
    parent = psutil.Process(run.pid)
    try:
        deadline = time.monotonic() + 60
        while len(parent.children(recursive=True)) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        children = parent.children(recursive=True)
        run.send_signal(signal.SIGTERM)
        assert run.wait(30) == 143
        _, alive = psutil.wait_procs(children, timeout=5)
        assert not alive
    finally:
        run.kill()
