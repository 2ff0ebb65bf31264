"""InfoGraph (Eq. 4 and 5): graph vectors share information with their own patches, little with others'."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from infograph.methods.terms import LossTerms
from infograph.mi.bounds import BOUNDS, BoundName
from infograph.mi.contrast import Weighting, chunk_rows_for, chunks, contrast, pair_weights
from infograph.mi.discriminator import Discriminator, Scorer
from infograph.mi.prior import PriorMatcher
from infograph.nn.batch import ColourBatch
from infograph.nn.readout import Readout, read_out


class InfoGraphObjective(nn.Module):
    """Encoder, readout and discriminator, and the loss they minimise.

    Args:
        encoder: batch -> states per layer; `encoder.widths` are their widths.
        readout: how node states become a graph vector; the paper sums.
        weighting: "graph" weighs every graph alike (1/|G|, Eq. 4), "node" every node, as the authors' code
            does.
        bound: "jsd" (Eq. 5), "dv" or "infonce".
        conditioned: the better conditioned discriminator.
        prior: weight of Deep InfoMax's prior term, 0 for none.
        memory_mb: what the score matrix and its activations may take at a time.
    """

    def __init__(
        self,
        encoder: nn.Module,
        widths: Sequence[int],
        *,
        readout: Readout = "sum",
        weighting: Weighting = "graph",
        bound: BoundName = "jsd",
        conditioned: bool = False,
        prior: float = 0.0,
        memory_mb: float = 512.0,
    ) -> None:
        super().__init__()
        self.encoder, self.dim = encoder, sum(widths)
        self.readout, self.weighting, self.bound_name = readout, weighting, bound
        self.prior_weight, self.memory_mb = prior, memory_mb
        self.discriminator = Discriminator(self.dim, conditioned=conditioned)
        self.prior = PriorMatcher(self.dim) if prior else None

    def encode(self, batch: ColourBatch) -> tuple[list[Tensor], Tensor]:
        """States per layer, and the vectors H of distinct graphs (Eq. 2, 3). K x (C_k, D_k), (G, dim)."""
        states: list[Tensor] = self.encoder(batch)
        vectors = [
            read_out(state, round_.members, batch.sizes, self.readout)
            for state, round_ in zip(states, batch.rounds, strict=True)
        ]
        return states, torch.cat(vectors, 1)

    def forward(self, batch: ColourBatch) -> LossTerms:
        """The loss of a batch of at least two graphs."""
        states, vectors = self.encode(batch)
        scorer = self.discriminator(states, vectors, batch)
        weights = pair_weights(batch, self.weighting, vectors.dtype)
        result = contrast(scorer, weights, BOUNDS[self.bound_name], self._chunk_rows(scorer))
        terms = {"mi": result.information, "accuracy": result.accuracy}
        if self.prior is None:
            return LossTerms(result.loss, terms)
        prior = self.prior(vectors, batch.copies)
        return LossTerms(result.loss + self.prior_weight * prior, {**terms, "prior": prior.detach()})

    @torch.no_grad()
    def score_nodes(self, batch: ColourBatch) -> Tensor:
        """T(h_u, H(G)) of every node and its own graph: how much it speaks for the graph. (N,)."""
        if batch.node_colour is None:
            raise ValueError("a batch made with nodes=True is needed")
        states, vectors = self.encode(batch)
        scorer = self.discriminator(states, vectors, batch)
        result = vectors.new_empty(len(batch.node_colour))
        for rows in chunks(len(scorer.hidden), self._chunk_rows(scorer)):
            scores, _ = scorer.score(rows)
            inside = (batch.node_colour >= rows.start) & (batch.node_colour < rows.stop)
            result[inside] = scores[batch.node_colour[inside] - rows.start, batch.node_graph[inside]]
        return result

    @torch.no_grad()
    def node_vectors(self, batch: ColourBatch) -> Tensor:
        """The patch representation h_u of every node (Eq. 2). (N, dim)."""
        if batch.node_colour is None:
            raise ValueError("a batch made with nodes=True is needed")
        states: list[Tensor] = self.encoder(batch)
        lifted = states[0]
        for state, round_ in zip(states[1:], batch.rounds[1:], strict=True):
            lifted = torch.cat([round_.own @ lifted, state], 1)
        return lifted[batch.node_colour]

    def _chunk_rows(self, scorer: Scorer) -> int:
        n_graphs, itemsize = scorer.direct.shape[1], scorer.direct.element_size()
        return chunk_rows_for(self.memory_mb, self.dim, n_graphs, itemsize)
