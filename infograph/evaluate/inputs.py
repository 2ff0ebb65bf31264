"""What `cross_validate` takes as representations, in one form: per setting, a function of the repeat."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.errors import InvalidParameter
from infograph.evaluate.gram import Gram

Representation = NDArray[np.float64] | Gram
DEFAULT_SETTING = "default"


@dataclass(frozen=True)
class Setting:
    """One way to represent all graphs: `get(r)` is its (G, D) array or Gram matrix in repeat r, checked."""

    name: str
    get: Callable[[int], Representation]


def read_settings(representations: Any, n_graphs: int, repeats: int, random_state: int) -> list[Setting]:
    """Read one representation, or a mapping of names to them.

    Everything but callables is checked here, before the first fold is fitted.

    Raises:
        InvalidParameter: no settings, a wrong number of repeats or graphs, NaN, infinity, or no array at all.
    """
    if not isinstance(representations, Mapping):
        representations = {DEFAULT_SETTING: representations}
    if not representations:
        raise InvalidParameter("representations is an empty mapping; pass at least one setting")
    return [
        Setting(str(name), _reader(source, str(name), n_graphs, repeats, random_state))
        for name, source in representations.items()
    ]


def _reader(
    source: Any, name: str, n_graphs: int, repeats: int, random_state: int
) -> Callable[[int], Representation]:
    def where(r: int) -> str:
        return f"setting {name!r}, repeat {r}"

    if callable(source) and not hasattr(source, "__array__"):
        make: Callable[[int], Any] = source
        return lambda r: check_representation(make(random_state + r), n_graphs, where(r))
    if _is_per_repeat(source):
        if len(source) != repeats:
            raise InvalidParameter(
                f"setting {name!r}: {len(source)} representations came for repeats={repeats}; pass one per "
                "repeat, or a single (G, D) array that serves all"
            )
        each = [check_representation(source[r], n_graphs, where(r)) for r in range(repeats)]
        return lambda r: each[r]
    single = check_representation(source, n_graphs, f"setting {name!r}")
    return lambda r: single


def _is_per_repeat(source: Any) -> bool:
    """A list of matrices, or a stacked (repeats, G, D) array; a list of rows is one matrix."""
    if isinstance(source, np.ndarray):
        return source.ndim == 3
    if not isinstance(source, Sequence) or isinstance(source, str) or not len(source):
        return False
    return isinstance(source[0], Gram) or hasattr(source[0], "toarray") or np.ndim(source[0]) >= 2


def check_representation(values: Any, n_graphs: int, where: str) -> Representation:
    """One representation as float64, or an error that names the setting, the repeat and the graph."""
    if isinstance(values, Gram):
        if len(values) != n_graphs:
            raise InvalidParameter(
                f"{where}: the Gram matrix is of {len(values)} graphs, y of {n_graphs}; "
                "both must be of the same graphs"
            )
        return values
    if hasattr(values, "toarray"):
        raise InvalidParameter(
            f"{where}: a sparse matrix came; pass x.toarray(), or Gram((x @ x.T).toarray()) for a kernel"
        )
    try:
        vectors = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        kind = type(values).__name__
        raise InvalidParameter(
            f"{where}: expected a (G, D) array of numbers or a Gram; {kind} came"
        ) from error
    if vectors.ndim != 2 or vectors.shape[1] == 0:
        raise InvalidParameter(
            f"{where}: expected a (G, D) array, a vector per graph; shape {vectors.shape} came"
        )
    if len(vectors) != n_graphs:
        raise InvalidParameter(
            f"{where}: {len(vectors)} vectors came for {n_graphs} labels; pass one per graph"
        )
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if bad.size:
        raise InvalidParameter(
            f"{where}: {bad.size} of {n_graphs} vectors hold NaN or infinity, the first is graph {bad[0]}; "
            "leave these graphs out, or look for a diverged training"
        )
    return vectors
