"""Workers that die in the middle of their work, once: by themselves, so that no clock decides when.

Also the program of a worker of a training run on this machine. Workers find the folder of their marks in the
environment, and the one that makes the mark `DIED` there is the one that dies.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import torch
from torch import distributed as dist

from infograph.estimators import distributed
from infograph.estimators.base import load
from infograph.scale.embed import Embedder, _attempt

ROOT = Path(__file__).parents[2]
MARKS = "INFOGRAPH_TEST_MARKS"
DIED = "died"
VICTIM, EPOCH, STEP = 1, 3, 2  # the rank of the worker of a training run that dies, and when
_train, _run, _work = distributed.train, distributed._run_on_ray, distributed._train_loop


def let_die(monkeypatch, marks):
    """Have processes that start now find this module, and the folder of their marks."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.setenv(MARKS, str(marks))


def attempt_and_die(job, shard):
    """Embed a shard in a worker that dies after its first block."""

    def die(_):
        if _am_the_one():
            os.kill(os.getpid(), signal.SIGKILL)

    torch.set_num_threads(1)
    return _attempt(Embedder(job, load(job.model)), shard, die)


def train_and_die(*given, watchers=(), **options):
    """`train` with an end."""

    def die(now):
        if (dist.get_rank(), now.epoch, now.step) == (VICTIM, EPOCH, STEP) and _am_the_one():
            os.kill(os.getpid(), signal.SIGKILL)

    return _train(*given, watchers=[*watchers, die], **options)


def run_on_ray(folder, workers, gpus):
    """Have Ray Train train by workers one of which dies."""
    distributed._train_loop = work_on_ray
    _run(folder, workers, gpus)


def work_on_ray(given):
    """One of them."""
    distributed.train = train_and_die
    _work(given)


def _am_the_one():
    try:
        (_marks() / DIED).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _marks():
    return Path(os.environ[MARKS])


if __name__ == "__main__":
    distributed.train = train_and_die
    distributed.main(Path(sys.argv[1]))
