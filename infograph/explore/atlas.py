"""Atlas: what a map of an index shows, computed once and kept beside the index."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet, IntArray
from infograph.data.labels import class_name, count_classes, is_continuous, is_known
from infograph.data.molecules import BOND
from infograph.data.units import LABEL, split_header
from infograph.errors import FileMissing, InvalidFile, InvalidParameter, SchemaMismatch
from infograph.estimators.base import GraphPredictor
from infograph.index import GraphIndex
from infograph.index.graph_index import without_own
from infograph.index.store import ATLAS_ARRAYS, ATLAS_FOLDER
from infograph.io import clear_cache, json_ready, read_json, replaced_folder
from infograph.learn.predictions import ID, predict_table
from infograph.look import Clusters, Finding, describe_clusters, find_clusters, outlier_scores
from infograph.look.describe import cluster_sentence, edge_counts, percent
from infograph.look.project import Method, choose_method, project
from infograph.progress import OnProgress, Silent, Watch

ATLAS = "atlas"  # the folder inside that of the index, with one per method and seed
IDS_UP_TO = 20_000  # graphs whose ids the page has from the start
MOST_CLASSES = 500  # classes of a column that can colour the map
FEW = 20  # classes that are always fit for it
OWN = ("id", "cluster", "outlier score", "nodes", "edges", "map_x", "map_y", "neighbors", "vector")
WORDS: dict[Method, str] = {
    "umap": "UMAP: near points are similar graphs; distances between groups mean little.",
    "tsne": "t-SNE: near points are similar graphs; distances between groups mean little.",
    "pca": "First two principal components: distances are true, but much is hidden.",
}
BLOCK = 1024  # graphs at a time
GROUPS_UP_TO = 10_000  # molecules whose functional groups are looked for: 0.3 ms each
MOST_SENTENCES = 12  # sentences
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what spreadsheets run


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


def find(index: GraphIndex, method: Method, random_state: int, watch: Watch | None) -> Findings:
    """Everything about an index that takes time; each part is a stage for `watch`."""
    watch = watch or Silent()
    watch.stage("map", 100)
    points = lay_out(
        index.vectors, method, random_state, progress=lambda done, total: watch.advance(100 * done // total)
    )
    watch.stage("clusters", len(index))
    clusters = find_clusters(
        index.vectors, random_state=random_state, progress=lambda done, total: watch.advance(done)
    )
    watch.advance(len(index), str(clusters))
    watch.stage("descriptions", 1)
    descriptions = describe(index, clusters)
    watch.stage("outliers", 1)
    outliers = outlier_scores(index.vectors)
    watch.stage("predictions", 1)
    return Findings(points, clusters.labels, descriptions, outliers, predict(index))


def describe(index: GraphIndex, clusters: Clusters) -> tuple[str, ...]:
    """A line per cluster; sizes alone where the index holds no graphs."""
    if index.graphs is not None:
        return tuple(str(one) for one in describe_clusters(clusters, index.graphs))
    total = len(clusters.labels)
    return tuple(cluster_sentence(size, size / total, ()).partition(":")[0] for size in clusters.sizes)


def predict(index: GraphIndex) -> tuple[MapColumn, ...]:
    """A column per target of a model that predicts, called "predicted ..."; none of other models."""
    if index.graphs is None or not isinstance(index.model, GraphPredictor):
        return ()
    table = predict_table(index.model, index.graphs)
    typed = (
        typed_column(f"predicted {name}", np.asarray(values), table.units.get(name, ""))
        for name, values in table.columns.items()
        if name != ID
    )
    return tuple(column for column in typed if column is not None)


# What was found about an index, as a folder of JSON and `.npy` files beside it.
#
# `atlas.json` has the format, the fingerprint of what it was made from, descriptions and the predicted
# columns; `points.npy`, `clusters.npy`, `outliers.npy` and `predicted_0.npy` ... the numbers.


@dataclass(frozen=True, eq=False)
class Findings:
    """The slow part of an atlas; `infograph.explore.atlas.Atlas` explains each."""

    points: NDArray[np.float32]
    clusters: NDArray[np.int64]
    descriptions: tuple[str, ...]
    outliers: NDArray[np.float64]
    predicted: tuple[MapColumn, ...]


def fingerprint(index: GraphIndex, folder: Path | None, settings: dict[str, Any]) -> str:
    """A text that changes with the vectors, ids and columns, the files of a saved index, and the settings."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(json.dumps([ATLAS_FOLDER.form, settings, index.metric], sort_keys=True).encode())
    digest.update(np.ascontiguousarray(index.vectors).data)
    for name, values in {"id": index.ids, **index.columns}.items():
        digest.update(f"{name} {values.dtype} {values.shape}".encode(errors="surrogatepass"))
        plain = np.ascontiguousarray(values)
        if plain.dtype.kind in "OUT":
            digest.update(json.dumps(json_ready(plain), default=str).encode())
        else:
            digest.update(plain.tobytes())
    marker = None if folder is None else folder / "index.json"  # lists the checksums of the model, too
    if marker is not None and marker.is_file():
        digest.update(marker.read_bytes())
    return digest.hexdigest()


def read_findings(folder: Path, key: str) -> Findings | None:
    """What was found before; None where there is nothing, or it is of another index, or damaged."""
    try:
        content = read_json(folder / ATLAS_FOLDER.marker)
        if content.get("format") != ATLAS_FOLDER.form or content.get("fingerprint") != key:
            return None
        points, clusters, outliers = (_load(folder / f"{name}.npy") for name in ATLAS_ARRAYS)
        predicted = tuple(
            MapColumn(
                name=str(about["name"]),
                kind=about["kind"],
                values=_load(folder / f"predicted_{place}.npy"),
                categories=tuple(map(str, about["categories"])),
                unit=str(about["unit"]),
            )
            for place, about in enumerate(content["predicted"])
        )
        descriptions = tuple(map(str, content["descriptions"]))
    except (FileMissing, InvalidFile, OSError, ValueError, KeyError, TypeError, EOFError):
        return None
    lengths = {len(values) for values in (points, clusters, outliers, *(p.values for p in predicted))}
    fits = len(lengths) == 1 and points.shape[1:] == (2,) and clusters.max(initial=-1) < len(descriptions)
    return Findings(points, clusters, descriptions, outliers, predicted) if fits else None


def write_findings(folder: Path, key: str, found: Findings) -> None:
    """Keep what was found, whole or not at all; a warning where the folder cannot be written to."""
    content = {
        "format": ATLAS_FOLDER.form,
        "fingerprint": key,
        "descriptions": list(found.descriptions),
        "predicted": [
            {"name": c.name, "kind": c.kind, "categories": list(c.categories), "unit": c.unit}
            for c in found.predicted
        ],
    }
    try:
        clear_cache(folder, rf"{ATLAS_FOLDER.marker}|({'|'.join(ATLAS_ARRAYS)}|predicted_\d+)\.npy")
        with replaced_folder(folder, ATLAS_FOLDER) as work:
            for name in ATLAS_ARRAYS:
                np.save(work / f"{name}.npy", getattr(found, name), allow_pickle=False)
            for place, column in enumerate(found.predicted):
                np.save(work / f"predicted_{place}.npy", column.values, allow_pickle=False)
            (work / ATLAS_FOLDER.marker).write_text(json.dumps(content, indent=1) + "\n")
    except (OSError, InvalidParameter) as error:
        reason = getattr(error, "strerror", None) or error
        warnings.warn(
            f"the map could not be kept in {folder} ({reason}): it is made anew next time",
            stacklevel=2,
        )


def _load(path: Path) -> NDArray[Any]:
    return np.asarray(np.load(path, allow_pickle=False))


@dataclass(frozen=True, eq=False)
class MapColumn:
    """One column that can colour the map.

    Attributes:
        name: as the user knows it.
        kind: "category" or "number".
        values: (G,) float32, numbers or positions in `categories`; NaN where a value is missing.
        categories: names of the classes, the largest first; empty for numbers.
        unit: of numbers, where it is known.
        missing: what a missing value means.
    """

    name: str
    kind: Literal["category", "number"]
    values: NDArray[np.float32]
    categories: tuple[str, ...] = ()
    unit: str = ""
    missing: str = "no value"

    def summary(self) -> dict[str, Any]:
        """Everything but the values, ready for JSON; the ends of a scale are the 1st and 99th percentile."""
        known = self.values[~np.isnan(self.values)]
        told: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            "missing": len(self.values) - len(known),
            "missing_name": self.missing,
        }
        if self.kind == "category":
            counts = np.bincount(known.astype(np.int64), minlength=len(self.categories))
            return {**told, "categories": list(self.categories), "counts": counts.tolist()}
        low, high = (float(end) for end in np.percentile(known, (1, 99))) if len(known) else (0.0, 1.0)
        return {**told, "min": low, "max": high, "unit": self.unit}

    def cell(self, row: int) -> str | float | None:
        """The value of one graph as people read it."""
        value = float(self.values[row])
        if np.isnan(value):
            return None
        return self.categories[int(value)] if self.kind == "category" else value


def number_column(name: str, values: NDArray[Any], unit: str = "") -> MapColumn:
    """Numbers; what is not finite is missing."""
    numbers = np.array([np.nan if v is None else v for v in values.tolist()], np.float64)
    with np.errstate(over="ignore"):
        stored = numbers.astype(np.float32)
    return MapColumn(name, "number", np.where(np.isfinite(stored), stored, np.float32(np.nan)), unit=unit)


def class_column(name: str, values: NDArray[Any]) -> MapColumn:
    """Classes, the largest first."""
    categories = tuple(category for category, _ in count_classes(values))
    codes = {category: code for code, category in enumerate(categories)}
    known = is_known(values)
    places = [
        codes[class_name(value)] if there else np.nan
        for value, there in zip(values.tolist(), known.tolist(), strict=True)
    ]
    return MapColumn(name, "category", np.array(places, np.float32), categories)


def typed_column(name: str, values: NDArray[Any], unit: str = "") -> MapColumn | None:
    """A column for colours; None for texts that differ from graph to graph, and for rows of numbers."""
    if values.ndim != 1 or _many_texts(values) or not is_known(values).any():
        return None
    if is_continuous(values):
        return number_column(name, values, unit or split_header(name)[1])
    n_classes, n_known = len(count_classes(values)), int(is_known(values).sum())
    if n_classes > FEW and n_classes > min(MOST_CLASSES, n_known // 2):
        return None
    return class_column(name, values)


def _many_texts(values: NDArray[Any]) -> bool:
    """Whether a look at the first ones is enough to see that these are no classes."""
    return values.dtype.kind in "UT" and len(set(values[: 4 * MOST_CLASSES].tolist())) > MOST_CLASSES + 1


def own_names(columns: Mapping[str, Any]) -> dict[str, str]:
    """Column -> how the map calls it: names that the map uses itself get " (column)" behind them.

    As often as it takes: no two columns have one name.
    """
    found: dict[str, str] = {}
    for name in columns:
        called = name
        while called in OWN or (called != name and called in columns):
            called = f"{called} (column)"
        found[name] = called
    return found


def first_colour(columns: tuple[MapColumn, ...], wanted: str | None = None) -> int:
    """Which column colours the map first: the wanted one, else the label y, else the first one; -1 if none.

    Raises:
        SchemaMismatch: the wanted one is not there; the message lists those there are.
    """
    names = [column.name for column in columns]
    if wanted is None:
        return names.index(LABEL) if LABEL in names else min(0, len(names) - 1)
    short = [split_header(name)[0] for name in names]
    if wanted not in names and wanted not in short:
        have = ", ".join(map(repr, names)) or "none"
        raise SchemaMismatch(f"no column {wanted!r} that could colour the map; there are: {have}")
    return names.index(wanted) if wanted in names else short.index(wanted)


def lay_out(
    vectors: NDArray[Any], method: Method, random_state: int = 0, *, progress: OnProgress | None = None
) -> NDArray[np.float32]:
    """A point per vector, as `infograph.look.project.project` finds it. (G, D) -> (G, 2).

    Raises:
        InvalidParameter: no vectors, or vectors that are not finite.
    """
    points = project(vectors, method, random_state, progress=progress)
    low, high = points.min(axis=0), points.max(axis=0)
    span = float((high - low).max()) / 2 or 1.0  # the same in both directions
    return np.asarray(np.clip((points - (low + high) / 2) / span, -1, 1), dtype=np.float32)


def neighbour_table(index: GraphIndex, k: int) -> tuple[IntArray, NDArray[np.float32]]:
    """Rows and scores of the `k` nearest graphs of each, itself left out, best first. (G, k), (G, k)."""
    k = min(k, len(index) - 1)
    rows = np.zeros((len(index), max(k, 0)), np.int64)
    scores = np.zeros(rows.shape, np.float32)
    for start in range(0, len(index) if k > 0 else 0, BLOCK):
        own = np.arange(start, min(start + BLOCK, len(index)))
        hits = index.search(np.asarray(index.vectors[own]), k + 1)
        rows[own], scores[own] = without_own((hits.rows, hits.scores), own)
    return rows, scores


def describe_region(graphs: GraphSet | None, points: NDArray[np.float32], rows: IntArray) -> dict[str, Any]:
    """What is special about some graphs, compared with all: one line, and a sentence per finding."""
    total = len(points)
    if graphs is None or len(rows) == total:
        text = cluster_sentence(len(rows), len(rows) / total, ()).partition(":")[0]
        return {"text": text if graphs is None else f"All {total:,} graphs.", "facts": []}
    labels = np.full(total, -1, np.int64)
    labels[rows] = 0
    alone = Clusters(
        labels=labels,
        probability=np.ones(total),
        sizes=(len(rows),),
        points=points.astype(np.float64),
        min_size=1,
        n_clustered=total,
    )
    known = graphs if total <= GROUPS_UP_TO else _without_bonds(graphs)
    (found,) = describe_clusters(alone, known)
    sentences = [_sentence(finding) for finding in found.findings[:MOST_SENTENCES]]
    return {"text": f"{found}.", "facts": sentences}


def _without_bonds(graphs: GraphSet) -> GraphSet:
    """Molecules without bonds, whose functional groups nobody looks for."""
    schema = graphs.schema.replace("edge", (c for c in graphs.schema.edge if c.name != BOND.name))
    return replace(graphs, schema=schema, edge={c.name: graphs.edge[c.name] for c in schema.edge})


def _sentence(found: Finding) -> str:
    """One finding in full."""
    if found.kind in ("number", "size"):
        word = "higher" if found.larger > 0.5 else "lower"
        return f"{found.name}: {word}, median {found.inside:.4g} here and {found.overall:.4g} of all"
    what = {
        "class": f"{found.name} = {found.value}",
        "node type": f"nodes with {found.name} {found.value}",
        "group": f"{found.name}",
    }[found.kind]
    return f"{what}: {percent(found.inside)} here, {percent(found.overall)} of all"


def region_table(index: GraphIndex, atlas: Atlas, rows: IntArray) -> str:
    """Graphs as CSV: id, the user's columns, cluster (from 1), outlier score, map_x and map_y.

    Texts that a spreadsheet would run as a formula begin with an apostrophe.
    """
    names = own_names(index.columns)
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(
        [cell(name) for name in ("id", *names.values(), "cluster", "outlier score", "map_x", "map_y")]
    )
    columns = [index.columns[name][rows].tolist() for name in names]
    for place, row in enumerate(rows.tolist()):
        label = int(atlas.clusters[row])
        x, y = atlas.points[row].tolist()
        own = [column[place] for column in columns]
        known = ["" if label < 0 else label + 1, round(float(atlas.outliers[row]), 4), x, y]
        writer.writerow([cell(value) for value in (index.ids[row].item(), *own, *known)])
    return file.getvalue()


def cell(value: Any) -> Any:
    """A value as a table has it; numbers stay what they are."""
    if value is None or value != value:
        return ""
    if isinstance(value, bool | int | float):
        return value
    text = str(value)
    return f"'{text}" if text.startswith(FORMULA) else text
