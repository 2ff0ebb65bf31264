"""Processes of this machine, with one thread each, that are told and answer lines of JSON.

A process of its own program, and not a fork: torch's threads do not survive one, and scripts need no
`if __name__ == "__main__"`. A child ends when its standard input does, and so with the process that started
it, however that ends.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


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
    """

    def __init__(self, module: str, environment: Mapping[str, str] | None = None) -> None:
        self._module = module
        self._environment = {**os.environ, **dict.fromkeys(THREADS, "1"), **(environment or {})}
        self._said: queue.SimpleQueue[Said] = queue.SimpleQueue()
        self._processes: list[subprocess.Popen[str]] = []
        self._complaints: list[IO[str]] = []
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
        process = self._processes[child]
        with process.stdout as lines:  # type: ignore[union-attr]
            for line in lines:
                self._said.put(Said(child, json.loads(line)))
        code = process.wait()
        if child not in self._stopped:
            self._said.put(Said(child, lost=self._why(child, code)))

    def _why(self, child: int, code: int) -> str:
        if code < 0:
            return f"killed by signal {-code}"
        complaints = self._complaints[child]
        if complaints.closed:
            return f"exit code {code}"
        complaints.seek(0)
        last = [line.strip() for line in complaints if line.strip()][-1:]
        return last[0] if last else f"exit code {code}"
