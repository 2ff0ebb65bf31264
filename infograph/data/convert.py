"""Anyone's graphs -> GraphSet: finds out what came, and hands it to the reader of that kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from infograph.data.align import align, concatenate
from infograph.data.arrays import from_edges as from_edges
from infograph.data.arrays import from_pyg as from_pyg
from infograph.data.assemble import Errors
from infograph.data.chem.salts import Salts
from infograph.data.columns import id_array, is_missing
from infograph.data.graphset import GraphSet
from infograph.data.networks import Choice as Choice
from infograph.data.networks import from_networkx as from_networkx
from infograph.data.schema import Schema
from infograph.errors import InvalidParameter

ACCEPTED = (
    "a GraphSet, a path, a data set's name, or a list of networkx graphs, PyG Data, "
    "(edge_index, node_features) tuples, SMILES strings or RDKit molecules"
)


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
        from infograph.data.files import read_graphs

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
        from infograph.data.chem.molecules import from_molecules

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
