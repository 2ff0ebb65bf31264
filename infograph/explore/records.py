"""What is known of single graphs, ready for JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from infograph.explore.columns import own_names
from infograph.explore.explorer import Explorer
from infograph.index import Hits

SHOWN = 500  # characters of a text


def record(explorer: Explorer, row: int) -> dict[str, Any]:
    """Row, id and the user's columns of a graph."""
    columns = explorer.index.columns
    names = own_names(columns)
    return {
        "row": row,
        "id": str(explorer.index.ids[row]),
        "columns": {names[name]: plain(values[row]) for name, values in columns.items()},
    }


def facts(explorer: Explorer, row: int) -> dict[str, Any]:
    """What the atlas found out about a graph: cluster, sizes, outlier score, predictions."""
    columns = explorer.atlas.columns
    users = set(own_names(explorer.index.columns).values())
    found = {column.name: column.cell(row) for column in columns if column.name not in users}
    if found.get("cluster") is None:
        found["cluster"] = "none"
    return {name: plain(value) for name, value in found.items()}


def hits_of(hits: Hits) -> list[dict[str, Any]]:
    """The hits of one query: row, id and score, best first."""
    found: Iterable[tuple[Any, Any, Any]] = zip(hits.rows[0], hits.ids[0], hits.scores[0], strict=True)
    return [{"row": int(row), "id": str(i), "score": plain(float(score))} for row, i, score in found]


def plain(value: Any) -> Any:
    """A value as JSON has it: numbers that are none, and missing values, are None; long texts are cut."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int):
        return value
    text = str(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
