"""Set2Set (Vinyals et al. 2016): a readout that looks at the nodes several times."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Set2Set(nn.Module):
    """An LSTM asks, attention over the nodes answers; the last question and answer are the graph's vector.

    Args:
        dim: width of node states; graph vectors have 2 * dim numbers.
        rounds: how often it looks; 3 in the paper.
    """

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
