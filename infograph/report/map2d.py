"""Vectors -> points in the plane, for looking at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits

from infograph.data.progress import Progress
from infograph.errors import InvalidParameter
from infograph.report.components import principal_components
from infograph.report.umap2d import umap_layout

Method = Literal["umap", "tsne", "pca"]
COMPONENTS = 50  # what van der Maaten and Hinton (2008) reduce to before t-SNE
PERPLEXITY = 30.0  # scikit-learn's default
FEWEST = 6  # below, neighbourhoods mean nothing and PCA is shown instead
Layout = Callable[[NDArray[np.float64], NDArray[np.float64], int, Progress | None], NDArray[np.float64]]


def project(
    vectors: NDArray[Any],
    method: Method = "tsne",
    random_state: int = 0,
    *,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """A point per vector; near points are similar vectors. (G, D) -> (G, 2).

    Columns are standardised, reduced to at most 50 principal components, and then laid out, starting from the
    first two components. The same vectors and seed give the same map: one thread, no clock.

    Args:
        vectors: one row per graph, finite.
        method: "umap" and "tsne" keep neighbourhoods, "pca" distances. Fewer than 6 vectors are laid out by
            PCA.
        random_state: seed.
        progress: called with steps of UMAP done and steps in all.

    Raises:
        InvalidParameter: another method, no vectors, or vectors that are not finite.
        MissingExtra: UMAP is not installed.
    """
    if method not in ("pca", *LAYOUTS):
        raise InvalidParameter(f"method={method!r}: expected 'umap', 'tsne' or 'pca'")
    rows = np.asarray(vectors)
    if rows.ndim != 2 or not rows.size:
        raise InvalidParameter(f"a map needs vectors of shape (G, D); shape {rows.shape} came")
    if not np.isfinite(rows).all():
        bad = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
        raise InvalidParameter(f"vector {bad} holds NaN or infinity: leave that graph out of the map")
    with threadpool_limits(1):  # sums over threads round differently from run to run; layouts amplify that
        components = principal_components(rows, COMPONENTS)  # (G, <= 50)
        plane = np.zeros((len(rows), 2))
        plane[:, : components.shape[1]] = components[:, :2]
        if method == "pca" or len(rows) < FEWEST or not components.shape[1]:
            return plane
        return LAYOUTS[method](components, plane, random_state, progress)


def _tsne(
    components: NDArray[np.float64],
    plane: NDArray[np.float64],
    random_state: int,
    progress: Progress | None,
) -> NDArray[np.float64]:
    perplexity = min(PERPLEXITY, (len(components) - 1) / 3)
    start = plane / plane[:, 0].std() * 1e-4  # small, as t-SNE asks; ordered, so that the map is stable
    layout = TSNE(
        2, perplexity=perplexity, init=start, learning_rate="auto", random_state=random_state, n_jobs=1
    ).fit_transform(components)
    return np.asarray(layout, dtype=np.float64)


LAYOUTS: dict[str, Layout] = {"umap": umap_layout, "tsne": _tsne}
