"""Edges with their linear features (see `links`): along arcs, or between all nodes of padded graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from infograph.data.graphset import IntArray
from infograph.nn.links import ArcLinks, PairLinks

SPAN = 1.5  # graphs of up to that many times the nodes of the smallest are padded to one size
Floats = NDArray[np.floating[Any]]


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
