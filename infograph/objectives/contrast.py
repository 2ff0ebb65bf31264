"""Mutual information between patches and whole graphs (Eq. 4 and 5): all pairs of a batch, rows in chunks.

The weight of the positive pair (c, g) is the number of nodes of colour c in graph g and its copies, divided
so that all positives add up to one. A node is contrasted with the B - 1 other graphs of the batch, so with
m_g copies of graph g the negatives are `(m_g sum_g' positive[c, g'] - positive[c, g]) / (B - 1)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from infograph.nn.batch import Batch, BatchRound, Identity, SparseMatrix
from infograph.nn.norm import all_join, all_sum, first_place
from infograph.objectives.bounds import Bound, Pairs
from infograph.objectives.discriminator import Discriminator, patches_of

Weighting = Literal["graph", "node"]
Patches = Literal["all", "last"]
PairsOf = Callable[[slice, Tensor], Pairs]
CACHE_ROWS = 2048  # rows per chunk where memory allows more: activations of a chunk then stay in the cache


class Contrast(NamedTuple):
    """The loss of a batch (the own share of it, where workers share it), and what people can read of it."""

    loss: Tensor
    information: Tensor
    accuracy: Tensor


class LocalGlobal(nn.Module):
    """The unsupervised loss for what an encoder gives; its settings are those of `MutualInformation`."""

    def __init__(
        self,
        discriminator: Discriminator,
        bound: Bound,
        weighting: Weighting = "graph",
        patches: Patches = "all",
        max_patches: int | None = None,
        memory_mb: float = 512.0,
    ) -> None:
        super().__init__()
        self.discriminator, self.bound = discriminator, bound
        self.weighting, self.patches = weighting, patches
        self.max_patches, self.memory_mb = max_patches, memory_mb

    def forward(self, states: Sequence[Tensor], vectors: Tensor, batch: Batch) -> Contrast:
        """The loss of a batch of at least two graphs."""
        if self.max_patches is not None:
            largest = int(batch.sizes.max()) if batch.largest is None else batch.largest
            if largest > self.max_patches:
                states, batch = draw_patches(states, batch, self.max_patches)
        rows, whole = self._prepare(states, vectors, batch)
        learned = [each for each in self.discriminator.parameters() if each.requires_grad]
        pairs_of, n_graphs = pair_weights(batch, self.weighting, vectors.dtype)
        parts, sizes = self._chunks(rows, n_graphs), (len(rows), len(whole))
        run: Any = _Chunks.apply
        score = self.discriminator.pair_scores
        loss, accuracy = run(score, self.bound, pairs_of, parts, sizes, *rows, *whole, *learned)
        total, accepted = all_sum(torch.stack([loss.detach(), accuracy]))
        return Contrast(loss, self.bound.information(total), accepted + 0.5)

    @torch.no_grad()
    def score_nodes(self, states: Sequence[Tensor], vectors: Tensor, batch: Batch) -> Tensor:
        """T(h_u, H(G)) of every node and its own graph: how much it speaks for the graph. (N,)."""
        if batch.node_colour is None:
            raise ValueError("a batch made with nodes=True is needed")
        rows, whole = self._prepare(states, vectors, batch)
        result = vectors.new_empty(len(batch.node_colour))
        for part in self._chunks(rows, len(vectors)):
            scores = self.discriminator.pair_scores(*(each[part] for each in rows), *whole)
            inside = (batch.node_colour >= part.start) & (batch.node_colour < part.stop)
            result[inside] = scores[batch.node_colour[inside] - part.start, batch.node_graph[inside]]
        return result

    def _prepare(self, states: Sequence[Tensor], vectors: Tensor, batch: Batch) -> Any:
        if self.patches == "last":
            states, batch = states[-1:], replace(batch, rounds=batch.rounds[-1:])
        return self.discriminator.pair_inputs(states, vectors, batch)

    def _chunks(self, rows: Sequence[Tensor], n_graphs: int) -> list[slice]:
        """Slices of rows that fit into memory, forward and backward: some 7 vectors and score rows each.

        On a processor they fit into its cache, too.
        """
        n_rows, dim = rows[0].shape
        fitting = int(self.memory_mb * 2**20 / (7 * (dim + n_graphs) * rows[0].element_size()))
        size = max(16, min(CACHE_ROWS, fitting) if rows[0].device.type == "cpu" else fitting)
        return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


def draw_patches(states: Sequence[Tensor], batch: Batch, most: int) -> tuple[list[Tensor], Batch]:
    """States and batch of at most `most` nodes of every graph, drawn without replacement.

    A drawn node counts for all that it stands for, so that the expectation of every weight of a pair, and so
    of the loss of bounds that are means over pairs, is what it is without drawing. Rounds hold the colours of
    drawn nodes alone; `members` are those of the last one in all of them.
    """
    members, device = batch.members, batch.sizes.device
    graph = members.rows  # (entries,)
    times = members.value.long()
    colour, owner = (torch.repeat_interleave(each, times) for each in (members.index, graph))  # (N,)
    order = torch.argsort(owner + torch.rand(len(owner), device=device, dtype=torch.float64))
    first = torch.cat([owner.new_zeros(1), batch.sizes.cumsum(0)])
    place = torch.arange(len(owner), device=device) - first[owner]
    kept = order[place < most]  # `owner` is sorted, and the order leaves graphs where they are
    rows, row = torch.unique(colour[kept], return_inverse=True)
    pairs, counts = torch.unique(owner[kept] * len(rows) + row, return_counts=True)
    owner, row = pairs // len(rows), pairs % len(rows)
    share = batch.sizes / batch.sizes.clamp(max=most)  # (G,) nodes that a drawn one stands for
    ptr = torch.cat([first[:1], torch.bincount(owner, minlength=len(batch.sizes)).cumsum(0)])
    drawn = SparseMatrix(ptr, row, counts * share[owner], (len(batch.sizes), len(rows)))
    picked: list[Tensor] = []
    rounds: list[BatchRound] = []
    for state, round_ in zip(reversed(states), reversed(batch.rounds), strict=True):
        picked.append(SparseMatrix.picking(rows, len(state)) @ state)
        parents = rows if isinstance(round_.own, Identity) else round_.own.index[rows]
        rows, place = torch.unique(parents, return_inverse=True)
        split = len(rows) < len(parents)
        own: SparseMatrix | Identity = SparseMatrix.picking(place, len(rows)) if split else Identity()
        rows = rows if split else parents  # as they are numbered now
        rounds.append(replace(round_, own=own, members=drawn))
    return picked[::-1], replace(batch, rounds=rounds[::-1])


def pair_weights(batch: Batch, weighting: Weighting, dtype: torch.dtype) -> tuple[PairsOf, int]:
    """What gives the pairs of some rows (colours), and how many graphs all workers of the batch have."""
    entries, sizes, copies = batch.members.transposed, batch.sizes.to(dtype), batch.copies.to(dtype)
    total = all_sum(copies.sum() if weighting == "graph" else sizes @ copies)
    per_node = copies / (sizes * total) if weighting == "graph" else copies / total  # (G,)
    value = entries.value.to(dtype) * per_node[entries.index]
    index, everyone = entries.index + first_place(len(copies), copies.device), all_join(copies)

    def pairs_of(rows: slice, normaliser: Tensor) -> Pairs:
        ptr = entries.ptr[rows.start : rows.stop + 1]
        all_rows = len(ptr) == len(entries.ptr)  # without a look at the device
        part = slice(0, len(index)) if all_rows else slice(int(ptr[0]), int(ptr[-1]))
        own = value.new_zeros(len(ptr) - 1, len(everyone))
        row = torch.repeat_interleave(ptr.diff(), output_size=part.stop - part.start)
        own[row, index[part]] = value[part]
        others = torch.outer(own.sum(1), everyone).sub_(own).div_(everyone.sum() - 1)
        return Pairs(own, others, everyone, normaliser)

    return pairs_of, len(everyone)


class _Chunks(torch.autograd.Function):
    """Runs each chunk forward and backward at once, so only one chunk's activations ever exist.

    Gradients add up over chunks as the loss does: collected on the way forward, only scaled on the way back.
    """

    @staticmethod
    def forward(
        ctx: Any,
        score: Callable[..., Tensor],
        bound: Bound,
        pairs_of: PairsOf,
        parts: list[slice],
        sizes: tuple[int, int],
        *tensors: Tensor,
    ) -> tuple[Tensor, Tensor]:
        rows, whole, parameters = tensors[: sizes[0]], tensors[sizes[0] : sum(sizes)], tensors[sum(sizes) :]
        learn = any(ctx.needs_input_grad)
        whole = tuple(each.detach().requires_grad_(learn) for each in whole)
        loss, accuracy, normaliser = (tensors[0].new_zeros(()) for _ in range(3))
        if bound.needs_normaliser:
            normaliser = _log_normaliser(score, pairs_of, parts, rows, whole)
        kept: list[Tensor | None] = [None] * len(tensors)
        for part in parts:
            own = [each[part].detach().requires_grad_(learn) for each in rows]
            with torch.set_grad_enabled(learn):
                scores = score(*own, *whole)
            pairs = pairs_of(part, normaliser)
            share, slope = bound.slope(scores.detach(), pairs)
            loss += share
            # of the pairs told apart by the sign of T, positives and negatives half each; the rest is 1/2
            accepted = (scores.detach() > 0).to(scores.dtype)
            accuracy += torch.dot((pairs.positive - pairs.negative).flatten(), accepted.flatten()) / 2
            if learn:
                leaves = [*own, *whole, *parameters]
                gradients = torch.autograd.grad(scores, leaves, slope, allow_unused=True)
                _collect(kept, gradients, part, rows)
        if learn:
            found = [torch.zeros_like(t) if k is None else k for k, t in zip(kept, tensors, strict=True)]
            ctx.save_for_backward(*found)
        ctx.mark_non_differentiable(accuracy)
        return loss, accuracy

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        stored = ctx.saved_tensors
        if gradient.device.type != "cpu" or gradient != 1:
            stored = [tensor * gradient for tensor in stored]
        return None, None, None, None, None, *stored


def _collect(
    kept: list[Tensor | None], gradients: Sequence[Tensor | None], part: slice, rows: Sequence[Tensor]
) -> None:
    """Put the gradients of a chunk's rows in their places, and add up those of everything else."""
    for place, gradient in enumerate(gradients):
        target = kept[place]
        if gradient is None:
            continue
        if place < len(rows) and len(gradient) < len(rows[place]):
            if target is None:
                target = kept[place] = torch.empty_like(rows[place])
            target[part] = gradient
        else:
            kept[place] = gradient if target is None else target.add_(gradient)


def _log_normaliser(
    score: Callable[..., Tensor],
    pairs_of: PairsOf,
    parts: list[slice],
    rows: Sequence[Tensor],
    whole: Sequence[Tensor],
) -> Tensor:
    """log E- exp(T) over all rows, those of other workers too."""
    zero, found = rows[0].new_zeros(()), []
    with torch.no_grad():
        for part in parts:
            scores = score(*(each[part] for each in rows), *whole)
            found.append(torch.logsumexp((scores + pairs_of(part, zero).negative.log()).flatten(), 0))
        return torch.logsumexp(all_join(torch.logsumexp(torch.stack(found), 0)[None]), 0)


@torch.no_grad()
def node_vectors(states: Sequence[Tensor], batch: Batch) -> Tensor:
    """The patch representation h_u of every node (Eq. 2). (N, sum of widths)."""
    if batch.node_colour is None:
        raise ValueError("a batch made with nodes=True is needed")
    return patches_of(states, batch)[batch.node_colour]
