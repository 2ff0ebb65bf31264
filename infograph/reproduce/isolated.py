"""A method's representation of graphs, computed in a process of its own: measured, and stopped at a limit."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.errors import error_from
from infograph.evaluate.gram import Gram
from infograph.reproduce.methods import blames_method
from infograph.workers.children import Children

POLL = 0.1  # seconds between looks at a running process


@dataclass(frozen=True)
class Limits:
    """What a method may take for all it computes: seconds and megabytes; None for as much as it wants."""

    seconds: float | None = None
    megabytes: float | None = None


class Stopped(Exception):
    """A method that was stopped or failed; the message says why its cell is empty."""


class Failed(Stopped):
    """A failure that says nothing of the method, such as a missing package: the next time it may work."""


@dataclass(frozen=True, eq=False)
class Represented:
    """Vectors (G, D) or a Gram matrix, and what they took."""

    values: NDArray[Any] | Gram
    seconds: float
    peak_mb: float


def represent_isolated(
    graphs: Path, method: str, setting: str, seed: int, work: Path, limits: Limits
) -> Represented:
    """Run one method on saved graphs in a new process, which ends with this one.

    Args:
        graphs: a folder that `save_graphs` wrote.
        method, setting: names in `infograph.reproduce.methods`.
        seed: for methods with a random part.
        work: a folder for the result.
        limits: what it may take.

    Raises:
        Stopped: a limit was reached, or the method refused the graphs.
        Failed: its process died, or something that it needs is missing.
    """
    out = work / f"{method}-{re.sub(r'[^A-Za-z0-9]+', '-', setting)}-{seed}.npz"
    job = {"graphs": str(graphs), "method": method, "setting": setting, "seed": seed, "out": str(out)}
    children = Children("infograph.reproduce.worker", one_thread=False)
    try:
        children.start(json.dumps(job))
        told = _answer(children, limits)
    finally:
        children.close()
    if "problem" in told:
        error = error_from(*told["problem"])
        raise (Stopped if blames_method(error) else Failed)(str(error))
    with np.load(out) as stored:
        values: NDArray[Any] = stored["values"]
    out.unlink()
    return Represented(Gram(values) if told["gram"] else values, told["seconds"], told["peak_mb"])


def _answer(children: Children, limits: Limits) -> dict[str, Any]:
    """What the only child says; it is waited for up to the limits."""
    began = time.monotonic()
    while True:
        for said in children.listen(POLL):
            if said.content is None:
                raise Failed(said.lost)
            return said.content
        if limits.seconds is not None and time.monotonic() - began > limits.seconds:
            raise Stopped(f"stopped after {limits.seconds / 60:.3g} minutes, the budget")
        used = _memory(children.pids[0])
        if limits.megabytes is not None and used > limits.megabytes:
            raise Stopped(f"stopped at {used:,.0f} MB, the limit is {limits.megabytes:,.0f}")


def _memory(process: int) -> float:
    """MB that a process has now; 0 where the system does not tell."""
    try:
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0
