"""Whatever a user gives as y -> the numbers or classes that models learn and are judged by."""

from __future__ import annotations

import hashlib
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet, IntArray
from infograph.data.labels import (
    FEW,
    MISSING,
    Mark,
    check_unlabelled,
    class_name,
    graph_name,
    listed,
    missing,
)
from infograph.data.records import objects, to_float
from infograph.data.schema import Category
from infograph.data.units import LABEL, match_name
from infograph.errors import InvalidParameter, InvalidTarget, TargetWarning

FloatArray = NDArray[np.float64]
UNLABELLED = -1  # the code of a graph without a label
LARGEST = 1e100  # larger numbers cannot be squared and summed
ROUNDING = 1e-12  # a target that varies by less, relative to its mean, is constant
GENERATED = re.compile(rf"({LABEL}(_\d+)?|\d+)")  # names that nobody gave: ours, and pandas' positions
KINDS: tuple[tuple[type, str], ...] = ((bool, "booleans"), (str, "texts"), (int, "integers"))


def _read(y: Any, graphs: GraphSet, *, lists_are_names: bool) -> Targets:
    """The labels of `graphs` from values, from the name of a graph column, or (None) from the column "y"."""
    if y is None or isinstance(y, str):
        return _columns(graphs, [LABEL if y is None else y], single=True)
    if lists_are_names and isinstance(y, list | tuple) and y and all(isinstance(name, str) for name in y):
        known = {column.name for column in graphs.schema.graph}
        if len(y) != len(graphs) or known.intersection(y):
            return _columns(graphs, y, single=False)
    values = _as_array(y)
    if values.ndim not in (1, 2) or 0 in values.shape[1:]:
        shape = f"shape {values.shape}" if values.ndim else f"a single {type(y).__name__}"
        raise InvalidTarget(f"y is {shape}; expected one value per graph (G,), or one row (G, targets)")
    if len(values) != len(graphs):
        hint = "give one value per graph, NaN or None where it is unknown"
        if graphs.rejected and len(values) == len(graphs) + len(graphs.rejected):
            hint = (
                f"{len(graphs.rejected)} inputs were left out as bad graphs, leave out their labels as well: "
                "numpy.delete(y, [r.index for r in graphs.rejected], axis=0)"
            )
        raise InvalidTarget(f"y has {len(values)} labels for {len(graphs)} graphs: {hint}")
    _check_order(y, graphs)
    table = values.reshape(len(values), -1)  # (G, T)
    own = getattr(y, "name", None)
    names = [f"{LABEL}_{position}" for position in range(table.shape[1])]
    if values.ndim == 1:
        names = [LABEL if own is None else str(own)]
    headers = getattr(y, "column_names", getattr(y, "columns", names))  # of Arrow; of pandas and polars
    names = [str(name) for name in headers]
    return Targets(tuple(names), ("",) * len(names), table, values.ndim == 1)


def _check_order(y: Any, graphs: GraphSet) -> None:
    """Warn where the index of pandas has the ids of the graphs, and in another order."""
    if not hasattr(y, "iloc") or np.array_equal(graphs.ids, np.arange(len(graphs))):
        return
    ids, given = graphs.ids.tolist(), y.index.tolist()
    if ids != given and set(ids) == set(given):
        warnings.warn(
            "the index of y has the ids of the graphs in another order, and labels go by position: "
            "y.loc[graphs.ids] puts them in theirs, y.to_numpy() says that they are",
            TargetWarning,
            stacklevel=3,
        )


def _columns(graphs: GraphSet, names: Sequence[str], *, single: bool) -> Targets:
    headers: list[tuple[str, str]] = []
    parts: list[NDArray[Any]] = []
    for name in names:
        found = match_name([column.name for column in graphs.schema.graph], name)  # "logS" for "logS [mol/L]"
        column = None if found is None else graphs.schema.column("graph", found)
        if column is None:
            have = ", ".join(repr(c.name) for c in graphs.schema.graph) or "none at all"
            raise InvalidTarget(f"no graph column {name!r} to predict: pass y, or name one of these: {have}")
        name, values = column.name, graphs.values("graph", column.name)
        wide = values.ndim > 1
        headers += [(f"{name}_{i}" if wide else name, column.unit) for i in range(column.width)]
        parts.append(values if wide else values[:, None])
        single = single and not wide
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(object) for part in parts]
    own, units = zip(*headers, strict=True)
    return Targets(own, units, np.hstack(parts), single)


def _as_array(y: Any) -> NDArray[Any]:
    """An array of the values as they are: [1, "a"] or ["a", nan] do not become texts on the way."""
    if isinstance(y, GraphSet):
        raise InvalidParameter('y is a GraphSet: pass its labels, graphs.graph["y"]')
    if hasattr(y, "detach"):
        y = y.detach().cpu().numpy()
    if not isinstance(y, list | tuple):
        array = np.asarray(y)
        return np.char.decode(array, errors="replace") if array.dtype.kind == "S" else array
    if not any(isinstance(row, list | tuple) or getattr(row, "ndim", 0) for row in y):
        return objects(y)
    lengths = {len(row) if hasattr(row, "__len__") else 1 for row in y}
    if len(lengths) > 1:
        raise InvalidTarget(f"y is no table: its rows have different lengths {sorted(lengths)}")
    return np.asarray(y, dtype=object)


def match_names(given: Sequence[str], expected: Sequence[str]) -> list[int]:
    """Where each of the expected targets is among as many given ones; names that nobody gave fit all."""
    if sorted(given) == sorted(expected):
        return [list(given).index(name) for name in expected]
    if any(all(GENERATED.fullmatch(name) for name in names) for names in (given, expected)):
        return list(range(len(expected)))
    own, theirs = (", ".join(map(repr, names)) for names in (given, expected))
    raise InvalidTarget(f"the targets are {own}, the model's are {theirs}: give the same ones")


@dataclass(frozen=True, eq=False)
class Targets:
    """Numbers to be predicted, T of them for each of G graphs."""

    names: tuple[str, ...]  # "y" (or "y_0", "y_1" ...) where the user gave none
    units: tuple[str, ...]
    values: NDArray[Any]  # (G, T) floats, NaN where unlabelled
    single: bool  # whether the user gave one value per graph and not rows, so that predictions are (G,), too

    def __post_init__(self) -> None:
        twice = [name for name, count in Counter(self.names).items() if count > 1]
        if twice:
            raise InvalidTarget(f"the target {twice[0]!r} is there twice: give each a name of its own")

    def of(self, graphs: IntArray) -> Targets:
        return replace(self, values=self.values[graphs])

    @property
    def n_targets(self) -> int:
        return len(self.names)

    @property
    def known(self) -> NDArray[np.bool_]:
        return ~missing(self.values)  # (G, T)

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which graphs have at least one value. (G,)."""
        return np.asarray(self.known.any(axis=1))

    @property
    def checksum(self) -> str:
        values = np.where(self.known, self.values, np.nan)
        return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:16]

    def like(self, names: Sequence[str], units: Sequence[str]) -> Targets:
        """These targets in the order of a model's, as many; other names or units are refused."""
        order = match_names(self.names, names)
        own = [self.units[position] for position in order]
        for name, unit, expected in zip(names, own, units, strict=True):
            if unit and expected and unit != expected:
                raise InvalidTarget(f"{name!r} is in {unit} here, the model learns it in {expected}")
        return replace(self, names=tuple(names), units=tuple(own), values=self.values[:, order])


def numeric_targets(
    y: Any, graphs: GraphSet, *, unlabelled: Mark | None = None, fitting: bool = True
) -> Targets:
    """The numbers to be predicted for `graphs`, of which each target needs two if a model is `fitting`.

    `y` is one number or row of numbers per graph (list, array, pandas Series or DataFrame), the name of a
    graph column, a list of names, or None for the column "y".
    """
    raw = _read(y, graphs, lists_are_names=True)
    values = np.full(raw.values.shape, np.nan)
    known = ~missing(raw.values, unlabelled)
    if raw.values.dtype.kind in "fiub":
        values[known] = raw.values[known]
    else:
        for row, column in np.argwhere(known).tolist():
            value = raw.values[row, column]
            value = value.item() if hasattr(value, "item") else value
            if not isinstance(value, Real | Decimal):
                raise InvalidTarget(
                    f"the target {raw.names[column]!r} of {graph_name(graphs, row)} is {value!r}, no number: "
                    f"correct it, or make it None; classes need a classifier"
                )
            values[row, column] = to_float(value)
    large = np.argwhere(np.abs(values) > LARGEST).tolist()
    for row, column in large:
        found = f"{raw.names[column]!r} of {graph_name(graphs, row)} is {values[row, column]:g}"
        raise InvalidTarget(f"the target {found}: correct it, or make it NaN ({len(large)} such)")
    if fitting:
        for name, count in zip(raw.names, (~np.isnan(values)).sum(axis=0).tolist(), strict=True):
            if count < 2:
                have = "only one" if count else "no"
                raise InvalidTarget(f"the target {name!r} has {have} labelled graph: at least two are needed")
        steady = [name for name, same in zip(raw.names, constant(values), strict=True) if same]
        if steady:
            problem = f"the target {steady[0]!r} has the same value in all labelled graphs"
            warnings.warn(problem, TargetWarning, stacklevel=3)
    return replace(raw, values=values)


@dataclass(frozen=True)
class Scaler:
    """Mean 0 and variance 1 for each target, by the labelled training graphs alone; 1 if it is constant."""

    mean: tuple[float, ...]
    scale: tuple[float, ...]

    @classmethod
    def of(cls, values: FloatArray) -> Self:
        """From the (G, T) targets of the training graphs; NaN is left out."""
        scale = np.where(constant(values), 1.0, np.nanstd(values, axis=0))
        return cls(tuple(np.nanmean(values, axis=0).tolist()), tuple(scale.tolist()))

    def standardise(self, values: FloatArray) -> FloatArray:
        """Targets as a model learns them; NaN stays NaN. (G, T) -> (G, T)."""
        return np.asarray((values - np.asarray(self.mean)) / np.asarray(self.scale))

    def restore(self, values: NDArray[np.floating[Any]]) -> FloatArray:
        """A model's outputs in the unit of the targets. (G, T) -> (G, T)."""
        return np.asarray(values.astype(np.float64) * np.asarray(self.scale) + np.asarray(self.mean))


def constant(values: FloatArray) -> NDArray[np.bool_]:
    """Which targets do not vary, but for rounding. (G, T) -> (T,)."""
    return np.asarray(np.nanstd(values, axis=0) <= ROUNDING * np.abs(np.nanmean(values, axis=0)))


@dataclass(frozen=True, eq=False)
class ClassTargets:
    """The classes of G graphs."""

    name: str  # of the column
    codes: NDArray[np.int64]  # (G,) positions in `classes`, -1 where unlabelled
    classes: tuple[Category, ...]  # sorted, as the user gave them: all texts, all integers or all booleans

    def of(self, graphs: IntArray) -> ClassTargets:
        return replace(self, codes=self.codes[graphs])

    @property
    def labelled(self) -> NDArray[np.bool_]:
        return np.asarray(self.codes != UNLABELLED)  # (G,)

    @property
    def checksum(self) -> str:
        digest = hashlib.sha256(repr(self.classes).encode(errors="surrogatepass"))
        digest.update(np.ascontiguousarray(self.codes).tobytes())
        return digest.hexdigest()[:16]

    def unseen(self, classes: Sequence[Category]) -> list[Category]:
        """The classes that are not among those of a fitted model; another type, '1' for 1, is refused."""
        if self.classes and classes and _kind(self.classes[0]) != _kind(classes[0]):
            own, theirs = (f"{_kind(each[0])} ({listed(each)})" for each in (self.classes, classes))
            raise InvalidTarget(f"the labels are {own}, those of the training are {theirs}")
        return [label for label in self.classes if label not in set(classes)]

    def coded_for(self, classes: Sequence[Category]) -> NDArray[np.int64]:
        """The codes of another order of classes, such as that of a fitted model. (G,)."""
        for label in self.unseen(classes):
            advice = "; measured numbers are for InfoGraphRegressor, or task='regression'"
            raise InvalidTarget(
                f"the class {label!r} is not among those of the training: {listed(classes)}"
                f"{advice if _kind(label) == 'integers' else ''}"
            )
        order = [list(classes).index(label) for label in self.classes]
        return np.array([*order, UNLABELLED], dtype=np.int64)[self.codes]


def class_targets(
    y: Any, graphs: GraphSet, unlabelled: Category | None = None, *, fitting: bool = True
) -> ClassTargets:
    """The classes to be predicted for `graphs`, at least two if a model is `fitting`.

    `y` is one label per graph (list, array, pandas Series; texts, integers, booleans, or floats that are
    whole), the name of a graph column, or None for the column "y". A -1 is in doubt, but not in a categorical
    column given by its name, as MUTAG's "y" with its classes -1 and 1: the schema says that it is a class.
    """
    check_unlabelled(unlabelled)
    raw = _read(y, graphs, lists_are_names=False)
    if len(raw.names) != 1:
        names = ", ".join(raw.names)
        raise InvalidTarget(f"y has {len(raw.names)} columns ({names}); a classifier predicts one")
    known = ~missing(raw.values[:, 0], unlabelled)
    codes, classes = _encode(raw.values[:, 0], known, raw.names[0], graphs)
    column = graphs.schema.column("graph", y or LABEL) if y is None or isinstance(y, str) else None
    if UNLABELLED in classes and (column is None or column.kind != "categorical"):
        raise InvalidTarget(
            f"there is a -1 among the classes {listed(classes)}: pass unlabelled=-1 if it means unlabelled; "
            "if it is a class, read the graphs with label= that column and pass y='y', or call it otherwise"
        )
    if fitting:
        _check_two(classes)
        counts = np.bincount(codes[codes != UNLABELLED])
        once = [label for label, count in zip(classes, counts, strict=True) if count == 1]
        if once:
            problem = f"{len(once)} of {len(classes)} classes have a single labelled graph ({listed(once)})"
            warnings.warn(problem, TargetWarning, stacklevel=3)
        for problem in _doubts(classes):
            warnings.warn(problem, TargetWarning, stacklevel=3)
    return ClassTargets(raw.names[0], codes, classes)


def _doubts(classes: Sequence[Category]) -> Iterator[str]:
    """What is odd about the names of classes: they may stand for nothing, or for each other."""
    spelled: dict[str, list[Category]] = {}
    for label in classes:
        if isinstance(label, str):
            spelled.setdefault(" ".join(label.casefold().split()), []).append(label)
    for short, same in spelled.items():
        if short in MISSING:
            yield f"the class {same[0]!r} looks like a missing label: if it is, pass unlabelled={same[0]!r}"
        elif len(same) > 1:
            yield f"the classes {listed(same)} differ in case or white space only: if they are one, mend it"


@dataclass(frozen=True, eq=False)
class TaskTargets(Targets):
    """Two classes in each of several columns; values are 0 for the first class, 1 for the second."""

    classes: tuple[Category, ...] = (0, 1)


def has_several(y: Any, graphs: GraphSet) -> bool:
    """Whether `y` stands for several columns: their names, or a table."""
    if isinstance(y, list | tuple) and y and all(isinstance(name, str) for name in y):
        known = {column.name for column in graphs.schema.graph}
        return 1 < len(y) == len(set(y)) and known.issuperset(y)
    if y is None or isinstance(y, str):
        column = graphs.schema.column("graph", LABEL if y is None else y)
        return column is not None and column.width > 1
    values = _as_array(y)
    return values.ndim == 2 and values.shape[1] > 1


def task_targets(
    y: Any,
    graphs: GraphSet,
    unlabelled: Category | None = None,
    *,
    fitting: bool = True,
    classes: Sequence[Category] = (),
) -> TaskTargets:
    """Two classes, the same ones in all of several columns, to be predicted for `graphs`.

    `y` is a table of labels with gaps anywhere, or the names of graph columns. A column in which all labels
    are the same is warned about if a model is `fitting`. `classes` are those of a fitted model, beside which
    there may be no others.
    """
    check_unlabelled(unlabelled)
    raw = _read(y, graphs, lists_are_names=True)
    known = ~missing(raw.values, unlabelled)  # (G, T)
    columns = zip(raw.values.T, known.T, raw.names, strict=True)
    coded = [_encode(values, there, name, graphs) for values, there, name in columns]
    found = {label for _, own in coded for label in own}
    two = tuple(classes) or tuple(sorted(found, key=lambda label: (_kind(label), label)))
    described = [graphs.schema.column("graph", name) for name in raw.names]
    categories = all(column is not None and column.kind == "categorical" for column in described)
    _check_tasks(two, found, listed_in_schema=categories)
    values = np.full(raw.values.shape, np.nan)
    for column, (codes, own) in enumerate(coded):
        values[:, column] = np.array([*map(two.index, own), np.nan])[codes]
    if fitting:
        for name, given in zip(raw.names, values.T, strict=True):
            if len(np.unique(given[~np.isnan(given)])) < 2:
                warnings.warn(f"the target {name!r} has no two classes to learn", TargetWarning, stacklevel=3)
    return TaskTargets(raw.names, ("",) * len(raw.names), values, False, two)


def _check_tasks(two: Sequence[Category], found: set[Category], *, listed_in_schema: bool) -> None:
    if not found:
        raise InvalidTarget("y holds no labels: at least two classes are needed")
    if UNLABELLED in two and not listed_in_schema:
        raise InvalidTarget(
            f"there is a -1 among the classes {listed(two)}: pass unlabelled=-1 if it means unlabelled, or "
            f"call the class otherwise"
        )
    if len(two) != 2:
        raise InvalidTarget(
            f"several columns of classes hold the same two classes each; here are {listed(two)}: train one "
            f"model for each column with others"
        )
    strange = sorted(found - set(two), key=str)
    if strange:
        raise InvalidTarget(f"the class {strange[0]!r} is not among those of the training: {listed(two)}")


def label_columns(y: Any) -> list[NDArray[Any]]:
    """Labels (G,) or (G, T) as T columns."""
    labels = _as_array(y)
    if labels.ndim not in (1, 2) or (labels.ndim == 2 and not labels.shape[1]):
        raise InvalidParameter(
            f"y must be (G,) labels or (G, T), T for each graph; shape {labels.shape} came"
        )
    return [labels] if labels.ndim == 1 else list(labels.T)


def as_numbers(values: NDArray[Any]) -> FloatArray:
    """Measured values, NaN where there is none; anything else is refused. (G,)."""
    known = ~missing(values)
    found = np.full(len(values), np.nan)
    try:
        found[known] = values[known].astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidParameter(f"expected measured values: {error}") from error
    if np.isinf(found).any():
        raise InvalidParameter("a measured value is infinite: correct it, or leave it out")
    return found


def encode_labels(y: Any) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Codes (G,) of the classes that graphs are judged by, -1 where there is none, and the classes' names.

    A -1 among the labels is a class beside one other, and refused beside several.
    """
    labels = _as_array(y)
    known = ~missing(labels)
    codes, classes = _encode(labels, known, LABEL, None)
    _check_two(classes)
    odd = {UNLABELLED, np.iinfo(np.int64).min, np.iinfo(np.int32).min} & set(classes)  # or NaN made whole
    if odd and len(classes) > 2:
        raise InvalidTarget(
            f"y has {min(odd)} beside {len(classes) - 1} other classes: graphs without a label have NaN or "
            f"None, and a class that is meant is given as a text"
        )
    return codes, tuple(class_name(label) for label in classes)


def _encode(
    labels: NDArray[Any], known: NDArray[np.bool_], name: str, graphs: GraphSet | None
) -> tuple[NDArray[np.int64], tuple[Category, ...]]:
    """Codes, and the sorted classes as Python's texts, integers or booleans; whole floats are integers."""
    given = [label.item() if hasattr(label, "item") else label for label in labels[known].tolist()]
    n_distinct = len(set(given))
    if n_distinct > FEW and 2 * n_distinct > len(given) and any(isinstance(label, float) for label in given):
        raise InvalidTarget(
            f"the label {name!r} has {n_distinct} different numbers in {len(given)} labelled graphs: "
            f"regression? Use InfoGraphRegressor, or task='regression'; classes are given as integers"
        )
    found = [int(each) if isinstance(each, float) and each.is_integer() else each for each in given]
    for row, label in zip(np.flatnonzero(known).tolist(), found, strict=True):
        if not _kind(label) or _kind(label) != _kind(found[0]):
            first = f"the first is {found[0]!r}" if _kind(label) else "no class"
            raise InvalidTarget(
                f"the label {name!r} of {graph_name(graphs, row)} is {label!r}, {first}: classes are "
                "all texts, all integers or all booleans; use InfoGraphRegressor for numbers"
            )
    classes = tuple(sorted(set(found)))
    lookup = {label: code for code, label in enumerate(classes)}
    codes = np.full(len(known), UNLABELLED, dtype=np.int64)
    codes[known] = [lookup[label] for label in found]
    return codes, classes


def _kind(label: object) -> str:
    label = label.item() if isinstance(label, np.generic) else label
    return next((name for kind, name in KINDS if isinstance(label, kind)), "")


def _check_two(classes: Sequence[Category]) -> None:
    if len(classes) < 2:
        which = f"only class {classes[0]!r}" if classes else "no labels"
        raise InvalidTarget(f"y holds {which}: at least two classes are needed")
