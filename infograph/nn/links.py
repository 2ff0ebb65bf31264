"""Who hears whom in a batch of graphs whose edges have vectors.

The vector of an edge is that of its kind (a bond's type, or none) with some continuous values (a distance)
behind it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from infograph.data.colours import dense, group_rows, node_inputs
from infograph.data.graphset import GraphSet, IntArray, pointer, ranges
from infograph.data.schema import Schema
from infograph.nn.batch import Batch, per_node

MANY = 64  # kinds of edges, beyond which their one-hot inputs are treated like continuous values
KINDS = ("categorical", "float")  # of edge columns, in the order of their inputs
Floats = NDArray[np.float32]


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
