"""The member of a cluster that stands for it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MOST = 1000  # members to which distances are summed; spread evenly over the cluster where it has more


def medoid(points: NDArray[np.float64]) -> int:
    """The position of the point with the smallest sum of distances to all points (to 1,000 of many)."""
    others = points
    if len(points) > MOST:
        others = points[np.linspace(0, len(points) - 1, MOST).astype(np.int64)]
    sums = np.zeros(len(points))
    for other in others:
        sums += np.sqrt(((points - other) ** 2).sum(axis=1))
    return int(sums.argmin())
