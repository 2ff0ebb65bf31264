"""What the cells took, as tables: seconds per data set and method, and the most memory."""

from __future__ import annotations

from infograph.report.sheet import Entry, Sheet, text
from infograph.report.table2_sheet import ORDER
from infograph.reproduce.accuracies import Table1
from infograph.reproduce.costs import Cost, cost_of, machines
from infograph.reproduce.methods import METHODS
from infograph.reproduce.paper import paper_table1
from infograph.reproduce.ratios import NAMES, Table2


def cost1_sheet(table: Table1) -> Sheet:
    """Median seconds of a representation by data set, and the peak memory over all of them."""
    columns = paper_table1().datasets
    rows = []
    for method in METHODS:
        everything = cost_of(result for data in columns for result in table[data, method].found)
        seconds = [_seconds(cost_of(table[data, method].found)) for data in columns]
        rows.append((text(METHODS[method].title), *seconds, _peak(everything)))
    return Sheet(("seconds", *columns, "peak, MB"), tuple(rows))


def cost2_sheet(table: Table2) -> Sheet:
    """Median seconds of a cell by objective, and its peak memory."""
    rows = []
    for objective in ORDER:
        found = [e.result for (_, name), e in table.errors.items() if name == objective and e.result]
        cost = cost_of(found)
        rows.append((text(NAMES[objective]), _seconds(cost), _peak(cost), text(str(len(found) or ""))))
    return Sheet(("method", "seconds", "peak, MB", "cells"), tuple(rows))


def cost_caption(table1: Table1, table2: Table2) -> list[str]:
    """What was measured, and on what."""
    results = [result for cell in table1.values() for result in cell.found]
    results += [error.result for error in table2.errors.values() if error.result]
    where = "; ".join(machines(results)) or "nothing was run yet"
    return [
        "Median seconds of one cell. In Table 1 that is one setting and repeat: to represent all graphs of a "
        "data set, without the classifier. In Table 2 it is reading, training and prediction for one target. "
        "Of a cell that was stopped and continued it is the last part only, and other work on the machine is "
        "in it: a median of few cells says little. "
        "The peak memory is the largest of a process, Python and its packages included.",
        f"Machine: {where}.",
    ]


def _seconds(cost: Cost) -> Entry:
    if cost.seconds is None:
        return text("")
    return text(f"{cost.seconds:,.0f}" if cost.seconds >= 9.95 else f"{cost.seconds:.2g}")


def _peak(cost: Cost) -> Entry:
    return text("" if cost.peak_mb is None else f"{cost.peak_mb:,.0f}")
