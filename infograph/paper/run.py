"""Many cells, one after the other or side by side, until they are done or the time is up."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from infograph.cells import Busy, Cell, Result, run_cell
from infograph.errors import InvalidParameter
from infograph.evaluate.compare import METHODS
from infograph.evaluate.published import paper_table1
from infograph.io import read_json
from infograph.jobs import Lost, side_by_side
from infograph.paper.table1 import compute_table1, compute_variant, table1_cells, variant_cells
from infograph.paper.table2 import compute_table2, plan_table2
from infograph.progress import Progress, Watcher

COMPUTE: dict[str, Callable[..., Result]] = {
    "table1": compute_table1,
    "table2": compute_table2,
    "variants": compute_variant,
}
Kind = tuple[str, ...]


class OutOfTime(Exception):
    """The budget of a run is spent."""


@dataclass(frozen=True)
class Done:
    """What became of a cell: "read", "computed", "busy" (another process has it), "late" or "failed".

    A late one is left where it was, and goes on from there in the next run. One that failed has no result:
    its process died.
    """

    cell: Cell
    outcome: str
    result: Result | None = None
    reason: str = ""


def run_grid(
    cells: Sequence[Cell],
    results: Path,
    *,
    workers: int = 1,
    on: str = "local",
    budget: float | None = None,
    begin: Callable[[Cell], None] = lambda cell: None,
    watch: Callable[[Cell], AbstractContextManager[Watcher]] = lambda cell: nullcontext(_look_away),
) -> Iterator[Done]:
    """Compute cells, and tell what became of each as it ends; after a late one, no other begins.

    Args:
        cells: what to compute, in this order; those with a result are read.
        results: the folder of all results.
        workers: 1 computes here, with all threads; more are processes with one thread each.
        on: "local", or a Ray cluster (`infograph.jobs.connect`), on all machines of which
            `results` is under the same path.
        budget: seconds after which no cell begins and trainings stop after their step; None for no limit.
        begin: told of a cell that is about to be computed.
        watch: what watches its training, where there is one worker.
    """
    if workers < 1:
        raise InvalidParameter(f"workers={workers}: expected 1 or more")
    until = None if budget is None else time.time() + budget
    missing = []
    for cell in cells:
        found = cell.read(results)
        if found is None:
            missing.append(cell)
        else:
            yield Done(cell, "read", found)
    if on != "local" or (workers > 1 and len(missing) > 1):
        yield from _elsewhere(missing, results, workers, on, until, begin)
        return
    for cell in missing:
        begin(cell)
        with watch(cell) as watcher:
            done = _one(cell, results, until, watcher)
        yield done
        if done.outcome == "late":
            return


def _look_away(_: Progress) -> None:
    """A watcher that does nothing."""


def _one(cell: Cell, results: Path, until: float | None, watcher: Watcher = _look_away) -> Done:
    """One cell in this process."""

    def late() -> bool:
        return until is not None and time.time() > until

    def stop_late(_: Progress) -> None:
        if late():
            raise OutOfTime

    try:
        if late():
            raise OutOfTime
        result = run_cell(cell, lambda c, work: compute(c, work, [watcher, stop_late]), results)
    except OutOfTime:
        return Done(cell, "late", reason="the budget is spent")
    except Busy as reason:
        return Done(cell, "busy", reason=str(reason))
    return Done(cell, "computed", result)


def _elsewhere(
    cells: Sequence[Cell],
    results: Path,
    workers: int,
    on: str,
    until: float | None,
    begin: Callable[[Cell], None],
) -> Iterator[Done]:
    """The same in several processes, here or on a cluster."""
    stop = False

    def jobs() -> Iterator[_Job]:
        for cell in cells:
            if stop:
                return
            begin(cell)
            yield _Job(cell, results.absolute(), until)

    for job, done in side_by_side(_do, jobs(), workers=workers, on=on):
        found = Done(job.cell, "failed", reason=done.reason) if isinstance(done, Lost) else done
        stop = stop or found.outcome == "late"
        yield found


@dataclass(frozen=True)
class _Job:
    cell: Cell
    results: Path
    until: float | None


def _do(job: _Job) -> Done:
    return _one(job.cell, job.results, job.until)


def compute(cell: Cell, work: Path, watchers: Sequence[Watcher] = ()) -> Result:
    """The result of a cell of any table."""
    return COMPUTE[cell.table](cell, work, watchers=watchers)


def kind(table: str, settings: dict[str, Any]) -> tuple[str, ...]:
    """Cells of the same kind take about the same time: (row, column) of the table."""
    if table == "table2":
        return table, settings["objective"]
    return table, settings["method"], settings["data"]


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


@dataclass(frozen=True)
class Outlook:
    """The state of some cells.

    Attributes:
        done, cells: how many have a result, and of how many.
        seconds: what the missing ones of a known kind will take.
        unknown: missing cells of a kind of which none was computed yet.
    """

    done: int
    cells: int
    seconds: float
    unknown: int

    def __str__(self) -> str:
        if self.done == self.cells:
            return "done"
        if self.unknown == self.cells - self.done:
            return "not known yet"
        about = in_words(self.seconds)
        return f"{about}, and {self.unknown} cells of unknown length" if self.unknown else about


class Durations:
    """How long cells took, by their kind; more may be added while others are computed."""

    def __init__(self, results: Path, cells: Iterable[Cell]) -> None:
        self._taken: dict[Kind, list[float]] = defaultdict(list)
        for cell in cells:
            path = cell.path(results)
            if path.is_file():
                self.add(cell, read_json(path)["measured"]["seconds"])

    def add(self, cell: Cell, seconds: float) -> None:
        """A cell took so long."""
        self._taken[kind(cell.table, cell.settings)].append(seconds)

    def outlook(self, done: Sequence[Cell], missing: Sequence[Cell], at_once: int = 1) -> Outlook:
        """The state of these cells; a missing one takes the median of its kind, `at_once` at a time."""
        known = [self._taken[k] for k in (kind(c.table, c.settings) for c in missing) if self._taken[k]]
        seconds = sum(median(taken) for taken in known) / at_once
        return Outlook(len(done), len(done) + len(missing), seconds, len(missing) - len(known))


def split_cells(cells: Iterable[Cell], results: Path) -> tuple[list[Cell], list[Cell]]:
    """Those with a result, and those without."""
    done: list[Cell] = []
    missing: list[Cell] = []
    for cell in cells:
        (done if cell.path(results).is_file() else missing).append(cell)
    return done, missing


def in_words(seconds: float) -> str:
    """A duration for people: 40 s, 12 min, 3.5 h."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
