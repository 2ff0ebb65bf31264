"""Workers that die in the middle of their work, once: by themselves, so that no clock decides when.

Also the program of a worker of a training run on this machine. Workers find the folder of their marks in the
environment, and the one that makes the mark `DIED` there is the one that dies.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from infograph.data.tables import Shard
from infograph.estimators import distributed as training_on_ray
from infograph.estimators.infograph import InfoGraph
from infograph.estimators.worker import main
from infograph.jobs import run_child
from infograph.progress import Epoch, Progress, Watcher
from infograph.scale.embed import Embedder, Embedding, Rows
from infograph.scale.shards import Record
from infograph.train.loop import Plan
from tests.workers.processes import wait_for

ROOT = Path(__file__).parents[2]
MARKS = "INFOGRAPH_TEST_MARKS"
SEEN, DIED = "seen", "died"
VICTIM, EPOCH, STEP = 1, 3, 2  # the rank of the worker of a training run that dies, and when
_embed, _train, _run, _work = (
    Embedder.embed,
    InfoGraph._train_here,
    training_on_ray._run,
    training_on_ray._work,
)


def let_die(monkeypatch: pytest.MonkeyPatch, marks: Path) -> None:
    """Have processes that start now find this module, and the folder of their marks."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.setenv(MARKS, str(marks))


class DyingEmbedding(Embedding):
    """An actor that dies in its first shard, once it has told how far it is and that was `SEEN`."""

    def __init__(self, job: str) -> None:
        Embedder.embed = embed_and_die  # type: ignore[method-assign]
        super().__init__(job)


def embed_and_die(self: Embedder, shard: Shard, on_rows: Rows) -> Record:
    """`Embedder.embed` with an end."""

    def tell(rows: int) -> None:
        on_rows(rows)
        if _am_the_one():
            wait_for((_marks() / SEEN).is_file)
            os.kill(os.getpid(), signal.SIGKILL)

    return _embed(self, shard, tell)


def train_and_die(
    self: InfoGraph, source: Any, plan: Plan, watchers: Sequence[Watcher], peers: Any, least: int
) -> list[Epoch]:
    """`InfoGraph._train_here` with an end."""

    def die(now: Progress) -> None:
        if (peers.rank, now.epoch, now.step) == (VICTIM, EPOCH, STEP) and _am_the_one():
            os.kill(os.getpid(), signal.SIGKILL)

    return _train(self, source, plan, [*watchers, die], peers, least)


def run_on_ray(folder: str, workers: int, gpus: bool) -> None:
    """Have Ray Train train by workers one of which dies."""
    training_on_ray._work = work_on_ray
    _run(folder, workers, gpus)


def work_on_ray(given: dict[str, Any]) -> None:
    """One of them."""
    InfoGraph._train_here = train_and_die  # type: ignore[method-assign,assignment]
    _work(given)


def _am_the_one() -> bool:
    try:
        (_marks() / DIED).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _marks() -> Path:
    return Path(os.environ[MARKS])


if __name__ == "__main__":
    InfoGraph._train_here = train_and_die  # type: ignore[method-assign,assignment]
    run_child(main)
