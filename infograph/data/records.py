"""One graph as a reader found it, and many of them -> GraphSet: checks, columns, codes, ids."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import HALF, GraphSet, IntArray, Rejected, check_texts, half_characters, pointer
from infograph.data.schema import LEVELS, Category, Column, Kind, Level, Schema
from infograph.errors import ColumnWarning, InvalidGraph, InvalidParameter, NothingLeft, SchemaMismatch

Errors = Literal["raise", "skip"]
Salts = Literal["keep", "strip"]
Choice = str | Sequence[str] | Mapping[str, Kind | None] | None
Widths = dict[tuple[str, str], tuple[int, ...]]
LARGEST = float(np.finfo(np.float32).max)
MANY = 100  # different whole numbers in a column: more are numbers, not categories
NUMBERS = (int, float, np.number, Fraction, Decimal)
FLOATS = (float, np.floating, np.ndarray, list, tuple, Fraction, Decimal)
PANDAS = ("NAType", "NaTType")


@dataclass(frozen=True)
class ReadOptions:
    """What a user may say about graphs and their files; `infograph.read_graphs` explains each."""

    errors: Errors = "raise"
    schema: Schema | None = None
    smiles: str | None = None
    id: str | None = None
    label: str | None = None
    node: Choice = None
    edge: Choice = None
    weight: str | None = None
    nodes: Any = None
    directed: bool = False
    hydrogens: bool | None = None
    stereo: bool | None = None
    salts: Salts | None = None
    units: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_errors(self.errors)

    @property
    def of_molecules(self) -> dict[str, Any]:
        """Those that `infograph.data.molecules.from_molecules` takes."""
        names = ("errors", "schema", "hydrogens", "stereo", "salts")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Record:
    """One graph as a reader found it: raw values per column, one row per node or arc, None where missing."""

    n_nodes: int
    edges: IntArray  # (2, e) numbered from 0
    node: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    edge: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    graph: Mapping[str, Any] = field(default_factory=dict)
    graph_id: str | int | None = None  # the position in the input


def records_of(
    items: Iterable[Any], convert: Callable[[Any], Record], ids: Sequence[str | int] | None
) -> Iterator[Record | Rejected]:
    """Every item as a record; one that `convert` refuses keeps its place as rejected."""
    for index, item in enumerate(items):
        if isinstance(item, Rejected):
            yield item
            continue
        try:
            made = convert(item)
            yield made if ids is None else replace(made, graph_id=ids[index])
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            graph_id = index if ids is None else ids[index]
            yield Rejected(index, graph_id, str(error.args[0]) if error.args else repr(error))


def assemble(
    records: Iterable[Record | Rejected], options: ReadOptions | None = None, *, columns: Schema | None = None
) -> GraphSet:
    """Check every graph and join them.

    `columns` are those known beforehand; of the rest `options` choose some, and their kinds are inferred.
    """
    known, options = columns or Schema(), options or ReadOptions()
    good: list[Record] = []
    rejected: list[Rejected] = []
    widths: Widths = {}
    for index, record in enumerate(records):
        graph_id = index if record.graph_id is None else record.graph_id
        if isinstance(record, Rejected):
            problem = record.problem
        elif not (problem := _problem(record, good[:1], widths, known)):
            good.append(replace(record, graph_id=graph_id))
            continue
        if options.errors == "raise":
            raise InvalidGraph(problem, index=index, graph_id=graph_id)
        rejected.append(Rejected(index, graph_id, problem))
    if not good:
        raise nothing_left(rejected)
    stored = {level: _stored(level, good, known, options) for level in LEVELS}
    arrays: Any = {level: {column.name: values for values, column in own} for level, own in stored.items()}
    described: Any = {level: tuple(column for _, column in own) for level, own in stored.items()}
    return GraphSet(
        node_ptr=pointer(np.array([record.n_nodes for record in good])),
        edge_ptr=pointer(np.array([record.edges.shape[1] for record in good])),
        edges=np.concatenate([record.edges for record in good], axis=1).astype(np.int32),
        **arrays,
        ids=id_array([record.graph_id for record in good]),
        schema=Schema(**described),
        rejected=tuple(rejected),
    )


def _stored(
    level: Level, good: Sequence[Record], known: Schema, options: ReadOptions
) -> list[tuple[NDArray[Any], Column]]:
    """The columns of one level, all graphs together."""
    names = list(dict.fromkeys(name for record in good for name in getattr(record, level)))
    fitted = options.schema
    made = []
    for name, kind in chosen(getattr(options, level, None) if fitted is None else None, names, level).items():
        if level == "graph":
            raw = [record.graph.get(name) for record in good]
            made.append(store_graph_column(name, raw, known.column(level, name)))
            continue
        parts = [getattr(record, level)[name] for record in good]
        joined = np.concatenate([part for part in parts if len(part)] or parts[:1])
        learned = None if fitted is None else fitted.column(level, name)
        if learned is not None and joined.dtype.kind in "iu":  # few whole numbers, or many
            kind = learned.kind
        made.append(store_column(name, joined, known.column(level, name), kind))
    return made


def check_errors(errors: str) -> None:
    """Refuse what is not "raise" or "skip"."""
    if errors not in ("raise", "skip"):
        raise InvalidParameter(f"errors={errors!r}: expected 'raise' or 'skip'")


def nothing_left(rejected: Sequence[Rejected]) -> NothingLeft:
    """What to raise when not one graph could be used."""
    problem = "no graphs: the input is empty"
    if rejected:
        problem = f"no graphs: all {len(rejected)} were rejected; the first: {rejected[0].problem}"
    return NothingLeft(problem, len(rejected), rejected)


def _problem(record: Record, first: Sequence[Record], widths: Widths, known: Schema) -> str:
    """What is wrong with a graph, or an empty string; `widths` remembers the shape of a row per column."""
    if record.n_nodes < 1:
        return "it has no nodes; leave it out, or pass errors='skip'"
    edges = record.edges
    if edges.ndim != 2 or edges.shape[0] != 2:
        return f"edges of shape {edges.shape}, expected (2, number of edges)"
    if edges.size and (edges.min() < 0 or edges.max() >= record.n_nodes):
        bad = edges[(edges < 0) | (edges >= record.n_nodes)][0]
        return f"an edge leads to node {bad}, but the nodes are 0 ... {record.n_nodes - 1}"
    if half_characters(_texts(record)):
        return HALF
    seen: Widths = {}
    levels: tuple[tuple[Level, int], ...] = (("node", record.n_nodes), ("edge", edges.shape[1]))
    for level, rows in levels:
        columns = getattr(record, level)
        if first and columns.keys() != getattr(first[0], level).keys():
            names, expected = sorted(columns), sorted(getattr(first[0], level))
            return f"{level} columns {names}, while the first graph has {expected}: all need the same"
        for name, values in columns.items():
            width = widths.get((level, name), values.shape[1:])
            if len(values) != rows:
                return f"{level} column {name!r}: {len(values)} rows for {rows} nodes or edges"
            if rows and values.shape[1:] != width:
                own, other = math.prod(values.shape[1:]), math.prod(width)
                return f"{level} column {name!r}: {own} numbers each, while the first graph has {other}"
            if values.dtype.kind == "f":
                column = known.column(level, name)
                needed = column is not None and column.role != "feature"  # weights, positions
                bad = (np.abs(values) > LARGEST) | (needed & np.isnan(values))
                if bad.any():
                    row = int(np.argwhere(bad)[0][0])
                    return (
                        f"{level} column {name!r}: {values[row]} in row {row} is not finite or too large for "
                        f"32 bits; fill, drop or rescale it before"
                    )
            if rows:
                seen[level, name] = values.shape[1:]
    widths.update(seen)
    return ""


def _texts(record: Record) -> Iterator[object]:
    """The id of a graph, the names of its columns, and all values that may be texts."""
    yield from (record.graph_id, *record.graph, *record.graph.values())
    for name, values in (*record.node.items(), *record.edge.items()):
        yield name
        if values.dtype.kind in "OU":
            yield from values.flat


def store_column(
    name: str, values: NDArray[Any], known: Column | None, kind: Kind | None = None
) -> tuple[NDArray[Any], Column]:
    """A node or edge column; without a kind floats become float32, and everything else categories."""
    if known is not None and known.kind == "categorical" and known.categories:
        codes: dict[Category | None, int] = {category: code for code, category in enumerate(known.categories)}
        return np.array([codes.get(plain(v), known.unknown) for v in values], np.int32), known
    whole = values.dtype.kind in "iu" and values.ndim == 1
    if known is None and kind is None and whole and len(distinct := np.unique(values)) > MANY:
        kind = taken_as_numbers(name, len(distinct))
    kind = known.kind if known else kind or ("float" if values.dtype.kind == "f" else "categorical")
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
    base = known or Column(name, _graph_kind([value for value in raw if value is not None]))
    if base.kind == "float":
        return np.array([np.nan if v is None else to_float(v) for v in raw], np.float64), base
    if base.kind == "text":
        return np.array(["" if v is None else str(v) for v in raw], np.str_), base
    categories, codes = categorise(objects(raw))
    return codes, replace(base, categories=categories)


def to_float(value: Any) -> float:
    """A number as a float; infinite where it has more than 308 digits."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _graph_kind(given: Sequence[Any]) -> Kind:
    if all(isinstance(v, int | float | np.number) and not isinstance(v, bool) for v in given):
        floats = any(isinstance(v, float | np.floating) for v in given)
        return "float" if floats or not given else "categorical"
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
    if is_missing(value):
        return None
    return value if isinstance(value, str | int | bool) else str(value)


def objects(values: Sequence[Any]) -> NDArray[Any]:
    """A list as a one-dimensional array of the very same objects."""
    table = np.empty(len(values), dtype=object)
    table[:] = values
    return table


def id_array(ids: Sequence[object]) -> NDArray[Any]:
    """The user's ids: integers if all are, and fit 64 bits; strings otherwise. (G,)."""
    ids = [whole_number(i) for i in ids]
    integers = all(
        isinstance(i, int | np.integer) and not isinstance(i, bool) and -(2**63) <= i < 2**63 for i in ids
    )
    if integers:
        return np.array(ids, dtype=np.int64)
    made = np.array([str(i) for i in ids], dtype=np.str_)
    check_texts({"ids": made})
    return made


def whole_number(value: Any) -> Any:
    """1 for 1.0, which pandas makes of whole numbers where one is missing; anything else as it is."""
    return int(value) if isinstance(value, float | np.floating) and float(value).is_integer() else value


def is_missing(value: object) -> bool:
    """None, NaN of any width, an empty text, and pandas' own marks for a missing value."""
    nan = isinstance(value, float | np.floating) and math.isnan(value)
    return value is None or nan or (isinstance(value, str) and not value) or type(value).__name__ in PANDAS


def is_value(value: Any) -> bool:
    """Whether it can be in a column: a text, a number, or some numbers."""
    return (
        is_missing(value) or hasattr(value, "detach") or isinstance(value, (str, np.bool_, *NUMBERS, *FLOATS))
    )


def arcs_of(edges: NDArray[Any]) -> IntArray:
    """Arcs as integers; anything else is refused."""
    if edges.dtype.kind not in "iu" and edges.size:
        raise TypeError(f"edge_index of {edges.dtype}, expected integers")
    return edges.astype(np.int64)


def to_numpy(values: Any) -> NDArray[Any]:
    """A tensor of any device, a list or an array -> numpy, which has no bfloat16."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = (values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy()
    return np.asarray(values)


def split_columns(name: str, values: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Floats stay one column; integers become one categorical column per dimension."""
    if values.ndim > 1:
        values = values.reshape(len(values), math.prod(values.shape[1:]))
        if not values.shape[1]:
            return {}
        values = values[:, 0] if values.shape[1] == 1 else values
    if values.dtype.kind == "f" or values.ndim == 1:
        return {name: values}
    return {f"{name}_{position}": column for position, column in enumerate(values.T)}


def chosen(choice: Choice, names: Sequence[str], level: Level) -> dict[str, Kind | None]:
    """The columns that a user chose among those that are there, and the kinds given for them."""
    if choice is None:
        return dict.fromkeys(names)
    choice = [choice] if isinstance(choice, str) else choice
    if not isinstance(choice, Iterable):
        raise InvalidParameter(f"{level} attributes {choice!r}: expected names, or names with their kinds")
    kinds = dict(choice) if isinstance(choice, Mapping) else dict.fromkeys(choice)
    for name, kind in kinds.items():
        if kind not in (None, "categorical", "float"):
            raise InvalidParameter(f"{level} attribute {name!r}: {kind!r} is not 'categorical' or 'float'")
        if name not in names:
            have = ", ".join(map(repr, sorted(names))) or "none"
            raise SchemaMismatch(f"the {level} attribute {name!r} is missing; the {level}s have: {have}")
    return kinds


def taken_as_numbers(name: str, n_distinct: int) -> Kind:
    """The kind of a column of so many whole numbers; says how to choose another."""
    warnings.warn(
        f"{name!r} has {n_distinct:,} different whole numbers, which are taken as numbers; for categories "
        f"choose it as {{{name!r}: 'categorical'}}",
        ColumnWarning,
        stacklevel=3,
    )
    return "float"
