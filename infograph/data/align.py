"""Graphs under another schema: recode their categories, refuse what does not fit, join sets."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet, pointer
from infograph.data.schema import LEVELS, Category, Column, Level, Schema
from infograph.errors import InvalidParameter, SchemaMismatch, UnknownCategoryWarning


def align(graphs: GraphSet, schema: Schema, *, keep: bool = False) -> GraphSet:
    """`graphs` with the node and edge columns of `schema`, coded its way; graph columns stay as they are.

    Columns that `schema` does not have are left out, unless `keep` has them stay, unseen by encoders. Columns
    that encoders do not see and the graphs lack are left out, too. Unknown categories get the code
    `column.unknown`; one `UnknownCategoryWarning` counts them all.

    Raises:
        SchemaMismatch: a column is missing, or has another kind or width, or the graphs were read with other
            options.
    """
    _check_options(graphs.schema, schema)
    if graphs.schema.node == schema.node and graphs.schema.edge == schema.edge:
        return graphs
    schema = _without_unseen(schema, graphs.schema)
    unknown: list[str] = []
    columns: dict[Level, dict[str, NDArray[Any]]] = {"node": {}, "edge": {}}
    for level in columns:
        for column in getattr(schema, level):
            values, strangers = recode(graphs, level, column)
            columns[level][column.name] = values
            if strangers:
                unknown.append(f"{level} column {column.name!r}: {strangers}")
    if unknown:
        warnings.warn(
            f"categories not seen before are encoded as unknown: {'; '.join(unknown)}",
            UnknownCategoryWarning,
            stacklevel=3,
        )
    merged = replace(schema, graph=graphs.schema.graph)
    aligned = replace(graphs, node=columns["node"], edge=columns["edge"], schema=merged)
    return _with_others(aligned, graphs) if keep else aligned


def concatenate(sets: Iterable[GraphSet]) -> GraphSet:
    """One set out of several: columns are matched by name, categories are joined.

    Raises:
        SchemaMismatch: the sets have different columns, or were read with different options.
        InvalidParameter: there is nothing to join.
    """
    sets = list(sets)
    strange = [type(item).__name__ for item in sets if not isinstance(item, GraphSet)]
    if strange:
        raise InvalidParameter(
            f"only GraphSets can be joined, a {strange[0]} came; as_graphset makes one of it"
        )
    if not sets:
        raise InvalidParameter("nothing to concatenate: an empty list of GraphSets")
    if len(sets) == 1:
        return sets[0]
    joint = joint_schema([graphs.schema for graphs in sets])
    columns: dict[str, Any] = {
        level: {
            column.name: np.concatenate([recode(graphs, level, column)[0] for graphs in sets])
            for column in getattr(joint, level)
        }
        for level in LEVELS
    }
    return GraphSet(
        node_ptr=pointer(np.concatenate([graphs.sizes for graphs in sets])),
        edge_ptr=pointer(np.concatenate([np.diff(graphs.edge_ptr) for graphs in sets])),
        edges=np.concatenate([graphs.edges for graphs in sets], axis=1),
        ids=_joint_ids(sets),
        schema=joint,
        rejected=sum((graphs.rejected for graphs in sets), ()),
        **columns,
    )


def _check_options(own: Schema, expected: Schema) -> None:
    for name, value in own.options:
        wanted = expected.option(name)
        if wanted is not None and wanted != value:
            raise SchemaMismatch(
                f"these graphs were read with {name}={value}, expected {name}={wanted}: read them that way"
            )


def _without_unseen(schema: Schema, own: Schema) -> Schema:
    """`schema` without the columns that no encoder sees and that graphs of schema `own` cannot fill."""

    def fits(level: Level, column: Column) -> bool:
        have = own.column(level, column.name)
        return column.used or (have is not None and (have.kind, have.width) == (column.kind, column.width))

    levels: tuple[Level, ...] = ("node", "edge")
    for level in levels:
        schema = schema.replace(level, (column for column in getattr(schema, level) if fits(level, column)))
    return schema


def _with_others(aligned: GraphSet, graphs: GraphSet) -> GraphSet:
    """`aligned` and the columns that only `graphs` has, unseen by encoders."""
    levels: tuple[Level, ...] = ("node", "edge")
    for level in levels:
        for column in getattr(graphs.schema, level):
            if aligned.schema.column(level, column.name) is None:
                values = getattr(graphs, level)[column.name]
                aligned = aligned.with_column(level, replace(column, used=False), values)
    return aligned


def recode(graphs: GraphSet, level: Level, column: Column) -> tuple[NDArray[Any], str]:
    """The values of a set in the codes of `column`, and a sentence on the categories that it does not know.

    Raises:
        SchemaMismatch: the set has no such column, or one of another kind.
    """
    own = graphs.schema.column(level, column.name)
    if own is None:
        have = ", ".join(repr(c.name) for c in getattr(graphs.schema, level)) or "none"
        raise SchemaMismatch(
            f"the {level} column {column.name!r} is missing; these graphs have: {have}. "
            f"Give the graphs the same columns as those the model was fitted on."
        )
    if (own.kind, own.width) != (column.kind, column.width):
        raise SchemaMismatch(
            f"the {level} column {column.name!r} holds {_describe(own)}, expected {_describe(column)}"
        )
    values = getattr(graphs, level)[column.name]
    if own.kind != "categorical" or own.categories == column.categories:
        return values, ""
    codes = {category: code for code, category in enumerate(column.categories)}
    table = np.array([codes.get(category, column.unknown) for category in own.categories] + [column.unknown])
    recoded = table.astype(np.int32)[values]
    counts = np.bincount(values[recoded == column.unknown], minlength=len(own.categories) + 1)[:-1]
    strangers = [f"{own.categories[code]!r} ({counts[code]}x)" for code in np.flatnonzero(counts)[:8]]
    more = int((counts > 0).sum()) - len(strangers)
    return recoded, ", ".join(strangers) + (f" and {more} more" if more > 0 else "")


def _describe(column: Column) -> str:
    return "categories" if column.kind == "categorical" else f"{column.width} {column.kind} value(s) each"


def joint_schema(schemas: Sequence[Schema]) -> Schema:
    """The schema of several sets together: the columns of the first, with the categories of all.

    Raises:
        SchemaMismatch: the sets have different columns, or were read with different options.
    """
    for schema in schemas[1:]:
        _check_options(schema, schemas[0])
    fields: dict[str, Any] = {level: _joint_columns(schemas, level) for level in LEVELS}
    return replace(schemas[0], **fields)


def _joint_columns(schemas: Sequence[Schema], level: Level) -> tuple[Column, ...]:
    first = getattr(schemas[0], level)
    names = {column.name for column in first}
    for position, schema in enumerate(schemas[1:], start=1):
        others = {column.name for column in getattr(schema, level)}
        if others != names:
            raise SchemaMismatch(
                f"set {position} has the {level} columns {sorted(others)}, set 0 has {sorted(names)}: "
                f"only sets of the same columns can be joined"
            )
    return tuple(_joint_column(schemas, level, column) for column in first)


def _joint_column(schemas: Sequence[Schema], level: Level, column: Column) -> Column:
    if column.kind != "categorical":
        return column
    seen: dict[Category, None] = {}
    for schema in schemas:
        own = schema.column(level, column.name)
        seen.update(dict.fromkeys(own.categories if own else ()))
    return replace(column, categories=tuple(seen))


def _joint_ids(sets: Sequence[GraphSet]) -> NDArray[Any]:
    ids = [graphs.ids for graphs in sets]
    if len({values.dtype.kind for values in ids}) == 1:
        return np.concatenate(ids)
    return np.concatenate([values.astype(str) for values in ids])
