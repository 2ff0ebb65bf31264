"""Many cells, one after the other or side by side, until they are done or the time is up."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from statistics import median

from infograph.cells import Busy, Cell, Result, run_cell
from infograph.evaluate.published import paper_table1
from infograph.jobs import Lost, run
from infograph.paper.predictions import compute_predictions
from infograph.paper.table1 import compute_table1, table1_cells, variant_cells
from infograph.paper.table2 import compute_table2, planned_cells
from infograph.paper.vectors import compute_vectors
from infograph.progress import Progress, Watcher


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

    Cells with a result are read. After `budget` seconds no cell begins, and trainings stop after their step.
    `begin` is told of a cell that is about to be computed; `watch` watches its training, where there is one
    worker. See `infograph.jobs.run` for `workers` and `on`; all machines have `results` under the same path.
    """
    until = None if budget is None else time.time() + budget
    missing = []
    for cell in cells:
        found = cell.read(results)
        if found is None:
            missing.append(cell)
        else:
            yield Done(cell, "read", found)
    late = False

    def waiting() -> Iterator[Cell]:
        for cell in missing:
            if late:
                return
            begin(cell)
            yield cell

    def here(cell: Cell) -> Done:
        with watch(cell) as watcher:
            return _one(cell, results, until, watcher)

    workers = workers if len(missing) > 1 else min(workers, 1)
    work = here if workers == 1 and on == "local" else partial(_one, results=results.absolute(), until=until)
    for cell, outcome in run(work, waiting(), workers=workers, on=on):
        done = Done(cell, "failed", reason=outcome.reason) if isinstance(outcome, Lost) else outcome
        late = late or done.outcome == "late"
        yield done


def _look_away(_: Progress) -> None:
    pass


def _one(cell: Cell, results: Path, until: float | None, watcher: Watcher = _look_away) -> Done:
    def stop_late(_: Progress | None = None) -> None:
        if until is not None and time.time() > until:
            raise OutOfTime

    try:
        stop_late()
        result = run_cell(cell, lambda c, work: compute(c, work, [watcher, stop_late]), results)
    except OutOfTime:
        return Done(cell, "late", reason="the budget is spent")
    except Busy as reason:
        return Done(cell, "busy", reason=str(reason))
    return Done(cell, "computed", result)


def compute(cell: Cell, work: Path, watchers: Sequence[Watcher] = ()) -> Result:
    """The result of a cell of any table."""
    others = {"table2": compute_table2, "vectors": compute_vectors, "predictions": compute_predictions}
    table = others.get(cell.table, compute_table1)
    return table(cell, work, watchers=watchers)


@dataclass(frozen=True)
class Status:
    """How far some cells are: how many are done, and the seconds and number of the missing ones.

    Missing cells of a kind of which none is done are `unknown`, and not in the seconds.
    """

    done: int
    cells: int
    seconds: float
    unknown: int

    def __str__(self) -> str:
        """The time that is left."""
        if self.done == self.cells:
            return "done"
        if self.unknown == self.cells - self.done:
            return "not known yet"
        time_left = str(timedelta(seconds=round(self.seconds)))
        return f"{time_left}, and {self.unknown} cells of unknown length" if self.unknown else time_left


def whole_status(results: Path) -> dict[tuple[str, str, str], Status]:
    """All tables by (table, data set or target, method or objective), with what Table 2's search has chosen.

    Settings that are tried on one target only are its column "search".
    """
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in [*table1_cells(paper_table1().datasets), *variant_cells()]:
        groups.setdefault((cell.table, cell.settings["data"], cell.settings["method"]), []).append(cell)
    for column, cell in planned_cells(results):
        groups.setdefault(("table2", column, cell.settings["objective"]), []).append(cell)
    took = Durations(results, (cell for cells in groups.values() for cell in cells))
    return {place: took.status(cells) for place, cells in sorted(groups.items(), key=lambda each: each[0][0])}


def total(parts: Iterable[Status]) -> Status:
    """Several together."""
    return Status(*(sum(numbers) for numbers in zip(*(vars(each).values() for each in parts), strict=True)))


class Durations:
    """How long cells took; others of the same table, method and data set (or epochs) will take as long."""

    def __init__(self, results: Path, cells: Iterable[Cell]) -> None:
        self._taken: dict[tuple[str, ...], list[float]] = defaultdict(list)
        self._done: set[str] = set()
        for cell in cells:
            found = cell.read(results)
            if found is not None:
                self.add(cell, found["measured"]["seconds"])

    def add(self, cell: Cell, seconds: float) -> None:
        """This cell is done."""
        self._done.add(cell.key)
        self._taken[_kind(cell)].append(seconds)

    def status(self, cells: Sequence[Cell], at_once: int = 1) -> Status:
        """Of these cells; a missing one takes the median of its kind, `at_once` at a time."""
        missing = [cell for cell in cells if cell.key not in self._done]
        taken = [self._taken[_kind(cell)] for cell in missing]
        seconds = sum(median(each) for each in taken if each) / at_once
        return Status(len(cells) - len(missing), len(cells), seconds, taken.count([]))


def _kind(cell: Cell) -> tuple[str, ...]:
    of = cell.settings
    if cell.table == "table2":
        return cell.table, of["objective"], str(of.get("parameters", {}).get("epochs"))
    return cell.table, of["method"], of["data"]
