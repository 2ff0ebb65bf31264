"""GraphSet: an immutable columnar collection of graphs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.schema import LEVELS, Column, Level, Schema

IntArray = NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Rejected:
    """An input that could not become a graph: its position, the user's id, and what is wrong with it."""

    index: int
    graph_id: str | int
    problem: str


@dataclass(frozen=True, eq=False)
class GraphSet:
    """All graphs in a few arrays. G graphs, N nodes, E arcs.

    Edge policy, the same for every source:
      * an edge is an arc source -> target; a node hears from the sources of its incoming arcs;
      * an undirected edge is two arcs, an undirected self-loop is one;
      * a directed graph keeps its directions (`undirected()` adds what is missing);
      * repeated edges are kept and count with their multiplicity. Only formats that list the entries of an
        adjacency matrix (TU) collapse repeated rows, which are the same entry written twice.

    A contiguous slice is a view; any other selection copies. Nothing here changes in place.

    Attributes:
        node_ptr: (G+1,) graph g has the nodes node_ptr[g] ... node_ptr[g+1] - 1.
        edge_ptr: (G+1,) the same for arcs.
        edges: (2, E) sources and targets, numbered from 0 inside each graph.
        node, edge, graph: columns by name; (N,), (E,) or (G,) codes, texts or single floats, (rows, width)
            floats.
        ids: (G,) the user's ids, integers or strings.
        schema: what the columns mean.
        rejected: inputs that were left out when this set was made with `errors="skip"`.
    """

    node_ptr: IntArray
    edge_ptr: IntArray
    edges: IntArray
    node: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    edge: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    graph: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    ids: NDArray[Any] = field(default_factory=lambda: np.zeros(0, np.int64))
    schema: Schema = field(default_factory=Schema)
    rejected: tuple[Rejected, ...] = ()

    def __len__(self) -> int:
        return len(self.node_ptr) - 1

    @property
    def n_nodes(self) -> int:
        """Nodes in all graphs together."""
        return int(self.node_ptr[-1])

    @property
    def n_edges(self) -> int:
        """Arcs in all graphs together (an undirected edge is two)."""
        return int(self.edge_ptr[-1])

    @property
    def sizes(self) -> IntArray:
        """Nodes per graph. (G,)."""
        return np.diff(self.node_ptr)

    @property
    def node_graph(self) -> IntArray:
        """The graph of every node. (N,)."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @property
    def edge_graph(self) -> IntArray:
        """The graph of every arc. (E,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.edge_ptr))

    @property
    def edge_index(self) -> IntArray:
        """Arcs with nodes numbered through all graphs. (2, E)."""
        offsets = np.repeat(self.node_ptr[:-1], np.diff(self.edge_ptr))
        return np.asarray(self.edges + offsets)

    def __repr__(self) -> str:
        columns = ", ".join(
            f"{level}: {' '.join(column.name for column in getattr(self.schema, level))}"
            for level in LEVELS
            if getattr(self.schema, level)
        )
        counts = f"{len(self):,} graphs, {self.n_nodes:,} nodes, {self.n_edges:,} arcs"
        return f"GraphSet({counts}; {columns or 'no columns'})"

    def __iter__(self) -> Iterator[GraphSet]:
        return (self[index] for index in range(len(self)))

    def __getitem__(self, selection: int | slice | Sequence[int] | NDArray[Any]) -> GraphSet:
        """Some of the graphs, in the order asked for; an integer gives a set of one."""
        if isinstance(selection, int | np.integer):
            index = int(selection) + (len(self) if selection < 0 else 0)
            if not 0 <= index < len(self):
                raise IndexError(f"graph {selection} of a set of {len(self)}")
            selection = slice(index, index + 1)
        if isinstance(selection, slice) and selection.indices(len(self))[2] == 1:
            return self._view(*selection.indices(len(self))[:2])
        return self._gather(np.arange(len(self))[selection])

    def _view(self, start: int, stop: int) -> GraphSet:
        stop = max(start, stop)
        nodes = slice(int(self.node_ptr[start]), int(self.node_ptr[stop]))
        edges = slice(int(self.edge_ptr[start]), int(self.edge_ptr[stop]))
        return replace(
            self,
            node_ptr=self.node_ptr[start : stop + 1] - self.node_ptr[start],
            edge_ptr=self.edge_ptr[start : stop + 1] - self.edge_ptr[start],
            edges=self.edges[:, edges],
            node={name: values[nodes] for name, values in self.node.items()},
            edge={name: values[edges] for name, values in self.edge.items()},
            graph={name: values[start:stop] for name, values in self.graph.items()},
            ids=self.ids[start:stop],
            rejected=(),
        )

    def _gather(self, graphs: IntArray) -> GraphSet:
        node_rows, node_ptr = ranges(self.node_ptr, graphs)
        edge_rows, edge_ptr = ranges(self.edge_ptr, graphs)
        return replace(
            self,
            node_ptr=node_ptr,
            edge_ptr=edge_ptr,
            edges=self.edges[:, edge_rows],
            node={name: values[node_rows] for name, values in self.node.items()},
            edge={name: values[edge_rows] for name, values in self.edge.items()},
            graph={name: values[graphs] for name, values in self.graph.items()},
            ids=self.ids[graphs],
            rejected=(),
        )

    def undirected(self) -> GraphSet:
        """The same graphs with every missing reverse arc added (with its arc's columns)."""
        source, target = self.edge_index
        key, reverse = source * self.n_nodes + target, target * self.n_nodes + source
        missing = np.flatnonzero(~np.isin(reverse, key))
        order = np.argsort(np.concatenate([self.edge_graph, self.edge_graph[missing]]), kind="stable")
        edges = np.hstack([self.edges, self.edges[::-1, missing]])[:, order]
        counts = np.diff(self.edge_ptr) + np.bincount(self.edge_graph[missing], minlength=len(self))
        columns = {name: np.concatenate([v, v[missing]])[order] for name, v in self.edge.items()}
        return replace(self, edges=edges, edge=columns, edge_ptr=pointer(counts))

    def values(self, level: Level, name: str) -> NDArray[Any]:
        """A column as the user knows it: categories instead of codes (None where unknown)."""
        column = self.schema.column(level, name)
        if column is None:
            raise KeyError(name)
        stored = getattr(self, level)[name]
        if column.kind != "categorical":
            return np.asarray(stored)
        table = np.empty(len(column.categories) + 1, dtype=object)
        table[:-1] = column.categories
        table[-1] = None
        return np.asarray(table[stored])

    def with_column(self, level: Level, column: Column, values: NDArray[Any]) -> GraphSet:
        """A copy with one more column, or another in its place."""
        others = tuple(c for c in getattr(self.schema, level) if c.name != column.name)
        changed: dict[str, Any] = {level: {**getattr(self, level), column.name: values}}
        return replace(self, schema=self.schema.replace(level, (*others, column)), **changed)


def pointer(counts: IntArray) -> IntArray:
    """Counts per graph -> where each graph starts. (G,) -> (G+1,)."""
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def ranges(ptr: IntArray, graphs: IntArray) -> tuple[IntArray, IntArray]:
    """Rows of the chosen graphs, one graph after the other, and the pointer into them."""
    first = ptr[graphs]
    counts = ptr[graphs + 1] - first  # not of all graphs: there may be millions
    starts = pointer(counts)
    rows = np.arange(starts[-1]) + np.repeat(first - starts[:-1], counts)
    return rows, starts
