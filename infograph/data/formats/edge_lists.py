"""Edge lists: one edge per line -> a networkx graph."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import networkx as nx

from infograph.data.formats.cells import delimiter
from infograph.data.formats.reading import read_text
from infograph.errors import InvalidFile

HEADERS = {"source", "src", "from", "u", "node1", "node_1", "sender", "i"}
Edge = tuple[str, str, dict[str, Any]]


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
