"""The one interface of all objectives that learn from labelled and unlabelled graphs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from infograph.data.graphset import IntArray
from infograph.methods.predictor import Predictor
from infograph.methods.tasks import Task
from infograph.methods.terms import LossTerms


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
