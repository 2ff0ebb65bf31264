"""A training run by Ray Train: its workers are placed on a cluster, and started again where one is lost.

Ray Train starts the workers, joins them by `torch.distributed` (gloo on CPUs, NCCL on GPUs), and starts all
of them again when one is lost; each then reads the job's folder, and so goes on after the last finished
epoch. On a cluster, that folder must be under the same path on every machine. What the first worker has to
tell, and what went wrong on any, is in files of that folder: whoever asked for the training may be far away.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from infograph.data.storage import replaced_file
from infograph.errors import InfoGraphError, JobStopped, error_from
from infograph.train.loop import Progress, Watcher
from infograph.train.team import Team
from infograph.workers.cluster import connect, one_line

PROGRESS, PROBLEM = "progress.json", "problem.json"
LOOK = 0.2  # seconds between two looks at the folder
FAILURES = 8  # losses of a worker in one run


def train_on_ray(folder: Path, team: Team, watchers: Sequence[Watcher], *, gpus: bool = False) -> None:
    """Train to the end.

    Args:
        folder: the job's.
        team: who trains.
        watchers: told of steps, of some at least.
        gpus: whether every worker needs one.

    Raises:
        JobStopped: workers were lost too often, or the cluster was.
    """
    ray = connect(team.on, team.workers)
    try:
        run = ray.remote(_run).options(num_cpus=0, max_retries=0).remote(str(folder), team.workers, gpus)
        done: Sequence[Any] = ()
        while not done:
            done, _ = ray.wait([run], timeout=LOOK)
            _tell(folder, watchers)
        ray.get(run)
    except (ConnectionError, ray.exceptions.RayError) as error:
        _tell(folder, ())
        cause = getattr(error, "cause", None) or error
        raise JobStopped(
            f"training on {team.on!r} was lost ({one_line(cause)}): run it again with resume=True, finished "
            f"epochs stay in the checkpoint"
        ) from error
    finally:
        with suppress(Exception):
            ray.cancel(run, force=True)
        ray.shutdown()


def _run(folder: str, workers: int, gpus: bool) -> None:
    """Have Ray Train train; on the cluster."""
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    trainer = TorchTrainer(
        _work,
        train_loop_config={"folder": folder},
        torch_config=TorchConfig(backend="nccl" if gpus else "gloo"),
        scaling_config=ScalingConfig(num_workers=workers, use_gpu=gpus, resources_per_worker={"CPU": 1}),
        run_config=RunConfig(
            name="training",
            storage_path=f"{folder}/ray",
            failure_config=FailureConfig(max_failures=FAILURES),
        ),
    )
    trainer.fit()


def _work(given: dict[str, Any]) -> None:
    """One worker, once Ray Train has joined all of them."""
    import torch

    from infograph.estimators.shared.job import work

    torch.set_num_threads(1)
    folder, told = Path(given["folder"]), 0.0

    def tell(progress: Progress) -> None:
        nonlocal told
        if progress.step == progress.steps or time.monotonic() - told > LOOK:
            told = time.monotonic()
            _write(folder / PROGRESS, list(dataclasses.astuple(progress)))

    try:
        work(folder, watchers=[tell])
    except InfoGraphError as error:
        _write(folder / PROBLEM, [type(error).__name__, str(error)])


def _write(path: Path, content: list[Any]) -> None:
    with replaced_file(path) as partial:
        partial.write_text(json.dumps(content))


def _tell(folder: Path, watchers: Sequence[Watcher]) -> None:
    """Pass on what the workers wrote, once."""
    problem, progress = folder / PROBLEM, folder / PROGRESS
    if problem.is_file():
        raise error_from(*json.loads(problem.read_text()))
    if watchers and progress.is_file():
        content = json.loads(progress.read_text())
        progress.unlink(missing_ok=True)
        for watcher in watchers:
            watcher(Progress(*content))
