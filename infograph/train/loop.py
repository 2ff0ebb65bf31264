"""The training loop: epochs over seeded batches, history, validation, checkpoints, resume."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from infograph.errors import CheckpointMismatch, InvalidParameter, TrainingDiverged
from infograph.methods.terms import LossTerms
from infograph.train.checkpoint import read_checkpoint, restore, write_checkpoint
from infograph.train.feeds import Feed
from infograph.train.figures import ERROR
from infograph.train.schedule import Schedule, best_epoch

Epoch = dict[str, float]
Weights = dict[str, Tensor]
TINY = 1e-30


@dataclass(frozen=True)
class Plan:
    """How to train.

    Attributes:
        epochs: at most so many, those of a resumed checkpoint included.
        seed: of any noise; the result is a function of it.
        checkpoint: a folder to write the state to after every epoch.
        resume: continue from that folder's checkpoint.
        keeps: whether to write to that folder; of several workers one does.
        identity: what must not differ between a checkpoint and the run that resumes it.
        earlier: epochs of earlier runs of the same network, after which these are counted.
        schedule: how the learning rate falls and when to stop; None leaves the rate as it is.
        validate: figures of the network after an epoch, with ERROR among them if the schedule is to go by it
            and the weights of the best epoch are to be kept; None goes by the loss and keeps the last ones.
    """

    epochs: int
    seed: int
    checkpoint: str | Path | None = None
    resume: bool = False
    identity: dict[str, Any] = field(default_factory=dict)
    schedule: Schedule | None = None
    validate: Callable[[], Epoch] | None = None
    keeps: bool = True
    earlier: int = 0


@dataclass(frozen=True)
class Progress:
    """Where a run stands, after every step."""

    epoch: int
    epochs: int
    step: int
    steps: int
    shown: Epoch


Watcher = Callable[[Progress], None]


def train(
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    feed: Feed,
    plan: Plan,
    *,
    watchers: Sequence[Watcher] = (),
    loss: Callable[[Any], LossTerms] | None = None,
) -> list[Epoch]:
    """Train a network and return the history: one record per epoch.

    Args:
        network: what is trained; its call on a batch gives LossTerms.
        optimiser: of its weights.
        feed: gives the batches.
        plan: how to train.
        watchers: called after every step.
        loss: what gives the LossTerms of a batch where that is not the network itself but something around
            it.

    Raises:
        TrainingDiverged: the loss is no longer finite.
        CheckpointMismatch: the checkpoint to resume is of another run.
    """
    history, best = _resume(network, optimiser, plan) if plan.resume else ([], {})
    _keep(network, optimiser, plan, history, best)  # so that an interrupt in the first epoch finds one too
    with torch.enable_grad(), torch.random.fork_rng(devices=[]):
        last = plan.earlier + plan.epochs
        for epoch in range(plan.earlier + len(history) + 1, last + 1):
            if plan.schedule is not None and not _set_rate(optimiser, plan.schedule, history):
                break
            torch.manual_seed(plan.seed * 1_000_003 + epoch)  # noise and dropout repeat in a resumed run
            network.train()
            record, steps = _epoch(network, loss or network, optimiser, feed, (epoch, last), watchers)
            network.eval()
            if plan.validate is not None:
                record |= {"lr": optimiser.param_groups[0]["lr"], **plan.validate()}
            history.append(record)
            if ERROR in record and best_epoch(_errors(history)) == len(history) - 1:
                best = {name: tensor.clone() for name, tensor in network.state_dict().items()}
            _keep(network, optimiser, plan, history, best)
            for watcher in watchers:
                watcher(Progress(epoch, last, steps, steps, record))
    if best:
        network.load_state_dict(best)
    network.eval()
    return history


@torch.no_grad()
def drop_tiny(optimiser: torch.optim.Optimizer) -> None:
    """Set weights to 0 that weight decay has shrunk to nothing.

    Weights that no gradient holds fall below 1e-38 within an epoch, and products with such denormal numbers
    take a hundred times as long.
    """
    for group in optimiser.param_groups:
        if not group["weight_decay"]:
            continue
        for weight in group["params"]:
            tiny = weight.abs() < TINY
            weight.masked_fill_(tiny, 0.0)
            if weight in optimiser.state:
                optimiser.state[weight]["exp_avg"].masked_fill_(tiny, 0.0)


def _errors(history: Sequence[Epoch]) -> list[float]:
    return [record.get(ERROR, record["loss"]) for record in history]


def _set_rate(optimiser: torch.optim.Optimizer, schedule: Schedule, history: Sequence[Epoch]) -> bool:
    """The rate for the next epoch; whether there is to be one."""
    errors = _errors(history)
    for group in optimiser.param_groups:
        group["lr"] = schedule.rate(errors)
    return not schedule.ended(errors)


def _keep(
    network: nn.Module, optimiser: torch.optim.Optimizer, plan: Plan, history: Sequence[Epoch], best: Weights
) -> None:
    if plan.checkpoint is not None and plan.keeps:
        run = {"identity": plan.identity, "history": history}
        write_checkpoint(plan.checkpoint, network, optimiser, run, best)


def _resume(network: nn.Module, optimiser: torch.optim.Optimizer, plan: Plan) -> tuple[list[Epoch], Weights]:
    if plan.checkpoint is None:
        raise InvalidParameter("resume needs the folder of a checkpoint: pass checkpoint=...")
    tensors, run = read_checkpoint(plan.checkpoint)
    saved = run["identity"]
    for key in {**plan.identity, **saved}:
        if saved.get(key) != plan.identity.get(key):
            raise CheckpointMismatch(
                f"the checkpoint in {plan.checkpoint} is of another run: {key} was {saved.get(key)!r}, "
                f"now it is {plan.identity.get(key)!r}"
            )
    history: list[Epoch] = run["history"]
    if len(history) > plan.epochs:
        raise CheckpointMismatch(
            f"the checkpoint in {plan.checkpoint} has {len(history)} epochs, more than epochs={plan.epochs}: "
            f"start without resume"
        )
    return history, restore(tensors, network, optimiser)


def _epoch(
    network: nn.Module,
    loss_of: Callable[[Any], LossTerms],
    optimiser: torch.optim.Optimizer,
    feed: Feed,
    epoch: tuple[int, int],
    watchers: Iterable[Watcher],
) -> tuple[Epoch, int]:
    """The record of an epoch and its steps; of the last step, watchers hear once the epoch is complete."""
    started, totals, n_graphs = time.perf_counter(), {}, 0  # type: float, Epoch, int
    after_update: Callable[[], None] = getattr(network, "after_update", lambda: None)
    updates = feed.updates(epoch[0])
    for step, update in enumerate(updates, start=1):
        terms = loss_of(feed.batch(update))
        loss = float(terms.total.detach())
        if not torch.isfinite(terms.total.detach()):
            rate = optimiser.param_groups[0]["lr"]
            raise TrainingDiverged(
                f"the loss became {loss} in epoch {epoch[0]} at learning rate {rate:g}; "
                f"lower lr (InfoGraph can also use discriminator='conditioned')"
            )
        optimiser.zero_grad(set_to_none=True)
        terms.total.backward()
        optimiser.step()
        drop_tiny(optimiser)
        after_update()
        n_graphs += feed.size(update)
        for name, value in {"loss": loss, **{k: float(v) for k, v in terms.shown.items()}}.items():
            totals[name] = totals.get(name, 0.0) + value * feed.size(update)
        seconds = time.perf_counter() - started
        means = {name: total / n_graphs for name, total in totals.items()}
        record = {"epoch": epoch[0], **means, "seconds": seconds, "graphs_per_second": n_graphs / seconds}
        if step < len(updates):
            for watcher in watchers:
                watcher(Progress(*epoch, step, len(updates), record))
    return record, len(updates)
