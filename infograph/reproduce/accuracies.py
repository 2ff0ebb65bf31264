"""Table 1 as figures: what the result files give for each method and data set, beside the paper's figure."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from infograph.evaluate import Evaluation
from infograph.evaluate.score import Score
from infograph.reproduce.cells import Cell, Result
from infograph.reproduce.methods import METHODS
from infograph.reproduce.paper import Figure, paper_table1
from infograph.reproduce.table1 import REPEATS, collect, searched_on, table1_cells

REACH = 2  # deviations over repeats on either side of the mean: the interval


@dataclass(frozen=True, eq=False)
class Accuracy:
    """One cell of Table 1. Figures are in per cent.

    Attributes:
        data, method: the column, and the row's name in METHODS.
        found: the result files that are there, those without a figure too.
        evaluation: what they give together; None where there is nothing.
        planned: how many settings a whole search has, epochs multiplied out.
    """

    data: str
    method: str
    found: tuple[Result, ...]
    evaluation: Evaluation | None
    planned: int

    @property
    def title(self) -> str:
        """The method as the paper spells it."""
        return METHODS[self.method].title

    @cached_property
    def leak_free(self) -> Figure | None:
        """Mean and deviation over repeats, all chosen on inner folds; the deviation of one repeat is NaN."""
        return None if self.evaluation is None else _percent(self.evaluation.leak_free())

    @cached_property
    def ours(self) -> Figure | None:
        """The same by the paper's protocol: the best setting on the test folds."""
        return None if self.evaluation is None else _percent(self.evaluation.paper())

    @property
    def published(self) -> Figure | str | None:
        """The paper's figure, its reason for having none, or None."""
        return paper_table1().rows.get(self.title, {}).get(self.data)

    @property
    def difference(self) -> float | None:
        """Ours by the paper's protocol minus the paper's."""
        if self.ours is None or not isinstance(self.published, tuple):
            return None
        return self.ours[0] - self.published[0]

    @property
    def inside(self) -> bool:
        """Whether the paper's value lies inside our interval; no single repeat has one."""
        if self.difference is None or self.ours is None or math.isnan(self.ours[1]):
            return False
        return abs(self.difference) <= REACH * self.ours[1]

    @property
    def repeats(self) -> int:
        """How many repeats the figures are of."""
        return 0 if self.evaluation is None else len(self.evaluation.seeds)

    @property
    def settings(self) -> int:
        """How many settings took part."""
        if self.evaluation is None:
            return 0
        return len({candidate.setting for candidate in self.evaluation.candidates})

    @property
    def lacks(self) -> list[str]:
        """How much less than planned a figure is of, such as "3 of 5 repeats"."""
        pairs = ((self.repeats, REPEATS, "repeats"), (self.settings, self.planned, "settings"))
        return [] if self.evaluation is None else [f"{n} of {of} {what}" for n, of, what in pairs if n < of]

    @property
    def reason(self) -> str:
        """Why nothing could be computed, if that was tried."""
        reasons = (each["empty"] or each.get("lacking", "") for each in self.found)
        return next((str(each) for each in reasons if each), "") if self.evaluation is None else ""

    def of_repeats(self, seeds: Collection[int]) -> Evaluation | None:
        """The evaluation of these repeats only."""
        return collect(result for result in self.found if result["settings"]["repeat"] in seeds)


Table1 = dict[tuple[str, str], Accuracy]  # (data set, method) -> its cell


def read_table1(results: Path) -> Table1:
    """All cells of Table 1, by data set and method in the paper's order; those that were not run are empty.

    Only results of the planned settings count. Repeats that lack a setting are left out while another one
    has them all, for else the search would shrink to what all repeats have.
    """
    table = {}
    for data in paper_table1().datasets:
        for name in METHODS:
            method = searched_on(data, name)
            cells = table1_cells([data], [name])
            found = tuple(_read(cells, results))
            planned = len(method.searched) * max(len(method.epochs), 1)
            table[data, name] = Accuracy(
                data, name, found, collect(_whole(found, len(method.searched))), planned
            )
    return table


def majority(table: Table1, data: str) -> float | None:
    """The accuracy of always answering the largest class of a data set, if any result tells it."""
    for (column, _), cell in table.items():
        if column == data and cell.evaluation is not None:
            return 100 * cell.evaluation.plan.majority
    return None


def _read(cells: Sequence[Cell], results: Path) -> Iterator[Result]:
    for cell in cells:
        result = cell.read(results)
        if result is not None:
            yield result


def _whole(found: Sequence[Result], n_settings: int) -> list[Result]:
    """The results of the repeats that have all settings; all results where no repeat has."""
    repeats: dict[int, list[Result]] = {}
    for result in found:
        repeats.setdefault(result["settings"]["repeat"], []).append(result)
    whole = [result for results in repeats.values() if len(results) == n_settings for result in results]
    return whole or list(found)


def _percent(score: Score) -> Figure:
    return 100 * score.mean, 100 * score.std
