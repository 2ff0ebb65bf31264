"""The edge network of enn-s2s, `A(e) = W2 relu(W1 e + b1) + b2`, without a matrix per edge.

A message is `A(e_uv) h_v = sum_k z_k (W2_k h_v)` with `z = [relu(W1 e + b1), 1]`: apply all `W2_k` to the
nodes, then add up with the weights z, and no edge ever has its own D x D matrix. Most hidden units need not
even be there. Among the edges of one kind z_k is a function of a distance, and distances lie in a known
range, so a unit that is off over that whole range drops out, and one that is on is linear: all linear units
of a kind collapse into one matrix per linear feature. Only units that switch inside the range of some kind
are left; at initialisation on QM9 these are about 40 of 128. All of this is exact, whatever the weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Kinds:
    """The kinds of edges in a batch, and the range of their continuous values.

    Attributes:
        table: (T, F_k) the part of the edge vector that a kind fixes.
        low, high: (T, F_v) least and largest continuous values among its edges; 0 where there are none.
    """

    table: Tensor
    low: Tensor
    high: Tensor


@dataclass(frozen=True)
class EdgeMatrices:
    """What stands for A(e): `sum_k features_k W_k` with `features = [linear, relu(linear @ switching)]`.

    Attributes:
        switching: (R, M) the M hidden units that are on for some edges only, of R linear features.
        weights: (D, K * D) the matrices W_k side by side, K = R + M.
    """

    switching: Tensor
    weights: Tensor

    def features(self, linear: Tensor) -> EdgeFeatures:
        """Linear features (..., R) with the switching units behind them."""
        return EdgeFeatures(linear, torch.relu_(linear @ self.switching))


@dataclass(frozen=True)
class EdgeFeatures:
    """What the matrices are added up with: R linear features, which are data, and M switching units."""

    linear: Tensor  # (..., R)
    switched: Tensor  # (..., M)

    @cached_property
    def joined(self) -> Tensor:
        """All of them, without a gradient. (..., R + M)."""
        return torch.cat([self.linear, self.switched.detach()], -1)


class EdgeNetwork(nn.Module):
    """Edge vectors (F_k numbers fixed by kind, F_v continuous) -> `hidden` units -> matrices dim x dim."""

    def __init__(self, edge_dim: int, dim: int, hidden: int) -> None:
        super().__init__()
        self.dim = dim
        self.first = nn.Linear(edge_dim, hidden) if edge_dim else nn.utils.skip_init(nn.Linear, 0, hidden)
        self.second = nn.Linear(hidden, dim * dim)
        if not edge_dim:  # edges that are all alike: torch would warn that there is nothing to initialise
            nn.init.zeros_(self.first.bias)

    def forward(self, kinds: Kinds) -> EdgeMatrices:
        """The matrices for a batch with these kinds and ranges."""
        n_kinds, n_fixed = kinds.table.shape
        fixed, slope = self.first.weight[:, :n_fixed], self.first.weight[:, n_fixed:]  # (H, F_k), (H, F_v)
        level = torch.addmm(self.first.bias, kinds.table, fixed.T)  # (T, H)
        on, switches = _signs(level.detach(), slope.detach(), kinds)
        lines = torch.cat([level[:, None], slope.T.expand(n_kinds, -1, -1)], 1)  # (T, 1 + F_v, H)
        linear_units = lines * (on & ~switches)[:, None]
        collapsed = (linear_units.flatten(0, 1) @ self.second.weight.T).view(n_kinds, lines.shape[1], -1)
        collapsed = torch.cat([collapsed[:, :1] + self.second.bias, collapsed[:, 1:]], 1).flatten(0, 1)
        units = switches.nonzero()[:, 0]
        weights = torch.cat([collapsed, self.second.weight.index_select(1, units).T])  # (K, dim * dim)
        side_by_side = weights.view(-1, self.dim, self.dim).transpose(0, 1).flatten(1)
        return EdgeMatrices(lines.flatten(0, 1).index_select(1, units), side_by_side)


def _signs(level: Tensor, slope: Tensor, kinds: Kinds) -> tuple[Tensor, Tensor]:
    """Which units are on for all edges of a kind (T, H), and which switch among those of any kind (H,)."""
    low, high = kinds.low[:, None] * slope, kinds.high[:, None] * slope  # (T, H, F_v)
    least = level + torch.minimum(low, high).sum(2)
    largest = level + torch.maximum(low, high).sum(2)
    return least >= 0, ((least < 0) & (largest > 0)).any(0)
