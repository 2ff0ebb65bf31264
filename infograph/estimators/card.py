"""The card of a saved model: what it is, what it was trained on, how it went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infograph.data.schema import Column, Schema


def model_card(
    settings: Mapping[str, Any], schema: Schema, history: Sequence[Mapping[str, float]], dim: int
) -> str:
    """Markdown for people; nothing reads it back."""
    lines = ["# InfoGraph model", "", f"Turns a graph into a vector of {dim} numbers.", ""]
    lines += [
        "```python",
        "import infograph",
        "",
        'vectors = infograph.load("this folder").transform(graphs)',
        "```",
        "",
    ]
    lines += ["## Expects", "", *_columns(schema), "", "## Training", ""]
    if history:
        last = history[-1]
        end = f"loss {last['loss']:.4g}, pair accuracy {last['accuracy']:.1%}"
        lines.append(f"{len(history)} epochs; at the end: {end}.")
    else:
        lines.append("Untrained weights; BatchNorm statistics from one pass.")
    lines += ["", "## Settings", "", *(f"- {name}: {value}" for name, value in settings.items()), ""]
    return "\n".join(lines)


def _columns(schema: Schema) -> list[str]:
    described = [f"- node column `{c.name}`: {_describe(c)}" for c in schema.node]
    described += [f"- edge column `{c.name}`: {_describe(c)}" for c in schema.edge]
    return described or ["- graphs without node or edge columns"]


def _describe(column: Column) -> str:
    if column.role == "weight":
        return "weight of messages"
    if column.kind == "categorical":
        shown = ", ".join(map(str, column.categories[:12])) + (" ..." if len(column.categories) > 12 else "")
        return f"{len(column.categories)} categories ({shown})"
    return f"{column.width} number(s), standardised"
