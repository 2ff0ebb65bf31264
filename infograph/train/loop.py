"""The training loop: epochs over seeded batches, history, checkpoints, resume."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from infograph.data.graphset import IntArray
from infograph.errors import InvalidParameter, TrainingDiverged
from infograph.methods.terms import LossTerms
from infograph.train.batches import cut, shuffled
from infograph.train.checkpoint import read_checkpoint, restore, write_checkpoint

Epoch = dict[str, float]


class Source(Protocol):
    """Gives the batch of some graphs."""

    def batch(self, graphs: IntArray) -> Any:
        """The batch of these positions."""
        ...


@dataclass(frozen=True)
class Plan:
    """How to train.

    Attributes:
        epochs: passes over all graphs, those of a resumed checkpoint included.
        batch_size: graphs per step.
        max_nodes: nodes per step, as long as two graphs remain.
        seed: of the batch order and of any noise; the result is a function of it.
        checkpoint: a folder to write the state to after every epoch.
        resume: continue from that folder's checkpoint.
        identity: what must not differ between a checkpoint and the run that resumes it.
    """

    epochs: int
    batch_size: int
    max_nodes: int
    seed: int
    checkpoint: str | Path | None = None
    resume: bool = False
    identity: dict[str, Any] = field(default_factory=dict)


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
    source: Source,
    sizes: IntArray,
    plan: Plan,
    *,
    watchers: Sequence[Watcher] = (),
) -> list[Epoch]:
    """Train `network`, whose call on a batch gives LossTerms, and return the history: one record per epoch.

    Raises:
        TrainingDiverged: the loss is no longer finite.
        InvalidParameter: the checkpoint to resume is of another run.
    """
    history = _resume(network, optimiser, plan) if plan.resume else []
    _keep(network, optimiser, plan, history)  # so that an interrupt in the first epoch finds one too
    network.train()
    with torch.enable_grad(), torch.random.fork_rng(devices=[]):
        for epoch in range(len(history) + 1, plan.epochs + 1):
            torch.manual_seed(plan.seed * 1_000_003 + epoch)  # noise and dropout repeat in a resumed run
            batches = cut(
                shuffled(len(sizes), plan.seed, epoch), sizes, plan.batch_size, plan.max_nodes, least=2
            )
            history.append(_epoch(network, optimiser, source, batches, (epoch, plan.epochs), watchers))
            _keep(network, optimiser, plan, history)
    network.eval()
    return history


def _keep(network: nn.Module, optimiser: torch.optim.Optimizer, plan: Plan, history: Sequence[Epoch]) -> None:
    if plan.checkpoint is not None:
        write_checkpoint(plan.checkpoint, network, optimiser, {"identity": plan.identity, "history": history})


def _resume(network: nn.Module, optimiser: torch.optim.Optimizer, plan: Plan) -> list[Epoch]:
    if plan.checkpoint is None:
        raise InvalidParameter("resume needs the folder of a checkpoint: pass checkpoint=...")
    tensors, run = read_checkpoint(plan.checkpoint)
    saved = run["identity"]
    different = [key for key in plan.identity if saved.get(key) != plan.identity[key]]
    if different:
        key = different[0]
        raise InvalidParameter(
            f"the checkpoint in {plan.checkpoint} is of another run: {key} was {saved.get(key)!r}, "
            f"now it is {plan.identity[key]!r}"
        )
    restore(tensors, network, optimiser)
    history: list[Epoch] = run["history"]
    return history


def _epoch(
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    source: Source,
    batches: Sequence[IntArray],
    epoch: tuple[int, int],
    watchers: Iterable[Watcher],
) -> Epoch:
    started, totals, n_graphs = time.perf_counter(), {}, 0  # type: float, Epoch, int
    for step, graphs in enumerate(batches, start=1):
        terms: LossTerms = network(source.batch(graphs))
        loss = float(terms.total.detach())
        if not torch.isfinite(terms.total.detach()):
            rate = optimiser.param_groups[0]["lr"]
            raise TrainingDiverged(
                f"the loss became {loss} in epoch {epoch[0]} at learning rate {rate:g}; "
                f"lower lr, or use discriminator='conditioned'"
            )
        optimiser.zero_grad(set_to_none=True)
        terms.total.backward()
        optimiser.step()
        n_graphs += len(graphs)
        for name, value in {"loss": loss, **{k: float(v) for k, v in terms.shown.items()}}.items():
            totals[name] = totals.get(name, 0.0) + value * len(graphs)
        seconds = time.perf_counter() - started
        means = {name: total / n_graphs for name, total in totals.items()}
        record = {"epoch": epoch[0], **means, "seconds": seconds, "graphs_per_second": n_graphs / seconds}
        for watcher in watchers:
            watcher(Progress(*epoch, step, len(batches), record))
    return record
