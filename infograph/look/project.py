"""Vectors -> points in the plane: principal components, t-SNE, UMAP; and which lie far out."""

from __future__ import annotations

import importlib.util
import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits

from infograph.errors import InvalidParameter, MissingExtra

Floats = NDArray[np.float64]
Method = Literal["umap", "tsne", "pca"]
NAMES: dict[Method, str] = {"umap": "UMAP", "tsne": "t-SNE", "pca": "principal components"}
MAP_COMPONENTS = 50  # what van der Maaten and Hinton (2008) reduce to before t-SNE
OUTLIER_COMPONENTS = 10  # beyond, a tree of neighbours is hardly faster than a search through all
FEWEST = 6  # below, neighbourhoods mean nothing and PCA is shown instead
TSNE_UP_TO = 20_000  # graphs; t-SNE of more takes longer than people wait
PERPLEXITY = 30.0  # scikit-learn's default
NEIGHBOURS, MIN_DISTANCE = 15, 0.1  # umap-learn's defaults
UMAP_SPAN = 10.0  # of the plane that umap-learn itself begins with
BLOCK = 8192  # rows in float64 at a time: 33 MB of 512 columns


def choose_method(n_graphs: int, method: Method | None = None) -> Method:
    """The method; for None UMAP where it is installed, else t-SNE of up to 20,000 graphs, else PCA."""
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


def umap_installed() -> bool:
    """Whether UMAP can lay out maps."""
    return importlib.util.find_spec("umap") is not None


def project(vectors: NDArray[Any], method: Method | None = "tsne", random_state: int = 0) -> Floats:
    """A point per vector; near points are similar vectors. (G, D) -> (G, 2).

    Columns are standardised, reduced to at most 50 principal components, and then laid out, starting from the
    first two components; fewer than 6 vectors are laid out by PCA. The same vectors and seed give the same
    map: one thread, no clock.
    """
    method = choose_method(len(vectors), method)
    components = principal_components(vectors, MAP_COMPONENTS)  # (G, <= 50)
    plane = np.zeros((len(components), 2))
    plane[:, : components.shape[1]] = components[:, :2]
    if method != "pca" and components.shape[1]:
        with threadpool_limits(1):  # sums over threads round differently from run to run
            plane = (_tsne if method == "tsne" else _umap)(components, plane, random_state)
    return plane


def _tsne(components: Floats, plane: Floats, random_state: int) -> Floats:
    layout = TSNE(
        2,
        perplexity=min(PERPLEXITY, (len(components) - 1) / 3),
        init=plane / plane[:, 0].std() * 1e-4,  # small, as t-SNE asks; ordered, so that the map is stable
        learning_rate="auto",
        random_state=random_state,
        n_jobs=1,
    )
    return np.asarray(layout.fit_transform(components), dtype=np.float64)


def _umap(components: Floats, plane: Floats, random_state: int) -> Floats:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImportWarning)  # that TensorFlow, of no use here, is missing
        umap = importlib.import_module("umap")
    reducer = umap.UMAP(
        n_neighbors=min(NEIGHBOURS, len(components) - 1),
        min_dist=MIN_DISTANCE,
        init=(UMAP_SPAN * plane / np.abs(plane).max()).astype(np.float32),
        random_state=random_state,
        n_jobs=1,
    )
    return np.asarray(reducer.fit_transform(components.astype(np.float32)), dtype=np.float64)


def principal_components(vectors: NDArray[Any], components: int, *, residual: bool = False) -> Floats:
    """The coordinates of every vector along the directions of most variance. (G, D) -> (G, components).

    Columns are standardised first and constant columns left out. The sign of a direction is such that its
    largest weight is positive: the same vectors always have the same coordinates.

    Vectors are read in blocks and never copied as a whole. Not IncrementalPCA: with few components it is
    another result than PCA (the batches before are cut to these), with all it takes three times as long.

    There are never more components than columns that vary, or graphs less one. With `residual`, one more
    column says how far each vector is from their plane: what is odd in a direction of little variance is
    seen, too.
    """
    rows = np.asarray(vectors)
    if rows.ndim != 2 or not rows.size or rows.dtype.kind not in "fiu":
        raise InvalidParameter(f"expected vectors, numbers of shape (G, D); {rows.dtype} {rows.shape} came")
    if components < 1:
        raise InvalidParameter(f"components={components}: expected 1 or more")
    blocks = [slice(start, start + BLOCK) for start in range(0, len(rows), BLOCK)]
    for block in blocks:
        bad = np.flatnonzero(~np.isfinite(rows[block]).all(axis=1))
        if len(bad):
            raise InvalidParameter(
                f"vector {block.start + bad[0]} holds NaN or infinity: leave that graph out"
            )
    with threadpool_limits(1):  # sums over threads round differently from run to run
        mean = sum(rows[block].sum(axis=0, dtype=np.float64) for block in blocks) / len(rows)
        scale = np.sqrt(sum(((rows[block] - mean) ** 2).sum(axis=0) for block in blocks) / len(rows))
        largest = np.maximum(np.abs(rows.max(axis=0)), np.abs(rows.min(axis=0)))
        varying = np.flatnonzero(scale > 1e-9 * np.maximum(largest, 1e-30))
        correlation = np.zeros((len(varying), len(varying)))
        for block in blocks:
            scaled = (rows[block][:, varying] - mean[varying]) / scale[varying]
            correlation += scaled.T @ scaled
        directions = _directions(correlation / len(rows), min(components, len(rows) - 1))  # (D', c)
        found = np.empty((len(rows), directions.shape[1] + residual))
        for block in blocks:
            scaled = (rows[block][:, varying] - mean[varying]) / scale[varying]
            points = scaled @ directions
            found[block, : points.shape[1]] = points
            if residual:
                rest = (scaled**2).sum(axis=1) - (points**2).sum(axis=1)
                found[block, -1] = np.sqrt(np.maximum(rest, 0.0))
    return found


def _directions(correlation: Floats, count: int) -> Floats:
    """Eigenvectors, the largest eigenvalue first, none of eigenvalue zero. (D, D) -> (D, <= count)."""
    values, directions = np.linalg.eigh(correlation)
    directions = directions[:, ::-1][:, values[::-1] > 1e-10][:, :count]
    if not directions.size:
        return np.zeros((len(correlation), 0))
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=0)[None], axis=0)
    return np.asarray(directions * np.sign(largest))


def outlier_scores(vectors: NDArray[Any], k: int = 10, *, components: int = OUTLIER_COMPONENTS) -> Floats:
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
    """
    if k < 1:
        raise InvalidParameter(f"k={k}: expected 1 or more neighbours")
    points = principal_components(vectors, components, residual=True)
    k = min(k, len(points) - 1)
    if k < 1:
        return np.zeros(len(points))
    distances = cKDTree(points).query(points, k=[k + 1])[0][:, 0]  # the first neighbour is the graph itself
    typical = np.median(distances) or np.median(distances[distances > 0]) if distances.any() else 1.0
    return np.asarray(distances / typical)
