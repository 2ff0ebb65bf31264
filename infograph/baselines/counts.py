"""How often each node category occurs in each graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.chem.atoms import ELEMENT, HYDROGENS
from infograph.data.graphset import GraphSet
from infograph.data.schema import Column, Schema
from infograph.errors import InvalidParameter


def count_nodes(graphs: GraphSet) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """How often each category of each node column occurs in each graph: names (F,) and counts (G, F).

    Where the hydrogens of molecules are no nodes, `hydrogens` says how many each atom has, and these are
    counted as one more feature. Without columns there is one feature, the number of nodes.
    """
    names: list[str] = []
    counts: list[NDArray[Any]] = []
    for column in graphs.schema.node:
        values = graphs.node[column.name]
        if _are_implicit(column, graphs.schema):
            attached = np.array([*column.categories, 0], dtype=np.float64)[values]
            names.append("implicit hydrogens")
            counts.append(np.bincount(graphs.node_graph, attached, len(graphs))[:, None])
            continue
        width = len(column.categories) + 1  # the last one for what the model does not know
        pairs = np.bincount(graphs.node_graph * width + values, minlength=len(graphs) * width)
        names += [f"{column.name} {category}" for category in column.categories]
        counts.append(pairs.reshape(len(graphs), width)[:, :-1])
    if not counts:
        return ("nodes",), graphs.sizes[:, None].astype(np.float64)
    return tuple(names), np.concatenate(counts, axis=1).astype(np.float64)


def _are_implicit(column: Column, schema: Schema) -> bool:
    """Whether a column holds the hydrogens that are no nodes, beside the elements of those atoms that are."""
    return (
        column.name == HYDROGENS.name
        and schema.column("node", ELEMENT.name) is not None
        and schema.option("hydrogens") is False
    )


def countable(schema: Schema, names: Sequence[str] | None) -> Schema:
    """`schema` with nothing but the node columns to count."""
    if names is not None:
        columns = schema.select("node", names).features("node")
        strange = [column for column in columns if column.kind != "categorical"]
        if strange:
            raise InvalidParameter(
                f"the node column {strange[0].name!r} holds numbers: only categories can be counted"
            )
    elif schema.column("node", ELEMENT.name) is not None:
        wanted = (ELEMENT.name, HYDROGENS.name) if schema.option("hydrogens") is False else (ELEMENT.name,)
        columns = tuple(column for column in schema.node if column.name in wanted)
    else:
        columns = tuple(column for column in schema.features("node") if column.kind == "categorical")
    return schema.replace("node", columns).replace("edge", ())


def seen_only(graphs: GraphSet, schema: Schema) -> Schema:
    """`schema` with just the categories that occur, so that a new element is known to be new."""

    def reduced(column: Column) -> Column:
        if _are_implicit(column, schema):
            return column
        present = np.bincount(graphs.node[column.name], minlength=column.unknown)[: column.unknown] > 0
        return replace(
            column, categories=tuple(c for c, seen in zip(column.categories, present, strict=True) if seen)
        )

    return schema.replace("node", map(reduced, schema.node))
