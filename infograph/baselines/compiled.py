"""Compiled loops: numba, in the one place that imports it, and random numbers that need no global state."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numpy as np

from infograph.errors import MissingExtra

F = TypeVar("F", bound=Callable[..., object])
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
STEP_30, STEP_27, STEP_31, STEP_11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
UNIT = 2.0**-53


def compiled(function: F) -> F:
    """Compile a loop over arrays to machine code, on its first call; later processes find it in a cache.

    Modules with such loops are imported inside the functions that need them.

    Raises:
        MissingExtra: numba is not installed.
    """
    return _jit(function, fast=False)


def compiled_fast(function: F) -> F:
    """`compiled`, and sums of floats may be reordered: four times faster inner products."""
    return _jit(function, fast=True)


def _jit(function: F, *, fast: bool) -> F:
    try:
        import numba
    except ImportError as error:
        raise MissingExtra("numba", "baselines") from error
    return cast(F, numba.njit(cache=True, nogil=True, fastmath=fast)(function))


def mix_keys(*parts: object) -> np.ndarray:
    """64-bit keys out of some whole numbers or arrays of them, one after the other; broadcast together."""
    with np.errstate(over="ignore"):
        key = np.zeros((), np.uint64)
        for part in parts:
            values = np.asarray(part)
            bits = values if values.dtype == np.uint64 else values.astype(np.int64).view(np.uint64)
            key = mix64(key * GOLDEN + bits + GOLDEN)
    return np.asarray(key)


def mix64(values: np.ndarray) -> np.ndarray:
    """SplitMix64's finaliser: every input bit moves every output bit."""
    with np.errstate(over="ignore"):
        values = (values ^ (values >> STEP_30)) * FIRST
        values = (values ^ (values >> STEP_27)) * SECOND
        return np.asarray(values ^ (values >> STEP_31))
