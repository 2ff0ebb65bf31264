"""One training run by several workers, processes of this machine or of a Ray cluster."""

from __future__ import annotations

import dataclasses
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import distributed as dist

from infograph.data.colours import open_colouring, save_colouring
from infograph.data.graphset import GraphSet, open_graphs, save_graphs
from infograph.data.schema import Schema
from infograph.errors import InfoGraphError, InvalidParameter, JobStopped, error_from
from infograph.estimators.architecture import Architecture, choose_device, make_source
from infograph.estimators.infograph import InfoGraph
from infograph.io import json_ready, read_json, replaced_file
from infograph.jobs import Children, Said, connect, one_line
from infograph.nn.batch import Batcher
from infograph.nn.encoder import NodeBatcher
from infograph.nn.norm import Group, share_batches
from infograph.objectives.contrast import Negatives
from infograph.progress import Epoch, Progress, Watcher
from infograph.train.checkpoint import read_checkpoint, restore, write_checkpoint
from infograph.train.loop import AnyBatcher, Plan, Team

ATTEMPTS = 3  # without a single epoch between them
FILE, COLOURS, GRAPHS, CHECKPOINT = "job.json", "colours", "graphs", "checkpoint"
NOISE = 7919  # between the seeds of two workers' noise
LISTEN, LINGER = 1.0, 0.5  # seconds between two looks, and until the first of several losses is known
LOOPBACK = {"GLOO_SOCKET_IFNAME": "lo"} if sys.platform == "linux" else {}
PROGRESS, PROBLEM = "progress.json", "problem.json"
LOOK = 0.2  # seconds between two looks at the folder
FAILURES = 8  # losses of a worker in one run


def train_by_team(
    estimator: InfoGraph,
    source: AnyBatcher,
    graphs: GraphSet,
    plan: Plan,
    team: Team,
    watchers: Sequence[Watcher],
) -> list[Epoch]:
    """Train an estimator's network by several workers; gives the history.

    Raises:
        JobStopped: workers were lost again and again; the checkpoint stays.
        InvalidParameter: the workers cannot do that.
    """
    if len(graphs) < team.least:
        raise InvalidParameter(
            f"{len(graphs)} graphs for {team.workers} workers with {team.negatives} negatives: "
            f"expected at least {team.least}"
        )
    far = "://" in team.on
    if far and plan.checkpoint is None:
        raise InvalidParameter(
            f"on={team.on!r}: pass checkpoint=..., a folder under the same path on all machines, from which "
            f"the workers read what they need"
        )
    where = Path(plan.checkpoint).absolute() if far and plan.checkpoint is not None else None
    if where is not None:
        where.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".job-", dir=where) as name:
        job = write_job(estimator, source, graphs.schema, plan, team, Path(name))
        if team.on == "local":
            _insist(Path(name), Path(job.checkpoint), team, watchers)
        else:
            train_on_ray(Path(name), team, watchers, gpus=estimator.device.startswith("cuda"))
        tensors, run = read_checkpoint(job.checkpoint)
    restore(tensors, estimator.network_, estimator._make_optimiser())
    estimator.network_.eval()
    history: list[Epoch] = run["history"]
    return history


def _insist(folder: Path, checkpoint: Path, team: Team, watchers: Sequence[Watcher]) -> None:
    """Start again after a loss, as long as the run gets on."""
    number, failures, before = 0, 0, -1
    while (reason := train_in_processes(folder, team.workers, number, watchers)) is not None:
        finished = len(read_checkpoint(checkpoint)[1]["history"])
        failures = failures + 1 if finished == before else 1
        before, number = finished, number + 1
        if failures == ATTEMPTS:
            raise JobStopped(
                f"{ATTEMPTS} times a worker was lost in epoch {finished + 1} ({reason}): less memory is "
                f"needed with smaller batch_size or memory_mb"
            )
        warnings.warn(
            f"a worker was lost ({reason}): all go on after epoch {finished}", RuntimeWarning, stacklevel=2
        )


# A training run as a folder that every worker can read: settings, colours or graphs, and the checkpoint.
#
# Nothing else goes from the process that asks for a training to those that do it, and only the checkpoint
# comes back. So a run that lost a worker is started again from the same folder, and continues after the last
# epoch that was finished.


@dataclass(frozen=True)
class TrainJob:
    """What a worker reads.

    Attributes:
        params: the estimator's.
        architecture: the encoder's.
        schema: of the graphs.
        checkpoint: the folder of the checkpoint.
        epochs, earlier, seed, identity: of the plan.
        negatives: see `Team`.
        least: graphs per batch.
        colours: the folder of the colours; empty for encoders that need the graphs.
    """

    params: dict[str, Any]
    architecture: dict[str, Any]
    schema: dict[str, Any]
    checkpoint: str
    epochs: int
    earlier: int
    seed: int
    identity: dict[str, Any]
    negatives: Negatives
    least: int
    colours: str


def write_job(
    estimator: InfoGraph, source: AnyBatcher, schema: Schema, plan: Plan, team: Team, folder: Path
) -> TrainJob:
    """Write all that workers need to go on from where `estimator` is."""
    if isinstance(source, NodeBatcher):
        raise InvalidParameter(
            "a module of your own cannot be sent to workers: take encoder='gin', or train with workers=1"
        )
    colours = ""
    if isinstance(source, Batcher):
        colours = str(source.colouring.folder or save_colouring(source.colouring, folder / COLOURS))
    else:
        save_graphs(source.graphs, folder / GRAPHS)
    built = estimator._built
    params = {k: json_ready(v) for k, v in estimator.get_params(deep=False).items()}
    identity = plan.identity if team.negatives == "global" else {**plan.identity, "negatives": team.negatives}
    job = TrainJob(
        params={**params, "encoder": built["encoder"], "verbose": False},
        architecture={field.name: built[field.name] for field in dataclasses.fields(Architecture)},
        schema=schema.to_dict(),
        checkpoint=str(Path(plan.checkpoint or folder / CHECKPOINT).absolute()),
        epochs=plan.epochs,
        earlier=plan.earlier,
        seed=plan.seed,
        identity=identity,
        negatives=team.negatives,
        least=team.least,
        colours=colours,
    )
    (folder / FILE).write_text(json.dumps(dataclasses.asdict(job)))
    if not plan.resume:
        run = {"identity": job.identity, "history": []}
        write_checkpoint(job.checkpoint, estimator.network_, estimator._make_optimiser(), run)
    return job


def work(folder: Path, *, watchers: Sequence[Watcher] = ()) -> None:
    """Train as one of the workers that `torch.distributed` knows; the first of them writes checkpoints."""
    job = TrainJob(**read_json(folder / FILE))
    estimator = InfoGraph(**job.params)
    estimator._build(Schema.from_dict(job.schema), Architecture(**job.architecture))
    device = choose_device(estimator.device)
    peers = Group(cast(dist.ProcessGroup, dist.new_group()), device)
    share_batches(estimator.network_, peers)
    estimator.network_.local_global.negatives = job.negatives
    plan = Plan(
        epochs=job.epochs,
        seed=job.seed + NOISE * peers.rank,
        checkpoint=job.checkpoint,
        resume=True,
        identity=job.identity,
        keeps=peers.rank == 0,
        earlier=job.earlier,
    )
    source = _open_source(estimator, job, folder, device)
    estimator._train_here(source, plan, watchers if peers.rank == 0 else (), peers, job.least)


def _open_source(estimator: InfoGraph, job: TrainJob, folder: Path, device: torch.device) -> AnyBatcher:
    if job.colours:
        return Batcher(open_colouring(job.colours), device)
    graphs = open_graphs(folder / GRAPHS)
    return make_source(estimator.network_.encoder, graphs, estimator._built["node_features"], device)


def train_in_processes(folder: Path, workers: int, number: int, watchers: Sequence[Watcher]) -> str | None:
    """Train to the end, or until a worker is lost: then say why.

    Args:
        folder: the job's.
        workers: how many processes.
        number: of this attempt.
        watchers: told of every step.
    """
    children = Children("infograph.estimators.worker", LOOPBACK)
    try:
        for rank in range(workers):
            store = str(folder / f"store-{number}")
            children.start(
                json.dumps({"folder": str(folder), "store": store, "rank": rank, "workers": workers})
            )
        done: set[int] = set()
        while len(done) < workers:
            for said in children.listen(LISTEN):
                if said.content is None and said.child not in done:
                    return _first_cause([said, *children.listen(LINGER)])
                done |= {said.child} if _hear(said, watchers) else set()
    finally:
        children.close()
    return None


def _hear(said: Said, watchers: Sequence[Watcher]) -> bool:
    """Pass on what a worker said; whether it is done."""
    content = said.content or {}
    if "problem" in content:
        raise error_from(*content["problem"])
    if "progress" in content:
        for watcher in watchers:
            watcher(Progress(*content["progress"]))
    return "done" in content


def _first_cause(said: Sequence[Said]) -> str:
    """Why the first worker was lost: the others lose their connection to it, and say only that."""
    reasons = [each.lost for each in said if each.lost]
    return next((reason for reason in reasons if reason.startswith("killed")), reasons[0])


# A training run by Ray Train: its workers are placed on a cluster, and started again where one is lost.
#
# Ray Train starts the workers, joins them by `torch.distributed` (gloo on CPUs, NCCL on GPUs), and starts
# all of them again when one is lost; each then reads the job's folder, and so goes on after the last
# finished epoch. On a cluster, that folder must be under the same path on every machine. What the first
# worker has to tell, and what went wrong on any, is in files of that folder: whoever asked for the training
# may be far away.


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
