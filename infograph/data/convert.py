"""Anyone's graphs -> GraphSet: networkx, PyG, arrays, and lists of them; and back again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import POSITIONS, GraphSet, IntArray, Rejected, align, concatenate, pointer
from infograph.data.schema import Category, Column, Kind, Level, Schema
from infograph.errors import InvalidGraph, InvalidParameter, NothingLeft

if TYPE_CHECKING:
    from torch_geometric.data import Data

ACCEPTED = (
    "a GraphSet, a path, a data set's name, or a list of networkx graphs, PyG Data, "
    "(edge_index, node_features) tuples, SMILES strings or RDKit molecules"
)
Errors = Literal["raise", "skip"]
LARGEST = float(np.finfo(np.float32).max)
Widths = dict[tuple[str, str], tuple[int, ...]]
Choice = str | Sequence[str] | Mapping[str, Kind | None] | None
LEVELS: tuple[Level, ...] = ("node", "edge")
FLOATS = (float, np.floating, np.ndarray, list, tuple, Fraction, Decimal)
PLAIN = (str, int, float, np.integer, np.floating)
Salts = Literal["keep", "strip"]


def as_graphset(
    source: Any,
    *,
    node: Choice = None,
    edge: Choice = None,
    weight: str | None = None,
    hydrogens: bool | None = None,
    salts: Salts | None = None,
    ids: Sequence[str | int] | None = None,
    errors: Errors = "raise",
    schema: Schema | None = None,
    keep: bool = False,
) -> GraphSet:
    """Turn whatever holds graphs into a GraphSet.

    Args:
        source: a GraphSet, a path or data set name, or a list, array or pandas Series of networkx graphs, PyG
            Data, `(edge_index, node_features)` tuples, SMILES strings, RDKit molecules or GraphSets.
        node, edge: attributes of networkx graphs to keep: names, or {name: "categorical" | "float"}.
        weight: the networkx edge attribute that multiplies messages.
        hydrogens: whether the hydrogens of molecules become nodes; None as `schema` says, else no.
        salts: "keep" all pieces of molecules or "strip" counter-ions; None as `schema` says, else "keep".
        ids: the user's ids, one per graph; the position otherwise.
        errors: "raise" at the first bad graph, or "skip" it and list it in `GraphSet.rejected`.
        schema: the schema of a fitted model; the graphs are read and coded its way.
        keep: whether node and edge columns that `schema` lacks stay, unseen by encoders.

    Raises:
        InvalidGraph: a graph cannot be used; the message names it.
        InvalidParameter: the source is of no known kind, or empty.
        SchemaMismatch: the graphs lack a column of `schema`.
    """
    if isinstance(source, GraphSet):
        graphs = _with_ids(source, ids)
    elif isinstance(source, str | Path):
        from infograph.data.read import read_graphs

        graphs = read_graphs(
            source,
            node=node,
            edge=edge,
            weight=weight,
            hydrogens=hydrogens,
            salts=salts,
            errors=errors,
            schema=schema,
        )
        graphs = _with_ids(graphs, ids)
    else:
        graphs = _from_list(
            _items(source),
            node=node,
            edge=edge,
            weight=weight,
            hydrogens=hydrogens,
            salts=salts,
            ids=ids,
            errors=errors,
            schema=schema,
        )
    if not len(graphs):
        raise InvalidParameter("no graphs: the GraphSet is empty")
    return graphs if schema is None else align(graphs, schema, keep=keep)


def _from_list(
    items: list[Any],
    *,
    node: Choice,
    edge: Choice,
    weight: str | None,
    hydrogens: bool | None,
    salts: Salts | None,
    ids: Sequence[str | int] | None,
    errors: Errors,
    schema: Schema | None,
) -> GraphSet:
    if not items:
        raise InvalidParameter(f"no graphs: the list is empty; expected {ACCEPTED}")
    first = next((item for item in items if not is_missing(item)), None)
    if isinstance(first, GraphSet):
        return _with_ids(concatenate(items), ids)
    if ids is not None and len(ids) != len(items):
        raise InvalidParameter(f"{len(ids)} ids for {len(items)} graphs")
    if isinstance(first, nx.Graph):
        return from_networkx(
            items, node=node, edge=edge, weight=weight, ids=ids, errors=errors, schema=schema
        )
    if isinstance(first, str) or _is_a(first, "rdkit.Chem", "Mol"):
        from infograph.data.molecules import from_molecules

        return from_molecules(items, ids=ids, errors=errors, schema=schema, hydrogens=hydrogens, salts=salts)
    if hasattr(first, "edge_index"):
        return from_pyg(items, ids=ids, errors=errors)
    if isinstance(first, tuple):
        return from_edges(items, ids=ids, errors=errors)
    raise InvalidParameter(f"cannot read graphs from a list of {type(first).__name__}; expected {ACCEPTED}")


def _items(source: Any) -> list[Any]:
    if _is_a(source, "torch_geometric.data", "Batch"):
        return list(source.to_data_list())
    if (
        isinstance(source, nx.Graph)
        or _is_a(source, "torch_geometric.data", "Data")
        or _is_a(source, "rdkit", "Mol")
    ):
        raise InvalidParameter(f"one single graph ({type(source).__name__}): put it into a list")
    if _is_a(source, "pandas", "DataFrame"):
        raise InvalidParameter("a whole DataFrame: pass its SMILES column, for instance table['smiles']")
    if not isinstance(source, Iterable) or isinstance(source, Mapping | bytes):
        raise InvalidParameter(f"cannot read graphs from a {type(source).__name__}; expected {ACCEPTED}")
    if isinstance(source, np.ndarray) and (source.dtype.kind not in "OUT" or source.ndim != 1):
        raise InvalidParameter(
            f"cannot read graphs from an array of {source.dtype}, shape {source.shape}; expected {ACCEPTED}"
        )
    return list(source)


def _is_a(item: object, package: str, name: str) -> bool:
    """Whether an object is of a class of an optional package, without importing that package."""
    return any(base.__name__ == name and base.__module__.startswith(package) for base in type(item).__mro__)


def _with_ids(graphs: GraphSet, ids: Sequence[str | int] | None) -> GraphSet:
    if ids is None:
        return graphs
    if len(ids) != len(graphs):
        raise InvalidParameter(f"{len(ids)} ids for {len(graphs)} graphs")
    return replace(graphs, ids=id_array(list(ids)))


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


def store_column(name: str, values: NDArray[Any], known: Column | None) -> tuple[NDArray[Any], Column]:
    """A node or edge column: floats become float32, everything else categories."""
    if known is not None and known.kind == "categorical" and known.categories:
        codes: dict[Category | None, int] = {category: code for code, category in enumerate(known.categories)}
        return np.array([codes.get(plain(v), known.unknown) for v in values], np.int32), known
    kind = known.kind if known else ("float" if values.dtype.kind == "f" else "categorical")
    base = replace(known or Column(name, kind), categories=())
    if kind == "float":
        width = math.prod(values.shape[1:]) if len(values) or known is None else known.width
        if base.role == "weight" and width != 1:
            raise InvalidParameter(f"the weight {name!r} holds {width} numbers per edge, expected one")
        shape = (len(values), width) if width != 1 else (len(values),)
        return values.astype(np.float32).reshape(shape), replace(base, width=width)
    categories, codes_array = categorise(values)
    return codes_array, replace(base, categories=categories)


def store_graph_column(
    name: str, raw: Sequence[Any], known: Column | None = None
) -> tuple[NDArray[Any], Column]:
    """A graph column; None stands where a value is missing.

    Unless `known` says otherwise, numbers of which at least one is a float are floats, texts that hardly ever
    repeat are texts, and everything else is categories.
    """
    kind = known.kind if known else _graph_kind(raw)
    base = known or Column(name, kind)
    if kind == "float":
        return np.array([np.nan if v is None else _number(v) for v in raw], np.float64), base
    if kind == "text":
        return np.array(["" if v is None else str(v) for v in raw], np.str_), base
    categories, codes = categorise(objects(raw))
    return codes, replace(base, categories=categories)


def _number(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number of more than 308 digits
        return math.inf if value > 0 else -math.inf


def _graph_kind(raw: Sequence[Any]) -> Kind:
    given = [value for value in raw if value is not None]
    if all(isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in given):
        return (
            "float" if not given or any(isinstance(v, float | np.floating) for v in given) else "categorical"
        )
    if not all(isinstance(v, str) for v in given):
        return "categorical"
    n_distinct = len(set(given))
    return "text" if n_distinct == len(given) or n_distinct > max(100, len(given) / 2) else "categorical"


def categorise(values: NDArray[Any]) -> tuple[tuple[Category, ...], NDArray[np.int32]]:
    """Distinct values, sorted within each type, and the code of each row; None is unknown."""
    if values.dtype.kind in "iub" and values.ndim == 1:
        distinct, codes = np.unique(values, return_inverse=True)
        return tuple(distinct.tolist()), codes.astype(np.int32)
    rows = [plain(value) for value in values]
    order = sorted(
        {value for value in rows if value is not None}, key=lambda value: (type(value).__name__, value)
    )
    lookup: dict[Category | None, int] = {value: code for code, value in enumerate(order)}
    return tuple(order), np.array([lookup.get(value, len(order)) for value in rows], np.int32)


def plain(value: Any) -> Category | None:
    """A JSON-ready category, or None where it is missing."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and math.isnan(value):
        return None
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def objects(values: Sequence[Any]) -> NDArray[Any]:
    """A list as a one-dimensional array of the very same objects."""
    table = np.empty(len(values), dtype=object)
    table[:] = values
    return table


def id_array(ids: Sequence[object]) -> NDArray[Any]:
    """The user's ids: integers if all are, and fit 64 bits; strings otherwise. (G,)."""
    integers = all(
        isinstance(i, int | np.integer) and not isinstance(i, bool) and -(2**63) <= i < 2**63 for i in ids
    )
    return np.array(ids, dtype=np.int64) if integers else np.array([str(i) for i in ids], dtype=np.str_)


def is_missing(value: object) -> bool:
    """None, NaN, and pandas' own mark for a missing value."""
    return (
        value is None or (isinstance(value, float) and math.isnan(value)) or type(value).__name__ == "NAType"
    )


def from_edges(
    graphs: Iterable[tuple[Any, ...]],
    *,
    ids: Sequence[str | int] | None = None,
    errors: Errors = "raise",
) -> GraphSet:
    """`(edge_index, node_features)` tuples -> GraphSet; arcs are taken as they are.

    `edge_index` is (2, e), or (e, 2) pairs in a list; `node_features` is (n, F) floats or integers, (n,)
    categories, or the number of nodes where there are no features.
    """
    return collect(graphs, _from_tuple, ids=ids, errors=errors)


def _from_tuple(pair: tuple[Any, ...]) -> Record:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        what = f"a {type(pair).__name__}" + (f" of {len(pair)}" if isinstance(pair, tuple | list) else "")
        raise ValueError(f"{what}, expected a tuple (edge_index, node_features)")
    edges, features = (_numpy(part) for part in pair)
    if isinstance(pair[0], list) and edges.ndim == 2 and edges.shape[1] == 2:
        edges = edges.T
    edges = edges.reshape(2, 0) if edges.size == 0 else edges
    _check_integers(edges)
    if features.ndim == 0 and features.dtype.kind not in "iu":
        raise TypeError(
            f"node_features of {type(pair[1]).__name__}, expected an array or the number of nodes"
        )
    if features.ndim == 0:
        return Record(int(features), edges.astype(np.int64))
    return Record(len(features), edges.astype(np.int64), node=_split("x", features))


def from_pyg(
    graphs: Iterable[Any], *, ids: Sequence[str | int] | None = None, errors: Errors = "raise"
) -> GraphSet:
    """PyG `Data` objects or a dataset -> GraphSet.

    `x`, `z` and `pos` become node columns, `edge_attr` edge columns, `edge_weight` the weight of messages,
    `y` a graph column and `id` the graph's id. Integers are categories, one column per dimension. `pos` is
    kept but not an encoder's input.
    """
    known = Schema(
        node=(Column("pos", "float", used=False, role="position"),),
        edge=(Column("edge_weight", "float", role="weight"),),
    )
    return collect(graphs, _from_data, ids=ids, errors=errors, columns=known)


def _from_data(data: Any) -> Record:
    if not hasattr(data, "edge_index"):
        raise TypeError(f"expected a PyG Data, got {type(data).__name__}")
    edges = np.zeros((2, 0)) if data.edge_index is None else _numpy(data.edge_index)
    _check_integers(edges)
    own = data["id"] if _has(data, "id") else None
    label = _numpy(data.y).ravel() if _has(data, "y") else np.zeros(0)
    return Record(
        n_nodes=int(data.num_nodes or 0),
        edges=edges.astype(np.int64),
        node=_columns(data, ("x", "z", "pos")),
        edge=_columns(data, ("edge_attr", "edge_weight")),
        graph={"y" if len(label) == 1 else f"y_{i}": value for i, value in enumerate(label.tolist())},
        graph_id=own if isinstance(own, str | int) else None,
    )


def _check_integers(edges: NDArray[Any]) -> None:
    if edges.dtype.kind not in "iu" and edges.size:
        raise TypeError(f"edge_index of {edges.dtype}, expected integers")


def _columns(data: Any, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    parts = [_split(name, _numpy(data[name])) for name in names if _has(data, name)]
    return {name: values for part in parts for name, values in part.items()}


def _has(data: Any, name: str) -> bool:
    return name in data and data[name] is not None


def _numpy(values: Any) -> NDArray[Any]:
    """A tensor of any device, a list or an array -> numpy."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    return np.asarray(values)


def _split(name: str, values: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Floats stay one column; integers become one categorical column per dimension."""
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim == 2 and not values.shape[1]:
        return {}
    if values.dtype.kind == "f" or values.ndim == 1:
        return {name: values}
    return {f"{name}_{position}": column for position, column in enumerate(values.T)}


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


def to_networkx(graphs: GraphSet) -> list[nx.Graph]:
    """One networkx graph per graph, nodes numbered from 0, columns as attributes.

    A graph all of whose arcs have their reverse becomes undirected; repeated arcs make it a multigraph.
    """
    node = {c.name: graphs.values("node", c.name) for c in graphs.schema.node}
    edge = {c.name: graphs.values("edge", c.name) for c in graphs.schema.edge}
    label = {c.name: graphs.values("graph", c.name) for c in graphs.schema.graph}
    made = []
    for g in range(len(graphs)):
        nodes = range(int(graphs.node_ptr[g]), int(graphs.node_ptr[g + 1]))
        arcs = range(int(graphs.edge_ptr[g]), int(graphs.edge_ptr[g + 1]))
        ends = [(int(u), int(v)) for u, v in graphs.edges[:, arcs.start : arcs.stop].T]
        rows = [tuple(_plain(values[a]) for values in edge.values()) for a in arcs]
        graph = _empty_like(ends, rows)
        graph.graph.update({"id": _plain(graphs.ids[g]), **{name: _plain(v[g]) for name, v in label.items()}})
        graph.add_nodes_from(
            (number, {name: _plain(values[n]) for name, values in node.items()})
            for number, n in enumerate(nodes)
        )
        graph.add_edges_from(
            (u, v, dict(zip(edge, row, strict=True)))
            for (u, v), row in zip(ends, rows, strict=True)
            if graph.is_directed() or u <= v
        )
        made.append(graph)
    return made


def _empty_like(ends: list[tuple[int, int]], rows: list[tuple[Any, ...]]) -> nx.Graph:
    """An empty networkx graph of the simplest class that can hold these arcs and their columns."""
    forward = sorted((u, v, str(row)) for (u, v), row in zip(ends, rows, strict=True))
    backward = sorted((v, u, str(row)) for (u, v), row in zip(ends, rows, strict=True))
    repeated = len(set(ends)) < len(ends)
    if forward == backward:
        return nx.MultiGraph() if repeated else nx.Graph()
    return nx.MultiDiGraph() if repeated else nx.DiGraph()


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else value


def to_pyg(graphs: GraphSet, *, columns: str = "used") -> list[Data]:
    """One PyG `Data` per graph: `x` and `edge_attr` as an encoder would see them, `y` where it is known.

    Args:
        graphs: the graphs.
        columns: "used" (those encoders see) or "all".
    """
    import torch
    from torch_geometric.data import Data

    def encoded(level: str) -> Any:
        chosen = getattr(graphs.schema, level) if columns == "all" else graphs.schema.features(level)  # type: ignore[arg-type]
        parts = [c.encode(getattr(graphs, level)[c.name]) for c in chosen if c.kind != "text"]
        return torch.from_numpy(np.hstack(parts)) if parts else None

    x, edge_attr = encoded("node"), encoded("edge")
    weight = graphs.schema.weight
    edges = torch.from_numpy(np.array(graphs.edges, dtype=np.int64))  # a copy: memory maps are read-only
    made = []
    for g in range(len(graphs)):
        nodes = slice(int(graphs.node_ptr[g]), int(graphs.node_ptr[g + 1]))
        arcs = slice(int(graphs.edge_ptr[g]), int(graphs.edge_ptr[g + 1]))
        data = Data(edge_index=edges[:, arcs], num_nodes=nodes.stop - nodes.start, id=_plain(graphs.ids[g]))
        if x is not None:
            data.x = x[nodes]
        if edge_attr is not None:
            data.edge_attr = edge_attr[arcs]
        if weight is not None:
            data.edge_weight = torch.from_numpy(np.array(graphs.edge[weight.name][arcs]))
        if "y" in graphs.graph:
            label = np.array(graphs.graph["y"][g : g + 1])
            data.y = torch.from_numpy(label.astype(np.float32) if label.dtype.kind == "f" else label)
        made.append(data)
    return made
