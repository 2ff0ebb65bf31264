"""Who hears whom in a batch of graphs with edge vectors, and the mean of what is heard.

An edge vector is that of a kind (a bond's type, or none) with some continuous values (a distance) behind it.
Its linear features are `[1, values]` in the columns of its kind and zero in those of the others. Behind these
R come M hidden units of the edge network, those that are on for some edges only: K = R + M features.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from infograph.data.colours import dense, group_rows, node_inputs
from infograph.data.graphset import GraphSet, IntArray, ranges
from infograph.data.schema import Schema
from infograph.nn.batch import Batch, per_node

CACHE = 4 << 20  # bytes of spread states per block
MANY = 8  # kinds of edges, beyond which their one-hot inputs are treated like continuous values
SPAN = 1.5  # graphs of up to that many times the nodes of the smallest are padded to one size
Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class PairLinks:
    """All pairs of nodes inside each of B graphs, padded to n places; no edge leads to or from padding."""

    linear: Tensor  # (B, n, n, R): target, source
    counts: Tensor  # (B, 1, 1) edges that a node hears

    @property
    def n_places(self) -> int:
        """B * n."""
        return self.linear.shape[0] * self.linear.shape[1]

    def to(self, target: torch.device | torch.dtype) -> PairLinks:
        return PairLinks(self.linear.to(target), self.counts.to(target))

    def features(self, switching: Tensor) -> tuple[Tensor, ...]:
        """All features without a gradient (B, n, n, K), and the switching ones with theirs (B, n, n, M)."""
        switched = torch.relu_(self.linear @ switching)
        return torch.cat([self.linear, switched.detach()], -1), switched

    def gather(self, features: tuple[Tensor, ...], states: Tensor, weights: Tensor) -> Tensor:
        """The mean over edges v -> u of `sum_k features[uv, k] W_k states[v]`. (P, D), (D, K D) -> (P, D)."""
        heard = _GatherPairs.apply(*features, states, weights)  # type: ignore[no-untyped-call]
        return cast(Tensor, (heard / self.counts).view(self.n_places, -1))


@dataclass(frozen=True)
class ArcLinks:
    """The arcs that graphs have, however many and however often repeated; same methods as `PairLinks`."""

    linear: Tensor  # (E, R)
    counts: Tensor  # (P, 1) arcs that a node hears, at least 1
    source: Tensor  # (E,)
    target: Tensor  # (E,)

    @property
    def n_places(self) -> int:
        """P."""
        return len(self.counts)

    def to(self, target: torch.device | torch.dtype) -> ArcLinks:
        ends = (self.source, self.target)
        ends = ends if isinstance(target, torch.dtype) else (ends[0].to(target), ends[1].to(target))
        return ArcLinks(self.linear.to(target), self.counts.to(target), *ends)

    def features(self, switching: Tensor) -> tuple[Tensor, ...]:
        """All features. (E, K)."""
        return (torch.cat([self.linear, torch.relu_(self.linear @ switching)], -1),)

    def gather(self, features: tuple[Tensor, ...], states: Tensor, weights: Tensor) -> Tensor:
        """One feature after the other, so that memory for all arcs is needed once."""
        heard = _GatherArcs.apply(*features, states @ weights, self)  # type: ignore[no-untyped-call]
        return cast(Tensor, heard / self.counts)


class _GatherPairs(torch.autograd.Function):
    """`features @ (states @ weights)` per graph, B graphs of n places, some graphs at a time.

    The product in brackets is large, P x K D, and would be written to memory and read again; that of a block
    stays in the cache. It is computed once more on the way back, which is quicker than keeping it.
    """

    @staticmethod
    def forward(ctx: Any, features: Tensor, switched: Tensor, states: Tensor, weights: Tensor) -> Tensor:
        n_graphs, n, _, _ = features.shape
        heard = states.new_empty(n_graphs, n, states.shape[1])
        for block in _blocks(features, weights):
            rows = slice(block.start * n, block.stop * n)
            spread = (states[rows] @ weights).view(block.stop - block.start, -1, states.shape[1])
            torch.bmm(features[block].flatten(2), spread, out=heard[block])
        ctx.save_for_backward(features, switched, states, weights)
        return heard

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor | None, Tensor, Tensor]:
        features, switched, states, weights = ctx.saved_tensors
        (_, n, _, n_features), dim = features.shape, states.shape[1]
        to_switched = torch.empty_like(switched) if ctx.needs_input_grad[1] else None
        to_states, to_weights = torch.empty_like(states), torch.zeros_like(weights)
        switching = weights[:, (n_features - switched.shape[-1]) * dim :]  # (D, M D)
        for block in _blocks(features, weights):
            rows, size = slice(block.start * n, block.stop * n), block.stop - block.start
            arriving = gradient[block]  # (b, n, D)
            to_spread = torch.bmm(features[block].flatten(2).mT, arriving).view(size * n, -1)  # (b n, K D)
            torch.mm(to_spread, weights.T, out=to_states[rows])
            to_weights.addmm_(states[rows].T, to_spread)
            if to_switched is not None:
                spread = (states[rows] @ switching).view(size, -1, dim)
                to_switched[block] = torch.bmm(arriving, spread.mT).view_as(to_switched[block])
        return None, to_switched, to_states, to_weights


def _blocks(features: Tensor, weights: Tensor) -> Iterator[slice]:
    """Slices of graphs whose spread states fit into the cache of a processor, or some hundred megabytes."""
    n_graphs, n, _, _ = features.shape
    room = CACHE if features.device.type == "cpu" else 2**28
    size = max(1, room // (n * weights.shape[1] * weights.element_size()))
    return (slice(start, min(start + size, n_graphs)) for start in range(0, n_graphs, size))


class _GatherArcs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, features: Tensor, spread: Tensor, links: ArcLinks) -> Tensor:
        parts = spread.view(len(spread), features.shape[1], -1)  # (P, K, D)
        heard = spread.new_zeros(links.n_places, parts.shape[2])
        for k, feature in enumerate(features.T):
            heard.index_add_(0, links.target, parts[links.source, k] * feature[:, None])
        ctx.save_for_backward(features, spread)
        ctx.links = links
        return heard

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        (features, spread), links = ctx.saved_tensors, ctx.links
        parts = spread.view(len(spread), features.shape[1], -1)
        to_features, to_parts = torch.empty_like(features), torch.zeros_like(parts)
        arriving = gradient[links.target]  # (E, D)
        for k, feature in enumerate(features.T):
            to_features[:, k] = (arriving * parts[links.source, k]).sum(1)
            to_parts[:, k].index_add_(0, links.source, arriving * feature[:, None])
        return to_features, to_parts.view_as(spread), None


@dataclass(frozen=True)
class Kinds:
    """The kinds of edges in a batch, and the range of their continuous values, 0 where there are none."""

    table: Tensor  # (T, F_k) the part of the edge vector that a kind fixes
    low: Tensor  # (T, F_v)
    high: Tensor  # (T, F_v)


@dataclass(frozen=True, kw_only=True)
class LinkBatch(Batch):
    """Graphs by places: P of them, of which N hold a node; x is (P, F), zero where there is none."""

    kinds: Kinds
    links: Sequence[PairLinks | ArcLinks]  # edges among consecutive places
    place: Tensor | None  # (N,) of every node, graph by graph as asked for; None where places are nodes

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
    """Cuts batches out of a GraphSet; `sizes`, `loads`, `costs` and `most` as for `Batcher`, by edges.

    Where nodes have positions, every node hears every other node of its graph, and the edge vector is that of
    the edge between them (zero where there is none) with their distance behind it, in the positions' unit.
    Otherwise nodes hear along arcs, and the edge vector holds the edge columns.
    """

    most = 150_000

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
        x = self._table[self._input[rows]]
        links: Sequence[PairLinks | ArcLinks]
        if self._positions is None:
            links, ends = self._arc_links(graphs, ptr)
            place = None
        else:
            place, links, ends = self._pair_links(self._positions, graphs, ptr)
            x, of_nodes = np.zeros((sum(part.n_places for part in links), x.shape[1]), np.float32), x
            x[place] = of_nodes
        low, high = np.where(np.isfinite(ends), ends, 0).astype(np.float32)
        return LinkBatch(
            **per_node(ptr, self.steps, nodes, self.device),
            x=self._tensor(x),
            kinds=Kinds(self._tensor(self._kinds), self._tensor(low), self._tensor(-high)),
            links=[part.to(self.device) for part in links],
            place=None if place is None else self._tensor(place),
        )

    def _arcs(self, graphs: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Positions of the arcs of some graphs, their ends (2, E) in them, and the graph of each."""
        rows, ptr = ranges(self.graphs.edge_ptr, graphs)
        return rows, self.graphs.edges[:, rows], np.repeat(np.arange(len(graphs)), np.diff(ptr))

    def _arc_links(self, graphs: IntArray, ptr: IntArray) -> tuple[Sequence[ArcLinks], Floats]:
        """Nodes hear the sources of the arcs that lead to them."""
        rows, ends, graph = self._arcs(graphs)
        source, target = (torch.from_numpy((end + ptr[graph]).astype(np.int64)) for end in ends)
        counts = torch.bincount(target, minlength=int(ptr[-1])).clamp(min=1).float()
        linear, spans = _linear(self._kind[rows], self._values[rows], len(self._kinds))
        return [ArcLinks(torch.from_numpy(linear), counts[:, None], source, target)], spans

    def _pair_links(
        self, positions: Floats, graphs: IntArray, ptr: IntArray
    ) -> tuple[IntArray, Sequence[PairLinks], Floats]:
        """The place of every node, and links between all pairs, bucket after bucket.

        Kind 0 stands where no arc joins two nodes; their distance is the last value. Self-loops do not count;
        of repeated arcs the last one does.
        """
        place, links, spans, first = np.empty(ptr[-1], np.int64), [], [], 0
        for chosen in buckets(np.diff(ptr)):
            sizes, (nodes, starts) = np.diff(ptr)[chosen], ranges(ptr, chosen)
            n = int(sizes.max())
            real = np.arange(n) < sizes[:, None]  # (G, n)
            padded = np.zeros((len(sizes), n, positions.shape[1]), np.float32)
            padded[real] = positions[ranges(self.graphs.node_ptr, graphs[chosen])[0]]
            values = np.zeros((len(sizes), n, n, self._values.shape[1] + 1), np.float32)
            values[..., -1] = np.sqrt(((padded[:, :, None] - padded[:, None]) ** 2).sum(axis=-1))
            kind = np.where(real[:, :, None] & real[:, None], 0, -1)  # (G, n, n)
            rows, (source, target), graph = self._arcs(graphs[chosen])
            kind[graph, target, source] = self._kind[rows]
            values[graph, target, source, :-1] = self._values[rows]
            kind[:, np.arange(n), np.arange(n)] = -1
            linear, span = _linear(kind.ravel(), values.reshape(-1, values.shape[-1]), len(self._kinds))
            counts = torch.from_numpy(np.maximum(sizes - 1, 1)).float()[:, None, None]
            links.append(PairLinks(torch.from_numpy(linear).view(len(sizes), n, n, -1), counts))
            spans.append(span)
            gaps = np.arange(len(sizes)) * n - starts[:-1]  # from the node's rank to its place
            place[nodes] = first + np.arange(len(nodes)) + np.repeat(gaps, sizes)
            first += len(sizes) * n
        return place, links, np.min(spans, axis=0)

    def _tensor(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(array).to(self.device)


def _edge_inputs(
    graphs: GraphSet, *, pairs: bool
) -> tuple[IntArray, NDArray[np.float32], NDArray[np.float32]]:
    """Kind (E,) of every arc, the inputs (T, F_k) that a kind stands for, and continuous values (E, F_v).

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


def buckets(sizes: IntArray) -> list[IntArray]:
    """Graphs of similar size together: positions in `sizes`, a list per bucket."""
    order = np.argsort(sizes, kind="stable")
    cuts: list[int] = []
    smallest = 0
    for place, size in enumerate(sizes[order].tolist()):
        if place == 0 or size > SPAN * smallest:
            cuts.append(place)
            smallest = size
    return np.split(order, cuts[1:])


def _linear(kind: IntArray, values: Floats, n_kinds: int) -> tuple[NDArray[np.float32], Floats]:
    """`[1, values]` in the columns of the edge's kind, zero for a negative kind (E, T (1 + F_v)).

    And the least values of every kind and the largest ones, negative: (2, T, F_v), infinite for no edges.
    """
    width = values.shape[1] + 1
    linear = np.zeros((len(kind) * n_kinds, width), np.float32)
    edges = np.flatnonzero(kind >= 0)
    rows = edges * n_kinds + kind[edges]
    linear[rows, 0] = 1
    linear[rows, 1:] = values[edges]
    spans = np.empty((2, n_kinds, width - 1))
    for code in range(n_kinds):
        own = values[kind == code]
        spans[:, code] = own.min(axis=0, initial=np.inf), -own.max(axis=0, initial=-np.inf)
    return linear.reshape(len(kind), n_kinds * width), spans
