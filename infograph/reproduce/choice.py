"""Which weight decay and lambda Table 2 has: those of the search, or the first ones while it is under way."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infograph.errors import InvalidParameter
from infograph.methods.objectives import WEIGHED
from infograph.reproduce.cells import Cell
from infograph.reproduce.table2 import table2_stages

DECAY, LAM = 0.0, 1e-3  # before anything is chosen: no penalty, and the authors' lambda


@dataclass(frozen=True)
class Plan2:
    """The cells of Table 2.

    Attributes:
        tried: the cells of the search, decay first; those of lambda are known once the decay is chosen.
        cells: the cells of the table, target by target.
        open: what is not chosen yet, "weight decay" or "lambda"; empty when the search is over.
    """

    tried: tuple[Cell, ...]
    cells: tuple[Cell, ...]
    open: tuple[str, ...]

    @property
    def chosen(self) -> tuple[Cell, ...]:
        """The cells of the search that belong to the table, so far as they are chosen."""
        keys = {cell.key for cell in self.cells}
        return tuple(cell for cell in self.tried if cell.key in keys and _what(cell) not in self.open)


def plan_table2(results: Path) -> Plan2:
    """The table's cells with the chosen settings; with DECAY and LAM for what the search has not chosen."""
    stages: list[list[Cell]] = []
    try:
        stages.extend(table2_stages(results, ["all"], ["all"]))
    except InvalidParameter:  # results of the search are missing
        decay = _parameters(stages[1][0])["weight_decay"] if len(stages) > 1 else DECAY
        (cells,) = table2_stages(results, ["all"], ["all"], lam=LAM, weight_decay=decay)
        tried = tuple(cell for stage in stages for cell in stage)
        return Plan2(tried, tuple(cells), ("weight decay", "lambda")[len(stages) - 1 :])
    return Plan2(tuple(cell for stage in stages[:-1] for cell in stage), tuple(stages[-1]), ())


def settings_text(cell: Cell) -> str:
    """What was tried: "weight decay 0.001", or "lambda 0.0001"."""
    name = "lam" if _what(cell) == "lambda" else "weight_decay"
    return f"{_what(cell)} {_parameters(cell)[name]:g}"


def _what(cell: Cell) -> str:
    return "lambda" if cell.settings["objective"] in WEIGHED else "weight decay"


def _parameters(cell: Cell) -> dict[str, Any]:
    parameters: dict[str, Any] = cell.settings["parameters"]
    return parameters
