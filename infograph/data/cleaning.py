"""A chemist's table before it is learned from: what was stripped, what stands there twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet
from infograph.data.labels import Mark, Task, task_of, without_mark
from infograph.data.molecules import SMILES, STRIPPED
from infograph.data.schema import no_column
from infograph.data.units import graph_column, match_name
from infograph.errors import InvalidParameter

Rule = Literal["mean", "median", "first", "drop", "keep"]
RULES: tuple[Rule, ...] = get_args(Rule)
ROUNDING = 1e-9  # relative to the values
Value = float | int | str | bool | None
Action = Literal["merged", "dropped", "kept"]
SHOWN = 5  # molecules and kinds of pieces that a sentence names


def resolve_duplicates(
    graphs: GraphSet,
    targets: str | Sequence[str],
    *,
    rule: Rule = "mean",
    tolerance: float | None = None,
    classes: Collection[str] = (),
) -> tuple[GraphSet, DuplicateReport]:
    """Make one graph of all graphs with the same canonical SMILES, and say what became of their values.

    The first graph of a molecule stays, with its id and other columns; the others go. Missing values do not
    count; where none is given, the molecule stays unlabelled.

    Args:
        graphs: molecules, with their column `smiles`: as they were read, so after salts were stripped.
        targets: the graph columns to resolve; units may be left out. An empty list only removes repetitions.
        rule: "mean" and "median" of numbers, while classes vote (a draw is unlabelled); "first": the first
            value that is given; "drop": molecules whose values disagree are left out, the others as "mean";
            "keep": nothing is changed, only reported.
        tolerance: the largest difference between measurements of one molecule, in the target's unit. With
            "mean" and "median" a molecule beyond it becomes unlabelled. None: any difference is averaged, and
            counts as disagreement for "drop" and in the report.
        classes: targets whose numbers are classes; those that only hold 0 and 1 are anyway.

    Returns:
        The graphs, each molecule once (unless "keep"), and the report: `print(report)` is a sentence,
        `report.groups` the table of these molecules.
    """
    if rule not in RULES:
        raise InvalidParameter(f"rule={rule!r}: expected one of {', '.join(map(repr, RULES))}")
    if tolerance is not None and not tolerance >= 0:
        raise InvalidParameter(f"tolerance={tolerance!r}: expected a number, 0 or more")
    columns = [
        graph_column(graphs.schema, name) for name in ([targets] if isinstance(targets, str) else targets)
    ]
    known: dict[str, list[Value]] = {}
    votes: dict[str, bool] = {}
    for column in columns:
        if column.kind == "text" or column.width > 1:
            raise InvalidParameter(f"the target {column.name!r} holds no single number or class per graph")
        raw = graphs.values("graph", column.name).tolist()
        values = known[column.name] = [None if value != value else value for value in raw]
        chosen = column.kind == "categorical" or any(match_name([column.name], key) for key in classes)
        votes[column.name] = chosen or {0, 1, None}.issuperset(values)
    molecules: dict[str, list[int]] = {}
    for position, text in enumerate(smiles_of(graphs).tolist()):
        molecules.setdefault(text, []).append(position)
    groups, stays = [], np.ones(len(graphs), bool)
    changed = {column.name: graphs.graph[column.name].copy() for column in columns}
    for smiles, members in molecules.items():
        if len(members) == 1:
            continue
        own = {name: tuple(values[member] for member in members) for name, values in known.items()}
        conflicts = tuple(name for name in own if _disagree(own[name], votes[name], tolerance))
        action: Action = "kept" if rule == "keep" else "dropped" if rule == "drop" and conflicts else "merged"
        resolved: dict[str, Value] = dict.fromkeys(own)
        for column in columns if action == "merged" else ():
            value = resolved[column.name] = _resolve(own[column.name], rule, votes[column.name], tolerance)
            if column.kind == "categorical":
                value = column.unknown if value is None else column.categories.index(value)
            changed[column.name][members[0]] = np.nan if value is None else value
        if action != "kept":
            stays[members if action == "dropped" else members[1:]] = False
        groups.append(
            DuplicateGroup(smiles, tuple(graphs.ids[members].tolist()), own, resolved, conflicts, action)
        )
    report = DuplicateReport(tuple(groups), len(graphs), int(stays.sum()), rule)
    graphs = replace(graphs, graph={**graphs.graph, **changed})
    return (graphs if stays.all() else graphs[np.flatnonzero(stays)]), report


def _disagree(values: Sequence[Any], votes: bool, tolerance: float | None) -> bool:
    """Whether values differ, numbers by more than the tolerance (and more than rounding does)."""
    given = {value for value in values if value is not None}
    if votes or len(given) < 2:
        return len(given) > 1
    least, most = min(given), max(given)
    return bool(most > least + (tolerance or 0) + ROUNDING * max(abs(least), abs(most)))


def _resolve(values: Sequence[Any], rule: Rule, votes: bool, tolerance: float | None) -> Any:
    given = [value for value in values if value is not None]
    if rule == "first" or len(set(given)) < 2:
        return given[0] if given else None
    if votes:
        (best, most), *others = Counter(given).most_common(2)
        return None if others and others[0][1] == most else best
    if tolerance is not None and _disagree(values, votes, tolerance):
        return None
    middle = np.median(given) if rule == "median" else np.mean(given)
    return float(np.clip(middle, min(given), max(given)))  # rounding may lead outside


def smiles_of(graphs: GraphSet) -> NDArray[Any]:
    """The canonical SMILES of molecules. (G,)."""
    if SMILES.name not in graphs.graph:
        raise InvalidParameter(str(no_column(graphs.schema, "graph", SMILES.name)))
    return np.asarray(graphs.graph[SMILES.name])


@dataclass(frozen=True)
class DuplicateGroup:
    """The graphs of one molecule."""

    smiles: str
    ids: tuple[str | int, ...]
    values: Mapping[str, tuple[Value, ...]]  # of each target and graph; None where it is missing
    resolved: Mapping[str, Value]  # the value that each target got; None if none
    conflicts: tuple[str, ...]  # the targets whose values disagree
    action: Action


@dataclass(frozen=True)
class DuplicateReport:
    """All molecules that stand there more than once, and what was done about them; prints as a sentence."""

    groups: tuple[DuplicateGroup, ...]  # in the order of the input
    n_graphs: int
    n_left: int
    rule: Rule

    @property
    def count(self) -> str:
        graphs = sum(len(group.ids) for group in self.groups)
        stand = "molecule stands" if len(self.groups) == 1 else "molecules stand"
        return f"{len(self.groups):,} {stand} there more than once ({graphs:,} of {self.n_graphs:,} graphs)"

    def __str__(self) -> str:
        if not self.groups:
            return f"No molecule stands there more than once ({self.n_graphs:,} graphs)."
        names = [group.smiles for group in self.groups if group.conflicts]
        named = ": " + ", ".join(names[:SHOWN]) + " ..." * (len(names) > SHOWN) if names else ""
        left = f"Rule {self.rule}: {self.n_left:,} graphs are left"
        return f"{self.count}. {left}. The values of {len(names):,} disagree{named}."


def prepare(
    graphs: GraphSet,
    targets: Sequence[str],
    *,
    duplicates: Rule | None = None,
    task: Task | None = None,
    unlabelled: Mark | None = None,
) -> tuple[GraphSet, list[str]]:
    """The graphs to learn from, and sentences on stripped pieces and repeated molecules.

    `duplicates` is the rule of `resolve_duplicates` (None only counts), `unlabelled` one more value for no
    label, and `task` what the targets hold where the columns shall not decide.
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
    if SMILES.name in graphs.graph:
        _, report = resolve_duplicates(graphs, [], rule="keep")
        if report.groups:
            notes.append(
                f"{report.count}, and may be on both sides of the split; duplicates='mean' makes one of each."
            )
    return graphs, notes


def describe_stripped(graphs: GraphSet) -> str:
    """Such as "2 of 9 molecules lost a piece: Cl (2x), O (1x)"; empty where none did."""
    texts = [text for text in graphs.graph.get(STRIPPED.name, ()) if text]
    if not texts:
        return ""
    pieces = Counter(piece for text in texts for piece in set(text.split(".")))
    ordered = sorted(pieces.items(), key=lambda item: (-item[1], item[0]))
    named = ", ".join(f"{smiles} ({times:,}x)" for smiles, times in ordered[:SHOWN])
    return (
        f"{len(texts):,} of {len(graphs):,} molecules lost a piece: {named}{' ...' * (len(ordered) > SHOWN)}"
    )
