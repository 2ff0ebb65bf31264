"""The same molecule more than once, perhaps with different values: found, resolved by a rule, reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from infograph.data.chem.atoms import SMILES
from infograph.data.chem.duplicate_report import DuplicateGroup, DuplicateReport, Value
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.schema import Column
from infograph.data.units import graph_column, match_name
from infograph.errors import InvalidParameter

Rule = Literal["mean", "median", "first", "drop", "keep"]
RULES: tuple[Rule, ...] = ("mean", "median", "first", "drop", "keep")
ROUNDING = 1e-9  # relative to the values


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
