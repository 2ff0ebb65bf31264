"""The training loop: batches of an epoch, updates, history, validation, learning rate, resume."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from threading import RLock
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval
from torch import Tensor, nn

from infograph.data.graphset import IntArray
from infograph.errors import CheckpointMismatch, InvalidParameter, TrainingDiverged
from infograph.io import LOCK, locked
from infograph.nn.batch import Batcher
from infograph.nn.encoder import NodeBatcher
from infograph.nn.enn import LinkBatcher
from infograph.nn.norm import norms_with_momentum
from infograph.objectives.objective import LossTerms, Source, Step
from infograph.parameters import Spec
from infograph.progress import ERROR, Epoch, OnProgress, Progress, Watcher
from infograph.train.checkpoint import FILE, read_checkpoint, restore, write_checkpoint

log = logging.getLogger("infograph")
Weights = dict[str, Tensor]
TINY = 1e-30
THRESHOLD = 1e-4  # what counts as better: by that share, as in torch's ReduceLROnPlateau
MAX_NODES = 200_000  # per update: batches of large graphs hold fewer of them, never fewer than two
AnyBatcher = Batcher | NodeBatcher | LinkBatcher
Loader = Callable[[int], tuple[list[int], Iterator[Any]]]
"""The number of an epoch -> how many graphs each update counts for, and the batches. It is a function of that
number alone, so that a resumed run repeats it."""


_TURN = RLock()


@contextmanager
def own_noise(seed: int | None = None) -> Iterator[None]:
    """torch's one generator for this thread alone: others that train take turns, and find it as it was."""
    with _TURN, torch.random.fork_rng(devices=[]):
        if seed is not None:
            torch.manual_seed(seed)
        yield


def train(
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    loader: Loader,
    loss: Callable[[Any], LossTerms],
    *,
    epochs: int,
    seed: int,
    earlier: int = 0,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    identity: Mapping[str, Any] = MappingProxyType({}),
    writes: bool = True,
    rate: Callable[[list[float]], float] | None = None,
    stop_after: int | None = None,
    clip: float | None = None,
    validate: Callable[[], Epoch] | None = None,
    after_update: Callable[[int], None] = lambda number: None,
    watchers: Sequence[Watcher] = (),
    model: Any = None,
) -> list[Epoch]:
    """Train a network and return the history: one record per epoch.

    Args:
        epochs: at most so many, those of a resumed checkpoint included.
        seed: of any noise; the result is a function of it.
        earlier: epochs of earlier runs of the same network, after which these are counted.
        checkpoint: a folder that gets the state after every epoch, if `writes`.
        identity: what must not differ between a checkpoint and the run that resumes it.
        rate: errors so far -> the learning rate of the next epoch.
        stop_after: epochs without improvement after which training ends.
        validate: figures after an epoch. With ERROR among them rate and end go by it, and the weights of the
            best epoch are kept; otherwise they go by the loss, and the last weights are kept.
        after_update: called after every update with its number, counted from 0 over the whole run.
        model: the estimator whose network it is, for watchers.
    """
    check_no_autocast(next(network.parameters()).device)
    history, best = [], {}  # type: list[Epoch], Weights
    busy = f"{checkpoint} is in use by another training: wait for it, or choose another folder"

    def keep() -> None:
        if writes and checkpoint is not None:
            run = {"identity": dict(identity), "history": history}
            write_checkpoint(checkpoint, network, optimiser, run, best)

    update = partial(_update, optimiser, clip)
    last, name = earlier + epochs, type(model or network).__name__
    shared = checkpoint is None or not writes
    alone = nullcontext() if shared else locked(Path(str(checkpoint)) / f"{FILE}{LOCK}", busy)
    with alone, torch.enable_grad(), own_noise():
        if resume:
            history, best = _resume(network, optimiser, checkpoint, identity, epochs)
        log.info("%s: training of at most %d epochs, %d done", name, last, earlier + len(history))
        keep()  # so that an interrupt in the first epoch finds one too
        for epoch in range(earlier + len(history) + 1, last + 1):
            errors = _errors(history)
            if stop_after is not None and len(errors) - 1 - best_epoch(errors) >= stop_after:
                break
            for group in optimiser.param_groups:
                group["lr"] = group["lr"] if rate is None else rate(errors)
            torch.manual_seed(seed * 1_000_003 + epoch)  # noise and dropout repeat in a resumed run
            network.train()
            now = _epoch(epoch, last, network, update, loader, loss, after_update, watchers, model)
            network.eval()
            if not math.isfinite(now.shown["loss"]):  # of another device, where no update was looked at
                raise _diverged(now.shown["loss"], epoch, optimiser.param_groups[0]["lr"])
            if validate is not None:
                now.shown |= {"lr": optimiser.param_groups[0]["lr"], **validate()}
            history.append(now.shown)
            if ERROR in now.shown and best_epoch(_errors(history)) == len(history) - 1:
                best = {name: tensor.clone() for name, tensor in network.state_dict().items()}
            keep()
            log.debug("%s: epoch %d of %d: %s", name, epoch, last, now.shown)
            now.ended = True
            for watcher in watchers:
                watcher(now)
            if now.stopped:
                break
    log.info("%s: training ended after %d epochs", name, earlier + len(history))
    if best:
        network.load_state_dict(best)
    network.eval()
    return history


def _epoch(
    number: int,
    last: int,
    network: nn.Module,
    update: Callable[[Tensor, int], None],
    loader: Loader,
    loss: Callable[[Any], LossTerms],
    after_update: Callable[[int], None],
    watchers: Sequence[Watcher],
    model: Any,
) -> Progress:
    """Train for an epoch; watchers hear of its last step from `train`, once the record is complete."""
    sizes, batches = loader(number)
    began, totals, n_graphs = time.perf_counter(), {}, 0  # type: float, dict[str, Any], int
    for step, (size, batch) in enumerate(zip(sizes, batches, strict=True), start=1):
        terms = loss(batch)
        update(terms.total, number)
        after_update((number - 1) * len(sizes) + step - 1)
        n_graphs += size
        for name, value in {"loss": terms.total, **terms.shown}.items():
            totals[name] = totals.get(name, 0.0) + _figure(value) * size
        if step < len(sizes) and not watchers:
            continue
        seconds = time.perf_counter() - began
        means = {name: float(total) / n_graphs for name, total in totals.items()}
        record = {"epoch": number, **means, "seconds": seconds, "graphs_per_second": n_graphs / seconds}
        now = Progress(number, last, step, len(sizes), record, model)
        if step < len(sizes):
            for watcher in watchers:
                watcher(now)
            if now.stopped:
                break
            network.train()  # a watcher may have used it
    return now


def _figure(value: Tensor) -> Any:
    """A number of this processor; of another device it stays there, so that no update waits for it."""
    return float(value.detach()) if value.device.type == "cpu" else value.detach()


def _update(optimiser: torch.optim.Optimizer, clip: float | None, loss: Tensor, epoch: int) -> None:
    if loss.device.type == "cpu" and not torch.isfinite(loss.detach()):
        raise _diverged(loss.item(), epoch, optimiser.param_groups[0]["lr"])
    optimiser.zero_grad(set_to_none=True)
    loss.backward()
    if clip is not None:
        nn.utils.clip_grad_norm_((p for group in optimiser.param_groups for p in group["params"]), clip)
    optimiser.step()
    drop_tiny(optimiser)


def _diverged(loss: float, epoch: int, lr: float) -> TrainingDiverged:
    return TrainingDiverged(
        f"the loss became {loss} in epoch {epoch} at learning rate {lr:g}; lower lr, or clip gradients by "
        f"clip=1.0 (InfoGraph can also use MutualInformation(discriminator='conditioned'))"
    )


def adam(weights: Iterable[nn.Parameter], **settings: Any) -> torch.optim.Adam:
    """Adam in one kernel, where torch has that for the device."""
    weights = list(weights)
    return torch.optim.Adam(weights, **settings, fused=weights[0].device.type in ("cpu", "cuda") or None)


def check_no_autocast(device: torch.device) -> None:
    """Refuse to compute inside `torch.autocast`: sums of thousands of nodes need 32 bits."""
    if any(torch.is_autocast_enabled(kind) for kind in {"cpu", device.type} - {"meta"}):
        raise InvalidParameter(
            "torch.autocast is on, and this computes in 32 bits: leave the block, or put the call into "
            "torch.autocast(device, enabled=False)"
        )


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


def _resume(
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    checkpoint: str | Path | None,
    identity: Mapping[str, Any],
    epochs: int,
) -> tuple[list[Epoch], Weights]:
    if checkpoint is None:
        raise InvalidParameter("resume needs the folder of a checkpoint: pass checkpoint=...")
    tensors, run = read_checkpoint(checkpoint)
    saved, history = run["identity"], run["history"]
    for key in {**identity, **saved}:
        if saved.get(key) != identity.get(key):
            raise CheckpointMismatch(
                f"the checkpoint in {checkpoint} is of another run: {key} was {saved.get(key)!r}, "
                f"now it is {identity.get(key)!r}"
            )
    if len(history) > epochs:
        raise CheckpointMismatch(
            f"the checkpoint in {checkpoint} has {len(history)} epochs, more than epochs={epochs}: "
            f"start without resume"
        )
    return history, restore(tensors, network, optimiser)


def _errors(history: Sequence[Epoch]) -> list[float]:
    return [record.get(ERROR, record["loss"]) for record in history]


def best_epoch(errors: Sequence[float]) -> int:
    """The first epoch, from 0, with the least error; -1 before the first, NaN is worst."""
    clean = [math.inf if math.isnan(error) else error for error in errors]
    return clean.index(min(clean)) if clean else -1


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

        It has no state, so that a resumed run decides as an uninterrupted one would.

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


@dataclass
class Cosine(Spec):
    """The learning rate falls from epoch to epoch along half a cosine, and would be 0 after the last one."""

    def rate(self, lr: float, errors: Sequence[float], epochs: int) -> float:
        """The rate of the next epoch; arguments as for `Plateau`."""
        return lr * (1 + math.cos(math.pi * len(errors) / epochs)) / 2


def graph_loader(
    source: AnyBatcher,
    batch_size: int,
    seed: int,
    *,
    among: IntArray | None,
    least: int,
    own: Callable[[IntArray], IntArray],
) -> Loader:
    """Graphs (all of them, or those of `among`), shuffled, in batches of at least `least`.

    `own` takes of each batch what this process trains.
    """
    graphs = np.arange(len(source.sizes)) if among is None else among

    def load(epoch: int) -> tuple[list[int], Iterator[Any]]:
        order = graphs[shuffled(len(graphs), seed, epoch)]
        updates = cut(order, source.sizes, batch_size, MAX_NODES, least)
        return [len(each) for each in updates], (source.batch(own(each)) for each in updates)

    return load


def step_loader(
    source: Source,
    targets: Tensor,
    labelled: IntArray,
    everyone: IntArray,
    *,
    batch_size: int,
    n_updates: int,
    seed: int,
) -> Loader:
    """Labelled graphs, which come round as often as needed, and as many of `everyone` beside them.

    Each side has `batch_size` graphs, or all there are; `everyone` may be nobody. Only the labelled graphs'
    rows of `targets` are looked at.
    """

    def load(epoch: int) -> tuple[list[int], Iterator[Step]]:
        rng = np.random.default_rng([seed, epoch])
        known = _rounds(rng, labelled, batch_size, n_updates)
        others = _rounds(rng, everyone, batch_size, n_updates)
        numbers = range((epoch - 1) * n_updates, epoch * n_updates)
        steps = (
            Step(source, graphs, beside, targets[torch.from_numpy(graphs).to(targets.device)], number)
            for number, graphs, beside in zip(numbers, known, others, strict=True)
        )
        return [len(graphs) for graphs in known], steps

    return load


def _rounds(rng: np.random.Generator, graphs: IntArray, size: int, n_batches: int) -> list[IntArray]:
    """Batches of `size` graphs: all of them in random order, then all again in another.

    No graph is twice in a batch, where it would be its own negative: what the end of a round gave to a batch
    comes last in the next round.
    """
    if not len(graphs):
        return [graphs] * n_batches
    size = min(size, len(graphs))
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


@torch.no_grad()
def collect_statistics(network: nn.Module, encode: Callable[[Any], object], batches: Iterable[Any]) -> None:
    """Run `encode` over all batches in training mode; every BatchNorm of `network` averages what it sees."""
    check_no_autocast(next(network.parameters()).device)
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
    tell: OnProgress | None = None,
) -> NDArray[np.float32]:
    """`what` of all graphs, joined, with the network in evaluation mode; `tell` hears how many are done."""
    check_no_autocast(source.device)
    network.eval()
    n_graphs = len(source.loads)
    batches = cut(np.arange(n_graphs), source.loads, n_graphs, source.most)
    parts, done = [], 0
    for chosen in batches:
        parts.append(what(source.batch(chosen, nodes=nodes)).float().cpu())
        done += len(chosen)
        if tell is not None:
            tell(done, n_graphs)
    joined: NDArray[np.float32] = torch.cat(parts).numpy()
    return joined
