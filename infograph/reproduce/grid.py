"""Many cells, one after the other or in several processes, until they are done or the time is up."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from infograph.errors import InvalidParameter
from infograph.reproduce.cells import Busy, Cell, Result, run_cell
from infograph.reproduce.tables import compute
from infograph.train.loop import Progress, Watcher

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class OutOfTime(Exception):
    """The budget of a run is spent."""


@dataclass(frozen=True)
class Done:
    """What became of a cell: "read", "computed", "busy" (another process has it), "late" or "failed".

    A late one is left where it was, and goes on from there in the next run.
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
    budget: float | None = None,
    begin: Callable[[Cell], None] = lambda cell: None,
    watch: Callable[[Cell], AbstractContextManager[Watcher]] = lambda cell: nullcontext(_look_away),
) -> Iterator[Done]:
    """Compute cells, and tell what became of each as it ends; after a late one, no other begins.

    Args:
        cells: what to compute, in this order; those with a result are read.
        results: the folder of all results.
        workers: 1 computes here, with all threads; more are processes with one thread each.
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
    if workers > 1 and len(missing) > 1:
        yield from _in_processes(missing, results, workers, until, begin)
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


def _in_processes(
    cells: Sequence[Cell], results: Path, workers: int, until: float | None, begin: Callable[[Cell], None]
) -> Iterator[Done]:
    """The same in a pool of processes. One that dies takes its cells of the moment with it, no others."""
    waiting = list(reversed(cells))
    with _one_thread_each():
        pool = _pool(workers)
        running: dict[Future[Done], Cell] = {}
        try:
            while waiting or running:
                while waiting and len(running) < workers:
                    cell = waiting.pop()
                    begin(cell)
                    running[pool.submit(_one, cell, results, until)] = cell
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    cell = running.pop(future)
                    try:
                        done = future.result()
                        yield done
                        if done.outcome == "late":
                            waiting.clear()
                    except BrokenProcessPool:
                        lost = [cell, *running.values()]
                        running.clear()
                        pool.shutdown(wait=False)
                        pool = _pool(workers)
                        for each in lost:
                            yield Done(each, "failed", reason="its process died")
                        break
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _pool(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"))


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes that start now use one thread: two threads each on two cores slow each other many times."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
