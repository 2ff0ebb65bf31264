"""Looks at processes of this machine, and the patience to see something happen to them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def alive(pid: int) -> bool:
    """Whether a process is there; one that ended and was not asked for its exit code is not."""
    return _state(pid)[0] not in ("", "Z")


def children_of(pid: int) -> list[int]:
    """The processes that a process has started and that are alive."""
    everyone = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    return [each for each in everyone if _state(each)[1] == pid and alive(each)]


def wait_for(happened: Callable[[], object], seconds: float = 120.0) -> None:
    until = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < until, "nothing happened"
        time.sleep(0.05)


def _state(pid: int) -> tuple[str, int]:
    """Its state, a letter, and its parent; "" where it is gone."""
    try:
        state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return "", 0
    return state, int(parent)
