"""What an evaluation is given, checked before anything is computed: vectors or kernels, labels, judges."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from infograph.data.labels import is_continuous, missing
from infograph.data.targets import as_numbers, encode_labels, label_columns
from infograph.errors import InvalidParameter
from infograph.evaluate.evaluation import Plan
from infograph.evaluate.judges import (
    GRAM_CLASSIFIERS,
    SCORINGS,
    VECTOR_CLASSIFIERS,
    VECTOR_REGRESSORS,
    Floats,
    Rows,
    Scoring,
)

LEAST = {"folds": 2, "inner_folds": 2, "random_state": 0}  # of other counts 1
ROUNDING = 1e-6  # by which a symmetric matrix may differ from its transpose, relative to its largest entry


@dataclass(frozen=True, eq=False)
class Gram:
    """Kernel values between all pairs of graphs, checked once when made.

    Positive semidefiniteness is not checked (it costs G^3); LIBSVM also accepts indefinite matrices.

    Args:
        matrix: (G, G), symmetric up to rounding, finite. Kept as float64; the caller's array is not changed.
        normalise: divide by the square roots of the diagonal, so that every graph has k(x, x) = 1. It looks
            at two graphs at a time, so it leaks nothing between folds. With k(x, x) = 0 the zeros stay.
    """

    matrix: Floats  # (G, G)
    normalise: bool = False

    def __post_init__(self) -> None:
        matrix = _numbers(self.matrix, "a Gram matrix")
        if matrix.shape[0] != matrix.shape[1]:
            raise InvalidParameter(
                f"a Gram matrix is graphs by graphs; shape {matrix.shape} came. For vectors: Gram(x @ x.T)"
            )
        if matrix.diagonal().min() < 0:
            raise InvalidParameter("k(x, x) is negative for a graph; pass similarities, not distances")
        gap = np.abs(matrix - matrix.T)
        if gap.any():
            if gap.max() > ROUNDING * np.abs(matrix).max():
                i, j = np.unravel_index(int(gap.argmax()), gap.shape)
                raise InvalidParameter(f"the Gram matrix is not symmetric at ({i}, {j}); pass (K + K.T) / 2")
            matrix = (matrix + matrix.T) / 2  # even out rounding, so that row and column say the same
        if self.normalise:
            root = np.sqrt(matrix.diagonal())
            root = np.where(root > 0, root, 1.0)
            matrix = matrix / np.outer(root, root)
        object.__setattr__(self, "matrix", matrix)

    def __len__(self) -> int:
        return len(self.matrix)


Representation = Floats | Gram
Source = NDArray[Any] | Gram | Sequence[NDArray[Any]] | Sequence[Gram] | Callable[[int], NDArray[Any] | Gram]


@dataclass(frozen=True, eq=False)
class Targets:
    """What is predicted for G graphs, those without any label left out."""

    values: Floats  # (G, T) numbers, or codes of classes; NaN where there is none
    names: tuple[str, ...]  # of the classes; none for numbers
    name: str  # of the scoring
    groups: Rows | None  # (G,)

    @property
    def scoring(self) -> Scoring:
        return SCORINGS[self.name]


def check_counts(**given: Any) -> None:
    """Refuse, by name, what is no whole number or too small."""
    for name, value in given.items():
        least = LEAST.get(name, 1)
        if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
            raise InvalidParameter(f"{name} must be a whole number of at least {least}; {value!r} came")


def check_grids(C: Sequence[float], neighbours: Sequence[int]) -> None:
    """Refuse grids that are no lists, or hold what cannot be tried."""
    lists = all(np.ndim(values) == 1 and len(values) for values in (C, neighbours))
    if not lists or not all(0 < value < math.inf for value in C):
        raise InvalidParameter(
            f"C and neighbours must be positive and finite, one or more in a list each; C={C}, "
            f"neighbours={neighbours}"
        )
    for k in neighbours:
        check_counts(neighbours=k)


def read_targets(y: Any, scoring: str | None, groups: ArrayLike | None) -> tuple[Targets, NDArray[np.bool_]]:
    """What is predicted, and which graphs have a label. (G,)."""
    if scoring is not None and (not isinstance(scoring, str) or scoring not in SCORINGS):
        raise InvalidParameter(f"there is no scoring {scoring!r}; there are {', '.join(SCORINGS)}")
    columns = label_columns(y)
    numbers = scoring is not None and SCORINGS[scoring].needs == "numbers"
    measured = any(is_continuous(column) for column in columns)
    if measured and scoring is not None and not numbers:
        raise InvalidParameter(
            f"scoring={scoring!r} needs classes, and these are measured values: use 'rmse'"
        )
    names: tuple[str, ...] = ()
    if numbers or measured:
        values = np.column_stack([as_numbers(column) for column in columns])
        scoring = scoring or "rmse"
    else:
        encoded = [encode_labels(column) for column in columns]
        values = np.column_stack([np.where(codes < 0, np.nan, codes) for codes, _ in encoded])
        names = encoded[0][1]
        scoring = scoring or ("accuracy" if len(columns) == 1 else "roc_auc")
        plain = (("0", "1"), ("False", "True"))
        odd = next((found for _, found in encoded if found not in plain), None)
        if scoring == "average_precision" and odd:
            raise InvalidParameter(
                f"scoring='average_precision' needs to know which class counts: label it 1 and the other 0, "
                f"instead of {', '.join(odd)}"
            )
        several = next((found for _, found in encoded if len(found) > 2), None)
        if several and SCORINGS[scoring].needs == "ranks":
            raise InvalidParameter(f"scoring={scoring!r} needs two classes; there are {len(several)}")
    known = np.asarray(~np.isnan(values).all(axis=1))
    together = None
    if groups is not None:
        given = np.asarray(groups).reshape(-1)
        if lost := int(missing(given).sum()):
            raise InvalidParameter(f"{lost} graphs are in no group; give each one of its own")
        together = np.unique(given, return_inverse=True)[1].reshape(-1)
        if len(together) != len(values):
            raise InvalidParameter(
                f"{len(together)} groups came for {len(values)} graphs; pass one per graph"
            )
        together = together[known]
    return Targets(values[known], names, scoring, together), known


def plan_folds(targets: Targets, folds: int, inner_folds: int) -> Plan:
    """The folds; stratified ones refuse a class that is too small for them."""
    folds, inner_folds = int(folds), int(inner_folds)  # JSON has no numbers of numpy's
    stratified = targets.groups is None and len(targets.names) > 1 and targets.values.shape[1] == 1
    if stratified:
        return Plan.of(targets.values[:, 0].astype(np.int64), targets.names, folds, inner_folds)
    if len(targets.values) < max(folds * 2, math.ceil(inner_folds * folds / (folds - 1))):
        raise InvalidParameter(
            f"{len(targets.values)} graphs are too few for folds={folds}, inner_folds={inner_folds}"
        )
    together = "" if targets.groups is None else hashlib.sha256(targets.groups.tobytes()).hexdigest()
    digest = hashlib.sha256(np.ascontiguousarray(targets.values).tobytes()).hexdigest()
    return Plan(folds, inner_folds, (), digest, len(targets.values), together)


def check_protocol(
    y: Any, *, scoring: str | None, groups: ArrayLike | None, folds: int, inner_folds: int, **_: Any
) -> str:
    """Refuse what `cross_validate` would refuse of these, before anything is computed; gives the scoring."""
    targets, _known = read_targets(y, scoring, groups)
    plan_folds(targets, folds, inner_folds)
    return targets.name


def check_names(classifiers: Sequence[str] | str | None) -> tuple[str, ...] | None:
    """The names as a tuple, known and different; None stays None."""
    if classifiers is None:
        return None
    names = (classifiers,) if isinstance(classifiers, str) else tuple(classifiers)
    if not names or len(set(names)) < len(names):
        raise InvalidParameter(f"classifiers must be one or more different names; {names} came")
    for name in names:
        if name not in VECTOR_CLASSIFIERS + GRAM_CLASSIFIERS:
            raise InvalidParameter(
                f"there is no classifier {name!r}; for vectors there are {', '.join(VECTOR_CLASSIFIERS)}; "
                f"for Gram matrices {', '.join(GRAM_CLASSIFIERS)}"
            )
    return names


def fitting_judges(
    names: tuple[str, ...] | None, given: Representation, setting: str, numbers: bool
) -> tuple[str, ...]:
    """The judges for this kind of input and target; None means one SVM."""
    gram = isinstance(given, Gram)
    allowed: tuple[str, ...]
    allowed, kind = (GRAM_CLASSIFIERS, "a Gram matrix") if gram else (VECTOR_CLASSIFIERS, "vectors")
    if numbers and not gram:
        allowed, kind = VECTOR_REGRESSORS, "vectors for measured values"
    for name in names or ():
        if name not in allowed:
            raise InvalidParameter(
                f"classifier {name!r} does not go with setting {setting!r}, which is {kind}: choose from "
                f"{allowed}. Evaluate both kinds in two calls and merge them"
            )
    return names or allowed[:1]


def per_repeat(
    source: Any, where: str, known: NDArray[np.bool_], repeats: int, seed: int
) -> Callable[[int], Representation]:
    """The representation of a repeat. All but what a function makes is checked before the first fold."""
    if hasattr(source, "fit_transform"):
        raise InvalidParameter(
            f"a {type(source).__name__} came: pass its vectors, model.fit_transform(graphs), or a "
            f"function of the seed that makes them"
        )
    if callable(source) and not hasattr(source, "__array__"):
        return lambda r: _representation(source(seed + r), known, f"{where}, repeat {r}")
    several = isinstance(source, np.ndarray) and source.ndim == 3
    if isinstance(source, Sequence) and len(source):  # of matrices; a list of rows is one matrix
        several = isinstance(source[0], Gram) or np.ndim(source[0]) >= 2
    if not several:
        single = _representation(source, known, where)
        return lambda r: single
    if len(source) != repeats:
        raise InvalidParameter(f"{where}: {len(source)} representations came for repeats={repeats}")
    each = [_representation(one, known, f"{where}, repeat {r}") for r, one in enumerate(source)]
    return lambda r: each[r]


def _representation(values: Any, known: NDArray[np.bool_], where: str) -> Representation:
    found = values if isinstance(values, Gram) else _numbers(values, where)
    if len(found) != len(known):
        raise InvalidParameter(
            f"{where}: {len(found)} graphs came for {len(known)} labels; pass one per graph"
        )
    if not isinstance(found, Gram) and _is_symmetric(found):
        found = Gram(found)  # as kernels give it
    if known.all():
        return found
    return Gram(found.matrix[np.ix_(known, known)]) if isinstance(found, Gram) else found[known]


def _is_symmetric(matrix: Floats) -> bool:
    if matrix.shape[0] != matrix.shape[1]:
        return False
    return bool(np.abs(matrix - matrix.T).max() <= ROUNDING * np.abs(matrix).max())


def _numbers(values: ArrayLike, where: str) -> Floats:
    """A matrix of finite float64."""
    try:
        matrix: Floats = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        kind = type(values).__name__
        raise InvalidParameter(f"{where}: expected a dense array of numbers; {kind} came") from error
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise InvalidParameter(f"{where}: expected a (G, D) array; shape {matrix.shape} came")
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if bad.size:
        raise InvalidParameter(
            f"{where}: {bad.size} of {len(matrix)} rows hold NaN or infinity, the first is graph {bad[0]}; "
            "leave these graphs out"
        )
    return matrix
