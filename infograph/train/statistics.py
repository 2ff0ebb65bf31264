"""BatchNorm statistics of a network that was not trained, from one pass over the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn

from infograph.nn.norm import norms_with_momentum


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
