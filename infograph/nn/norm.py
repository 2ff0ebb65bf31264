"""BatchNorm in which every row counts as often as it has nodes."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class WeightedBatchNorm(nn.Module):
    """BatchNorm over nodes, computed on distinct rows: equal to `torch.nn.BatchNorm1d` on the repeated rows.

    The running variance is unbiased with N / (N - 1), N being the number of nodes, as in torch. With
    `momentum=None` the running statistics are the plain average over all batches seen since
    `reset_running_stats`.
    """

    running_mean: Tensor
    running_var: Tensor
    batches: Tensor

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
        n_nodes = counts.sum()
        share = counts / n_nodes
        mean = share @ states  # (D,)
        centred = states - mean
        variance = share @ centred.square()  # (D,)
        self._remember(mean, variance, n_nodes)
        return centred * (self.weight * torch.rsqrt(variance + self.eps)) + self.bias

    @torch.no_grad()
    def _remember(self, mean: Tensor, variance: Tensor, n_nodes: Tensor) -> None:
        self.batches += 1
        rate = 1.0 / float(self.batches) if self.momentum is None else self.momentum
        unbiased = variance * (n_nodes / (n_nodes - 1).clamp(min=1))
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), rate)
        self.running_var.lerp_(unbiased.to(self.running_var.dtype), rate)
