"""Many cells, one after the other or side by side, until they are done or the time is up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from infograph.errors import InvalidParameter
from infograph.reproduce.cells import Busy, Cell, Result, run_cell
from infograph.reproduce.tables import compute
from infograph.train.loop import Progress, Watcher
from infograph.workers.side_by_side import Lost, side_by_side


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
        on: "local", or a Ray cluster (`infograph.workers.cluster.connect`), on all machines of which
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
