"""Which graphs are for learning with and without labels, for choosing, and for testing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet, IntArray
from infograph.data.labels import Mark, Task, check_each_class, check_task, missing, task_of, without_mark
from infograph.data.schema import Column
from infograph.data.splits import Split, semi_supervised_split
from infograph.data.units import graph_column
from infograph.errors import InvalidParameter, InvalidTarget

How = Literal["random", "scaffold"]
TENTH = 0.1
MOST = 10_000  # held out by default: a tenth of the labelled graphs, at most as many as the paper's for QM9


@dataclass(frozen=True, eq=False)
class Parts:
    """Graphs by what they are for.

    Attributes:
        targets: the graph columns to predict.
        task: as numbers or as classes.
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

    Raises:
        SchemaMismatch: there is no such column.
        InvalidTarget: not one label, several targets of which one holds classes, or a -1 in doubt.
        InvalidParameter: there are fewer labels than asked for, or than classes; or no `unlabelled` value.
    """
    names = tuple(graph_column(graphs.schema, name).name for name in targets)
    graphs = without_mark(graphs, names, unlabelled, needed=True)
    columns = [graph_column(graphs.schema, name) for name in names]
    task = task or task_of(graphs, columns)
    check_task(graphs, columns, task)
    known = np.zeros(len(graphs), bool)
    for column in columns:
        known |= _known(graphs, column)
    rows = np.flatnonzero(known)
    if not len(rows):
        listed = ", ".join(repr(column.name) for column in columns)
        raise InvalidTarget(
            f"not one of {len(graphs):,} graphs has a value of {listed}: there is nothing to learn"
        )
    held_out = (_count("validation", validation, len(rows)), _count("test", test, len(rows)))
    n_labelled = _labelled(labelled, len(rows), held_out)
    classes = graphs.values("graph", columns[0].name) if task == "classification" else None
    if how == "scaffold":
        split = _by_scaffold(graphs, known, n_labelled, held_out, seed)
    else:
        split = _at_random(rows, None if classes is None else classes[rows], n_labelled, held_out, seed)
        split = replace(split, unlabelled=np.concatenate([split.unlabelled, np.flatnonzero(~known)]))
    if classes is not None and labelled is not None:
        check_each_class(classes[known], classes[split.labelled], classes[split.validation], labelled)
    learned = hide(graphs[split.train], columns, np.arange(len(split.labelled), len(split.train)))
    return Parts(names, task, learned, len(split.labelled), graphs[split.validation], graphs[split.test])


def hide(graphs: GraphSet, columns: Sequence[Column], rows: IntArray) -> GraphSet:
    """`graphs` without the values of some rows."""
    for column in columns:
        values = graphs.graph[column.name].copy()
        values[rows] = {"float": np.nan, "text": "", "categorical": column.unknown}[column.kind]
        graphs = graphs.with_column("graph", column, values)
    return graphs


def _known(graphs: GraphSet, column: Column) -> NDArray[np.bool_]:
    known = ~missing(graphs.values("graph", column.name))
    return known if known.ndim == 1 else np.asarray(known.any(axis=1))


def _count(name: str, asked: float | None, n_labelled: int) -> int:
    if asked is None:
        return min(round(TENTH * n_labelled), MOST)
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
    rows: IntArray, classes: NDArray[Any] | None, labelled: int, held_out: tuple[int, int], seed: int
) -> Split:
    drawn = semi_supervised_split(
        len(rows), labelled=labelled, validation=held_out[0], test=held_out[1], seed=seed
    )
    order = np.concatenate([drawn.test, drawn.validation, drawn.labelled, drawn.unlabelled])
    if classes is not None:
        order = order[_spread(classes[order])]
    stops = np.cumsum([held_out[1], held_out[0], labelled])
    test, validation, learned, rest = (rows[part] for part in np.split(order, stops))
    return Split(learned, validation, test, unlabelled=rest)


def _spread(classes: NDArray[Any]) -> IntArray:
    """An order in which every stretch has about the shares of classes that the whole has. (G,) -> (G,)."""
    place = np.zeros(len(classes))
    for label in set(classes.tolist()):
        members = np.flatnonzero(classes == label)
        place[members] = (np.arange(len(members)) + 0.5) / len(members)
    return np.argsort(place, kind="stable")


def _by_scaffold(
    graphs: GraphSet, known: NDArray[np.bool_], labelled: int, held_out: tuple[int, int], seed: int
) -> Split:
    from infograph.data.splits import scaffold_split

    mark = Column(" labelled", "float")  # several targets count as labelled where one of them is
    marked = graphs.with_column("graph", mark, np.where(known, 1.0, np.nan))
    first, second = held_out[0] / known.sum(), held_out[1] / known.sum()
    split = scaffold_split(marked, (1 - first - second, first, second), target=mark.name, seed=seed)
    rng = np.random.default_rng(seed)
    order, validation = rng.permutation(split.labelled), rng.permutation(split.validation)
    rest = np.concatenate([order[labelled:], split.unlabelled])
    return replace(split, labelled=order[:labelled], validation=validation, unlabelled=rest)
