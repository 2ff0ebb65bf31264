"""Work for other processes: one function for many jobs, children that speak JSON, and the way to Ray."""

from __future__ import annotations

import json
import multiprocessing
import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, Any, Protocol, TextIO, TypeVar

from infograph.errors import InvalidParameter, JobStopped, MissingExtra

Job = TypeVar("Job")
Outcome = TypeVar("Outcome")
RETRIES = 2  # of a task on Ray whose worker was lost
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
Say = Callable[[dict[str, Any]], None]
STORE = 80_000_000  # bytes of Ray's object store, near the least there is: only paths and records go through
PATIENCE = 5.0  # seconds for a cluster to answer
SETTINGS = b"\x04"  # the kind of the first frame that both sides of HTTP/2, which gRPC speaks, send
HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0" + SETTINGS + b"\0\0\0\0\0"


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
        on: "local", or a Ray cluster (`infograph.jobs.connect`).

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


# Processes of this machine, with one thread each, that are told and answer lines of JSON.
#
# A process of its own program, and not a fork: torch's threads do not survive one, and scripts need no `if
# __name__ == "__main__"`. A child ends when its standard input does, and so with the process that started
# it, however that ends.


@dataclass(frozen=True)
class Said:
    """What a child said, or None and why it is `lost`."""

    child: int
    content: dict[str, Any] | None = None
    lost: str = ""


class Children:
    """Processes of one module, numbered from 0.

    Args:
        module: what `python -m` runs.
        environment: variables for them.
        one_thread: whether each has one thread, or as many as this process would have.
    """

    def __init__(
        self, module: str, environment: Mapping[str, str] | None = None, *, one_thread: bool = True
    ) -> None:
        self._module = module
        threads = dict.fromkeys(THREADS, "1") if one_thread else {}
        self._environment = {**os.environ, **threads, **(environment or {})}
        self._said: queue.SimpleQueue[Said] = queue.SimpleQueue()
        self._processes: list[subprocess.Popen[str]] = []
        self._complaints: list[IO[str]] = []
        self._strays: dict[int, str] = {}  # child -> the last line it said that is no JSON object
        self._stopped: set[int] = set()

    @property
    def pids(self) -> list[int]:
        """The ids of the processes that were started, ended ones too."""
        return [process.pid for process in self._processes]

    def start(self, line: str) -> int:
        """Start a process and tell it a first line."""
        complaints = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - closed in `close`
        process = subprocess.Popen(
            [sys.executable, "-m", self._module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            errors="replace",
            env=self._environment,
        )
        self._processes.append(process)
        self._complaints.append(complaints)
        child = len(self._processes) - 1
        threading.Thread(target=self._listen, args=(child,), daemon=True).start()
        self.tell(child, line)
        return child

    def tell(self, child: int, line: str) -> None:
        """Tell it a line."""
        stdin: Any = self._processes[child].stdin
        with suppress(OSError):  # it is gone, and `_listen` says so
            stdin.write(line + "\n")
            stdin.flush()

    def stop(self, child: int) -> None:
        """End a process that has nothing to do."""
        self._stopped.add(child)
        self._processes[child].stdin.close()  # type: ignore[union-attr]

    def listen(self, seconds: float) -> list[Said]:
        """What they said by now, after waiting for the first word for so long at most."""
        found: list[Said] = []
        with suppress(queue.Empty):
            found.append(self._said.get(timeout=seconds))
            while True:
                found.append(self._said.get_nowait())
        return found

    def close(self) -> None:
        """End all of them."""
        for process in self._processes:
            process.kill()
            with suppress(OSError):
                process.stdin.close()  # type: ignore[union-attr]
        for process, complaints in zip(self._processes, self._complaints, strict=True):
            process.wait()
            complaints.close()

    def _listen(self, child: int) -> None:
        """Pass on what a child says, and at last that it is lost, whatever it says before."""
        process = self._processes[child]
        try:
            with process.stdout as lines:  # type: ignore[union-attr]
                for line in lines:
                    content = _parsed(line)
                    if content is None:
                        self._strays[child] = line.strip()
                    else:
                        self._said.put(Said(child, content))
        finally:
            code = process.wait()
            if child not in self._stopped:
                self._said.put(Said(child, lost=self._why(child, code)))

    def _why(self, child: int, code: int) -> str:
        if code < 0:
            return f"killed by signal {-code}"
        last = self._strays.get(child, "")
        with suppress(ValueError):  # `close` has closed the file
            self._complaints[child].seek(0)
            for line in self._complaints[child]:
                last = line.strip() or last
        return last or f"exit code {code}"


def _parsed(line: str) -> dict[str, Any] | None:
    """A JSON object; None where the line is none."""
    try:
        content = json.loads(line)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


def run_child(main: Callable[[TextIO, Say], None]) -> None:
    """Call `main` with the lines it is told and with what it answers by, one line of JSON at a time."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print is no answer

    def say(content: dict[str, Any]) -> None:
        channel.write(json.dumps(content) + "\n")
        channel.flush()

    try:
        main(sys.stdin, say)
    except BrokenPipeError:  # nobody listens any more
        os._exit(1)


def end_with_parent(lines: TextIO) -> None:
    """End this process, whatever it does, when the one that started it does; for children told no more lines.

    The thread reads the file and not the text: nobody else waits for its lock when the interpreter ends.
    """

    def wait() -> None:
        while os.read(lines.fileno(), 4096):
            pass
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def connect(on: str, workers: int) -> Any:
    """The package ray, connected.

    Args:
        on: "ray" starts a cluster on this machine, which ends with this process or with `ray.shutdown`;
            "ray://host:port" is that of a cluster's client server, "ray://auto" the cluster that this machine
            belongs to.
        workers: cores of the cluster that is started here.

    Raises:
        MissingExtra: Ray is not installed.
        JobStopped: the cluster cannot be reached.
        InvalidParameter: `on` is none of these.
    """
    scheme, _, address = on.partition("://")
    if scheme != "ray" or (("://" in on) and not address):
        raise InvalidParameter(f"on={on!r}: expected 'local', 'ray', or a cluster such as 'ray://host:10001'")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # no figures leave the machine
    os.environ.setdefault("RAY_CLIENT_MAX_CONNECTION_TIMEOUT_S", str(round(PATIENCE)))  # of three attempts
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Ray's own imports
            import ray
    except ImportError as error:
        raise MissingExtra("ray", "scale") from error
    given: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    if not address:
        given |= {"address": "local", "num_cpus": workers, "num_gpus": 0, "include_dashboard": False}
        given["object_store_memory"] = STORE
    else:
        if address != "auto":
            _check_reachable(on, address)
        given["address"] = "auto" if address == "auto" else on
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Ray announces what later versions will do
            try:
                ray.init(**given)
            except ConnectionAbortedError:  # it is there and too busy to begin: once more
                ray.init(**given)
    except Exception as error:
        hint = "; if it asks for a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN" if address else ""
        raise JobStopped(f"no Ray cluster at {on!r} ({one_line(error)}){hint}") from error
    return ray


def _check_reachable(on: str, address: str) -> None:
    """Refuse at once what Ray would wait for, for half a minute."""
    host, colon, port = address.rpartition(":")
    if not (host and colon and port.isdigit()):
        raise InvalidParameter(f"on={on!r}: expected a host and a port, such as 'ray://host:10001'")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE) as connection:
            connection.settimeout(PATIENCE)
            connection.sendall(HELLO)
            answer = connection.recv(9)
        problem = (
            "" if answer[3:4] == SETTINGS or os.environ.get("RAY_USE_TLS") else "something else is there"
        )
    except OSError as error:
        problem = error.strerror or str(error)
    if problem:
        raise JobStopped(
            f"no Ray cluster answers at {on!r} ({problem}): is it up, and is this the port of its "
            f"client server?"
        )


def one_line(error: Exception) -> str:
    """What an error says, in one short line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return lines[0][:200]
