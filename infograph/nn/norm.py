"""BatchNorm in which every row counts as often as it has nodes, over all workers that share a batch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn

from infograph.nn.peers import ALONE, Peers


class WeightedBatchNorm(nn.Module):
    """BatchNorm over nodes, computed on distinct rows: equal to `torch.nn.BatchNorm1d` on the repeated rows.

    The running variance is unbiased with N / (N - 1), N being the number of nodes, as in torch. With
    `momentum=None` the running statistics are the plain average over all batches seen since
    `reset_running_stats`.
    """

    running_mean: Tensor
    running_var: Tensor
    batches: Tensor
    peers: Peers = ALONE

    def __init__(self, dim: int, *, eps: float = 1e-5, momentum: float | None = 0.1) -> None:
        super().__init__()
        self.eps, self.momentum = eps, momentum
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
        n_nodes = self.peers.sum(counts.sum())
        normalise: Any = _Normalise.apply
        share = counts / n_nodes
        output, mean, variance = normalise(self.peers, states, share, self.weight, self.bias, self.eps)
        self._remember(mean, variance, n_nodes)
        return cast(Tensor, output)

    @torch.no_grad()
    def _remember(self, mean: Tensor, variance: Tensor, n_nodes: Tensor) -> None:
        self.batches += 1
        rate = 1.0 / float(self.batches) if self.momentum is None else self.momentum
        unbiased = variance * (n_nodes / (n_nodes - 1).clamp(min=1))
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), rate)
        self.running_var.lerp_(unbiased.to(self.running_var.dtype), rate)


class _Normalise(torch.autograd.Function):
    """Rows normalised by weighted mean and variance; the textbook gradient, in half of autograd's passes."""

    @staticmethod
    def forward(
        ctx: Any, peers: Peers, states: Tensor, share: Tensor, weight: Tensor, bias: Tensor, eps: float
    ) -> tuple[Tensor, Tensor, Tensor]:
        mean = peers.sum(share @ states)  # (D,)
        normal = states - mean
        variance = peers.sum(share @ normal.square())  # (D,)
        inverse = torch.rsqrt(variance + eps)
        normal *= inverse
        ctx.save_for_backward(normal, share, weight, inverse)
        ctx.peers = peers
        ctx.mark_non_differentiable(mean, variance)
        return torch.addcmul(bias, normal, weight), mean, variance

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, *_: Tensor) -> tuple[Tensor | None, ...]:
        normal, share, weight, inverse = ctx.saved_tensors
        bias_gradient = gradient.sum(0)
        weight_gradient = (gradient * normal).sum(0)
        bias_sum, weight_sum = ctx.peers.sum(torch.stack([bias_gradient, weight_gradient]))
        common = torch.addcmul(bias_sum, normal, weight_sum)  # (C, D)
        states_gradient = torch.addcmul(gradient, share[:, None], common, value=-1).mul_(weight * inverse)
        return None, states_gradient, None, weight_gradient, bias_gradient, None


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
