"""Vectors -> points in the plane: principal components, t-SNE, UMAP; and which lie far out."""

from __future__ import annotations

import importlib.util
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits

from infograph.errors import InvalidParameter, MissingExtra
from infograph.progress import OnProgress

Method = Literal["umap", "tsne", "pca"]
TSNE_COMPONENTS = 50  # what van der Maaten and Hinton (2008) reduce to before t-SNE
PERPLEXITY = 30.0  # scikit-learn's default
FEWEST = 6  # below, neighbourhoods mean nothing and PCA is shown instead
TSNE_UP_TO = 20_000  # graphs; t-SNE of more takes longer than people wait
NAMES: dict[Method, str] = {"umap": "UMAP", "tsne": "t-SNE", "pca": "principal components"}
Layout = Callable[[NDArray[np.float64], NDArray[np.float64], int, OnProgress | None], NDArray[np.float64]]
NEIGHBOURS, DISTANCE = 15, 0.1  # umap-learn's defaults
SPAN = 10.0  # of the plane that umap-learn itself begins with
PCA_BLOCK = 8192  # rows in float64 at a time: 33 MB of 512 columns
OUTLIER_COMPONENTS = 10  # beyond, a tree of neighbours is hardly faster than a search through all
LOOKUP_BLOCK = 8192  # graphs whose neighbours are looked up at a time


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
    progress: OnProgress | None = None,
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
        components = principal_components(rows, TSNE_COMPONENTS)  # (G, <= 50)
        plane = np.zeros((len(rows), 2))
        plane[:, : components.shape[1]] = components[:, :2]
        if method == "pca" or len(rows) < FEWEST or not components.shape[1]:
            return plane
        return LAYOUTS[method](components, plane, random_state, progress)


def _tsne(
    components: NDArray[np.float64],
    plane: NDArray[np.float64],
    random_state: int,
    progress: OnProgress | None,
) -> NDArray[np.float64]:
    perplexity = min(PERPLEXITY, (len(components) - 1) / 3)
    start = plane / plane[:, 0].std() * 1e-4  # small, as t-SNE asks; ordered, so that the map is stable
    layout = TSNE(
        2, perplexity=perplexity, init=start, learning_rate="auto", random_state=random_state, n_jobs=1
    ).fit_transform(components)
    return np.asarray(layout, dtype=np.float64)


def umap_layout(
    components: NDArray[np.float64],
    plane: NDArray[np.float64],
    random_state: int = 0,
    progress: OnProgress | None = None,
) -> NDArray[np.float64]:
    """A point per vector. (G, D) -> (G, 2). With a seed umap-learn works on one thread.

    Args:
        components: the vectors.
        plane: (G, 2) where the points start.
        random_state: seed.
        progress: called with epochs done and epochs in all, once neighbours are found.

    Raises:
        MissingExtra: umap-learn is not installed.
    """
    reducer = _load().UMAP(
        n_neighbors=min(NEIGHBOURS, len(components) - 1),
        min_dist=DISTANCE,
        init=(SPAN * plane / np.abs(plane).max()).astype(np.float32),
        random_state=random_state,
        n_jobs=1,
        tqdm_kwds={"disable": progress is None, "bar_format": "{n}/{total}", "file": _Counts(progress)},
    )
    return np.asarray(reducer.fit_transform(components.astype(np.float32)), dtype=np.float64)


LAYOUTS: dict[str, Layout] = {"umap": umap_layout, "tsne": _tsne}


def umap_installed() -> bool:
    """Whether UMAP can lay out maps."""
    return importlib.util.find_spec("umap") is not None


class _Counts:
    """A file that umap-learn's progress bar writes "35/200" to."""

    def __init__(self, progress: OnProgress | None) -> None:
        self._progress = progress

    def write(self, text: str) -> None:
        found = re.search(r"(\d+)/(\d+)", text)
        if found and self._progress is not None:
            self._progress(int(found[1]), int(found[2]))

    def flush(self) -> None:
        pass


def _load() -> Any:
    if not umap_installed():
        raise MissingExtra("umap-learn", "explore")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImportWarning)  # that TensorFlow, of no use here, is missing
        return importlib.import_module("umap")


# Vectors -> a few principal components of their standardised columns, in blocks of bounded memory.
#
# The covariance of D columns is a (D, D) matrix whatever the number of graphs, so 130,000 vectors of length
# 512 need one pass for it and one for the projection, and never a second copy of the vectors.


def principal_components(
    vectors: NDArray[Any], components: int, *, residual: bool = False
) -> NDArray[np.float64]:
    """The coordinates of every vector along the directions of most variance. (G, D) -> (G, components).

    Columns are standardised first and constant columns left out. The sign of a direction is such that its
    largest weight is positive: the same vectors always have the same coordinates.

    Args:
        vectors: one row per graph, finite.
        components: how many at most; there are never more than columns that vary, or graphs less one.
        residual: append how far each vector is from the plane of these components, as one more column, so
            that what is odd in a direction of little variance is seen, too.

    Raises:
        InvalidParameter: no vectors, vectors that are not finite, or fewer than one component.
    """
    rows = check_vectors(vectors)
    if components < 1:
        raise InvalidParameter(f"components={components}: expected 1 or more")
    with threadpool_limits(1):  # sums over threads round differently from run to run
        mean, scale, varying = _moments(rows)
        directions = _directions(rows, varying, mean, scale)[:, : min(components, len(rows) - 1)]  # (D', c)
        parts = [_project(block, mean, scale, directions, residual) for block in _blocks(rows, varying)]
    return np.concatenate(parts)


def check_vectors(vectors: NDArray[Any]) -> NDArray[Any]:
    """The vectors as a (G, D) array.

    Raises:
        InvalidParameter: they are not, or one of them is not finite.
    """
    rows = np.asarray(vectors)
    if rows.ndim != 2 or not rows.size or rows.dtype.kind not in "fiu":
        raise InvalidParameter(f"expected vectors, numbers of shape (G, D); {rows.dtype} {rows.shape} came")
    for start in range(0, len(rows), PCA_BLOCK):
        finite = np.isfinite(rows[start : start + PCA_BLOCK]).all(axis=1)
        if not finite.all():
            bad = start + int(np.flatnonzero(~finite)[0])
            raise InvalidParameter(f"vector {bad} holds NaN or infinity: leave that graph out")
    return rows


def _blocks(rows: NDArray[Any], columns: Any = slice(None)) -> Iterator[NDArray[np.float64]]:
    for start in range(0, len(rows), PCA_BLOCK):
        yield np.asarray(rows[start : start + PCA_BLOCK, columns], dtype=np.float64)


def _moments(rows: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]]:
    """Mean and deviation of the columns that are not constant, and which those are. (D',) each."""
    mean = sum(block.sum(axis=0) for block in _blocks(rows)) / len(rows)
    variance = sum(((block - mean) ** 2).sum(axis=0) for block in _blocks(rows)) / len(rows)
    largest = np.max([np.abs(block).max(axis=0) for block in _blocks(rows)], axis=0)
    deviation = np.sqrt(variance)
    varying = np.flatnonzero(deviation > 1e-9 * np.maximum(largest, 1e-30))
    return np.asarray(mean)[varying], deviation[varying], varying


def _directions(
    rows: NDArray[Any], varying: NDArray[np.intp], mean: NDArray[np.float64], scale: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Eigenvectors of the correlation matrix, the largest eigenvalue first; none of eigenvalue zero."""
    if not len(varying):
        return np.zeros((0, 0))
    correlation = np.zeros((len(varying), len(varying)))
    for block in _blocks(rows, varying):
        scaled = (block - mean) / scale
        correlation += scaled.T @ scaled
    values, directions = np.linalg.eigh(correlation / len(rows))
    directions = directions[:, ::-1][:, values[::-1] > 1e-10]
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=0)[None], axis=0)
    return np.asarray(directions * np.sign(largest))


def _project(
    block: NDArray[np.float64],
    mean: NDArray[np.float64],
    scale: NDArray[np.float64],
    directions: NDArray[np.float64],
    residual: bool,
) -> NDArray[np.float64]:
    scaled = (block - mean) / scale
    points = scaled @ directions
    if not residual:
        return points
    rest = np.maximum((scaled**2).sum(axis=1) - (points**2).sum(axis=1), 0.0)
    return np.column_stack([points, np.sqrt(rest)])


def outlier_scores(
    vectors: NDArray[Any], k: int = 10, *, components: int = OUTLIER_COMPONENTS
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
        tree.query(points[start : start + LOOKUP_BLOCK], k=[k + 1])[0][
            :, 0
        ]  # the first neighbour is the graph
        for start in range(0, len(points), LOOKUP_BLOCK)
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
