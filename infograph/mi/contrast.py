"""All (patch, graph) pairs of a batch contrasted at once: weights instead of masks, rows in chunks.

The weight of the positive pair (c, g) is the number of nodes of colour c in graph g, divided so that all
positives add up to one. A node contrasted with the B - 1 other graphs gives the negatives `(sum_g positive -
positive) / (B - 1)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from infograph.mi.bounds import Bound
from infograph.mi.discriminator import score
from infograph.nn.sparse import Rows, SparseMatrix

Weighting = Literal["graph", "node"]
CACHE_ROWS = 2048  # rows per chunk where memory allows more: activations of a chunk then stay in the cache


@dataclass(frozen=True)
class Contrast:
    """The outcome of contrasting a batch: the loss, and what people can read of it."""

    loss: Tensor
    information: Tensor
    accuracy: Tensor


def positives(members: SparseMatrix, sizes: Tensor, weighting: Weighting, dtype: torch.dtype) -> Rows:
    """The positive weights by colour: "graph" weighs each graph alike (1/|G|, Eq. 4), "node" each node."""
    rows = members.columns  # (C, B)
    if weighting == "graph":
        value = rows.value.to(dtype) / (sizes.to(dtype)[rows.index] * len(sizes))
    else:
        value = rows.value.to(dtype) / sizes.sum().to(dtype)
    return Rows(rows.ptr, rows.index, value)


def contrast(
    patches: Tensor, projected: Tensor, tail: Sequence[Tensor], weights: Rows, bound: Bound, chunk_rows: int
) -> Contrast:
    """Loss, information and pair accuracy over all pairs.

    Args:
        patches: (C, dim + B) from `Discriminator.patches`.
        projected: (B, dim) from `Discriminator.project`.
        tail: from `Discriminator.tail`.
        weights: (C, B) positives, from `positives`.
        bound: the bound on mutual information.
        chunk_rows: rows of the score matrix held at a time.
    """
    loss, accuracy = _Contrast.apply(patches, projected, weights, bound, chunk_rows, *tail)  # type: ignore[no-untyped-call]
    return Contrast(loss, bound.estimate(loss.detach()), accuracy)


def chunk_rows_for(budget_mb: float, dim: int, n_graphs: int, itemsize: int) -> int:
    """Rows whose forward and backward pass fit into a budget: about 7 vectors and 7 score rows each."""
    per_row = 7 * (dim + n_graphs) * itemsize
    return max(16, min(CACHE_ROWS, int(budget_mb * 2**20 / per_row)))


def score_chunks(
    patches: Tensor, projected: Tensor, tail: Sequence[Tensor], chunk_rows: int
) -> Iterator[tuple[slice, Tensor]]:
    """Scores T of consecutive rows."""
    for start in range(0, len(patches), chunk_rows):
        rows = slice(start, min(start + chunk_rows, len(patches)))
        yield rows, score(patches[rows], projected, tail)


class _Contrast(torch.autograd.Function):
    """Runs each chunk forward and backward at once, so only one chunk's activations ever exist.

    The loss adds up over chunks, so the gradients do too: they are collected on the way forward and only
        scaled on the
    way back. Nothing is computed twice.
    """

    @staticmethod
    def forward(
        ctx: Any,
        patches: Tensor,
        projected: Tensor,
        weights: Rows,
        bound: Bound,
        chunk_rows: int,
        *tail: Tensor,
    ) -> tuple[Tensor, Tensor]:
        shared = [projected, *tail]
        wanted = any(ctx.needs_input_grad)
        normaliser = _log_normaliser(patches, shared, weights, chunk_rows) if bound.needs_normaliser else None
        gradients: list[Tensor] = []
        patch_gradient = torch.empty_like(patches) if wanted else patches
        loss, accuracy = patches.new_zeros(()), patches.new_zeros(())
        for start in range(0, len(patches), chunk_rows):
            rows = slice(start, min(start + chunk_rows, len(patches)))
            positive, negative = _dense_weights(weights, rows, len(projected))
            with torch.set_grad_enabled(wanted):
                leaves = [tensor.detach().requires_grad_(wanted) for tensor in (patches[rows], *shared)]
                scores = score(leaves[0], leaves[1], leaves[2:])
                share = bound.loss(scores, positive, negative, normaliser)
            if wanted:
                own, *others = torch.autograd.grad(share, leaves)
                patch_gradient[rows] = own
                gradients = _add(gradients, others)
            loss += share.detach()
            accuracy += _pair_accuracy(scores.detach(), positive, negative)
        ctx.save_for_backward(patch_gradient, *gradients)
        ctx.mark_non_differentiable(accuracy)
        return loss, accuracy

    @staticmethod
    def backward(ctx: Any, gradient: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        stored = ctx.saved_tensors
        if gradient != 1:
            stored = [tensor * gradient for tensor in stored]
        patches, projected, *tail = stored
        return patches, projected, None, None, None, *tail


def _add(totals: list[Tensor], parts: Sequence[Tensor]) -> list[Tensor]:
    return [total.add_(part) for total, part in zip(totals, parts, strict=True)] if totals else list(parts)


def _dense_weights(weights: Rows, rows: slice, n_graphs: int) -> tuple[Tensor, Tensor]:
    """Positive and negative weights of some rows. (C, B) each."""
    ptr = weights.ptr[rows.start : rows.stop + 1]
    entries = slice(int(ptr[0]), int(ptr[-1]))
    row = torch.repeat_interleave(torch.arange(len(ptr) - 1, device=ptr.device), ptr.diff())
    positive = weights.value.new_zeros(len(ptr) - 1, n_graphs)
    positive[row, weights.index[entries]] = weights.value[entries]
    negative = (positive.sum(1, keepdim=True) - positive) / (n_graphs - 1)
    return positive, negative


def _log_normaliser(patches: Tensor, shared: Sequence[Tensor], weights: Rows, chunk_rows: int) -> Tensor:
    """log E- exp(T) over all rows."""
    parts = []
    for rows, scores in score_chunks(patches, shared[0], shared[1:], chunk_rows):
        _, negative = _dense_weights(weights, rows, len(shared[0]))
        parts.append(torch.logsumexp((scores + negative.log()).flatten(), 0))
    return torch.logsumexp(torch.stack(parts), 0)


def _pair_accuracy(scores: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
    """The share of pairs told apart by the sign of T, positives and negatives counting half each."""
    return ((positive - negative) * (scores > 0)).sum() / 2 + negative.sum() / 2
