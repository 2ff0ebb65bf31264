"""BatchNorm statistics of a network that was not trained, from one pass over the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn

from infograph.nn.norm import WeightedBatchNorm


@torch.no_grad()
def collect_statistics(network: nn.Module, encode: Callable[[Any], object], batches: Iterable[Any]) -> None:
    """Run `encode` over all batches in training mode; every BatchNorm of `network` averages what it sees."""
    norms = [m for m in network.modules() if isinstance(m, WeightedBatchNorm | nn.BatchNorm1d)]
    momenta = [norm.momentum for norm in norms]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # a plain average
    network.train()
    for batch in batches:
        encode(batch)
    network.eval()
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
