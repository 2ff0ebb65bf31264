"""What objectives are: parameters in a dataclass, weights in the modules that it builds, and a loss.

An objective with labels of your own is one class with `loss`, and with `build` if it trains more than a
predictor. Nothing is registered; docs/change_the_method.md has an example.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol, Self, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import (
    binary_cross_entropy_with_logits,
    cross_entropy,
    kl_div,
    log_softmax,
    logsigmoid,
    mse_loss,
    softmax,
)

from infograph.data.graphset import IntArray
from infograph.nn.batch import Batch
from infograph.nn.encoder import GraphEncoder, xavier
from infograph.objectives.heads import Standardised
from infograph.parameters import Spec


class LossTerms(NamedTuple):
    """The loss to minimise, and the figures to show beside it."""

    total: Tensor
    shown: Mapping[str, Tensor]


class Source(Protocol):
    """Gives the batch of some graphs."""

    def batch(self, graphs: IntArray) -> Any: ...


@dataclass(frozen=True)
class Step:
    """The graphs of one update. Batches are made when an objective asks for them."""

    source: Source
    labelled_graphs: IntArray  # (B_l,)
    unlabelled_graphs: IntArray  # (B_u,) any graphs, labelled or not; empty where none are needed
    targets: Tensor  # (B_l, T) standardised numbers with NaN for unknown ones, or (B_l,) classes
    number: int = 0  # of the update, counted from 0 over the whole run

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
    """`head(H)`: two linear layers with a ReLU between, dim -> dim / 2 -> outputs, as in the paper's code.

    With `beside`, which scales them, the head sees the numbers behind H that a batch has of its graphs.
    """

    frozen = False  # whether the encoder stays as it is, the statistics of its norms included

    def __init__(self, encoder: GraphEncoder, n_outputs: int, beside: Standardised | None = None) -> None:
        super().__init__()
        self.encoder, self.beside = encoder, beside
        middle, width = max(encoder.dim // 2, 1), encoder.dim + (0 if beside is None else len(beside.mean))
        self.head = nn.Sequential(nn.Linear(width, middle), nn.ReLU(), nn.Linear(middle, n_outputs))
        if encoder.weights == "xavier":
            xavier(self.head)

    def train(self, mode: bool = True) -> Self:
        """Switch to training, or to evaluation; a frozen encoder stays there."""
        super().train(mode)
        self.encoder.train(mode and not self.frozen)
        return self

    def encode(self, batch: Batch) -> tuple[list[Tensor], Tensor]:
        """States per layer and vectors (G, dim) of the distinct graphs."""
        states: list[Tensor] = self.encoder(batch)
        return states, self.encoder.vectors(states, batch)

    def outputs(self, vectors: Tensor, batch: Batch) -> Tensor:
        """The predictions for every graph asked for, by the vectors of the distinct ones. (B, n_outputs)."""
        if self.beside is None:
            predicted: Tensor = self.head(vectors)
            return predicted[batch.which]
        rows = torch.cat([vectors[batch.which], self.beside(batch.beside)], 1)
        return cast(Tensor, self.head(rows))

    def forward(self, batch: Batch) -> Tensor:
        """Batch -> predictions, standardised numbers or class scores. (B, n_outputs)."""
        return self.outputs(self.encode(batch)[1], batch)


@dataclass(frozen=True)
class Regression:
    """T numbers per graph, standardised."""

    n_outputs: int  # T

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The mean squared error of the known values; NaN is no target. (B, T), (B, T) -> scalar."""
        known = ~targets.isnan()
        return mse_loss(outputs[known], targets[known].to(outputs.dtype))

    def distance(self, outputs: Tensor, others: Tensor) -> Tensor:
        """How far predictions are from others of the same graphs: the mean squared difference."""
        return mse_loss(outputs, others)

    divergence = distance


@dataclass(frozen=True)
class Classification:
    """One of C classes per graph."""

    n_outputs: int  # C
    weights: tuple[float, ...] = ()  # of the classes; none for 1 each

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The cross-entropy of the known classes; a negative one is no target. (B, C), (B,) -> scalar."""
        known = targets >= 0
        weight = torch.tensor(self.weights).to(outputs) if self.weights else None
        return cross_entropy(outputs[known], targets[known], weight)

    def distance(self, outputs: Tensor, others: Tensor) -> Tensor:
        """The mean squared difference of the probabilities, as Mean Teacher has it."""
        return mse_loss(softmax(outputs, 1), softmax(others, 1))

    def divergence(self, outputs: Tensor, others: Tensor) -> Tensor:
        """KL(others || outputs), as virtual adversarial training has it."""
        logs = torch.stack([log_softmax(outputs, 1), log_softmax(others, 1)])
        return kl_div(logs[0], logs[1], reduction="batchmean", log_target=True)


@dataclass(frozen=True)
class Tasks:
    """One of two classes in each of T columns."""

    n_outputs: int  # T
    weights: tuple[float, ...] = ()  # of the second class of each, relative to the first; none for 1

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The mean cross-entropy of the known classes, 0 or 1; NaN is no target. (B, T), (B, T) -> scalar."""
        known = ~targets.isnan()
        rare = torch.tensor(self.weights or (1.0,)).to(outputs).expand(outputs.shape[1])
        weight = rare.expand_as(targets)[known]
        wanted = targets[known].to(outputs.dtype)
        return binary_cross_entropy_with_logits(outputs[known], wanted, pos_weight=weight)

    def distance(self, outputs: Tensor, others: Tensor) -> Tensor:
        """The mean squared difference of the probabilities."""
        return mse_loss(outputs.sigmoid(), others.sigmoid())

    def divergence(self, outputs: Tensor, others: Tensor) -> Tensor:
        """KL(others || outputs), the mean over graphs of the sum over columns."""
        one, two = others.sigmoid(), 1 - others.sigmoid()
        apart = one * (logsigmoid(others) - logsigmoid(outputs))
        return (apart + two * (logsigmoid(-others) - logsigmoid(-outputs))).sum(1).mean()


Task = Regression | Classification | Tasks
MakePredictor = Callable[[], Predictor]


@dataclass
class Objective(Spec):
    """Base of all objectives that learn from labels."""

    needs_unlabelled: ClassVar[bool] = True  # whether an update takes unlabelled graphs
    for_classes: ClassVar[bool] = False  # whether it makes sense for classes only
    predicts: ClassVar[str] = "predictor"  # the part of what `build` gives that predicts in the end
    title: ClassVar[str]  # in tables; the name of the class by default

    def __init_subclass__(cls) -> None:
        cls.title = cls.__dict__.get("title", cls.__name__)

    def build(self, make_predictor: MakePredictor, task: Task) -> nn.ModuleDict:
        """What is trained; each call of `make_predictor` gives an encoder and head with fresh weights."""
        return nn.ModuleDict({"predictor": make_predictor()})

    def loss(self, net: Any, step: Step, task: Task) -> LossTerms:
        """The loss of an update; `net` is what `build` gave, its parts by name."""
        raise NotImplementedError

    def after_update(self, net: Any, number: int) -> None:
        """Called after every update of the weights, with its number counted from 0."""


@dataclass
class Supervised(Objective):
    """Mean squared error or cross-entropy of the labelled graphs; the first term of Eq. 6 and 7."""

    needs_unlabelled: ClassVar[bool] = False
    title: ClassVar[str] = "supervised"

    def loss(self, net: Any, step: Step, task: Task) -> LossTerms:
        loss = task.loss(net.predictor(step.labelled), step.targets)
        return LossTerms(loss, {"supervised": loss})
