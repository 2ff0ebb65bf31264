"""GraphSet: an immutable columnar collection of graphs; saved, opened, joined, fingerprinted."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.schema import LEVELS, Column, Level, Schema
from infograph.errors import InvalidFile, InvalidParameter
from infograph.io import FolderKind, checksums, described, listed_arrays, open_arrays, replaced_folder
from infograph.notebook import MOST_NAMES, MOST_NODES, as_html, drawn, some

IntArray = NDArray[np.integer[Any]]
ROWS = 1_000_000  # in memory at a time
BLOCK = 10_000  # texts that stay in the cache of a processor
POSITIONS = ("pos", "position")  # as networkx's layouts and PyG call coordinates
FORMAT = "infograph-graphset-1"
MARKER = "schema.json"
SHOWN = 4  # graphs that a notebook draws
AGAIN = "save the GraphSet again"
SURROGATE = re.compile("[\ud800-\udfff]")
HALF = "half a character (a lone surrogate such as \\ud800), which no file can hold: replace it"
GRAPHSET = FolderKind("a GraphSet", MARKER, FORMAT, listed_arrays)


@dataclass(frozen=True)
class Rejected:
    """An input that could not become a graph: its position, the user's id, and what is wrong with it."""

    index: int
    graph_id: str | int
    problem: str

    def __post_init__(self) -> None:
        """What is rejected is written to files and pages, so half a character stands there as its code."""
        if half_characters((self.graph_id, self.problem)):
            for name, text in (("graph_id", str(self.graph_id)), ("problem", self.problem)):
                object.__setattr__(self, name, text.encode(errors="backslashreplace").decode())


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

    def __post_init__(self) -> None:
        """A graph without a label has NaN, whoever made the column, so that it is of no class anywhere."""
        for column in self.schema.graph:
            codes = self.graph.get(column.name)
            if column.kind == "categorical" and codes is not None:
                unknown = codes == column.unknown
                if unknown.any():
                    known = {**self.graph, column.name: np.where(unknown, np.nan, codes)}
                    object.__setattr__(self, "graph", known)

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

    def _repr_html_(self) -> str:
        facts: dict[str, object] = {"nodes per graph": _span(self.sizes)}
        facts["arcs per graph"] = _span(np.diff(self.edge_ptr))
        facts |= {"left out": f"{len(self.rejected):,}"} if self.rejected else {}
        columns = [
            (level, column.name, column, self._summary(column) if level == "graph" else "")
            for level in LEVELS
            for column in getattr(self.schema, level)
        ]
        first = np.flatnonzero(self.sizes <= MOST_NODES)[:SHOWN].tolist()
        return as_html(
            f"{len(self):,} {'graph' if len(self) == 1 else 'graphs'}",
            facts,
            drawings=zip((str(self.ids[row]) for row in first), drawn(self, first), strict=True),
            tables=[(("level", "column", "holds", "values"), columns)] if columns else (),
            notes=[f"left out, {item.graph_id}: {item.problem}" for item in self.rejected[:3]],
        )

    def _summary(self, column: Column) -> str:
        """What the values of a graph column are: classes and how many each has, or the range of numbers."""
        from infograph.data.labels import count_classes, is_known

        values = self.values("graph", column.name)
        if column.kind == "text" or column.width > 1:
            return some(values[: MOST_NAMES // 2].tolist()) if column.kind == "text" else ""
        known = is_known(values)
        missing = f"; {np.count_nonzero(~known):,} missing" if not known.all() else ""
        if column.kind == "categorical":
            return some([f"{name} ({count:,})" for name, count in count_classes(values)]) + missing
        return _span(values[known]) + missing

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
            start, stop, _ = selection.indices(len(self))
            graphs: Any = slice(start, max(start, stop))
            own = slice(start, graphs.stop + 1)
            node_ptr, edge_ptr = self.node_ptr[own], self.edge_ptr[own]
            nodes: Any = slice(int(node_ptr[0]), int(node_ptr[-1]))
            edges: Any = slice(int(edge_ptr[0]), int(edge_ptr[-1]))
            node_ptr, edge_ptr = node_ptr - node_ptr[0], edge_ptr - edge_ptr[0]
        else:
            graphs = np.arange(len(self))[selection]
            nodes, node_ptr = ranges(self.node_ptr, graphs)
            edges, edge_ptr = ranges(self.edge_ptr, graphs)
        return replace(
            self,
            node_ptr=node_ptr,
            edge_ptr=edge_ptr,
            edges=self.edges[:, edges],
            node={name: values[nodes] for name, values in self.node.items()},
            edge={name: values[edges] for name, values in self.edge.items()},
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
        return np.asarray(table[column.codes(stored)])

    def with_column(self, level: Level, column: Column, values: NDArray[Any]) -> GraphSet:
        """A copy with one more column, or another in its place."""
        others = tuple(c for c in getattr(self.schema, level) if c.name != column.name)
        changed: dict[str, Any] = {level: {**getattr(self, level), column.name: values}}
        return replace(self, schema=self.schema.replace(level, (*others, column)), **changed)


def _span(values: NDArray[Any]) -> str:
    """The range of some numbers and their median."""
    if not len(values):
        return "none"
    low, middle, high = (f"{value:.4g}" for value in np.quantile(values, [0, 0.5, 1]).tolist())
    return low if low == high else f"{low} to {high}, median {middle}"


def half_characters(values: Iterable[object]) -> bool:
    """Whether a text among some values holds a lone surrogate."""
    text = "".join(value for value in values if isinstance(value, str))
    return not text.isascii() and SURROGATE.search(text) is not None


def check_texts(columns: Mapping[str, NDArray[Any]]) -> None:
    """Refuse columns, by name, whose name or texts no file and no page can hold."""
    for name, values in columns.items():
        if values.dtype.kind == "U" and values.dtype.itemsize:  # a tenth of the time of Python's texts
            parts = (values[start : start + BLOCK] for start in range(0, len(values), BLOCK))
            codes = (
                np.ascontiguousarray(part, part.dtype.newbyteorder("=")).view(np.uint32) for part in parts
            )
            bad = any((part >> 11 == 0xD800 >> 11).any() for part in codes)
        else:
            bad = values.dtype.kind == "O" and half_characters(values.flat)
        if bad or half_characters([name]):
            raise InvalidParameter(f"{name!r} holds {HALF}")


def _check_graph_texts(graphs: GraphSet) -> None:
    """Refuse such ids, names, categories and graph texts."""
    for level in LEVELS:
        for column in getattr(graphs.schema, level):
            check_texts({column.name: np.array([*column.categories, column.unit], object)})
    check_texts({"ids": graphs.ids})
    check_texts(graphs.graph)


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


def fingerprint(graphs: GraphSet) -> str:
    """A checksum of what encoders learn from: sizes, arcs, and the node and edge columns in use."""
    digest = hashlib.sha256()

    def update(values: NDArray[Any], dtype: Any = None) -> None:
        for start in range(0, len(values), ROWS):  # it may be a memory map of more than fits into memory
            digest.update(np.ascontiguousarray(values[start : start + ROWS], dtype=dtype).data)

    for pointers in (graphs.node_ptr, graphs.edge_ptr, *graphs.edges):
        update(pointers, np.int64)
    for stored, columns in ((graphs.node, graphs.schema.node), (graphs.edge, graphs.schema.edge)):
        for column in columns:
            if column.used:
                kind = "categorical" if column.categories else "float"
                role = "position" if column.kind == "float" and column.name in POSITIONS else "feature"
                unusual = [own for own, usual in ((column.kind, kind), (column.role, role)) if own != usual]
                words = " ".join([column.name, str(column.categories), *unusual])  # so that checksums last
                digest.update(words.encode(errors="surrogatepass"))
                update(stored[column.name])
    return digest.hexdigest()[:16]


def save_graphs(graphs: GraphSet, folder: str | Path) -> Path:
    """Write `graphs` to `folder`; it appears whole or not at all, and replaces an older one."""
    _check_graph_texts(graphs)
    arrays = {name: getattr(graphs, name) for name in ("node_ptr", "edge_ptr", "edges", "ids")}
    for level in LEVELS:
        for position, column in enumerate(getattr(graphs.schema, level)):
            arrays[f"{level}_{position}"] = getattr(graphs, level)[column.name]
    with replaced_folder(folder, GRAPHSET) as work:
        for name, values in arrays.items():
            np.save(work / f"{name}.npy", np.ascontiguousarray(values), allow_pickle=False)
        mark_graphs(work, graphs.schema, {name: list(values.shape) for name, values in arrays.items()})
    return Path(folder)


def mark_graphs(folder: Path, schema: Schema, shapes: Mapping[str, list[int]]) -> None:
    """Write the marker file of a GraphSet whose arrays are written."""
    content = {"format": FORMAT, "schema": schema.to_dict(), "arrays": dict(shapes)}
    content["sha256"] = checksums(folder, shapes)
    (folder / MARKER).write_text(json.dumps(content, indent=1))


def open_graphs(folder: str | Path) -> GraphSet:
    """Open a saved GraphSet as a memory map.

    What was changed since is refused. Arrays of up to 64 MB are compared with their checksums; pointers, arcs
    and codes of any size have to be in range. A gigabyte in the cache of the system takes half a second.
    """
    folder = Path(folder)
    with described(folder / MARKER, FORMAT, "a saved GraphSet", AGAIN) as content:
        schema = Schema.from_dict(content["schema"])
        arrays = open_arrays(folder, content["arrays"], AGAIN, content.get("sha256"))
        _check_ranges(folder, schema, arrays)
        columns: dict[str, Any] = {}
        for level in LEVELS:
            names = enumerate(column.name for column in getattr(schema, level))
            columns[level] = {name: arrays[f"{level}_{position}"] for position, name in names}
        graphs = GraphSet(
            node_ptr=np.array(arrays["node_ptr"]),  # a memory map is slow to index one by one
            edge_ptr=np.array(arrays["edge_ptr"]),
            edges=arrays["edges"],
            ids=arrays["ids"],
            schema=schema,
            **columns,
        )
        try:
            _check_graph_texts(graphs)
        except InvalidParameter as error:
            raise InvalidFile(f"{folder}: {error}, and {AGAIN}") from error
        return graphs


def _check_ranges(folder: Path, schema: Schema, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Refuse pointers, arcs and codes that lead nowhere, some rows at a time: the arrays may be large."""

    def refuse(name: str, problem: str) -> InvalidFile:
        return InvalidFile(f"{folder / name}.npy is damaged: {problem}; {AGAIN}")

    n_rows = {"graph": len(arrays["node_ptr"]) - 1}
    for level in LEVELS[:2]:
        ptr = arrays[f"{level}_ptr"]
        grows = ptr.dtype.kind in "iu" and len(ptr) and ptr[0] == 0 and (ptr[1:] >= ptr[:-1]).all()
        if not grows or ptr.shape != (n_rows["graph"] + 1,):
            raise refuse(f"{level}_ptr", "expected numbers from 0 that grow, one more than graphs")
        n_rows[level] = int(ptr[-1])
    if arrays["ids"].shape != (n_rows["graph"],):
        raise refuse("ids", f"expected {n_rows['graph']:,} of them")
    edges, sizes, ptr = arrays["edges"], np.diff(arrays["node_ptr"]), arrays["edge_ptr"]
    if edges.shape != (2, n_rows["edge"]) or edges.dtype.kind not in "iu":
        raise refuse("edges", f"expected two rows of {n_rows['edge']:,} numbers of nodes")
    for start in range(0, n_rows["edge"], ROWS):
        first, last = np.searchsorted(ptr, [start, start + ROWS - 1], side="right") - 1
        counts = np.diff(np.clip(ptr[first : last + 2], start, start + ROWS))
        arcs = edges[:, start : start + ROWS]
        bad = ((arcs < 0) | (arcs >= np.repeat(sizes[first : last + 1], counts))).any(axis=0)
        if bad.any():
            graph = np.searchsorted(ptr, start + bad.argmax(), side="right") - 1
            raise refuse("edges", f"graph {graph} has {sizes[graph]} nodes and an arc to another")
    for level in LEVELS:
        for position, column in enumerate(getattr(schema, level)):
            values = arrays[f"{level}_{position}"]
            if len(values) != n_rows[level]:
                raise refuse(f"{level}_{position}", f"{len(values):,} rows, expected {n_rows[level]:,}")
            for start in range(0, len(values) if column.kind == "categorical" else 0, ROWS):
                codes = column.codes(values[start : start + ROWS])
                if codes.min() < 0 or codes.max() > column.unknown:
                    raise refuse(f"{level}_{position}", f"a code of no category of {column.name!r}")
