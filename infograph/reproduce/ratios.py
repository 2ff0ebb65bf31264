"""Table 2 as figures: the error of each objective and target, and its ratio to the supervised model's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from infograph.data.qm9.targets import TARGETS
from infograph.methods.objectives import TITLES
from infograph.reproduce.bootstrap import Interval, ratio_intervals
from infograph.reproduce.cells import Cell, Result
from infograph.reproduce.choice import Plan2, plan_table2
from infograph.reproduce.paper import paper_table2
from infograph.reproduce.table2 import validation_error

PUBLISHED = {"mean-teacher": "Mean-Teachers", "infograph": "InfoGraph", "infograph*": "InfoGraph*"}
REFERENCE = "supervised"
NAMES: dict[str, str] = {
    **{str(name): title for name, title in TITLES.items()},
    "mean": "mean of labels",
    "atom-counts": "atom counts",
    "fingerprints": "fingerprints",
}
UNITS = {column.name: column.unit for column in TARGETS}


@dataclass(frozen=True, eq=False)
class TargetError:
    """One cell of Table 2.

    Attributes:
        target, objective: its row and column.
        result: its result file; None where it was not run. Of a training that diverged it has no scores.
        ratio: its test error divided by the supervised model's; None where one of them is missing.
        interval: of the ratio, by resampling the test molecules.
    """

    target: str
    objective: str
    result: Result | None = None
    ratio: float | None = None
    interval: Interval | None = None

    @property
    def mae(self) -> float | None:
        """The mean absolute error on the test molecules."""
        return float(self.result["scores"]["test_mae"]) if self.result and not self.reason else None

    @property
    def reason(self) -> str:
        """Why it was run and has no figure."""
        return "" if self.result is None else str(self.result.get("empty", ""))

    @property
    def published(self) -> float | None:
        """The paper's ratio; None for rows that the paper does not have."""
        name = PUBLISHED.get(self.objective)
        return None if name is None else paper_table2().ratios[name][self.target]

    @property
    def difference(self) -> float | None:
        """Our ratio minus the paper's."""
        return None if self.ratio is None or self.published is None else self.ratio - self.published

    @property
    def inside(self) -> bool:
        """Whether the paper's ratio lies inside our interval."""
        if self.interval is None or self.published is None:
            return False
        return self.interval[0] <= self.published <= self.interval[1]


@dataclass(frozen=True, eq=False)
class Table2:
    """Errors by (target, objective), the plan they belong to, and the search's validation errors.

    Attributes:
        plan: which cells the table has.
        errors: (target, objective) -> its cell; those that were not run are there, empty.
        search: the search's cells with their `validation_error`.
    """

    plan: Plan2
    errors: Mapping[tuple[str, str], TargetError]
    search: tuple[tuple[Cell, float | None], ...]

    def below(self, bound: Mapping[str, float]) -> list[str]:
        """The targets whose whole interval for InfoGraph* lies below a bound; others have none."""
        return [
            target
            for (target, objective), error in self.errors.items()
            if objective == "infograph*"
            and error.interval is not None
            and target in bound
            and error.interval[1] < bound[target]
        ]

    def lower_ends(self, objective: str) -> dict[str, float]:
        """Target -> where the interval of an objective's ratio begins."""
        found = {target: e.interval for (target, name), e in self.errors.items() if name == objective}
        return {target: interval[0] for target, interval in found.items() if interval is not None}


def read_table2(results: Path) -> Table2:
    """Table 2 from the result files of the chosen settings."""
    plan = plan_table2(results)
    found: dict[str, dict[str, Result | None]] = {}
    for cell in plan.cells:
        target, objective = cell.settings["target"], cell.settings["objective"]
        found.setdefault(target, {})[objective] = cell.read(results)
    errors = {
        (target, error.objective): error
        for target in paper_table2().targets
        for error in _of_target(target, found[target])
    }
    return Table2(plan, errors, tuple((cell, validation_error(cell, results)) for cell in plan.tried))


def _of_target(target: str, found: Mapping[str, Result | None]) -> list[TargetError]:
    there = {name: r for name, r in found.items() if r is not None and not r.get("empty")}
    if REFERENCE not in there:
        return [TargetError(target, name, result) for name, result in found.items()]
    intervals = ratio_intervals({name: r["test_errors"] for name, r in there.items()}, REFERENCE)
    base = there[REFERENCE]["scores"]["test_mae"]
    return [
        TargetError(target, name, result, result["scores"]["test_mae"] / base, intervals[name])
        if result is not None and name in there
        else TargetError(target, name, result)
        for name, result in found.items()
    ]
