"""Options and the loop that all verbs of `infograph reproduce` share which compute cells."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from infograph.cli.output import err, say
from infograph.cli.quantities import parse_duration
from infograph.cli.team_options import WHERE

if TYPE_CHECKING:
    from infograph.reproduce.cells import Cell, Result
    from infograph.reproduce.grid import Done


Results = Annotated[Path, typer.Option(metavar="DIR", help="Where result files are kept.")]
RESULTS = Path("results")


@dataclass(frozen=True)
class RunOptions:
    """Which cells, how many at a time, for how long, and where their results are."""

    cells: Annotated[
        str, typer.Option(metavar="PATTERN", help="Only cells whose name is like this: 'MUTAG wl * 0'.")
    ] = "*"
    workers: Annotated[
        int, typer.Option(min=1, help="Processes of one thread each; 1 uses all threads here.")
    ] = 1
    on: Annotated[str, typer.Option(metavar="WHERE", help=WHERE)] = "local"
    budget: Annotated[str, typer.Option(metavar="TIME", help="Stop after so long: 90s, 30m or 2h.")] = ""
    results: Results = RESULTS

    def run(self, stages: Iterable[Sequence[Cell]]) -> list[Result]:
        """Compute the cells of all stages, and say how far it is; the last stage's results."""
        until = time.time() + parse_duration(self.budget) if self.budget else None
        done: list[Done] = []
        for stage in stages:
            chosen = [cell for cell in stage if fnmatch(cell.name.casefold(), self.cells.casefold())]
            done = self._run_stage(chosen, until)
            if any(each.result is None for each in done):
                break
        return [each.result for each in done if each.result is not None]

    def _run_stage(self, cells: Sequence[Cell], until: float | None) -> list[Done]:
        from infograph.reproduce.grid import run_grid
        from infograph.reproduce.outlook import Durations, split_cells
        from infograph.train.progress import ProgressReport

        there, missing = split_cells(cells, self.results)
        known = Durations(self.results, cells)
        if missing:
            left = known.outlook(there, missing, self.workers)
            say(f"{len(there)} of {len(cells)} cells are there; left: {left}")
        done = []
        for each in run_grid(
            cells,
            self.results,
            workers=self.workers,
            on=self.on,
            budget=None if until is None else until - time.time(),
            begin=lambda cell: say(cell.name),
            watch=lambda cell: ProgressReport(err()),
        ):
            done.append(each)
            if each.outcome == "read":
                continue
            what = each.reason
            if each.result is not None:
                missing.remove(each.cell)
                known.add(each.cell, each.result["measured"]["seconds"])
                there.append(each.cell)
                reason = each.result.get("empty") or each.result.get("lacking")
                what = reason or f"{each.result['measured']['seconds']:.1f} s"
            left = known.outlook(there, missing, self.workers)
            say(f"{each.cell.name}: {what} ({left.done} of {left.cells} cells; left: {left})")
        return done
