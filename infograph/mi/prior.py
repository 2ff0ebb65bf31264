"""The prior term of Deep InfoMax (Hjelm et al. 2019, Eq. 7): graph vectors pulled towards uniform noise."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from infograph.nn.peers import ALONE, Peers


class PriorMatcher(nn.Module):
    """A discriminator D tells squashed graph vectors from uniform noise; the encoder works against it.

    The term is `-E log D(u) - E log(1 - D(sigmoid(H)))`. D minimises it and the encoder maximises it, in one
    backward pass: the gradient changes its sign between the two.

    Attributes:
        peers: who shares a batch; the term is then this one's share of it.
    """

    peers: Peers = ALONE

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.network = nn.Sequential(
            nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 1)
        )
        for layer in self.network:
            if isinstance(layer, nn.Linear):
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(layer.bias)

    def forward(self, graph_vectors: Tensor, copies: Tensor) -> Tensor:
        """Distinct graphs (G, dim) and how often each is there (G,) -> scalar."""
        noise = torch.rand_like(graph_vectors)
        squashed = torch.sigmoid(cast(Tensor, _Reverse.apply(graph_vectors)))  # type: ignore[no-untyped-call]
        n_distinct, n_graphs = self.peers.sum(torch.stack([torch.ones_like(copies).sum(), copies.sum()]))
        share = (copies / n_graphs).to(graph_vectors.dtype)
        noise_term = softplus(-self.network(noise)).sum() / n_distinct
        return cast(Tensor, noise_term + share @ softplus(self.network(squashed))[:, 0])


class _Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return -gradient
