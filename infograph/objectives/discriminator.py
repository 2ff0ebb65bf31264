"""The discriminator of Appendix D: T(h, H) = f(h) . g(H), with f and g small networks with a jump."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from infograph.nn.batch import Batch
from infograph.nn.norm import ALONE, Peers, WeightedBatchNorm


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
    """Scores (patch, graph) pairs: T[c, g] for every colour c and distinct graph g of a batch.

    Args:
        patch_dim, graph_dim: widths of patch and graph vectors.
        dim: width of the space in which they are compared.
        conditioned: BatchNorm on the graph vectors before their projection and scores divided by sqrt(dim).
            Sum-pooled vectors make raw scores, and so the loss, huge.

    Differs from the paper: one linear shortcut joins input and output, as in the authors' code;
    `conditioned`.
    """

    def __init__(self, patch_dim: int, graph_dim: int, dim: int, *, conditioned: bool = False) -> None:
        super().__init__()
        self.dim = dim
        self.local, self.whole = FeedForward(patch_dim, dim), FeedForward(graph_dim, dim)
        self.norm = WeightedBatchNorm(graph_dim) if conditioned else None

    def forward(
        self, states: Sequence[Tensor], graph_vectors: Tensor, batch: Batch, peers: Peers = ALONE
    ) -> Scorer:
        """The scores of all pairs of a patch and a graph (`peers`' graphs too), up to what `Scorer` computes.

        The local network's first layer and its shortcut are linear in the concatenated layers (Eq. 2), so
        their blocks act per layer, on that layer's own, fewer colours, and are lifted from round to round.
        The shortcut is folded into the score, `h . (Ws' r)`.
        """
        projected = self.project(graph_vectors, batch.copies)
        projected = peers.join(projected, peers.places(len(projected)))  # (G, dim)
        first, shortcut = self.local.first, self.local.shortcut
        hidden = _lift(batch, first.weight, first.bias, states)  # (C_K, dim)
        direct = _lift(batch, projected @ shortcut.weight, projected @ shortcut.bias, states)  # (C_K, G)
        second, third = self.local.second, self.local.third
        tail = Tail(second.weight, second.bias, third.weight, third.bias)
        return Scorer(hidden, direct, projected, tail)

    def project(self, graph_vectors: Tensor, copies: Tensor) -> Tensor:
        """The graph side of the score, g(H). (G, dim), (G,) -> (G, dim)."""
        if self.norm is None:
            return self.whole(graph_vectors)  # type: ignore[no-any-return]
        return self.whole(self.norm(graph_vectors, copies)) / math.sqrt(self.dim)  # type: ignore[no-any-return]


def _lift(batch: Batch, weight: Tensor, bias: Tensor, states: Sequence[Tensor]) -> Tensor:
    lifted: Tensor = _Lift.apply(batch, weight, bias, *states)  # type: ignore[no-untyped-call]
    return lifted


class _Lift(torch.autograd.Function):
    """`concatenated states @ weight.T + bias` on the finest colours, one block of the weight per layer.

    With `L_k` the sum of the first k layers' parts: `L_k = U_k L_{k-1} + h_k W_k'`.
    """

    @staticmethod
    def forward(ctx: Any, batch: Batch, weight: Tensor, bias: Tensor, *states: Tensor) -> Tensor:
        blocks = weight.split([state.shape[1] for state in states], 1)
        lifted = torch.addmm(bias, states[0], blocks[0].T)
        for state, block, round_ in zip(states[1:], blocks[1:], batch.rounds[1:], strict=True):
            lifted = round_.own.times(lifted).addmm_(state, block.T)
        ctx.save_for_backward(weight, *states)
        ctx.rounds = batch.rounds
        return lifted

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        weight, *states = ctx.saved_tensors
        blocks = weight.split([state.shape[1] for state in states], 1)
        weight_gradient = torch.empty_like(weight)
        block_gradients = weight_gradient.split([state.shape[1] for state in states], 1)
        state_gradients: list[Tensor] = []
        for k in reversed(range(len(states))):
            torch.mm(gradient.T, states[k], out=block_gradients[k])
            state_gradients.append(gradient @ blocks[k])
            if k:
                gradient = ctx.rounds[k].own.transposed_times(gradient)
        return None, weight_gradient, gradient.sum(0), *reversed(state_gradients)


class Tail(NamedTuple):
    """The second and third layer of the local network."""

    second_weight: Tensor  # (dim, dim)
    second_bias: Tensor  # (dim,)
    third_weight: Tensor  # (dim, dim)
    third_bias: Tensor  # (dim,)


@dataclass(frozen=True)
class Scorer:
    """T = direct + ReLU(W3 ReLU(W2 ReLU(hidden) + b2) + b3) . projected, for any rows, with its gradient.

    Attributes:
        hidden: (C, dim) pre-activations of the local network's first layer.
        direct: (C, G) scores of its shortcut.
        projected: (G, dim) the graph side.
        tail: the rest of the local network.
    """

    hidden: Tensor
    direct: Tensor
    projected: Tensor
    tail: Tail

    def score(self, rows: slice) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
        """Scores of some rows (C, G), and the activations that `add_gradient` needs."""
        w2, b2, w3, b3 = self.tail
        first = self.hidden[rows].clamp(min=0)
        second = torch.addmm(b2, first, w2.T).clamp_(min=0)
        third = torch.addmm(b3, second, w3.T).clamp_(min=0)
        return torch.addmm(self.direct[rows], third, self.projected.T), (first, second, third)

    def empty_gradient(self) -> Scorer:
        """Room for the gradient of everything here."""
        tensors = (self.hidden, self.direct, self.projected, *self.tail)
        hidden, direct, projected, *tail = (torch.empty_like(tensor) for tensor in tensors)
        return Scorer(hidden, direct, projected, Tail(*tail))

    def add_gradient(
        self, gradient: Scorer, rows: slice, activations: tuple[Tensor, Tensor, Tensor], slope: Tensor
    ) -> None:
        """Back-propagate the slope of a loss in the scores of some rows (C, G); the first rows start anew."""
        first, second, third = activations
        keep = 1.0 if rows.start else 0.0  # beta = 0 overwrites
        tail, ones = gradient.tail, slope.new_ones(len(slope))
        gradient.direct[rows] = slope
        gradient.projected.addmm_(slope.T, third, beta=keep)
        delta = _mask(slope @ self.projected, third)
        tail.third_weight.addmm_(delta.T, second, beta=keep)
        tail.third_bias.addmv_(delta.T, ones, beta=keep)
        delta = _mask(delta @ self.tail.third_weight, second)
        tail.second_weight.addmm_(delta.T, first, beta=keep)
        tail.second_bias.addmv_(delta.T, ones, beta=keep)
        _mask(torch.mm(delta, self.tail.second_weight, out=gradient.hidden[rows]), first)


def _mask(gradient: Tensor, activation: Tensor) -> Tensor:
    """The gradient of a ReLU, in place: zero where the activation is."""
    backward = torch.ops.aten.threshold_backward.grad_input
    return backward(gradient, activation, 0, grad_input=gradient)  # type: ignore[no-any-return]
