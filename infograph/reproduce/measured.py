"""What a run took, and on what: the only part of a result file that differs between equal runs."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

PACKAGES = ("infograph", "torch", "numpy", "scipy", "scikit-learn")


@contextmanager
def measuring() -> Iterator[dict[str, Any]]:
    """A record that is filled when the block ends; its versions are those at the beginning."""
    import torch

    record: dict[str, Any] = {}
    versions = {name: version(name) for name in PACKAGES} | {"python": platform.python_version()}
    commit = _commit()
    _forget_peak()
    started = time.perf_counter()
    yield record
    record["seconds"] = round(time.perf_counter() - started, 1)
    record["peak_mb"] = peak_mb()
    record["versions"] = versions
    record["commit"] = commit
    record["machine"] = {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
    }


def _commit() -> str | None:
    """The commit of the code that runs, with "+" where it was changed since; None outside a repository."""
    package = Path(__file__).parents[1]
    git = ["git", "-C", str(package)]
    try:
        if Path(_told([*git, "rev-parse", "--show-toplevel"])) != package.parent.resolve():
            return None  # installed below somebody else's repository
        changed = _told([*git, "status", "--porcelain", "--untracked-files=no", "--", "."])
        return _told([*git, "rev-parse", "HEAD"]) + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _told(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()


def _forget_peak() -> None:
    """Let the largest memory be counted from now on, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> int | None:
    """The largest memory this process has had so far; None where the system does not tell."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+)", status.read_text()) if status.exists() else None
    return None if found is None else int(found[1]) // 1024


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*:\s*(.+)", info.read_text()) if info.exists() else None
    return platform.processor() or platform.machine() if found is None else found[1].strip()
