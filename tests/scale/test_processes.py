"""Real processes: the same bits as in one, and the loss of one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from infograph.errors import InvalidGraph, JobStopped
from infograph.scale import Progress, embed_shards
from infograph.scale.embed import ProcessPool
from tests.scale.conftest import Write, everything, molecules
from tests.workers.processes import alive, started, wait_for

PARENT = """
import sys
from infograph.scale import embed_shards
from infograph.scale.embed import ProcessPool
start = ProcessPool.start
def told(self):
    worker = start(self)
    print(self.pids[-1], flush=True)
    return worker
ProcessPool.start = told
embed_shards(sys.argv[1], sys.argv[2], sys.argv[3], workers=2, block=5)
"""


@pytest.fixture
def pools(monkeypatch: pytest.MonkeyPatch) -> list[ProcessPool]:
    """The pools that a test makes."""
    made: list[ProcessPool] = []
    make = ProcessPool.__init__

    def remember(self: ProcessPool, *given: object) -> None:
        make(self, *given)  # type: ignore[arg-type]
        made.append(self)

    monkeypatch.setattr(ProcessPool, "__init__", remember)
    return made


@pytest.fixture
def one_thread() -> object:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_a_killed_worker_costs_nothing(
    model: Path, write: Write, tmp_path: Path, pools: list[ProcessPool]
) -> None:
    """Two processes, one of them killed in the middle of a shard, give the bits of an undisturbed one."""
    for n in range(6):
        write(f"p{n}.parquet", [*molecules(600, seed=n), "(("])
    (tmp_path / "in" / "bad.parquet").write_bytes(b"no shard")
    killed: list[int] = []

    def kill(now: Progress) -> None:
        if now.rows > 0 and not killed:
            killed.append(pools[0].pids[0])
            os.kill(killed[0], signal.SIGKILL)

    report = embed_shards(model, tmp_path / "in", tmp_path / "two", workers=2, block=20, progress=kill)
    assert (report.rows, report.embedded, report.rejected) == (3606, 3600, 6)
    assert [failure.shard for failure in report.failed] == ["bad"]
    assert killed and len(pools[0].pids) == 3
    assert not any(alive(pid) for pid in pools[0].pids)
    embed_shards(model, tmp_path / "in", tmp_path / "one", block=20)
    assert everything(tmp_path / "two") == everything(tmp_path / "one")


@pytest.mark.slow
def test_workers_end_with_the_process_that_started_them(model: Path, write: Write, tmp_path: Path) -> None:
    for n in range(4):
        write(f"p{n}.parquet", molecules(3000, seed=n))
    command = [sys.executable, "-c", PARENT, str(model), str(tmp_path / "in"), str(tmp_path / "out")]
    with started(command, stdout=subprocess.PIPE) as parent:
        pids = [int(parent.stdout.readline()) for _ in range(2)]  # type: ignore[union-attr]
        parent.kill()
        wait_for(lambda: not any(map(alive, pids)))
    assert embed_shards(model, tmp_path / "in", tmp_path / "out", block=5000).rows == 12_000


@pytest.mark.slow
def test_mistakes_of_workers_are_sentences(model: Path, write: Write, tmp_path: Path) -> None:
    write("a.parquet", ["(("])
    with pytest.raises(InvalidGraph, match=r"graph 0 \(id 'a:0'\): .*a\.parquet, row 1: the SMILES"):
        embed_shards(model, tmp_path / "in", tmp_path / "out", workers=2, errors="raise")
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for path in model.iterdir():
        (damaged / path.name).write_bytes(path.read_bytes())
    (damaged / "model.safetensors").write_bytes(b"")
    with pytest.raises(JobStopped, match=r"model.safetensors is damaged: its checksum"):
        embed_shards(damaged, tmp_path / "in", tmp_path / "other", workers=2)
