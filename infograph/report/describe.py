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

FIRST = 12  # categories that are listed
Content = dict[str, Any]
SHOWN = 6  # categories
CLASSES = 20


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


def in_words(content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Name and text of every fact of a description."""
    for key, value in content.items():
        name = key.replace("_", " ")
        if key == "columns":
            yield from _columns(value)
        elif key.endswith("_per_graph"):
            yield name, spread_text(value)
        elif key == "targets":
            yield "predicts", ", ".join(target_text(target) for target in value)
        elif key == "classes":
            yield name, classes_text(value)
        elif key == "rejected":
            yield from ((f"graph {each['index']}", f"not usable: {each['problem']}") for each in value)
        elif isinstance(value, dict):
            yield name, ", ".join(f"{k} {number(v)}" for k, v in value.items()) or "none"
        elif isinstance(value, list):
            yield name, ", ".join(map(str, value)) or "none"
        else:
            yield name, number(value)


def column_text(column: Mapping[str, Any]) -> str:
    """A column, for instance "label: 7 categories (0, 1, 2, 3, 4, 5, ...)"."""
    if column["role"] == "weight":
        what = "weight of messages"
    elif column["kind"] == "categorical":
        more = ", ..." if column["n_categories"] > SHOWN else ""
        what = (
            f"{column['n_categories']} categories ({', '.join(map(str, column['categories'][:SHOWN]))}{more})"
        )
    elif column["kind"] == "text":
        what = "text"
    else:
        what = f"{column['width']} numbers" if "width" in column else "a number"
    unit = f" in {column['unit']}" if "unit" in column else ""
    return f"{column['name']}: {what}{unit}{'' if column['used'] else ', not seen by encoders'}"


def target_text(target: Mapping[str, str]) -> str:
    """A target with its unit, unless its name ends in it."""
    unit = target["unit"]
    return f"{target['name']} in {unit}" if unit and unit not in target["name"] else target["name"]


def spread_text(spread: Mapping[str, float]) -> str:
    """Counts per graph, for instance "17.9 on average, 10 to 28"."""
    return f"{spread['mean']:,.1f} on average, {spread['least']:,} to {spread['most']:,}"


def classes_text(classes: Mapping[str, int]) -> str:
    """Classes and their sizes, the largest first."""
    shown = [f"{name} ({count:,})" for name, count in list(classes.items())[:CLASSES]]
    more = f" and {len(classes) - CLASSES} more" if len(classes) > CLASSES else ""
    return ", ".join(shown) + more


def number(value: Any) -> str:
    """Whole and large numbers in groups of three, others in four digits."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return (
        f"{value:,}" if isinstance(value, int) else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    )


def _columns(levels: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for level, columns in levels.items():
        for place, column in enumerate(columns):
            yield f"{level} columns" if place == 0 else "", column_text(column)
