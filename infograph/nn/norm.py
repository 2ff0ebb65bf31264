"""BatchNorm in which every row counts as often as it has nodes, and workers that share a batch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch import distributed as dist


class WeightedBatchNorm(nn.Module):
    """BatchNorm over nodes, computed on distinct rows: equal to `torch.nn.BatchNorm1d` on the repeated rows.

    The running variance is unbiased with N / (N - 1), N being the number of nodes, as in torch. Without a
    momentum the running statistics are the plain average over all batches seen since `reset_running_stats`.
    """

    eps = 1e-5
    momentum: float | None = 0.1
    running_mean: Tensor
    running_var: Tensor
    batches: Tensor

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))
        self.register_buffer("running_mean", torch.zeros(dim))
        self.register_buffer("running_var", torch.ones(dim))
        self.register_buffer("batches", torch.zeros((), dtype=torch.long))

    def reset_running_stats(self) -> None:
        """Forget all batches seen."""
        self.running_mean.zero_()
        self.running_var.fill_(1.0)
        self.batches.zero_()

    def forward(self, states: Tensor, counts: Tensor) -> Tensor:
        """(C, D), (C,) -> (C, D)."""
        if not self.training:
            scale = self.weight * torch.rsqrt(self.running_var + self.eps)
            return states * scale + (self.bias - self.running_mean * scale)
        counts = counts.to(states.dtype)
        n_nodes = all_sum(counts.sum())
        normalise: Any = _Normalise.apply
        output, mean, variance = normalise(states, counts / n_nodes, self.weight, self.bias, self.eps)
        with torch.no_grad():
            self.batches += 1
            rate = 1.0 / float(self.batches) if self.momentum is None else self.momentum
            unbiased = variance * (n_nodes / (n_nodes - 1).clamp(min=1))
            self.running_mean.lerp_(mean.to(self.running_mean.dtype), rate)
            self.running_var.lerp_(unbiased.to(self.running_var.dtype), rate)
        return cast(Tensor, output)


class _Normalise(torch.autograd.Function):
    """Rows normalised by weighted mean and variance; the textbook gradient, in half of autograd's passes."""

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, share: Tensor, weight: Tensor, bias: Tensor, eps: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        mean = all_sum(share @ states)  # (D,)
        normal = states - mean
        output = normal.square()  # the room that its squares took: new memory costs as much as the sums
        variance = all_sum(share @ output)  # (D,)
        inverse = torch.rsqrt(variance + eps)
        normal *= inverse
        ctx.save_for_backward(normal, share, weight, inverse)
        ctx.mark_non_differentiable(mean, variance)
        return torch.addcmul(bias, normal, weight, out=output), mean, variance

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        normal, share, weight, inverse = ctx.saved_tensors
        bias_gradient = gradient.sum(0)
        room = gradient * normal  # (C, D)
        weight_gradient = room.sum(0)
        bias_sum, weight_sum = all_sum(torch.stack([bias_gradient, weight_gradient]))
        common = torch.addcmul(bias_sum, normal, weight_sum, out=room)
        states_gradient = torch.addcmul(gradient, share[:, None], common, value=-1, out=room)
        return states_gradient.mul_(weight * inverse), None, weight_gradient, bias_gradient, None


@contextmanager
def norms_with_momentum(network: nn.Module, momentum: float | None) -> Iterator[list[Any]]:
    """All BatchNorms of a network, with another momentum inside the block."""
    norms = [m for m in network.modules() if isinstance(m, WeightedBatchNorm | nn.BatchNorm1d)]
    before = [norm.momentum for norm in norms]
    for norm in norms:
        norm.momentum = momentum
    try:
        yield norms
    finally:
        for norm, own in zip(norms, before, strict=True):
            norm.momentum = own


# Workers that share a batch: each holds some of its graphs and computes its share of the loss, which is the
# sum of the shares. A backward pass on all at once then gives each the gradient of the whole loss in what it
# holds, as long as what crosses from worker to worker is added up on the way back; here, and in
# `WeightedBatchNorm`. The gradient in a weight is the sum over workers. A process alone has nobody to ask.

_GROUPS: list[dist.ProcessGroup] = []  # the workers that share batches with this process now


@contextmanager
def sharing(group: dist.ProcessGroup) -> Iterator[None]:
    """A block in which all batches are shared with the workers of a group; all make the same calls in it."""
    _GROUPS.append(group)
    try:
        yield
    finally:
        _GROUPS.pop()


def all_sum(values: Tensor) -> Tensor:
    """The sum over all workers, without a gradient, the same on each to the last bit."""
    if not _GROUPS:
        return values
    total = values.detach().clone(memory_format=torch.contiguous_format)
    dist.all_reduce(total, group=_GROUPS[-1])
    return total


def all_join(rows: Tensor) -> Tensor:
    """The rows of all workers, worker after worker; their gradient goes back to whose they are."""
    return cast(Tensor, _Join.apply(rows)) if _GROUPS else rows  # type: ignore[no-untyped-call]


def first_place(n_rows: int, device: torch.device | None = None) -> int:
    """Where the rows of this worker begin among those of all."""
    return _places(n_rows, device)[0] if _GROUPS else 0


def _places(n_rows: int, device: torch.device | None) -> tuple[int, int]:
    """Where the own rows begin, and how many there are in all."""
    counts = torch.zeros(dist.get_world_size(_GROUPS[-1]), dtype=torch.long, device=device)
    rank = dist.get_rank(_GROUPS[-1])
    counts[rank] = n_rows
    counts = all_sum(counts)
    return int(counts[:rank].sum()), int(counts.sum())


class _Join(torch.autograd.Function):
    """Rows in their places, zeros elsewhere, summed: the workers' rows need not be equally many."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor) -> Tensor:
        start, total = _places(len(rows), rows.device)
        ctx.own = slice(start, start + len(rows))
        joined = rows.new_zeros(total, *rows.shape[1:])
        joined[ctx.own] = rows
        return all_sum(joined)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return all_sum(gradient)[ctx.own]
