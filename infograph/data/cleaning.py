"""A chemist's table before it is learned from: what was stripped, what stands there twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet, IntArray
from infograph.data.labels import Mark, Task, task_of, without_mark
from infograph.data.molecules import SMILES, STRIPPED
from infograph.data.schema import Column
from infograph.data.units import graph_column, match_name, split_header
from infograph.errors import InvalidParameter

Rule = Literal["mean", "median", "first", "drop", "keep"]
RULES: tuple[Rule, ...] = ("mean", "median", "first", "drop", "keep")
ROUNDING = 1e-9  # relative to the values
Value = float | int | str | bool | None
Action = Literal["merged", "dropped", "kept"]
MOLECULES_SHOWN = 5  # molecules that are listed in a terminal
SHOWN_VALUES = 6  # ids and values of one of them
DONE = {
    "mean": "numbers are averaged, classes are voted on",
    "median": "of numbers the median is taken, classes are voted on",
    "first": "the first value that is given is taken",
    "drop": "molecules whose values disagree are left out",
    "keep": "nothing is changed",
}
PIECES_SHOWN = 5  # kinds of pieces that a sentence names


def resolve_duplicates(
    graphs: GraphSet,
    targets: str | Sequence[str],
    *,
    rule: Rule = "mean",
    tolerance: float | Mapping[str, float] | None = None,
    classes: Collection[str] = (),
) -> tuple[GraphSet, DuplicateReport]:
    """Make one graph of all graphs with the same canonical SMILES, and say what became of their values.

    The first graph of a molecule stays, in its place and with its id and other columns; the others go. Its
    values come from those that are given; missing ones do not count. If none is given it stays unlabelled.

    Rules:
      * "mean" (default) and "median": of numbers; of classes the one with most votes, and none (unlabelled)
        if two have equally many;
      * "first": the first value that is given;
      * "drop": molecules whose values disagree are left out altogether, the others as "mean";
      * "keep": nothing is changed, only reported.

    Numbers disagree if they differ by more than `tolerance`. With "mean" and "median", such a molecule
    becomes unlabelled instead of getting a value that nobody measured. Columns that only hold 0 and 1, and
    those named in `classes`, count as classes even where they were read as numbers.

    Args:
        graphs: molecules, with their column `smiles`: as they were read, so after salts were stripped.
        targets: the graph columns to resolve; units may be left out. An empty list only removes repetitions.
        rule: what to do.
        tolerance: the largest difference between measurements of one molecule, in the target's unit; for
            several targets {target: tolerance}. None: differences of any size are averaged, and each counts
            as disagreement for "drop" and in the report.
        classes: targets whose numbers are classes.

    Returns:
        The graphs, each molecule once (unless "keep"), and the report; `print(report)` is made to be read.

    Raises:
        InvalidParameter: there are no SMILES, a target holds no numbers or classes, or a setting is wrong.
        SchemaMismatch: there is no such target.
    """
    if rule not in RULES:
        raise InvalidParameter(f"rule={rule!r}: expected one of {', '.join(map(repr, RULES))}")
    names = [targets] if isinstance(targets, str) else list(targets)
    chosen = [_target(graphs, name, tolerance, classes) for name in names]
    groups, changed = [], {target.name: graphs.graph[target.name].copy() for target in chosen}
    stays = np.ones(len(graphs), bool)
    for members in repeated(smiles_of(graphs)):
        conflicts = [target.name for target in chosen if target.disagrees(members)]
        dropped = rule == "drop" and bool(conflicts)
        for target in chosen if rule != "keep" and not dropped else ():
            changed[target.name][members[0]] = target.resolve(members, rule)
        if rule != "keep":
            stays[members if dropped else members[1:]] = False
        groups.append(_group(graphs, chosen, changed, members, conflicts, rule))
    report = DuplicateReport(
        tuple(groups),
        len(graphs),
        int(stays.sum()),
        rule,
        {target.name: target.column.unit for target in chosen},
    )
    graphs = replace(graphs, graph={**graphs.graph, **changed})
    return (graphs if stays.all() else graphs[np.flatnonzero(stays)]), report


def smiles_of(graphs: GraphSet) -> NDArray[Any]:
    """The canonical SMILES of molecules. (G,).

    Raises:
        InvalidParameter: these are no molecules, or were read without their SMILES.
    """
    if SMILES.name not in graphs.graph:
        have = ", ".join(repr(column.name) for column in graphs.schema.graph) or "none"
        raise InvalidParameter(
            f"no graph column 'smiles', which is how molecules are told apart; the graphs have: {have}. "
            f"Read them from SMILES or SDF, with keep_smiles=True"
        )
    return np.asarray(graphs.graph[SMILES.name])


def repeated(smiles: NDArray[Any]) -> list[IntArray]:
    """Positions of the graphs of each molecule that stands there more than once, in order."""
    _, molecule, counts = np.unique(smiles, return_inverse=True, return_counts=True)
    order = np.argsort(molecule, kind="stable")
    groups = [group for group in np.split(order, np.cumsum(counts)[:-1]) if len(group) > 1]
    return sorted(groups, key=lambda group: int(group[0]))


@dataclass(frozen=True, eq=False)
class _Target:
    """A column to resolve. `stored` is as in the GraphSet: numbers with NaN, or codes with `unknown`."""

    column: Column
    stored: NDArray[Any]
    votes: bool  # classes, whether stored as codes or as numbers
    tolerance: float | None

    @property
    def name(self) -> str:
        return self.column.name

    def given(self, members: IntArray) -> NDArray[Any]:
        """The values that are not missing."""
        values = self.stored[members]
        known = ~np.isnan(values) if self.column.kind == "float" else values != self.column.unknown
        return np.asarray(values[known])

    def disagrees(self, members: IntArray) -> bool:
        """Whether the values differ, numbers by more than the tolerance (and more than rounding does)."""
        values = self.given(members)
        if not len(values):
            return False
        least, most = values.min(), values.max()
        if self.votes:
            return bool(most > least)
        return bool(most > least + (self.tolerance or 0) + ROUNDING * max(abs(least), abs(most)))

    def resolve(self, members: IntArray, rule: Rule) -> Any:
        """The value of the molecule, as it is stored."""
        values = self.given(members)
        missing = np.nan if self.column.kind == "float" else self.column.unknown
        if not len(values):
            return missing
        if rule == "first" or values.min() == values.max():
            return values[0]
        if self.votes:
            (best, most), *others = Counter(values.tolist()).most_common(2)
            return missing if others and others[0][1] == most else best
        if self.tolerance is not None and self.disagrees(members):
            return missing
        middle = np.median(values) if rule == "median" else values.mean()
        return np.clip(middle, values.min(), values.max())  # rounding may lead outside

    def shown(self, value: Any) -> Value:
        """A stored value as the user knows it."""
        if self.column.kind == "float":
            return None if np.isnan(value) else float(value)
        return None if value == self.column.unknown else self.column.categories[value]


def _target(
    graphs: GraphSet, name: str, tolerance: float | Mapping[str, float] | None, classes: Collection[str]
) -> _Target:
    column = graph_column(graphs.schema, name)
    if column.kind == "text" or column.width > 1:
        holds = "texts" if column.kind == "text" else f"{column.width} numbers each"
        raise InvalidParameter(f"the target {column.name!r} holds {holds}; expected a number or a class each")
    if isinstance(tolerance, Mapping):
        tolerance = next((limit for key, limit in tolerance.items() if match_name([column.name], key)), None)
    if tolerance is not None and not tolerance >= 0:
        raise InvalidParameter(f"tolerance={tolerance!r}: expected a number, 0 or more")
    stored = np.asarray(graphs.graph[column.name])
    votes = column.kind == "categorical" or any(match_name([column.name], key) for key in classes)
    if not votes:
        given = stored[~np.isnan(stored)]
        votes = bool(len(given)) and bool(((given == 0) | (given == 1)).all())
    return _Target(column, stored, votes, tolerance)


def _group(
    graphs: GraphSet,
    targets: Sequence[_Target],
    changed: Mapping[str, NDArray[Any]],
    members: IntArray,
    conflicts: Sequence[str],
    rule: Rule,
) -> DuplicateGroup:
    merged = rule != "keep" and not (rule == "drop" and conflicts)
    return DuplicateGroup(
        smiles=str(graphs.graph[SMILES.name][members[0]]),
        ids=tuple(graphs.ids[members].tolist()),
        values={t.name: tuple(t.shown(value) for value in t.stored[members]) for t in targets},
        resolved={t.name: t.shown(changed[t.name][members[0]]) if merged else None for t in targets},
        conflicts=tuple(conflicts),
        action="merged" if merged else "kept" if rule == "keep" else "dropped",
    )


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
        lines += [f"  {group}" for group in ordered[:MOLECULES_SHOWN]]
        more = n_groups - MOLECULES_SHOWN
        return "\n".join([*lines, f"  ... and {more:,} more"] if more > 0 else lines)


def show(value: Value, missing: str = "missing") -> str:
    """A value as in a table: six digits of a number."""
    if value is None:
        return missing
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _listed(texts: Sequence[str]) -> str:
    more = [f"... {len(texts) - SHOWN_VALUES} more"] if len(texts) > SHOWN_VALUES else []
    return ", ".join([*texts[:SHOWN_VALUES], *more])


def prepare(
    graphs: GraphSet,
    targets: Sequence[str],
    *,
    duplicates: Rule | None = None,
    task: Task | None = None,
    unlabelled: Mark | None = None,
) -> tuple[GraphSet, list[str]]:
    """Make unlabelled what is, resolve repeated molecules, and say what a reader must know.

    Args:
        graphs: as they were read.
        targets: the columns that will be predicted.
        duplicates: the rule of `resolve_duplicates`; None leaves repetitions as they are and counts them.
        task: what the targets hold; None decides by the columns.
        unlabelled: one more value that means unlabelled; the graphs that are given back do not have it.

    Returns:
        The graphs, and sentences on stripped pieces and repeated molecules.

    Raises:
        InvalidParameter: a rule for graphs that are no molecules; or no graph has the `unlabelled` value.
    """
    names = [graph_column(graphs.schema, name).name for name in targets]
    graphs = without_mark(graphs, names, unlabelled, needed=True)
    columns = [graph_column(graphs.schema, name) for name in names]
    stripped = describe_stripped(graphs)
    notes = [f"{stripped}."] if stripped else []
    if duplicates is not None:
        classes = (task or task_of(graphs, columns)) == "classification"
        graphs, report = resolve_duplicates(graphs, names, rule=duplicates, classes=names if classes else ())
        return graphs, [*notes, str(report)]
    if graphs.schema.column("graph", "smiles") is not None:
        groups = repeated(smiles_of(graphs))
        if groups:
            molecules = "molecule stands" if len(groups) == 1 else "molecules stand"
            notes.append(
                f"{len(groups):,} {molecules} there more than once ({sum(map(len, groups)):,} of "
                f"{len(graphs):,} graphs), and may be on both sides of the split; --duplicates mean "
                f"makes one of each."
            )
    return graphs, notes


def n_stripped(graphs: GraphSet) -> int:
    """How many molecules lost a piece when they were read with `salts="strip"`."""
    values = graphs.graph.get(STRIPPED.name)
    return 0 if values is None else int(np.count_nonzero(values != ""))


def describe_stripped(graphs: GraphSet) -> str:
    """A sentence on what was stripped, such as "2 of 9 molecules lost a piece: Cl (2x), O (1x)".

    Empty where nothing was.
    """
    count = n_stripped(graphs)
    if not count:
        return ""
    pieces = Counter(piece for text in graphs.graph[STRIPPED.name] for piece in set(text.split(".")) if piece)
    ordered = sorted(pieces.items(), key=lambda item: (-item[1], item[0]))
    named = ", ".join(f"{smiles} ({times:,}x)" for smiles, times in ordered[:PIECES_SHOWN])
    more = f" and {len(ordered) - PIECES_SHOWN} more kinds" if len(ordered) > PIECES_SHOWN else ""
    return f"{count:,} of {len(graphs):,} molecules lost a piece: {named}{more}"
