"""Columns of labels as people meet them: which are missing, and are they classes or measured values?"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.errors import InvalidParameter

FEW = 20  # whole numbers with at most this many different values are classes


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
