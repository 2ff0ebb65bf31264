"""The one interface of all objectives that learn from labels, and the simplest of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, kl_div, log_softmax, mse_loss, softmax

from infograph.data.graphset import IntArray
from infograph.nn.batch import Batch
from infograph.nn.encoder import GraphEncoder


class Source(Protocol):
    """Gives the batch of some graphs."""

    def batch(self, graphs: IntArray) -> Any:
        """The batch of these positions."""
        ...


@dataclass(frozen=True)
class Step:
    """The graphs of one update. Batches are made when an objective asks for them.

    Attributes:
        source: makes batches.
        labelled_graphs: (B_l,) graphs with labels.
        unlabelled_graphs: (B_u,) any graphs, whose labels are not looked at; empty where none are needed.
        targets: (B_l, T) standardised numbers with NaN for unknown ones, or (B_l,) classes.
    """

    source: Source
    labelled_graphs: IntArray
    unlabelled_graphs: IntArray
    targets: Tensor

    @cached_property
    def labelled(self) -> Any:
        """The batch of the labelled graphs."""
        return self.source.batch(self.labelled_graphs)

    @cached_property
    def unlabelled(self) -> Any:
        """The batch of the unlabelled graphs."""
        return self.source.batch(self.unlabelled_graphs)

    @cached_property
    def both(self) -> Any:
        """One batch of all: the labelled graphs first."""
        return self.source.batch(np.concatenate([self.labelled_graphs, self.unlabelled_graphs]))

    @property
    def n_labelled(self) -> int:
        """B_l."""
        return len(self.labelled_graphs)


class Predictor(nn.Module):
    """`head(H)`: two linear layers with a ReLU between, dim -> dim / 2 -> outputs, as in the paper's code."""

    def __init__(self, encoder: GraphEncoder, n_outputs: int) -> None:
        super().__init__()
        self.encoder = encoder
        middle = max(encoder.dim // 2, 1)
        self.head = nn.Sequential(nn.Linear(encoder.dim, middle), nn.ReLU(), nn.Linear(middle, n_outputs))

    def encode(self, batch: Batch) -> Encoding:
        """States and vectors of the distinct graphs."""
        states: list[Tensor] = self.encoder(batch)
        return Encoding(states, self.encoder.vectors(states, batch))

    def outputs(self, encoding: Encoding, batch: Batch) -> Tensor:
        """The predictions for every graph asked for. (B, n_outputs)."""
        predicted: Tensor = self.head(encoding.vectors)
        return predicted[batch.which]

    def forward(self, batch: Batch) -> Tensor:
        """Batch -> predictions, standardised numbers or class scores. (B, n_outputs)."""
        return self.outputs(self.encode(batch), batch)


MakePredictor = Callable[[], Predictor]


class Objective(nn.Module):
    """A predictor, whatever else is needed to train it, and the loss of an update.

    Args:
        make_predictor: gives a predictor with fresh weights at every call.
        task: what is predicted.

    Attributes:
        predictor: what learns from the labels.
        updates: (scalar) how many updates were made.
        needs_unlabelled: whether an update takes unlabelled graphs.
    """

    needs_unlabelled = True
    updates: Tensor

    def __init__(self, make_predictor: MakePredictor, task: Task) -> None:
        super().__init__()
        self.predictor, self.task = make_predictor(), task
        self.register_buffer("updates", torch.zeros((), dtype=torch.long))

    @property
    def result(self) -> Predictor:
        """The predictor to use once training is over."""
        return self.predictor

    def forward(self, step: Step) -> LossTerms:
        """The loss of an update, and its terms."""
        raise NotImplementedError

    def after_update(self) -> None:
        """Called after every update of the weights."""
        self.updates += 1


@dataclass(frozen=True)
class Encoding:
    """What an encoder says about the G distinct graphs of a batch: states per layer, vectors (G, dim)."""

    states: list[Tensor]
    vectors: Tensor


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


@dataclass(frozen=True)
class LossTerms:
    """The loss to minimise, and the figures to show beside it, detached."""

    total: Tensor
    shown: Mapping[str, Tensor]


class Supervised(Objective):
    """Mean squared error or cross-entropy of the labelled graphs; the first term of Eq. 6 and 7."""

    needs_unlabelled = False

    def forward(self, step: Step) -> LossTerms:
        """One pass over the labelled graphs."""
        loss = self.task.loss(self.predictor(step.labelled), step.targets)
        return LossTerms(loss, {"supervised": loss.detach()})
