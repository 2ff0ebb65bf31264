"""Atlas: what a map of an index shows, computed once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.explore.cache import Findings, fingerprint, read_findings, write_findings
from infograph.explore.columns import MapColumn, first_colour, number_column, own_names, typed_column
from infograph.explore.find import find
from infograph.explore.layout import WORDS
from infograph.index import GraphIndex
from infograph.maps.map2d import Method, choose_method
from infograph.report.watch import Watch
from infograph.understand.describe import edge_counts

ATLAS = "atlas"  # the folder inside that of the index, with one per method and seed
IDS_UP_TO = 20_000  # graphs whose ids the page has from the start


@dataclass(frozen=True, eq=False)
class Atlas:
    """A map of the graphs of an index, and what colours it.

    Attributes:
        title: of the page.
        about: one line on the index.
        layout: one line on how to read the map.
        points: (G, 2) float32, in -1 ... 1.
        clusters: (G,) the cluster of every graph, 0 for the largest, -1 in none.
        descriptions: one line per cluster.
        outliers: (G,) how far the nearest similar graphs are; 1 is typical.
        columns: everything that can colour the map.
        colour: which of them does first; -1 for none.
    """

    title: str
    about: str
    layout: str
    points: NDArray[np.float32]
    clusters: NDArray[np.int64]
    descriptions: tuple[str, ...]
    outliers: NDArray[np.float64]
    columns: tuple[MapColumn, ...]
    colour: int = -1

    def __len__(self) -> int:
        return len(self.points)

    def column(self, name: str) -> MapColumn | None:
        """A column by name, None where there is none."""
        return next((column for column in self.columns if column.name == name), None)

    def summary(self, index: GraphIndex) -> dict[str, Any]:
        """What a page asks for first, ready for JSON."""
        return {
            "n": len(self),
            "title": self.title,
            "about": self.about,
            "layout": self.layout,
            "columns": [column.summary() for column in self.columns],
            "colour": self.colour,
            "ids": [str(i) for i in index.ids.tolist()] if len(self) <= IDS_UP_TO else None,
        }


def make_atlas(
    index: GraphIndex,
    folder: str | Path | None = None,
    *,
    title: str | None = None,
    colour: str | None = None,
    method: Method | None = None,
    random_state: int = 0,
    watch: Watch | None = None,
) -> Atlas:
    """Lay out the graphs of an index, find and describe clusters, score outliers, predict.

    Args:
        index: the index.
        folder: where the index is saved; what is found is kept in its folder `atlas`, by method and seed, and
            read from there until vectors, columns or model change. None keeps nothing.
        title: of the page; the folder's name otherwise.
        colour: the column that colours the map first; the label `y` otherwise.
        method: "umap", "tsne" or "pca"; None takes the best that is installed and quick enough.
        random_state: seed. The same index and seed give the same atlas.
        watch: is told how far it is.

    Raises:
        InvalidParameter: there is no such method, or the index is empty.
        SchemaMismatch: there is no column `colour`.
    """
    chosen = choose_method(len(index), method)
    home = None if folder is None else Path(folder).resolve()
    key = fingerprint(index, home, {"method": chosen, "random_state": random_state})
    kept = None if home is None else home / ATLAS / f"{chosen}-{random_state}"
    found = None if kept is None else read_findings(kept, key)
    if found is None:
        found = find(index, chosen, random_state, watch)
        if kept is not None:
            write_findings(kept, key, found)
    columns = map_columns(index, found)
    return Atlas(
        title=title or (home.name if home is not None else "Graphs"),
        about=_about(index, found),
        layout=WORDS[chosen],
        points=found.points,
        clusters=found.clusters,
        descriptions=found.descriptions,
        outliers=found.outliers,
        columns=columns,
        colour=first_colour(columns, colour),
    )


def map_columns(index: GraphIndex, found: Findings) -> tuple[MapColumn, ...]:
    """The user's columns, predictions, clusters, outlier scores and sizes."""
    units = {} if index.graphs is None else {c.name: c.unit for c in index.graphs.schema.graph}
    names = own_names(index.columns)
    typed = (typed_column(names[name], v, units.get(name) or "") for name, v in index.columns.items())
    sizes: list[MapColumn] = []
    if index.graphs is not None:
        sizes = [
            number_column("nodes", index.graphs.sizes),
            number_column("edges", edge_counts(index.graphs)),
        ]
    own = (cluster_column(found), number_column("outlier score", found.outliers))
    taken = set(names.values())
    predicted = (replace(c, name=f"{c.name} (model)") if c.name in taken else c for c in found.predicted)
    return (*(column for column in typed if column is not None), *predicted, *own, *sizes)


def cluster_column(found: Findings) -> MapColumn:
    """Clusters under numbers from 1 and what is special about them."""
    names = tuple(
        f"{place}: {line.partition(': ')[2] or line}" for place, line in enumerate(found.descriptions, 1)
    )
    codes = np.where(found.clusters < 0, np.nan, found.clusters).astype(np.float32)
    return MapColumn("cluster", "category", codes, names, missing="in no cluster")


def _about(index: GraphIndex, found: Findings) -> str:
    n_graphs, dim = index.vectors.shape
    graphs, numbers = _count(n_graphs, "graph"), _count(dim, "number")
    clusters = _count(len(found.descriptions), "cluster") if found.descriptions else "no clusters"
    return f"{graphs} as {'a vector' if n_graphs == 1 else 'vectors'} of {numbers}, {clusters}"


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"
