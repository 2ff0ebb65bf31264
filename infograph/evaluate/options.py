"""The settings of an evaluation that every fold shares, checked once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from infograph.errors import InvalidParameter

VECTOR_CLASSIFIERS = ("svm-rbf", "svm-linear", "logistic", "knn")
GRAM_CLASSIFIERS = ("svm", "knn")


@dataclass(frozen=True)
class Options:
    """What the classifiers may try; the fields are those of `cross_validate`."""

    C: tuple[float, ...]
    neighbours: tuple[int, ...]
    scale: bool
    max_iter: int
    logistic_max_iter: int

    def grid(self, classifier: str) -> tuple[float, ...]:
        """The values tried for one classifier, smallest first: numbers of neighbours for knn, else C."""
        return tuple(float(k) for k in self.neighbours) if classifier == "knn" else self.C

    def bound(self, classifier: str) -> int:
        """The iteration bound of one classifier; 0 for knn, which does not iterate."""
        return {"knn": 0, "logistic": self.logistic_max_iter}.get(classifier, self.max_iter)

    @classmethod
    def checked(
        cls,
        C: Sequence[float],
        neighbours: Sequence[int],
        scale: bool,
        max_iter: int,
        logistic_max_iter: int,
    ) -> Options:
        """Sort the grids, so that the first of equals is the smallest; refuse what no classifier takes."""
        for value in C:
            if not (math.isfinite(value) and value > 0):
                raise InvalidParameter(f"C must be positive and finite; {value} came")
        for k in neighbours:
            check_count("neighbours", k, 1)
        if not C or not neighbours:
            raise InvalidParameter(
                f"C and neighbours need at least one value each; C={C}, neighbours={neighbours}"
            )
        check_count("max_iter", max_iter, 1)
        check_count("logistic_max_iter", logistic_max_iter, 1)
        return cls(
            C=tuple(sorted({float(value) for value in C})),
            neighbours=tuple(sorted({int(k) for k in neighbours})),
            scale=bool(scale),
            max_iter=int(max_iter),
            logistic_max_iter=int(logistic_max_iter),
        )


def check_count(name: str, value: Any, least: int) -> None:
    """Refuse what is not a whole number of at least `least`."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
        raise InvalidParameter(f"{name} must be a whole number of at least {least}; {value!r} came")


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


def fitting(names: tuple[str, ...] | None, gram: bool, setting: str) -> tuple[str, ...]:
    """The classifiers for this kind of input; None means one SVM.

    Raises:
        InvalidParameter: a classifier that needs vectors where a Gram matrix came, or the reverse.
    """
    allowed, kind = (GRAM_CLASSIFIERS, "a Gram matrix") if gram else (VECTOR_CLASSIFIERS, "vectors")
    if names is None:
        return allowed[:1]
    for name in names:
        if name not in allowed:
            raise InvalidParameter(
                f"classifier {name!r} does not go with setting {setting!r}, which is {kind}: choose from "
                f"{allowed}. Evaluate vectors and Gram matrices in two calls and merge them to compare both"
            )
    return names
