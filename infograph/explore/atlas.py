"""Atlas: what a map of an index shows, computed once and kept beside the index."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import warnings
from collections.abc import Iterable
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
from infograph.index.store import ATLAS_ARRAYS, ATLAS_FOLDER
from infograph.io import json_ready, read_json, replaced_folder
from infograph.learn.predictions import ID, predict_table
from infograph.look import Clusters, Finding, describe_clusters, find_clusters, outlier_scores
from infograph.look.clusters import percent
from infograph.look.describe import cluster_sentence, edge_counts
from infograph.look.molecules import (
    PROPERTIES,
    formula_of,
    has_molecules,
    molecules_of,
    properties_of,
    recognise_atoms,
)
from infograph.look.project import Floats, Method, choose_method, project
from infograph.progress import Watch

ATLAS = "atlas"  # the folder inside that of the index, with one per method and seed
MAX_IDS = 20_000  # graphs whose ids the page has from the start
MAX_CLASSES = 500  # of a column that can colour the map
FEW_CLASSES = 20  # are always fit for it
MAX_FUNCTIONAL_GROUPS = 10_000  # molecules in which functional groups are looked for: 0.3 ms each
MAX_FACTS = 12  # sentences about a region
FORMULA = re.compile(r"\s*[=+\-@]|[\t\r]")  # what spreadsheets run, which leave out white space
LAYOUTS: dict[Method, str] = {
    "umap": "UMAP: near points are similar graphs; distances between groups mean little.",
    "tsne": "t-SNE: near points are similar graphs; distances between groups mean little.",
    "pca": "First two principal components: distances are true, but much is hidden.",
}


@dataclass(frozen=True, eq=False)
class Atlas:
    """A map of the graphs of an index, and what colours it."""

    points: NDArray[np.float32]  # (G, 2), in -1 ... 1
    clusters: NDArray[np.int64]  # (G,) the cluster of every graph, from 0 as in files; -1 in none
    outliers: NDArray[np.float64]  # (G,) how far the nearest similar graphs are; 1 is typical
    descriptions: tuple[str, ...]  # one line per cluster
    computed: tuple[MapColumn, ...] = ()  # predictions; weight, logP and TPSA of molecules
    title: str = "Graphs"
    about: str = ""  # one line on the index
    layout: str = ""  # one line on how to read the map
    columns: tuple[MapColumn, ...] = ()  # everything that can colour the map
    colour: int = 0  # which of them does first

    def __len__(self) -> int:
        return len(self.points)

    def summary(self, index: GraphIndex) -> dict[str, Any]:
        """What a page asks for first, ready for JSON."""
        return {
            "n": len(self),
            "title": self.title,
            "about": self.about,
            "layout": self.layout,
            "columns": [column.summary() for column in self.columns],
            "colour": self.colour,
            "ids": [str(i) for i in index.ids.tolist()] if len(self) <= MAX_IDS else None,
        }


@dataclass(frozen=True, eq=False)
class MapColumn:
    """One column that can colour the map."""

    name: str
    kind: Literal["category", "number"]
    values: NDArray[np.float32]  # (G,) numbers, or positions in `categories`; NaN where a value is missing
    categories: tuple[str, ...] = ()  # the largest first; none for numbers
    unit: str = ""
    missing: str = "no value"  # what a missing value means
    found: bool = False  # whether it was found out here and is not the user's

    def summary(self) -> dict[str, Any]:
        """Everything but the values, ready for JSON; the ends of a scale are the 1st and 99th percentile."""
        known = self.values[~np.isnan(self.values)]
        missing = {"missing": len(self.values) - len(known), "missing_name": self.missing}
        told = {"name": self.name, "kind": self.kind, "found": self.found, **missing}
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
    """
    chosen = choose_method(len(index), method)
    home = None if folder is None else Path(folder).resolve()
    kept = None if home is None else home / ATLAS / f"{chosen}-{random_state}"
    key = "" if home is None else fingerprint(index, home, {"method": chosen, "random_state": random_state})
    found = None if kept is None else read_atlas(kept, key)
    if found is None:
        found = find(index, chosen, random_state, watch)
        if kept is not None:
            write_atlas(kept, key, found)
    columns = map_columns(index, found)
    n_graphs, dim = index.vectors.shape
    clusters = _count(len(found.descriptions), "cluster") if found.descriptions else "no clusters"
    return replace(
        found,
        title=title or (home.name if home is not None else "Graphs"),
        about=f"{_count(n_graphs, 'graph')} as {'vectors' if n_graphs > 1 else 'a vector'} "
        f"of {_count(dim, 'number')}, {clusters}",
        layout=LAYOUTS[chosen],
        columns=columns,
        colour=first_colour(columns, colour),
    )


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def find(index: GraphIndex, method: Method, random_state: int, watch: Watch | None) -> Atlas:
    """Everything about an index that takes time; each part is a stage for `watch`."""
    watch = watch or Watch()
    watch.stage("map", 1)
    points = lay_out(index.vectors, method, random_state)
    watch.stage("clusters", len(index))
    clusters = find_clusters(
        index.vectors, random_state=random_state, progress=lambda done, _: watch.advance(done)
    )
    watch.advance(len(index), str(clusters))
    watch.stage("descriptions", 1)
    if index.graphs is not None:
        descriptions = tuple(str(one) for one in describe_clusters(clusters, index.graphs))
    else:
        descriptions = tuple(_share(size, len(index)) for size in clusters.sizes)
    watch.stage("outliers", 1)
    outliers = outlier_scores(index.vectors)
    watch.stage("predictions", 1)
    return Atlas(points, clusters.codes, outliers, descriptions, (*predict(index), *properties(index)))


def lay_out(vectors: NDArray[Any], method: Method, random_state: int = 0) -> NDArray[np.float32]:
    """A point per vector, as `infograph.look.project.project` finds it, in -1 ... 1. (G, D) -> (G, 2)."""
    points = project(vectors, method, random_state)
    low, high = points.min(axis=0), points.max(axis=0)
    span = float((high - low).max()) / 2 or 1.0  # the same in both directions
    return np.asarray(np.clip((points - (low + high) / 2) / span, -1, 1), dtype=np.float32)


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


def properties(index: GraphIndex) -> tuple[MapColumn, ...]:
    """Weight, logP and TPSA of molecules; none of other graphs."""
    if index.graphs is None or not has_molecules(graphs := recognise_atoms(index.graphs)):
        return ()
    rows = [properties_of(mol) for mol in molecules_of(graphs)]
    return tuple(
        _numbers(name, np.array([row[name] for row in rows]), unit) for name, unit in PROPERTIES.items()
    )


# ---- the folder beside the index
#
# `atlas.json` has the format, the fingerprint of what it was made from, descriptions and the computed
# columns; `points.npy`, `clusters.npy`, `outliers.npy` and `predicted_0.npy` ... the numbers.


def fingerprint(index: GraphIndex, folder: Path, settings: dict[str, Any]) -> str:
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
    marker = folder / "index.json"  # lists the checksums of the model, too
    if marker.is_file():
        digest.update(marker.read_bytes())
    return digest.hexdigest()


def read_atlas(folder: Path, key: str) -> Atlas | None:
    """What was found before; None where there is nothing, or it is of another index, or damaged."""
    try:
        content = read_json(folder / ATLAS_FOLDER.marker)
        if content.get("format") != ATLAS_FOLDER.form or content.get("fingerprint") != key:
            return None
        points, clusters, outliers = (_load(folder, name) for name in ATLAS_ARRAYS)
        computed = tuple(
            MapColumn(
                name=str(about["name"]),
                kind=about["kind"],
                values=_load(folder, f"predicted_{place}"),
                categories=tuple(map(str, about["categories"])),
                unit=str(about["unit"]),
            )
            for place, about in enumerate(content["predicted"])
        )
        descriptions = tuple(map(str, content["descriptions"]))
    except (FileMissing, InvalidFile, OSError, ValueError, KeyError, TypeError, EOFError):
        return None
    lengths = {len(values) for values in (points, clusters, outliers, *(c.values for c in computed))}
    fits = len(lengths) == 1 and points.shape[1:] == (2,) and clusters.max(initial=-1) < len(descriptions)
    return Atlas(points, clusters, outliers, descriptions, computed) if fits else None


def _load(folder: Path, name: str) -> NDArray[Any]:
    return np.asarray(np.load(folder / f"{name}.npy", allow_pickle=False))


def write_atlas(folder: Path, key: str, found: Atlas) -> None:
    """Keep what was found, whole or not at all; a warning where the folder cannot be written to."""
    content = {
        "format": ATLAS_FOLDER.form,
        "fingerprint": key,
        "descriptions": list(found.descriptions),
        "predicted": [
            {"name": c.name, "kind": c.kind, "categories": list(c.categories), "unit": c.unit}
            for c in found.computed
        ],
    }
    arrays = {name: getattr(found, name) for name in ATLAS_ARRAYS}
    arrays |= {f"predicted_{place}": column.values for place, column in enumerate(found.computed)}
    try:
        ours = rf"{ATLAS_FOLDER.marker}|({'|'.join(ATLAS_ARRAYS)}|predicted_\d+)\.npy"
        for path in folder.glob("*"):  # what is left of a damaged one
            if re.fullmatch(ours, path.name):
                path.unlink()
        with replaced_folder(folder, ATLAS_FOLDER) as work:
            for name, values in arrays.items():
                np.save(work / f"{name}.npy", values, allow_pickle=False)
            (work / ATLAS_FOLDER.marker).write_text(json.dumps(content, indent=1) + "\n")
    except (OSError, InvalidParameter) as error:
        warnings.warn(f"the map could not be kept and is made anew next time: {error}", stacklevel=2)


# ---- columns that colour the map


def map_columns(index: GraphIndex, found: Atlas) -> tuple[MapColumn, ...]:
    """The user's columns, then what was found: predictions, properties, clusters, outlier scores, sizes."""
    units = {} if index.graphs is None else {c.name: c.unit for c in index.graphs.schema.graph}
    typed = (typed_column(name, values, units.get(name) or "") for name, values in index.columns.items())
    clusters = tuple(
        f"{place}: {line.partition(': ')[2] or line}" for place, line in enumerate(found.descriptions, 1)
    )
    codes = np.where(found.clusters < 0, np.nan, found.clusters).astype(np.float32)
    own = [*found.computed]
    if clusters:
        own.append(MapColumn("cluster", "category", codes, clusters, missing="in no cluster"))
    own.append(_numbers("outlier score", found.outliers))
    if index.graphs is not None and not {c.name for c in found.computed} >= set(PROPERTIES):
        own += [_numbers(name, values) for name, values in sizes_of(index.graphs).items()]
    return (
        *(column for column in typed if column is not None),
        *(replace(column, name=own_name(column.name, index.columns), found=True) for column in own),
    )


def sizes_of(graphs: GraphSet) -> dict[str, Floats]:
    """Nodes, edges, and the share of all pairs of nodes that are edges."""
    nodes, edges = graphs.sizes.astype(np.float64), edge_counts(graphs)
    return {"nodes": nodes, "edges": edges, "density": edges / np.maximum(nodes * (nodes - 1) / 2, 1)}


def typed_column(name: str, values: NDArray[Any], unit: str = "") -> MapColumn | None:
    """A column for colours; None for texts that differ from graph to graph, and for rows of numbers."""
    if values.dtype.kind in "UT" and len(set(values[: 4 * MAX_CLASSES].tolist())) > MAX_CLASSES + 1:
        return None  # a look at the first ones is enough
    known = is_known(values) if values.ndim == 1 else np.zeros(1, bool)
    if not known.any():
        return None
    if is_continuous(values):
        return _numbers(name, values, unit or split_header(name)[1])
    categories = tuple(category for category, _ in count_classes(values))
    if len(categories) > FEW_CLASSES and len(categories) > min(MAX_CLASSES, int(known.sum()) // 2):
        return None
    codes = {category: code for code, category in enumerate(categories)}
    pairs = zip(values.tolist(), known.tolist(), strict=True)
    places = [codes[class_name(value)] if there else np.nan for value, there in pairs]
    return MapColumn(name, "category", np.array(places, np.float32), categories)


def _numbers(name: str, values: NDArray[Any], unit: str = "") -> MapColumn:
    """What is not finite is missing."""
    numbers = np.array([np.nan if v is None else v for v in values.tolist()], np.float64)
    with np.errstate(over="ignore"):
        stored = numbers.astype(np.float32)
    return MapColumn(name, "number", np.where(np.isfinite(stored), stored, np.float32(np.nan)), unit=unit)


def own_name(name: str, columns: Iterable[str]) -> str:
    """A name for what was found here. Users' columns keep theirs, and ours give way: "cluster (map)"."""
    taken = set(columns)
    while name in taken:
        name = f"{name} (map)"
    return name


def first_colour(columns: tuple[MapColumn, ...], wanted: str | None = None) -> int:
    """Which column colours the map first: the wanted one, with or without its unit, else `y`, else any."""
    names = [column.name for column in columns]
    if wanted is None:
        return names.index(LABEL) if LABEL in names else 0
    short = [split_header(name)[0] for name in names]
    if wanted not in names and wanted not in short:
        have = ", ".join(map(repr, names))
        raise SchemaMismatch(f"no column {wanted!r} that could colour the map; there are: {have}")
    return names.index(wanted) if wanted in names else short.index(wanted)


# ---- one graph


def facts_of(graph: GraphSet) -> dict[str, Any]:
    """What is said of one graph: formula and properties of a molecule, the size of any other."""
    if not has_molecules(graph):
        return {name: float(values[0]) for name, values in sizes_of(graph).items()}
    (mol,) = molecules_of(graph)
    return {"formula": formula_of(mol), **properties_of(mol)}


def matching(index: GraphIndex, text: str) -> list[int]:
    """Rows of graphs with a text as id or value of a column; else inside one, as it stands or in any case.

    Inside numbers nothing is looked for.
    """

    def spelled(values: NDArray[Any]) -> list[str]:  # nothing where a value is missing
        return ["" if value is None or value != value else str(value) for value in values.tolist()]

    texts = [index.ids, *(values for values in index.columns.values() if values.dtype.kind in "OUT")]
    cells = [*map(spelled, texts)]
    others = [spelled(values) for values in index.columns.values() if values.dtype.kind in "iufb"]
    rows = list(zip(*cells, strict=True))
    whole = {row for column in (*cells, *others) for row, cell in enumerate(column) if cell == text}
    return (
        sorted(whole)
        or [row for row, own in enumerate(rows) if any(text in cell for cell in own)]
        or [row for row, own in enumerate(rows) if any(text.casefold() in cell.casefold() for cell in own)]
    )


# ---- a region of the map


def describe_region(graphs: GraphSet | None, points: NDArray[np.float32], rows: IntArray) -> dict[str, Any]:
    """What is special about some graphs, compared with all: one line, and a sentence per finding."""
    total = len(points)
    if graphs is None:
        return {"text": _share(len(rows), total), "facts": []}
    if len(rows) == total:
        return {"text": f"All {total:,} graphs.", "facts": []}
    labels = np.full(total, -1, np.int64)
    labels[rows] = 1
    region = Clusters(labels, np.ones(total), (len(rows),), points.astype(np.float64))
    if total > MAX_FUNCTIONAL_GROUPS:  # which nobody looks for in molecules without bonds
        schema = graphs.schema.replace("edge", (c for c in graphs.schema.edge if c.name != BOND.name))
        graphs = replace(graphs, schema=schema, edge={c.name: graphs.edge[c.name] for c in schema.edge})
    (found,) = describe_clusters(region, graphs)
    return {"text": f"{found}.", "facts": [_sentence(finding) for finding in found.findings[:MAX_FACTS]]}


def _share(size: int, total: int) -> str:
    return cluster_sentence(size, size / total, ()).partition(":")[0]


def _sentence(found: Finding) -> str:
    if found.kind in ("number", "size"):
        word = "higher" if found.larger > 0.5 else "lower"
        return f"{found.name}: {word}, median {found.inside:.4g} here and {found.overall:.4g} of all"
    what = {"class": f"{found.name} = {found.value}", "node type": f"nodes with {found.name} {found.value}"}
    return (
        f"{what.get(found.kind, found.name)}: {percent(found.inside)} here, {percent(found.overall)} of all"
    )


def region_table(index: GraphIndex, atlas: Atlas, rows: IntArray) -> str:
    """Graphs as CSV; texts that a spreadsheet would run as a formula begin with an apostrophe."""
    columns = {name: values.tolist() for name, values in point_columns(index, atlas, rows).items()}
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(_cell, columns))
    writer.writerows(map(_cell, row) for row in zip(*columns.values(), strict=True))
    return file.getvalue()


def point_columns(index: GraphIndex, atlas: Atlas, rows: IntArray | slice) -> dict[str, NDArray[Any]]:
    """`id`, the user's columns, `cluster` (from 1, None in none), `outlier score`, `map_x` and `map_y`."""
    clusters = [None if label < 0 else label + 1 for label in atlas.clusters[rows].tolist()]
    found = {
        "cluster": np.array(clusters, dtype=object),
        "outlier score": atlas.outliers[rows],
        "map_x": atlas.points[rows, 0],
        "map_y": atlas.points[rows, 1],
    }
    users = {name: values[rows] for name, values in index.columns.items()}
    return {
        own_name("id", users): index.ids[rows],
        **users,
        **{own_name(name, users): values for name, values in found.items()},
    }


def _cell(value: Any) -> Any:
    if value is None or value != value:
        return ""
    if isinstance(value, bool | int | float):
        return value
    text = str(value)
    return f"'{text}" if FORMULA.match(text) else text
