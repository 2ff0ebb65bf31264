"""Graphs that were not clustered themselves join the nearest cluster, if it reaches as far."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

NOISE = -1
REACHED = 95  # per cent of a cluster's members have their nearest fellow within its reach


def join_nearest(
    points: NDArray[np.float64],
    core: NDArray[np.float64],
    labels: NDArray[np.int64],
    probability: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The cluster of each point, and the probability of the clustered point it joins.

    Args:
        points: (R, c) what is to be assigned.
        core: (S, c) what was clustered.
        labels, probability: (S,) with which result; -1 is noise, which nothing joins.

    Returns:
        (R,) labels, -1 where no cluster reaches, and (R,) probabilities, 0 there.
    """
    inside = np.flatnonzero(labels != NOISE)
    if not len(inside):
        return np.full(len(points), NOISE, np.int64), np.zeros(len(points))
    reach = _reaches(core[inside], labels[inside])
    distance, nearest = cKDTree(core[inside]).query(points)
    near = inside[nearest]
    reached = distance <= reach[labels[near]]
    return np.where(reached, labels[near], NOISE), np.where(reached, probability[near], 0.0)


def _reaches(core: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Per cluster the distance within which 95 % of its members have their nearest fellow."""
    reach = np.zeros(int(labels.max()) + 1)
    for label in np.unique(labels):
        members = core[labels == label]
        distances = cKDTree(members).query(members, k=[2])[0][:, 0]
        reach[label] = np.percentile(distances[np.isfinite(distances)], REACHED)
    return reach
