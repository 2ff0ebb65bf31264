"""The workers that share a batch: sums over all of them, and the rows of all of them.

Each of W workers holds some graphs of a batch and computes its share of the loss; the loss of the batch is
the sum of the shares. A backward pass on every worker, at the same time, then gives each the gradient of the
whole loss in what it holds, as long as what crosses from worker to worker is added up on the way back. That
is done here and in `WeightedBatchNorm`. The gradient in a weight is the sum of what the workers have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, cast

import torch
from torch import Tensor, nn
from torch import distributed as dist


@dataclass(frozen=True)
class Places:
    """Where the rows of one worker stand among those of all: `start`, and how many there are in `total`."""

    start: int
    total: int


class Peers(Protocol):
    """The workers of a batch. All of them make the same calls in the same order."""

    size: int
    rank: int

    def sum(self, values: Tensor) -> Tensor:
        """The sum over all workers, without a gradient."""
        ...

    def places(self, n_rows: int) -> Places:
        """Where this worker's rows stand, worker after worker."""
        ...

    def join(self, rows: Tensor, places: Places) -> Tensor:
        """The rows of all workers, worker after worker; their gradient goes back to whose they are."""
        ...


class Alone:
    """One process: nobody to ask."""

    size, rank = 1, 0

    def sum(self, values: Tensor) -> Tensor:
        """The values."""
        return values

    def places(self, n_rows: int) -> Places:
        """All rows."""
        return Places(0, n_rows)

    def join(self, rows: Tensor, places: Places) -> Tensor:
        """The rows."""
        return rows


ALONE: Peers = Alone()


class Group:
    """Workers that are joined by `torch.distributed`.

    Args:
        group: a process group of its own: the gradients of weights travel in another one, at other times.
        device: where its tensors must be.
    """

    def __init__(self, group: dist.ProcessGroup, device: torch.device | None = None) -> None:
        self._group, self._device = group, device
        self.size, self.rank = dist.get_world_size(group), dist.get_rank(group)

    def sum(self, values: Tensor) -> Tensor:
        """The sum over all workers, the same on each to the last bit."""
        total = values.detach().clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total, group=self._group)
        return total

    def places(self, n_rows: int) -> Places:
        """Every worker says how many it has."""
        counts = torch.zeros(self.size, dtype=torch.long, device=self._device)
        counts[self.rank] = n_rows
        counts = self.sum(counts)
        return Places(int(counts[: self.rank].sum()), int(counts.sum()))

    def join(self, rows: Tensor, places: Places) -> Tensor:
        """Rows in their places, zeros elsewhere, summed: the workers' rows need not be equally many."""
        return cast(Tensor, _Join.apply(self, places, rows))  # type: ignore[no-untyped-call]


class _Join(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, group: Group, places: Places, rows: Tensor) -> Tensor:
        ctx.group, ctx.own = group, slice(places.start, places.start + len(rows))
        joined = rows.new_zeros(places.total, *rows.shape[1:])
        joined[ctx.own] = rows
        return group.sum(joined)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, Tensor]:
        return None, None, ctx.group.sum(gradient)[ctx.own]


def share_batches(network: nn.Module, peers: Peers) -> None:
    """Let all parts of a network that look at a whole batch know with whom it is shared."""
    for module in network.modules():
        if hasattr(module, "peers"):
            setattr(module, "peers", peers)  # noqa: B010 - torch types every attribute as a tensor
