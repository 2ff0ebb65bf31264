"""Discriminators T(h, H): the interface, and the paper's (Appendix D), as it is or better conditioned."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from infograph.nn.batch import Batch
from infograph.nn.encoder import xavier
from infograph.nn.norm import WeightedBatchNorm, all_join

Tensors = tuple[Tensor, ...]


class Discriminator(nn.Module):
    """Scores pairs of a patch and a graph. Yours has `__init__(patch_dim, graph_dim)` and `forward`.

    `pair_inputs` and `pair_scores` do the same in two parts, once per batch and once per chunk of patches.
    """

    def forward(self, patches: Tensor, graphs: Tensor) -> Tensor:
        """Some patches (C, patch_dim) and all graphs (G, graph_dim) -> their scores T (C, G)."""
        raise NotImplementedError

    def pair_inputs(self, states: Sequence[Tensor], graphs: Tensor, batch: Batch) -> tuple[Tensors, Tensors]:
        """Tensors with a row per patch, which `pair_scores` gets in chunks, and tensors it gets whole."""
        return (patches_of(states, batch),), (all_join(graphs),)

    def pair_scores(self, *tensors: Tensor) -> Tensor:
        """Chunks of the first tensors that `pair_inputs` gave, and all of the second -> scores (C, G)."""
        return self(*tensors)  # type: ignore[no-any-return]


def patches_of(states: Sequence[Tensor], batch: Batch) -> Tensor:
    """The states of all layers side by side, on the finest colours (Eq. 2). (C_K, sum of widths)."""
    patches = states[0]
    for state, round_ in zip(states[1:], batch.rounds[1:], strict=True):
        patches = torch.cat([round_.own @ patches, state], 1)
    return patches


class FeedForward(nn.Module):
    """Three linear layers, each followed by ReLU, plus one linear shortcut from input to output."""

    def __init__(self, in_dim: int, dim: int) -> None:
        super().__init__()
        self.first, self.second, self.third = nn.Linear(in_dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.shortcut = nn.Linear(in_dim, dim)
        xavier(self)

    def forward(self, x: Tensor) -> Tensor:
        return self.after_first(self.first(x)) + self.shortcut(x)  # type: ignore[no-any-return]

    def after_first(self, hidden: Tensor) -> Tensor:
        """What follows the first layer, but for the shortcut. (rows, dim) -> (rows, dim)."""
        return torch.relu_(self.third(torch.relu_(self.second(torch.relu(hidden)))))


class PaperDiscriminator(Discriminator):
    """`f(h) . g(H)`, with f and g small networks with a jump (Appendix D).

    First layer and shortcut of f are linear in the concatenated layers (Eq. 2): their blocks act per layer,
    on that layer's own, fewer colours, and are lifted from round to round. The shortcut is folded into the
    score, `h . (Ws' g)`.

    Differs from the paper: one linear shortcut joins input and output, as in the authors' code.
    """

    def __init__(self, patch_dim: int, graph_dim: int) -> None:
        super().__init__()
        self.local, self.whole = FeedForward(patch_dim, graph_dim), FeedForward(graph_dim, graph_dim)

    def forward(self, patches: Tensor, graphs: Tensor) -> Tensor:
        return self.local(patches) @ self.project(graphs).T  # type: ignore[no-any-return]

    def project(self, graphs: Tensor, copies: Tensor | None = None) -> Tensor:
        """g(H), the graph side. (G, graph_dim) -> (G, graph_dim)."""
        return self.whole(graphs)  # type: ignore[no-any-return]

    def pair_inputs(self, states: Sequence[Tensor], graphs: Tensor, batch: Batch) -> tuple[Tensors, Tensors]:
        """Inputs of the first ReLU (C, dim) and scores of the shortcut (C, G); the graph side (G, dim)."""
        projected = all_join(self.project(graphs, batch.copies))
        first, shortcut = self.local.first, self.local.shortcut
        lift: Any = _Lift.apply
        hidden = lift(batch, first.weight, first.bias, *states)
        direct = lift(batch, projected @ shortcut.weight, projected @ shortcut.bias, *states)
        return (hidden, direct), (projected,)

    def pair_scores(self, hidden: Tensor, direct: Tensor, projected: Tensor) -> Tensor:  # type: ignore[override]
        """T = direct + f'(hidden) . g(H)."""
        return torch.addmm(direct, self.local.after_first(hidden), projected.T)


class ConditionedDiscriminator(PaperDiscriminator):
    """The same with BatchNorm on graph vectors before their projection, and scores divided by sqrt(dim).

    Sum-pooled vectors make the raw scores, and so the loss, huge.
    """

    def __init__(self, patch_dim: int, graph_dim: int) -> None:
        super().__init__(patch_dim, graph_dim)
        self.norm = WeightedBatchNorm(graph_dim)

    def project(self, graphs: Tensor, copies: Tensor | None = None) -> Tensor:
        """g(BatchNorm(H)) / sqrt(dim)."""
        counts = torch.ones(len(graphs), device=graphs.device) if copies is None else copies
        return super().project(self.norm(graphs, counts)) / math.sqrt(graphs.shape[1])


DISCRIMINATORS: dict[str, type[Discriminator]] = {
    "paper": PaperDiscriminator,
    "conditioned": ConditionedDiscriminator,
}


class _Lift(torch.autograd.Function):
    """`patches @ weight.T + bias` without writing the patches down, one block of the weight per layer.

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
                gradient = ctx.rounds[k].own.transposed.times(gradient)
        return None, weight_gradient, gradient.sum(0), *reversed(state_gradients)
