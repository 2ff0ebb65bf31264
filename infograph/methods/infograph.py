"""InfoGraph (Eq. 4 and 5): graph vectors share information with their own patches, little with others'."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from infograph.methods.terms import LossTerms
from infograph.mi.bounds import BoundName
from infograph.mi.contrast import Weighting
from infograph.mi.local_global import LocalGlobal, Patches, node_vectors
from infograph.mi.prior import PriorMatcher
from infograph.nn.batch import Batch
from infograph.nn.encoder import GraphEncoder


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
