"""Single graphs, as readers find them, checked and put together into a GraphSet."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from infograph.data.columns import id_array, store_column, store_graph_column
from infograph.data.graphset import GraphSet, IntArray, Rejected, pointer
from infograph.data.schema import Column, Schema
from infograph.errors import InvalidGraph, InvalidParameter, NothingLeft

Errors = Literal["raise", "skip"]
LARGEST = float(np.finfo(np.float32).max)
Widths = dict[tuple[str, str], tuple[int, ...]]


@dataclass(frozen=True)
class Record:
    """One graph as a reader found it: n nodes, e arcs.

    Attributes:
        n_nodes: its number of nodes.
        edges: (2, e) arcs, numbered from 0.
        node, edge: raw values per column, one row per node or arc. Floats become float columns; text,
            integers and booleans become categories.
        graph: one raw value per column, or None where it is missing.
        graph_id: the user's id, None for the position in the input.
    """

    n_nodes: int
    edges: IntArray
    node: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    edge: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    graph: Mapping[str, Any] = field(default_factory=dict)
    graph_id: str | int | None = None


def assemble(
    records: Iterable[Record | Rejected],
    *,
    errors: Errors = "raise",
    columns: Schema | None = None,
) -> GraphSet:
    """Check every graph and join them.

    Args:
        records: graphs, or what stands in the place of one that could not be read.
        errors: "raise" at the first bad graph, or "skip" it and list it in `rejected`.
        columns: kinds, units and defaults of columns known beforehand; the rest is inferred from the values.

    Raises:
        InvalidGraph: names the graph and what is wrong with it.
        InvalidParameter: there is no graph at all.
    """
    check_errors(errors)
    good: list[Record] = []
    rejected: list[Rejected] = []
    widths: Widths = {}
    for index, record in enumerate(records):
        problem = record.problem if isinstance(record, Rejected) else _problem(record, good[:1], widths)
        if isinstance(record, Record):
            record = record if record.graph_id is not None else replace(record, graph_id=index)
        if problem and errors == "raise":
            raise InvalidGraph(problem, index=index, graph_id=record.graph_id)
        if problem:
            rejected.append(Rejected(index, index if record.graph_id is None else record.graph_id, problem))
        elif isinstance(record, Record):
            good.append(record)
    if not good:
        raise NothingLeft(nothing_left(rejected), len(rejected), rejected)
    return _join(good, rejected, columns or Schema())


def collect(
    items: Iterable[Any],
    record: Callable[[Any], Record],
    *,
    ids: Sequence[str | int] | None = None,
    errors: Errors = "raise",
    columns: Schema | None = None,
) -> GraphSet:
    """`record` over all items, then `assemble`.

    An item that `record` refuses keeps its place as rejected, and so does a `Rejected` among the items.
    """

    def attempt(index: int, item: Any) -> Record | Rejected:
        graph_id = index if ids is None else ids[index]
        if isinstance(item, Rejected):
            return item
        try:
            made = record(item)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            return Rejected(index, graph_id, str(error.args[0]) if error.args else repr(error))
        return made if ids is None and made.graph_id is not None else replace(made, graph_id=graph_id)

    return assemble((attempt(i, item) for i, item in enumerate(items)), errors=errors, columns=columns)


def check_errors(errors: str) -> None:
    """Refuse a misspelt `errors`."""
    if errors not in ("raise", "skip"):
        raise InvalidParameter(f"errors={errors!r}: expected 'raise' or 'skip'")


def nothing_left(rejected: Sequence[Rejected]) -> str:
    """What to say when not one graph could be used."""
    if not rejected:
        return "no graphs: the input is empty"
    return f"no graphs: all {len(rejected)} were rejected; the first: {rejected[0].problem}"


def _problem(record: Record, first: Sequence[Record], widths: Widths) -> str:
    """What is wrong with a graph, or an empty string; `widths` remembers the shape of a row per column."""
    if record.n_nodes < 1:
        return "it has no nodes; leave it out, or pass errors='skip'"
    edges = record.edges
    if edges.ndim != 2 or edges.shape[0] != 2:
        return f"edges of shape {edges.shape}, expected (2, number of edges)"
    if edges.size and (edges.min() < 0 or edges.max() >= record.n_nodes):
        bad = int(edges[(edges < 0) | (edges >= record.n_nodes)][0])
        return f"an edge leads to node {bad}, but the nodes are 0 ... {record.n_nodes - 1}"
    for level, rows in (("node", record.n_nodes), ("edge", edges.shape[1])):
        columns = getattr(record, level)
        if first and set(columns) != set(getattr(first[0], level)):
            names, expected = sorted(columns), sorted(getattr(first[0], level))
            return (
                f"{level} columns {names}, while the first graph has {expected}; every graph needs the same"
            )
        for name, values in columns.items():
            problem = _column_problem(values, rows, widths.get((level, name)))
            if problem:
                return f"{level} column {name!r}: {problem}"
    for level in ("node", "edge"):
        for name, values in getattr(record, level).items():
            if len(values):
                widths.setdefault((level, name), values.shape[1:])
    return ""


def _column_problem(values: NDArray[Any], rows: int, expected: tuple[int, ...] | None) -> str:
    if len(values) != rows:
        return f"{len(values)} rows for {rows} nodes or edges"
    if rows and expected is not None and values.shape[1:] != expected:
        width, first = (math.prod(shape) for shape in (values.shape[1:], expected))
        return f"{width} numbers each, while the first graph has {first}; every graph needs the same width"
    if values.dtype.kind != "f":
        return ""
    good = np.abs(values) <= LARGEST
    if good.all():
        return ""
    row = int(np.argwhere(~good)[0][0])
    if np.isfinite(values).all():
        return f"a number in row {row} is too large for 32 bits ({values[row]}); rescale the column"
    row = int(np.argwhere(~np.isfinite(values))[0][0])
    return f"not a finite number in row {row} ({values[row]}); fill or drop it before"


def _join(records: Sequence[Record], rejected: Sequence[Rejected], known: Schema) -> GraphSet:
    node, node_columns = _join_level(records, "node", known)
    edge, edge_columns = _join_level(records, "edge", known)
    graph, graph_columns = _join_graph_level(records, known)
    return GraphSet(
        node_ptr=pointer(np.array([record.n_nodes for record in records])),
        edge_ptr=pointer(np.array([record.edges.shape[1] for record in records])),
        edges=np.concatenate([record.edges for record in records], axis=1).astype(np.int32),
        node=node,
        edge=edge,
        graph=graph,
        ids=id_array([record.graph_id for record in records]),
        schema=Schema(node=node_columns, edge=edge_columns, graph=graph_columns),
        rejected=tuple(rejected),
    )


def _join_level(
    records: Sequence[Record], level: Literal["node", "edge"], known: Schema
) -> tuple[dict[str, NDArray[Any]], tuple[Column, ...]]:
    stored: dict[str, NDArray[Any]] = {}
    columns: list[Column] = []
    for name in getattr(records[0], level):
        parts = [getattr(record, level)[name] for record in records]
        values = np.concatenate([part for part in parts if len(part)] or parts[:1])
        stored[name], column = store_column(name, values, known.column(level, name))
        columns.append(column)
    return stored, tuple(columns)


def _join_graph_level(
    records: Sequence[Record], known: Schema
) -> tuple[dict[str, NDArray[Any]], tuple[Column, ...]]:
    stored: dict[str, NDArray[Any]] = {}
    columns: list[Column] = []
    for name in dict.fromkeys(name for record in records for name in record.graph):
        raw = [record.graph.get(name) for record in records]
        stored[name], column = store_graph_column(name, raw, known.column("graph", name))
        columns.append(column)
    return stored, tuple(columns)
