"""Networks: files of them (GraphML, GEXF, GML, Pajek, graph6, edge lists, JSON lines) and networkx graphs."""

from __future__ import annotations

import ast
import json
import re
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError, iterparse

import networkx as nx
import numpy as np
from networkx.readwrite.graph6 import data_to_n
from numpy.typing import NDArray

from infograph.data.columns import in_file, with_columns
from infograph.data.convert import (
    FLOATS,
    MANY,
    NUMBERS,
    PLAIN,
    Choice,
    ReadOptions,
    Record,
    assemble,
    chosen,
    is_missing,
    is_value,
    objects,
    records_of,
    taken_as_numbers,
    to_numpy,
)
from infograph.data.graphset import HALF, POSITIONS, GraphSet, Rejected, half_characters
from infograph.data.schema import LEVELS, Column, Kind, Level, Schema
from infograph.data.text_tables import delimiter, kind, read_cells, text_lines
from infograph.data.units import LABEL, match_name
from infograph.errors import ColumnWarning, InvalidFile, InvalidGraph, InvalidParameter
from infograph.io import UNREADABLE, open_unpacked

LABELS = "labels.csv"
XML = {".graphml": nx.read_graphml, ".gexf": nx.read_gexf}
TEXTS = {
    ".gml": partial(nx.parse_gml, label="id"),
    ".net": nx.parse_pajek,
    ".g6": lambda lines: nx.from_graph6_bytes(_one(lines).encode()),
    ".s6": lambda lines: nx.from_sparse6_bytes(_sparse6(lines).encode()),
}
HEADERS = {"source", "src", "from", "u", "node1", "node_1", "sender", "i"}
Edge = tuple[str, str, dict[str, Any]]
RESERVED = ("nodes", "edges", "directed")
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
    ids = [path.name.removesuffix(".gz").removesuffix(kind(path)) for path in files]
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
    cells, own = read_cells(path), {file.name: name for file, name in zip(files, ids, strict=True)}
    (_, keys), *others = cells.columns.items()
    rows: dict[str, int] = {}
    for row, given in enumerate(keys):
        graph_id = given if given in ids else own.get(given, given)
        if graph_id not in ids or graph_id in rows:
            what = "stands there twice" if graph_id in rows else "has no file in the folder"
            raise InvalidFile(f"{path}, {cells.place(row)}: the id {graph_id!r} {what}")
        rows[graph_id] = row
    columns = {name: [values[rows[i]] if i in rows else "" for i in ids] for name, values in others}
    label = match_name(columns, options.label or "label")
    if label is None and options.label is not None:
        raise InvalidParameter(f"label={options.label!r}: {path} has no such column, only {list(columns)}")
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
    separator: str | None = ""  # not known before the first line; None is white space
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
        cells = [cell.strip().strip('"') for cell in ends.split(separator)]
        while len(cells) > 1 and not cells[-1]:
            cells.pop()
        if not edges and not nodes and len(cells) > 1 and cells[0].casefold() in HEADERS:
            names = cells[2:]
        elif len(cells) == 1 and not data:
            nodes.append(cells[0])
        elif len(cells) < 2 or len(cells) > 2 + len(names):
            raise InvalidFile(f"{path}, line {number}: {line[:60]!r} is no edge: two ids and a weight")
        else:
            data.update(zip(names, map(_value, cells[2:]), strict=False))
            edges.append((cells[0], cells[1], {k: v for k, v in data.items() if v is not None}))
    if not edges and not nodes:
        raise InvalidFile(f"{path} holds no edges and no nodes")
    arcs = Counter((u, v) for u, v, _ in edges)
    both = any(u != v for u, v in arcs) and all(arcs[v, u] == count for (u, v), count in arcs.items())
    graph = nx.MultiDiGraph() if options.directed or both else nx.MultiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from(edges)
    return graph


def looks_like_edges(cells: Sequence[str]) -> bool:
    """Whether the first row of a table is the header of an edge list, or an edge between two numbers."""
    if cells[0].casefold() in HEADERS:
        return len(cells) > 1
    return len(cells) in (2, 3) and all(isinstance(_value(cell), int) for cell in cells[:2])


def _value(cell: str) -> int | float | str | None:
    for number in (int, float):
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
# `label` the column `y`.


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
    return with_columns(made, {}, None, place)


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
    edges = content.get("edges", [])
    if not isinstance(edges, list):
        raise ValueError(f"'edges' is {json.dumps(edges)[:60]}, expected a list")
    for edge in edges:
        if not isinstance(edge, list) or len(edge) not in (2, 3) or not isinstance((*edge, {})[2], dict):
            raise ValueError(f"the edge {edge!r}, expected [u, v] or [u, v, {{attributes}}]")
        for end in edge[:2]:
            if end not in graph:
                raise ValueError(f"an edge leads to node {end!r}, which is not among the nodes")
        graph.add_edges_from([(edge[0], edge[1], (*edge, {})[2])])
    return graph


# ---- networkx graphs


def from_networkx(
    graphs: Iterable[Any],
    options: ReadOptions | None = None,
    *,
    ids: Sequence[str | int] | None = None,
) -> GraphSet:
    """networkx graphs, directed or not, simple or multi, with any hashable node ids -> GraphSet.

    All attributes are used unless some are chosen by name. Without a kind, an attribute is a float where all
    its values are numbers (or sequences of numbers) and not all of them integers, or more than 100 different
    ones; anything else is a category. What a node or edge lacks is missing. The numbers that edges have as
    "weight" (1 where there is none) multiply messages, and a float attribute called "pos" or "position" is
    where a node is in space. Graph attributes (`graph.graph`) of plain types become graph columns, `id` the
    graph's id. Graphs of igraph are read likewise; the attribute "name" of their vertices is what these are
    called, as the nodes of networkx are, and no column.
    """
    options = options or ReadOptions()
    graphs = [_from_igraph(graph) if hasattr(graph, "vs") else graph for graph in graphs]
    networks = [graph for graph in graphs if isinstance(graph, nx.Graph)]
    known = Schema(tuple(_columns(networks, options, "node")), tuple(_columns(networks, options, "edge")))
    records = records_of(graphs, lambda graph: _record(graph, known), ids)
    return assemble(records, errors=options.errors, columns=known)


def _from_igraph(graph: Any) -> nx.Graph:
    made = nx.MultiDiGraph() if graph.is_directed() else nx.MultiGraph()
    made.graph.update({name: graph[name] for name in graph.attributes()})
    own = [name for name in graph.vs.attributes() if name != "name" and not name.startswith("_nx_")]
    columns = {name: graph.vs[name] for name in own}
    edges = {name: graph.es[name] for name in graph.es.attributes() if not name.startswith("_nx_")}
    made.add_nodes_from((v, {n: c[v] for n, c in columns.items()}) for v in range(graph.vcount()))
    made.add_edges_from(
        (u, v, {n: c[place] for n, c in edges.items()}) for place, (u, v) in enumerate(graph.get_edgelist())
    )
    return made


def _columns(graphs: Sequence[nx.Graph], options: ReadOptions, level: Level) -> Iterator[Column]:
    """The attributes of networks that become columns, as wide as a fitted model knows them."""
    view = "nodes" if level == "node" else "edges"
    rows = [row[-1] for graph in graphs for row in getattr(graph, view)(data=True)]
    names = list(dict.fromkeys(name for row in rows for name in row if isinstance(name, str)))
    names = [name for name in names if not half_characters([name])]  # their graphs are rejected
    choice: Choice = getattr(options, level)
    if not rows and choice is not None:
        names = [choice] if isinstance(choice, str) else list(choice)
    if choice is None:
        odd = {name for row in rows for name, value in row.items() if not is_value(value)}
        names = [name for name in names if name not in odd]
        for name in odd:
            warnings.warn(f"the {level} attribute {name!r} holds no values and is not used", ColumnWarning, 4)

    def numbers() -> bool:
        values = (row["weight"] for row in rows if row.get("weight") is not None)
        return all(isinstance(v, NUMBERS) and not isinstance(v, bool) for v in values)

    def kind_of(name: str) -> Kind:
        return _attribute_kind(name, [row[name] for row in rows if not is_missing(row.get(name))])

    return decided(level, names, choice, options, numbers, kind_of)


def decided(
    level: Level,
    names: Sequence[str],
    choice: Choice,
    options: ReadOptions,
    weight_is_number: Callable[[], bool],
    kind_of: Callable[[str], Kind],
) -> Iterator[Column]:
    """The columns among `names` that the user or a fitted model chose, of the kinds that they say or have."""
    schema, weight = options.schema, options.weight
    if schema is not None:  # what a model has not seen is not read, what it misses it says itself
        used = (c for c in getattr(schema, level) if c.used and c.name in names)
        choice, weight = {c.name: c.kind for c in used}, schema.weight.name if schema.weight else None
    elif level == "edge" and weight is not None:
        choice = {**chosen(choice, names, level), **chosen([weight], names, level)}
    elif level == "edge" and choice is None and "weight" in names:
        weight = "weight" if weight_is_number() else None
    for name, given in chosen(choice, names, level).items():
        known = None if schema is None else schema.column(level, name)
        role = "feature" if known is None else known.role
        if level == "edge" and name == weight:
            given, role = "float", "weight"
        given = given or kind_of(name)
        if level == "node" and given == "float" and name in POSITIONS:
            role = "position"
        yield Column(name, given, 1 if known is None else known.width, role=role)


def _attribute_kind(name: str, values: Sequence[Any]) -> Kind:
    if all(hasattr(value, "detach") or isinstance(value, (*FLOATS, int, np.integer)) for value in values):
        if not all(isinstance(value, int | np.integer) for value in values):
            return "float"
        if not any(isinstance(value, bool | np.bool_) for value in values) and len(set(values)) > MANY:
            return taken_as_numbers(name, len(set(values)))
    return "categorical"


def _record(graph: nx.Graph, known: Schema) -> Record:
    if not isinstance(graph, nx.Graph):
        raise TypeError(f"expected a networkx graph, got {type(graph).__name__}")
    numbers = {name: number for number, name in enumerate(graph.nodes)}
    nodes, arcs = list(graph.nodes.values()), [data for _, _, data in graph.edges(data=True)]
    if half_characters({name for row in (*nodes, *arcs) for name in row}):
        raise ValueError(HALF)
    ends = [(numbers[u], numbers[v]) for u, v in graph.edges()]
    edges = np.array(ends, dtype=np.int64).reshape(-1, 2)  # (e, 2)
    rows = np.arange(len(edges))
    if not graph.is_directed():  # both arcs of every edge in turn; a loop is one arc
        edges, rows = np.stack([edges, edges[:, ::-1]], axis=1).reshape(-1, 2), np.repeat(rows, 2)
        keep = (edges[:, 0] != edges[:, 1]) | (np.arange(len(rows)) % 2 == 0)
        edges, rows = edges[keep], rows[keep]
    own = graph.graph.get("id")
    columns = {name: v for name, v in graph.graph.items() if isinstance(name, str) and isinstance(v, PLAIN)}
    columns.pop("id", None)
    return Record(
        n_nodes=len(numbers),
        edges=edges.T,
        node={column.name: _attribute(nodes, column, "node") for column in known.node},
        edge={column.name: _attribute(arcs, column, "edge")[rows] for column in known.edge},
        graph=columns,
        graph_id=own if isinstance(own, str | int) else None,
    )


def _attribute(rows: Sequence[Mapping[str, Any]], column: Column, level: Level) -> NDArray[Any]:
    values: list[Any] = [row.get(column.name) for row in rows]
    if column.kind != "float":
        return objects(values)
    gap: Any = np.full(column.width, np.nan) if column.width > 1 else np.nan
    gap = 1.0 if column.role == "weight" else gap  # as networkx has it
    wide = next((np.full(np.shape(v), np.nan) for v in values if np.ndim(v)), gap)
    given = [wide if is_missing(v) else to_numpy(v) if hasattr(v, "detach") else v for v in values]
    try:
        made = np.array(given, np.float64)
    except (ValueError, TypeError, OverflowError):
        made = np.zeros(0)
    if values and not made.size:
        raise ValueError(
            f"the {level} attribute {column.name!r} does not hold numbers of one width throughout"
        )
    return made


def to_networkx(graphs: GraphSet) -> list[nx.Graph]:
    """One networkx graph per graph, nodes numbered from 0, columns as attributes.

    A graph all of whose arcs have their reverse becomes undirected; repeated arcs make it a multigraph.
    """
    node, edge, label = (
        {c.name: graphs.values(level, c.name).tolist() for c in getattr(graphs.schema, level)}
        for level in LEVELS
    )
    ids, node_ptr, edge_ptr = (part.tolist() for part in (graphs.ids, graphs.node_ptr, graphs.edge_ptr))
    made = []
    for g in range(len(graphs)):
        arcs = range(edge_ptr[g], edge_ptr[g + 1])
        ends = [(u, v) for u, v in graphs.edges[:, arcs.start : arcs.stop].T.tolist()]
        rows = [{name: values[a] for name, values in edge.items()} for a in arcs]
        forward = sorted((u, v, str(row)) for (u, v), row in zip(ends, rows, strict=True))
        backward = sorted((v, u, str(row)) for (u, v), row in zip(ends, rows, strict=True))
        kinds = (nx.Graph, nx.MultiGraph) if forward == backward else (nx.DiGraph, nx.MultiDiGraph)
        graph = kinds[len(set(ends)) < len(ends)]()
        graph.graph.update({"id": ids[g], **{name: values[g] for name, values in label.items()}})
        nodes = range(node_ptr[g], node_ptr[g + 1])
        own = ({name: values[n] for name, values in node.items()} for n in nodes)
        graph.add_nodes_from(enumerate(own))
        arcs_once = ((u, v, row) for (u, v), row in zip(ends, rows, strict=True))
        graph.add_edges_from(arc for arc in arcs_once if graph.is_directed() or arc[0] <= arc[1])
        made.append(graph)
    return made
