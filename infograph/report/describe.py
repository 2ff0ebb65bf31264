"""What a set of graphs, a model or a file of vectors holds, as data and in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from infograph.data.graphset import GraphSet
from infograph.data.labels import count_classes, is_continuous, is_known
from infograph.data.qm9 import OUTCOMES, bond_outcomes
from infograph.data.schema import LEVELS, Column, Schema
from infograph.data.units import LABEL
from infograph.data.vectors import Embeddings
from infograph.estimators.base import GraphEstimator, GraphPredictor
from infograph.parameters import described

Content = dict[str, Any]
LISTED_CATEGORIES = 12  # as data; half of them in words
LISTED_CLASSES = 20


def describe_graphs(graphs: GraphSet) -> Content:
    """Counts, sizes, columns and classes of the column `y`, JSON-ready; an undirected edge is two arcs."""
    content: Content = {
        "kind": "graphs",
        "graphs": len(graphs),
        "nodes": graphs.n_nodes,
        "arcs": graphs.n_edges,
        "nodes_per_graph": _spread(graphs.sizes),
        "arcs_per_graph": _spread(np.diff(graphs.edge_ptr)),
        **_schema(graphs.schema),
    }
    if graphs.schema.column("graph", LABEL) is not None:
        values = graphs.values("graph", LABEL)
        content["unlabelled"] = int(np.count_nonzero(~is_known(values)))
        if not is_continuous(values):
            content["classes"] = dict(count_classes(values))
    bonds = graphs.schema.column("graph", "bonds")
    if bonds is not None and bonds.categories == tuple(OUTCOMES):  # QM9's
        content["bonds_from"] = bond_outcomes(graphs)
    if graphs.rejected:
        content["rejected"] = [vars(rejected) for rejected in graphs.rejected]
    return content


def describe_model(model: GraphEstimator) -> Content:
    """Class, targets, settings, what its graphs must look like, and how its training went, JSON-ready."""
    settings = described(model)
    content: Content = {"kind": "model", "class": type(model).__name__}
    if isinstance(model, GraphPredictor):
        pairs = zip(model.target_names_, model.target_units_, strict=True)
        content["targets"] = [{"name": name, "unit": unit} for name, unit in pairs]
    if hasattr(model, "classes_"):
        content["predicted_classes"] = model.classes_.tolist()
    content |= {name: settings[name] for name in ("objective", "encoder", "n_models") if name in settings}
    if hasattr(model, "transform"):  # others are not trained in epochs
        history: list[dict[str, float]] = getattr(model, "history_", [])
        content["dim"] = len(model.get_feature_names_out())
        content |= {"epochs_trained": len(history), "last_epoch": history[-1] if history else {}}
    return {**content, "settings": settings, **_schema(model.schema_)}


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


def _schema(schema: Schema) -> Content:
    columns = {level: [_column(column) for column in getattr(schema, level)] for level in LEVELS}
    return {"columns": columns, **({"read_with": dict(schema.options)} if schema.options else {})}


def _column(column: Column) -> Content:
    content: Content = {"name": column.name, "kind": column.kind, "role": column.role, "used": column.used}
    if column.kind == "categorical":
        content["n_categories"] = len(column.categories)
        content["categories"] = list(column.categories[:LISTED_CATEGORIES])
    if column.width > 1:
        content["width"] = column.width
    return content | ({"unit": column.unit} if column.unit else {})


def _spread(counts: Any) -> dict[str, float]:
    mean, median = round(float(counts.mean()), 2), float(np.median(counts))
    return {"least": int(counts.min()), "mean": mean, "median": median, "most": int(counts.max())}


def in_words(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Name and text of every fact of a description."""
    for key, value in content.items():
        name = key.replace("_", " ")
        if key == "columns":
            for level, columns in value.items():
                names = [f"{level} columns", *[""] * len(columns)]
                yield from zip(names, map(_column_text, columns), strict=False)
        elif key.endswith("_per_graph"):
            yield name, f"{value['mean']:,.1f} on average, {value['least']:,} to {value['most']:,}"
        elif key == "targets":
            units = (f" in {t['unit']}" if t["unit"] and t["unit"] not in t["name"] else "" for t in value)
            yield "predicts", ", ".join(t["name"] + unit for t, unit in zip(value, units, strict=True))
        elif key == "classes":
            shown = [f"{label} ({count:,})" for label, count in list(value.items())[:LISTED_CLASSES]]
            more = f" and {len(value) - LISTED_CLASSES} more" if len(value) > LISTED_CLASSES else ""
            yield name, ", ".join(shown) + more
        elif key == "rejected":
            yield from ((f"graph {each['index']}", f"not usable: {each['problem']}") for each in value)
        elif isinstance(value, dict):
            yield name, ", ".join(f"{k} {_number(v)}" for k, v in value.items()) or "none"
        elif isinstance(value, list):
            yield name, ", ".join(map(str, value)) or "none"
        else:
            yield name, _number(value)


def _column_text(column: Mapping[str, Any]) -> str:
    """For instance "label: 7 categories (0, 1, 2, 3, 4, 5, ...)"."""
    what = "text" if column["kind"] == "text" else "a number"
    if column["role"] == "weight":
        what = "weight of messages"
    elif column["kind"] == "categorical":
        shown = list(map(str, column["categories"][: LISTED_CATEGORIES // 2]))
        more = ["..."] if column["n_categories"] > len(shown) else []
        what = f"{column['n_categories']} categories ({', '.join(shown + more)})"
    elif "width" in column:
        what = f"{column['width']} numbers"
    unit = f" in {column['unit']}" if "unit" in column else ""
    return f"{column['name']}: {what}{unit}{'' if column['used'] else ', not seen by encoders'}"


def _number(value: Any) -> str:
    """Whole and large numbers in groups of three, others in four digits."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 1000 else f"{value:.4g}"
