"""How unlike all others a graph is: how far the nearest similar graphs are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from infograph.errors import InvalidParameter
from infograph.maps.components import principal_components

COMPONENTS = 10  # beyond, a tree of neighbours is hardly faster than a search through all
BLOCK = 8192  # graphs whose neighbours are looked up at a time


def outlier_scores(
    vectors: NDArray[Any], k: int = 10, *, components: int = COMPONENTS
) -> NDArray[np.float64]:
    """A score per graph: the distance to its k-th nearest neighbour, divided by the median one. (G,).

    1 is typical; 5 means that the k-th most similar graph is five times as far away as usual (the score of
    Ramaswamy et al. 2000). Distances are between principal components of the standardised columns, with the
    distance to the plane of these components as one more coordinate. So a group of k or fewer graphs that are
    alike and unlike all others is odd, too.

    Not LocalOutlierFactor: beside graphs that occur many times, whose vectors are equal, densities are
    infinite, and harmless graphs get scores of many millions.

    The same vectors give the same scores; nothing is drawn at random. 130,000 vectors of length 512
    take about a minute and 110 MB.

    Args:
        vectors: one row per graph, finite.
        k: which neighbour; scikit-learn's detectors suggest 5 to 20. At most G - 1 is used.
        components: principal components.

    Raises:
        InvalidParameter: vectors that are not finite, or k below 1.
    """
    if k < 1:
        raise InvalidParameter(f"k={k}: expected 1 or more neighbours")
    points = principal_components(vectors, components, residual=True)
    k = min(k, len(points) - 1)
    if k < 1:
        return np.zeros(len(points))
    tree = cKDTree(points)
    parts = [
        tree.query(points[start : start + BLOCK], k=[k + 1])[0][:, 0]  # the first neighbour is the graph
        for start in range(0, len(points), BLOCK)
    ]
    distances = np.concatenate(parts)  # (G,)
    return np.asarray(distances / _typical(distances))


def _typical(distances: NDArray[np.float64]) -> float:
    """The median distance; that of distances above zero where most graphs have k equals."""
    median = float(np.median(distances))
    if median > 0:
        return median
    positive = distances[distances > 0]
    return float(np.median(positive)) if len(positive) else 1.0
