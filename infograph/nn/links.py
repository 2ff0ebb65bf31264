"""Who hears whom in a batch of graphs with edge vectors, and the mean of what is heard.

An edge vector is that of a kind (a bond's type, or none) with some continuous values (a distance) behind it.
Its linear features are `[1, values]` in the columns of its kind and zero in those of the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, cast

import torch
from torch import Tensor

from infograph.nn.edge_network import EdgeFeatures

CACHE = 4 << 20  # bytes of spread states per block


class Links(Protocol):
    """Edges among some places of a batch."""

    @property
    def linear(self) -> Tensor:
        """(..., R) linear features of every edge."""
        ...

    @property
    def n_places(self) -> int:
        """Places they are among."""
        ...

    def to(self, target: torch.device | torch.dtype) -> Links:
        """On another device, or of another type."""
        ...

    def gather(self, features: EdgeFeatures, states: Tensor, weights: Tensor) -> Tensor:
        """The mean over edges v -> u of `sum_k features[uv, k] W_k states[v]`. (P, D), (D, K D) -> (P, D)."""
        ...


@dataclass(frozen=True)
class PairLinks:
    """All pairs of nodes inside each of B graphs, padded to n places; no edge leads to or from padding."""

    linear: Tensor  # (B, n, n, R): target, source
    counts: Tensor  # (B, 1, 1) edges that a node hears

    @property
    def n_places(self) -> int:
        """B * n."""
        return self.linear.shape[0] * self.linear.shape[1]

    def to(self, target: torch.device | torch.dtype) -> PairLinks:
        """On another device, or of another type."""
        return PairLinks(self.linear.to(target), self.counts.to(target))

    def gather(self, features: EdgeFeatures, states: Tensor, weights: Tensor) -> Tensor:
        """Two matrix products per block of graphs."""
        heard = _GatherPairs.apply(features.joined, features.switched, states, weights)  # type: ignore[no-untyped-call]
        return cast(Tensor, (heard / self.counts).view(self.n_places, -1))


@dataclass(frozen=True)
class ArcLinks:
    """The arcs that graphs have, however many and however often repeated."""

    linear: Tensor  # (E, R)
    counts: Tensor  # (P, 1) arcs that a node hears, at least 1
    source: Tensor  # (E,)
    target: Tensor  # (E,)
    n_places: int

    def to(self, target: torch.device | torch.dtype) -> ArcLinks:
        """On another device, or of another type."""
        linear, counts = self.linear.to(target), self.counts.to(target)
        if isinstance(target, torch.dtype):
            return ArcLinks(linear, counts, self.source, self.target, self.n_places)
        return ArcLinks(linear, counts, self.source.to(target), self.target.to(target), self.n_places)

    def gather(self, features: EdgeFeatures, states: Tensor, weights: Tensor) -> Tensor:
        """One feature after the other, so that memory for all arcs is needed once."""
        everything = torch.cat([features.linear, features.switched], -1)  # (E, K)
        heard = _GatherArcs.apply(everything, states @ weights, self)  # type: ignore[no-untyped-call]
        return cast(Tensor, heard / self.counts)


class _GatherPairs(torch.autograd.Function):
    """`features @ (states @ weights)` per graph, B graphs of n places, some graphs at a time.

    The product in brackets is large, P x K D, and would be written to memory and read again; that of a block
    stays in the cache. It is computed once more on the way back, which is quicker than keeping it.
    """

    @staticmethod
    def forward(ctx: Any, features: Tensor, switched: Tensor, states: Tensor, weights: Tensor) -> Tensor:
        n_graphs, n, _, _ = features.shape
        heard = states.new_empty(n_graphs, n, states.shape[1])
        for block in _blocks(features, weights):
            rows = slice(block.start * n, block.stop * n)
            spread = (states[rows] @ weights).view(block.stop - block.start, -1, states.shape[1])
            torch.bmm(features[block].flatten(2), spread, out=heard[block])
        ctx.save_for_backward(features, switched, states, weights)
        return heard

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor | None, Tensor, Tensor]:
        features, switched, states, weights = ctx.saved_tensors
        (_, n, _, n_features), dim = features.shape, states.shape[1]
        to_switched = torch.empty_like(switched) if ctx.needs_input_grad[1] else None
        to_states, to_weights = torch.empty_like(states), torch.zeros_like(weights)
        switching = weights[:, (n_features - switched.shape[-1]) * dim :]  # (D, M D)
        for block in _blocks(features, weights):
            rows, size = slice(block.start * n, block.stop * n), block.stop - block.start
            arriving = gradient[block]  # (b, n, D)
            to_spread = torch.bmm(features[block].flatten(2).mT, arriving).view(size * n, -1)  # (b n, K D)
            torch.mm(to_spread, weights.T, out=to_states[rows])
            to_weights.addmm_(states[rows].T, to_spread)
            if to_switched is not None:
                spread = (states[rows] @ switching).view(size, -1, dim)
                to_switched[block] = torch.bmm(arriving, spread.mT).view_as(to_switched[block])
        return None, to_switched, to_states, to_weights


def _blocks(features: Tensor, weights: Tensor) -> Iterator[slice]:
    """Slices of graphs whose spread states fit into the cache."""
    n_graphs, n, _, _ = features.shape
    size = max(1, CACHE // (n * weights.shape[1] * weights.element_size()))
    return (slice(start, min(start + size, n_graphs)) for start in range(0, n_graphs, size))


class _GatherArcs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, features: Tensor, spread: Tensor, links: ArcLinks) -> Tensor:
        parts = spread.view(len(spread), features.shape[1], -1)  # (P, K, D)
        heard = spread.new_zeros(links.n_places, parts.shape[2])
        for k, feature in enumerate(features.T):
            heard.index_add_(0, links.target, parts[links.source, k] * feature[:, None])
        ctx.save_for_backward(features, spread)
        ctx.links = links
        return heard

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        (features, spread), links = ctx.saved_tensors, ctx.links
        parts = spread.view(len(spread), features.shape[1], -1)
        to_features, to_parts = torch.empty_like(features), torch.zeros_like(parts)
        arriving = gradient[links.target]  # (E, D)
        for k, feature in enumerate(features.T):
            to_features[:, k] = (arriving * parts[links.source, k]).sum(1)
            to_parts[:, k].index_add_(0, links.source, arriving * feature[:, None])
        return to_features, to_parts.view_as(spread), None
