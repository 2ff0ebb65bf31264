"""READOUT (Eq. 3): the states of a graph's nodes into one vector, computed on colours."""

from __future__ import annotations

from typing import Any, Literal, cast

import torch
from torch import Tensor

from infograph.nn.sparse import SparseMatrix

Readout = Literal["sum", "mean", "max"]


def read_out(states: Tensor, members: SparseMatrix, sizes: Tensor, how: Readout) -> Tensor:
    """(C, D) states, (B, C) members, (B,) sizes -> (B, D)."""
    if how == "max":
        return cast(Tensor, _Max.apply(states, members))  # type: ignore[no-untyped-call]
    total = members @ states
    return total / sizes.to(total.dtype)[:, None] if how == "mean" else total


class _Max(torch.autograd.Function):
    """The largest state per graph; tied nodes share the gradient equally, a colour by its multiplicity."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, members: SparseMatrix) -> Tensor:
        rows = members.rows
        graph = torch.repeat_interleave(torch.arange(members.shape[0], device=states.device), rows.ptr.diff())
        chosen = states[rows.index]  # (entries, D)
        index = graph[:, None].expand_as(chosen)
        largest = torch.full(
            (members.shape[0], states.shape[1]), -torch.inf, dtype=states.dtype, device=states.device
        )
        largest.scatter_reduce_(0, index, chosen, "amax")
        ctx.save_for_backward(chosen == largest[graph], graph)
        ctx.members = members
        return largest

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        tied, graph = ctx.saved_tensors
        members: SparseMatrix = ctx.members
        share = tied * members.rows.value.to(gradient.dtype)[:, None]  # (entries, D) tied nodes per colour
        total = torch.zeros_like(gradient).index_add_(0, graph, share)
        result = gradient.new_zeros(members.shape[1], gradient.shape[1])
        return result.index_add_(0, members.rows.index, share * (gradient / total)[graph]), None
