"""Intervals that hold: conformal, with a width that depends on how well graphs alike were predicted.

Of some graphs it is known how wrong a model is that did not learn from them. How hard a graph is, is guessed
from the distance to its neighbours among these and from their errors. An interval is as many times the guess
to either side as covers the wanted share of them (Papadopoulos et al. 2008; Lei et al. 2018).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from infograph.errors import InvalidParameter
from infograph.objectives.heads import least_squares

Floats = NDArray[np.float64]
Vectors = NDArray[np.floating[Any]]
MOST, DIRECTIONS = 4000, 64  # graphs that are kept, and numbers of each
FEWEST = 8  # graphs per direction
NEAR, NEIGHBOURS = 5, 10  # whose distance, and whose errors count
SAME = 1e-4  # of the distance `far`, within which vectors are equal
FAR = 0.99  # the share of graphs with a nearer neighbour, beyond which one is unlike them


@dataclass(frozen=True, eq=False)
class ErrorBars:
    """What is known of a model's errors. n graphs, T targets."""

    mean: Floats  # (D,) and ...
    axes: Floats  # ... (D, k) from vectors to the space of distances
    points: Floats  # (n, k) the graphs there
    errors: Floats  # (n, T) by how much the model was wrong, NaN where unknown
    hardness: Floats  # (3, T) bias and weights of the logarithms of distance and of the neighbours' errors
    far: float  # the distance to the nearest one, beyond which a graph is unlike all of them

    @classmethod
    def fit(cls, vectors: Vectors, errors: Floats, every: Vectors | None = None) -> Self:
        """From vectors (n, D) and errors (n, T) of graphs that the model did not learn from.

        `every` are vectors of more graphs, (m, D), by which directions are chosen: with few graphs most
        directions are none in which these differ, and others do.
        """
        known = np.flatnonzero(~np.isnan(errors).all(axis=1))[:MOST]
        own, errors = vectors[known].astype(np.float64), errors[known]
        space = own if every is None else every[:MOST].astype(np.float64)
        mean, deviation = space.mean(axis=0), space.std(axis=0)
        scale = np.where(deviation > 1e-9, 1 / np.maximum(deviation, 1e-9), 0.0)
        kept = max(1, min(DIRECTIONS, len(space) // FEWEST))
        turn = np.linalg.svd((space - mean) * scale, full_matrices=False)[2][:kept].T  # (D, k)
        axes = turn * scale[:, None]
        points = (own - mean) @ axes
        plain = cls(mean, axes, points, errors, np.zeros((3, errors.shape[1])), math.inf)
        near, wrong = plain._neighbourhood(points, alone=False)
        hardness = np.zeros((3, errors.shape[1]))
        logs = np.log(errors + _least(errors))
        for target in range(errors.shape[1]):
            told = np.column_stack([near, wrong[:, target]])
            weights, bias, _ = least_squares(told, logs[:, target : target + 1])
            hardness[:, target] = [bias[0], *weights[:, 0]]
        far = (
            float(np.quantile(plain._nearest(points, alone=False)[0][:, 0], FAR)) if len(points) > 1 else 0.0
        )
        return cls(mean, axes, points, errors, hardness, far)

    def widths(self, vectors: Vectors, level: float) -> Floats:
        """To either side of predictions, for graphs by their vectors. (G, D) -> (G, T)."""
        hard, own = self._hard(self.place(vectors)), self._hard(self.points, alone=False)
        factors = []
        for scores in (self.errors / own).T:
            factors.append(conformal_quantile(scores[~np.isnan(scores)], level))
        return np.asarray(hard * np.array(factors))

    def unlike(self, vectors: Vectors) -> NDArray[np.bool_]:
        """Which graphs are farther from all of these than nearly all of these from each other. (G,)."""
        return np.asarray(self._nearest(self.place(vectors))[0][:, 0] > self.far)

    def met(self, vectors: Vectors) -> NDArray[np.bool_]:
        """Which graphs have the vector of one of these, to rounding. (G,)."""
        places = self.place(vectors)
        apart = places - self.points[self._nearest(places)[1][:, 0]]  # no cancellation, as in squares
        return np.asarray(np.linalg.norm(apart, axis=1) < SAME * self.far)

    def place(self, vectors: Vectors) -> Floats:
        """Where graphs are in the space of distances. (G, D) -> (G, k)."""
        return np.asarray((vectors.astype(np.float64) - self.mean) @ self.axes)

    def _hard(self, places: Floats, *, alone: bool = True) -> Floats:
        near, wrong = self._neighbourhood(places, alone=alone)
        logs = self.hardness[0] + near[:, None] * self.hardness[1] + wrong * self.hardness[2]
        return np.asarray(np.exp(logs))

    def _neighbourhood(self, places: Floats, *, alone: bool = True) -> tuple[Floats, Floats]:
        """Logarithms of the mean distance to the nearest graphs (G,) and of their mean errors (G, T).

        Not `alone`: places are those of the graphs themselves, none of which is its own neighbour.
        """
        distances, nearest = self._nearest(places, alone=alone)
        if not nearest.shape[1]:  # the only graph
            return np.zeros(len(places)), np.zeros((len(places), self.errors.shape[1]))
        near = np.log(distances[:, :NEAR].mean(axis=1) + 1e-6)
        errors = np.where(np.isnan(self.errors), _usual(self.errors), self.errors)
        return near, np.log(errors[nearest].mean(axis=1) + _least(self.errors))

    def _nearest(self, places: Floats, *, alone: bool = True) -> tuple[Floats, NDArray[np.int64]]:
        """Distances to the nearest graphs, nearest first, and which they are. (G, NEIGHBOURS)."""
        count = min(NEIGHBOURS, len(self.points) - (not alone))
        distances = np.empty((len(places), count))
        nearest = np.empty(distances.shape, np.int64)
        for start in range(0, len(places), MOST):  # of all at once the table takes 60 kB per graph
            some = places[start : start + MOST]
            squares = (some**2).sum(1)[:, None] + (self.points**2).sum(1) - 2 * some @ self.points.T
            if not alone:  # these are the points, which are never more than a block
                np.fill_diagonal(squares, np.inf)
            first = np.argsort(squares, axis=1, kind="stable")[:, :count]
            nearest[start : start + MOST] = first
            distances[start : start + MOST] = np.take_along_axis(squares, first, axis=1)
        return np.sqrt(np.maximum(distances, 0)), nearest


def conformal_quantile(scores: Floats, level: float, name: str = "interval") -> float:
    """What a new score does not exceed in a share `level` of cases, if it is drawn as these are. (n,)."""
    if isinstance(level, bool) or not isinstance(level, Real) or not 0 < level < 1:
        raise InvalidParameter(f"{name}={level!r}: expected a share such as 0.9")
    place = math.ceil(level * (len(scores) + 1))
    if place > len(scores):
        needed = math.ceil(round(level / (1 - level), 6))  # 9 for 0.9, not 10 by rounding
        raise InvalidParameter(
            f"{name}={level:g} needs the errors of at least {needed} graphs that the model did not learn "
            f"from; there are {len(scores)}: label or hold out more, or ask for less"
        )
    return float(np.sort(scores)[place - 1])


def _least(errors: Floats) -> Floats:
    """A small part of the usual error, so that logarithms stay finite. (T,)."""
    return np.asarray(0.02 * _usual(errors) + 1e-12)


def _usual(errors: Floats) -> Floats:
    """The mean of those that are known, 0 where none is. (T,)."""
    known = ~np.isnan(errors)
    return np.asarray(np.where(known, errors, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1))
