"""Tables with one row per edge of many graphs, and one row per node -> GraphSet, a column at a time.

The columns graph, source and target (`columns.edge_columns` has their other names) say what an edge
is, all others are its attributes. Without a column of graphs all edges are of one. A table of nodes has the
columns graph and node, and attributes; where there is one it says which graphs and nodes there are, in its
order. Otherwise graphs and nodes come in the order in which edges name them.

What becomes of an edge is as in files with one network each: edges are undirected unless `directed` says
otherwise, or all of a graph are listed in both directions. Attributes are chosen by the rule for networks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from infograph.data.columns import (
    GRAPH,
    arrow_columns,
    attribute,
    called,
    chosen_column,
    edge_columns,
    encoded,
    file_columns,
    guessed,
    ids_of,
    index_columns,
    is_number,
    names_in,
    numbers,
    with_columns,
)
from infograph.data.graphset import GraphSet, IntArray, Rejected, check_texts, pointer
from infograph.data.networks import decided
from infograph.data.read import TABLES
from infograph.data.records import (
    LARGEST,
    MANY,
    ReadOptions,
    categorise,
    chosen,
    id_array,
    nothing_left,
    objects,
    store_column,
    taken_as_numbers,
)
from infograph.data.schema import Column, Kind, Level, Schema
from infograph.data.text_tables import kind, stem
from infograph.data.units import match_name
from infograph.errors import FileMissing, InvalidFile, InvalidGraph, InvalidParameter

NODE = ("node", "node_id", "id")


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """Rows that name graphs and nodes: E edges with two ends each, or N nodes."""

    name: str  # for messages
    graphs: Any  # Arrow texts (rows,); None where all rows are of one graph
    ends: tuple[Any, ...]  # Arrow texts (rows,): source and target, or the node
    attributes: dict[str, Any]

    @classmethod
    def of(cls, source: Any, name: object, graph: str | None, *, nodes: bool = False) -> EdgeTable:
        """A table, or file, of edges or of nodes, by the names of its columns; `graph` may be another one."""
        columns = file_columns(source) if isinstance(source, Path) else source
        names = list(columns)
        ends = called(names, NODE)[:1] if nodes else (edge_columns(names) or ())[1:]
        if not ends:
            wanted = "graph and node" if nodes else "graph, source and target"
            raise InvalidFile(f"{name} has no columns {wanted} among {names}")
        own = None if nodes and graph not in names else chosen_column(names, graph, "id", name)
        graph = own or next(iter(called(names, GRAPH)), None)
        if not len(columns[ends[0]]):
            raise InvalidFile(f"{name} has columns and no rows")
        of_text = isinstance(source, Path) and kind(source) != ".parquet"
        rest = {
            each: guessed(cells) if of_text else attribute(name, each, cells)
            for each, cells in columns.items()
            if each not in (graph, *ends)
        }
        return cls(
            str(name),
            None if graph is None else names_in(name, graph, columns[graph]),
            tuple(names_in(name, each, columns[each]) for each in ends),
            {each: cells for each, cells in rest.items() if cells is not None},
        )


def read_edge_file(path: Path, options: ReadOptions) -> GraphSet:
    """A CSV, TSV or Parquet file of edges; one graph without a name is called like the file."""
    return read_edges(EdgeTable.of(path, path, options.id), options, stem(path))


def read_edges(edges: EdgeTable, options: ReadOptions, name: str = "0") -> GraphSet:
    """All graphs of a table of edges, and of its nodes if `options.nodes` has them."""
    tables = [edges] if options.nodes is None else [_nodes(options.nodes, options.id), edges]
    ids, found = _numbered(tables, name)
    found, label = _split_label(found, ids, options)
    problems = _problems(found)
    rejected = [Rejected(g, ids[g].item(), problems[g]) for g in sorted(problems)]
    if rejected and options.errors == "raise":
        first = rejected[0]
        raise InvalidGraph(first.problem, index=first.index, graph_id=first.graph_id)
    good = np.delete(np.arange(len(ids)), [each.index for each in rejected])
    if not len(good):
        raise nothing_left(rejected)
    graphs = replace(_built(found, ids, good, options), rejected=tuple(rejected))
    return graphs if label is None else replace(with_columns(graphs, *label, str), rejected=graphs.rejected)


def _nodes(source: Any, graph: str | None) -> EdgeTable:
    if not isinstance(source, str | Path):
        columns = {**index_columns(source, (*GRAPH, *NODE), graph), **arrow_columns(source)}
        return EdgeTable.of(columns, "the table of nodes", graph, nodes=True)
    path = Path(source).expanduser()
    if not path.is_file():
        raise FileMissing(f"nodes={str(source)!r}: no such file; expected a table of nodes")
    if kind(path) not in (*TABLES, ".parquet"):
        raise InvalidFile(f"{path}: tables of nodes are .csv, .tsv or .parquet files")
    return EdgeTable.of(path, path, graph, nodes=True)


# Names -> numbers.


@dataclass(frozen=True, eq=False)
class _Numbered:
    """A table with numbers for the names of its graphs and nodes, -1 where there is none."""

    table: EdgeTable
    graph: IntArray  # (rows,)
    ends: IntArray  # (1 or 2, rows) one number per name of a node in a graph


def _numbered(tables: Sequence[EdgeTable], name: str) -> tuple[NDArray[Any], list[_Numbered]]:
    """The ids of the graphs in the order of appearance (G,), and the tables; `name` is that of one graph."""
    lacks = [table.name for table in tables if table.graphs is None]
    if 0 < len(lacks) < len(tables):
        raise InvalidFile(f"{lacks[0]} has no column graph, and the other table has one")
    lengths = [len(table.ends[0]) for table in tables]
    if lacks:
        graphs, ids = np.zeros(sum(lengths), np.int64), ids_of([name])
    else:
        graphs, known = encoded(pa.chunked_array([table.graphs for table in tables]))
        ids = ids_of(known.to_pylist())
    codes, distinct = encoded(pa.chunked_array([end for table in tables for end in table.ends]))
    found, start = [], 0
    for table, graph in zip(tables, np.split(graphs, np.cumsum(lengths)[:-1]), strict=True):
        missing = np.flatnonzero(graph < 0)
        if len(missing):
            raise InvalidFile(f"{table.name}, row {missing[0] + 1}: no graph is named")
        stop = start + len(table.ends) * len(graph)
        ends = codes[start:stop].reshape(len(table.ends), -1)
        found.append(_Numbered(table, graph, np.where(ends < 0, -1, graph * len(distinct) + ends)))
        start = stop
    return id_array(ids or []), found


def _problems(found: Sequence[_Numbered]) -> dict[int, str]:
    """What is wrong with graphs, by their numbers; the first problem of each."""
    problems: dict[int, str] = {}
    edges = found[-1]
    for end, what in zip(edges.ends, ("source", "target"), strict=True):
        _report(problems, end < 0, edges, f"an edge without {what}")
    for nodes in found[:-1]:
        (own,) = nodes.ends
        again = np.ones(len(own), bool)
        again[np.unique(own, return_index=True)[1]] = False
        _report(problems, own < 0, nodes, "a node without a name")
        _report(problems, again, nodes, "the node stands there a second time:", 0)
        lacking = np.setdiff1d(edges.graph, nodes.graph).tolist()
        for g in lacking:
            more = f", as {len(lacking):,} graphs do" if len(lacking) > 1 else ""
            problems.setdefault(g, f"it has edges and no nodes in {nodes.table.name}{more}")
        for place, ends in enumerate(edges.ends):
            where = f"not among the nodes in {nodes.table.name}:"
            _report(problems, ~np.isin(ends, own), edges, where, place)
    for part in found:
        for name, cells in part.table.attributes.items():
            if is_number(cells.type):
                large = np.abs(numbers(cells)) > LARGEST
                bad = np.asarray(large.reshape(len(large), -1).any(axis=1))
                _report(problems, bad, part, f"{name!r} is not finite or too large for 32 bits")
    return problems


def _report(
    problems: dict[int, str], bad: NDArray[np.bool_], part: _Numbered, what: str, end: int | None = None
) -> None:
    """Say of every graph with bad rows which one is the first; `end` names a node of that row."""
    rows = np.flatnonzero(bad)
    for row in rows[np.unique(part.graph[rows], return_index=True)[1]].tolist():
        node = "" if end is None else f" {part.table.ends[end][row].as_py()!r}"
        problems.setdefault(int(part.graph[row]), f"row {row + 1} of {part.table.name}: {what}{node}")


def _split_label(
    found: list[_Numbered], ids: NDArray[Any], options: ReadOptions
) -> tuple[list[_Numbered], tuple[dict[str, Any], str] | None]:
    """The tables without the column that `options.label` names, and what it says of every graph."""
    if options.label is None:
        return found, None
    for place, part in enumerate(found):
        attributes = dict(part.table.attributes)
        name = match_name(attributes, options.label)
        if name is None or pa.types.is_fixed_size_list(attributes[name].type):
            continue
        cells = attributes.pop(name)
        codes, _ = encoded(cells)
        own, first = np.unique(part.graph, return_index=True)
        row = np.full(len(ids), -1)
        row[own] = first
        other = np.flatnonzero(codes != codes[row[part.graph]])
        if len(other):
            raise InvalidParameter(
                f"label={options.label!r}: {part.table.name} has two values of it in graph "
                f"{ids[part.graph[other[0]]]}; a label is the same in all rows of a graph"
            )
        found[place] = replace(part, table=replace(part.table, attributes=attributes))
        return found, ({name: cells.take(pa.array(row, mask=row < 0))}, name)
    only = list(found[-1].table.attributes)
    raise InvalidParameter(f"label={options.label!r}: no such column, only {only}")


# Rows -> graphs.


def _built(found: Sequence[_Numbered], ids: NDArray[Any], good: IntArray, options: ReadOptions) -> GraphSet:
    """The graphs `good`; all their rows are whole."""
    number = np.full(len(ids), -1)
    number[good] = np.arange(len(good))
    keys, of_key, arrays = [], [], dict[str, Any]()
    schema = Schema()
    if len(found) == 1 and options.schema is None:
        chosen(options.node, (), "node")  # there are none
    levels: tuple[Level, ...] = ("node", "edge")
    for level, part in zip(levels[-len(found) :], found, strict=True):
        rows = np.flatnonzero(number[part.graph] >= 0)
        rows = rows[np.argsort(number[part.graph[rows]], kind="stable")]  # graph after graph
        graph = number[part.graph[rows]]
        keys.append(part.ends[:, rows].T.ravel())  # in the order of appearance
        of_key.append(np.repeat(graph, len(part.ends)))
        arrays[level], columns = _stored(level, part.table.attributes, rows, options)
        schema = schema.replace(level, columns)
    codes, distinct = encoded(np.concatenate(keys))
    graph_of = np.zeros(len(distinct), np.int64)
    graph_of[codes] = np.concatenate(of_key)
    node_ptr = pointer(np.bincount(graph_of, minlength=len(good)))
    ends = codes[len(codes) - 2 * len(graph) :].reshape(-1, 2).T  # edges come last, and so do their graphs
    arcs, which, counts = _arcs(ends, graph, len(good), options.directed)
    return GraphSet(
        node_ptr=node_ptr,
        edge_ptr=pointer(counts),
        edges=(arcs - node_ptr[graph[which]]).astype(np.int32),
        node=arrays.get("node", {}),
        edge={name: values[which] for name, values in arrays["edge"].items()},
        ids=ids[good],
        schema=schema,
    )


def _arcs(
    ends: IntArray, graph: IntArray, n_graphs: int, directed: bool
) -> tuple[IntArray, IntArray, IntArray]:
    """Edges (2, e) as arcs (2, E), the edge that each is of, and how many a graph has (G,)."""
    loops = ends[0] == ends[1]
    as_listed = np.full(n_graphs, True)
    if not directed:  # where as many edges lead up as down, each may be there in both directions
        up = np.bincount(graph, np.sign(ends[1] - ends[0]), minlength=n_graphs) == 0
        some = np.flatnonzero(up[graph])
        width = int(ends.max(initial=0)) + 1  # nodes are numbered graph after graph, and so are pairs of them
        there, back = (np.sort(ends[a, some] * width + ends[1 - a, some]) for a in (0, 1))
        differ = np.bincount(graph[some][there != back], minlength=n_graphs)
        as_listed = up & (differ == 0)
    times = np.where(as_listed[graph] | loops, 1, 2)
    which = np.repeat(np.arange(len(graph)), times)
    second = np.append(False, which[1:] == which[:-1])[: len(which)]
    arcs = np.where(second, ends[::-1, which], ends[:, which])
    return arcs, which, np.bincount(graph[which], minlength=n_graphs)


# Columns.


def _stored(
    level: Level, attributes: Mapping[str, Any], rows: IntArray, options: ReadOptions
) -> tuple[dict[str, NDArray[Any]], tuple[Column, ...]]:
    """Attributes of some rows as columns of nodes or edges."""
    taken = {name: cells.take(rows) for name, cells in attributes.items()}
    check_texts({name: np.zeros(0) for name in taken})

    def kind_of(name: str) -> Kind:
        cells = taken[name]
        if pa.types.is_integer(cells.type) and (n := len(encoded(cells)[1])) > MANY:
            return taken_as_numbers(name, n)
        return "float" if is_number(cells.type) else "categorical"

    def weighs() -> bool:
        of = taken["weight"].type
        return is_number(of) or pa.types.is_integer(of)

    arrays, columns = {}, []
    for column in decided(level, list(taken), options, weighs, kind_of):
        arrays[column.name], stored = _stored_column(taken[column.name], column, level)
        columns.append(stored)
    return arrays, tuple(columns)


def _stored_column(cells: Any, column: Column, level: Level) -> tuple[NDArray[Any], Column]:
    if column.kind == "float":
        try:
            values = numbers(cells)
        except pa.ArrowException as error:
            raise InvalidParameter(f"the {level} attribute {column.name!r} does not hold numbers") from error
        values = np.where(np.isnan(values), 1.0, values) if column.role == "weight" else values
        return store_column(column.name, values, replace(column, width=math.prod(values.shape[1:])))
    if pa.types.is_fixed_size_list(cells.type):
        raise InvalidParameter(f"the {level} attribute {column.name!r} is lists of numbers, and no category")
    codes, distinct = encoded(cells)
    categories, small = categorise(objects(distinct.to_pylist()))
    return np.append(small, len(categories))[codes].astype(np.int32), replace(column, categories=categories)
