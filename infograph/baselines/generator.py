"""SplitMix64 in compiled code: a generator whose state is one number, so that every walk has its own."""

from __future__ import annotations

import numpy as np

from infograph.baselines.compiled import (
    FIRST,
    GOLDEN,
    SECOND,
    STEP_11,
    STEP_27,
    STEP_30,
    STEP_31,
    UNIT,
    compiled,
)


@compiled
def advance(state: np.uint64) -> np.uint64:
    """The next state."""
    return state + GOLDEN


@compiled
def bits(state: np.uint64) -> np.uint64:
    """64 random bits of a state."""
    value = (state ^ (state >> STEP_30)) * FIRST
    value = (value ^ (value >> STEP_27)) * SECOND
    return value ^ (value >> STEP_31)


@compiled
def uniform(state: np.uint64) -> float:
    """A number in [0, 1)."""
    return np.float64(bits(state) >> STEP_11) * UNIT


@compiled
def below(state: np.uint64, n: int) -> int:
    """A whole number 0 ... n - 1."""
    return int(uniform(state) * n)
