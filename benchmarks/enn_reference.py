"""enn-s2s as PyG builds it: NNConv on a complete graph, GRU, Set2Set. Oracle and opponent of `ENNEncoder`."""

from __future__ import annotations

from typing import Self

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.nn import NNConv, Set2Set

from infograph.data.colours import node_inputs
from infograph.data.graphset import GraphSet
from infograph.nn.enn import ENNEncoder


class EnnReference(nn.Module):
    """The same weights as an `ENNEncoder`, in PyG's modules."""

    def __init__(
        self, node_dim: int, edge_dim: int, dim: int = 64, steps: int = 3, hidden: int = 128
    ) -> None:
        super().__init__()
        self.steps = steps
        self.input = nn.Linear(node_dim, dim)
        edge = nn.Sequential(nn.Linear(edge_dim, hidden), nn.ReLU(), nn.Linear(hidden, dim * dim))
        self.conv = NNConv(dim, dim, edge, aggr="mean", root_weight=False)
        self.gru = nn.GRU(dim, dim)
        self.readout = Set2Set(dim, processing_steps=3)

    @classmethod
    def like(cls, ours: ENNEncoder) -> Self:
        """A reference with the weights of `ours`."""
        hidden, edge_dim = ours.edge.first.weight.shape
        dim, node_dim = ours.input.weight.shape
        made = cls(node_dim, edge_dim, dim, len(ours.widths), hidden).to(ours.bias.dtype)
        with torch.no_grad():
            for name, theirs in made.pairs().items():
                theirs.copy_(ours.get_parameter(name))
        return made

    def pairs(self) -> dict[str, nn.Parameter]:
        """Our parameters' names -> the parameter here that holds the same."""
        edge = self.conv.nn
        named = {
            "input.weight": self.input.weight,
            "input.bias": self.input.bias,
            "edge.first.weight": edge[0].weight,
            "edge.first.bias": edge[0].bias,
            "edge.second.weight": edge[2].weight,
            "edge.second.bias": edge[2].bias,
            "bias": self.conv.bias,
        }
        for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            named[f"gru.{kind}"] = getattr(self.gru, f"{kind}_l0")
            named[f"readout.lstm.{kind}"] = getattr(self.readout.lstm, f"{kind}_l0")
        return named

    def gradients(self) -> dict[str, Tensor]:
        """Gradients by our names."""
        return {name: theirs.grad for name, theirs in self.pairs().items() if theirs.grad is not None}

    def forward(self, graphs: GraphSet, dtype: torch.dtype) -> tuple[list[Tensor], Tensor]:
        """States after each step, and vectors."""
        return self.run(*inputs(graphs, dtype))

    def run(self, x: Tensor, index: Tensor, edge: Tensor, graph: Tensor) -> tuple[list[Tensor], Tensor]:
        """The network on tensors as PyG has them."""
        states = torch.relu(self.input(x))
        hidden, collected = states[None], []
        for _ in range(self.steps):
            message = torch.relu(self.conv(states, index, edge))
            _, hidden = self.gru(message[None], hidden)
            states = hidden[0]
            collected.append(states)
        return collected, self.readout(states, graph)


def inputs(graphs: GraphSet, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Node inputs, edge index, edge vectors and the graph of every node, one graph after the other."""
    colour, table = node_inputs(graphs)
    position = graphs.schema.position
    index, vectors = [], []
    for g in range(len(graphs)):
        one = graphs[g]
        columns = [c for c in one.schema.features("edge") if c.kind == "categorical"]
        columns += [c for c in one.schema.features("edge") if c.kind == "float"]
        attributes = np.hstack([np.zeros((one.n_edges, 0)), *(c.encode(one.edge[c.name]) for c in columns)])
        source, target = one.edges
        if position is not None and position.used:
            n, where = one.n_nodes, one.node[position.name].astype(np.float32)
            dense = np.zeros((n, n, attributes.shape[1] + 1))
            dense[source, target, :-1] = attributes
            dense[:, :, -1] = np.sqrt(((where[:, None] - where[None]) ** 2).sum(-1))
            source, target = np.nonzero(~np.eye(n, dtype=bool))
            attributes = dense[source, target]
        index.append(np.stack([source, target]) + graphs.node_ptr[g])
        vectors.append(attributes)
    return (
        torch.from_numpy(table[colour]).to(dtype),
        torch.from_numpy(np.hstack(index).astype(np.int64)),
        torch.from_numpy(np.vstack(vectors)).to(dtype),
        torch.from_numpy(graphs.node_graph),
    )
