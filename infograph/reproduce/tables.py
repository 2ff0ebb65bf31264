"""The tables there are, and how a cell of each is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from infograph.reproduce.cells import Cell, Result
from infograph.reproduce.table1 import compute_table1
from infograph.reproduce.table2 import compute_table2
from infograph.reproduce.variants import compute_variant
from infograph.train.loop import Watcher

COMPUTE: dict[str, Callable[..., Result]] = {
    "table1": compute_table1,
    "table2": compute_table2,
    "variants": compute_variant,
}


def compute(cell: Cell, work: Path, watchers: Sequence[Watcher] = ()) -> Result:
    """The result of a cell of any table."""
    return COMPUTE[cell.table](cell, work, watchers=watchers)


def kind(table: str, settings: dict[str, Any]) -> tuple[str, ...]:
    """Cells of the same kind take about the same time: (row, column) of the table."""
    if table == "table2":
        return table, settings["objective"]
    return table, settings["method"], settings["data"]
