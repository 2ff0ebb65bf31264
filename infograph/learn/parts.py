"""Which graphs are for learning with and without labels, for choosing, and for testing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet, IntArray
from infograph.data.labels import FEW, Mark, Task, check_numbers, is_known, listed, task_of, without_mark
from infograph.data.schema import Column
from infograph.data.splits import semi_supervised_split, split_by_scaffold
from infograph.data.targets import ClassTargets, Targets, class_targets, numeric_targets, task_targets
from infograph.data.units import graph_column
from infograph.errors import InvalidParameter, InvalidTarget

How = Literal["random", "scaffold"]
Counts = tuple[int, int, int]  # of graphs to learn from, to validate and to test on
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
        how: these were drawn.
    """

    targets: tuple[str, ...]
    task: Task
    train: GraphSet
    n_labelled: int
    validation: GraphSet
    test: GraphSet
    how: How = "random"

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
        shown = ", ".join(self.targets[:3]) + (f" and {len(self.targets) - 3} more" * (len(self.targets) > 3))
        return f"Predicting {shown} as {what}: {self.in_words}."


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
        targets: names of columns, which may leave out their units; several are numbers, or classes of which
            all have the same two.
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
    read, codes = _read(graphs, columns, task)
    known = np.flatnonzero(read.labelled)
    if not len(known):
        raise InvalidTarget(
            f"not one of {len(graphs):,} graphs has a value of {', '.join(map(repr, names))} to learn"
        )
    counts = _counts(len(known), labelled, validation, test)
    if how == "scaffold":
        learned, judged, tested, rest = _by_scaffold(graphs, read.labelled, counts, seed)
    else:
        learned, judged, tested, rest = _at_random(known, codes, counts, seed)
        rest = np.concatenate([rest, np.flatnonzero(~read.labelled)])
    if codes is not None and labelled is not None:
        absent = set(codes[known].tolist()) - set(codes[learned].tolist())
        n_classes = len(set(codes[known].tolist()))
        if labelled < n_classes or absent & set(codes[judged].tolist()):
            raise InvalidParameter(
                f"labelled={labelled} is too small for {n_classes} classes: {len(absent)} of them would have "
                f"no label to learn from; use more labels, or all"
            )
    train = graphs[np.concatenate([learned, rest])]
    for column in columns:  # hide what is not learned
        values = train.graph[column.name].copy()
        values[len(learned) :] = {"float": np.nan, "text": "", "categorical": column.unknown}[column.kind]
        train = train.with_column("graph", column, values)
    return Parts(names, task, train, len(learned), graphs[judged], graphs[tested], how)


def _read(
    graphs: GraphSet, columns: Sequence[Column], task: Task
) -> tuple[Targets | ClassTargets, IntArray | None]:
    """The targets, and the codes of classes of one column."""
    names = [column.name for column in columns]
    for column in columns:
        _check_kind(graphs, column, task)
    if task == "regression":
        return numeric_targets(names, graphs, fitting=False), None
    if len(names) > 1:
        return task_targets(names, graphs, fitting=False), None
    classes = class_targets(names[0], graphs, fitting=False)
    return classes, classes.codes


def _check_kind(graphs: GraphSet, column: Column, task: Task) -> None:
    """Refuse words as numbers, and measured numbers as classes."""
    values = graphs.values("graph", column.name)
    if task == "regression":
        check_numbers(graphs, column)
        words = [each for each in column.categories if isinstance(each, str)]
        if words:
            raise InvalidTarget(
                f"{column.name!r} holds the words {listed(words)} and no numbers: use task='classification'"
            )
    elif column.kind == "float":
        known = values[is_known(values)]
        different = len(np.unique(known))
        if different > FEW and (2 * different > len(known) or (known != np.rint(known)).any()):
            raise InvalidTarget(
                f"{column.name!r} has {different:,} different numbers, too many for classes: use "
                f"task='regression'"
            )


def _counts(n_known: int, labelled: int | None, *held_out: float | None) -> Counts:
    """How many graphs to learn from, to validate and to test on."""
    taken = []
    for name, asked in zip(("validation", "test"), held_out, strict=True):
        if asked is None:
            taken.append(min(round(0.1 * n_known), MOST_HELD_OUT))
        elif not asked >= 0 or (asked >= 1 and asked != int(asked)):
            raise InvalidParameter(f"{name}={asked:g}: expected a share below 1, or a whole number of graphs")
        else:
            taken.append(int(asked) if asked >= 1 or not asked else max(1, round(asked * n_known)))
    if labelled is not None and labelled < 2:
        raise InvalidParameter(f"labelled={labelled}: expected at least two graphs to learn from")
    left, needed = n_known - sum(taken), max(2, labelled or 0)
    if left < needed:
        raise InvalidParameter(
            f"{n_known:,} graphs are labelled, of which {taken[0]:,} are for validation and {taken[1]:,} for "
            f"test: {max(left, 0):,} are left, but {needed:,} are needed to learn from"
        )
    return left if labelled is None else labelled, taken[0], taken[1]


def _at_random(rows: IntArray, codes: IntArray | None, counts: Counts, seed: int) -> list[IntArray]:
    """Graphs to learn from, to validate and to test on, and the rest of the labelled ones."""
    labelled, validation, test = counts
    drawn = semi_supervised_split(len(rows), labelled=labelled, validation=validation, test=test, seed=seed)
    order = rows[np.concatenate([drawn.test, drawn.validation, drawn.labelled, drawn.unlabelled])]
    if codes is not None:  # an order in which every stretch has about the shares of classes of the whole
        place = np.zeros(len(rows))
        for code in np.unique(codes[rows]):
            members = np.flatnonzero(codes[order] == code)
            place[members] = (np.arange(len(members)) + 0.5) / len(members)
        order = order[np.argsort(place, kind="stable")]
    tested, judged, learned, rest = np.split(order, np.cumsum([test, validation, labelled]))
    return [learned, judged, tested, rest]


def _by_scaffold(
    graphs: GraphSet, known: NDArray[np.bool_], counts: Counts, seed: int
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """The same, and with the rest those without a label."""
    first, second = counts[1] / known.sum(), counts[2] / known.sum()
    split = split_by_scaffold(graphs, known, (1 - first - second, first, second), seed)
    rng = np.random.default_rng(seed)
    order, judged = rng.permutation(split.labelled), rng.permutation(split.validation)
    rest = np.concatenate([order[counts[0] :], split.unlabelled])
    return order[: counts[0]], judged, split.test, rest
