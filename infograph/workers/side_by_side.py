"""One function called for many jobs, in processes of this machine or as tasks of a Ray cluster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from infograph.errors import InvalidParameter, JobStopped
from infograph.workers.children import THREADS
from infograph.workers.cluster import connect, one_line

Job = TypeVar("Job")
Outcome = TypeVar("Outcome")
RETRIES = 2  # of a task on Ray whose worker was lost


@dataclass(frozen=True)
class Lost:
    """Why a job has no outcome, such as that its process died."""

    reason: str


def side_by_side(
    function: Callable[[Job], Outcome], jobs: Iterable[Job], *, workers: int, on: str = "local"
) -> Iterator[tuple[Job, Outcome | Lost]]:
    """Call `function` for every job, `workers` at a time, and give each outcome as it comes.

    Args:
        function: of a module, so that others can import it; what it raises is raised here.
        jobs: what it is called with; the next one is taken when a worker is free.
        workers: how many at a time, with one thread each.
        on: "local", or a Ray cluster (`infograph.workers.cluster.connect`).

    Raises:
        JobStopped: the cluster cannot be reached, or was lost.
    """
    if workers < 1:
        raise InvalidParameter(f"workers={workers}: expected 1 or more")
    tasks: _Tasks = _Processes(workers) if on == "local" else _RayTasks(on, workers)
    waiting, running = iter(jobs), {}  # type: Iterator[Job], dict[Any, Job]
    try:
        while True:
            while len(running) < workers:
                try:
                    job = next(waiting)
                except StopIteration:
                    break
                running[tasks.submit(function, job)] = job
            if not running:
                return
            for handle in tasks.finished(list(running)):
                yield running.pop(handle), tasks.outcome(handle)
    finally:
        tasks.close()


class _Tasks(Protocol):
    def submit(self, function: Callable[[Any], Any], job: Any) -> Any:
        """A handle to a call that has begun."""
        ...

    def finished(self, handles: Sequence[Any]) -> Sequence[Any]:
        """Those that ended; there is one at least."""
        ...

    def outcome(self, handle: Any) -> Any:
        """What it gave, or that it was lost."""
        ...

    def close(self) -> None:
        """End what is running, and wait until it has ended."""
        ...


class _Processes:
    """A pool of processes. One that dies takes all jobs of the moment with it, and no others."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool = self._make()
        self._running: set[Future[Any]] = set()

    def submit(self, function: Callable[[Any], Any], job: Any) -> Future[Any]:
        with _one_thread_each():
            try:
                handle = self._pool.submit(function, job)
            except BrokenProcessPool:
                self._pool = self._make()
                handle = self._pool.submit(function, job)
        self._running.add(handle)
        return handle

    def finished(self, handles: Sequence[Future[Any]]) -> Sequence[Future[Any]]:
        return list(wait(handles, return_when=FIRST_COMPLETED).done)

    def outcome(self, handle: Future[Any]) -> Any:
        self._running.discard(handle)
        try:
            return handle.result()
        except BrokenProcessPool:
            return Lost("its process died")

    def close(self) -> None:
        if any(not handle.done() for handle in self._running):
            for process in list((self._pool._processes or {}).values()):  # Python 3.14: `terminate_workers`
                process.terminate()  # the pool takes this as the loss of all, and reaps them
        self._pool.shutdown(cancel_futures=True)

    def _make(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(self._workers, mp_context=context, initializer=_begin)


def _begin() -> None:
    """Called in every new process of the pool: Ctrl-C is for its parent, with which it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


class _RayTasks:
    """Tasks of one core each; one whose worker is lost is called again, wherever there is room."""

    def __init__(self, on: str, workers: int) -> None:
        self._ray = connect(on, workers)

    def submit(self, function: Callable[[Any], Any], job: Any) -> Any:
        options = {"num_cpus": 1, "max_retries": RETRIES}
        return self._ray.remote(function).options(**options).remote(job)

    def finished(self, handles: Sequence[Any]) -> Sequence[Any]:
        try:
            return list(self._ray.wait(handles, num_returns=1)[0])
        except (ConnectionError, self._ray.exceptions.RaySystemError) as error:
            raise self._gone(error) from error

    def outcome(self, handle: Any) -> Any:
        try:
            return self._ray.get(handle)
        except self._ray.exceptions.RayTaskError as error:
            raise getattr(error, "cause", None) or error from error
        except (ConnectionError, self._ray.exceptions.RaySystemError) as error:
            raise self._gone(error) from error
        except self._ray.exceptions.RayError as error:
            return Lost(one_line(error))

    def close(self) -> None:
        self._ray.shutdown()

    def _gone(self, error: Exception) -> JobStopped:
        return JobStopped(
            f"the Ray cluster was lost ({one_line(error)}): run the same command again, "
            f"what is finished stays"
        )


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
