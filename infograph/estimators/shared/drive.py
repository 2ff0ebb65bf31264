"""A training run given to workers, restarted where one is lost, and its outcome taken back."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path

from infograph.data.graphset import GraphSet
from infograph.errors import InvalidParameter, JobStopped
from infograph.estimators.infograph import InfoGraph
from infograph.estimators.networks import AnyBatcher
from infograph.estimators.shared.job import write_job
from infograph.estimators.shared.processes import train_in_processes
from infograph.train.checkpoint import read_checkpoint, restore
from infograph.train.loop import Epoch, Plan, Watcher
from infograph.train.team import Team

ATTEMPTS = 3  # without a single epoch between them


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
            from infograph.estimators.shared.on_ray import train_on_ray

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
