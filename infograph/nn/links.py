"""Who hears whom in a batch of graphs with edge vectors, and the mean of what is heard.

An edge vector is that of a kind (a bond's type, or none) with some continuous values (a distance) behind it.
Its linear features are `[1, values]` in the columns of its kind and zero in those of the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, cast

import torch
from torch import Tensor


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

    def gather(self, features: Tensor, spread: Tensor) -> Tensor:
        """The mean over edges v -> u of `sum_k features[uv, k] spread[v, k]`. (P, D)."""
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

    def gather(self, features: Tensor, spread: Tensor) -> Tensor:
        """One matrix product per graph."""
        n_graphs, n, _, n_features = features.shape
        heard = torch.bmm(
            features.view(n_graphs, n, n * n_features), spread.view(n_graphs, n * n_features, -1)
        )
        return (heard / self.counts).view(n_graphs * n, -1)


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

    def gather(self, features: Tensor, spread: Tensor) -> Tensor:
        """One feature after the other, so that memory for all arcs is needed once."""
        heard = cast(Tensor, _GatherArcs.apply(features, spread, self))  # type: ignore[no-untyped-call]
        return heard / self.counts


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
