"""GIN and GINE over colours (Eq. 1): exact, and each distinct neighbourhood is computed once."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from infograph.data.colours import refine
from infograph.data.graphset import GraphSet
from infograph.nn.batch import Batcher, BatchRound, ColourBatch
from infograph.nn.encoder import ColourEncoder, NodeFeatures, Readout, xavier
from infograph.nn.norm import WeightedBatchNorm


def split_width(dim: int, layers: int) -> list[int]:
    """Widths of the layers, as equal as possible, that add up to `dim`."""
    return [dim // layers + (k < dim % layers) for k in range(layers)]


class GINLayer(nn.Module):
    """`h_k = BN(ReLU(MLP((1 + eps) h_{k-1} + sum of the messages heard)))`.

    A message is the neighbour's state (GIN, Xu et al. 2019), or `ReLU(state + W e)` where edges have features
    (GINE, Hu et al. 2020). The MLP is Linear - ReLU - Linear with Xavier weights and zero biases. Its first
    linear map is applied before the sum where that is exact, on the fewer colours of the round before.
    """

    def __init__(
        self, in_dim: int, dim: int, edge_dim: int = 0, *, norm: bool = True, learn_eps: bool = False
    ) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(in_dim, dim), nn.Linear(dim, dim)
        self.edge = nn.Linear(edge_dim, in_dim) if edge_dim else None
        self.eps = nn.Parameter(torch.zeros(())) if learn_eps else None
        self.norm = WeightedBatchNorm(dim) if norm else None
        xavier(self)

    def forward(self, states: Tensor, round_: BatchRound, edge_table: Tensor) -> Tensor:
        """States of the round before (C', D') -> states of this round (C, D)."""
        if self.edge is None:
            states = states @ self.first.weight.T  # (C', D)
            mixed = (round_.heard @ states).add_(self.first.bias)
            mixed = mixed if self.eps is None else mixed + self.eps * (round_.own @ states)
        else:
            heard = states[round_.message_colour] + self.edge(edge_table)[round_.message_code]
            own = round_.own @ states
            own = own if self.eps is None else (1 + self.eps) * own
            mixed = self.first(own + round_.heard @ torch.relu_(heard))
        states = torch.relu_(self.second(torch.relu_(mixed)))  # (C, D)
        return states if self.norm is None else self.norm(states, round_.counts)


class GINEncoder(ColourEncoder):
    """K layers; returns the states after each, the patch representations at all depths (Eq. 2).

    With `edge_dim=0` it is GIN, otherwise GINE.
    """

    def __init__(
        self,
        in_dim: int,
        widths: Sequence[int],
        edge_dim: int = 0,
        *,
        readout: Readout = "sum",
        norm: bool = True,
        learn_eps: bool = False,
        node_features: NodeFeatures = "auto",
    ) -> None:
        super().__init__(widths, readout)
        self.node_features = node_features
        inputs = [in_dim, *widths[:-1]]
        self.layers = nn.ModuleList(
            GINLayer(a, b, edge_dim, norm=norm, learn_eps=learn_eps)
            for a, b in zip(inputs, widths, strict=True)
        )

    def source(self, graphs: GraphSet, device: torch.device | None = None) -> Batcher:
        return Batcher(refine(graphs, len(self.layers), node_features=self.node_features), device)

    def forward(self, batch: ColourBatch) -> list[Tensor]:
        """States per layer: K tensors (C_k, D_k)."""
        dtype = next(self.parameters()).dtype
        states = batch.x.to(dtype) if isinstance(batch.x, Tensor) else batch.x
        edge_table = batch.edge_table.to(dtype)
        collected: list[Tensor] = []
        for layer, round_ in zip(self.layers, batch.rounds, strict=True):
            states = layer(states, round_, edge_table)
            collected.append(states)
        return collected
