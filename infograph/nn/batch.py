"""Batches of graphs; ColourBatch: as the sparse counts that a GIN over colours multiplies with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from torch import Tensor
from torch.nn.functional import embedding_bag

from infograph.data.colours import Colouring
from infograph.data.graphset import IntArray, ranges

MANY = 5_000  # entries of a matrix from which on scipy transposes it faster than a sort, 9 times at 100,000


@dataclass(frozen=True)
class BatchRound:
    """One round of a batch: C colours, C' in the round before, G distinct graphs.

    `heard` says how often a colour hears each of M messages. Without edge features messages are the colours
    of the round before, and a colour's own counts once more: what GIN with eps = 0 sums. With edge features a
    message is a colour of the round before and an edge code. Both are identities for encoders per node.
    """

    own: SparseMatrix | Identity  # (C, C') each colour one round before; the identity where no colour split
    heard: SparseMatrix | Identity  # (C, M)
    counts: Tensor  # (C,) nodes per colour, copies of graphs included
    members: SparseMatrix  # (G, C) nodes of each colour in each distinct graph
    message_colour: Tensor | None = None  # (M,)
    message_code: Tensor | None = None  # (M,)


@dataclass(frozen=True)
class SparseMatrix:
    """A constant matrix: row i has `value[ptr[i]:ptr[i+1]]` in columns `index[ptr[i]:ptr[i+1]]`."""

    ptr: Tensor  # (rows + 1,)
    index: Tensor  # (entries,)
    value: Tensor  # (entries,)
    shape: tuple[int, int]

    @classmethod
    def from_csr(
        cls,
        ptr: NDArray[Any],
        index: NDArray[Any],
        value: NDArray[Any],
        n_columns: int,
        device: torch.device | None = None,
    ) -> SparseMatrix:
        """From numpy arrays in compressed-row form."""
        rows, columns, values = (torch.from_numpy(part).to(device) for part in (ptr, index, value))
        return cls(rows, columns, values, (len(ptr) - 1, n_columns))

    @classmethod
    def from_entries(cls, row: Tensor, index: Tensor, value: Tensor, shape: tuple[int, int]) -> SparseMatrix:
        """From the row, column and value of every entry, in any order."""
        order = torch.argsort(row, stable=True)
        ptr = torch.searchsorted(row[order], torch.arange(shape[0] + 1, device=row.device))
        return cls(ptr, index[order], value[order], shape)

    @classmethod
    def picking(cls, rows: Tensor, n_columns: int) -> SparseMatrix:
        """What takes these rows of its factor: one entry, a 1, in each of its own."""
        every = torch.arange(len(rows) + 1, device=rows.device)
        return cls(every, rows, torch.ones(len(rows), device=rows.device), (len(rows), n_columns))

    @cached_property
    def transposed(self) -> SparseMatrix:
        """The transpose, for the backward pass; made when it is first needed."""
        if self.ptr.device.type != "cpu":
            return self._transposed_there()
        ptr, index, value = (part.numpy() for part in (self.ptr, self.index, self.value))
        n_rows, n_columns = self.shape
        n_entries = len(index)
        if n_entries > MANY:
            made = csr_matrix((value, index, ptr), self.shape, copy=False).tocsc()
            column_ptr, row, value = made.indptr.astype(np.int64), made.indices.astype(np.int64), made.data
        else:
            # sorting unique keys is stable and, vectorised, quicker than scipy's bookkeeping
            key = index * n_entries + np.arange(n_entries)
            key.sort()
            order = key % max(n_entries, 1)
            row, value = np.repeat(np.arange(n_rows), np.diff(ptr))[order], value[order]
            column_ptr = np.concatenate([[0], np.cumsum(np.bincount(index, minlength=n_columns))])
        return SparseMatrix.from_csr(column_ptr, row, value, n_rows)

    def _transposed_there(self) -> SparseMatrix:
        """The transpose on a device where sorting is quick and a way through the processor is not."""
        return SparseMatrix.from_entries(self.index, self.rows, self.value, self.shape[::-1])

    @property
    def rows(self) -> Tensor:
        """The row of every entry. (entries,)."""
        return torch.repeat_interleave(self.ptr.diff(), output_size=len(self.index))

    def times(self, dense: Tensor) -> Tensor:
        """(rows, columns) @ (columns, D), without a gradient."""
        # embedding_bag is torch's fastest row-wise product on a CPU, 2 to 9 times an MKL CSR product here.
        return embedding_bag(
            self.index,
            dense.detach(),
            self.ptr,
            mode="sum",
            per_sample_weights=self.value.to(dense.dtype),
            include_last_offset=True,
        )

    def __matmul__(self, dense: Tensor) -> Tensor:
        """(rows, columns) @ (columns, D), differentiable in the dense factor."""
        return cast(Tensor, _Product.apply(dense, self))  # type: ignore[no-untyped-call]


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dense: Tensor, matrix: SparseMatrix) -> Tensor:
        ctx.matrix = matrix
        return matrix.times(dense)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return ctx.matrix.transposed.times(gradient.contiguous()), None


class Identity:
    """The identity: what comes back is what came, not a copy."""

    @property
    def transposed(self) -> Identity:
        return self

    def times(self, dense: Tensor) -> Tensor:
        return dense

    __matmul__ = times


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Some graphs as their distinct ones: graphs that no encoder tells apart are computed once.

    B graphs were asked for, G of them are distinct; they have N nodes.
    """

    x: Any  # (C_0, F) inputs of the distinct nodes: a tensor, or a SparseMatrix where there are thousands
    rounds: Sequence[BatchRound]  # one per layer
    sizes: Tensor  # (G,) nodes per distinct graph
    copies: Tensor  # (G,) how many of the graphs asked for are this one
    which: Tensor  # (B,) the distinct graph that each graph asked for is
    node_colour: Tensor | None = None  # (N,) last-round colour of every node, as asked for; only on request
    beside: Tensor | None = None  # (B, F) numbers of the graphs asked for, that heads see behind vectors
    largest: int | None = None  # nodes of the largest graph, so that no device has to be asked

    @property
    def members(self) -> SparseMatrix:
        """(G, C_K) nodes of each last-round colour in each distinct graph."""
        return self.rounds[-1].members

    @property
    def node_graph(self) -> Tensor:
        """(N,) the distinct graph of every node, graph by graph as asked for."""
        return torch.repeat_interleave(self.which, self.sizes[self.which])


@dataclass(frozen=True, kw_only=True)
class ColourBatch(Batch):
    """A batch for GIN and GINE over colours."""

    edge_table: Tensor  # (L, F_e) inputs of the distinct edges
    source: Batcher  # that made it
    distinct: IntArray  # (G,) positions of the distinct graphs there


class Batcher:
    """Cuts batches out of a colouring: only what the chosen graphs contain, renumbered from 0.

    `loads` (G,) is what graphs cost in a batch, their nodes, and `costs` (G,) what they cost in a step of
    training, their colours, which are scored one by one.
    """

    most = 100_000  # what a batch without gradients may cost

    def __init__(self, colouring: Colouring, device: torch.device | None = None) -> None:
        self.colouring = colouring
        self.sizes = self.loads = np.diff(colouring.node_ptr)
        self.costs = np.diff(colouring.graph_counts[-1].indptr)
        self.device = device or torch.device("cpu")
        # where a colour of the whole set stands in the batch; overwritten by every batch
        self._place = [np.zeros(colouring.n_colours(k), np.int64) for k in range(len(colouring.rounds) + 1)]
        self._edge_table = torch.from_numpy(colouring.edge_table).to(self.device)

    def batch(self, graphs: IntArray, *, nodes: bool = False) -> ColourBatch:
        """The batch of `graphs`, positions in the colouring; with `nodes` it also says each node's colour."""
        graphs = np.asarray(graphs)
        kinds = self.colouring.graph_kinds[graphs]
        _, first, which, copies = np.unique(kinds, return_index=True, return_inverse=True, return_counts=True)
        distinct, node_ptr = graphs[first], self.colouring.node_ptr
        chosen, _, _ = self._choose(0, distinct)
        table = self.colouring.node_table[chosen]
        x: Tensor | SparseMatrix
        if isinstance(table, np.ndarray):
            x = torch.from_numpy(table).to(self.device)
        else:
            ptr, index = (part.astype(np.int64) for part in (table.indptr, table.indices))
            x = SparseMatrix.from_csr(ptr, index, table.data, table.shape[1], self.device)
        rounds: list[BatchRound] = []
        for k in range(1, len(self.colouring.rounds) + 1):
            n_before = len(rounds[-1].counts) if rounds else len(chosen)
            rounds.append(self._round(k, distinct, n_before, copies))
        node_colour = None
        if nodes:
            rows, _ = ranges(node_ptr, graphs)
            node_colour = torch.from_numpy(self._place[-1][self.colouring.node_colours[-1][rows]])
        return ColourBatch(
            x=x,
            rounds=rounds,
            sizes=torch.from_numpy(node_ptr[distinct + 1] - node_ptr[distinct]).to(self.device),
            copies=torch.from_numpy(copies.astype(np.float32)).to(self.device),
            which=torch.from_numpy(which).to(self.device),
            node_colour=None if node_colour is None else node_colour.to(self.device),
            edge_table=self._edge_table,
            source=self,
            distinct=distinct,
            largest=int((node_ptr[distinct + 1] - node_ptr[distinct]).max()),
        )

    def _choose(self, k: int, graphs: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """The distinct colours of round k in the batch, and its graphs' rows in `graph_counts`."""
        counts, place = self.colouring.graph_counts[k], self._place[k]
        rows, ptr = ranges(counts.indptr, graphs)
        colours = counts.indices[rows]
        place[colours] = np.arange(len(colours))  # the last mention of a colour wins ...
        chosen = colours[place[colours] == np.arange(len(colours))]  # ... and stands for it
        place[chosen] = np.arange(len(chosen))
        return chosen, rows, ptr

    def _round(self, k: int, graphs: IntArray, n_before: int, copies: IntArray) -> BatchRound:
        made, before = self.colouring.rounds[k - 1], self._place[k - 1]
        n_labels, to = len(self.colouring.edge_table), self.device
        chosen, member_rows, member_ptr = self._choose(k, graphs)
        own: SparseMatrix | Identity
        if len(chosen) == n_before:  # no colour split: number them like their parents
            chosen = chosen[np.argsort(before[made.parent[chosen]])]
            self._place[k][chosen] = parent = np.arange(n_before)
            own = Identity()
        else:
            parent = before[made.parent[chosen]]
            own = SparseMatrix.picking(torch.from_numpy(parent).to(to), n_before)
        counts = self.colouring.graph_counts[k]
        place = self._place[k][counts.indices[member_rows]]
        members = SparseMatrix.from_csr(member_ptr, place, counts.data[member_rows], len(chosen), to)
        weights = counts.data[member_rows] * np.repeat(copies, np.diff(member_ptr))
        nodes = torch.from_numpy(np.bincount(place, weights, len(chosen)).astype(np.float32)).to(to)
        rows, ptr = ranges(made.incoming.indptr, chosen)
        message, value = made.incoming.indices[rows].astype(np.int64), made.incoming.data[rows]
        if not self.colouring.edge_table.shape[1]:
            longer = ptr + np.arange(len(ptr))  # a colour's own comes before what it hears
            first = np.zeros(longer[-1], bool)
            first[longer[:-1]] = True
            index, values = np.empty(len(first), np.int64), np.ones(len(first), np.float32)
            index[first], index[~first], values[~first] = parent, before[message], value
            heard = SparseMatrix.from_csr(longer, index, values, n_before, to)
            return BatchRound(own, heard, nodes, members)
        colour, code = np.divmod(message, n_labels)
        distinct, place = np.unique(before[colour] * n_labels + code, return_inverse=True)
        heard = SparseMatrix.from_csr(ptr, place, value, len(distinct), to)
        parts = (torch.from_numpy(part).to(to) for part in np.divmod(distinct, n_labels))
        return BatchRound(own, heard, nodes, members, *parts)


def per_node(ptr: IntArray, n_rounds: int, nodes: bool, device: torch.device) -> dict[str, Any]:
    """What a `Batch` has besides x where every node is its own colour; graph g has nodes ptr[g] ... ."""
    n_nodes, n_graphs = int(ptr[-1]), len(ptr) - 1
    ones, every = np.ones(n_nodes, np.float32), np.arange(n_nodes)
    members = SparseMatrix.from_csr(ptr, every, ones, n_nodes, device)
    round_ = BatchRound(Identity(), Identity(), torch.ones(n_nodes, device=device), members)
    return {
        "rounds": [round_] * n_rounds,
        "sizes": torch.from_numpy(np.diff(ptr)).to(device),
        "copies": torch.ones(n_graphs, device=device),
        "which": torch.arange(n_graphs, device=device),
        "node_colour": torch.arange(n_nodes, device=device) if nodes else None,
        "largest": int(np.diff(ptr).max()),
    }
