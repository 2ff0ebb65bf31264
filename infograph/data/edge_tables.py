"""Tables with one row per edge of many graphs, and one row per node -> GraphSet, a column at a time.

The columns graph, source and target (`network_files.edge_columns` has their other names) say what an edge
is, all others are its attributes. Without a column of graphs all edges are of one. A table of nodes has the
columns graph and node, and attributes; where there is one it says which graphs and nodes there are, in its
order. Otherwise graphs and nodes come in the order in which edges name them.

What becomes of an edge is as in files with one network each: edges are undirected unless `directed` says
otherwise, or all of a graph are listed in both directions. Attributes are chosen by the rule for networks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from csv import reader
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.convert import (
    LARGEST,
    MANY,
    categorise,
    id_array,
    nothing_left,
    objects,
    taken_as_numbers,
)
from infograph.data.graphset import GraphSet, IntArray, Rejected, check_texts, pointer
from infograph.data.labels import MISSING
from infograph.data.network_files import GRAPH, called, decided, edge_columns
from infograph.data.read import TABLES, ReadOptions, delimiter, kind, text_lines, with_columns
from infograph.data.schema import Column, Kind, Level, Schema
from infograph.data.tables import plain_column
from infograph.data.units import match_name
from infograph.errors import FileMissing, InvalidFile, InvalidGraph, InvalidParameter
from infograph.io import open_unpacked

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
        found = (None, *called(names, NODE)[:1]) if nodes else edge_columns(names) or (None,)
        ends = [each for each in found[1:] if each is not None]
        if not ends:
            wanted = "graph and node" if nodes else "graph, source and target"
            raise InvalidFile(f"{name} has no columns {wanted} among {names}")
        if graph not in names:
            graph = next(iter(called(names, GRAPH)), None)
        if not len(columns[ends[0]]):
            raise InvalidFile(f"{name} has columns and no rows")
        of_text = isinstance(source, Path) and kind(source) != ".parquet"
        rest = {
            each: _guessed(cells) if of_text else _values(name, each, cells)
            for each, cells in columns.items()
            if each not in (graph, *ends)
        }
        return cls(
            str(name),
            None if graph is None else _texts(name, graph, columns[graph]),
            tuple(_texts(name, each, columns[each]) for each in ends),
            {each: cells for each, cells in rest.items() if cells is not None},
        )

    def __len__(self) -> int:
        return len(self.ends[0])


def read_edge_file(path: Path, options: ReadOptions) -> GraphSet:
    """A CSV, TSV or Parquet file of edges; one graph without a name is called like the file."""
    name = path.name.removesuffix(".gz").removesuffix(kind(path))
    return read_edges(EdgeTable.of(path, path, options.id), options, name)


def read_edges(edges: EdgeTable, options: ReadOptions, name: str = "0") -> GraphSet:
    """All graphs of a table of edges, and of its nodes if `options.nodes` has them."""
    nodes = None if options.nodes is None else _nodes(options.nodes, options.id)
    parts = [edges] if nodes is None else [nodes, edges]
    if len({part.graphs is None for part in parts}) > 1:
        lacks = next(part.name for part in parts if part.graphs is None)
        raise InvalidFile(f"{lacks} has no column graph, and the other table has one")
    found = _Rows.of(edges, nodes, name)
    edges, nodes, label = _split_label(edges, nodes, found, options)
    problems = _problems(found, edges, nodes)
    rejected = [Rejected(g, found.ids[g].item(), problems[g]) for g in sorted(problems)]
    if rejected and options.errors == "raise":
        first = rejected[0]
        raise InvalidGraph(first.problem, index=first.index, graph_id=first.graph_id)
    good = np.delete(np.arange(len(found.ids)), [each.index for each in rejected])
    if not len(good):
        raise nothing_left(rejected)
    graphs = replace(_built(found, good, edges, nodes, options), rejected=tuple(rejected))
    if label is not None:
        graphs = replace(with_columns(graphs, *label, str), rejected=graphs.rejected)
    return graphs


def _nodes(source: Any, graph: str | None) -> EdgeTable:
    if not isinstance(source, str | Path):
        from infograph.data.frames import arrow_columns, index_columns

        columns = {**index_columns(source, (*GRAPH, *NODE), graph), **arrow_columns(source)}
        return EdgeTable.of(columns, "the table of nodes", graph, nodes=True)
    path = Path(source).expanduser()
    if not path.is_file():
        raise FileMissing(f"nodes={str(source)!r}: no such file; expected a table of nodes")
    if kind(path) not in (*TABLES, ".parquet"):
        raise InvalidFile(f"{path}: tables of nodes are .csv, .tsv or .parquet files")
    return EdgeTable.of(path, path, graph, nodes=True)


def file_columns(path: Path) -> dict[str, Any]:
    """The columns of a CSV, TSV or Parquet file; all of text files are texts, null where a cell is empty."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    try:
        if kind(path) == ".parquet":
            table = parquet.ParquetFile(path).read()
        else:
            head = next(line for line in text_lines(path) if line.strip())
            (names,) = reader([head], delimiter=delimiter(head))
            options = csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True, null_values=[""]
            )
            with open_unpacked(path) as file:
                table = csv.read_csv(
                    file,
                    parse_options=csv.ParseOptions(delimiter=delimiter(head)),
                    convert_options=options,
                )
    except (pa.ArrowException, OSError) as error:
        raise InvalidFile(f"{path} is damaged, or no table: {error}") from error
    names = [name.strip() for name in table.column_names]
    if len(set(names)) < len(names):
        raise InvalidFile(f"{path}: two columns of one name in the header {names}")
    return dict(zip(names, table.columns, strict=True))


def _guessed(cells: Any) -> Any:
    """Cells of a text file as whole numbers or numbers, where all are such; else as they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = cells.combine_chunks()
    words = pa.array([word for word in MISSING if word])
    known = pc.if_else(pc.is_in(pc.utf8_lower(cells), words), None, cells)
    for number in (pa.int64(), pa.float64()):
        try:
            return known.cast(number)
        except pa.ArrowInvalid:
            continue
    return cells


def _texts(table: object, name: str, column: Any) -> Any:
    """What a column calls graphs or nodes, as texts; null where it says nothing. 1 and 1.0 are the same."""
    import pyarrow as pa
    import pyarrow.compute as pc

    cells = plain_column(table, name, column, needed=True)
    if isinstance(cells, list):
        check_texts({name: np.array(cells, object)})
        cells = pa.array(cells, pa.large_string())
    if pa.types.is_floating(cells.type):  # of pandas, where one is missing
        whole = pc.all(pc.equal(pc.floor(cells), cells)).as_py()
        largest = pc.max(pc.abs(cells)).as_py() or 0
        cells = cells.cast(pa.int64()) if whole is not False and largest < 2**63 else cells
    cells = cells.cast(pa.large_string())
    cells = pc.if_else(pc.equal(cells, ""), None, cells)
    return cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells


def _values(table: object, name: str, column: Any) -> Any:
    """An attribute: an Arrow array of one chunk, or numbers (rows, width) where rows are lists; or None."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column, list):
        check_texts({name: np.array(column, object)})
        column = pa.array([cell or None for cell in column], pa.large_string())
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    types = pa.types
    lists = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    if any(each(column.type) for each in lists) and not column.null_count and len(column):
        flat, width = column.flatten(), len(column.flatten()) // len(column)
        even = pc.all(pc.equal(pc.list_value_length(column), width)).as_py()
        if even and width and (types.is_floating(flat.type) or types.is_integer(flat.type)):
            return flat.to_numpy(zero_copy_only=False).astype(np.float64).reshape(-1, width)
    return plain_column(table, name, column)


# Names -> numbers.


def _encoded(cells: Any) -> tuple[NDArray[np.int64], Any]:
    """Codes in the order of appearance, -1 where a cell is null, and what they stand for."""
    import pyarrow as pa

    found = (cells if isinstance(cells, pa.Array | pa.ChunkedArray) else pa.array(cells)).dictionary_encode()
    found = found.unify_dictionaries() if isinstance(found, pa.ChunkedArray) else found
    found = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    codes = found.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return codes.astype(np.int64), found.dictionary


@dataclass(frozen=True, eq=False)
class _Rows:
    """The graph and the nodes of every row as numbers, -1 where they are missing."""

    ids: NDArray[Any]  # (G,) of the graphs, in the order of appearance
    edge_graph: IntArray  # (E,)
    ends: IntArray  # (2, E) one number per name of a node in a graph
    node_graph: IntArray | None  # (N,) of the table of nodes
    nodes: IntArray | None  # (N,)

    @classmethod
    def of(cls, edges: EdgeTable, nodes: EdgeTable | None, name: str) -> _Rows:
        import pyarrow as pa

        parts = [edges] if nodes is None else [nodes, edges]
        starts = pointer(np.array([len(part) for part in parts]))
        if edges.graphs is None:
            graph, names = np.zeros(starts[-1], np.int64), [name]
        else:
            graph, known = _encoded(pa.chunked_array([part.graphs for part in parts]))
            names = known.to_pylist()
        for place, part in enumerate(parts):
            missing = np.flatnonzero(graph[starts[place] : starts[place + 1]] < 0)
            if len(missing):
                raise InvalidFile(f"{part.name}, row {missing[0] + 1}: no graph is named")
        whole = all(re.fullmatch(r"0|-?[1-9]\d{0,17}", each) for each in names)  # "007" stays text
        ids = id_array([int(each) for each in names] if whole else names)
        columns = [column for part in parts for column in part.ends]
        codes, distinct = _encoded(pa.chunked_array(columns))
        own = np.split(codes, np.cumsum([len(column) for column in columns])[:-1])
        of_edges, of_nodes = graph[starts[-2] :], graph[: starts[-2]]
        ends = [np.where(code < 0, -1, of_edges * len(distinct) + code) for code in own[-2:]]
        if nodes is None:
            return cls(ids, of_edges, np.stack(ends), None, None)
        named = np.where(own[0] < 0, -1, of_nodes * len(distinct) + own[0])
        return cls(ids, of_edges, np.stack(ends), of_nodes, named)


def _problems(found: _Rows, edges: EdgeTable, nodes: EdgeTable | None) -> dict[int, str]:
    """What is wrong with graphs, by their numbers; the first problem of each."""
    problems: dict[int, str] = {}
    for end, what in zip(found.ends, ("source", "target"), strict=True):
        _report(problems, end < 0, found.edge_graph, f"an edge without {what}", edges)
    if nodes is not None and found.nodes is not None and found.node_graph is not None:
        again = np.ones(len(found.nodes), bool)
        again[np.unique(found.nodes, return_index=True)[1]] = False
        _report(problems, found.nodes < 0, found.node_graph, "a node without a name", nodes)
        _report(problems, again, found.node_graph, "the node stands there a second time:", nodes, 0)
        lacking = np.setdiff1d(found.edge_graph, found.node_graph).tolist()
        for g in lacking:
            more = f", as {len(lacking):,} graphs do" if len(lacking) > 1 else ""
            problems.setdefault(g, f"it has edges and no nodes in {nodes.name}{more}")
        for place, ends in enumerate(found.ends):
            strange, where = ~np.isin(ends, found.nodes), f"not among the nodes in {nodes.name}:"
            _report(problems, strange, found.edge_graph, where, edges, place)
        _report_numbers(problems, nodes, found.node_graph)
    _report_numbers(problems, edges, found.edge_graph)
    return problems


def _report(
    problems: dict[int, str],
    bad: NDArray[np.bool_],
    graph: IntArray,
    what: str,
    table: EdgeTable,
    end: int | None = None,
) -> None:
    """Say of every graph with bad rows which one is the first; `end` names a node of that row."""
    rows = np.flatnonzero(bad)
    for row in rows[np.unique(graph[rows], return_index=True)[1]].tolist():
        node = "" if end is None else f" {table.ends[end][row].as_py()!r}"
        problems.setdefault(int(graph[row]), f"row {row + 1} of {table.name}: {what}{node}")


def _report_numbers(problems: dict[int, str], table: EdgeTable, graph: IntArray) -> None:
    for name, cells in table.attributes.items():
        if isinstance(cells, np.ndarray) or "float" in str(cells.type) or "double" in str(cells.type):
            numbers = _numbers(cells)
            bad = np.asarray((np.abs(numbers) > LARGEST).reshape(len(numbers), -1).any(axis=1))
            _report(problems, bad, graph, f"{name!r} is not finite or too large for 32 bits", table)


# Rows -> graphs.


def _built(
    found: _Rows, good: IntArray, edges: EdgeTable, nodes: EdgeTable | None, options: ReadOptions
) -> GraphSet:
    """The graphs `good`; all their rows are whole."""
    number = np.full(len(found.ids), -1)
    number[good] = np.arange(len(good))
    rows = np.flatnonzero(number[found.edge_graph] >= 0)
    rows = rows[np.argsort(number[found.edge_graph[rows]], kind="stable")]  # edges, graph after graph
    graph, ends = number[found.edge_graph[rows]], found.ends[:, rows]
    keys, of_node = ends.T.ravel(), np.repeat(graph, 2)  # in the order of appearance
    own: IntArray = np.zeros(0, np.int64)
    if found.nodes is not None and found.node_graph is not None:
        own = np.flatnonzero(number[found.node_graph] >= 0)
        own = own[np.argsort(number[found.node_graph[own]], kind="stable")]
        keys = np.concatenate([found.nodes[own], keys])
        of_node = np.concatenate([number[found.node_graph[own]], of_node])
    codes, distinct = _encoded(keys)
    graph_of = np.zeros(len(distinct), np.int64)
    graph_of[codes] = of_node
    node_ptr = pointer(np.bincount(graph_of, minlength=len(good)))
    arcs, which, counts = _arcs(codes[len(own) :].reshape(-1, 2).T, graph, len(good), options.directed)
    edge, edge_schema = _stored("edge", edges.attributes, rows, options)
    node, node_schema = ({}, ()) if nodes is None else _stored("node", nodes.attributes, own, options)
    return GraphSet(
        node_ptr=node_ptr,
        edge_ptr=pointer(counts),
        edges=(arcs - node_ptr[graph[which]]).astype(np.int32),
        node=node,
        edge={name: values[which] for name, values in edge.items()},
        ids=found.ids[good],
        schema=Schema(node_schema, edge_schema),
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


def _split_label(
    edges: EdgeTable, nodes: EdgeTable | None, found: _Rows, options: ReadOptions
) -> tuple[EdgeTable, EdgeTable | None, tuple[dict[str, Any], str] | None]:
    """The tables without the column that `options.label` names, and what it says of every graph."""
    if options.label is None:
        return edges, nodes, None
    import pyarrow as pa

    for table, graph in ((nodes, found.node_graph), (edges, found.edge_graph)):
        name = None if table is None else match_name(table.attributes, options.label)
        cells: Any = None if table is None or name is None else table.attributes[name]
        if table is None or graph is None or name is None or isinstance(cells, np.ndarray):
            continue
        rest = replace(table, attributes={n: c for n, c in table.attributes.items() if n != name})
        codes, _ = _encoded(cells)
        _, first = np.unique(graph, return_index=True)
        row = np.full(len(found.ids), -1)
        row[graph[first]] = first
        other = np.flatnonzero(codes != codes[row[graph]])
        if len(other):
            raise InvalidParameter(
                f"label={options.label!r}: {table.name} has two values of it in graph "
                f"{found.ids[graph[other[0]]]}; a label is the same in all rows of a graph"
            )
        label = {name: cells.take(pa.array(row, mask=row < 0))}, name
        return (rest, nodes, label) if table is edges else (edges, rest, label)
    raise InvalidParameter(f"label={options.label!r}: no such column, only {list(edges.attributes)}")


# Columns.


def _numbers(cells: Any) -> NDArray[np.float64]:
    """Numbers, NaN where one is missing; a ValueError says that they are none."""
    import pyarrow as pa

    if isinstance(cells, np.ndarray):
        return cells
    try:
        return np.asarray(cells.cast(pa.float64()).to_numpy(zero_copy_only=False))
    except pa.ArrowException as error:
        raise ValueError(f"no numbers: {error}") from error


def _stored(
    level: Level, attributes: Mapping[str, Any], rows: IntArray, options: ReadOptions
) -> tuple[dict[str, NDArray[Any]], tuple[Column, ...]]:
    """Attributes of some rows as columns of nodes or edges."""
    import pyarrow as pa

    taken = {name: _taken(cells, rows) for name, cells in attributes.items()}
    check_texts({name: np.zeros(0) for name in taken})

    def whole(cells: Any) -> bool:
        return not isinstance(cells, np.ndarray) and pa.types.is_integer(cells.type)

    def number(cells: Any) -> bool:
        types = pa.types
        return isinstance(cells, np.ndarray) or types.is_floating(cells.type) or types.is_decimal(cells.type)

    def kind_of(name: str) -> Kind:
        if whole(taken[name]) and (n := len(_encoded(taken[name])[1])) > MANY:
            return taken_as_numbers(name, n)
        return "float" if number(taken[name]) else "categorical"

    def weighs() -> bool:
        return whole(taken["weight"]) or number(taken["weight"])

    arrays, columns = {}, []
    for column in decided(level, list(taken), getattr(options, level), options, weighs, kind_of):
        arrays[column.name], stored = _stored_column(taken[column.name], column, level)
        columns.append(stored)
    return arrays, tuple(columns)


def _taken(cells: Any, rows: IntArray) -> Any:
    return cells[rows] if isinstance(cells, np.ndarray) else cells.take(rows)


def _stored_column(cells: Any, column: Column, level: Level) -> tuple[NDArray[Any], Column]:
    if column.kind == "float":
        try:
            values = _numbers(cells)
        except ValueError as error:
            raise InvalidParameter(f"the {level} attribute {column.name!r} does not hold numbers") from error
        if column.role == "weight":
            if values.ndim > 1:
                raise InvalidParameter(f"the weight {column.name!r} holds several numbers per edge")
            values = np.where(np.isnan(values), 1.0, values)
        width = values.shape[1] if values.ndim > 1 else 1
        return values.astype(np.float32), replace(column, width=width)
    if isinstance(cells, np.ndarray):
        raise InvalidParameter(f"the {level} attribute {column.name!r} is lists of numbers, and no category")
    codes, distinct = _encoded(cells)
    categories, small = categorise(objects(distinct.to_pylist()))
    return np.append(small, len(categories))[codes].astype(np.int32), replace(column, categories=categories)
