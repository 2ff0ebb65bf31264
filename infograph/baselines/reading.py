"""New graphs, read and coded as those a kernel was fitted to, without losing what is new in them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from infograph.data.align import align
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.data.schema import Column, Level, Schema
from infograph.errors import InvalidParameter


def read_like(source: Any, schema: Schema) -> GraphSet:
    """Graphs with the columns of `schema`, its categories first and their own new ones after them.

    A label that no fitted graph has matches none of theirs, and two such labels stay two: k(x, x) of a new
    graph is what it would be had it been there in `fit`. Only molecules that are read here from SMILES have
    all unknown categories as one, with the `UnknownCategoryWarning` of `as_graphset`.

    Raises:
        SchemaMismatch: a column is missing, or of another kind.
    """
    if not isinstance(source, GraphSet) and schema.options:
        return as_graphset(source, schema=schema)
    kinds = ({column.name: column.kind for column in schema.features(level)} for level in ("node", "edge"))
    node, edge = kinds
    read = as_graphset(
        source, node=node or None, edge=edge or None, weight=schema.weight.name if schema.weight else None
    )
    for level in ("node", "edge"):
        schema = schema.replace(level, (_extended(column, level, read) for column in getattr(schema, level)))
    return align(read, schema)


def _extended(column: Column, level: Level, graphs: GraphSet) -> Column:
    own = graphs.schema.column(level, column.name)
    if own is None or "categorical" not in (own.kind, column.kind):
        return column
    known = set(column.categories)
    return replace(column, categories=(*column.categories, *(c for c in own.categories if c not in known)))


def label_schema(graphs: GraphSet, node: Any, edge: Any, *, edges: bool = True) -> Schema:
    """The schema of a kernel that compares labels: just the used node columns, and edge columns if `edges`.

    Args:
        graphs: the graphs.
        node, edge: names of the columns to compare; None takes those the schema marks as used.
        edges: whether the kernel looks at edge labels at all.

    Raises:
        SchemaMismatch: a name is not there.
        InvalidParameter: a column holds measured numbers, which hardly ever repeat.
    """
    schema = graphs.schema.select("node", node).select("edge", edge)
    node_columns = schema.features("node")
    edge_columns = schema.features("edge") if edges else ()
    for level, columns in (("node", node_columns), ("edge", edge_columns)):
        for column in columns:
            check_discrete(graphs, level, column)
    return replace(schema, node=node_columns, edge=edge_columns, graph=())


def check_discrete(graphs: GraphSet, level: str, column: Column) -> None:
    """Accept categories and whole numbers (one-hot vectors, degrees)."""
    if column.kind == "categorical":
        return
    values = getattr(graphs, level)[column.name]
    if column.kind == "text" or (np.rint(values) != values).any():
        raise InvalidParameter(
            f"the {level} column {column.name!r} holds measured numbers, but this kernel compares labels: "
            f"round them to a few whole numbers, or choose others with {level}_columns=[...] ([] for none)"
        )
