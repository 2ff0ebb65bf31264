"""What was found out about molecules that stand in a set more than once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from infograph.data.units import split_header

Value = float | int | str | bool | None
Action = Literal["merged", "dropped", "kept"]
SHOWN = 5  # molecules that are listed in a terminal
SHOWN_VALUES = 6  # ids and values of one of them

DONE = {
    "mean": "numbers are averaged, classes are voted on",
    "median": "of numbers the median is taken, classes are voted on",
    "first": "the first value that is given is taken",
    "drop": "molecules whose values disagree are left out",
    "keep": "nothing is changed",
}


@dataclass(frozen=True)
class DuplicateGroup:
    """The graphs of one molecule.

    Attributes:
        smiles: its canonical SMILES.
        ids: the user's ids, in the order of the input.
        values: target -> the value of each graph; None where it is missing.
        resolved: target -> the value that it got; None where it is unlabelled, was dropped or kept as it was.
        conflicts: the targets whose values disagree, by more than the tolerance where there is one.
        action: "merged" into one graph, "dropped" altogether, or "kept" as it was.
    """

    smiles: str
    ids: tuple[str | int, ...]
    values: Mapping[str, tuple[Value, ...]]
    resolved: Mapping[str, Value]
    conflicts: tuple[str, ...]
    action: Action

    def __str__(self) -> str:
        parts = [f"{self.smiles}  (ids {_listed([repr(i) for i in self.ids])})"]
        for name, values in self.values.items():
            result = {"dropped": "dropped", "kept": "kept"}.get(self.action) or show(
                self.resolved[name], "unlabelled"
            )
            parts.append(f"{name}: {_listed([show(value) for value in values])} -> {result}")
        return "  ".join(parts)


@dataclass(frozen=True)
class DuplicateReport:
    """All molecules that stand in a set more than once, and what was done about them.

    Attributes:
        groups: one entry per such molecule, in the order of the input.
        n_graphs, n_left: graphs before and after.
        rule: what was asked for.
        units: target -> unit, empty where it has none.
    """

    groups: tuple[DuplicateGroup, ...]
    n_graphs: int
    n_left: int
    rule: str
    units: Mapping[str, str]

    @property
    def conflicting(self) -> tuple[DuplicateGroup, ...]:
        """The molecules with a target whose values disagree."""
        return tuple(group for group in self.groups if group.conflicts)

    @property
    def n_repeated(self) -> int:
        """Graphs whose molecule stands there more than once."""
        return sum(len(group.ids) for group in self.groups)

    def __str__(self) -> str:
        if not self.groups:
            return f"No molecule stands there more than once ({self.n_graphs:,} graphs)."
        n_groups, conflicting = len(self.groups), self.conflicting
        lines = [
            f"{n_groups:,} {'molecule stands' if n_groups == 1 else 'molecules stand'} there more than once "
            f"({self.n_repeated:,} of {self.n_graphs:,} graphs); {self.n_left:,} graphs are left.",
            f"Rule {self.rule}: {DONE[self.rule]}. The values of {len(conflicting):,} disagree.",
        ]
        units = [
            f"{name} in {unit}" for name, unit in self.units.items() if unit and not split_header(name)[1]
        ]
        lines += [f"Units: {', '.join(units)}."] if units else []
        ordered = [*conflicting, *(group for group in self.groups if not group.conflicts)]
        lines += [f"  {group}" for group in ordered[:SHOWN]]
        more = n_groups - SHOWN
        return "\n".join([*lines, f"  ... and {more:,} more"] if more > 0 else lines)


def show(value: Value, missing: str = "missing") -> str:
    """A value as in a table: six digits of a number."""
    if value is None:
        return missing
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _listed(texts: Sequence[str]) -> str:
    more = [f"... {len(texts) - SHOWN_VALUES} more"] if len(texts) > SHOWN_VALUES else []
    return ", ".join([*texts[:SHOWN_VALUES], *more])
