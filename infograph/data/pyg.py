"""PyG's Data, batches, data sets and loaders -> GraphSet, and back with all that was in them."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet
from infograph.data.records import ReadOptions, Record, arcs_of, assemble, records_of, split_columns, to_numpy
from infograph.data.schema import LEVELS, Column, Level, Schema
from infograph.errors import ColumnWarning, InvalidParameter, MissingExtra

if TYPE_CHECKING:
    from torch_geometric.data import Data, InMemoryDataset

KNOWN = Schema(
    node=(Column("pos", "float", used=False, role="position"),),
    edge=(Column("edge_weight", "float", role="weight"),),
)
SEEN: dict[Level, tuple[str, ...]] = {"node": ("x", "z", "pos"), "edge": ("edge_attr", "edge_weight")}
USUAL: dict[str, Level] = {name: level for level, names in SEEN.items() for name in names}
BESIDE = ("edge_index", "num_nodes", "batch", "ptr", "id")
SCALARS = {kind: f"python.{kind.__name__}" for kind in (str, bool, int, float)}  # no tensors
LONGEST = 10_000  # numbers of a tensor of graphs; each is a column


def from_pyg(items: Sequence[Any], options: ReadOptions, ids: Sequence[str | int] | None) -> GraphSet:
    """PyG's data as graphs; integers are categories, a column per dimension.

    Encoders see `x`, `z`, `edge_attr` and `edge_weight`, and other tensors with a row per node or edge where
    a user chose them. Every column remembers in `Column.tensor` what it was, for `to_pyg`.
    """
    levels, marks = _levels(items, options.schema), dict[tuple[Level, str], str]()
    records = records_of(items, partial(_record, levels=levels, marks=marks), ids)
    graphs = assemble(records, options, columns=KNOWN)
    schema = graphs.schema
    for level in LEVELS:
        chosen = getattr(options, level, None) is not None or options.schema is not None
        columns = []
        for column in getattr(schema, level):
            mark = marks[level, column.name]
            used = column.used and (chosen or level == "graph" or mark.split(" ")[0] in SEEN[level])
            columns.append(replace(column, used=used, tensor=mark))
            if column.used and not used:
                _warn(mark, f"is kept, but no encoder sees it: choose it with {level}=[...], or leave it")
        schema = schema.replace(level, columns)
    return replace(graphs, schema=schema)


def _warn(mark: str, what: str) -> None:
    warnings.warn(f"the attribute {mark.split(' ')[0]!r} of PyG data {what}", ColumnWarning, stacklevel=2)


def _content(data: Any) -> Iterator[tuple[str, Any]]:
    """The attributes of one graph that may become columns."""
    if type(data).__name__ in ("HeteroData", "TemporalData"):
        raise TypeError(f"a PyG {type(data).__name__}: expected Data, such as to_homogeneous() gives")
    if not hasattr(data, "edge_index"):
        raise TypeError(f"expected a PyG Data, got {type(data).__name__}")
    given = data.to_dict() if hasattr(data, "to_dict") else vars(data)
    if data.edge_index is None and given.get("adj_t") is not None:
        raise TypeError("PyG data with adj_t and without edge_index: leave the transform ToSparseTensor out")
    return ((name, value) for name, value in given.items() if name not in BESIDE and value is not None)


def _levels(items: Iterable[Any], fitted: Schema | None) -> dict[str, Level | None]:
    """Whether each attribute has a row per node, a row per edge, or belongs to the graph; None for neither.

    All graphs decide together: one alone may have as many nodes as edges. `y` belongs to the graph wherever
    it is equally long in all of them.
    """
    fits: dict[str, set[Level]] = {}
    shapes: dict[str, set[tuple[int, ...]]] = {}
    for data in items:
        try:
            content = list(_content(data))
        except TypeError:  # `_record` says so, of which graph
            continue
        rows: dict[Level, int] = {"node": int(data.num_nodes or 0), "edge": int(data.num_edges or 0)}
        for name, value in content:
            if name in USUAL:
                continue
            shape = tuple(value.shape) if hasattr(value, "shape") else ()
            plain = type(value) in SCALARS or isinstance(value, np.generic) or hasattr(value, "dtype")
            shapes.setdefault(name, set()).add(shape if plain else (-1,))
            own = {level for level, n in rows.items() if shape and shape[0] == n}
            fits[name] = fits.get(name, own) & own
    found: dict[str, Level | None] = dict(USUAL)
    for name, sizes in shapes.items():
        whole = len(sizes) == 1 and (-1,) not in sizes and math.prod(next(iter(sizes))) <= LONGEST
        level: Level | None = "graph" if whole else None
        if fits[name] and not (whole and name == "y"):
            level = "edge" if "edge" in name and "edge" in fits[name] else min(fits[name], key=LEVELS.index)
        known = fitted and next((at for at in LEVELS[:2] if name in _by_tensor(fitted, at)), None)
        found[name] = known or level
    return found


def _record(data: Any, levels: dict[str, Level | None], marks: dict[tuple[Level, str], str]) -> Record:
    """One graph; `marks` gets what its columns were."""
    parts: dict[Level, dict[str, Any]] = {level: {} for level in LEVELS}
    for name, value in _content(data):
        level = levels[name]
        if level is None:
            _warn(name, "is not kept: it has no row per node or edge, nor the same shape in all graphs")
            continue
        scalar = SCALARS.get(type(value))
        values = np.asarray(value) if scalar else to_numpy(value)
        shape = values.shape if level == "graph" else values.shape[1:]
        own: dict[str, Any] = {}
        if level != "graph":
            own = split_columns(name, values)
        elif scalar:
            own = {name: value}
        else:
            single = values.ravel().tolist()
            own = {name if len(single) == 1 else f"{name}_{i}": each for i, each in enumerate(single)}
        parts[level] |= own
        mark = f"{name} {scalar or values.dtype} {','.join(map(str, shape))}"
        marks |= {(level, column): mark for column in own if (level, column) not in marks}
    arcs = data.edge_index
    own_id: Any = getattr(data, "id", None)
    own_id = own_id.item() if hasattr(own_id, "item") and math.prod(own_id.shape) == 1 else own_id
    return Record(
        n_nodes=int(data.num_nodes or 0),
        edges=arcs_of(np.zeros((2, 0)) if arcs is None else to_numpy(arcs)),
        **parts,
        graph_id=own_id if isinstance(own_id, str | int) else None,
    )


@overload
def to_pyg(graphs: GraphSet, *, columns: str = ..., dataset: Literal[False] = ...) -> list[Data]: ...
@overload
def to_pyg(graphs: GraphSet, *, columns: str = ..., dataset: Literal[True]) -> InMemoryDataset: ...
def to_pyg(graphs: GraphSet, *, columns: str = "used", dataset: bool = False) -> list[Data] | InMemoryDataset:
    """One PyG `Data` per graph, or a PyG data set of them.

    What came from PyG goes back as it was: names, shapes, types, categories; node and edge floats have 32
    bits here, and so have whole numbers of which there are more than 100. Of other graphs `x` and `edge_attr`
    are the inputs of encoders made of the columns, `pos` and `edge_weight` the columns of that role, `y` the
    graph column "y" or, as a row, "y_0", "y_1" ... ; further graph columns keep their names. Classes are
    int64, numbers float32, and labels with gaps are floats with NaN. `id` is there where ids are not just
    positions. With `graphs = as_graphset(..., schema=model.schema_)` the data is what a model takes.

    Args:
        graphs: the graphs.
        columns: of those that did not come from PyG: "used", that encoders see, or "all".
        dataset: give an `InMemoryDataset`, for PyG's loaders and transforms.
    """
    try:
        import torch
        from torch_geometric.data import Data, InMemoryDataset
    except ImportError as error:
        raise MissingExtra("torch_geometric", "pyg") from error
    if columns not in ("used", "all"):
        raise InvalidParameter(f"columns={columns!r}: expected 'used' or 'all'")
    parts = _others(graphs, columns)
    for level in LEVELS:
        for name, own in _by_tensor(graphs.schema, level).items():
            parts[name] = _as_they_were(graphs, level, own), level
    rows = {"node": graphs.sizes.tolist(), "edge": np.diff(graphs.edge_ptr).tolist()}
    pieces: dict[str, Sequence[Any]] = {}
    for name, (values, level) in parts.items():
        if isinstance(values, list):
            pieces[name] = values
        else:  # copied: memory maps are read-only
            tensor = torch.from_numpy(np.array(values))
            split = tensor.unbind() if level == "graph" else tensor.split(rows[level])
            pieces[name] = [piece.clone() for piece in split]
    arcs = torch.from_numpy(graphs.edges.astype(np.int64)).split(rows["edge"], 1)
    positions = np.array_equal(graphs.ids, np.arange(len(graphs)))
    made = []
    for g, graph_id in enumerate(graphs.ids.tolist()):
        data = Data(edge_index=arcs[g].clone())
        if "x" not in pieces and "pos" not in pieces:
            data.num_nodes = rows["node"][g]
        data.update({name: values[g] for name, values in pieces.items()})
        data.update({} if positions else {"id": graph_id})
        made.append(data)
    if not dataset:
        return made
    whole = InMemoryDataset()
    whole.data, whole.slices = InMemoryDataset.collate(made)
    return whole


Part = tuple[NDArray[Any] | list[Any], Level]


def _by_tensor(schema: Schema, level: Level) -> dict[str, list[Column]]:
    found: dict[str, list[Column]] = {}
    for column in getattr(schema, level):
        if column.tensor:
            found.setdefault(column.tensor.rsplit(" ", 2)[0], []).append(column)
    return found


def _as_they_were(graphs: GraphSet, level: Level, columns: Sequence[Column]) -> NDArray[Any] | list[Any]:
    """The tensor that columns were, with a row per node, edge or graph; or the plain values of graphs."""
    _, kind, shape_text = columns[0].tensor.rsplit(" ", 2)
    if kind in SCALARS.values():
        return list(graphs.values(level, columns[0].name).tolist())
    shape = tuple(map(int, filter(None, shape_text.split(","))))
    parts = [_numbers(graphs, level, column, np.dtype(kind)) for column in columns]
    rows = np.stack(parts, axis=1) if parts[0].ndim == 1 else np.hstack(parts)
    whole = math.prod(rows.shape[1:]) == math.prod(shape)  # or some of its columns are gone
    return rows.reshape(len(rows), *(shape if whole else rows.shape[1:]))


def _numbers(graphs: GraphSet, level: Level, column: Column, kind: np.dtype[Any]) -> NDArray[Any]:
    """A column in a type of numbers; whole ones that are missing at graphs are NaN, elsewhere -1."""
    stored = getattr(graphs, level)[column.name]
    if column.kind == "categorical":
        unknown = -1 if -1 not in column.categories else max(map(int, column.categories)) + 1
        missing = level == "graph" and np.isnan(stored).any()
        table = np.array([*column.categories, np.nan if missing else unknown])
        stored = table[column.codes(stored)]
    if kind.kind in "iub" and stored.dtype.kind == "f":
        kind, stored = (np.dtype(np.float32), stored) if np.isnan(stored).any() else (kind, np.rint(stored))
    return np.asarray(stored.astype(kind))


def _others(graphs: GraphSet, columns: str) -> dict[str, Part]:
    """What to make of columns that did not come from PyG."""
    schema, parts = graphs.schema, dict[str, Part]()
    names: tuple[tuple[Level, str], ...] = (("node", "x"), ("edge", "edge_attr"))
    for level, name in names:
        chosen = getattr(schema, level) if columns == "all" else schema.features(level)
        own = {
            c.name: c.encode(getattr(graphs, level)[c.name])
            for c in chosen
            if not c.tensor and c.kind != "text"
        }
        if name in _by_tensor(schema, level):
            parts |= {column: (values, level) for column, values in own.items()}
        elif own:
            parts[name] = np.hstack(list(own.values())), level
    for role, level, name in ((schema.weight, "edge", "edge_weight"), (schema.position, "node", "pos")):
        if role is not None and not role.tensor:
            parts[name] = getattr(graphs, level)[role.name], level
    labels: dict[str, NDArray[Any]] = {}
    for column in schema.graph:
        values = graphs.graph[column.name]
        if column.kind == "text" and not column.tensor:
            parts[column.name] = values.tolist(), "graph"
        elif not column.tensor:
            labels[column.name] = values.astype(np.float32 if values.dtype.kind == "f" else np.int64)[:, None]
    numbered = sorted((name for name in labels if re.fullmatch(r"y_\d+", name)), key=lambda n: int(n[2:]))
    if numbered and "y" not in labels:
        labels["y"] = np.stack([labels.pop(name) for name in numbered], axis=2)
    return parts | {name: (values, "graph") for name, values in labels.items()}
