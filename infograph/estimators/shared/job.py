"""A training run as a folder that every worker can read: settings, colours or graphs, and the checkpoint.

Nothing else goes from the process that asks for a training to those that do it, and only the checkpoint comes
back. So a run that lost a worker is started again from the same folder, and continues after the last epoch
that was finished.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import distributed as dist

from infograph.data.colour_files import open_colouring, save_colouring
from infograph.data.schema import Schema
from infograph.data.storage import json_ready, open_graphs, read_json, save_graphs
from infograph.errors import InvalidParameter
from infograph.estimators.infograph import InfoGraph
from infograph.estimators.networks import AnyBatcher, Architecture, make_source
from infograph.estimators.settings import choose_device
from infograph.mi.local_global import Negatives
from infograph.nn.batch import Batcher
from infograph.nn.nodes import NodeBatcher
from infograph.nn.peers import Group, share_batches
from infograph.train.checkpoint import write_checkpoint
from infograph.train.loop import Plan, Watcher
from infograph.train.team import Team

FILE, COLOURS, GRAPHS, CHECKPOINT = "job.json", "colours", "graphs", "checkpoint"
NOISE = 7919  # between the seeds of two workers' noise


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
