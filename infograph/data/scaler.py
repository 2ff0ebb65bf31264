"""Targets scaled to mean 0 and variance 1, whatever their unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
ROUNDING = 1e-12  # a target that varies by less, relative to its mean, is constant


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
