"""One training run by several workers: processes of this machine (torchrun) or of a Ray cluster (Ray Train).

A run is a folder that every worker can read: the model as it is, its graphs or their colours, and the
checkpoint. Nothing else goes from the process that asks for a training to those that do it, and only the
checkpoint comes back. So a run that lost a worker is started again from the same folder, by torchrun or Ray
Train, and continues after the last epoch that was finished. What the first worker has to tell, and what went
wrong on any, is in files of that folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from infograph import errors
from infograph.data.colours import open_colouring, save_colouring
from infograph.data.graphset import GraphSet, IntArray, open_graphs, save_graphs
from infograph.errors import InfoGraphError, InvalidParameter, JobStopped
from infograph.estimators.architecture import choose_device
from infograph.estimators.base import load
from infograph.estimators.infograph import InfoGraph, held_out
from infograph.io import json_ready, read_json, replaced_file, temporary_folder
from infograph.jobs import connect, one_line
from infograph.nn.batch import Batcher
from infograph.nn.norm import all_sum, sharing
from infograph.objectives.objective import LossTerms
from infograph.parameters import CUSTOM, saved
from infograph.progress import Epoch, Progress, Watcher
from infograph.train.checkpoint import read_checkpoint, restore, write_checkpoint
from infograph.train.loop import AnyBatcher, train

JOB, MODEL, COLOURS, GRAPHS, CHECKPOINT = "job.json", "model", "colours", "graphs", "checkpoint"
PROGRESS, PROBLEM, ERRORS = "progress-{}.json", "problem.json", "errors.txt"
NOISE = 7919  # between the seeds of two workers' noise
RESTARTS = 8  # losses of a worker in one run
WORKER = "infograph.estimators.distributed"
# torchrun, which would outlive this process; it looks at it before it imports torch, which takes seconds
LAUNCHER = """
import sys
from infograph.jobs import end_with
end_with(int(sys.argv.pop(1)))
from torch.distributed.run import main
main()
"""
LOOK = 0.2  # seconds between two looks at the folder


def train_by_team(
    estimator: InfoGraph,
    source: AnyBatcher,
    graphs: GraphSet,
    workers: int,
    on: str,
    *,
    checkpoint: str | Path | None,
    resume: bool,
    watchers: Sequence[Watcher],
    **run: Any,
) -> list[Epoch]:
    """Train an estimator's network by several workers; gives the history. `run` is for their `train`."""
    if len(graphs) < workers:
        raise InvalidParameter(f"{len(graphs)} graphs for {workers} workers: at least one each is needed")
    judged = len(held_out(len(graphs), run["seed"])[1])
    if "stop_after" in run and judged < workers:
        raise InvalidParameter(
            f"{judged} graphs that epochs='auto' holds out for {workers} workers: one each is needed; "
            f"take fewer workers, or a number of epochs"
        )
    sent = (estimator.encoder, estimator.objective, estimator.schedule)
    if any(CUSTOM in json.dumps(saved(each)) for each in sent):
        raise InvalidParameter("code of your own cannot be sent to workers: train with workers=1")
    with temporary_folder(_shared_place(on, checkpoint) / "infograph-job") as folder:
        estimator.save(folder / MODEL)
        if isinstance(source, Batcher):
            save_colouring(source.colouring, folder / COLOURS)
        else:
            save_graphs(source.graphs, folder / GRAPHS)
        kept = Path(checkpoint or folder / CHECKPOINT).absolute()
        _write(folder / JOB, {**run, "checkpoint": str(kept)})
        if not resume:
            begun = {"identity": run["identity"], "history": []}
            write_checkpoint(kept, estimator.network_, estimator._make_optimiser(), begun)
        if on == "local":
            _train_here(folder, workers, watchers)
        else:
            _train_on_ray(folder, workers, on, watchers, gpus=str(estimator.device).startswith("cuda"))
        tensors, done = read_checkpoint(kept)
    best = restore(tensors, estimator.network_, estimator._make_optimiser())
    if best:
        estimator.network_.load_state_dict(best)
    estimator.network_.eval()
    history: list[Epoch] = done["history"]
    return history


def _shared_place(on: str, checkpoint: str | Path | None) -> Path:
    """A folder that all workers can read."""
    if "://" not in on:
        return Path(tempfile.gettempdir())
    if checkpoint is None:
        raise InvalidParameter(
            f"on={on!r}: pass checkpoint=..., a folder under the same path on all machines, from which the "
            f"workers read what they need"
        )
    where = Path(checkpoint).absolute()
    where.mkdir(parents=True, exist_ok=True)
    return where


def work(folder: Path) -> None:
    """Train as one of the workers that `torch.distributed` knows; the first of them writes checkpoints."""
    torch.set_num_threads(1)
    try:
        _work(folder)
    except InfoGraphError as error:
        _write(folder / PROBLEM, [type(error).__name__, str(error)])


def _work(folder: Path) -> None:
    estimator, job = load(folder / MODEL), read_json(folder / JOB)
    device, rank, workers = choose_device(estimator.device), dist.get_rank(), dist.get_world_size()
    source: AnyBatcher
    if (folder / COLOURS).exists():
        source = Batcher(open_colouring(folder / COLOURS), device)
    else:
        source = estimator._encoder.source(open_graphs(folder / GRAPHS), device)
    told, restarts = 0.0, int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))

    def tell(now: Progress) -> None:
        nonlocal told
        if now.ended or time.monotonic() - told > LOOK:
            told = time.monotonic()
            standing = [now.epoch, now.epochs, now.step, now.steps, now.shown, None, False, now.ended]
            name = PROGRESS.format(now.epoch if now.ended else "now")  # of epochs all are told
            _write(folder / name, [restarts, *standing])

    own = lambda graphs: deal(graphs, source.costs, workers)[rank]  # noqa: E731
    loader, validate = estimator._loader(source, "stop_after" in job, max(2, workers), own)
    with sharing(cast(dist.ProcessGroup, dist.new_group())):
        train(
            estimator.network_,
            estimator._make_optimiser(),
            loader,
            shared_loss(estimator.network_, estimator.objective_.loss),
            **{**job, "seed": job["seed"] + NOISE * rank},
            resume=True,
            writes=rank == 0,
            validate=validate,
            rate=estimator._rate(job["epochs"]),
            watchers=[tell] if rank == 0 else (),
            model=estimator,
        )


def deal(graphs: IntArray, costs: IntArray, workers: int) -> list[IntArray]:
    """Divide graphs among workers so that all have about the same to do: the costliest first, each to the
    worker with the least so far. So everyone gets one. The same on every worker.
    """
    parts: list[list[int]] = [[] for _ in range(workers)]
    loads = [0] * workers
    for place in np.argsort(-costs[graphs], kind="stable"):
        worker = loads.index(min(loads))
        parts[worker].append(int(place))
        loads[worker] += int(costs[graphs[place]]) + 1
    return [graphs[sorted(part)] for part in parts]


class _LossOf(nn.Module):
    """A network whose call is its loss, as DistributedDataParallel wants it."""

    def __init__(self, network: nn.Module, loss: Callable[[nn.Module, Any], LossTerms]) -> None:
        super().__init__()
        self.network, self._loss = network, loss

    def forward(self, batch: Any) -> LossTerms:
        return self._loss(self.network, batch)


def shared_loss(
    network: nn.Module, loss: Callable[[nn.Module, Any], LossTerms]
) -> Callable[[Any], LossTerms]:
    """The loss of a batch whose graphs are on several workers, from each one's share.

    Its value is that of the whole batch. Its gradient is that of this worker's share, times the number of
    workers, because DistributedDataParallel averages what should be added up.
    """
    shared = DistributedDataParallel(_LossOf(network, loss))

    def whole(batch: Any) -> LossTerms:
        total, shown = shared(batch)
        scaled = total * dist.get_world_size()
        return LossTerms(scaled + (all_sum(total) - scaled.detach()), shown)

    return whole


def _train_here(folder: Path, workers: int, watchers: Sequence[Watcher]) -> None:
    """Train to the end by processes of this machine."""
    command = [sys.executable, "-c", LAUNCHER, str(os.getpid()), "--standalone"]
    command += [f"--nproc-per-node={workers}", f"--max-restarts={RESTARTS}", "--monitor-interval=0.2"]
    command += [f"--log-dir={folder}", "-m", WORKER, str(folder)]
    loopback = {"GLOO_SOCKET_IFNAME": "lo"} if sys.platform == "linux" else {}
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **loopback}
    lost = 0
    with (
        (folder / ERRORS).open("w") as log,
        subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stderr=log) as launcher,
    ):
        try:
            while launcher.poll() is None:
                time.sleep(LOOK)
                lost = _tell(folder, watchers, lost)
        finally:
            launcher.terminate()  # and it ends its workers
    _tell(folder, watchers, lost)
    if launcher.returncode:
        lines = [line for line in (folder / ERRORS).read_text().splitlines() if "Error" in line]
        reason = f" ({lines[-1].strip()[:200]})" if lines else ""
        raise JobStopped(
            f"workers were lost {RESTARTS + 1} times{reason}: less memory is needed with a smaller "
            f"batch_size or MutualInformation(memory_mb=...)"
        )


def _train_on_ray(folder: Path, workers: int, on: str, watchers: Sequence[Watcher], *, gpus: bool) -> None:
    """Train to the end by workers of a cluster."""
    ray = connect(on, workers)
    try:
        run = ray.remote(_run_on_ray).options(num_cpus=0, max_retries=0)
        running, done = run.remote(str(folder), workers, gpus), ()  # type: Any, Sequence[Any]
        while not done:
            done, _ = ray.wait([running], timeout=LOOK)
            _tell(folder, watchers)
        ray.get(running)
    except (ConnectionError, ray.exceptions.RayError) as error:
        _tell(folder, ())
        raise JobStopped(
            f"training on {on!r} was lost ({one_line(getattr(error, 'cause', None) or error)}): run it again "
            f"with resume=True, finished epochs stay in the checkpoint"
        ) from error
    finally:
        with suppress(Exception):
            ray.cancel(running, force=True)
        ray.shutdown()


def _run_on_ray(folder: str, workers: int, gpus: bool) -> None:
    """Have Ray Train train; on the cluster."""
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    failures = FailureConfig(max_failures=RESTARTS)
    TorchTrainer(
        _train_loop,
        train_loop_config={"folder": folder},
        torch_config=TorchConfig(backend="nccl" if gpus else "gloo"),
        scaling_config=ScalingConfig(num_workers=workers, use_gpu=gpus, resources_per_worker={"CPU": 1}),
        run_config=RunConfig(name="training", storage_path=f"{folder}/ray", failure_config=failures),
    ).fit()


def _train_loop(given: dict[str, str]) -> None:
    work(Path(given["folder"]))


def _write(path: Path, content: Any) -> None:
    with replaced_file(path) as partial:
        partial.write_text(json.dumps(json_ready(content)))


def _tell(folder: Path, watchers: Sequence[Watcher], lost: int = 0) -> int:
    """Pass on what the workers wrote, once; gives how often one was lost so far."""
    problem, standings = folder / PROBLEM, []
    if problem.is_file():
        name, message = json.loads(problem.read_text())
        kind = getattr(errors, name)
        raise kind.__new__(kind, message)  # what it said is final: nothing to compose
    for written in folder.glob(PROGRESS.format("*")):
        standings.append(json.loads(written.read_text()))
        written.unlink(missing_ok=True)
    for restarts, *standing in sorted(standings, key=lambda each: (each[1], each[3])):  # by epoch and step
        now = Progress(*standing)
        if restarts > lost:
            warnings.warn(
                f"a worker was lost: all go on with epoch {now.epoch}", RuntimeWarning, stacklevel=2
            )
        lost = max(lost, restarts)
        for watcher in watchers:
            watcher(now)
    return lost


def main(folder: Path) -> None:
    """One worker of this machine, as torchrun starts it."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    rank, workers = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    store = f"{folder}/store-{os.environ['TORCHELASTIC_RESTART_COUNT']}"
    file_store = dist.FileStore(store, workers)  # type: ignore[attr-defined]
    dist.init_process_group("gloo", store=file_store, rank=rank, world_size=workers)
    work(folder)
    dist.destroy_process_group()


def _end_with_parent() -> None:
    """End this process when the one that asked for the training is gone, however it ended."""
    while os.read(0, 1024):
        pass
    os._exit(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
