"""Vectors -> points of the map, all inside the square from -1 to 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.progress import Progress
from infograph.errors import InvalidParameter, MissingExtra
from infograph.report.map2d import FEWEST, Method, project
from infograph.report.umap2d import umap_installed

TSNE_UP_TO = 20_000  # graphs; t-SNE of more takes longer than people wait
WORDS: dict[Method, str] = {
    "umap": "UMAP: near points are similar graphs; distances between groups mean little.",
    "tsne": "t-SNE: near points are similar graphs; distances between groups mean little.",
    "pca": "First two principal components: distances are true, but much is hidden.",
}


def choose_method(n_graphs: int, method: Method | None = None) -> Method:
    """The method; for None UMAP where it is installed, else t-SNE of up to 20,000 graphs, else PCA.

    Raises:
        InvalidParameter: there is no such method.
        MissingExtra: UMAP is asked for and not installed.
    """
    if method not in (None, *WORDS):
        raise InvalidParameter(f"method={method!r}: expected {', '.join(map(repr, WORDS))} or None")
    if method == "umap" and not umap_installed():
        raise MissingExtra("umap-learn", "explore")
    if n_graphs < FEWEST:
        return "pca"
    if method is not None:
        return method
    if umap_installed():
        return "umap"
    return "tsne" if n_graphs <= TSNE_UP_TO else "pca"


def lay_out(
    vectors: NDArray[Any], method: Method, random_state: int = 0, *, progress: Progress | None = None
) -> NDArray[np.float32]:
    """A point per vector, as `infograph.report.map2d.project` finds it. (G, D) -> (G, 2).

    Raises:
        InvalidParameter: no vectors, or vectors that are not finite.
    """
    points = project(vectors, method, random_state, progress=progress)
    low, high = points.min(axis=0), points.max(axis=0)
    span = float((high - low).max()) / 2 or 1.0  # the same in both directions
    return np.asarray(np.clip((points - (low + high) / 2) / span, -1, 1), dtype=np.float32)
