"""enn-s2s (Gilmer et al. 2017), the paper's encoder of molecules: edge network, GRU and Set2Set."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from infograph.data.graphset import GraphSet
from infograph.nn.batch import SparseMatrix
from infograph.nn.encoder import GraphEncoder, NodeFeatures, Weights, xavier
from infograph.nn.links import LinkBatch, LinkBatcher

Hear = Callable[[Tensor], Tensor]
HIDDEN = 128  # units of the edge network, as in the paper's code
ROUNDS = 3  # of Set2Set, as in the paper


class ENNEncoder(GraphEncoder):
    """`h_0 = relu(W x)`, then K times `h = GRU(relu(mean of A(e_uv) h_v over the neighbours v + b), h)`.

    The same edge network and GRU serve all K steps. H^k is the one Set2Set applied to the states after step
    k, H the last of them.

    `dim` is the width of node states, 64 in the paper's code; graph vectors have 2 * dim numbers.
    """

    def __init__(
        self,
        node_dim: int,
        edge_dim: int,
        dim: int = 64,
        steps: int = 3,
        node_features: NodeFeatures = "auto",
        weights: Weights = "torch",
    ) -> None:
        super().__init__()
        self.node_features, self.weights = node_features, weights
        self.widths, self.level_dims, self.dim = [dim] * steps, [2 * dim] * steps, 2 * dim
        self.input = nn.Linear(node_dim, dim)
        self.edge = EdgeNetwork(edge_dim, dim)
        self.bias = nn.Parameter(torch.zeros(dim))
        self.gru = nn.GRUCell(dim, dim)
        self.readout = Set2Set(dim)
        if weights == "xavier":
            xavier(self)

    def source(self, graphs: GraphSet, device: torch.device | None = None) -> LinkBatcher:
        return LinkBatcher(graphs, len(self.widths), self.node_features, device)

    def forward(self, batch: LinkBatch) -> list[Tensor]:
        """States of all nodes after each step: K tensors (N, D)."""
        batch = batch.to(self.bias.dtype)
        states = torch.relu_(self.input(batch.x))
        hear = self.edge(batch)
        collected: list[Tensor] = []
        for _ in self.widths:
            states = self.gru(torch.relu_(hear(states) + self.bias), states)
            collected.append(states)
        return collected

    def level(self, states: Sequence[Tensor], batch: LinkBatch, k: int) -> Tensor:
        vectors: Tensor = self.readout(states[k], batch.node_graph, len(batch.sizes))
        return vectors

    def vectors(self, states: Sequence[Tensor], batch: LinkBatch) -> Tensor:
        return self.level(states, batch, len(states) - 1)


# The edge network of enn-s2s, `A(e) = W2 relu(W1 e + b1) + b2`, without a matrix per edge.
#
# Along the edges of one kind a hidden unit is a function of a distance, and either on or off: it changes once
# at most, where `W1 e + b1` is 0. Between two such places all units that are on are linear, so that
# `A(e) = A_0 + d A_1` with two matrices for all edges there, which are a piece. Edges come sorted by kind and
# distance, and a piece is a slice of them. What a node hears in one piece is added up before the matrices are
# applied, `A_0 sum h_v + A_1 sum d h_v`. All of this is exact, whatever the weights.


class EdgeNetwork(nn.Module):
    """Edge vectors (F_k numbers fixed by kind, F_v continuous) -> HIDDEN units -> matrices dim x dim."""

    def __init__(self, edge_dim: int, dim: int) -> None:
        super().__init__()
        self.dim = dim
        if edge_dim:
            self.first = nn.Linear(edge_dim, HIDDEN)
        else:  # edges that are all alike
            with warnings.catch_warnings(action="ignore"):  # torch's, that there is nothing to initialise
                self.first = nn.utils.skip_init(nn.Linear, 0, HIDDEN)
            nn.init.zeros_(self.first.bias)
        self.second = nn.Linear(HIDDEN, dim * dim)

    def forward(self, batch: LinkBatch) -> Hear:
        """What every node u hears, the mean over arcs v -> u of `A(e_uv) h_v`, as a function of states h."""
        return self._by_unit(batch) if batch.values.shape[1] > 1 else self._by_piece(batch)

    def _by_piece(self, batch: LinkBatch) -> Hear:
        counts = batch.counts.index_select(0, batch.target)
        features = torch.cat([torch.ones_like(counts), batch.values], 1)  # (E, 1 + F_v)
        sizes, matrices = self._pieces(batch, features)
        n_nodes, n_features = len(batch.x), features.shape[1]
        piece = torch.repeat_interleave(sizes, output_size=len(counts))
        heard, group = torch.unique(piece * n_nodes + batch.target, return_inverse=True)  # by piece and node
        rows = torch.bincount(heard // n_nodes, minlength=len(sizes)).cpu().tolist()
        row = group[:, None] * n_features + torch.arange(n_features, device=group.device)
        source, shares = batch.source.repeat_interleave(n_features), features / counts
        shape = (len(heard) * n_features, n_nodes)
        adding = SparseMatrix.from_entries(row.flatten(), source, shares.flatten(), shape)

        def hear(states: Tensor) -> Tensor:
            added = (adding @ states).view(len(heard), n_features * self.dim)
            told = cast(Tensor, _ByPiece.apply(added, matrices, rows))  # type: ignore[no-untyped-call]
            return torch.zeros_like(states).index_add(0, heard % n_nodes, told)

        return hear

    def _pieces(self, batch: LinkBatch, features: Tensor) -> tuple[Tensor, Tensor]:
        """How many arcs the P pieces have, and A_0 above A_1 of each (P, 2 D, D)."""
        n_kinds, n_fixed = batch.table.shape
        fixed, slope = self.first.weight[:, :n_fixed], self.first.weight[:, n_fixed:]  # (H, F_k), (H, F_v)
        level = torch.addmm(self.first.bias, batch.table, fixed.T)  # (T, H)
        lines = torch.cat([level[:, None], slope.T.expand(n_kinds, -1, -1)], 1)  # (T, 1 + F_v, H)
        cuts = _cuts(lines.detach(), batch)
        sizes = cuts.diff()
        middle = cuts[:-1] + sizes // 2  # an arc of each piece
        units = lines.index_select(0, batch.kind[middle])  # (P, 1 + F_v, H)
        on = (units.detach() * features[middle, :, None]).sum(1, keepdim=True) > 0
        matrices = (units * on) @ self.second.weight.T  # (P, 1 + F_v, D * D)
        matrices = torch.cat([matrices[:, :1] + self.second.bias, matrices[:, 1:]], 1)
        return sizes, matrices.view(len(sizes), features.shape[1] * self.dim, self.dim)

    def _by_unit(self, batch: LinkBatch) -> Hear:
        """Of several continuous values there are no pieces: `A(e) h = sum_k z_k W2_k h`, unit after unit."""
        units = torch.relu_(self.first(torch.cat([batch.table[batch.kind], batch.values], 1)))
        units = torch.cat([units, torch.ones_like(units[:, :1])], 1)  # (E, H + 1)
        weights = torch.cat([self.second.weight.T, self.second.bias[None]])
        side_by_side = weights.view(-1, self.dim, self.dim).transpose(0, 1).flatten(1)  # (D, (H + 1) D)

        def hear(states: Tensor) -> Tensor:
            told = _ByUnit.apply(units, states @ side_by_side, batch)  # type: ignore[no-untyped-call]
            return cast(Tensor, told) / batch.counts

        return hear


def _cuts(lines: Tensor, batch: LinkBatch) -> Tensor:
    """Where pieces begin and end among the arcs (P + 1,), of units `level + slope * value` of every kind."""
    ends = torch.searchsorted(batch.kind, torch.arange(len(lines) + 1, device=lines.device))
    found = [ends]
    if batch.values.shape[1]:
        changes = -lines[:, 0] / lines[:, 1]  # (T, H); infinite, or no number, where a unit never changes
        values, (first, *others) = batch.values[:, 0].contiguous(), ends.cpu().tolist()
        for own, last in zip(changes, others, strict=True):
            found.append(first + torch.searchsorted(values[first:last], own))
            first = last
    return cast(Tensor, torch.cat(found).unique())


class _ByPiece(torch.autograd.Function):
    """Rows of (G, J) times the matrix (J, D) of their piece; `sizes` says how many rows each has."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, matrices: Tensor, sizes: list[int]) -> Tensor:
        ctx.save_for_backward(rows, matrices)
        ctx.sizes = sizes
        told = rows.new_empty(len(rows), matrices.shape[2])
        for own, matrix, out in zip(rows.split(sizes), matrices, told.split(sizes), strict=True):
            torch.mm(own, matrix, out=out)
        return told

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        (rows, matrices), sizes = ctx.saved_tensors, ctx.sizes
        to_rows, to_matrices = torch.empty_like(rows), torch.empty_like(matrices)
        parts = (part.split(sizes) for part in (gradient, rows, to_rows))
        for arriving, own, out, matrix, of_matrix in zip(*parts, matrices, to_matrices, strict=True):
            torch.mm(arriving, matrix.T, out=out)
            torch.mm(own.T, arriving, out=of_matrix)
        return to_rows, to_matrices, None


class _ByUnit(torch.autograd.Function):
    """`sum_k units[e, k] spread[source[e], k]` at the target of e; memory for all arcs is needed once."""

    @staticmethod
    def forward(ctx: Any, units: Tensor, spread: Tensor, batch: LinkBatch) -> Tensor:
        parts = spread.view(len(spread), units.shape[1], -1)  # (N, K, D)
        told = spread.new_zeros(len(parts), parts.shape[2])
        for k, unit in enumerate(units.T):
            told.index_add_(0, batch.target, parts[batch.source, k] * unit[:, None])
        ctx.save_for_backward(units, spread)
        ctx.batch = batch
        return told

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        (units, spread), batch = ctx.saved_tensors, ctx.batch
        parts = spread.view(len(spread), units.shape[1], -1)
        to_units, to_parts = torch.empty_like(units), torch.zeros_like(parts)
        arriving = gradient[batch.target]  # (E, D)
        for k, unit in enumerate(units.T):
            to_units[:, k] = (arriving * parts[batch.source, k]).sum(1)
            to_parts[:, k].index_add_(0, batch.source, arriving * unit[:, None])
        return to_units, to_parts.view_as(spread), None


class Set2Set(nn.Module):
    """An LSTM asks, attention over the nodes answers; the last question and answer are the graph's vector."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.lstm = nn.LSTMCell(2 * dim, dim)

    def forward(self, states: Tensor, graph: Tensor, n_graphs: int) -> Tensor:
        """(N, D) states, (N,) the graph of each node -> (G, 2 D)."""
        question = cell = states.new_zeros(n_graphs, states.shape[1])
        result = states.new_zeros(n_graphs, 2 * states.shape[1])
        for _ in range(ROUNDS):
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
