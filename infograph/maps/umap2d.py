"""UMAP (McInnes et al. 2018), by umap-learn: neighbourhoods are kept, distances between groups are not."""

from __future__ import annotations

import importlib
import importlib.util
import re
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.progress import Progress
from infograph.errors import MissingExtra

NEIGHBOURS, DISTANCE = 15, 0.1  # umap-learn's defaults
SPAN = 10.0  # of the plane that umap-learn itself begins with


def umap_installed() -> bool:
    """Whether UMAP can lay out maps."""
    return importlib.util.find_spec("umap") is not None


def umap_layout(
    components: NDArray[np.float64],
    plane: NDArray[np.float64],
    random_state: int = 0,
    progress: Progress | None = None,
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


class _Counts:
    """A file that umap-learn's progress bar writes "35/200" to."""

    def __init__(self, progress: Progress | None) -> None:
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
