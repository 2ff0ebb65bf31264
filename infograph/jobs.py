"""One function for many jobs, in processes of this machine (loky) or as tasks of a Ray cluster.

    for shard, outcome in run(embed, shards, workers=8):
        ...

A worker that dies costs its own job only, which is tried again, and at last is `Lost`. What the function
raises is raised here, and ends the others. Workers have one thread each, leave Ctrl-C to the process that
started them, and end with it, however that ends. Scripts need no `if __name__ == "__main__"`.
"""

from __future__ import annotations

import os
import re
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

import psutil
from loky.backend.context import LokyContext
from loky.process_executor import ProcessPoolExecutor, TerminatedWorkerError

from infograph.errors import InfoGraphError, InvalidParameter, JobStopped, MissingExtra

Job = TypeVar("Job")
Outcome = TypeVar("Outcome")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
RETRIES = 2  # of a job whose worker died
POLL = 0.1  # seconds between looks at a child with limits
OBJECT_STORE = 80_000_000  # bytes of Ray's, near the least there is: only paths and records go through


@dataclass(frozen=True)
class Lost:
    """A job has no outcome: its worker died, again and again."""

    reason: str


class OverLimit(InfoGraphError, RuntimeError):
    """A function that took more time or memory than it may."""


def run(
    function: Callable[[Job], Outcome], jobs: Iterable[Job], *, workers: int = 1, on: str = "local"
) -> Iterator[tuple[Job, Outcome | Lost]]:
    """Call `function` for every job, and give each job with its outcome as it comes.

    Args:
        function: anything that cloudpickle takes.
        jobs: what it is called with; the next one is taken when a worker is free.
        workers: how many at a time; 1 on "local" calls the function here, with all threads.
        on: "local", or a Ray cluster, see `connect`.
    """
    if workers < 1:
        raise InvalidParameter(f"workers={workers}: expected 1 or more")
    if on != "local":
        yield from _on_ray(function, jobs, workers, on)
    elif workers > 1:
        yield from _in_processes(function, jobs, workers)
    else:
        for job in jobs:
            yield job, function(job)


def _in_processes(
    function: Callable[[Job], Outcome], jobs: Iterable[Job], workers: int
) -> Iterator[tuple[Job, Outcome | Lost]]:
    """By pools of one process each: a pool that loses a process loses the jobs of all."""
    waiting, idle = iter(jobs), list[ProcessPoolExecutor]()
    running: dict[Future[Outcome], tuple[Job, int, ProcessPoolExecutor]] = {}

    def begin(job: Job, tries: int) -> None:
        worker = idle.pop() if idle else _worker(ONE_THREAD)
        running[worker.submit(function, job)] = (job, tries, worker)

    try:
        while True:
            for job in islice(waiting, workers - len(running)):
                begin(job, 0)
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                job, tries, worker = running.pop(future)
                idle.append(worker)
                try:
                    outcome: Outcome | Lost = future.result()
                except TerminatedWorkerError as error:
                    idle.remove(worker)
                    if tries < RETRIES:
                        begin(job, tries + 1)
                        continue
                    outcome = Lost(f"its process died {tries + 1} times ({_exit_code(error)})")
                yield job, outcome
    finally:
        for worker in (*idle, *(worker for _, _, worker in running.values())):
            worker.shutdown(kill_workers=True)


def _worker(environment: dict[str, str]) -> ProcessPoolExecutor:
    """One process, started with its first job."""
    # a context of its own: joblib's copy of loky takes the name "loky" in multiprocessing, too
    own = {"context": LokyContext(), "env": environment}
    return ProcessPoolExecutor(1, initializer=_begin, initargs=(os.getpid(),), **own)


def _begin(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)  # what libraries print is no result
    end_with(parent)


def end_with(parent: int) -> None:
    """Have this process, and what it started, end soon after the one that started it, however that ends."""

    def look() -> None:
        while os.getppid() == parent and psutil.pid_exists(parent):  # Windows keeps the number
            time.sleep(POLL)
        for child in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                child.kill()
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()


def _exit_code(error: TerminatedWorkerError) -> str:
    found = re.search(r"\{(.*)\}", str(error))
    return found[1] if found else "for an unknown reason"


def limited(
    function: Callable[[Job], Outcome],
    job: Job,
    *,
    seconds: float | None = None,
    megabytes: float | None = None,
) -> Outcome:
    """Call a function in a process of its own, with all threads, which is ended where it takes too much.

    `OverLimit` says that it took more time, with the start of the process, or more memory.
    """
    worker, began = _worker({}), time.monotonic()
    try:
        process = psutil.Process(worker.submit(os.getpid).result())
        future: Future[Outcome] = worker.submit(function, job)
        while not wait([future], timeout=POLL).done:
            if seconds is not None and time.monotonic() - began > seconds:
                raise OverLimit(f"stopped after {seconds / 60:.3g} minutes, the budget")
            with suppress(psutil.NoSuchProcess):  # it died, and the future will say so
                used = process.memory_info().rss / 2**20
                if megabytes is not None and used > megabytes:
                    raise OverLimit(f"stopped at {used:,.0f} MB, the limit is {megabytes:,.0f}")
        return future.result()
    except TerminatedWorkerError as error:
        raise JobStopped(f"its process died ({_exit_code(error)})") from error
    finally:
        worker.shutdown(kill_workers=True)


def _on_ray(
    function: Callable[[Job], Outcome], jobs: Iterable[Job], workers: int, on: str
) -> Iterator[tuple[Job, Outcome | Lost]]:
    ray = connect(on, workers)

    def call(job: Job) -> Outcome:  # Ray takes plain functions only
        return function(job)

    task = ray.remote(call).options(num_cpus=1, max_retries=RETRIES)
    waiting, running = iter(jobs), dict[Any, Job]()
    try:
        while True:
            for job in islice(waiting, workers - len(running)):
                running[task.remote(job)] = job
            if not running:
                return
            for done in ray.wait(list(running), num_returns=1)[0]:
                try:
                    outcome: Outcome | Lost = ray.get(done)
                except ray.exceptions.RayTaskError as error:
                    raise getattr(error, "cause", None) or error from error
                except ray.exceptions.RaySystemError:
                    raise
                except ray.exceptions.RayError as error:
                    outcome = Lost(one_line(error))
                yield running.pop(done), outcome
    except (ConnectionError, ray.exceptions.RaySystemError) as error:
        raise JobStopped(f"the Ray cluster was lost ({one_line(error)}): run the same again") from error
    finally:
        for left in running:
            with suppress(Exception):
                ray.cancel(left, force=True)
        ray.shutdown()


def connect(on: str, workers: int) -> Any:
    """The package ray, connected.

    "ray" starts a cluster with as many cores on this machine, which ends with this process or with
    `ray.shutdown`; "ray://host:port" is that of a cluster's client server, "ray://auto" the cluster that this
    machine belongs to. `JobStopped` says that it cannot be reached.
    """
    if not re.fullmatch(r"ray(://(auto|.+:\d+))?", on):
        raise InvalidParameter(f"on={on!r}: expected 'local', 'ray', or a cluster such as 'ray://host:10001'")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # no figures leave the machine
    os.environ.setdefault("RAY_CLIENT_MAX_CONNECTION_TIMEOUT_S", "5")  # of three attempts
    address = on.partition("://")[2]
    where = {"address": "auto" if address == "auto" else on}
    here = {"address": "local", "num_cpus": workers, "num_gpus": 0, "include_dashboard": False}
    given = where if address else {**here, "object_store_memory": OBJECT_STORE}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Ray's own imports, and what later versions will do
        try:
            import ray
        except ImportError as error:
            raise MissingExtra("ray", "scale") from error
        try:
            try:
                ray.init(**given, logging_level="ERROR", log_to_driver=False)
            except ConnectionAbortedError:  # it is there and too busy to begin: once more
                ray.init(**given, logging_level="ERROR", log_to_driver=False)
        except Exception as error:
            hint = "; if it asks for a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN" if address else ""
            raise JobStopped(f"no Ray cluster at {on!r} ({one_line(error)}){hint}") from error
    return ray


def one_line(error: Exception) -> str:
    """What an error says, in one short line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return lines[0][:200]
