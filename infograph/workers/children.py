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
