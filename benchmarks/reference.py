"""InfoGraph per node, made of PyG's layers: the oracle of the tests and the rival of the benchmark.

Vectorised throughout: PyG's `GINConv` / `GINEConv`, `torch.nn.BatchNorm1d`, PyG's pooling, and one
all-pairs score matrix of nodes times graphs. No Python loop over nodes, edges or graphs.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus
from torch_geometric.nn import (
    GINConv,
    GINEConv,
    global_add_pool,
    global_max_pool,
    global_mean_pool,
)

from infograph.nn.gin import GINEncoder
from infograph.objectives.discriminator import FeedForward, PaperDiscriminator

POOL = {"sum": global_add_pool, "mean": global_mean_pool, "max": global_max_pool}


class PerNode(nn.Module):
    """GIN, sum readout and discriminator, one row per node."""

    def __init__(self, in_dim: int, widths: Sequence[int], edge_dim: int = 0, readout: str = "sum") -> None:
        super().__init__()
        self.convs, self.norms = nn.ModuleList(), nn.ModuleList()
        for a, b in zip([in_dim, *widths[:-1]], widths, strict=True):
            mlp = nn.Sequential(nn.Linear(a, b), nn.ReLU(), nn.Linear(b, b))
            self.convs.append(GINEConv(mlp, edge_dim=edge_dim) if edge_dim else GINConv(mlp))
            self.norms.append(nn.BatchNorm1d(b))
        self.local, self.whole = FeedForward(sum(widths), sum(widths)), FeedForward(sum(widths), sum(widths))
        self.pool = POOL[readout]

    def copy_from(self, encoder: GINEncoder, discriminator: PaperDiscriminator) -> PerNode:
        """Take over all weights."""
        for conv, norm, layer in zip(self.convs, self.norms, encoder.layers, strict=True):
            conv.nn[0].load_state_dict(layer.first.state_dict())
            conv.nn[2].load_state_dict(layer.second.state_dict())
            if layer.edge is not None:
                conv.lin.load_state_dict(layer.edge.state_dict())
            if layer.norm is not None:
                norm.load_state_dict(layer.norm.state_dict(), strict=False)
        self.local.load_state_dict(discriminator.local.state_dict())
        self.whole.load_state_dict(discriminator.whole.state_dict())
        return self

    def paired_parameters(
        self, encoder: GINEncoder, discriminator: PaperDiscriminator
    ) -> list[tuple[nn.Parameter, nn.Parameter]]:
        """Parameters here beside the same ones there."""
        pairs: list[tuple[nn.Module | None, nn.Module | None]] = [
            (self.local, discriminator.local),
            (self.whole, discriminator.whole),
        ]
        for conv, norm, layer in zip(self.convs, self.norms, encoder.layers, strict=True):
            pairs += [(conv.nn[0], layer.first), (conv.nn[2], layer.second), (norm, layer.norm)]
            pairs += [(conv.lin, layer.edge)] if layer.edge is not None else []
        return [
            pair
            for theirs, ours in pairs
            if theirs is not None and ours is not None
            for pair in zip(theirs.parameters(), ours.parameters(), strict=True)
        ]

    def encode(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        """Concatenated states of every node. (N, dim)."""
        states = []
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = conv(x, edge_index) if edge_attr is None else conv(x, edge_index, edge_attr)
            x = norm(torch.relu(x))
            states.append(x)
        return torch.cat(states, 1)

    def loss(
        self,
        x: Tensor,
        edge_index: Tensor,
        graph: Tensor,
        edge_attr: Tensor | None = None,
        weighting: str = "graph",
    ) -> Tensor:
        """The Jensen-Shannon loss of a batch; `graph` (N,) says which graph each node is of."""
        nodes = self.encode(x, edge_index, edge_attr)
        n_graphs = int(graph.max()) + 1
        scores = self.local(nodes) @ self.whole(self.pool(nodes, graph)).T  # (N, B)
        own = torch.zeros_like(scores)
        own[torch.arange(len(graph)), graph] = 1.0
        if weighting == "graph":
            row = 1.0 / (torch.bincount(graph)[graph].to(scores.dtype) * n_graphs)
        else:
            row = torch.full((len(graph),), 1.0 / len(graph), dtype=scores.dtype)
        positive = (own * softplus(-scores, threshold=40)).sum(1) @ row
        negative = ((1 - own) * softplus(scores, threshold=40)).sum(1) @ row / (n_graphs - 1)
        return positive + negative
