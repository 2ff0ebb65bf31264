"""enn-s2s (Gilmer et al. 2017), the paper's encoder of molecules: edge network, GRU and Set2Set.

Its batches say who hears whom. The vector of an edge is that of its kind (a bond's type, or none) with some
continuous values (a distance) behind it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from infograph.data.colours import dense, group_rows, node_inputs
from infograph.data.graphset import GraphSet, IntArray, pointer, ranges
from infograph.data.schema import Schema
from infograph.nn.batch import Batch, SparseMatrix, per_node
from infograph.nn.encoder import GraphEncoder, NodeFeatures, Weights, xavier

Hear = Callable[[Tensor], Tensor]
HIDDEN = 128  # units of the edge network, as in the paper's code
ROUNDS = 3  # of Set2Set, as in the paper
MANY = 64  # kinds of edges, beyond which their one-hot inputs are treated like continuous values
KINDS = ("categorical", "float")  # of edge columns, in the order of their inputs
Floats = NDArray[np.float32]


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


# ---- batches


@dataclass(frozen=True, kw_only=True)
class LinkBatch(Batch):
    """Graphs with E arcs between their N nodes, kind after kind, each by its first continuous value."""

    table: Tensor  # (T, F_k) the part of an arc's vector that its kind fixes
    kind: Tensor  # (E,)
    values: Tensor  # (E, F_v)
    source: Tensor  # (E,)
    target: Tensor  # (E,)
    counts: Tensor  # (N, 1) arcs that a node hears, at least 1

    def to(self, dtype: torch.dtype) -> LinkBatch:
        """The batch with floats of that type."""
        if self.x.dtype == dtype:
            return self
        floats = {name: getattr(self, name).to(dtype) for name in ("x", "table", "values", "counts")}
        return replace(self, **floats)


def link_widths(schema: Schema) -> list[int]:
    """Inputs per edge that a `LinkBatcher` gives an encoder: of categories, of numbers, and the distance."""
    columns, position = schema.features("edge"), schema.position
    own = [column.encoded_width for kind in KINDS for column in columns if column.kind == kind]
    return own + [1] * (position is not None and position.used)


class LinkBatcher:
    """Cuts batches out of a GraphSet; `sizes`, `loads`, `costs` and `most` as for `Batcher`, by edges.

    Where nodes have positions, every node hears every other node of its graph, and the edge vector is that of
    the edge between them (zero where there is none) with their distance behind it, in the positions' unit.
    Otherwise nodes hear along arcs, and the edge vector holds the edge columns.
    """

    most = 50_000

    def __init__(
        self, graphs: GraphSet, steps: int, node_features: str = "auto", device: torch.device | None = None
    ) -> None:
        self.graphs, self.steps, self.device = graphs, steps, device or torch.device("cpu")
        self._input, table = node_inputs(graphs, node_features)
        self._table = dense(table)
        position = graphs.schema.position
        self._positions = graphs.node[position.name] if position and position.used else None
        if self._positions is None:
            self.loads = graphs.sizes + np.diff(graphs.edge_ptr)
        else:
            self.loads = graphs.sizes**2
            self._positions = self._positions.reshape(graphs.n_nodes, -1)  # a line is a space, too
        self.sizes, self.costs = graphs.sizes, self.loads
        self._kind, self._kinds, self._values = _edge_inputs(graphs, pairs=self._positions is not None)

    def batch(self, graphs: IntArray, *, nodes: bool = False) -> LinkBatch:
        """The batch of `graphs`, positions in the GraphSet; with `nodes` it can be asked about each node."""
        graphs = np.asarray(graphs)
        rows, ptr = ranges(self.graphs.node_ptr, graphs)
        arcs, arc_ptr = ranges(self.graphs.edge_ptr, graphs)
        ends = self.graphs.edges[:, arcs] + np.repeat(ptr[:-1], np.diff(arc_ptr))
        kind, values = self._kind[arcs], self._values[arcs]
        if self._positions is not None:
            ends, kind, values = _pairs(ptr, ends, kind, values, self._positions[rows])
        order = np.lexsort((values[:, 0], kind) if values.shape[1] else (kind,))
        heard = np.bincount(ends[1], minlength=int(ptr[-1]))
        parts: dict[str, Any] = {
            "x": self._table[self._input[rows]],
            "table": self._kinds,
            "kind": kind[order],
            "values": values[order],
            "source": ends[0, order],
            "target": ends[1, order],
            "counts": np.maximum(heard, 1).astype(np.float32)[:, None],
        }
        parts = {name: torch.from_numpy(part).to(self.device) for name, part in parts.items()}
        return LinkBatch(**per_node(ptr, self.steps, nodes, self.device), **parts)


def _pairs(
    ptr: IntArray, ends: IntArray, kind: IntArray, values: Floats, positions: NDArray[Any]
) -> tuple[IntArray, IntArray, Floats]:
    """All pairs of different nodes of a graph as arcs: ends (2, E), kinds, and values with the distance.

    Kind 0 stands where no arc joins two nodes. Self-loops do not count; of repeated arcs the last one does.
    """
    sizes = np.diff(ptr)
    first = pointer(sizes**2)  # of the pairs of a graph
    graph = np.repeat(np.arange(len(sizes)), sizes**2)
    target, source = np.divmod(np.arange(first[-1]) - first[graph], sizes[graph])
    all_kinds = np.zeros(first[-1], np.int64)
    all_values = np.zeros((first[-1], values.shape[1] + 1), np.float32)
    of_arc = np.repeat(np.arange(len(sizes)), sizes)[ends[0]]
    pair = first[of_arc] + (ends[1] - ptr[of_arc]) * sizes[of_arc] + ends[0] - ptr[of_arc]
    all_kinds[pair], all_values[pair, :-1] = kind, values
    source, target = source + ptr[graph], target + ptr[graph]
    all_values[:, -1] = np.sqrt(((positions[target] - positions[source]) ** 2).sum(axis=1))
    others = np.flatnonzero(source != target)
    return np.stack([source[others], target[others]]), all_kinds[others], all_values[others]


def _edge_inputs(graphs: GraphSet, *, pairs: bool) -> tuple[IntArray, Floats, Floats]:
    """Kind (E,) of every arc, the inputs (T, F_k) that a kind stands for, and continuous values (E, F_v).

    Where all pairs are joined, kind 0 stands for pairs without an arc.
    """
    columns = graphs.schema.features("edge")
    fixed, floats = ([column for column in columns if column.kind == kind] for kind in KINDS)
    kind: IntArray = np.zeros(graphs.n_edges, np.int64)
    table = np.zeros((1, 0), np.float32)
    values = _side_by_side([c.encode(graphs.edge[c.name]) for c in floats], graphs.n_edges)
    if fixed:
        kind, first = group_rows([graphs.edge[column.name] for column in fixed])
        table = _side_by_side([c.encode(graphs.edge[c.name][first]) for c in fixed], len(first))
        table = table if len(table) else np.zeros((1, table.shape[1]), np.float32)
    if len(table) > MANY:
        values = np.hstack([table[kind], values])
        kind, table = np.zeros(graphs.n_edges, np.int64), np.zeros((1, 0), np.float32)
    if pairs:
        kind, table = kind + 1, np.vstack([np.zeros((1, table.shape[1]), np.float32), table])
    return kind, table, values


def _side_by_side(parts: list[Floats], n_rows: int) -> Floats:
    return np.hstack([np.zeros((n_rows, 0), np.float32), *parts])
