"""InfoGraph (Eq. 4 and 5): graph vectors share information with their own patches, little with others'."""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from infograph.nn.batch import Batch
from infograph.nn.encoder import GraphEncoder
from infograph.nn.norm import ALONE, Peers
from infograph.objectives.bounds import BoundName
from infograph.objectives.contrast import LocalGlobal, Patches, Weighting, node_vectors
from infograph.objectives.objective import LossTerms


class InfoGraphObjective(nn.Module):
    """An encoder, a discriminator, and the loss they minimise.

    Args:
        encoder: graphs -> states of nodes and vectors of graphs.
        weighting, bound, conditioned, patches, memory_mb: see `LocalGlobal`.
        prior: weight of Deep InfoMax's prior term, 0 for none.
    """

    def __init__(
        self,
        encoder: GraphEncoder,
        *,
        weighting: Weighting = "graph",
        bound: BoundName = "jsd",
        conditioned: bool = False,
        patches: Patches = "all",
        prior: float = 0.0,
        memory_mb: float = 512.0,
    ) -> None:
        super().__init__()
        self.encoder, self.dim, self.prior_weight = encoder, encoder.dim, prior
        self.local_global = LocalGlobal(
            encoder,
            weighting=weighting,
            bound=bound,
            conditioned=conditioned,
            patches=patches,
            memory_mb=memory_mb,
        )
        self.prior = PriorMatcher(self.dim) if prior else None

    def encode(self, batch: Batch) -> tuple[list[Tensor], Tensor]:
        """States per layer, and the vectors H of distinct graphs (Eq. 2, 3). K x (C_k, D_k), (G, dim)."""
        states: list[Tensor] = self.encoder(batch)
        return states, self.encoder.vectors(states, batch)

    def forward(self, batch: Batch) -> LossTerms:
        """The loss of a batch of at least two graphs."""
        states, vectors = self.encode(batch)
        result = self.local_global(states, vectors, batch)
        terms = {"mi": result.information, "accuracy": result.accuracy}
        if self.prior is None:
            return LossTerms(result.loss, terms)
        prior = self.prior(vectors, batch.copies)
        return LossTerms(result.loss + self.prior_weight * prior, {**terms, "prior": prior.detach()})

    @torch.no_grad()
    def score_nodes(self, batch: Batch) -> Tensor:
        """T(h_u, H(G)) of every node and its own graph: how much it speaks for the graph. (N,)."""
        return self.local_global.score_nodes(*self.encode(batch), batch)

    @torch.no_grad()
    def node_vectors(self, batch: Batch) -> Tensor:
        """The patch representation h_u of every node (Eq. 2). (N, dim)."""
        return node_vectors(self.encoder(batch), batch)


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
