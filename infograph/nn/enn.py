"""enn-s2s (Gilmer et al. 2017), the paper's encoder of molecules: edge network, GRU and Set2Set."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from infograph.data.graphset import GraphSet
from infograph.nn.encoder import GraphEncoder, NodeFeatures, Weights, xavier
from infograph.nn.pairs import Kinds, LinkBatch, LinkBatcher


class ENNEncoder(GraphEncoder):
    """`h_0 = relu(W x)`, then K times `h = GRU(relu(mean of A(e_uv) h_v over the neighbours v + b), h)`.

    The same edge network and GRU serve all K steps. H^k is the one Set2Set applied to the states after step
    k, H the last of them.

    Args:
        node_dim, edge_dim: inputs per node and per edge.
        dim: width of node states; 64 in the paper's code. Graph vectors have 2 * dim numbers.
        steps, hidden: K, and hidden units of the edge network; 3 and 128 in the paper's code.
        rounds: of Set2Set; 3 in the paper.
        node_features: what nodes start with.
        weights: what linear maps start with, "torch" for its own; "xavier" (and biases of zero) in the
            paper's code.
    """

    def __init__(
        self,
        node_dim: int,
        edge_dim: int,
        dim: int = 64,
        steps: int = 3,
        hidden: int = 128,
        rounds: int = 3,
        node_features: NodeFeatures = "auto",
        weights: Weights = "torch",
    ) -> None:
        super().__init__()
        self.node_features, self.weights = node_features, weights
        self.widths, self.level_dims, self.dim = [dim] * steps, [2 * dim] * steps, 2 * dim
        self.input = nn.Linear(node_dim, dim)
        self.edge = EdgeNetwork(edge_dim, dim, hidden)
        self.bias = nn.Parameter(torch.zeros(dim))
        self.gru = nn.GRUCell(dim, dim)
        self.readout = Set2Set(dim, rounds)
        if weights == "xavier":
            xavier(self)

    def source(self, graphs: GraphSet, device: torch.device | None = None) -> LinkBatcher:
        return LinkBatcher(graphs, len(self.widths), self.node_features, device)

    def forward(self, batch: LinkBatch) -> list[Tensor]:
        """States of all nodes after each step: K tensors (N, D)."""
        batch = batch.to(self.bias.dtype)
        states = torch.relu_(self.input(batch.x))  # (P, D)
        switching, weights = self.edge(batch.kinds)
        features = [links.features(switching) for links in batch.links]
        counts = [links.n_places for links in batch.links]
        collected: list[Tensor] = []
        for _ in self.widths:
            parts = zip(batch.links, features, states.split(counts), strict=True)
            found = [links.gather(f, own, weights) for links, f, own in parts]
            heard = found[0] if len(found) == 1 else torch.cat(found)  # (P, D)
            states = self.gru(torch.relu_(heard + self.bias), states)
            collected.append(batch.of_nodes(states))
        return collected

    def level(self, states: Sequence[Tensor], batch: LinkBatch, k: int) -> Tensor:
        vectors: Tensor = self.readout(states[k], batch.node_graph, len(batch.sizes))
        return vectors

    def vectors(self, states: Sequence[Tensor], batch: LinkBatch) -> Tensor:
        return self.level(states, batch, len(states) - 1)


# The edge network of enn-s2s, `A(e) = W2 relu(W1 e + b1) + b2`, without a matrix per edge.
#
# A message is `A(e_uv) h_v = sum_k z_k (W2_k h_v)` with `z = [relu(W1 e + b1), 1]`: apply all `W2_k` to the
# nodes, then add up with the weights z, and no edge ever has its own D x D matrix. Most hidden units need
# not even be there. Among the edges of one kind z_k is a function of a distance, and distances lie in a
# known range, so a unit that is off over that whole range drops out, and one that is on is linear: all
# linear units of a kind collapse into one matrix per linear feature. Only units that switch inside the range
# of some kind are left; at initialisation on QM9 these are about 40 of 128. All of this is exact, whatever
# the weights.


class EdgeNetwork(nn.Module):
    """Edge vectors (F_k numbers fixed by kind, F_v continuous) -> `hidden` units -> matrices dim x dim."""

    def __init__(self, edge_dim: int, dim: int, hidden: int) -> None:
        super().__init__()
        self.dim = dim
        if edge_dim:
            self.first = nn.Linear(edge_dim, hidden)
        else:  # edges that are all alike
            with warnings.catch_warnings(action="ignore"):  # torch's, that there is nothing to initialise
                self.first = nn.utils.skip_init(nn.Linear, 0, hidden)
            nn.init.zeros_(self.first.bias)
        self.second = nn.Linear(hidden, dim * dim)

    def forward(self, kinds: Kinds) -> tuple[Tensor, Tensor]:
        """What stands for A(e) in a batch: `sum_k features_k W_k`, `features = [linear, relu(linear @ S)]`.

        S (R, M) are the hidden units that are on for some edges only, of R linear features; and the matrices
        W_k side by side (D, K * D), K = R + M.
        """
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
        return lines.flatten(0, 1).index_select(1, units), side_by_side


def _signs(level: Tensor, slope: Tensor, kinds: Kinds) -> tuple[Tensor, Tensor]:
    """Which units are on for all edges of a kind (T, H), and which switch among those of any kind (H,)."""
    low, high = kinds.low[:, None] * slope, kinds.high[:, None] * slope  # (T, H, F_v)
    least = level + torch.minimum(low, high).sum(2)
    largest = level + torch.maximum(low, high).sum(2)
    return least >= 0, ((least < 0) & (largest > 0)).any(0)


class Set2Set(nn.Module):
    """An LSTM asks, attention over the nodes answers; the last question and answer are the graph's vector."""

    def __init__(self, dim: int, rounds: int = 3) -> None:
        super().__init__()
        self.rounds = rounds
        self.lstm = nn.LSTMCell(2 * dim, dim)

    def forward(self, states: Tensor, graph: Tensor, n_graphs: int) -> Tensor:
        """(N, D) states, (N,) the graph of each node -> (G, 2 D)."""
        question = cell = states.new_zeros(n_graphs, states.shape[1])
        result = states.new_zeros(n_graphs, 2 * states.shape[1])
        for _ in range(self.rounds):
            question, cell = self.lstm(result, (question, cell))
            result = torch.cat([question, attend(states, question, graph)], 1)
        return result


def attend(states: Tensor, question: Tensor, graph: Tensor) -> Tensor:
    """The mean of a graph's states, weighted by the softmax of their products with the question. (G, D)."""
    energy = (states * question[graph]).sum(1)  # (N,)
    peak = torch.full_like(question[:, 0], -torch.inf).scatter_reduce(0, graph, energy.detach(), "amax")
    weight = torch.exp(energy - peak[graph])
    total = torch.zeros_like(question[:, 0]).index_add(0, graph, weight)
    return torch.zeros_like(question).index_add(0, graph, states * (weight / total[graph])[:, None])
