"""A method's representation of graphs, computed in a process of its own: measured, and stopped at a limit."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.evaluate.gram import Gram

POLL = 0.1  # seconds between looks at a running process


@dataclass(frozen=True)
class Limits:
    """What a method may take for all it computes: seconds and megabytes; None for as much as it wants."""

    seconds: float | None = None
    megabytes: float | None = None


class Stopped(Exception):
    """A method that was stopped or failed; the message says why its cell is empty."""


@dataclass(frozen=True, eq=False)
class Represented:
    """Vectors (G, D) or a Gram matrix, and what they took."""

    values: NDArray[Any] | Gram
    seconds: float
    peak_mb: float


def represent_isolated(
    graphs: Path, method: str, setting: str, seed: int, work: Path, limits: Limits
) -> Represented:
    """Run one method on saved graphs in a new process.

    Args:
        graphs: a folder that `save_graphs` wrote.
        method, setting: names in `infograph.reproduce.methods`.
        seed: for methods with a random part.
        work: a folder for the result.
        limits: what it may take.

    Raises:
        Stopped: a limit was reached, or the method refused the graphs.
    """
    out = work / f"{method}-{re.sub(r'[^A-Za-z0-9]+', '-', setting)}-{seed}.npz"
    command = [sys.executable, "-m", "infograph.reproduce.worker"]
    job = {"graphs": str(graphs), "method": method, "setting": setting, "seed": seed, "out": str(out)}
    with subprocess.Popen(
        [*command, json.dumps(job)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        reason = _watch(child, limits)
        said, complaint = child.communicate()
    if reason:
        raise Stopped(reason)
    if child.returncode:
        lines = complaint.decode(errors="replace").strip().splitlines()
        raise Stopped(lines[-1] if lines else f"its process ended with code {child.returncode}")
    measured = json.loads(said.decode().splitlines()[-1])
    with np.load(out) as stored:
        values: NDArray[Any] = stored["values"]
    out.unlink()
    return Represented(Gram(values) if measured["gram"] else values, measured["seconds"], measured["peak_mb"])


def _watch(child: subprocess.Popen[bytes], limits: Limits) -> str:
    """Wait for a process; stop it at a limit, and say which."""
    began = time.monotonic()
    while child.poll() is None:
        if limits.seconds is not None and time.monotonic() - began > limits.seconds:
            child.kill()
            return f"stopped after {limits.seconds / 60:.3g} minutes, the budget"
        used = _memory(child.pid)
        if limits.megabytes is not None and used > limits.megabytes:
            child.kill()
            return f"stopped at {used:,.0f} MB, the limit is {limits.megabytes:,.0f}"
        time.sleep(POLL)
    return ""


def _memory(process: int) -> float:
    """MB that a process has now; 0 where the system does not tell."""
    try:
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0
