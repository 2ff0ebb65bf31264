"""How far both tables are: cells that are done and planned, and the time that the others will take."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from infograph.reproduce.cells import Cell
from infograph.reproduce.choice import plan_table2
from infograph.reproduce.methods import METHODS
from infograph.reproduce.outlook import Durations, Outlook, split_cells
from infograph.reproduce.paper import paper_table1
from infograph.reproduce.table1 import table1_cells
from infograph.reproduce.variants import variant_cells


@dataclass(frozen=True)
class Standing:
    """The state of one method or variant on one data set, or of one objective on one target.

    Attributes:
        table: "table1", "table2" or "variants".
        column: the data set or the target; "search" for settings tried on one target only.
        row: the method, the variant or the objective.
        outlook: done and planned cells, and the time left.
    """

    table: str
    column: str
    row: str
    outlook: Outlook


def standings(results: Path) -> list[Standing]:
    """Both tables and the variants, in their order; Table 2 with what its search has chosen so far."""
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for data in paper_table1().datasets:
        for method in METHODS:
            groups["table1", data, method] = table1_cells([data], [method])
    plan = plan_table2(results)
    kept = {cell.key for cell in plan.cells}
    for cell in plan.tried:
        if cell.key not in kept:
            groups.setdefault(("table2", "search", cell.settings["objective"]), []).append(cell)
    for cell in plan.cells:
        groups["table2", cell.settings["target"], cell.settings["objective"]] = [cell]
    for cell in variant_cells():
        groups.setdefault(("variants", cell.settings["data"], cell.settings["method"]), []).append(cell)
    known = Durations(results, (cell for cells in groups.values() for cell in cells))
    return [Standing(*place, known.outlook(*split_cells(cells, results))) for place, cells in groups.items()]


def total(outlooks: list[Outlook]) -> Outlook:
    """Several together."""
    return Outlook(
        sum(each.done for each in outlooks),
        sum(each.cells for each in outlooks),
        sum(each.seconds for each in outlooks),
        sum(each.unknown for each in outlooks),
    )
