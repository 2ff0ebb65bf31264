"""Which graphs are for learning with and without labels, for choosing, and for testing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet, IntArray
from infograph.data.labels import (
    ClassTargets,
    Mark,
    Targets,
    Task,
    check_numbers,
    class_targets,
    numeric_targets,
    task_of,
    without_mark,
)
from infograph.data.schema import Column
from infograph.data.splits import Split, semi_supervised_split, split_by_scaffold
from infograph.data.units import graph_column
from infograph.errors import InvalidParameter, InvalidTarget

How = Literal["random", "scaffold"]
MOST_HELD_OUT = 10_000  # by default: a tenth of the labelled graphs, at most as many as the paper's for QM9


@dataclass(frozen=True, eq=False)
class Parts:
    """Graphs by what they are for.

    Attributes:
        targets: the graph columns to predict.
        task: whether as numbers or as classes.
        train: graphs to learn from, the labelled ones first; the labels of all others are hidden.
        n_labelled: how many of them are labelled.
        validation, test: graphs to choose by and to test on, all labelled; perhaps none.
    """

    targets: tuple[str, ...]
    task: Task
    train: GraphSet
    n_labelled: int
    validation: GraphSet
    test: GraphSet

    @property
    def y(self) -> str | list[str]:
        """What `fit` is told to predict."""
        return self.targets[0] if len(self.targets) == 1 else list(self.targets)

    @property
    def counts(self) -> dict[str, int]:
        """How many graphs each part has."""
        unlabelled = len(self.train) - self.n_labelled
        held_out = {"validation": len(self.validation), "test": len(self.test)}
        return {"labelled": self.n_labelled, "unlabelled": unlabelled, **held_out}

    @property
    def in_words(self) -> str:
        """The counts as a text."""
        return ", ".join(f"{count:,} {name}" for name, count in self.counts.items()) + " graphs"

    @property
    def sentence(self) -> str:
        """What is going to happen."""
        what = "numbers" if self.task == "regression" else "classes"
        return f"Predicting {', '.join(self.targets)} as {what}: {self.in_words}."


def make_parts(
    graphs: GraphSet,
    targets: Sequence[str],
    *,
    task: Task | None = None,
    labelled: int | None = None,
    validation: float | None = None,
    test: float | None = None,
    how: How = "random",
    unlabelled: Mark | None = None,
    seed: int = 0,
) -> Parts:
    """Divide graphs. With all graphs labelled and `how="random"` it is the paper's split, for QM9 as it was.

    Args:
        graphs: the graphs, with the targets as graph columns; empty values are unlabelled.
        targets: names of columns, which may leave out their units; several are numbers.
        task: None decides by the column: texts, categories and a few different whole numbers without a unit
            are classes, other numbers are numbers.
        labelled: how many labels are used to learn from; None for all that are not held out.
        validation, test: how many labelled graphs are held out, or below 1 which share of them; None for a
            tenth, at most 10,000.
        how: "random", in which classes are spread evenly; or "scaffold", for molecules.
        unlabelled: one more value that means unlabelled; in the parts it is a missing one.
        seed: of all draws.
    """
    names = tuple(graph_column(graphs.schema, name).name for name in targets)
    graphs = without_mark(graphs, names, unlabelled, needed=True)
    columns = [graph_column(graphs.schema, name) for name in names]
    task = task or task_of(graphs, columns)
    read = _read(graphs, columns, task)
    known = read.labelled
    rows = np.flatnonzero(known)
    if not len(rows):
        raise InvalidTarget(
            f"not one of {len(graphs):,} graphs has a value of {', '.join(map(repr, names))} to learn"
        )
    held_out = (_count("validation", validation, len(rows)), _count("test", test, len(rows)))
    n_labelled = _labelled(labelled, len(rows), held_out)
    codes = read.codes if isinstance(read, ClassTargets) else None
    if how == "scaffold":
        split = _by_scaffold(graphs, known, n_labelled, held_out, seed)
    else:
        split = _at_random(rows, None if codes is None else codes[rows], n_labelled, held_out, seed)
        split = replace(split, unlabelled=np.concatenate([split.unlabelled, np.flatnonzero(~known)]))
    if codes is not None and labelled is not None:
        learned = set(codes[split.labelled].tolist())
        absent = set(codes[rows].tolist()) - learned
        if labelled < len(learned | absent) or absent & set(codes[split.validation].tolist()):
            raise InvalidParameter(
                f"labelled={labelled} is too small for {len(learned | absent)} classes: {len(absent)} of "
                "them would have no label to learn from; use more labels, or all"
            )
    train = _hide(graphs[split.train], columns, len(split.labelled))
    return Parts(names, task, train, len(split.labelled), graphs[split.validation], graphs[split.test])


def _read(graphs: GraphSet, columns: Sequence[Column], task: Task) -> Targets | ClassTargets:
    names = [column.name for column in columns]
    if task == "regression":
        for column in columns:
            check_numbers(graphs, column)
        return numeric_targets(names, graphs, fitting=False)
    if len(names) > 1:
        raise InvalidTarget(
            f"classes are predicted for one column, not {', '.join(names)}: train one model each"
        )
    return class_targets(names[0], graphs, fitting=False)


def _hide(graphs: GraphSet, columns: Sequence[Column], n_labelled: int) -> GraphSet:
    """`graphs` with the values of the first `n_labelled` only."""
    for column in columns:
        values = graphs.graph[column.name].copy()
        values[n_labelled:] = {"float": np.nan, "text": "", "categorical": column.unknown}[column.kind]
        graphs = graphs.with_column("graph", column, values)
    return graphs


def _count(name: str, asked: float | None, n_labelled: int) -> int:
    if asked is None:
        return min(round(0.1 * n_labelled), MOST_HELD_OUT)
    if not asked >= 0 or (asked >= 1 and asked != int(asked)):
        raise InvalidParameter(f"{name}={asked:g}: expected a share below 1, or a whole number of graphs")
    return int(asked) if asked >= 1 or not asked else max(1, round(asked * n_labelled))


def _labelled(asked: int | None, n_known: int, held_out: tuple[int, int]) -> int:
    left = n_known - sum(held_out)
    if asked is not None and asked < 2:
        raise InvalidParameter(f"labelled={asked}: expected at least two graphs to learn from")
    if left < max(2, asked or 0):
        raise InvalidParameter(
            f"{n_known:,} graphs are labelled, of which {held_out[0]:,} are for validation and "
            f"{held_out[1]:,} for test: {max(left, 0):,} are left, but "
            f"{max(2, asked or 0):,} are needed to learn from"
        )
    return left if asked is None else asked


def _at_random(
    rows: IntArray, codes: IntArray | None, labelled: int, held_out: tuple[int, int], seed: int
) -> Split:
    validation, test = held_out
    drawn = semi_supervised_split(len(rows), labelled=labelled, validation=validation, test=test, seed=seed)
    order = np.concatenate([drawn.test, drawn.validation, drawn.labelled, drawn.unlabelled])
    if codes is not None:  # an order in which every stretch has about the shares of classes of the whole
        place = np.zeros(len(rows))
        for code in range(codes.max() + 1):
            members = np.flatnonzero(codes[order] == code)
            place[members] = (np.arange(len(members)) + 0.5) / max(len(members), 1)
        order = order[np.argsort(place, kind="stable")]
    tested, validated, learned, rest = np.split(rows[order], np.cumsum([test, validation, labelled]))
    return Split(learned, validated, tested, unlabelled=rest)


def _by_scaffold(
    graphs: GraphSet, known: NDArray[np.bool_], labelled: int, held_out: tuple[int, int], seed: int
) -> Split:
    first, second = held_out[0] / known.sum(), held_out[1] / known.sum()
    split = split_by_scaffold(graphs, known, (1 - first - second, first, second), seed)
    rng = np.random.default_rng(seed)
    order, validation = rng.permutation(split.labelled), rng.permutation(split.validation)
    rest = np.concatenate([order[labelled:], split.unlabelled])
    return replace(split, labelled=order[:labelled], validation=validation, unlabelled=rest)
