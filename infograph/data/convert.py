"""Anyone's graphs -> GraphSet: networkx, PyG, arrays, and lists of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from infograph.data.graphset import GraphSet, Rejected
from infograph.data.joining import align, concatenate
from infograph.data.records import (
    Choice,
    Errors,
    ReadOptions,
    Record,
    Salts,
    arcs_of,
    assemble,
    id_array,
    is_missing,
    records_of,
    split_columns,
    to_numpy,
)
from infograph.data.schema import Column, Schema
from infograph.errors import InvalidParameter

ACCEPTED = (
    "a GraphSet, a path, a data set's name, a table with a SMILES column or of edges, or a list of networkx "
    "or igraph graphs, PyG Data, adjacency matrices, (edge_index, node_features) tuples, SMILES strings or "
    "RDKit molecules, or a PyG data set or loader"
)


def as_graphset(
    source: Any,
    *,
    smiles: str | None = None,
    node: Choice = None,
    edge: Choice = None,
    weight: str | None = None,
    nodes: Any = None,
    directed: bool = False,
    hydrogens: bool | None = None,
    stereo: bool | None = None,
    salts: Salts | None = None,
    ids: Sequence[str | int] | None = None,
    errors: Errors = "raise",
    schema: Schema | None = None,
    keep: bool = False,
) -> GraphSet:
    """Turn whatever holds graphs into a GraphSet.

    Args:
        source: a GraphSet; a path or data set name; a pandas or polars DataFrame or Arrow table, with a
            column of SMILES or with one row per edge, read as such files are; or a list, array or Series of
            networkx or igraph graphs, PyG Data, numpy or scipy adjacency matrices, `(edge_index,
            node_features)` tuples, SMILES strings, RDKit molecules or GraphSets, or one of them. The index of
            pandas is the ids; a DataFrame with the same names as index and columns is an adjacency matrix.
        smiles: the column of a table with the SMILES; found by its name otherwise.
        node, edge: attributes to use: names, or {name: "categorical" | "float"}; all by default, [] for none.
        weight: the edge attribute that multiplies messages; "weight" by default, where it holds numbers.
        nodes: the nodes of a table of edges, with their attributes: a table or a path.
        directed: whether tables and lists of edges are directed.
        hydrogens: whether the hydrogens of molecules become nodes; None as `schema` says, else no.
        stereo: whether the encoder sees stereochemistry; None as `schema` says, else no, with a warning.
        salts: "keep" all pieces of molecules or "strip" counter-ions; None as `schema` says, else "keep".
        ids: the user's ids, one per graph; the position otherwise.
        errors: "raise" at the first bad graph, or "skip" it and list it in `GraphSet.rejected`.
        schema: the schema of a fitted model; the graphs are read and coded its way.
        keep: whether node and edge columns that `schema` lacks stay, unseen by encoders.
    """
    options = ReadOptions(
        errors=errors,
        schema=schema,
        smiles=smiles,
        node=node,
        edge=edge,
        weight=weight,
        nodes=nodes,
        directed=directed,
        hydrogens=hydrogens,
        stereo=stereo,
        salts=salts,
    )
    if isinstance(source, str | Path) or is_table(source) or nodes is not None:
        from infograph.data.read import read

        source = read(source, options)
    graphs = from_objects(source, options, ids)
    return graphs if schema is None else align(graphs, schema, keep=keep)


def from_objects(source: Any, options: ReadOptions, ids: Sequence[str | int] | None = None) -> GraphSet:
    """A GraphSet, a graph, or several of them in a list, an array, a Series or a loader."""
    items = [source] if isinstance(source, GraphSet) else _items(source)
    first = next((item for item in items if not is_missing(item) and not isinstance(item, Rejected)), None)
    graphs = concatenate(items) if isinstance(first, GraphSet) else None
    n_graphs = len(items) if graphs is None else len(graphs)
    if not n_graphs:
        raise InvalidParameter(f"no graphs: nothing is in there; expected {ACCEPTED}")
    if ids is None and _is_a(source, "pandas", "Series"):
        from infograph.data.columns import index_ids

        ids = index_ids(source)
    if ids is not None and len(ids) != n_graphs:
        raise InvalidParameter(f"{len(ids)} ids for {n_graphs} graphs")
    if graphs is None:
        return _from_items(items, first, options, ids)
    return graphs if ids is None else replace(graphs, ids=id_array(list(ids)))


def is_table(source: object) -> bool:
    """Whether an object is a table of columns: a pandas or polars DataFrame, or whatever Arrow can read."""
    column = any(_is_a(source, *name) for name in COLUMNS) or is_adjacency(source)
    return not column and (
        hasattr(source, "__arrow_c_stream__") or any(_is_a(source, *name) for name in FRAMES)
    )


def is_adjacency(source: Any) -> bool:
    """Whether it is a DataFrame of pandas that names the same nodes in its rows and in its columns.

    One without names might as well be a list of as many edges.
    """
    if not _is_a(source, "pandas", "DataFrame") or type(source.columns).__name__ == "RangeIndex":
        return False
    return bool(len(source) and source.index.equals(source.columns))


FRAMES = (("pandas", "DataFrame"), ("polars", "LazyFrame"))
STACKS = ((1, True), (3, False))  # arrays that hold one item per row: objects or texts, matrices
COLUMNS = (("pandas", "Series"), ("polars", "Series"), ("pyarrow", "ChunkedArray"))
BATCH = ("torch_geometric.data", "Batch")
GRAPHS = (
    BATCH,
    ("torch_geometric.data", "Data"),
    ("networkx", "Graph"),
    ("igraph", "Graph"),
    ("rdkit", "Mol"),
)


def _items(source: Any) -> list[Any]:
    if _is_single(source):
        source = [source]
    if _is_a(source, "pyarrow", "ChunkedArray") or _is_a(source, "pyarrow", "Array"):
        source = source.to_pylist()
    what = ""
    if not isinstance(source, Iterable) or isinstance(source, Mapping | bytes):
        what = f"a {type(source).__name__}"
    elif isinstance(source, np.ndarray) and (source.ndim, source.dtype.kind in "OUT") not in STACKS:
        what = f"an array of {source.dtype}, shape {source.shape}"
    if what:
        raise InvalidParameter(f"cannot read graphs from {what}; expected {ACCEPTED}")
    return [each for item in source for each in (item.to_data_list() if _is_a(item, *BATCH) else [item])]


def _is_single(source: object) -> bool:
    """Whether an object is one graph; a tuple that begins with an array is, a square array is, too."""
    if isinstance(source, np.ndarray):
        return source.ndim == 2 and source.shape[0] == source.shape[1] and source.dtype.kind in "iufb"
    if isinstance(source, tuple):
        return len(source) == 2 and hasattr(source[0], "shape")
    return hasattr(source, "tocoo") or is_adjacency(source) or any(_is_a(source, *name) for name in GRAPHS)


def _from_items(
    items: list[Any], first: Any, options: ReadOptions, ids: Sequence[str | int] | None
) -> GraphSet:
    """The one place that says how the objects of a list become graphs; the first one tells of what kind."""
    if isinstance(first, nx.Graph) or _is_a(first, "igraph", "Graph"):
        from infograph.data.networks import from_networkx

        return from_networkx(items, options, ids=ids)
    if isinstance(first, str) or _is_a(first, "rdkit", "Mol"):
        from infograph.data.molecules import from_molecules

        return from_molecules(items, ids=ids, **options.of_molecules)
    if hasattr(first, "edge_index"):
        from infograph.data.pyg import from_pyg

        return from_pyg(items, options, ids)
    if isinstance(first, tuple):
        return assemble(records_of(items, _from_tuple, ids), options)
    if isinstance(first, np.ndarray) or hasattr(first, "tocoo") or _is_a(first, "pandas", "DataFrame"):
        return _from_matrices(items, options, ids)
    raise InvalidParameter(f"cannot read graphs from a list of {type(first).__name__}; expected {ACCEPTED}")


def _is_a(item: object, package: str, name: str) -> bool:
    """Whether an object is of a class of an optional package, without importing that package."""
    return any(base.__name__ == name and base.__module__.startswith(package) for base in type(item).__mro__)


def _from_tuple(pair: tuple[Any, ...]) -> Record:
    """`edge_index` is (2, e), or (e, 2) pairs in a list; `node_features` may be just the number of nodes."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        what = f"a {type(pair).__name__}" + (f" of {len(pair)}" if isinstance(pair, tuple | list) else "")
        raise ValueError(f"{what}, expected a tuple (edge_index, node_features)")
    edges, features = (to_numpy(part) for part in pair)
    if isinstance(pair[0], list) and edges.ndim == 2 and edges.shape[1] == 2:
        edges = edges.T
    edges = arcs_of(edges.reshape(2, 0) if edges.size == 0 else edges)
    if features.ndim:
        return Record(len(features), edges, node=split_columns("x", features))
    if features.dtype.kind not in "iu":
        raise TypeError(f"node_features {type(pair[1])}, expected an array or the number of nodes")
    return Record(int(features), edges)


def _from_matrices(items: Sequence[Any], options: ReadOptions, ids: Sequence[str | int] | None) -> GraphSet:
    """Adjacency matrices: every entry but 0 is an arc, from row to column; their numbers are weights.

    Where all of them are 0 and 1 there is no column of weights, unless a fitted model knows one.
    """
    read = list(records_of(items, _from_matrix, ids))
    ones = all(isinstance(each, Rejected) or (each.edge["weight"] == 1).all() for each in read)
    weighted = not ones if options.schema is None else options.schema.weight is not None
    if not weighted:
        read = [each if isinstance(each, Rejected) else replace(each, edge={}) for each in read]
    columns = Schema(edge=(Column("weight", "float", role="weight"),))
    return assemble(read, options, columns=columns)


def _from_matrix(matrix: Any) -> Record:
    if _is_a(matrix, "pandas", "DataFrame"):
        if not is_adjacency(matrix):
            raise ValueError(
                f"a DataFrame of shape {matrix.shape}, expected an adjacency matrix with the same names in "
                f"its index and columns; to_numpy() gives one without names"
            )
        matrix = matrix.to_numpy()
    shape = getattr(matrix, "shape", None)
    if shape is None or len(shape) != 2 or shape[0] != shape[1]:
        what = f"a {type(matrix).__name__}" if shape is None else f"an array of shape {shape}"
        raise ValueError(f"{what}, expected an adjacency matrix: as many rows as columns")
    if matrix.dtype.kind not in "iufb":
        raise TypeError(f"an adjacency matrix of {matrix.dtype}, expected numbers")
    if hasattr(matrix, "tocoo"):
        found = matrix.tocsr(copy=True)  # entries that are there twice add up
        found.sum_duplicates()
        found.eliminate_zeros()
        found = found.tocoo()
        source, target, values = found.row, found.col, found.data
    else:
        matrix = np.asarray(matrix)  # numpy.matrix would give rows of values
        source, target = np.nonzero(matrix)
        values = matrix[source, target]
    edges = np.stack([source, target]).astype(np.int64)
    return Record(shape[0], edges, edge={"weight": values.astype(np.float64)})
