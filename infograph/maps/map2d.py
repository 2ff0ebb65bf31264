"""Vectors -> points in the plane, for looking at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits

from infograph.data.progress import Progress
from infograph.errors import InvalidParameter, MissingExtra
from infograph.maps.components import principal_components
from infograph.maps.umap2d import umap_installed, umap_layout

Method = Literal["umap", "tsne", "pca"]
COMPONENTS = 50  # what van der Maaten and Hinton (2008) reduce to before t-SNE
PERPLEXITY = 30.0  # scikit-learn's default
FEWEST = 6  # below, neighbourhoods mean nothing and PCA is shown instead
TSNE_UP_TO = 20_000  # graphs; t-SNE of more takes longer than people wait
NAMES: dict[Method, str] = {"umap": "UMAP", "tsne": "t-SNE", "pca": "principal components"}
Layout = Callable[[NDArray[np.float64], NDArray[np.float64], int, Progress | None], NDArray[np.float64]]


def choose_method(n_graphs: int, method: Method | None = None) -> Method:
    """The method; for None UMAP where it is installed, else t-SNE of up to 20,000 graphs, else PCA.

    Raises:
        InvalidParameter: there is no such method.
        MissingExtra: UMAP is asked for and not installed.
    """
    if method not in (None, *NAMES):
        raise InvalidParameter(f"method={method!r}: expected {', '.join(map(repr, NAMES))} or None")
    if method == "umap" and not umap_installed():
        raise MissingExtra("umap-learn", "explore")
    if n_graphs < FEWEST:
        return "pca"
    if method is not None:
        return method
    if umap_installed():
        return "umap"
    return "tsne" if n_graphs <= TSNE_UP_TO else "pca"


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
