"""Class labels of any spelling as codes 0..C-1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.errors import InvalidParameter


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
