"""networkx graphs -> GraphSet: any hashable node ids, directed or not, simple or multi."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from infograph.data.assemble import Errors, Record, collect
from infograph.data.columns import objects
from infograph.data.graphset import GraphSet, Rejected
from infograph.data.schema import Column, Kind, Level, Schema
from infograph.errors import InvalidParameter

Choice = str | Sequence[str] | Mapping[str, Kind | None] | None
LEVELS: tuple[Level, ...] = ("node", "edge")
FLOATS = (float, np.floating, np.ndarray, list, tuple, Fraction, Decimal)
POSITIONS = ("pos", "position")  # as networkx's layouts and PyG call coordinates
PLAIN = (str, int, float, np.integer, np.floating)


def from_networkx(
    graphs: Iterable[nx.Graph | Rejected],
    *,
    node: Choice = None,
    edge: Choice = None,
    weight: str | None = None,
    ids: Sequence[str | int] | None = None,
    errors: Errors = "raise",
    schema: Schema | None = None,
) -> GraphSet:
    """networkx graphs, directed or not, simple or multi, with any hashable node ids -> GraphSet.

    Attributes are taken by name. Without a kind, an attribute is a float where all its values are numbers (or
    sequences of numbers) and not all of them integers; anything else is a category. A categorical attribute
    that some nodes or edges of a graph lack is "unknown" there; a missing float is an error, and so is an
    attribute that a graph has nowhere. A float attribute called "pos" or "position" is where a node is in
    space. Graph attributes (`graph.graph`) of plain types become graph columns,
    `id` the graph's id.

    Args:
        graphs: the graphs.
        node, edge: attributes to keep: names, or {name: "categorical" | "float"}.
        weight: the edge attribute that multiplies messages.
        ids: the user's ids; by default the graph attribute `id`, or the position.
        errors: "raise" at the first bad graph, or "skip" it and list it in `GraphSet.rejected`.
        schema: the schema of a fitted model, which then says which attributes to keep.
    """
    graphs = list(graphs)
    if schema is not None:
        node, edge = ({c.name: c.kind for c in schema.features(level)} for level in LEVELS)
        if schema.position is not None and schema.position.used:
            node[schema.position.name] = "float"
        weight = schema.weight.name if schema.weight else None
    node_kinds, edge_kinds = _kinds(graphs, node, "node"), _kinds(graphs, edge, "edge")
    known = Schema(
        node=tuple(
            Column(name, kind, _width(schema, "node", name), role=_role(name, kind))
            for name, kind in node_kinds.items()
        ),
        edge=tuple(Column(name, kind, _width(schema, "edge", name)) for name, kind in edge_kinds.items()),
    )
    if weight:
        edge_kinds[weight] = "float"
        features = (column for column in known.edge if column.name != weight)
        known = known.replace("edge", (*features, Column(weight, "float", role="weight")))
    return collect(
        graphs, lambda graph: _record(graph, node_kinds, edge_kinds), ids=ids, errors=errors, columns=known
    )


def _role(name: str, kind: Kind) -> Literal["feature", "position"]:
    return "position" if kind == "float" and name in POSITIONS else "feature"


def _width(schema: Schema | None, level: Level, name: str) -> int:
    """Numbers per row as a fitted model knows them: graphs without edges do not show it."""
    column = None if schema is None else schema.column(level, name)
    return 1 if column is None else column.width


def _record(graph: nx.Graph, node_kinds: Mapping[str, Kind], edge_kinds: Mapping[str, Kind]) -> Record:
    if not isinstance(graph, nx.Graph):
        raise TypeError(f"expected a networkx graph, got {type(graph).__name__}")
    numbers = {name: number for number, name in enumerate(graph.nodes)}
    ends = [(numbers[u], numbers[v]) for u, v in graph.edges()]
    arcs = [data for _, _, data in graph.edges(data=True)]
    edges = np.array(ends, dtype=np.int64).reshape(-1, 2).T  # (2, e)
    rows = np.arange(len(arcs))
    if not graph.is_directed():
        edges, rows = _both_ways(edges)
    own = graph.graph.get("id")
    return Record(
        n_nodes=len(numbers),
        edges=edges,
        node={
            name: _attribute(list(graph.nodes.values()), name, kind, "node")
            for name, kind in node_kinds.items()
        },
        edge={name: _attribute(arcs, name, kind, "edge")[rows] for name, kind in edge_kinds.items()},
        graph={
            k: v for k, v in graph.graph.items() if isinstance(k, str) and k != "id" and isinstance(v, PLAIN)
        },
        graph_id=own if isinstance(own, str | int) else None,
    )


def _both_ways(edges: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Both arcs of every undirected edge in turn, and the edge each came from; a loop is one arc."""
    rows = np.repeat(np.arange(edges.shape[1]), 2)
    arcs = np.stack([edges.T, edges.T[:, ::-1]], axis=1).reshape(-1, 2).T  # (2, 2e)
    keep = (arcs[0] != arcs[1]) | (np.arange(len(rows)) % 2 == 0)
    return arcs[:, keep], rows[keep]


def _kinds(graphs: Sequence[nx.Graph | Rejected], choice: Choice, level: Level) -> dict[str, Kind]:
    if isinstance(choice, str):
        choice = [choice]
    if choice is not None and not isinstance(choice, Iterable):
        raise InvalidParameter(f"{level} attributes {choice!r}: expected names, or names with their kinds")
    wanted = dict(choice) if isinstance(choice, Mapping) else dict.fromkeys(() if choice is None else choice)
    for name, kind in wanted.items():
        if kind not in (None, "categorical", "float"):
            raise InvalidParameter(
                f"the {level} attribute {name!r} as {kind!r}: expected 'categorical' or 'float'"
            )
    return {name: kind or _infer(_values(graphs, name, level)) for name, kind in wanted.items()}


def _values(graphs: Sequence[nx.Graph | Rejected], name: str, level: Level) -> Iterator[Any]:
    for graph in graphs:
        if isinstance(graph, nx.Graph):
            data = graph.nodes(data=name) if level == "node" else graph.edges(data=name)
            yield from (row[-1] for row in data if row[-1] is not None)


def _infer(values: Iterable[Any]) -> Kind:
    kind: Kind = "categorical"
    for value in values:
        tensor = hasattr(value, "detach")
        if tensor or isinstance(value, FLOATS):
            kind = "float"
        elif isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer):
            return "categorical"
    return kind


def _attribute(rows: Sequence[Mapping[str, Any]], name: str, kind: Kind, level: Level) -> NDArray[Any]:
    values = [row.get(name) for row in rows]
    missing = sum(value is None for value in values)
    if missing and missing == len(values):
        have = ", ".join(sorted({repr(key) for row in rows for key in row})) or "none"
        raise ValueError(f"no {level} has the attribute {name!r}; the {level}s have: {have}")
    if kind != "float":
        return objects(values)
    if missing:
        raise ValueError(f"the {level} attribute {name!r} is missing on {missing} of {len(values)} {level}s")
    try:
        return _numbers(values)
    except (ValueError, TypeError, OverflowError):
        raise ValueError(
            f"the {level} attribute {name!r} does not hold numbers of one width throughout"
        ) from None


def _numbers(values: Sequence[Any]) -> NDArray[np.float64]:
    rows = [value.detach().cpu().numpy() if hasattr(value, "detach") else value for value in values]
    made = np.array(rows, dtype=np.float64)
    if made.size == 0 and len(rows):
        raise ValueError("no numbers")
    return made
