"""Vectors -> points of the map, all inside the square from -1 to 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.progress import Progress
from infograph.maps.map2d import Method, project

WORDS: dict[Method, str] = {
    "umap": "UMAP: near points are similar graphs; distances between groups mean little.",
    "tsne": "t-SNE: near points are similar graphs; distances between groups mean little.",
    "pca": "First two principal components: distances are true, but much is hidden.",
}


def lay_out(
    vectors: NDArray[Any], method: Method, random_state: int = 0, *, progress: Progress | None = None
) -> NDArray[np.float32]:
    """A point per vector, as `infograph.maps.map2d.project` finds it. (G, D) -> (G, 2).

    Raises:
        InvalidParameter: no vectors, or vectors that are not finite.
    """
    points = project(vectors, method, random_state, progress=progress)
    low, high = points.min(axis=0), points.max(axis=0)
    span = float((high - low).max()) / 2 or 1.0  # the same in both directions
    return np.asarray(np.clip((points - (low + high) / 2) / span, -1, 1), dtype=np.float32)
