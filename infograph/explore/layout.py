"""Vectors -> points of the map, all inside the square from -1 to 1."""

from __future__ import annotations

import importlib
import importlib.util
import warnings
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from infograph.errors import InvalidParameter, MissingExtra
from infograph.report.components import principal_components
from infograph.report.map2d import FEWEST, project

Method = Literal["umap", "tsne", "pca"]
COMPONENTS = 50  # what van der Maaten and Hinton (2008) reduce to before t-SNE
TSNE_UP_TO = 20_000  # graphs; t-SNE of more takes longer than people wait
NEIGHBOURS, DISTANCE = 15, 0.1  # umap-learn's defaults
WORDS: dict[Method, str] = {
    "umap": "UMAP: near points are similar graphs; distances between groups mean little.",
    "tsne": "t-SNE: near points are similar graphs; distances between groups mean little.",
    "pca": "First two principal components: distances are true, but much is hidden.",
}


def umap_installed() -> bool:
    """Whether UMAP can lay out the map."""
    return importlib.util.find_spec("umap") is not None


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


def lay_out(vectors: NDArray[Any], method: Method, random_state: int = 0) -> NDArray[np.float32]:
    """A point per vector. (G, D) -> (G, 2).

    Columns are standardised and reduced to at most 50 principal components, which start the layout, too. The
    same vectors, method and seed give the same map: one thread, no clock.

    Raises:
        InvalidParameter: no vectors, or vectors that are not finite.
    """
    if method == "tsne":
        return _into_square(project(vectors, "tsne", random_state))
    components = principal_components(vectors, COMPONENTS)  # (G, <= 50)
    plane = np.zeros((len(components), 2))
    plane[:, : min(2, components.shape[1])] = components[:, :2]
    if method == "pca" or components.shape[1] < 2:
        return _into_square(plane)
    return _into_square(_umap(components, plane, random_state))


def _umap(
    components: NDArray[np.float64], plane: NDArray[np.float64], random_state: int
) -> NDArray[np.float64]:
    umap = _load_umap()
    reducer = umap.UMAP(
        n_neighbors=min(NEIGHBOURS, len(components) - 1),
        min_dist=DISTANCE,
        init=(10 * plane / np.abs(plane).max()).astype(np.float32),  # the span umap-learn itself begins with
        random_state=random_state,
        n_jobs=1,
    )
    with threadpool_limits(1):  # sums over threads round differently from run to run
        return np.asarray(reducer.fit_transform(components.astype(np.float32)), dtype=np.float64)


def _load_umap() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImportWarning)  # that TensorFlow, of no use here, is missing
        return importlib.import_module("umap")


def _into_square(points: NDArray[np.float64]) -> NDArray[np.float32]:
    """Moved and scaled, the same in both directions, to fill -1 ... 1."""
    low, high = points.min(axis=0), points.max(axis=0)
    span = float((high - low).max()) / 2 or 1.0
    return np.asarray(np.clip((points - (low + high) / 2) / span, -1, 1), dtype=np.float32)
