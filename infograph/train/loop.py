"""The training loop: feeds, epochs, history, validation, schedule, resume; alone or in a team."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval
from torch import Tensor, nn
from torch import distributed as dist
from torch.nn.parallel import DistributedDataParallel

from infograph.data.graphset import IntArray
from infograph.errors import CheckpointMismatch, InvalidParameter, TrainingDiverged
from infograph.nn.batch import Batcher
from infograph.nn.encoder import NodeBatcher
from infograph.nn.norm import all_sum, norms_with_momentum
from infograph.nn.pairs import LinkBatcher
from infograph.objectives.objective import LossTerms, Source, Step
from infograph.parameters import Spec
from infograph.progress import ERROR, Epoch, Progress, Watcher
from infograph.train.checkpoint import read_checkpoint, restore, write_checkpoint

Weights = dict[str, Tensor]
TINY = 1e-30
THRESHOLD = 1e-4  # what counts as better: by that share, as in torch's ReduceLROnPlateau
AnyBatcher = Batcher | NodeBatcher | LinkBatcher


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
        schedule: how the learning rate falls from `lr`, see `Plateau`; None leaves the rate as it is.
        lr: the learning rate at the start.
        stop_after: epochs without improvement after which training ends; None for never.
        validate: figures of the network after an epoch, with ERROR among them if the schedule is to go by it
            and the weights of the best epoch are to be kept; None goes by the loss and keeps the last ones.
    """

    epochs: int
    seed: int
    checkpoint: str | Path | None = None
    resume: bool = False
    identity: dict[str, Any] = field(default_factory=dict)
    schedule: Any = None
    lr: float = 0.0
    stop_after: int | None = None
    validate: Callable[[], Epoch] | None = None
    keeps: bool = True
    earlier: int = 0


def train(
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    feed: Feed,
    plan: Plan,
    *,
    loss: Callable[[Any], LossTerms],
    after_update: Callable[[int], None] = lambda number: None,
    watchers: Sequence[Watcher] = (),
    model: Any = None,
) -> list[Epoch]:
    """Train a network and return the history: one record per epoch.

    Args:
        network: what is trained.
        optimiser: of its weights.
        feed: gives the batches.
        plan: how to train.
        loss: gives the LossTerms of a batch.
        after_update: called after every update with its number, counted from 0 over the whole run.
        watchers: called after every step.
        model: the estimator whose network it is, for watchers.

    Raises:
        TrainingDiverged: the loss is no longer finite.
        CheckpointMismatch: the checkpoint to resume is of another run.
    """
    history, best = _resume(network, optimiser, plan) if plan.resume else ([], {})
    _keep(network, optimiser, plan, history, best)  # so that an interrupt in the first epoch finds one too
    with torch.enable_grad(), torch.random.fork_rng(devices=[]):
        last = plan.earlier + plan.epochs
        for epoch in range(plan.earlier + len(history) + 1, last + 1):
            errors = _errors(history)
            if plan.stop_after is not None and len(errors) - 1 - best_epoch(errors) >= plan.stop_after:
                break
            if plan.schedule is not None:
                for group in optimiser.param_groups:
                    group["lr"] = plan.schedule.rate(plan.lr, errors, plan.epochs)
            torch.manual_seed(plan.seed * 1_000_003 + epoch)  # noise and dropout repeat in a resumed run
            network.train()
            run = _Run(network, optimiser, feed, loss, after_update, watchers, model)
            record, progress = run.epoch(epoch, last)
            network.eval()
            if plan.validate is not None:
                record |= {"lr": optimiser.param_groups[0]["lr"], **plan.validate()}
            history.append(record)
            if ERROR in record and best_epoch(_errors(history)) == len(history) - 1:
                best = {name: tensor.clone() for name, tensor in network.state_dict().items()}
            _keep(network, optimiser, plan, history, best)
            progress.shown = record
            for watcher in watchers:
                watcher(progress)
            if progress.stopped:
                break
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


@dataclass(frozen=True)
class _Run:
    """What an epoch needs; see `train`."""

    network: nn.Module
    optimiser: torch.optim.Optimizer
    feed: Feed
    loss: Callable[[Any], LossTerms]
    after_update: Callable[[int], None]
    watchers: Sequence[Watcher]
    model: Any

    def epoch(self, number: int, last: int) -> tuple[Epoch, Progress]:
        """The record of an epoch and where it ended; watchers hear of the last step once it is complete."""
        started, totals, n_graphs = time.perf_counter(), {}, 0  # type: float, Epoch, int
        updates = self.feed.updates(number)
        for step, update in enumerate(updates, start=1):
            terms = self._update(update, number)
            self.after_update((number - 1) * len(updates) + step - 1)
            n_graphs += self.feed.size(update)
            for name, value in {"loss": terms.total, **terms.shown}.items():
                totals[name] = totals.get(name, 0.0) + float(value.detach()) * self.feed.size(update)
            seconds = time.perf_counter() - started
            means = {name: total / n_graphs for name, total in totals.items()}
            record = {"epoch": number, **means, "seconds": seconds, "graphs_per_second": n_graphs / seconds}
            progress = Progress(number, last, step, len(updates), record, self.model)
            if step < len(updates) and self.watchers:
                for watcher in self.watchers:
                    watcher(progress)
                if progress.stopped:
                    break
                self.network.train()  # a watcher may have used it
        return record, progress

    def _update(self, update: Any, epoch: int) -> LossTerms:
        terms = self.loss(self.feed.batch(update))
        loss = terms.total.detach()
        if not torch.isfinite(loss):
            rate = self.optimiser.param_groups[0]["lr"]
            raise TrainingDiverged(
                f"the loss became {float(loss)} in epoch {epoch} at learning rate {rate:g}; lower lr "
                f"(InfoGraph can also use MutualInformation(discriminator='conditioned'))"
            )
        self.optimiser.zero_grad(set_to_none=True)
        terms.total.backward()
        self.optimiser.step()
        drop_tiny(self.optimiser)
        return terms


class Feed(Protocol):
    """Gives the updates of an epoch, from the epoch's number alone, so that a resumed run repeats them."""

    def updates(self, epoch: int) -> Sequence[Any]:
        """What the updates of an epoch are made of."""
        ...

    def batch(self, update: Any) -> Any:
        """What the network is called with."""
        ...

    def size(self, update: Any) -> int:
        """How many graphs an update counts for in the means of an epoch."""
        ...


@dataclass(frozen=True)
class GraphFeed:
    """All graphs, shuffled, in batches of at least two.

    Attributes:
        source: makes batches.
        sizes: (G,) nodes per graph.
        batch_size: graphs per update.
        max_nodes: nodes per update, as long as the least number of graphs remains.
        seed: of the order.
        least: graphs per update, at least.
    """

    source: Source
    sizes: IntArray
    batch_size: int
    max_nodes: int
    seed: int
    least: int = 2

    def updates(self, epoch: int) -> list[IntArray]:
        """Positions of graphs."""
        order = shuffled(len(self.sizes), self.seed, epoch)
        return cut(order, self.sizes, self.batch_size, self.max_nodes, least=self.least)

    def batch(self, update: IntArray) -> Any:
        """The batch of these graphs."""
        return self.source.batch(update)

    def size(self, update: IntArray) -> int:
        """How many they are."""
        return len(update)


@dataclass(frozen=True)
class StepFeed:
    """Labelled graphs, each about once per epoch, and as many others beside them.

    Attributes:
        source: makes batches.
        targets: (G, T) or (G,) targets of all graphs; those of unlabelled graphs are never looked at.
        labelled: positions of the labelled graphs.
        everyone: positions of all graphs to learn from without labels, the labelled ones included.
        batch_size: labelled graphs per update, and unlabelled ones.
        n_updates: updates per epoch; the labelled graphs come round as often as needed.
        seed: of the order.
        unlabelled: whether unlabelled graphs are needed.
    """

    source: Source
    targets: Tensor
    labelled: IntArray
    everyone: IntArray
    batch_size: int
    n_updates: int
    seed: int
    unlabelled: bool = True

    def updates(self, epoch: int) -> list[tuple[int, IntArray, IntArray]]:
        """The numbers of the updates, and positions of labelled and of unlabelled graphs."""
        numbers = range((epoch - 1) * self.n_updates, epoch * self.n_updates)
        rng = np.random.default_rng([self.seed, epoch])
        size = min(self.batch_size, len(self.labelled))
        labelled = _rounds(rng, self.labelled, size, self.n_updates)
        if not self.unlabelled:
            nobody = np.zeros(0, np.int64)
            return [(number, graphs, nobody) for number, graphs in zip(numbers, labelled, strict=True)]
        size = min(self.batch_size, len(self.everyone))
        others = _rounds(rng, self.everyone, size, self.n_updates)
        return list(zip(numbers, labelled, others, strict=True))

    def batch(self, update: tuple[int, IntArray, IntArray]) -> Step:
        """The update's graphs and targets."""
        number, labelled, unlabelled = update
        return Step(self.source, labelled, unlabelled, self.targets[torch.from_numpy(labelled)], number)

    def size(self, update: tuple[int, IntArray, IntArray]) -> int:
        """How many labelled graphs there are."""
        return len(update[1])


def _rounds(rng: np.random.Generator, graphs: IntArray, size: int, n_batches: int) -> list[IntArray]:
    """Batches of `size` graphs: all of them in random order, then all again in another.

    No graph is twice in a batch, where it would be its own negative: what the end of a round gave to a batch
    comes last in the next round.
    """
    drawn = [rng.permutation(graphs)]
    for rounds in range(1, -(-size * n_batches // len(graphs))):
        n_begun = rounds * len(graphs) % size  # graphs in the batch that the next round completes
        order = rng.permutation(graphs)
        late = np.isin(order, drawn[-1][len(graphs) - n_begun :])
        drawn.append(np.concatenate([order[~late], order[late]]))
    return np.split(np.concatenate(drawn)[: size * n_batches], n_batches)


def shuffled(n_graphs: int, seed: int, epoch: int) -> IntArray:
    """The order of the graphs in an epoch, from seed and epoch alone: a resumed run repeats it."""
    return np.random.default_rng([seed, epoch]).permutation(n_graphs)


def cut(order: IntArray, sizes: IntArray, batch_size: int, max_nodes: int, least: int = 1) -> list[IntArray]:
    """Cut an order into batches of at most `batch_size` graphs and, from `least` graphs on, `max_nodes`
    nodes.

    A last batch of fewer than `least` graphs joins the one before: contrast needs two graphs.
    """
    if 0 < len(order) <= batch_size and sizes[order].sum() <= max_nodes:
        return [np.array(order)]
    batches: list[list[int]] = [[]]
    nodes = 0
    for graph in order.tolist():
        size = int(sizes[graph])
        full = len(batches[-1]) >= batch_size or nodes + size > max_nodes
        if full and len(batches[-1]) >= least:
            batches.append([])
            nodes = 0
        batches[-1].append(graph)
        nodes += size
    if len(batches) > 1 and len(batches[-1]) < least:
        batches[-2].extend(batches.pop())
    return [np.array(batch) for batch in batches if batch]


# When to lower the learning rate, when to stop, and which epoch was best: functions of the errors so far.
#
# Nothing here has a state, so that a resumed run decides as an uninterrupted one would.


@dataclass
class Plateau(Spec):
    """The learning rate falls where the error stops falling; the defaults are those of the paper's code.

    A schedule of your own has `rate`, too.

    Args:
        factor: what the rate is multiplied with once the error has not improved ...
        patience: ... for more than that many epochs.
        floor: the least rate.
    """

    factor: float = 0.7
    patience: int = 5
    floor: float = 1e-6

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "factor": [Interval(Real, 0, 1, closed="both")],
        "patience": [Interval(Integral, 0, None, closed="left")],
        "floor": [Interval(Real, 0, None, closed="left")],
    }

    def rate(self, lr: float, errors: Sequence[float], epochs: int) -> float:
        """The rate of the next epoch, as torch's ReduceLROnPlateau gives it.

        Args:
            lr: the rate at the start.
            errors: of the epochs so far.
            epochs: how many there will be at most.
        """
        rate, best, waited = lr, math.inf, 0
        for error in errors:
            if error < best * (1 - THRESHOLD) if best >= 0 else error < best * (1 + THRESHOLD):
                best, waited = error, 0
            else:
                waited += 1
            if waited > self.patience:
                rate, waited = min(rate, max(rate * self.factor, self.floor)), 0
        return rate


def best_epoch(errors: Sequence[float]) -> int:
    """The first epoch, from 0, with the least error; -1 before the first, NaN is worst."""
    clean = [math.inf if math.isnan(error) else error for error in errors]
    return clean.index(min(clean)) if clean else -1


@torch.no_grad()
def collect_statistics(network: nn.Module, encode: Callable[[Any], object], batches: Iterable[Any]) -> None:
    """Run `encode` over all batches in training mode; every BatchNorm of `network` averages what it sees."""
    with norms_with_momentum(network, None) as norms:  # a plain average
        for norm in norms:
            norm.reset_running_stats()
        network.train()
        try:
            for batch in batches:
                encode(batch)
        finally:
            network.eval()


@torch.inference_mode()
def compute(
    network: nn.Module,
    source: AnyBatcher,
    what: Callable[[Any], Tensor],
    *,
    nodes: bool = False,
) -> NDArray[np.float32]:
    """`what` of all graphs, joined, with the network in evaluation mode."""
    network.eval()
    n_graphs = len(source.loads)
    batches = cut(np.arange(n_graphs), source.loads, n_graphs, source.most)
    parts = [what(source.batch(chosen, nodes=nodes)).float().cpu() for chosen in batches]
    joined: NDArray[np.float32] = torch.cat(parts).numpy()
    return joined


@dataclass(frozen=True)
class Team:
    """Workers that share every batch.

    Attributes:
        workers: how many, with one thread each.
        on: "local" for processes of this machine, "ray" or "ray://address" for a Ray cluster.
    """

    workers: int = 1
    on: str = "local"

    def __post_init__(self) -> None:
        if isinstance(self.workers, bool) or not isinstance(self.workers, int) or self.workers < 1:
            raise InvalidParameter(f"workers={self.workers!r}: expected 1 or more")
        if self.on != "local" and self.on.partition("://")[0] != "ray":
            raise InvalidParameter(
                f"on={self.on!r}: expected 'local', 'ray', or a cluster such as 'ray://host:10001'"
            )

    @property
    def alone(self) -> bool:
        """Whether it is just this process."""
        return self.workers == 1 and self.on == "local"

    @property
    def least(self) -> int:
        """Graphs that a batch must have: every worker gets one."""
        return max(2, self.workers)


SOLO = Team()


def deal(graphs: IntArray, costs: IntArray, workers: int, least: int = 1) -> list[IntArray]:
    """Divide graphs among workers so that all have about the same to do: the costliest first, each to the
    worker with the least so far, but `least` graphs to everyone. The same on every worker.
    """
    parts: list[list[int]] = [[] for _ in range(workers)]
    loads = [0] * workers
    for dealt, place in enumerate(np.argsort(-costs[graphs], kind="stable")):
        lacking = [worker for worker in range(workers) if len(parts[worker]) < least]
        reserved = sum(least - len(parts[worker]) for worker in lacking)
        among = lacking if len(graphs) - dealt <= reserved else range(workers)
        worker = min(among, key=lambda each: (loads[each], each))
        parts[worker].append(int(place))
        loads[worker] += int(costs[graphs[place]]) + 1
    return [graphs[sorted(part)] for part in parts]


@dataclass(frozen=True)
class PartFeed:
    """One worker's part of every update of a feed.

    Attributes:
        whole: gives the updates, the same for all workers.
        costs: (G,) what a graph costs.
        rank: the number of this worker.
        workers: how many there are.
    """

    whole: GraphFeed
    costs: IntArray
    rank: int
    workers: int

    def updates(self, epoch: int) -> list[IntArray]:
        """Positions of the graphs of all workers."""
        return self.whole.updates(epoch)

    def batch(self, update: IntArray) -> Any:
        """The batch of this worker's graphs."""
        least = max(1, self.whole.least // self.workers)
        return self.whole.batch(deal(update, self.costs, self.workers, least)[self.rank])

    def size(self, update: IntArray) -> int:
        """How many graphs all workers have."""
        return self.whole.size(update)


class SharedLoss(nn.Module):
    """The loss of a batch whose graphs are on several workers, for `train`.

    Its value is that of the whole batch. Its gradient is that of this worker's share, times the number of
    workers, because DistributedDataParallel averages what should be added up.

    Args:
        network: what is trained.
        loss: (network, batch) -> this worker's share.
    """

    def __init__(self, network: nn.Module, loss: Callable[[nn.Module, Any], LossTerms]) -> None:
        super().__init__()
        self._shared = DistributedDataParallel(_Called(network, loss))

    def forward(self, batch: Any) -> LossTerms:
        """The loss of a batch, of which this is the part with this worker's graphs."""
        total, shown = self._shared(batch)
        scaled = total * dist.get_world_size()
        return LossTerms(scaled + (all_sum(total) - scaled.detach()), shown)


class _Called(nn.Module):
    """A network whose call is its loss, as DistributedDataParallel wants it."""

    def __init__(self, network: nn.Module, loss: Callable[[nn.Module, Any], LossTerms]) -> None:
        super().__init__()
        self.network, self._loss = network, loss

    def forward(self, batch: Any) -> LossTerms:
        """The loss of a batch."""
        return self._loss(self.network, batch)
