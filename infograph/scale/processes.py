"""Workers that are processes of this machine, with one thread each; they speak lines of JSON.

A process of its own program, and not a fork: torch's threads do not survive one, and scripts need no
`if __name__ == "__main__"`. A worker ends when its standard input does, and so with the process that
started it, however that ends.
"""

from __future__ import annotations

import dataclasses
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from typing import IO, Any

from infograph.scale.dispatch import Event
from infograph.scale.job import Job
from infograph.scale.outcome import Outcome
from infograph.scale.shards import Shard

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class ProcessPool:
    """Processes that embed shards of one job (`infograph.scale.dispatch.Pool`)."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._processes: list[subprocess.Popen[str]] = []
        self._complaints: list[IO[str]] = []
        self._stopped: set[int] = set()

    @property
    def pids(self) -> list[int]:
        """The ids of the processes that were started, ended ones too."""
        return [process.pid for process in self._processes]

    def start(self) -> int:
        """Start a process."""
        complaints = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - closed in `close`
        process = subprocess.Popen(
            [sys.executable, "-m", "infograph.scale.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            env={**os.environ, **dict.fromkeys(THREADS, "1")},
        )
        self._processes.append(process)
        self._complaints.append(complaints)
        worker = len(self._processes) - 1
        threading.Thread(target=self._listen, args=(worker,), daemon=True).start()
        self._tell(worker, self._job.to_json())
        return worker

    def give(self, worker: int, shard: Shard) -> None:
        """Hand it a shard."""
        self._tell(worker, json.dumps(dataclasses.asdict(shard)))

    def stop(self, worker: int) -> None:
        """End a process that has nothing to do."""
        self._stopped.add(worker)
        self._processes[worker].stdin.close()  # type: ignore[union-attr]

    def events(self, seconds: float) -> list[Event]:
        """What the processes said."""
        found: list[Event] = []
        with suppress(queue.Empty):
            found.append(self._events.get(timeout=seconds))
            while True:
                found.append(self._events.get_nowait())
        return found

    def close(self) -> None:
        """End all processes."""
        for process in self._processes:
            process.kill()
            with suppress(OSError):
                process.stdin.close()  # type: ignore[union-attr]
        for process, complaints in zip(self._processes, self._complaints, strict=True):
            process.wait()
            complaints.close()

    def _tell(self, worker: int, line: str) -> None:
        stdin: Any = self._processes[worker].stdin
        with suppress(OSError):  # it is gone, and `_listen` says so
            stdin.write(line + "\n")
            stdin.flush()

    def _listen(self, worker: int) -> None:
        process = self._processes[worker]
        with process.stdout as lines:  # type: ignore[union-attr]
            for line in lines:
                self._events.put(_event(worker, line))
        code = process.wait()
        if worker not in self._stopped:
            self._events.put(Event(worker, "lost", problem=self._why(worker, code)))

    def _why(self, worker: int, code: int) -> str:
        if code < 0:
            return f"killed by signal {-code}"
        complaints = self._complaints[worker]
        if complaints.closed:
            return f"exit code {code}"
        complaints.seek(0)
        last = [line.strip() for line in complaints if line.strip()][-1:]
        return last[0] if last else f"exit code {code}"


def _event(worker: int, line: str) -> Event:
    content = json.loads(line)
    if "rows" in content:
        return Event(worker, "rows", rows=content["rows"])
    if "outcome" in content:
        return Event(worker, "outcome", outcome=Outcome(**content["outcome"]))
    return Event(worker, "ready")
