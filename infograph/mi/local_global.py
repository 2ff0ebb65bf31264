"""Mutual information between patches and whole graphs, estimated by a discriminator (Eq. 4 and 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor, nn

from infograph.mi.bounds import BOUNDS, BoundName
from infograph.mi.contrast import Contrast, Weighting, chunk_rows_for, chunks, contrast, pair_weights
from infograph.mi.discriminator import Discriminator, Scorer
from infograph.nn.batch import Batch
from infograph.nn.encoder import GraphEncoder
from infograph.nn.peers import ALONE, Peers

Patches = Literal["all", "last"]
Negatives = Literal["global", "local"]


class LocalGlobal(nn.Module):
    """The unsupervised loss of InfoGraph for the states and vectors that an encoder gives.

    Args:
        encoder: says how wide patches and graph vectors are; it is not kept.
        weighting: "graph" weighs every graph alike (1/|G|, Eq. 4), "node" every node, as the authors' code
            does.
        bound: "jsd" (Eq. 5), "dv" or "infonce".
        conditioned: the better conditioned discriminator.
        patches: a patch is the states of "all" layers, concatenated (Eq. 2), or of the "last" one only, as in
            the authors' code for molecules.
        memory_mb: what the score matrix and its activations may take at a time.

    Attributes:
        peers: who shares a batch; the loss is then this one's share of it.
        negatives: whether a patch is contrasted with the graphs of all peers, as if one had the whole batch,
            or with the "local" ones only.
    """

    peers: Peers = ALONE
    negatives: Negatives = "global"

    def __init__(
        self,
        encoder: GraphEncoder,
        *,
        weighting: Weighting = "graph",
        bound: BoundName = "jsd",
        conditioned: bool = False,
        patches: Patches = "all",
        memory_mb: float = 512.0,
    ) -> None:
        super().__init__()
        self.weighting, self.bound_name, self.patches, self.memory_mb = weighting, bound, patches, memory_mb
        patch_dim = sum(encoder.widths) if patches == "all" else encoder.widths[-1]
        self.discriminator = Discriminator(patch_dim, encoder.dim, encoder.dim, conditioned=conditioned)

    def forward(self, states: Sequence[Tensor], vectors: Tensor, batch: Batch) -> Contrast:
        """The loss of a batch of at least two graphs, and what people can read of it."""
        peers = self.peers if self.negatives == "global" else ALONE
        scorer = self.scorer(states, vectors, batch, peers)
        weights = pair_weights(batch, self.weighting, vectors.dtype, peers)
        result = contrast(scorer, weights, BOUNDS[self.bound_name], self._chunk_rows(scorer), peers)
        return result if peers is self.peers else self._share(result, batch)

    def scorer(self, states: Sequence[Tensor], vectors: Tensor, batch: Batch, peers: Peers = ALONE) -> Scorer:
        """The scores T of all pairs of a patch and a distinct graph."""
        if self.patches == "last":
            states, batch = states[-1:], replace(batch, rounds=batch.rounds[-1:])
        scorer: Scorer = self.discriminator(states, vectors, batch, peers)
        return scorer

    def _share(self, own: Contrast, batch: Batch) -> Contrast:
        """A contrast within this worker as its share of the mean over all workers."""
        copies = batch.copies.to(own.loss.dtype)
        weight = copies.sum() if self.weighting == "graph" else batch.sizes.to(copies.dtype) @ copies
        share = weight / self.peers.sum(weight)
        information, accuracy = self.peers.sum(share * torch.stack([own.information, own.accuracy]))
        return Contrast(share * own.loss, information, accuracy)

    @torch.no_grad()
    def score_nodes(self, states: Sequence[Tensor], vectors: Tensor, batch: Batch) -> Tensor:
        """T(h_u, H(G)) of every node and its own graph: how much it speaks for the graph. (N,)."""
        if batch.node_colour is None:
            raise ValueError("a batch made with nodes=True is needed")
        scorer = self.scorer(states, vectors, batch)
        result = vectors.new_empty(len(batch.node_colour))
        for rows in chunks(len(scorer.hidden), self._chunk_rows(scorer)):
            scores, _ = scorer.score(rows)
            inside = (batch.node_colour >= rows.start) & (batch.node_colour < rows.stop)
            result[inside] = scores[batch.node_colour[inside] - rows.start, batch.node_graph[inside]]
        return result

    def _chunk_rows(self, scorer: Scorer) -> int:
        n_graphs, itemsize = scorer.direct.shape[1], scorer.direct.element_size()
        return chunk_rows_for(self.memory_mb, self.discriminator.dim, n_graphs, itemsize)


@torch.no_grad()
def node_vectors(states: Sequence[Tensor], batch: Batch) -> Tensor:
    """The patch representation h_u of every node (Eq. 2). (N, sum of widths)."""
    if batch.node_colour is None:
        raise ValueError("a batch made with nodes=True is needed")
    lifted = states[0]
    for state, round_ in zip(states[1:], batch.rounds[1:], strict=True):
        lifted = torch.cat([round_.own @ lifted, state], 1)
    return lifted[batch.node_colour]
