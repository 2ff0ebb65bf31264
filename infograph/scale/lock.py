"""One job per folder: a lock that goes with the process that holds it, however that ends."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infograph.errors import JobStopped
from infograph.scale.places import LOCK

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def locked(out: str | Path) -> Iterator[None]:
    """Hold the lock of a folder; where there are no such locks (Windows), run one job at a time.

    Raises:
        JobStopped: another process holds it.
    """
    if fcntl is None:
        yield
        return
    with (Path(out) / LOCK).open("a+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.seek(0)
            who = lock.read().strip() or "another process"
            raise JobStopped(
                f"{out} is in use: {who} writes to it; wait for that job, or choose another folder"
            ) from error
        lock.truncate(0)
        lock.write(f"process {os.getpid()} on {socket.gethostname()}")
        lock.flush()
        yield
