"""LinkBatch: graphs with edge vectors, laid out for messages between all pairs of nodes or along arcs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from infograph.data.colours import group_rows, node_inputs
from infograph.data.graphset import GraphSet, IntArray, ranges
from infograph.data.schema import Schema
from infograph.nn.batch import Batch, BatchRound
from infograph.nn.edge_network import Kinds
from infograph.nn.layout import Arcs, Span, arc_links, buckets, pair_links
from infograph.nn.links import Links
from infograph.nn.sparse import Identity, SparseMatrix

MANY = 8  # kinds of edges, beyond which their one-hot inputs are treated like continuous values


@dataclass(frozen=True, kw_only=True)
class LinkBatch(Batch):
    """Graphs by places: P of them, of which N hold a node; x is (P, F), zero where there is none.

    Attributes:
        kinds: the kinds of edges and the range of their values.
        links: edges among consecutive places.
        place: (N,) the place of every node, graph by graph as asked for; None where places are nodes.
        graph: (N,) the graph of every node.
    """

    kinds: Kinds
    links: Sequence[Links]
    place: Tensor | None
    graph: Tensor

    def of_nodes(self, states: Tensor) -> Tensor:
        """States by place -> states by node. (P, D) -> (N, D)."""
        return states if self.place is None else states.index_select(0, self.place)

    def to(self, dtype: torch.dtype) -> LinkBatch:
        """The batch with floats of that type."""
        if self.x.dtype == dtype:
            return self
        kinds = Kinds(*(part.to(dtype) for part in (self.kinds.table, self.kinds.low, self.kinds.high)))
        return replace(self, x=self.x.to(dtype), kinds=kinds, links=[part.to(dtype) for part in self.links])


def link_width(schema: Schema) -> int:
    """Inputs per edge that a `LinkBatcher` gives an encoder: the edge columns, and the distance."""
    position = schema.position
    return sum(c.encoded_width for c in schema.features("edge")) + int(position is not None and position.used)


class LinkBatcher:
    """Cuts batches out of a GraphSet.

    Where nodes have positions, every node hears every other node of its graph, and the edge vector is that of
    the edge between them (zero where there is none) with their distance behind it, in the positions' unit.
    Otherwise nodes hear along arcs, and the edge vector holds the edge columns.

    Args:
        graphs: the graphs.
        steps: how often messages are passed.
        node_features: "auto" (the node columns, a constant where there are none), "constant", or "degree".
        device: where batches are needed.

    Attributes:
        sizes: (G,) nodes per graph.
        loads, costs: (G,) what a graph costs in a batch: its edges.
        most: what a batch without gradients may cost.
    """

    most = 150_000

    def __init__(
        self, graphs: GraphSet, steps: int, node_features: str = "auto", device: torch.device | None = None
    ) -> None:
        self.graphs, self.steps, self.device = graphs, steps, device or torch.device("cpu")
        self._input, self._table = node_inputs(graphs, node_features)
        position = graphs.schema.position
        self._positions = graphs.node[position.name] if position and position.used else None
        if self._positions is not None and self._positions.ndim == 1:
            self._positions = self._positions[:, None]  # a line is a space, too
        degrees = np.diff(graphs.edge_ptr)
        self.loads = graphs.sizes + degrees if self._positions is None else graphs.sizes**2
        self.sizes, self.costs = graphs.sizes, self.loads
        self._kind, self._kinds, self._values = _edge_inputs(graphs, pairs=self._positions is not None)

    def batch(self, graphs: IntArray, *, nodes: bool = False) -> LinkBatch:
        """The batch of `graphs`, positions in the GraphSet; with `nodes` it can be asked about each node."""
        graphs = np.asarray(graphs)
        rows, ptr = ranges(self.graphs.node_ptr, graphs)
        x, n, sizes = self._table[self._input[rows]], len(rows), np.diff(ptr)
        links: Sequence[Links]
        place: IntArray | None = None
        if self._positions is None:
            arcs, graph = self._arcs(graphs)
            arcs = replace(arcs, source=arcs.source + ptr[graph], target=arcs.target + ptr[graph])
            only, span = arc_links(arcs, len(self._kinds), n)
            links = [only]
        else:
            place, links, span = self._pairs(self._positions, graphs, ptr)
            x, nodes_only = np.zeros((sum(part.n_places for part in links), x.shape[1]), np.float32), x
            x[place] = nodes_only
        to, (low, high) = self._tensor, span.finite()
        members = SparseMatrix.from_csr(ptr, np.arange(n), np.ones(n, np.float32), n).to(self.device)
        round_ = BatchRound(Identity(), Identity(), torch.ones(n, device=self.device), members)
        return LinkBatch(
            x=to(x),
            rounds=[round_] * self.steps,
            sizes=to(sizes),
            copies=torch.ones(len(graphs), device=self.device),
            which=torch.arange(len(graphs), device=self.device),
            node_colour=torch.arange(n, device=self.device) if nodes else None,
            kinds=Kinds(to(self._kinds), to(low), to(high)),
            links=[part.to(self.device) for part in links],
            place=None if place is None else to(place),
            graph=to(np.repeat(np.arange(len(graphs)), sizes)),
        )

    def _arcs(self, graphs: IntArray) -> tuple[Arcs, IntArray]:
        """The arcs of some graphs, numbered inside them, and the graph of each."""
        rows, ptr = ranges(self.graphs.edge_ptr, graphs)
        source, target = self.graphs.edges[:, rows]
        arcs = Arcs(source, target, self._kind[rows], self._values[rows])
        return arcs, np.repeat(np.arange(len(graphs)), np.diff(ptr))

    def _pairs(
        self, positions: NDArray[Any], graphs: IntArray, ptr: IntArray
    ) -> tuple[IntArray, Sequence[Links], Span]:
        """The place of every node, and links between all pairs, bucket after bucket."""
        sizes, n_kinds, links = np.diff(ptr), len(self._kinds), []
        place, first, span = np.empty(ptr[-1], np.int64), 0, Span.nothing(n_kinds, self._values.shape[1] + 1)
        for chosen in buckets(sizes):
            nodes, starts = ranges(ptr, chosen)
            rows, _ = ranges(self.graphs.node_ptr, graphs[chosen])
            pairs, own = pair_links(positions[rows], sizes[chosen], *self._arcs(graphs[chosen]), n_kinds)
            width = pairs.linear.shape[1]
            gaps = np.arange(len(chosen)) * width - starts[:-1]  # from the node's rank to its place
            place[nodes] = first + np.arange(len(nodes)) + np.repeat(gaps, sizes[chosen])
            first += pairs.n_places
            links.append(pairs)
            span = span | own
        return place, links, span

    def _tensor(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self.device)


def _edge_inputs(
    graphs: GraphSet, *, pairs: bool
) -> tuple[IntArray, NDArray[np.float32], NDArray[np.float32]]:
    """Kind (E,) and continuous values (E, F_v) of every arc, and the inputs (T, F_k) that a kind stands for.

    Where all pairs are joined, kind 0 stands for pairs without an arc.
    """
    columns = graphs.schema.features("edge")
    fixed = [column for column in columns if column.kind == "categorical"]
    floats = [column for column in columns if column.kind == "float"]
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


def _side_by_side(parts: list[NDArray[np.float32]], n_rows: int) -> NDArray[np.float32]:
    return np.hstack([np.zeros((n_rows, 0), np.float32), *parts])
