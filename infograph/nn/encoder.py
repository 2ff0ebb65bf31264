"""What every encoder of graphs offers: states of nodes at several depths, and graph vectors made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from infograph.nn.batch import Batch
from infograph.nn.readout import Readout, read_out


class GraphEncoder(nn.Module):
    """A network over batches; its call gives the states of all nodes after each of K layers (Eq. 1).

    Attributes:
        widths: K widths of node states; a patch is all of them, concatenated (Eq. 2).
        level_dims: K widths of the graph vectors H^k made of one layer's states.
        dim: width of the graph vector H.
    """

    widths: Sequence[int]
    level_dims: Sequence[int]
    dim: int

    def level(self, states: Sequence[Tensor], batch: Any, k: int) -> Tensor:
        """H^k, the vectors of the distinct graphs at layer k. (G, level_dims[k])."""
        raise NotImplementedError

    def vectors(self, states: Sequence[Tensor], batch: Any) -> Tensor:
        """H, the vectors of the distinct graphs of a batch (Eq. 3). (G, dim)."""
        raise NotImplementedError


class ColourEncoder(GraphEncoder):
    """Base of GIN and of users' networks per node: H^k is a sum, mean or maximum, H all of them together.

    Args:
        widths: of the layers' states.
        readout: how the states of nodes become a graph's vector; the paper sums.
    """

    def __init__(self, widths: Sequence[int], readout: Readout) -> None:
        super().__init__()
        self.widths = self.level_dims = list(widths)
        self.dim, self.readout = sum(widths), readout

    def level(self, states: Sequence[Tensor], batch: Batch, k: int) -> Tensor:
        """The readout of layer k."""
        return read_out(states[k], batch.rounds[k].members, batch.sizes, self.readout)

    def vectors(self, states: Sequence[Tensor], batch: Batch) -> Tensor:
        """All layers' readouts, side by side."""
        return torch.cat([self.level(states, batch, k) for k in range(len(states))], 1)
