"""JSON lines: one graph per line -> GraphSet.

    {"id": "g1", "nodes": 3, "edges": [[0, 1], [1, 2]], "label": "ring"}
    {"nodes": [{"id": "a", "kind": 1}, {"id": "b", "kind": 2}], "edges": [["a", "b", {"bond": 1}]]}

`nodes` is their number, or a list of attributes, in which `id` is what the edges call a node (its position
otherwise). `"directed": true` makes the edges arcs. Whatever else stands in a line becomes a graph column,
`label` the column `y`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import networkx as nx

from infograph.data.formats.reading import LABEL, ReadOptions, in_file, read_text, with_columns
from infograph.data.graphset import GraphSet, Rejected
from infograph.data.networks import Choice, from_networkx
from infograph.data.units import match_name
from infograph.errors import InvalidFile, InvalidGraph, InvalidParameter

RESERVED = ("nodes", "edges", "directed")


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
