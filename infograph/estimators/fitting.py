"""One network of a semi-supervised estimator, from settings and data to trained weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from infograph.data.fingerprint import fingerprint
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.schema import Schema
from infograph.estimators.donor import Donor
from infograph.estimators.networks import AnyBatcher, Architecture, make_source
from infograph.estimators.runs import run_settings
from infograph.estimators.settings import choose_device
from infograph.estimators.vectors import compute
from infograph.methods.consistency import RampUp
from infograph.methods.objective import Objective
from infograph.methods.objectives import ObjectiveSettings, make_objective
from infograph.methods.predictor import Predictor
from infograph.methods.tasks import Task
from infograph.train.checkpoint import FILE, member_folder
from infograph.train.feeds import StepFeed
from infograph.train.loop import Epoch, Plan, Watcher, train
from infograph.train.progress import ProgressReport, validation_unit
from infograph.train.schedule import Schedule

FEWEST = 50  # updates per epoch where a pass over the labelled graphs would be fewer


@dataclass(frozen=True)
class Data:
    """What is learned from.

    Attributes:
        graphs: all graphs.
        labelled: positions of those whose labels are learned.
        everyone: positions of those that are learned from without labels, the labelled ones included.
        values: (G, T) standardised numbers or (G,) classes.
        task: what kind of values these are.
        checksum: of the labels as they were given.
    """

    graphs: GraphSet
    labelled: IntArray
    everyone: IntArray
    values: Tensor
    task: Task
    checksum: str


@dataclass(frozen=True)
class Judge:
    """Graphs that no network learns from, the figures of predictions for them, and their labels' checksum."""

    graphs: GraphSet
    figures: Callable[[NDArray[np.float32]], Epoch]
    checksum: str

    @property
    def identity(self) -> dict[str, Any]:
        """What a resumed run must have, too."""
        return {
            "validation graphs": len(self.graphs),
            "checksum of the validation": fingerprint(self.graphs),
            "checksum of the validation labels": self.checksum,
        }


@dataclass(frozen=True)
class Encoders:
    """How encoders with fresh weights are made."""

    architecture: Architecture
    schema: Schema
    donor: Donor | None

    def predictor(self, n_outputs: int) -> Predictor:
        """A new encoder, started from the donor's if there is one, with a new head."""
        encoder = self.architecture.build(self.schema)
        if self.donor is not None:
            self.donor.give(encoder)
        return Predictor(encoder, n_outputs)


@dataclass(frozen=True)
class Run:
    """How a run is watched and kept."""

    checkpoint: str | Path | None
    resume: bool
    watchers: Sequence[Watcher]


def fit_one(
    estimator: Any, member: int, encoders: Encoders, data: Data, judge: Judge | None, run: Run
) -> tuple[Predictor, list[Epoch]]:
    """Train network number `member` of an estimator; gives it and its history."""
    seed, device = estimator.random_state + member, choose_device(estimator.device)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        objective = make_objective(
            estimator.objective,
            lambda: encoders.predictor(data.task.n_outputs),
            data.task,
            _objective_settings(estimator),
        ).to(device)
    features = encoders.architecture.node_features
    source = make_source(objective.predictor.encoder, data.graphs, features, device)
    feed = _feed(estimator, objective, source, data, seed, device)
    optimiser = torch.optim.Adam(
        [p for p in objective.parameters() if p.requires_grad],
        lr=estimator.lr,
        weight_decay=estimator.weight_decay,
        fused=True,
    )
    validate = None
    if judge is not None:
        validation = make_source(objective.predictor.encoder, judge.graphs, features, device)
        validate = lambda: judge.figures(compute(objective.result, validation, objective.result))  # noqa: E731
    plan = _plan(estimator, member, data, run, seed, judge, validate)
    if not estimator.verbose:
        return objective.result, train(objective, optimiser, feed, plan, watchers=run.watchers)
    unit = validation_unit(estimator.target_units_, classes=hasattr(estimator, "classes_"))
    with ProgressReport(unit=unit) as report:
        return objective.result, train(objective, optimiser, feed, plan, watchers=[report, *run.watchers])


def _objective_settings(estimator: Any) -> ObjectiveSettings:
    names = ("lam", "transfer", "transfer_scale", "detach_teacher", "patches", "memory_mb", "decay", "noise")
    own = {name: getattr(estimator, name) for name in (*names, "threshold", "radius")}
    return ObjectiveSettings(**own, consistency=RampUp(estimator.consistency, estimator.ramp_up))


def _feed(
    estimator: Any, objective: Objective, source: AnyBatcher, data: Data, seed: int, device: torch.device
) -> StepFeed:
    one_pass = -(-len(data.labelled) // estimator.batch_size)
    return StepFeed(
        source,
        data.values.to(device),
        data.labelled,
        data.everyone,
        estimator.batch_size,
        estimator.steps_per_epoch or max(one_pass, FEWEST),
        seed,
        objective.needs_unlabelled,
    )


def _plan(
    estimator: Any,
    member: int,
    data: Data,
    run: Run,
    seed: int,
    judge: Judge | None,
    validate: Callable[[], Epoch] | None,
) -> Plan:
    stop_after = estimator.early_stopping if validate is not None else None
    schedule = Schedule(estimator.lr, estimator.factor, estimator.patience, stop_after=stop_after)
    if run.checkpoint is None:
        return Plan(estimator.epochs, seed, None, run.resume, {}, schedule, validate)
    folder = Path(run.checkpoint)
    resume = run.resume
    if estimator.n_models > 1:
        folder = folder / member_folder(member)
        resume = resume and (member == 0 or (folder / FILE).is_file())
    identity = {
        **run_settings(estimator),
        "graphs": len(data.graphs),
        "labelled graphs": len(data.labelled),
        "checksum of the graphs": fingerprint(data.graphs),
        "checksum of the labels": data.checksum,
        **({"validation graphs": 0} if judge is None else judge.identity),
    }
    return Plan(estimator.epochs, seed, folder, resume, identity, schedule, validate)
