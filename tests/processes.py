"""Processes that tests start and look at, and the patience to see something happen to them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

PATIENCE = 600.0  # seconds; only what hangs takes so long, however busy the machine is


@contextmanager
def started(command: Sequence[str | Path], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A process that minds SIGINT; whatever happens, it and all that it started are gone at the end.

    This one may ignore SIGINT, where it was started by nohup or in the background of a script, and processes
    inherit that.
    """
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(command, text=True, start_new_session=True, **options)
    finally:
        signal.signal(signal.SIGINT, before)
    with process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError, PermissionError):  # nothing is left of it
                os.killpg(process.pid, signal.SIGKILL)


def interrupted(process: subprocess.Popen[str]) -> str:
    """Press Ctrl-C, as it were, and give what a process then says on standard error until it ends."""
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=PATIENCE)[1]


def alive(pid: int) -> bool:
    """Whether a process is there; one that ended and was not asked for its exit code is not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_for(happened: Callable[[], object]) -> None:
    until = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < until, "nothing happened"
        time.sleep(0.05)
