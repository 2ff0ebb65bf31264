"""Sets of graphs that go together: joined to one, or with the columns and codes of a fitted model."""

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
    """
    _check_options(graphs.schema, schema)
    if graphs.schema.node == schema.node and graphs.schema.edge == schema.edge:
        return graphs
    unknown: list[str] = []
    stored: dict[str, Any] = {"node": {}, "edge": {}}
    columns: dict[str, Any] = {"node": (), "edge": (), "graph": graphs.schema.graph}
    for level in LEVELS[:2]:
        for column in getattr(schema, level):
            own = graphs.schema.column(level, column.name)
            fits = own is not None and (own.kind, own.width) == (column.kind, column.width)
            if not fits and not column.used:
                continue  # no encoder misses it
            try:
                stored[level][column.name], strangers = recode(graphs, level, column)
            except SchemaMismatch as error:
                if schema.option("hydrogens") is None:  # an option of molecules
                    raise
                raise SchemaMismatch(f"{error}; the model was trained on molecules") from error
            columns[level] += (column,)
            if strangers:
                unknown.append(f"{level} column {column.name!r}: {strangers}")
        for column in getattr(graphs.schema, level) if keep else ():
            if column.name not in stored[level]:
                stored[level][column.name] = getattr(graphs, level)[column.name]
                columns[level] += (replace(column, used=False),)
    if unknown:
        warnings.warn(
            f"categories not seen before are encoded as unknown: {'; '.join(unknown)}",
            UnknownCategoryWarning,
            stacklevel=3,
        )
    return replace(graphs, **stored, schema=replace(schema, **columns))


def concatenate(sets: Iterable[GraphSet], *, fill: bool = False) -> GraphSet:
    """One set out of several: columns are matched by name, categories are joined.

    Args:
        sets: the sets.
        fill: give all sets the columns of the first one: others are left out, and where a set lacks one its
            values are NaN, "", or of no known category.
    """
    sets = list(sets)
    strange = [type(item).__name__ for item in sets if not isinstance(item, GraphSet)]
    if strange:
        raise InvalidParameter(f"only GraphSets can be joined, a {strange[0]} came")
    if not sets:
        raise InvalidParameter("nothing to concatenate: an empty list of GraphSets")
    if len(sets) == 1:
        return sets[0]
    joint = joint_schema([graphs.schema for graphs in sets], fill=fill)
    columns: dict[str, Any] = {
        level: {
            column.name: np.concatenate([recode(graphs, level, column, fill=fill)[0] for graphs in sets])
            for column in getattr(joint, level)
        }
        for level in LEVELS
    }
    ids = [graphs.ids for graphs in sets]
    if len({values.dtype.kind for values in ids}) > 1:  # numbers here and texts there
        ids = [values.astype(str) for values in ids]
    inputs = pointer(np.array([len(graphs) + len(graphs.rejected) for graphs in sets])).tolist()
    return GraphSet(
        node_ptr=pointer(np.concatenate([graphs.sizes for graphs in sets])),
        edge_ptr=pointer(np.concatenate([np.diff(graphs.edge_ptr) for graphs in sets])),
        edges=np.concatenate([graphs.edges for graphs in sets], axis=1),
        ids=np.concatenate(ids),
        schema=joint,
        rejected=tuple(
            replace(each, index=start + each.index)
            for start, graphs in zip(inputs[:-1], sets, strict=True)
            for each in graphs.rejected
        ),
        **columns,
    )


def joint_schema(schemas: Sequence[Schema], *, fill: bool = False) -> Schema:
    """The columns of the first schema with the categories of all; `fill` as in `concatenate`."""
    joint = schemas[0]
    for level in LEVELS:
        names = {column.name for column in getattr(joint, level)}
        for position, schema in enumerate(schemas):
            _check_options(schema, joint)
            others = {column.name for column in getattr(schema, level)}
            if not fill and others != names:
                problem = (
                    f"set {position} has the {level} columns {sorted(others)}, set 0 has {sorted(names)}"
                )
                raise SchemaMismatch(f"{problem}: they must be the same")
        seen: dict[str, dict[Category, None]] = {name: {} for name in names}
        for schema in schemas:
            for column in getattr(schema, level):
                seen.setdefault(column.name, {}).update(dict.fromkeys(column.categories))
        columns = (replace(c, categories=tuple(seen[c.name])) for c in getattr(joint, level))
        joint = joint.replace(level, columns)
    return joint


def recode(graphs: GraphSet, level: Level, column: Column, *, fill: bool = False) -> tuple[NDArray[Any], str]:
    """The values of a set in the codes of `column`, and a sentence on categories that it does not know."""
    own = graphs.schema.column(level, column.name)
    if own is None and fill:
        n_rows = {"node": graphs.n_nodes, "edge": graphs.n_edges, "graph": len(graphs)}[level]
        if column.kind != "float":
            return np.full(n_rows, "" if column.kind == "text" else np.int32(column.unknown)), ""
        shape = (n_rows, column.width) if column.width != 1 else (n_rows,)
        return np.full(shape, np.nan, np.float64 if level == "graph" else np.float32), ""
    if own is None:
        have = ", ".join(repr(c.name) for c in getattr(graphs.schema, level)) or "none"
        raise SchemaMismatch(f"the {level} column {column.name!r} is missing; these graphs have: {have}")
    if (own.kind, own.width) != (column.kind, column.width):
        kinds = [
            "categories" if c.kind == "categorical" else f"{c.width} {c.kind} value(s) each"
            for c in (own, column)
        ]
        raise SchemaMismatch(f"the {level} column {column.name!r} holds {kinds[0]}, expected {kinds[1]}")
    if own.unit and column.unit and own.unit != column.unit:
        raise SchemaMismatch(f"the {level} column {column.name!r} is in {own.unit}, expected {column.unit}")
    values = getattr(graphs, level)[column.name]
    if own.kind != "categorical" or own.categories == column.categories:
        return values, ""
    values = own.codes(values)
    codes = {category: code for code, category in enumerate(column.categories)}
    table = [codes.get(category, column.unknown) for category in own.categories]
    recoded = np.array([*table, column.unknown], np.int32)[values]
    counts = np.bincount(values[recoded == column.unknown], minlength=own.unknown + 1)[:-1]
    strangers = [f"{own.categories[code]!r} ({counts[code]}x)" for code in np.flatnonzero(counts)]
    more = f" and {len(strangers) - 8} more" if len(strangers) > 8 else ""
    return recoded, ", ".join(strangers[:8]) + more


def _check_options(own: Schema, expected: Schema) -> None:
    for name, value in own.options:
        wanted = expected.option(name)
        if wanted is not None and wanted != value:
            raise SchemaMismatch(f"these graphs were read with {name}={value}, expected {name}={wanted}")
