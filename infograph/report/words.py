"""Descriptions in words: what `infograph.report.describe` says, for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

SHOWN = 6  # categories
CLASSES = 20


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
