"""networkx and igraph graphs -> GraphSet, and back; which attributes of networks become columns."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import HALF, POSITIONS, GraphSet, half_characters
from infograph.data.records import (
    FLOATS,
    MANY,
    NUMBERS,
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
from infograph.data.schema import LEVELS, Column, Kind, Level, Schema
from infograph.errors import ColumnWarning

PLAIN = (str, int, float, np.bool_, np.integer, np.floating)


def from_networkx(
    graphs: Iterable[Any], options: ReadOptions | None = None, *, ids: Sequence[str | int] | None = None
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
    return assemble(records, ReadOptions(options.errors), columns=known)  # what is chosen is known


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

    return decided(level, names, options, numbers, kind_of)


def decided(
    level: Level,
    names: Sequence[str],
    options: ReadOptions,
    weight_is_number: Callable[[], bool],
    kind_of: Callable[[str], Kind],
) -> Iterator[Column]:
    """The columns among `names` that the user or a fitted model chose, of the kinds that they say or have."""
    schema, weight, choice = options.schema, options.weight, getattr(options, level)
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
    own = own.item() if isinstance(own, np.generic) else own
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
