"""Files of networks (GraphML, GEXF, GML, Pajek, graph6, edge lists, JSON lines) -> GraphSet."""

from __future__ import annotations

import ast
import csv
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError, iterparse

import networkx as nx
from networkx.readwrite.graph6 import data_to_n

from infograph.data.columns import chosen_column, edge_columns, in_file, placed, with_columns
from infograph.data.graphset import GraphSet, Rejected
from infograph.data.labels import is_plain
from infograph.data.molecules import SMILES_LIKE
from infograph.data.networks import from_networkx
from infograph.data.records import ReadOptions
from infograph.data.text_tables import cell_blocks, delimiter, kind, stem, text_lines, whole
from infograph.data.units import LABEL, match_name
from infograph.errors import InvalidFile, InvalidGraph, InvalidParameter
from infograph.io import UNREADABLE, open_unpacked

LABELS = "labels.csv"
XML = {".graphml": nx.read_graphml, ".gexf": nx.read_gexf}
TEXTS = {
    ".gml": partial(nx.parse_gml, label="id"),
    ".net": nx.parse_pajek,
    ".g6": lambda lines: nx.from_graph6_bytes(_one(lines).encode()),
    ".s6": lambda lines: nx.from_sparse6_bytes(_sparse6(lines).encode()),
}
HEADERS = {"source", "src", "src_id", "from", "u", "node1", "node_1", "sender", "i"}
Edge = tuple[str, str, dict[str, Any]]
RESERVED = ("nodes", "edges", "directed", "multigraph")
# What networkx says of odd files, by mistake too.
MALFORMED = (*UNREADABLE, LookupError, AttributeError, NameError, StopIteration, nx.NetworkXException)
LARGEST = 10_000_000  # nodes that a number may stand for


def network_files(folder: Path) -> list[Path]:
    """The files of a folder that may hold one graph each, sorted by name with numbers as numbers."""
    others = (".", LABELS, "readme", "license")
    files = (path for path in folder.iterdir() if path.is_file())
    return sorted(
        (path for path in files if not path.name.casefold().startswith(others)),
        key=lambda path: [
            (int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", path.name)
        ],
    )


def read_networks(files: Sequence[Path], options: ReadOptions, labels: Path | None = None) -> GraphSet:
    """One graph per file, whose name without extension is its id; other kinds of files are rejected.

    The first column of the table `labels` is the ids, or the files' names; the others become graph columns.
    """
    strange = [path for path in files if kind(path) not in NETWORKS]
    files = [path for path in files if kind(path) in NETWORKS]
    ids = list(map(stem, files))
    graphs: list[nx.Graph | Rejected] = []
    for index, path in enumerate(files):
        try:
            graphs.append(NETWORKS[kind(path)](path, options))
        except InvalidFile as error:
            if options.errors == "raise":
                raise
            graphs.append(Rejected(index, ids[index], str(error)))
    try:
        made = from_networkx(graphs, options, ids=ids)
    except InvalidGraph as error:
        path = files[error.index or 0]
        raise InvalidGraph(f"{path}: {error.problem}", index=error.index, graph_id=error.graph_id) from error
    made = _with_labels(made, files, ids, labels, options) if labels and labels.is_file() else made
    unread = (
        Rejected(
            len(files) + place, path.name, f"file {path.name}: there is no reader for {kind(path)!r} files"
        )
        for place, path in enumerate(strange)
    )
    return replace(made, rejected=(*made.rejected, *unread))


def _with_labels(
    graphs: GraphSet, files: Sequence[Path], ids: Sequence[str], path: Path, options: ReadOptions
) -> GraphSet:
    cells = whole(path, cell_blocks(path))
    named = {file.name: graph_id for file, graph_id in zip(files, ids, strict=True)} | {i: i for i in ids}
    (_, keys), *others = cells.columns.items()
    rows: dict[str, int] = {}
    for row, given in enumerate(keys):
        graph_id = named.get(given)
        if graph_id is None or graph_id in rows:
            what = "has no file in the folder" if graph_id is None else "stands there twice"
            raise InvalidFile(f"{path}, {cells.place(row)}: the id {graph_id or given!r} {what}")
        rows[graph_id] = row
    columns = {name: [values[rows[i]] if i in rows else "" for i in ids] for name, values in others}
    label = chosen_column(columns, options.label, "label", path) or match_name(columns, "label")
    return with_columns(graphs, columns, label, lambda index: f"file {ids[index]}")


def _read_xml(path: Path, options: ReadOptions) -> nx.Graph:
    try:
        with open_unpacked(path) as file:
            graph = XML[kind(path)](file)
        with open_unpacked(path) as file:
            items = (item for _, item in iterparse(file) if item.tag.rpartition("}")[2] == "node")
            declared = {item.get("id") for item in items}
        for node in set(graph) - declared:  # made up by networkx
            raise ValueError(f"an edge leads to node {node!r}, which is not among the nodes")
    except InvalidFile:
        raise
    except (ParseError, OSError, EOFError, zlib.error, *MALFORMED) as error:
        raise InvalidFile(f"{path} is empty, truncated or no {kind(path)[1:]} file: {error}") from error
    if kind(path) == ".gexf":  # of the format, not of the graph
        graph.graph.pop("mode", None)
        _without(graph, "label", "viz", "id")
    return graph


def _without(graph: nx.Graph, *names: str) -> None:
    """Leave out what a format says of nodes and edges to show them."""
    for data in (*graph.nodes.values(), *(data for _, _, data in graph.edges(data=True))):
        for name in names:
            data.pop(name, None)


def _read_text(path: Path, options: ReadOptions) -> nx.Graph:
    try:
        graph = TEXTS[kind(path)](line.rstrip("\n") for line in text_lines(path))
    except InvalidFile:
        raise
    except MALFORMED as error:
        reason = str(error) or "it ends before what it announces, or does not fit into memory"
        raise InvalidFile(f"{path} is truncated or no {kind(path)[1:]} file: {reason}") from error
    _without(graph, *{".net": ("id", "x", "y", "shape"), ".gml": ("label", "graphics")}.get(kind(path), ()))
    return graph


def _one(lines: Iterable[str]) -> str:
    graphs = [line for line in lines if line.strip()]
    if len(graphs) > 1:
        raise ValueError(f"{len(graphs)} graphs; expected one per file")
    return graphs[0]


def _sparse6(lines: Iterable[str]) -> str:
    """The text of one graph; ten characters of it can announce more nodes than memory holds."""
    text = _one(lines)
    n_nodes, _ = data_to_n([ord(letter) - 63 for letter in text.removeprefix(">>sparse6<<")[1:9]])
    if n_nodes > LARGEST:
        raise ValueError(f"it has more than {LARGEST:,} nodes: save so large a graph as a GraphSet")
    return text


def read_edge_list(path: Path, options: ReadOptions) -> nx.Graph:
    """Two ids per line, separated by white space, commas, semicolons or tabs; "#" and "%" begin comments.

    A third cell is the edge attribute `weight`; a header (`source,target,...`) names further attributes, and
    so does the `{'name': value}` that networkx writes. A line with one id is a node without edges. Where
    every edge is listed in both directions, lines are taken as arcs, so that nothing counts twice.
    """
    edges, nodes = _listed(path)
    if not edges and not nodes:
        raise InvalidFile(f"{path} holds no edges and no nodes")
    first = [*nodes, *(u for u, _, _ in edges)]
    if len(first) > 1 and all(map(SMILES_LIKE.fullmatch, first)):
        apart = {*nodes, *(end for edge in edges for end in edge[:2])}
        if len(apart) == len(nodes) + 2 * len(edges):  # nothing is joined to anything, as SMILES and ids are
            raise InvalidFile(f"{path} looks like SMILES, and such files hold edges: call it .smi")
    arcs = Counter((u, v) for u, v, _ in edges)
    both = any(u != v for u, v in arcs) and all(arcs[v, u] == count for (u, v), count in arcs.items())
    graph = nx.MultiDiGraph() if options.directed or both else nx.MultiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    return graph


def _listed(path: Path) -> tuple[list[Edge], list[str]]:
    """The edges of a file, and the nodes that stand there alone."""
    separator: str | None = ""  # not known before the first line; None is white space
    order: list[int] = []  # of the cells below a header: the ends, then attributes
    names = ["weight"]
    edges: list[Edge] = []
    nodes: list[str] = []
    for number, line in enumerate(text_lines(path), start=1):
        line = line.strip()
        if not line or line[0] in "#%":
            continue
        ends, brace, rest = line.partition("{")
        try:
            data = dict(ast.literal_eval(brace + rest)) if brace else {}
        except UNREADABLE as error:
            problem = f"{(brace + rest)[:60]!r} is no dictionary of attributes"
            raise InvalidFile(f"{path}, line {number}: {problem}") from error
        if separator == "":
            separator = delimiter(ends) if any(mark in ends for mark in ",;\t") else None
        cells = _cells(ends, separator)
        if not order and not edges and not nodes and (order := _header(cells, separator)):
            names = [cells[place] for place in order[2:]]
            continue
        if order and len(cells) > 1:
            row = [*cells, *[""] * (len(order) - len(cells))]
            cells = [*(row[place] for place in order), *row[len(order) :]]
        while len(cells) > 1 and not cells[-1]:
            cells.pop()
        if len(cells) == 1 and not data:
            nodes += filter(None, cells)  # a table may end with rows of empty cells
        elif len(cells) < 2 or not cells[0] or len(cells) > 2 + len(names):
            raise InvalidFile(f"{path}, line {number}: {line[:60]!r} is no edge: two ids and a weight")
        else:
            data.update(zip(names, map(_value, cells[2:]), strict=False))
            edges.append((cells[0], cells[1], {k: v for k, v in data.items() if k and v is not None}))
    return edges, nodes


def _header(cells: Sequence[str], separator: str | None) -> list[int]:
    """Where source, target and attributes stand in the rows below a header; nothing if this is none."""
    found = edge_columns(cells) if separator else None  # "v u" may be an edge
    if found is None and (len(cells) < 2 or cells[0].casefold() not in HEADERS):
        return []
    ends = [0, 1] if found is None else [cells.index(name) for name in found[1:]]
    return [*ends, *(place for place in range(len(cells)) if place not in ends)]


def _cells(line: str, separator: str | None) -> list[str]:
    """What stands between separators outside of quotes; nothing where a cell is too long."""
    parts = line.split(separator)
    if separator is not None and '"' in line:
        try:
            parts = next(csv.reader([line], delimiter=separator))
        except csv.Error:
            return []
    return [part.strip().strip('"') for part in parts]


def looks_like_edges(cells: Sequence[str]) -> bool:
    """Whether the first row of a table is the header of an edge list, or an edge between two numbers."""
    if cells[0].casefold() in HEADERS:
        return len(cells) > 1
    return len(cells) in (2, 3) and all(isinstance(_value(cell), int) for cell in cells[:2])


def _value(cell: str) -> int | float | str | None:
    for number in (int, float) if is_plain(cell) else ():
        try:
            return number(cell)
        except ValueError:
            pass
    return cell or None


EDGE_LISTS = (".edgelist", ".edges", ".txt", ".csv", ".tsv")
NETWORKS: dict[str, Callable[[Path, ReadOptions], nx.Graph]] = {
    **dict.fromkeys(XML, _read_xml),
    **dict.fromkeys(TEXTS, _read_text),
    **dict.fromkeys(EDGE_LISTS, read_edge_list),
}


# JSON lines: one graph per line.
#
#     {"id": "g1", "nodes": 3, "edges": [[0, 1], [1, 2]], "label": "ring"}
#     {"nodes": [{"id": "a", "kind": 1}, {"id": "b", "kind": 2}], "edges": [["a", "b", {"bond": 1}]]}
#
# `nodes` is their number, or a list of attributes, in which `id` is what the edges call a node (its position
# otherwise). `"directed": true` makes the edges arcs. Whatever else stands in a line becomes a graph column,
# `label` the column `y`. What `networkx.node_link_data` gives is read, too: edges as objects with `source`
# and `target`, under `edges` or `links`, and the columns under `graph`.


def read_json_lines(path: Path, options: ReadOptions) -> GraphSet:
    """One graph per line; node and edge attributes are all kept unless `node` and `edge` choose."""
    lines: list[int] = []
    graphs: list[nx.Graph | Rejected] = []
    for number, line in enumerate(text_lines(path), start=1):
        if not line.strip():
            continue
        index, problem = len(lines), ""
        lines.append(number)
        try:
            graphs.append(_graph(json.loads(line), options))
        except (json.JSONDecodeError, RecursionError) as error:
            problem = f"not JSON, or truncated ({error})"
            if options.errors == "raise":
                raise InvalidFile(f"{path}, line {number}: {problem}") from error
        except (ValueError, TypeError, KeyError) as error:
            problem = str(error.args[0])
        if problem:
            graphs.append(Rejected(index, index, problem))
    ids = [graph.graph.get("id", i) if isinstance(graph, nx.Graph) else i for i, graph in enumerate(graphs)]

    def place(index: int) -> str:
        return f"line {lines[index]}"

    try:
        made = from_networkx(graphs, options, ids=ids)
    except (InvalidGraph, InvalidParameter) as error:
        raise in_file(error, path, place) from error
    return replace(made, rejected=placed(made.rejected, place))


def _graph(content: Any, options: ReadOptions) -> nx.Graph:
    if not isinstance(content, dict) or "nodes" not in content:
        raise ValueError("expected an object with 'nodes' and 'edges'")
    if "adjacency" in content:
        raise ValueError("'adjacency' is not read: give 'edges', such as [[0, 1], [1, 2]]")
    listed = "edges" if "edges" in content else "links"
    columns = {name: value for name, value in content.items() if name not in (*RESERVED, listed)}
    if isinstance(columns.get("graph"), dict):
        columns = {**columns.pop("graph"), **columns}
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
    if isinstance(nodes, int) and nodes > LARGEST:
        raise ValueError(f"'nodes' is more than {LARGEST:,}: save so large a graph as a GraphSet")
    rows = [{}] * nodes if isinstance(nodes, int) else nodes
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("'nodes' is neither a number nor a list of objects")
    names = [row.get("id", position) for position, row in enumerate(rows)]
    if len(set(names)) < len(names):
        raise ValueError("two nodes have the same id")
    graph.add_nodes_from(
        (name, {k: v for k, v in row.items() if k != "id"}) for name, row in zip(names, rows, strict=True)
    )
    edges = content.get(listed, [])
    if not isinstance(edges, list):
        raise ValueError(f"{listed!r} is {json.dumps(edges)[:60]}, expected a list")
    graph.add_edges_from(_ends_and_data(edge, graph, bool(content.get("multigraph"))) for edge in edges)
    return graph


def _ends_and_data(edge: Any, graph: nx.Graph, multigraph: bool) -> tuple[Any, Any, dict[str, Any]]:
    """An edge as it stands in the file; `key` is no attribute where networkx wrote a `multigraph`."""
    if isinstance(edge, dict) and {"source", "target"} <= edge.keys():
        unseen = ("source", "target", "key") if multigraph else ("source", "target")
        own = {name: value for name, value in edge.items() if name not in unseen}
        edge = [edge["source"], edge["target"], own]
    if not isinstance(edge, list) or len(edge) not in (2, 3) or not isinstance((*edge, {})[2], dict):
        raise ValueError(f"the edge {edge!r}, expected [u, v] or [u, v, {{attributes}}]")
    for end in edge[:2]:
        if end not in graph:
            raise ValueError(f"an edge leads to node {end!r}, which is not among the nodes")
    return edge[0], edge[1], (*edge, {})[2]
