"""What a set of graphs, a model or a file of vectors holds: for `infograph info` and for reports."""

from __future__ import annotations

from typing import Any

import numpy as np

from infograph.contract import GraphEstimator, GraphPredictor
from infograph.data.embeddings import Embeddings
from infograph.data.graphset import GraphSet
from infograph.data.label_columns import count_classes, is_continuous, is_known
from infograph.data.qm9.bonds import OUTCOMES
from infograph.data.qm9.read import bond_outcomes
from infograph.data.schema import LEVELS, Column, Schema
from infograph.data.units import LABEL

FIRST = 12  # categories that are listed

Content = dict[str, Any]


def describe_graphs(graphs: GraphSet) -> Content:
    """Counts, sizes, columns and classes, JSON-ready.

    `arcs` counts an undirected edge twice. `classes` is there where the column `y` holds some.
    """
    content: Content = {
        "kind": "graphs",
        "graphs": len(graphs),
        "nodes": graphs.n_nodes,
        "arcs": graphs.n_edges,
        "nodes_per_graph": _spread(graphs.sizes),
        "arcs_per_graph": _spread(np.diff(graphs.edge_ptr)),
        **_describe_schema(graphs.schema),
    }
    if graphs.schema.column("graph", LABEL) is not None:
        values = graphs.values("graph", LABEL)
        content["unlabelled"] = int(np.count_nonzero(~is_known(values)))
        if not is_continuous(values):
            content["classes"] = dict(count_classes(values))
    if _has_outcomes(graphs.schema.column("graph", "bonds")):
        content["bonds_from"] = bond_outcomes(graphs)
    if graphs.rejected:
        content["rejected"] = [vars(rejected) for rejected in graphs.rejected]
    return content


def describe_model(model: GraphEstimator) -> Content:
    """Class, targets, settings, what its graphs must look like, and how its training went, JSON-ready."""
    history: list[dict[str, float]] = getattr(model, "history_", [])
    settings = model.get_params(deep=False)
    content: Content = {"kind": "model", "class": type(model).__name__}
    if isinstance(model, GraphPredictor):
        content |= _describe_targets(model)
    if hasattr(model, "transform"):
        content["dim"] = len(model.get_feature_names_out())
    chosen = {name: settings[name] for name in ("objective", "encoder", "n_models") if name in settings}
    content |= {name: value if _plain(value) else "custom" for name, value in chosen.items()}
    if hasattr(model, "transform"):  # others are not trained in epochs
        content |= {"epochs_trained": len(history), "last_epoch": history[-1] if history else {}}
    return {
        **content,
        "settings": {name: value if _plain(value) else "custom" for name, value in settings.items()},
        **_describe_schema(model.schema_),
    }


def _describe_targets(model: GraphPredictor) -> Content:
    pairs = zip(model.target_names_, model.target_units_, strict=True)
    content: Content = {"targets": [{"name": name, "unit": unit} for name, unit in pairs]}
    if hasattr(model, "classes_"):
        content["predicted_classes"] = model.classes_.tolist()
    return content


def describe_embeddings(embeddings: Embeddings) -> Content:
    """Rows, length and columns, JSON-ready."""
    return {
        "kind": "vectors",
        "rows": len(embeddings),
        "dim": embeddings.dim,
        "without_vector": int(np.count_nonzero(~embeddings.usable)),
        "first_ids": embeddings.ids[:5].tolist(),
        "graph_columns": list(embeddings.columns),
    }


def describe_column(column: Column) -> Content:
    """Name, kind, unit and, of categories, their number and the first twelve."""
    content: Content = {"name": column.name, "kind": column.kind}
    if column.kind == "categorical":
        content |= {"n_categories": len(column.categories), "categories": list(column.categories[:FIRST])}
    if column.width > 1:
        content["width"] = column.width
    if column.unit:
        content["unit"] = column.unit
    return {**content, "role": column.role, "used": column.used}


def _has_outcomes(column: Column | None) -> bool:
    """Whether the column is QM9's, which says where each molecule's bonds come from."""
    return column is not None and column.kind == "categorical" and column.categories == tuple(OUTCOMES)


def _describe_schema(schema: Schema) -> Content:
    columns = {level: [describe_column(column) for column in getattr(schema, level)] for level in LEVELS}
    return {"columns": columns, **({"read_with": dict(schema.options)} if schema.options else {})}


def _spread(counts: Any) -> dict[str, float]:
    return {
        "least": int(counts.min()),
        "mean": round(float(counts.mean()), 2),
        "median": float(np.median(counts)),
        "most": int(counts.max()),
    }


def _plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float | bool | list | tuple)
