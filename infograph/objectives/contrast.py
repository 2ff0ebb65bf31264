"""All (patch, graph) pairs of a batch contrasted at once: weights instead of masks, rows in chunks.

The weight of the positive pair (c, g) is the number of nodes of colour c in graph g and its copies, divided
so that all positives add up to one. A node is contrasted with the B - 1 other graphs of the batch, so with
m_g copies of graph g the negatives are `(m_g sum_g' positive[c, g'] - positive[c, g]) / (B - 1)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from infograph.nn.batch import Batch, Rows
from infograph.nn.encoder import GraphEncoder
from infograph.nn.norm import ALONE, Peers
from infograph.objectives.bounds import BOUNDS, Bound, BoundName, Pairs
from infograph.objectives.discriminator import Discriminator, Scorer, Tail

Weighting = Literal["graph", "node"]
CACHE_ROWS = 2048  # rows per chunk where memory allows more: activations of a chunk then stay in the cache
Patches = Literal["all", "last"]
Negatives = Literal["global", "local"]


@dataclass(frozen=True)
class Contrast:
    """The outcome of contrasting a batch: the loss, and what people can read of it."""

    loss: Tensor
    information: Tensor
    accuracy: Tensor


@dataclass(frozen=True)
class PairWeights:
    """Weights of all pairs of C colours and G distinct graphs: `positive` (C, G) by rows, `copies` (G,)."""

    positive: Rows
    copies: Tensor

    def dense(self, rows: slice) -> tuple[Tensor, Tensor]:
        """Positive and negative weights of some rows. (C, G) each."""
        ptr = self.positive.ptr[rows.start : rows.stop + 1]
        entries = slice(int(ptr[0]), int(ptr[-1]))
        own = self.positive.value.new_zeros(len(ptr) - 1, len(self.copies))
        own[torch.repeat_interleave(ptr.diff()), self.positive.index[entries]] = self.positive.value[entries]
        others = torch.outer(own.sum(1), self.copies).sub_(own).div_(self.copies.sum() - 1)
        return own, others


def pair_weights(batch: Batch, weighting: Weighting, dtype: torch.dtype, peers: Peers = ALONE) -> PairWeights:
    """The weights by colour: "graph" weighs each graph alike (1/|G|, Eq. 4), "node" each node.

    With peers, rows are the own colours and columns the graphs of all of them.
    """
    rows, copies = batch.members.columns, batch.copies.to(dtype)  # (C, G), (G,)
    sizes, places = batch.sizes.to(dtype), peers.places(len(copies))
    total = peers.sum(copies.sum() if weighting == "graph" else sizes @ copies)
    per_node = copies / (sizes * total) if weighting == "graph" else copies / total  # (G,)
    value = rows.value.to(dtype) * per_node[rows.index]
    index = rows.index + places.start if places.start else rows.index
    return PairWeights(Rows(rows.ptr, index, value), peers.join(copies, places))


def contrast(
    scorer: Scorer, weights: PairWeights, bound: Bound, chunk_rows: int, peers: Peers = ALONE
) -> Contrast:
    """Loss, information and pair accuracy over all pairs, `chunk_rows` rows of the score matrix at a time.

    With peers, the loss is this one's share of it; information and accuracy are those of all.
    """
    tensors = (scorer.hidden, scorer.direct, scorer.projected, *scorer.tail)
    loss, accuracy = _Contrast.apply(weights, bound, chunk_rows, peers, *tensors)  # type: ignore[no-untyped-call]
    whole, accepted = peers.sum(torch.stack([loss.detach(), accuracy]))
    return Contrast(loss, bound.estimate(whole), accepted + 0.5)


def chunk_rows_for(budget_mb: float, dim: int, n_graphs: int, itemsize: int) -> int:
    """Rows whose forward and backward pass fit into a budget: about 7 vectors and 7 score rows each."""
    per_row = 7 * (dim + n_graphs) * itemsize
    return max(16, min(CACHE_ROWS, int(budget_mb * 2**20 / per_row)))


def chunks(n_rows: int, chunk_rows: int) -> Iterator[slice]:
    """Consecutive slices of at most `chunk_rows` rows."""
    return (slice(start, min(start + chunk_rows, n_rows)) for start in range(0, n_rows, chunk_rows))


class _Contrast(torch.autograd.Function):
    """Runs each chunk forward and backward at once, so only one chunk's activations ever exist.

    The loss adds up over chunks, so the gradients do too: they are collected on the way forward and only
    scaled on the way back. Nothing is computed twice.
    """

    @staticmethod
    def forward(
        ctx: Any,
        weights: PairWeights,
        bound: Bound,
        chunk_rows: int,
        peers: Peers,
        hidden: Tensor,
        direct: Tensor,
        projected: Tensor,
        *tail: Tensor,
    ) -> tuple[Tensor, Tensor]:
        scorer = Scorer(hidden, direct, projected, Tail(*tail))
        loss, accuracy, normaliser = (hidden.new_zeros(()) for _ in range(3))
        if bound.needs_normaliser:
            normaliser = _log_normaliser(scorer, weights, chunk_rows, peers)
        gradient = scorer.empty_gradient() if any(ctx.needs_input_grad) else None
        for rows in chunks(len(hidden), chunk_rows):
            scores, activations = scorer.score(rows)
            pairs = Pairs(scores, *weights.dense(rows), weights.copies)
            share, slope = bound.loss(pairs, normaliser)
            if gradient is not None:
                scorer.add_gradient(gradient, rows, activations, slope)
            loss += share
            accuracy += _pair_accuracy(pairs)
        if gradient is not None:
            ctx.save_for_backward(gradient.hidden, gradient.direct, gradient.projected, *gradient.tail)
        ctx.mark_non_differentiable(accuracy)
        return loss, accuracy

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        stored = ctx.saved_tensors
        if gradient != 1:
            stored = [tensor * gradient for tensor in stored]
        return None, None, None, None, *stored


def _log_normaliser(scorer: Scorer, weights: PairWeights, chunk_rows: int, peers: Peers) -> Tensor:
    """log E- exp(T) over all rows, those of peers too."""
    parts = []
    for rows in chunks(len(scorer.hidden), chunk_rows):
        scores, _ = scorer.score(rows)
        parts.append(torch.logsumexp((scores + weights.dense(rows)[1].log()).flatten(), 0))
    own = torch.logsumexp(torch.stack(parts), 0)[None]
    return torch.logsumexp(peers.join(own, peers.places(1)), 0)


def _pair_accuracy(pairs: Pairs) -> Tensor:
    """The rows' part of the share of pairs told apart by the sign of T, positives and negatives half each.

    A positive is right if T > 0, a negative if not; all negatives together weigh 1, which `contrast` adds.
    """
    accepted = (pairs.scores > 0).to(pairs.scores.dtype)
    return torch.dot((pairs.positive - pairs.negative).flatten(), accepted.flatten()) / 2


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
