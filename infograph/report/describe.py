"""What a set of graphs holds, in a few figures: for `infograph info` and for reports."""

from __future__ import annotations

from typing import Any

import numpy as np

from infograph.data.graphset import GraphSet
from infograph.data.schema import LEVELS, Column
from infograph.report.labels import count_classes, is_continuous, is_known

LABEL = "y"


def describe_graphs(graphs: GraphSet) -> dict[str, Any]:
    """Counts, sizes, columns and classes, JSON-ready.

    `arcs` counts an undirected edge twice. `classes` is there where the graphs have the column `y`.
    """
    content: dict[str, Any] = {
        "graphs": len(graphs),
        "nodes": graphs.n_nodes,
        "arcs": graphs.n_edges,
        "nodes_per_graph": _spread(graphs.sizes),
        "arcs_per_graph": _spread(np.diff(graphs.edge_ptr)),
        "columns": {
            level: [describe_column(column) for column in getattr(graphs.schema, level)] for level in LEVELS
        },
    }
    if graphs.schema.options:
        content["read_with"] = dict(graphs.schema.options)
    if graphs.schema.column("graph", LABEL) is not None:
        values = graphs.values("graph", LABEL)
        content["unlabelled"] = int(np.count_nonzero(~is_known(values)))
        if not is_continuous(values):
            content["classes"] = dict(count_classes(values))
    if graphs.rejected:
        content["rejected"] = [
            {"index": rejected.index, "id": rejected.graph_id, "problem": rejected.problem}
            for rejected in graphs.rejected
        ]
    return content


def describe_column(column: Column) -> dict[str, Any]:
    """Name, kind, unit and, of categories, their number and the first twelve."""
    content: dict[str, Any] = {"name": column.name, "kind": column.kind}
    if column.kind == "categorical":
        content |= {"n_categories": len(column.categories), "categories": list(column.categories[:12])}
    if column.width > 1:
        content["width"] = column.width
    if column.unit:
        content["unit"] = column.unit
    return {**content, "role": column.role, "used": column.used}


def column_text(column: Column) -> str:
    """The same in words, for instance "label: 7 categories (0, 1, 2, ...)"."""
    if column.role == "weight":
        what = "weight of messages"
    elif column.kind == "categorical":
        shown = ", ".join(map(str, column.categories[:6])) + (", ..." if len(column.categories) > 6 else "")
        what = f"{len(column.categories)} categories ({shown})"
    elif column.kind == "text":
        what = "text"
    else:
        what = "a number" if column.width == 1 else f"{column.width} numbers"
    unit = f" in {column.unit}" if column.unit else ""
    return f"{column.name}: {what}{unit}{'' if column.used else ', not seen by encoders'}"


def _spread(counts: Any) -> dict[str, float]:
    return {
        "least": int(counts.min(initial=0)) if not len(counts) else int(counts.min()),
        "mean": round(float(counts.mean()), 2) if len(counts) else 0.0,
        "median": float(np.median(counts)) if len(counts) else 0.0,
        "most": int(counts.max(initial=0)),
    }
