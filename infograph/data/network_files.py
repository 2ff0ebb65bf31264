"""GraphML, GEXF and edge lists, one file per graph, and JSON lines -> GraphSet."""

from __future__ import annotations

import ast
import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError, iterparse

import networkx as nx

from infograph.data.convert import Choice, from_networkx
from infograph.data.graphset import GraphSet, Rejected
from infograph.data.read import ReadOptions, delimiter, in_file, kind, read_cells, read_text, with_columns
from infograph.data.units import LABEL, match_name
from infograph.errors import InvalidFile, InvalidGraph, InvalidParameter

XML = (".graphml", ".gexf")
EDGE_LISTS = (".edgelist", ".edges", ".txt", ".csv", ".tsv")
LABELS = "labels.csv"
GEXF_VERSIONS = ("1.2draft", "1.3", "1.1draft")
HEADERS = {"source", "src", "from", "u", "node1", "node_1", "sender", "i"}
Edge = tuple[str, str, dict[str, Any]]
RESERVED = ("nodes", "edges", "directed")


def network_files(folder: Path) -> list[Path]:
    """The files of a folder that hold one graph each, sorted by name with numbers as numbers."""
    files = (path for path in folder.iterdir() if path.is_file() and kind(path) in (*XML, *EDGE_LISTS))
    others = (LABELS, "readme", "license")
    return sorted(
        (path for path in files if not path.name.casefold().startswith((".", *others))), key=_natural
    )


def _natural(path: Path) -> list[tuple[int, str]]:
    """Sorts graph_2 before graph_10."""
    return [
        (int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", path.name) if part
    ]


def read_networks(files: Sequence[Path], options: ReadOptions, labels: Path | None = None) -> GraphSet:
    """One graph per file, whose name without extension is its id.

    Args:
        files: the files.
        options: attributes to keep, and what to do with bad files.
        labels: a table whose first column is the ids, or the files' names, and whose others become graph
            columns; `label` becomes `y`.
    """
    ids = [path.name.removesuffix(".gz").removesuffix(kind(path)) for path in files]
    graphs: list[nx.Graph | Rejected] = []
    for index, path in enumerate(files):
        try:
            graphs.append(_read_network(path, options))
        except InvalidFile as error:
            if options.errors == "raise":
                raise
            graphs.append(Rejected(index, ids[index], str(error)))
    try:
        made = from_networkx(
            graphs,
            node=options.node,
            edge=options.edge,
            weight=options.weight,
            ids=ids,
            errors=options.errors,
            schema=options.schema,
        )
    except InvalidGraph as error:
        path = files[error.index or 0]
        raise InvalidGraph(f"{path}: {error.problem}", index=error.index, graph_id=error.graph_id) from error
    return (
        made
        if labels is None
        else _with_labels(made, {file.name: i for file, i in zip(files, ids, strict=True)}, labels, options)
    )


def _read_network(path: Path, options: ReadOptions) -> nx.Graph:
    if kind(path) in EDGE_LISTS:
        return read_edge_list(path, directed=options.directed)
    if not path.stat().st_size:
        raise InvalidFile(f"{path} is empty")
    try:
        graph = nx.read_graphml(path) if kind(path) == ".graphml" else _read_gexf(path)
        _check_declared(graph, path)
        return graph
    except (
        ParseError,
        nx.NetworkXException,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        OSError,
        EOFError,
    ) as e:
        raise InvalidFile(f"{path} is truncated or no {kind(path)[1:]} file: {e}") from e


def _check_declared(graph: nx.Graph, path: Path) -> None:
    """Refuse edges to nodes that the file does not have; networkx makes those up."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        declared = {item.get("id") for _, item in iterparse(file) if item.tag.rpartition("}")[2] == "node"}
    missing = [node for node in graph.nodes if node not in declared]
    if missing:
        raise ValueError(f"an edge leads to node {missing[0]!r}, which is not among the nodes")


def _read_gexf(path: Path) -> nx.Graph:
    problem: Exception | None = None
    for version in GEXF_VERSIONS:
        try:
            graph = nx.read_gexf(path, version=version)
        except nx.NetworkXError as error:  # another version
            problem = problem or error
            continue
        graph.graph.pop("mode", None)  # of the format, not of the graph
        return graph
    raise problem or nx.NetworkXError("no graph")


def _with_labels(graphs: GraphSet, names: Mapping[str, str], path: Path, options: ReadOptions) -> GraphSet:
    """`names`: the name of every file -> its id."""
    cells, ids = read_cells(path), list(names.values())
    rows: dict[str, int] = {}
    for row, given in enumerate(cells.columns[cells.names[0]]):
        graph_id = given if given in ids else names.get(given, given)
        if graph_id not in ids or graph_id in rows:
            what = "stands there twice" if graph_id in rows else "has no file in the folder"
            raise InvalidFile(f"{path}, {cells.place(row)}: the id {graph_id!r} {what}")
        rows[graph_id] = row
    label = match_name(cells.names[1:], options.label or "label")
    if label is None and options.label is not None:
        raise InvalidParameter(f"label={options.label!r}: {path} has no such column, only {cells.names[1:]}")
    columns = {
        name: [cells.columns[name][rows[i]] if i in rows else "" for i in ids] for name in cells.names[1:]
    }
    return with_columns(graphs, columns, label=label, place=lambda index: f"file {ids[index]}")


def read_edge_list(path: Path, *, directed: bool = False) -> nx.Graph:
    """Two ids per line, separated by white space, commas, semicolons or tabs; "#" and "%" begin comments.

    A third cell is the edge attribute `weight`; a header (`source,target,...`) names further attributes, and
    so does the `{'name': value}` that networkx writes. A line with one id is a node without edges. Where
    every edge is listed in both directions, lines are taken as arcs, so that nothing counts twice.

    Raises:
        InvalidFile: names the line that is no edge.
    """
    text = read_text(path)
    separator = _separator(text)
    names = ["weight"]
    edges: list[Edge] = []
    nodes: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.strip()
        if not line or line[0] in "#%":
            continue
        cells, data = _split(line, separator, f"{path}, line {number}")
        if not edges and not nodes and len(cells) > 1 and cells[0].casefold() in HEADERS:
            names = cells[2:]
        elif len(cells) == 1 and not data:
            nodes.append(cells[0])
        elif len(cells) < 2 or len(cells) > 2 + len(names):
            raise InvalidFile(
                f"{path}, line {number}: {line[:60]!r} is no edge; expected two ids and a weight"
            )
        else:
            data.update(zip(names, map(_value, cells[2:]), strict=False))
            edges.append((cells[0], cells[1], {k: v for k, v in data.items() if v is not None}))
    if not edges and not nodes:
        raise InvalidFile(f"{path} holds no edges and no nodes")
    graph = _empty(edges, directed)
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    return graph


def _separator(text: str) -> str | None:
    """What separates the cells of the first line that is no comment; None is white space."""
    lines = (line.strip() for line in text.split("\n"))
    first = next((line for line in lines if line and line[0] not in "#%"), "").partition("{")[0]
    return delimiter(first) if any(mark in first for mark in ",;\t") else None


def looks_like_edges(cells: Sequence[str]) -> bool:
    """Whether the first row of a table is the header of an edge list, or an edge between two numbers."""
    if cells[0].casefold() in HEADERS:
        return len(cells) > 1
    return len(cells) in (2, 3) and all(isinstance(_value(cell), int) for cell in cells[:2])


def _empty(edges: list[Edge], directed: bool) -> nx.Graph:
    arcs = Counter((u, v) for u, v, _ in edges)
    both = any(u != v for u, v in arcs) and all(arcs[v, u] == count for (u, v), count in arcs.items())
    return nx.MultiDiGraph() if directed or both else nx.MultiGraph()


def _split(line: str, separator: str | None, place: str) -> tuple[list[str], dict[str, Any]]:
    """The cells of a line, and the attributes in the dictionary at its end."""
    ends, brace, rest = line.partition("{")
    data: dict[str, Any] = {}
    if brace:
        try:
            data = dict(ast.literal_eval(brace + rest))
        except (ValueError, SyntaxError, TypeError) as error:
            raise InvalidFile(f"{place}: {(brace + rest)[:60]!r} is no dictionary of attributes") from error
    cells = [cell.strip().strip('"') for cell in ends.split(separator)]
    while len(cells) > 1 and not cells[-1]:
        cells.pop()
    return cells, data


def _value(cell: str) -> int | float | str | None:
    for number in (int, float):
        try:
            return number(cell)
        except ValueError:
            pass
    return cell or None


# JSON lines: one graph per line -> GraphSet.
#
#     {"id": "g1", "nodes": 3, "edges": [[0, 1], [1, 2]], "label": "ring"}
#     {"nodes": [{"id": "a", "kind": 1}, {"id": "b", "kind": 2}], "edges": [["a", "b", {"bond": 1}]]}
#
# `nodes` is their number, or a list of attributes, in which `id` is what the edges call a node (its position
# otherwise). `"directed": true` makes the edges arcs. Whatever else stands in a line becomes a graph column,
# `label` the column `y`.


def read_json_lines(path: Path, options: ReadOptions) -> GraphSet:
    """One graph per line; node and edge attributes are all kept unless `node` and `edge` choose.

    Raises:
        InvalidFile: names the line that is not JSON.
        InvalidGraph: names the line that is no graph.
    """
    lines = [(n, line) for n, line in enumerate(read_text(path).split("\n"), start=1) if line.strip()]
    graphs = [_parse(index, line, options, f"{path}, line {n}") for index, (n, line) in enumerate(lines)]
    ids = [graph.graph.get("id", i) if isinstance(graph, nx.Graph) else i for i, graph in enumerate(graphs)]

    def place(index: int) -> str:
        return f"line {lines[index][0]}"

    try:
        made = from_networkx(
            graphs,
            node=_all_names(graphs, "nodes") if options.node is None else options.node,
            edge=_all_names(graphs, "edges", but=options.weight) if options.edge is None else options.edge,
            weight=options.weight,
            ids=ids,
            errors=options.errors,
            schema=options.schema,
        )
    except (InvalidGraph, InvalidParameter) as error:
        raise in_file(error, path, place) from error
    return with_columns(made, {}, label=None, place=place)


def _parse(index: int, line: str, options: ReadOptions, place: str) -> nx.Graph | Rejected:
    try:
        return _graph(json.loads(line), options)
    except (json.JSONDecodeError, RecursionError) as error:
        problem = f"not JSON, or truncated ({error})"
        if options.errors == "raise":
            raise InvalidFile(f"{place}: {problem}") from error
        return Rejected(index, index, problem)
    except (ValueError, TypeError, KeyError) as error:
        return Rejected(index, index, str(error.args[0]))


def _graph(content: Any, options: ReadOptions) -> nx.Graph:
    if not isinstance(content, dict) or "nodes" not in content:
        raise ValueError("expected an object with 'nodes' and 'edges'")
    columns = {name: value for name, value in content.items() if name not in RESERVED}
    label = match_name(columns, options.label or "label")
    if label is not None:
        columns[LABEL] = columns.pop(label)
    elif options.label is not None:
        columns.pop(LABEL, None)  # another label than the one asked for
    if options.id is not None:
        if options.id not in columns:
            raise ValueError(f"there is no {options.id!r}, which should hold the id")
        columns["id"] = columns.pop(options.id)
    graph = nx.MultiDiGraph() if content.get("directed", options.directed) else nx.MultiGraph()
    graph.graph.update(columns)
    nodes = content["nodes"]
    if not isinstance(nodes, int) and not (
        isinstance(nodes, list) and all(isinstance(n, dict) for n in nodes)
    ):
        raise ValueError("'nodes' is neither a number nor a list of objects")
    rows = [{}] * nodes if isinstance(nodes, int) else nodes
    names = [row.get("id", position) for position, row in enumerate(rows)]
    if len(set(names)) < len(names):
        raise ValueError("two nodes have the same id")
    graph.add_nodes_from(
        (name, {k: v for k, v in row.items() if k != "id"}) for name, row in zip(names, rows, strict=True)
    )
    graph.add_edges_from(_edges(content.get("edges", []), set(names)))
    return graph


def _edges(edges: Any, names: set[Any]) -> Iterable[tuple[Any, Any, dict[str, Any]]]:
    if not isinstance(edges, list):
        raise ValueError(f"'edges' is {json.dumps(edges)[:60]}, expected a list")
    for edge in edges:
        if not isinstance(edge, list) or len(edge) not in (2, 3) or not isinstance((*edge, {})[2], dict):
            raise ValueError(f"the edge {edge!r}, expected [u, v] or [u, v, {{attributes}}]")
        if edge[0] not in names or edge[1] not in names:
            missing = edge[1] if edge[0] in names else edge[0]
            raise ValueError(f"an edge leads to node {missing!r}, which is not among the nodes")
        yield edge[0], edge[1], (*edge, {})[2]


def _all_names(graphs: Sequence[nx.Graph | Rejected], level: str, but: str | None = None) -> Choice:
    """Every attribute that a node or edge of any graph has."""
    rows = (row[-1] for g in graphs if isinstance(g, nx.Graph) for row in getattr(g, level)(data=True))
    names = dict.fromkeys(name for row in rows for name in row)
    return [name for name in names if name != but]
