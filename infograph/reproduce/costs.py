"""Time and memory of methods, from what their result files measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from infograph.reproduce.cells import Result


@dataclass(frozen=True)
class Cost:
    """What some cells took.

    Attributes:
        seconds: median per cell for the representation of all graphs, or for training and prediction; None
            where no cell tells.
        peak_mb: the most memory that one of them had.
    """

    seconds: float | None
    peak_mb: float | None


def cost_of(results: Iterable[Result]) -> Cost:
    """The cost of those cells that are whole; time is of the method alone where it was measured apart."""
    whole = (result for result in results if not (result.get("empty") or result.get("lacking")))
    measured = [result["measured"] for result in whole]
    seconds = [each.get("represent_seconds", each["seconds"]) for each in measured]
    peaks = [each["peak_mb"] for each in measured if each["peak_mb"] is not None]
    return Cost(median(seconds) if seconds else None, max(peaks, default=None))


def machines(results: Iterable[Result]) -> list[str]:
    """The machines that the cells ran on, each once, such as "Xeon, 2 cores, 1 thread"."""
    texts = []
    for result in results:
        machine = result["measured"]["machine"]
        threads = "1 thread" if machine["threads"] == 1 else f"{machine['threads']} threads"
        texts.append(f"{machine['processor']}, {machine['cores']} cores, {threads}")
    return sorted(set(texts))
