"""What a label is: whatever a user gives as `y` -> numbers or classes, known or unlabelled."""

from __future__ import annotations

import hashlib
import math
import re
import shlex
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from infograph.data.convert import is_missing, objects, store_graph_column
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.schema import Category, Column
from infograph.data.units import LABEL, split_header
from infograph.errors import InvalidParameter, InvalidTarget, TargetWarning

GENERATED = re.compile(rf"({LABEL}(_\d+)?|\d+)")  # names that nobody gave: ours, and pandas' positions
NOT_THERE = "nan"  # what numpy makes of a NaN among texts
LARGEST = 1e300  # beyond it, and below its inverse, differences and deviations are no float64
MANY = 20  # floats that are whole, but more different ones than this, are counts and no classes
UNLABELLED = -1  # the code of a graph without a label
KINDS: tuple[tuple[type, str], ...] = ((bool, "booleans"), (str, "texts"), (int, "integers"))
FloatArray = NDArray[np.float64]
ROUNDING = 1e-12  # a target that varies by less, relative to its mean, is constant
FEW = 20  # whole numbers with at most this many different values are classes
DOUBTFUL = -1  # it may be a class, or mean unlabelled
Mark = Category | float
Task = Literal["regression", "classification"]
MISSING = {"", "na", "n/a", "nan", "null", "none"}  # cells of a column of numbers that hold none, in any case


@dataclass(frozen=True, eq=False)
class RawLabels:
    """Labels before anyone asked whether they are numbers or classes.

    Attributes:
        names: of the T columns; "y" (or "y_0", "y_1" ...) where the user gave none.
        units: of the T columns, empty where there is none.
        values: (G, T) as they came: numbers, texts or objects.
        single: whether `y` was one-dimensional, so that predictions are, too.
        coded: whether the values are a categorical graph column, whose schema says what the classes are.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    values: NDArray[Any]
    single: bool
    coded: bool = False


def read_labels(y: Any, graphs: GraphSet, *, lists_are_names: bool) -> RawLabels:
    """Find the labels of `graphs`.

    Args:
        y: one value or row per graph (a list, array, pandas Series or DataFrame), a graph column's name, or
            None for the graph column "y". The text 'nan' in a numpy array of texts is missing: that is what
            numpy makes of a NaN; a class of that name needs a list, or an array of objects.
        graphs: the graphs, in the order of `y`.
        lists_are_names: whether a list of texts may name columns; if not, it holds the labels themselves.

    Raises:
        InvalidTarget: no such column, another length than that of `graphs`, or no table of values.
    """
    if y is None:
        return _column(graphs, LABEL, hint="pass y, or ")
    if isinstance(y, str):
        return _column(graphs, y)
    if lists_are_names and _are_names(y, graphs):
        return _columns(graphs, [str(name) for name in y])
    return _array(y, graphs)


def match_names(given: Sequence[str], expected: Sequence[str]) -> list[int]:
    """Where each of the expected targets is among as many given ones.

    Raises:
        InvalidTarget: they are called otherwise, and both by names that someone chose.
    """
    if sorted(given) == sorted(expected):
        return [list(given).index(name) for name in expected]
    if any(all(GENERATED.fullmatch(name) for name in names) for names in (given, expected)):
        return list(range(len(expected)))
    raise InvalidTarget(
        f"the targets are {', '.join(map(repr, given))}, the model's are {', '.join(map(repr, expected))}: "
        "give the same ones; an array without names is taken in the model's order"
    )


def check_unlabelled(value: Any) -> None:
    """Refuse what is no single label, as a value that means unlabelled; None stands for none."""
    if value is not None and not isinstance(value, str | Real | np.generic):
        raise InvalidParameter(f"unlabelled={value!r}: expected one label, such as -1 or '?'")


def where(graphs: GraphSet, index: int) -> str:
    """How a graph is called in a message: its position, and its id where that is another."""
    graph_id = graphs.ids[index].item() if len(graphs.ids) else index
    return f"graph {index}" + ("" if str(graph_id) == str(index) else f" (id {graph_id!r})")


def missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which values are not there: None, NaN, pandas' NA, or an empty text. Same shape."""
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    if values.dtype.kind in "OUT":
        flat = [is_missing(value) or (isinstance(value, str) and not value) for value in values.flat]
        return np.array(flat, dtype=bool).reshape(values.shape)
    return np.zeros(values.shape, dtype=bool)


def _are_names(y: Any, graphs: GraphSet) -> bool:
    """A list of texts, unless they are as many as the graphs and none of them is a column."""
    if not isinstance(y, list | tuple) or not y or not all(isinstance(name, str) for name in y):
        return False
    known = {column.name for column in graphs.schema.graph}
    return len(y) != len(graphs) or any(name in known for name in y)


def _column(graphs: GraphSet, name: str, hint: str = "") -> RawLabels:
    column = graphs.schema.column("graph", name)
    if column is None:
        have = ", ".join(repr(c.name) for c in graphs.schema.graph) or "none at all"
        raise InvalidTarget(f"no graph column {name!r} to predict: {hint}name one that is there: {have}")
    values = graphs.values("graph", name)
    if values.ndim == 1:
        return RawLabels((name,), (column.unit,), values[:, None], True, column.kind == "categorical")
    width = values.shape[1]
    return RawLabels(tuple(f"{name}_{i}" for i in range(width)), (column.unit,) * width, values, False)


def _columns(graphs: GraphSet, names: Sequence[str]) -> RawLabels:
    parts = [_column(graphs, name) for name in names]
    joint = tuple(name for part in parts for name in part.names)
    _check_distinct(joint)
    kinds = {part.values.dtype.kind for part in parts}
    values = [part.values if len(kinds) == 1 else part.values.astype(object) for part in parts]
    units = tuple(unit for part in parts for unit in part.units)
    return RawLabels(joint, units, np.concatenate(values, axis=1), False)


def _array(y: Any, graphs: GraphSet) -> RawLabels:
    values = _as_array(y)
    if values.ndim not in (1, 2):
        shape = f"shape {values.shape}" if values.ndim else f"a single {type(y).__name__}"
        raise InvalidTarget(f"y is {shape}; expected one value per graph (G,), or one row (G, targets)")
    _check_length(len(values), graphs)
    single = values.ndim == 1
    table = values[:, None] if single else values  # (G, T)
    if not table.shape[1]:
        raise InvalidTarget(f"y has shape {values.shape}: there is no target in it")
    names = _names(y, table.shape[1], single)
    _check_distinct(names)
    return RawLabels(names, ("",) * len(names), table, single)


def _as_array(y: Any) -> NDArray[Any]:
    """An array of the values as they are: [1, "a"] or ["a", nan] do not become texts on the way."""
    if hasattr(y, "detach"):
        y = y.detach().cpu().numpy()
    if not isinstance(y, list | tuple):
        array = np.asarray(y)
        if array.dtype.kind != "U":
            return array
        return np.where(array == NOT_THERE, None, array.astype(object))  # type: ignore[call-overload, no-any-return]
    if not any(isinstance(row, list | tuple) or getattr(row, "ndim", 0) for row in y):
        return objects(y)
    lengths = {len(row) if hasattr(row, "__len__") else 1 for row in y}
    if len(lengths) > 1:
        raise InvalidTarget(f"y is no table: its rows have different lengths {sorted(lengths)}")
    return np.asarray(y, dtype=object)


def _names(y: Any, n_targets: int, single: bool) -> tuple[str, ...]:
    if hasattr(y, "columns"):
        return tuple(str(name) for name in y.columns)
    own = getattr(y, "name", None)
    if single:
        return (str(own) if own is not None else LABEL,)
    return tuple(f"{LABEL}_{position}" for position in range(n_targets))


def _check_length(n_labels: int, graphs: GraphSet) -> None:
    if n_labels == len(graphs):
        return
    rejected = [item.index for item in graphs.rejected]
    hint = "give one value per graph, NaN or None where it is unknown"
    if rejected and n_labels == len(graphs) + len(rejected):
        shown = ", ".join(map(str, rejected[:10])) + (" ..." if len(rejected) > 10 else "")
        hint = (
            f"{len(rejected)} inputs were left out as bad graphs (positions {shown}), leave out their labels "
            "as well: numpy.delete(y, [r.index for r in graphs.rejected], axis=0)"
        )
    raise InvalidTarget(f"y has {n_labels} labels for {len(graphs)} graphs: {hint}")


def _check_distinct(names: Sequence[str]) -> None:
    twice = [name for position, name in enumerate(names) if name in names[:position]]
    if twice:
        raise InvalidTarget(f"the target {twice[0]!r} is there twice: give every target a name of its own")


@dataclass(frozen=True, eq=False)
class Targets:
    """Numbers to be predicted, T of them for each of G graphs.

    Attributes:
        names: of the T targets.
        units: of the T targets, empty where there is none.
        values: (G, T) NaN where unlabelled.
        single: whether the user gave one value per graph and not rows, so that predictions are (G,), too.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    values: FloatArray
    single: bool

    def __len__(self) -> int:
        return len(self.values)

    def of(self, graphs: IntArray) -> Targets:
        """The targets of some of the graphs."""
        return replace(self, values=self.values[graphs])

    @property
    def n_targets(self) -> int:
        """How many numbers each graph has."""
        return len(self.names)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which values are there. (G, T)."""
        return ~np.isnan(self.values)

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which graphs have at least one value. (G,)."""
        return np.asarray(self.known.any(axis=1))

    @property
    def checksum(self) -> str:
        """A short text that is the same only for the same values."""
        values = np.where(self.known, self.values, np.nan)
        return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:16]

    def like(self, names: Sequence[str], units: Sequence[str]) -> Targets:
        """These targets in the order of a model's, as many; names that nobody gave are not compared.

        Raises:
            InvalidTarget: they have other names, or other units.
        """
        order = match_names(self.names, names)
        own = [self.units[position] for position in order]
        for name, unit, expected in zip(names, own, units, strict=True):
            if unit and expected and unit != expected:
                raise InvalidTarget(
                    f"the target {name!r} is in {unit} here, the model learns it in {expected}: give it in "
                    f"{expected}"
                )
        return replace(self, names=tuple(names), units=tuple(own), values=self.values[:, order])


def numeric_targets(
    y: Any,
    graphs: GraphSet,
    unit: str | Sequence[str] | None = None,
    *,
    unlabelled: Category | float | None = None,
    fitting: bool = True,
) -> Targets:
    """The numbers to be predicted for `graphs`.

    Args:
        y: one number or row of numbers per graph (list, array, pandas Series or DataFrame; NaN, None or NA
            where unlabelled), the name of a graph column, a list of names, or None for the column "y".
        graphs: the graphs, in the order of `y`.
        unit: of the values, or one per target; None takes it from the schema of the graphs.
        unlabelled: one more value that means unlabelled, such as -999 or "?".
        fitting: whether a model is to learn from them, which takes two labels per target; if not, they are
            only read.

    Raises:
        InvalidTarget: not numbers, infinite, too large or small to calculate with, too few, or not one per
            graph. The message names the graph.

    Warns:
        TargetWarning: a target is constant.
    """
    raw = read_labels(y, graphs, lists_are_names=True)
    values = _numbers(raw, graphs, unlabelled)
    infinite = np.argwhere(np.isinf(values))
    if len(infinite):
        row, column = infinite[0]
        raise InvalidTarget(
            f"the target {raw.names[column]!r} of {where(graphs, row)} is {values[row, column]}: correct it, "
            f"or make it NaN, which means unlabelled ({len(infinite)} such value{'s'[: len(infinite) != 1]})"
        )
    _check_magnitude(values, raw, graphs)
    targets = Targets(raw.names, _units(raw, unit), values, raw.single)
    if fitting:
        _check_numbers_learnable(targets)
    return targets


def _numbers(raw: RawLabels, graphs: GraphSet, unlabelled: Category | float | None) -> FloatArray:
    """(G, T) as float64, NaN where unlabelled; or an error with the first value that is no number."""
    left_out = missing(raw.values)
    if unlabelled is not None:
        left_out |= np.asarray(raw.values == unlabelled, dtype=bool)
    if raw.values.dtype.kind in "fiub":
        return np.where(left_out, np.nan, raw.values.astype(np.float64))
    table = np.full(raw.values.shape, np.nan)
    for row, column in np.argwhere(~left_out):
        value = raw.values[row, column]
        value = value.item() if hasattr(value, "item") else value
        if not isinstance(value, Real | Decimal):
            raise InvalidTarget(
                f"the target {raw.names[column]!r} of {where(graphs, row)} is {value!r}, no number; "
                "regression needs numbers (NaN or None where unlabelled), classes need a classifier"
            )
        try:
            table[row, column] = float(value)
        except OverflowError:  # a whole number of more than 308 digits
            table[row, column] = np.inf
    return table


def _check_magnitude(values: FloatArray, raw: RawLabels, graphs: GraphSet) -> None:
    """Refuse numbers whose differences, sums or deviations float64 cannot hold."""
    size = np.where(np.isnan(values), 0.0, np.abs(values))
    largest = size.max(axis=0, initial=0.0)  # (T,)
    strange = np.flatnonzero((largest > LARGEST) | ((largest > 0) & (largest < 1 / LARGEST)))
    if len(strange):
        column = int(strange[0])
        row = int(size[:, column].argmax())
        raise InvalidTarget(
            f"the target {raw.names[column]!r} of {where(graphs, row)} is {values[row, column]:g}, the "
            f"largest of its target: beyond {LARGEST:g} and below {1 / LARGEST:g} there is no room "
            "to calculate in; use another unit"
        )


def _units(raw: RawLabels, unit: str | Sequence[str] | None) -> tuple[str, ...]:
    if unit is None:
        return raw.units
    if isinstance(unit, str):
        return (unit,) * len(raw.names)
    if len(unit) != len(raw.names):
        raise InvalidTarget(f"{len(unit)} units for {len(raw.names)} targets ({', '.join(raw.names)})")
    return tuple(unit)


def _check_numbers_learnable(targets: Targets) -> None:
    counts = targets.known.sum(axis=0)
    if not counts.any():
        raise InvalidTarget(
            f"not one of {len(targets)} graphs has a label: all values of y are NaN or None; regression "
            "needs at least two labelled graphs (InfoGraph learns vectors without any)"
        )
    for name, count in zip(targets.names, counts.tolist(), strict=True):
        if count < 2:
            has = "only one labelled graph" if count else "no labelled graph"
            raise InvalidTarget(f"the target {name!r} has {has}: at least two are needed to learn from")
    steady = [name for name, same in zip(targets.names, constant(targets.values), strict=True) if same]
    if steady:
        warnings.warn(
            f"the target {steady[0]!r} has the same value in all labelled graphs, so that is what will be "
            "predicted: look whether y is the column you meant",
            TargetWarning,
            stacklevel=3,
        )


@dataclass(frozen=True, eq=False)
class ClassTargets:
    """The classes of G graphs.

    Attributes:
        name: of the column.
        codes: (G,) positions in `classes`, -1 where unlabelled.
        classes: sorted, as the user gave them: all texts, all integers or all booleans.
    """

    name: str
    codes: NDArray[np.int64]
    classes: tuple[Category, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def of(self, graphs: IntArray) -> ClassTargets:
        """The classes of some of the graphs."""
        return replace(self, codes=self.codes[graphs])

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which graphs have a label. (G,)."""
        return np.asarray(self.codes != UNLABELLED)

    @property
    def checksum(self) -> str:
        """A short text that is the same only for the same labels."""
        digest = hashlib.sha256(repr(self.classes).encode(errors="surrogatepass"))
        digest.update(np.ascontiguousarray(self.codes).tobytes())
        return digest.hexdigest()[:16]

    def unseen(self, classes: Sequence[Category]) -> list[Category]:
        """The classes that are not among those of a fitted model.

        Raises:
            InvalidTarget: they are of another type, such as '1' for 1.
        """
        if self.classes and classes and _kind(self.classes[0]) != _kind(classes[0]):
            raise InvalidTarget(
                f"the labels are {_kind(self.classes[0])} ({listed(self.classes)}), those of the training "
                f"are {_kind(classes[0])} ({listed(classes)}): give labels of that type"
            )
        seen = set(classes)
        return [label for label in self.classes if label not in seen]

    def coded_for(self, classes: Sequence[Category]) -> NDArray[np.int64]:
        """The codes of another order of classes, such as that of a fitted model. (G,).

        Raises:
            InvalidTarget: a class is not among them, or of another type.
        """
        strange = self.unseen(classes)
        if strange:
            raise InvalidTarget(
                f"the class {strange[0]!r} is not among those of the training: {listed(classes)}"
            )
        order = [list(classes).index(label) for label in self.classes]
        return np.array([*order, UNLABELLED], dtype=np.int64)[self.codes]


def class_targets(
    y: Any, graphs: GraphSet, unlabelled: Category | None = None, *, fitting: bool = True
) -> ClassTargets:
    """The classes to be predicted for `graphs`.

    NaN, None, NA and the empty text mean unlabelled, and so does 'nan' in a numpy array of texts, which is
    what numpy makes of a NaN there. A -1 could mean that, too, or be a class: it raises unless
    `unlabelled=-1` says what it means. There is no such doubt in a categorical graph column given by its name
    (or as None), as MUTAG's "y" with its classes -1 and 1: there the schema says that -1 is a class.

    Args:
        y: one label per graph (list, array, pandas Series; texts, integers, booleans, or floats that are
            whole, which become integers), the name of a graph column, or None for the column "y".
        graphs: the graphs, in the order of `y`.
        unlabelled: one more value that means unlabelled, such as -1 or "?".
        fitting: whether a model is to learn from them, which takes two classes; if not, they are only read.

    Raises:
        InvalidTarget: no classes, only one, a -1 in doubt, or not one per graph. The message names the graph.

    Warns:
        TargetWarning: a class has a single labelled graph.
    """
    check_unlabelled(unlabelled)
    raw = read_labels(y, graphs, lists_are_names=False)
    if raw.values.shape[1] != 1:
        raise InvalidTarget(
            f"y has {raw.values.shape[1]} columns ({', '.join(raw.names)}); a classifier predicts one: "
            "fit one classifier per column"
        )
    known = ~missing(raw.values[:, 0])
    if unlabelled is not None:
        known &= np.array([_key(label) != _key(unlabelled) for label in raw.values[:, 0]], dtype=bool)
    targets = _encode(raw, known, graphs)
    if fitting:
        _check_classes_learnable(targets)
    return targets


def _encode(raw: RawLabels, known: NDArray[np.bool_], graphs: GraphSet) -> ClassTargets:
    labels = _plain(raw.values[known, 0], known, raw, graphs)
    classes = tuple(sorted(set(labels)))
    if UNLABELLED in classes and not raw.coded:
        own = [c.name for c in graphs.schema.graph if c.kind == "categorical" and UNLABELLED in c.categories]
        column = f"; if y is the graphs' own column, pass its name, y={own[0]!r}" if own else ""
        raise InvalidTarget(
            f"there is a -1 among the classes {listed(classes)}: pass unlabelled=-1 if it means unlabelled; "
            f"if it is a class, call it otherwise, [0 if label == -1 else label for label in y]{column}"
        )
    lookup = {label: code for code, label in enumerate(classes)}
    codes = np.full(len(known), UNLABELLED, dtype=np.int64)
    codes[known] = [lookup[label] for label in labels]
    return ClassTargets(raw.names[0], codes, classes)


def _key(label: object) -> tuple[bool, object]:
    """True and 1 are different labels; 1.0 and 1 are the same."""
    label = _python(label)
    return isinstance(label, bool), label


def _kind(label: object) -> str:
    return next((name for kind, name in KINDS if isinstance(_python(label), kind)), "")


def _python(label: Any) -> Any:
    return label.item() if hasattr(label, "item") else label


def _plain(
    labels: NDArray[Any], known: NDArray[np.bool_], raw: RawLabels, graphs: GraphSet
) -> list[Category]:
    """The labels that are there as Python's texts, integers or booleans, all of one kind."""
    found = [_python(label) for label in labels]
    rows = np.flatnonzero(known)
    if any(isinstance(label, float) for label in found):
        found = _whole(found, rows, raw, graphs)
    kinds = [_kind(label) for label in found]
    strange = [position for position, kind in enumerate(kinds) if kind != kinds[0] or not kind]
    if strange:
        label, other = found[strange[0]], (found[0] if kinds[strange[0]] else None)
        mixed = "" if other is None else f" and that of {where(graphs, int(rows[0]))} is {other!r}"
        raise InvalidTarget(
            f"the label {raw.names[0]!r} of {where(graphs, int(rows[strange[0]]))} is {label!r}{mixed}: "
            "classes must be all texts, all integers or all booleans"
        )
    return found


def _whole(found: list[Any], rows: NDArray[Any], raw: RawLabels, graphs: GraphSet) -> list[Any]:
    """Floats as integers: a column of 0.0, 1.0 and NaN holds classes."""
    for row, label in zip(rows.tolist(), found, strict=True):
        if isinstance(label, float) and not label.is_integer():
            what = "correct it, or make it NaN" if np.isinf(label) else "use InfoGraphRegressor for numbers"
            raise InvalidTarget(
                f"the label {raw.names[0]!r} of {where(graphs, row)} is {label!r}, no class: this looks "
                f"like a regression target; {what}, or cut them into classes first (numpy.digitize)"
            )
    n_distinct = len(set(found))
    if n_distinct > MANY and 2 * n_distinct > len(found):
        raise InvalidTarget(
            f"the label {raw.names[0]!r} has {n_distinct} different values in {len(found)} labelled graphs: "
            "this looks like a regression target; use InfoGraphRegressor for numbers, or give classes as "
            "integers"
        )
    return [int(label) if isinstance(label, float) else label for label in found]


def _check_classes_learnable(targets: ClassTargets) -> None:
    counts = np.bincount(targets.codes[targets.labelled], minlength=len(targets.classes))
    if not len(counts):
        raise InvalidTarget(
            f"not one of {len(targets)} graphs has a label: classification needs labelled graphs of at least "
            "two classes (InfoGraph learns vectors without any)"
        )
    if len(counts) == 1:
        graphs = "the only labelled graph has" if counts[0] == 1 else f"all {counts[0]} labelled graphs have"
        raise InvalidTarget(f"{graphs} the class {targets.classes[0]!r}: at least two classes are needed")
    once = [label for label, count in zip(targets.classes, counts, strict=True) if count == 1]
    if once:
        warnings.warn(
            f"{len(once)} of {len(counts)} classes have a single labelled graph ({listed(once)}), too few "
            "to learn or to judge them by: label more, or join them with others",
            TargetWarning,
            stacklevel=3,
        )


def listed(classes: Sequence[Category]) -> str:
    """The first few classes, as a message names them."""
    return ", ".join(map(repr, classes[:8])) + (f" and {len(classes) - 8} more" if len(classes) > 8 else "")


@dataclass(frozen=True)
class Scaler:
    """Mean 0 and variance 1 for each target, by the labelled training graphs alone.

    A constant target has scale 1. `mean` and `scale` are plain numbers, ready for JSON.
    """

    mean: tuple[float, ...]
    scale: tuple[float, ...]

    @classmethod
    def of(cls, values: FloatArray) -> Self:
        """From the (G, T) targets of the training graphs; NaN is left out."""
        mean, deviation, exponent = _moments(values)
        scale = np.where(_same(mean, deviation), 1.0, np.ldexp(deviation, exponent))
        return cls(tuple(np.ldexp(mean, exponent).tolist()), tuple(scale.tolist()))

    def standardise(self, values: FloatArray) -> FloatArray:
        """Targets as a model learns them; NaN stays NaN. (G, T) -> (G, T)."""
        return np.asarray((values - np.asarray(self.mean)) / np.asarray(self.scale))

    def restore(self, values: NDArray[np.floating[Any]]) -> FloatArray:
        """A model's outputs in the unit of the targets. (G, T) -> (G, T)."""
        return np.asarray(self.restore_spread(values) + np.asarray(self.mean))

    def restore_spread(self, spread: NDArray[np.floating[Any]]) -> FloatArray:
        """Differences and deviations in the unit of the targets: scaled, not shifted. (G, T) -> (G, T)."""
        return np.asarray(spread.astype(np.float64) * np.asarray(self.scale))


def constant(values: FloatArray) -> NDArray[np.bool_]:
    """Which targets do not vary, but for rounding. (G, T) -> (T,)."""
    mean, deviation, _ = _moments(values)
    return _same(mean, deviation)


def binary_exponent(values: FloatArray) -> NDArray[np.int32]:
    """The e of every column, so that its values / 2^e are at most 1 and can be squared. (G, T) -> (T,)."""
    return np.asarray(np.frexp(np.nanmax(np.abs(values), axis=0, initial=0.0))[1])


def _moments(values: FloatArray) -> tuple[FloatArray, FloatArray, NDArray[np.int32]]:
    """Mean and deviation of every target divided by 2^e, and e. (G, T) -> (T,) each.

    Squares of 1e200 or 1e-200 are no float64; to divide by a power of two costs no digit.
    """
    exponent = binary_exponent(values)
    small = np.ldexp(values, -exponent)
    return np.nanmean(small, axis=0), np.nanstd(small, axis=0), exponent


def _same(mean: FloatArray, deviation: FloatArray) -> NDArray[np.bool_]:
    return np.asarray(deviation <= ROUNDING * np.abs(mean))


def is_known(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Which entries are there: not None, NaN or an empty text. (G,)."""
    if values.dtype.kind == "f":
        return np.asarray(np.isfinite(values))
    if values.dtype.kind != "O":
        return np.asarray(values != "") if values.dtype.kind == "U" else np.ones(len(values), bool)
    return np.array(
        [not (v is None or v == "" or (isinstance(v, float) and math.isnan(v))) for v in values], dtype=bool
    )


def is_continuous(values: NDArray[Any]) -> bool:
    """Whether a column holds measured values: numbers that are not whole, or too many different ones."""
    known = values[is_known(values)]
    if known.dtype.kind == "O" and all(isinstance(v, int | float) for v in known):
        known = known.astype(np.float64)
    if known.dtype.kind not in "fiu" or not len(known):
        return False
    return bool((known != np.rint(known)).any()) or len(np.unique(known)) > FEW


def count_classes(values: NDArray[Any]) -> list[tuple[str, int]]:
    """Class names and how many graphs each has, the largest first; unknown ones are not counted."""
    counts = Counter(class_name(value) for value in values[is_known(values)].tolist())
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def class_name(value: Any) -> str:
    """How a class is spelled: 1.0 is 1, and white space is single."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return " ".join(str(value).split())


def as_classes(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Labels that classifiers can be judged by.

    Raises:
        InvalidParameter: the column holds measured values.
    """
    if is_continuous(values):
        raise InvalidParameter(
            f"the column {name!r} holds measured values; accuracy needs classes: cut them into some first"
        )
    return values


class BadCell(InvalidTarget):
    """A column of numbers has a text among them; `row` is the position of its graph."""

    def __init__(self, message: str, row: int) -> None:
        super().__init__(message)
        self.row = row


def task_of(graphs: GraphSet, columns: Sequence[Column]) -> Task:
    """Whether columns hold numbers or classes.

    Raises:
        InvalidTarget: several, of which one holds classes; or texts that are neither numbers nor classes.
    """
    for column in columns:
        _check_numbers(graphs, column)
        if column.kind == "text":
            raise InvalidTarget(
                f"the column {column.name!r} holds texts that hardly repeat: no numbers, no classes"
            )
    classes = [
        column.name
        for column in columns
        if column.kind != "float"
        or not (column.unit or column.width > 1 or is_continuous(graphs.values("graph", column.name)))
    ]
    if len(columns) > 1 and len(classes) == len(columns):
        raise InvalidTarget(f"{', '.join(classes)} hold classes: a model predicts one column of classes")
    if len(columns) > 1:
        texts = [column.name for column in columns if column.kind != "float"]
        if texts:
            raise InvalidTarget(
                f"{texts[0]!r} holds classes, the other targets numbers: train one model each"
            )
        return "regression"
    return "classification" if classes else "regression"


def check_task(graphs: GraphSet, columns: Sequence[Column], task: Task) -> None:
    """Refuse columns that cannot be predicted as what they are said to hold.

    Raises:
        InvalidTarget: a text among numbers, several columns of classes, or a -1 that may be a class or not.
    """
    if task == "regression":
        for column in columns:
            _check_numbers(graphs, column)
        return
    if len(columns) > 1:
        listed = ", ".join(column.name for column in columns)
        raise InvalidTarget(f"--task classification predicts one column, not {listed}: train one model each")
    for column in columns:
        if column.kind == "float" and (graphs.values("graph", column.name) == DOUBTFUL).any():
            raise InvalidTarget(
                f"there is a -1 among the classes of {column.name!r}: if it means unlabelled, say "
                f"--unlabelled -1; if it is a class, say --label {shlex.quote(column.name)} --target y"
            )


def check_each_class(every: NDArray[Any], learned: NDArray[Any], judged: NDArray[Any], asked: int) -> None:
    """Refuse so few labels that a class has none to learn from.

    Args:
        every: the classes of all labelled graphs.
        learned, judged: those to learn from, and to validate by.
        asked: how many labels were asked for.

    Raises:
        InvalidParameter: there are more classes than labels, or one is only among those to validate by.
    """
    known, left = set(every.tolist()), set(learned.tolist())
    if asked < len(known) or set(judged.tolist()) - left:
        raise InvalidParameter(
            f"--labelled {asked} is too small for {len(known)} classes: {len(known - left)} of them would "
            f"have no label to learn from; use more labels, or leave the option out for all"
        )


def _check_numbers(graphs: GraphSet, column: Column) -> None:
    """Refuse numbers with a text among them."""
    if column.kind == "float":
        return
    values = graphs.values("graph", column.name)
    known = np.flatnonzero(~missing(values))
    odd = [row for row in known if isinstance(values[row], str) and as_number(values[row]) is None]
    if 0 < len(odd) < len(known) / 2:
        first, several = str(values[odd[0]]), f" ({len(odd):,} such values)" if len(odd) > 1 else ""
        same = len({str(values[row]) for row in odd}) == 1
        raise BadCell(
            f"the column {column.name!r} holds numbers, but that of {where(graphs, int(odd[0]))} is "
            f"{first!r}: correct it, or leave the cell empty{several}"
            + (f"; --unlabelled {first!r} says that it means unlabelled" if same else ""),
            int(odd[0]),
        )


def without_mark(
    graphs: GraphSet, names: Sequence[str], mark: Mark | None, *, needed: bool = False
) -> GraphSet:
    """`graphs` in which every `mark` in some graph columns is a missing value.

    -999, -999.0 and "-999" are the same mark. Texts that are numbers but for the marks become numbers.

    Args:
        graphs: the graphs.
        names: of the columns.
        mark: the value; None changes nothing.
        needed: whether a mark that no column holds is a mistake.

    Raises:
        InvalidParameter: no column holds it.
    """
    if mark is None:
        return graphs
    found = {name: marked(graphs.values("graph", name), mark) for name in names}
    if needed and not any(rows.any() for rows in found.values()) and str(mark).casefold() not in MISSING:
        listed = " or ".join(map(repr, names))
        raise InvalidParameter(
            f"--unlabelled {mark}: not one of {len(graphs):,} graphs has this value of {listed}; name the "
            f"value that means unlabelled, or leave the option out (empty cells are unlabelled anyway)"
        )
    for name, rows in found.items():
        if rows.any():
            graphs = _emptied(graphs, name, rows)
    return graphs


def marked(values: NDArray[Any], mark: Mark) -> NDArray[np.bool_]:
    """Which values are the mark. Same shape."""
    number, text = as_number(mark), str(mark).strip()
    if values.dtype.kind == "f":
        return np.asarray(values == number) if number is not None else np.zeros(values.shape, bool)
    found = [
        value is not None
        and (str(value).strip() == text or (number is not None and as_number(value) == number))
        for value in values.tolist()
    ]
    return np.array(found, dtype=bool)


def as_number(value: Any) -> float | None:
    """A number, or a text that is spelled like one, as a float; None for anything else."""
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _emptied(graphs: GraphSet, name: str, rows: NDArray[np.bool_]) -> GraphSet:
    values = graphs.values("graph", name)
    column = next(column for column in graphs.schema.graph if column.name == name)
    if column.kind == "float":
        return graphs.with_column("graph", column, np.where(rows, np.nan, values))
    known = ~(rows | missing(values))
    numbers = [as_number(value) if isinstance(value, str) else None for value in values[known].tolist()]
    if numbers and all(number is not None for number in numbers):
        filled = np.full(len(values), np.nan)
        filled[known] = numbers
        return graphs.with_column("graph", Column(name, "float", unit=split_header(name)[1]), filled)
    left = objects(values.tolist())
    left[~known] = None
    stored, described = store_graph_column(name, left.tolist())
    return graphs.with_column("graph", described, stored)


def encode_labels(y: Any) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Turn integers, whole floats, booleans or strings into codes and the sorted class names.

    Args:
        y: one label per graph.

    Returns:
        Codes (G,) in 0..C-1 and the C names, in the order of the codes.

    Raises:
        InvalidParameter: another shape, a missing label, a fractional number, or fewer than two classes.
    """
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise InvalidParameter(f"y must be one label per graph, shape (G,); shape {labels.shape} came")
    if labels.dtype.kind == "f":
        labels = _whole_numbers(labels)
    elif labels.dtype.kind == "O":
        labels = _one_kind(labels)
    elif labels.dtype.kind not in "iubUS":
        raise InvalidParameter(f"y must hold integers or strings; it holds {labels.dtype}")
    names, codes = np.unique(labels, return_inverse=True)
    if len(names) < 2:
        which = f"only class {_spelled(names[0])}" if len(names) else "no labels"
        raise InvalidParameter(f"y holds {which}; classification needs at least two classes")
    return codes.astype(np.int64), tuple(_spelled(name) for name in names)


def _spelled(name: Any) -> str:
    return name.decode(errors="replace") if isinstance(name, bytes) else str(name)


def _whole_numbers(labels: NDArray[Any]) -> NDArray[np.int64]:
    bad = np.flatnonzero(~np.isfinite(labels))
    if bad.size:
        raise InvalidParameter(
            f"y has no label for {bad.size} graphs (NaN or infinity, first at graph {bad[0]}); "
            "leave these graphs out of the evaluation"
        )
    bad = np.flatnonzero(labels != np.rint(labels))
    if bad.size:
        raise InvalidParameter(
            f"y must hold classes, but graph {bad[0]} has the value {labels[bad[0]]}; "
            "cut the values into classes first (numpy.digitize), or use a regressor"
        )
    return labels.astype(np.int64)


def _one_kind(labels: NDArray[Any]) -> NDArray[Any]:
    """An object array is fine if it is all strings or all integers; None and mixtures are not."""
    missing = [i for i, label in enumerate(labels) if label is None]
    if missing:
        raise InvalidParameter(
            f"y has no label for {len(missing)} graphs (None, first at graph {missing[0]}); "
            "leave these graphs out of the evaluation"
        )
    if all(isinstance(label, str) for label in labels):
        return labels.astype(str)
    if all(isinstance(label, (int, np.integer, bool, np.bool_)) for label in labels):
        return labels.astype(np.int64)
    if all(isinstance(label, (int, float, np.integer, np.floating)) for label in labels):
        return _whole_numbers(labels.astype(np.float64))
    kinds = sorted({type(label).__name__ for label in labels})
    raise InvalidParameter(f"y must be all integers or all strings; it holds {', '.join(kinds)}")
