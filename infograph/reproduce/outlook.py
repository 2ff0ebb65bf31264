"""What of a table is done, what is missing, and how long that will take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from infograph.data.storage import read_json
from infograph.reproduce.cells import Cell
from infograph.reproduce.tables import kind

Kind = tuple[str, ...]


@dataclass(frozen=True)
class Outlook:
    """The state of some cells.

    Attributes:
        done, cells: how many have a result, and of how many.
        seconds: what the missing ones of a known kind will take.
        unknown: missing cells of a kind of which none was computed yet.
    """

    done: int
    cells: int
    seconds: float
    unknown: int

    def __str__(self) -> str:
        if self.done == self.cells:
            return "done"
        if self.unknown == self.cells - self.done:
            return "not known yet"
        about = in_words(self.seconds)
        return f"{about}, and {self.unknown} cells of unknown length" if self.unknown else about


class Durations:
    """How long cells took, by their kind; more may be added while others are computed."""

    def __init__(self, results: Path, cells: Iterable[Cell]) -> None:
        self._taken: dict[Kind, list[float]] = defaultdict(list)
        for cell in cells:
            path = cell.path(results)
            if path.is_file():
                self.add(cell, read_json(path)["measured"]["seconds"])

    def add(self, cell: Cell, seconds: float) -> None:
        """A cell took so long."""
        self._taken[kind(cell.table, cell.settings)].append(seconds)

    def outlook(self, done: Sequence[Cell], missing: Sequence[Cell], at_once: int = 1) -> Outlook:
        """The state of these cells; a missing one takes the median of its kind, `at_once` at a time."""
        known = [self._taken[k] for k in (kind(c.table, c.settings) for c in missing) if self._taken[k]]
        seconds = sum(median(taken) for taken in known) / at_once
        return Outlook(len(done), len(done) + len(missing), seconds, len(missing) - len(known))


def split_cells(cells: Iterable[Cell], results: Path) -> tuple[list[Cell], list[Cell]]:
    """Those with a result, and those without."""
    done: list[Cell] = []
    missing: list[Cell] = []
    for cell in cells:
        (done if cell.path(results).is_file() else missing).append(cell)
    return done, missing


def in_words(seconds: float) -> str:
    """A duration for people: 40 s, 12 min, 3.5 h."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.1f} h"
