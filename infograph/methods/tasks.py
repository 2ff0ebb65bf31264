"""What a network is to predict: numbers or a class, and how far two predictions are apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, kl_div, log_softmax, mse_loss, softmax


class Task(Protocol):
    """Regression or classification."""

    @property
    def n_outputs(self) -> int:
        """Numbers that a network gives for a graph."""
        ...

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The supervised loss; NaN or a negative class is no target and does not count."""
        ...

    def distance(self, outputs: Tensor, others: Tensor) -> Tensor:
        """How far predictions are from others of the same graphs: the mean squared difference."""
        ...

    def divergence(self, outputs: Tensor, others: Tensor) -> Tensor:
        """How far predictions are from others, the measure that adversarial training uses."""
        ...


@dataclass(frozen=True)
class Regression:
    """T numbers per graph, standardised; the loss is the mean squared error of the known values."""

    n_outputs: int

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """(B, T), (B, T) -> scalar."""
        known = ~targets.isnan()
        return mse_loss(outputs[known], targets[known].to(outputs.dtype))

    def distance(self, outputs: Tensor, others: Tensor) -> Tensor:
        """Of the numbers."""
        return mse_loss(outputs, others)

    def divergence(self, outputs: Tensor, others: Tensor) -> Tensor:
        """The same as the distance."""
        return mse_loss(outputs, others)


@dataclass(frozen=True)
class Classification:
    """One of C classes per graph; the loss is the cross-entropy."""

    n_outputs: int

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """(B, C), (B,) -> scalar."""
        known = targets >= 0
        return cross_entropy(outputs[known], targets[known])

    def distance(self, outputs: Tensor, others: Tensor) -> Tensor:
        """Of the probabilities, as Mean Teacher has it."""
        return mse_loss(softmax(outputs, 1), softmax(others, 1))

    def divergence(self, outputs: Tensor, others: Tensor) -> Tensor:
        """KL(others || outputs), as virtual adversarial training has it."""
        logs = torch.stack([log_softmax(outputs, 1), log_softmax(others, 1)])
        return kl_div(logs[0], logs[1], reduction="batchmean", log_target=True)
