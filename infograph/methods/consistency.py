"""What objectives share that compare predictions for the same graphs: noise, and a weight that rises."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

import torch
from torch import nn

from infograph.nn.batch import Batch
from infograph.nn.norm import norms_with_momentum

AnyBatch = TypeVar("AnyBatch", bound=Batch)


@dataclass(frozen=True)
class RampUp:
    """A weight that rises from almost 0 to its full value as `exp(-5 (1 - t/T)^2)` (Laine and Aila 2017).

    Attributes:
        weight: the full value.
        updates: T, the update at which it is reached; 0 for the full value from the start.
    """

    weight: float = 1.0
    updates: int = 0

    def at(self, update: int) -> float:
        """The weight at an update, counted from 0."""
        if update >= self.updates:
            return self.weight
        return self.weight * math.exp(-5 * (1 - update / self.updates) ** 2)


def perturbed(batch: AnyBatch, noise: float) -> AnyBatch:
    """The batch with Gaussian noise of that deviation on the inputs of nodes.

    Nodes that the batch computes only once, because nothing tells them apart, get the same noise.
    """
    return batch if not noise else replace(batch, x=batch.x + noise * torch.randn_like(batch.x))


@contextmanager
def unremembered(network: nn.Module) -> Iterator[None]:
    """What `network` computes inside leaves no trace in the running statistics of its BatchNorms."""
    with norms_with_momentum(network, 0.0):
        yield
