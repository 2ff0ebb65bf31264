"""enn-s2s (Gilmer et al. 2017), the paper's encoder of molecules: edge network, GRU and Set2Set."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from infograph.nn.edge_network import EdgeNetwork
from infograph.nn.encoder import GraphEncoder
from infograph.nn.link_batch import LinkBatch
from infograph.nn.set2set import Set2Set


class ENN(GraphEncoder):
    """`h_0 = relu(W x)`, then K times `h = GRU(relu(mean of A(e_uv) h_v over the neighbours v + b), h)`.

    The same edge network and GRU serve all K steps. H^k is the one Set2Set applied to the states after step
    k, H the last of them.

    Args:
        node_dim: inputs per node.
        edge_dim: inputs per edge.
        dim: width of node states; 64 in the paper's code. Graph vectors have 2 * dim numbers.
        steps: K; 3 in the paper's code.
        hidden: hidden units of the edge network; 128 in the paper's code.
        rounds: of Set2Set; 3 in the paper.
    """

    def __init__(
        self, node_dim: int, edge_dim: int, dim: int = 64, steps: int = 3, hidden: int = 128, rounds: int = 3
    ) -> None:
        super().__init__()
        self.widths, self.level_dims, self.dim = [dim] * steps, [2 * dim] * steps, 2 * dim
        self.input = nn.Linear(node_dim, dim)
        self.edge = EdgeNetwork(edge_dim, dim, hidden)
        self.bias = nn.Parameter(torch.zeros(dim))
        self.gru = nn.GRUCell(dim, dim)
        self.readout = Set2Set(dim, rounds)

    def forward(self, batch: LinkBatch) -> list[Tensor]:
        """States of all nodes after each step: K tensors (N, D)."""
        batch = batch.to(self.bias.dtype)
        states = torch.relu_(self.input(batch.x))  # (P, D)
        matrices = self.edge(batch.kinds)
        features = [matrices.features(links.linear) for links in batch.links]
        counts = [links.n_places for links in batch.links]
        collected: list[Tensor] = []
        for _ in self.widths:
            parts = zip(batch.links, features, states.split(counts), strict=True)
            heard = _join([links.gather(f, own, matrices.weights) for links, f, own in parts])  # (P, D)
            states = self.gru(torch.relu_(heard + self.bias), states)
            collected.append(batch.of_nodes(states))
        return collected

    def level(self, states: Sequence[Tensor], batch: LinkBatch, k: int) -> Tensor:
        """Set2Set of the states after step k."""
        vectors: Tensor = self.readout(states[k], batch.node_graph, len(batch.sizes))
        return vectors

    def vectors(self, states: Sequence[Tensor], batch: LinkBatch) -> Tensor:
        """Set2Set of the last states."""
        return self.level(states, batch, len(states) - 1)


def _join(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts)
