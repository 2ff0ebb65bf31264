"""The discriminator of Appendix D: T(h, H) = f(h) . g(H), with f and g small networks with a jump."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from infograph.nn.batch import ColourBatch


class FeedForward(nn.Module):
    """Three linear layers, each followed by ReLU, plus one linear shortcut from input to output."""

    def __init__(self, in_dim: int, dim: int) -> None:
        super().__init__()
        self.first, self.second, self.third = nn.Linear(in_dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.shortcut = nn.Linear(in_dim, dim)
        for layer in (self.first, self.second, self.third, self.shortcut):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor) -> Tensor:
        """(rows, in_dim) -> (rows, dim)."""
        hidden = torch.relu_(self.first(x))
        hidden = torch.relu_(self.second(hidden))
        output: Tensor = torch.relu_(self.third(hidden)) + self.shortcut(x)
        return output


class Discriminator(nn.Module):
    """Scores (patch, graph) pairs: T[c, g] for every colour c and graph g of a batch.

    The local network's first layer and its shortcut are linear in the concatenated layers (Eq. 2), so their
    blocks act per layer, on that layer's own, fewer colours; the shortcut is folded into the score, `h . (Ws'
    r)`. Both together are the `patches` of the finest colours; the rest of the network is `score`.

    Args:
        dim: width of patch and graph vectors, and of the scores' common space.
        conditioned: BatchNorm on the graph vectors before their projection and scores divided by sqrt(dim).
            Sum-pooled vectors make raw scores, and so the loss, huge.

    Differs from the paper: one linear shortcut joins input and output, as in the authors' code;
        `conditioned`.
    """

    def __init__(self, dim: int, *, conditioned: bool = False) -> None:
        super().__init__()
        self.dim = dim
        self.local, self.whole = FeedForward(dim, dim), FeedForward(dim, dim)
        self.norm = nn.BatchNorm1d(dim) if conditioned else None

    def project(self, graph_vectors: Tensor) -> Tensor:
        """The graph side of the score, g(H). (B, dim) -> (B, dim)."""
        if self.norm is None:
            return self.whole(graph_vectors)  # type: ignore[no-any-return]
        return self.whole(self.norm(graph_vectors)) / math.sqrt(self.dim)  # type: ignore[no-any-return]

    def patches(self, states: Sequence[Tensor], batch: ColourBatch, projected: Tensor) -> Tensor:
        """Everything of f(h) . r that is linear in the layers, lifted to the finest colours. (C_K, dim + B).

        The first `dim` columns are the first layer's pre-activations, the last B the shortcut's scores.
        """
        local = self.local
        offset = torch.cat([local.first.bias, projected @ local.shortcut.bias])  # (dim + B,)
        weights = torch.cat([local.first.weight, projected @ local.shortcut.weight])  # (dim + B, dim)
        blocks = torch.split(weights, [state.shape[1] for state in states], dim=1)
        lifted = torch.addmm(offset, states[0], blocks[0].T)
        for state, block, round_ in zip(states[1:], blocks[1:], batch.rounds[1:], strict=True):
            lifted = torch.addmm(round_.own @ lifted, state, block.T)
        return lifted

    def tail(self) -> tuple[Tensor, ...]:
        """The parameters that `score` needs besides its inputs."""
        second, third = self.local.second, self.local.third
        return second.weight, second.bias, third.weight, third.bias


def score(patches: Tensor, projected: Tensor, tail: Sequence[Tensor]) -> Tensor:
    """T for some rows of `Discriminator.patches` and all graphs. (C, dim + B), (B, dim) -> (C, B)."""
    second_weight, second_bias, third_weight, third_bias = tail
    dim = projected.shape[1]
    hidden = torch.relu(patches[:, :dim])
    hidden = torch.relu_(linear(hidden, second_weight, second_bias))
    hidden = torch.relu_(linear(hidden, third_weight, third_bias))
    return torch.addmm(patches[:, dim:], hidden, projected.T)
