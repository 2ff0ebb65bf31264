"""Who hears whom in a batch of graphs with edge vectors, and the mean of what is heard.

An edge vector is that of a kind (a bond's type, or none) with some continuous values (a distance) behind it.
Its linear features are `[1, values]` in the columns of its kind and zero in those of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from infograph.data.colours import group_rows, node_inputs
from infograph.data.graphset import GraphSet, IntArray, ranges
from infograph.data.schema import Schema
from infograph.nn.batch import Batch, BatchRound, Identity, SparseMatrix

CACHE = 4 << 20  # bytes of spread states per block
MANY = 8  # kinds of edges, beyond which their one-hot inputs are treated like continuous values
SPAN = 1.5  # graphs of up to that many times the nodes of the smallest are padded to one size
Floats = NDArray[np.floating[Any]]


class Links(Protocol):
    """Edges among some places of a batch."""

    @property
    def linear(self) -> Tensor:
        """(..., R) linear features of every edge."""
        ...

    @property
    def n_places(self) -> int:
        """Places they are among."""
        ...

    def to(self, target: torch.device | torch.dtype) -> Links:
        """On another device, or of another type."""
        ...

    def gather(self, features: EdgeFeatures, states: Tensor, weights: Tensor) -> Tensor:
        """The mean over edges v -> u of `sum_k features[uv, k] W_k states[v]`. (P, D), (D, K D) -> (P, D)."""
        ...


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
        """On another device, or of another type."""
        return PairLinks(self.linear.to(target), self.counts.to(target))

    def gather(self, features: EdgeFeatures, states: Tensor, weights: Tensor) -> Tensor:
        """Two matrix products per block of graphs."""
        heard = _GatherPairs.apply(features.joined, features.switched, states, weights)  # type: ignore[no-untyped-call]
        return cast(Tensor, (heard / self.counts).view(self.n_places, -1))


@dataclass(frozen=True)
class ArcLinks:
    """The arcs that graphs have, however many and however often repeated."""

    linear: Tensor  # (E, R)
    counts: Tensor  # (P, 1) arcs that a node hears, at least 1
    source: Tensor  # (E,)
    target: Tensor  # (E,)
    n_places: int

    def to(self, target: torch.device | torch.dtype) -> ArcLinks:
        """On another device, or of another type."""
        linear, counts = self.linear.to(target), self.counts.to(target)
        if isinstance(target, torch.dtype):
            return ArcLinks(linear, counts, self.source, self.target, self.n_places)
        return ArcLinks(linear, counts, self.source.to(target), self.target.to(target), self.n_places)

    def gather(self, features: EdgeFeatures, states: Tensor, weights: Tensor) -> Tensor:
        """One feature after the other, so that memory for all arcs is needed once."""
        everything = torch.cat([features.linear, features.switched], -1)  # (E, K)
        heard = _GatherArcs.apply(everything, states @ weights, self)  # type: ignore[no-untyped-call]
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
    """Slices of graphs whose spread states fit into the cache."""
    n_graphs, n, _, _ = features.shape
    size = max(1, CACHE // (n * weights.shape[1] * weights.element_size()))
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
    """The kinds of edges in a batch, and the range of their continuous values.

    Attributes:
        table: (T, F_k) the part of the edge vector that a kind fixes.
        low, high: (T, F_v) least and largest continuous values among its edges; 0 where there are none.
    """

    table: Tensor
    low: Tensor
    high: Tensor


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


@dataclass(frozen=True)
class Arcs:
    """The arcs of some graphs, E of them: ends, kinds and continuous values."""

    source: IntArray  # (E,)
    target: IntArray  # (E,)
    kind: IntArray  # (E,)
    values: Floats  # (E, F_v)


@dataclass(frozen=True)
class Span:
    """The range of the continuous values of every kind of edge, (T, F_v) each; infinite where it has none."""

    low: Floats
    high: Floats

    @classmethod
    def nothing(cls, n_kinds: int, n_values: int) -> Span:
        """The range of no edges."""
        return cls(np.full((n_kinds, n_values), np.inf), np.full((n_kinds, n_values), -np.inf))

    @classmethod
    def of(cls, kind: IntArray, values: Floats, n_kinds: int) -> Span:
        """Kinds (E,) and values (E, F_v) of edges; what has a negative kind does not count."""
        low, high = np.empty((2, n_kinds, values.shape[1]))
        for code in range(n_kinds):
            own = values[kind == code]
            low[code], high[code] = own.min(axis=0, initial=np.inf), own.max(axis=0, initial=-np.inf)
        return cls(low, high)

    def __or__(self, other: Span) -> Span:
        return Span(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def finite(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Low and high, 0 where there is no edge."""
        low, high = (
            np.where(np.isfinite(ends), ends, 0).astype(np.float32) for ends in (self.low, self.high)
        )
        return low, high


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


def arc_links(arcs: Arcs, n_kinds: int, n_nodes: int) -> tuple[ArcLinks, Span]:
    """Nodes, numbered through all graphs, hear the sources of the arcs that lead to them."""
    counts = torch.from_numpy(np.bincount(arcs.target, minlength=n_nodes)).clamp(min=1).float()
    linear = torch.from_numpy(_linear(arcs.kind, arcs.values, n_kinds))
    source, target = (torch.from_numpy(end.astype(np.int64)) for end in (arcs.source, arcs.target))
    links = ArcLinks(linear, counts[:, None], source, target, n_nodes)
    return links, Span.of(arcs.kind, arcs.values, n_kinds)


def pair_links(
    positions: Floats, sizes: IntArray, arcs: Arcs, arc_graph: IntArray, n_kinds: int
) -> tuple[PairLinks, Span]:
    """Nodes hear all others of their graph: kind 0 where no arc joins them, their distance as the last value.

    Args:
        positions: (N, dimensions of space).
        sizes: (G,) nodes per graph.
        arcs: numbered inside their graph. Self-loops do not count; of repeated arcs the last one does.
        arc_graph: (E,) the graph of every arc.
        n_kinds: T, kind 0 included.
    """
    n = int(sizes.max())
    real = np.arange(n) < sizes[:, None]  # (G, n)
    padded = np.zeros((len(sizes), n, positions.shape[1]), np.float32)
    padded[real] = positions
    values = np.zeros((len(sizes), n, n, arcs.values.shape[1] + 1), np.float32)
    values[..., -1] = np.sqrt(((padded[:, :, None] - padded[:, None]) ** 2).sum(axis=-1))
    kind = np.where(real[:, :, None] & real[:, None], 0, -1)  # (G, n, n)
    where = (arc_graph, arcs.target, arcs.source)
    kind[where] = arcs.kind
    values[(*where, slice(-1))] = arcs.values
    kind[:, np.arange(n), np.arange(n)] = -1
    counts = torch.from_numpy(np.maximum(sizes - 1, 1)).float()
    flat = values.reshape(-1, values.shape[-1])
    linear = torch.from_numpy(_linear(kind.ravel(), flat, n_kinds)).view(len(sizes), n, n, -1)
    return PairLinks(linear, counts[:, None, None]), Span.of(kind.ravel(), flat, n_kinds)


def _linear(kind: IntArray, values: Floats, n_kinds: int) -> NDArray[np.float32]:
    """`[1, values]` in the columns of the edge's kind, zero for a negative kind. (E, T (1 + F_v))."""
    width = values.shape[1] + 1
    linear = np.zeros((len(kind) * n_kinds, width), np.float32)
    edges = np.flatnonzero(kind >= 0)
    rows = edges * n_kinds + kind[edges]
    linear[rows, 0] = 1
    linear[rows, 1:] = values[edges]
    return linear.reshape(len(kind), n_kinds * width)


@dataclass(frozen=True)
class EdgeFeatures:
    """What the matrices are added up with: R linear features, which are data, and M switching units."""

    linear: Tensor  # (..., R)
    switched: Tensor  # (..., M)

    @cached_property
    def joined(self) -> Tensor:
        """All of them, without a gradient. (..., R + M)."""
        return torch.cat([self.linear, self.switched.detach()], -1)
