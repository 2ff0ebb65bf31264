"""Classes to be predicted: read from whatever the user gives, and checked."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet, IntArray
from infograph.data.labels import RawLabels, check_unlabelled, missing, read_labels, where
from infograph.data.schema import Category
from infograph.errors import InvalidTarget, TargetWarning

MANY = 20  # floats that are whole, but more different ones than this, are counts and no classes
UNLABELLED = -1  # the code of a graph without a label
KINDS: tuple[tuple[type, str], ...] = ((bool, "booleans"), (str, "texts"), (int, "integers"))


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
        _check_learnable(targets)
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


def _check_learnable(targets: ClassTargets) -> None:
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
