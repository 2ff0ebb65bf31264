"""The rows of an index, which never change in place, and the folder they are saved to."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

import infograph
from infograph.data.graphset import GraphSet, check_texts, open_graphs, save_graphs
from infograph.data.joining import concatenate
from infograph.data.records import id_array, objects
from infograph.data.units import graph_column
from infograph.data.vectors import graph_values
from infograph.errors import FileMissing, InvalidFile, InvalidParameter
from infograph.index.nearest import Approximate, Metric, Vectors, check_vectors, norms_of
from infograph.io import FolderKind, described, open_arrays, read_json, replaced_folder

FORMAT = "infograph-index-1"
MARKER, GRAPHS, MODEL, COLUMNS, FAISS = "index.json", "graphs", "model", "columns", "faiss.index"
AGAIN = "save the index again"
ATLAS_ARRAYS = ("points", "clusters", "outliers")


@dataclass(frozen=True, eq=False)
class Store:
    """One row per graph."""

    ids: NDArray[Any]  # (G,) the user's ids, all different
    vectors: Vectors  # (G, D), all finite
    norms: NDArray[np.float64]  # (G,) their lengths
    columns: Mapping[str, NDArray[Any]]  # (G,) or (G, width) each
    graphs: GraphSet | None = None  # None where there are only vectors

    @classmethod
    def of(
        cls,
        ids: NDArray[Any],
        vectors: Any,
        columns: Mapping[str, NDArray[Any]],
        graphs: GraphSet | None = None,
    ) -> Store:
        """Rows that were checked: finite vectors, as many of everything, and different ids."""
        ids = id_array(list(ids))  # those of a DataFrame come as objects
        found = np.ascontiguousarray(check_vectors(vectors, ids if len(ids) == len(vectors) else None))
        for name, values in {"ids": ids, **columns}.items():
            if len(values) != len(found):
                raise InvalidParameter(f"{len(found)} vectors, but {len(values)} values of {name!r}")
        check_texts(columns)
        return cls(ids, found, norms_of(found), columns, graphs).check_ids()

    def check_ids(self) -> Store:
        """The same; refused if an id stands twice."""
        if len(self.positions) < len(self.ids):
            twice = Counter(map(str, self.ids.tolist())).most_common(1)[0][0]
            raise InvalidParameter(f"the id {twice!r} stands twice: the ids of an index must be different")
        return self

    @classmethod
    def of_graphs(cls, graphs: GraphSet, vectors: Any, names: Iterable[str] | None = None) -> Store:
        """Graphs, their vectors, and the graph columns `names` (None: all); other columns are left out."""
        if names is not None:
            chosen = [names] if isinstance(names, str) else names
            kept = dict.fromkeys(graph_column(graphs.schema, name).name for name in chosen)
            schema = graphs.schema.replace("graph", (c for c in graphs.schema.graph if c.name in kept))
            graphs = replace(graphs, schema=schema, graph={name: graphs.graph[name] for name in kept})
        graphs = replace(graphs, rejected=())
        return cls.of(graphs.ids, vectors, all_columns(graphs), graphs)

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def dim(self) -> int:
        """The length of the vectors."""
        return int(self.vectors.shape[1])

    @cached_property
    def positions(self) -> dict[str, int]:
        """Where each id stands; ids are compared as texts."""
        return {str(graph_id): row for row, graph_id in enumerate(self.ids.tolist())}

    def row(self, graph_id: object) -> int:
        """Where a graph stands."""
        if str(graph_id) not in self.positions:
            some = ", ".join(map(repr, self.ids[:3].tolist()))
            raise InvalidParameter(f"no graph of this index has the id {graph_id!r}; ids are such as {some}")
        return self.positions[str(graph_id)]

    def joined(self, other: Store) -> Store:
        """These graphs and those of `other` behind them, with the columns of these."""
        if self.graphs is None or other.graphs is None:
            raise InvalidParameter("this index holds vectors without graphs: make another one of all vectors")
        known = next((graph_id for graph_id in other.positions if graph_id in self.positions), None)
        if known is not None:
            raise InvalidParameter(f"the id {known!r} is in the index already: give the new graphs other ids")
        graphs = concatenate([self.graphs, other.graphs], fill=True)
        vectors = np.concatenate([self.vectors, other.vectors])
        norms = np.concatenate([self.norms, other.norms])
        return Store(graphs.ids, vectors, norms, all_columns(graphs), graphs)


def all_columns(graphs: GraphSet) -> dict[str, NDArray[Any]]:
    """The graph columns as the user knows them."""
    return {column.name: graph_values(graphs, column.name) for column in graphs.schema.graph}


# The folder of a saved index, file by file.
#
# `index.json` (format, version, metric, and the size and CRC-32 of every other file), `vectors.npy`,
# `norms.npy`, `ids.npy`; `graphs/`, a saved GraphSet, and `model/`, a saved model, or else `columns/`, one
# file per column; `faiss.index` where the search is approximate. The checksums find damage; they are no
# protection against forgery.


def _files_of_atlas(content: Mapping[str, Any]) -> list[str]:
    predicted = [f"predicted_{place}" for place in range(len(content["predicted"]))]
    return [f"{name}.npy" for name in (*ATLAS_ARRAYS, *predicted)]


# What `infograph.explore` keeps in the folder of an index, one per method and seed.
ATLAS_FOLDER = FolderKind("a map", "atlas.json", "infograph-atlas-1", _files_of_atlas)
INDEX = FolderKind("an index", MARKER, FORMAT, lambda content: content["files"], (("atlas/*", ATLAS_FOLDER),))


def is_index(folder: str | Path) -> bool:
    """Whether an index was saved there."""
    try:
        return bool(read_json(Path(folder) / MARKER).get("format") == FORMAT)
    except (FileMissing, InvalidFile):
        return False


def write_index(
    folder: str | Path, store: Store, cells: Approximate | None, settings: dict[str, Any], model: Any
) -> None:
    """Write all files of an index, whole or not at all."""
    if model is not None and not hasattr(model, "save"):
        raise InvalidParameter(f"the model of this index, a {type(model).__name__}, has no save(folder)")
    content = {
        "format": FORMAT,
        "version": infograph.__version__,
        **settings,
        "shape": list(store.vectors.shape),
        "columns": None if store.graphs is not None else list(store.columns),
        "covered": 0 if cells is None else cells.covered,
        "model": model is not None,
    }
    with replaced_folder(folder, INDEX) as work:
        for name in ("vectors", "norms", "ids"):
            np.save(work / f"{name}.npy", getattr(store, name), allow_pickle=False)
        if store.graphs is not None:
            save_graphs(store.graphs, work / GRAPHS)
        else:
            _write_columns(work / COLUMNS, store.columns)
        if model is not None:
            model.save(work / MODEL)
        if cells is not None:
            cells.save(work / FAISS)
        files = sorted(path for path in work.rglob("*") if path.is_file())
        content["files"] = {path.relative_to(work).as_posix(): _checksum(path) for path in files}
        (work / MARKER).write_text(json.dumps(content, indent=1) + "\n")


def read_index(folder: Path, *, verify: bool) -> tuple[dict[str, Any], Store]:
    """The settings of an index, and its rows as memory maps; `verify` reads all of them and checks."""
    if not folder.is_dir():
        raise FileMissing(f"no index folder {folder}: infograph index, or GraphIndex.save, makes one")
    if not (folder / MARKER).is_file():
        raise InvalidFile(f"{folder} is not a saved index: it has no {MARKER}")
    with described(folder / MARKER, FORMAT, "a saved index", AGAIN) as content:
        settings = {name: content[name] for name in ("metric", "approximate", "covered", "model")}
        for name, expected in content["files"].items():
            found = _checksum(folder / name, only_size=not verify)
            if found != expected[: len(found)]:
                raise InvalidFile(f"{folder / name} is damaged: not what {MARKER} says; {AGAIN}")
        shape, names = content["shape"], content["columns"]
        if content["metric"] not in get_args(Metric):
            raise InvalidFile(f"{folder} is damaged: metric {content['metric']!r}; {AGAIN}")
        arrays = open_arrays(folder, {"vectors": shape, "norms": shape[:1], "ids": shape[:1]}, AGAIN)
        graphs = open_graphs(folder / GRAPHS) if names is None else None
        columns = all_columns(graphs) if graphs is not None else _read_columns(folder / COLUMNS, names)
    vectors, norms, ids = (np.asarray(arrays[name]) for name in ("vectors", "norms", "ids"))
    lengths = {(len(ids if graphs is None else graphs),), *(v.shape[:1] for v in (ids, *columns.values()))}
    if vectors.dtype != np.float32 or norms.dtype != np.float64 or len(lengths) > 1:
        raise InvalidFile(f"{folder} is damaged: its arrays do not fit together; {AGAIN}")
    store = Store(np.array(ids), vectors, np.array(norms), columns, graphs)
    if verify:
        try:
            check_vectors(vectors, ids)
            check_vectors(store.norms[:, None], ids)
            store.check_ids()
            check_texts({"ids": store.ids})
            check_texts(columns if graphs is None else {})  # those of graphs were checked
        except InvalidParameter as error:
            raise InvalidFile(f"{folder} is damaged ({error}): {AGAIN}") from error
    return settings, store


def _checksum(path: Path, *, only_size: bool = False) -> list[int]:
    """Size and CRC-32 of a file, or its size alone."""
    if not path.is_file():
        raise FileMissing(f"{path} is missing: {AGAIN}")
    size, crc = path.stat().st_size, 0
    if only_size:
        return [size]
    with path.open("rb") as file:  # faster than a map of the file, whose pages stay in memory
        while chunk := file.read(1 << 20):
            crc = zlib.crc32(chunk, crc)
    return [size, crc]


def _write_columns(folder: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    """Numbers and texts as arrays; objects (numbers and texts of which some are missing) as JSON."""
    folder.mkdir()
    for place, values in enumerate(columns.values()):
        if values.dtype.kind != "O":
            np.save(folder / f"{place}.npy", values, allow_pickle=False)
            continue
        plain = [v if v is None or isinstance(v, str | int | float) else str(v) for v in values.tolist()]
        (folder / f"{place}.json").write_text(json.dumps(plain))


def _read_columns(folder: Path, names: list[str]) -> dict[str, NDArray[Any]]:
    columns = {}
    for place, name in enumerate(names):
        path = folder / f"{place}.json"
        try:
            if path.is_file():
                columns[name] = objects(json.loads(path.read_text()))
            else:
                columns[name] = np.load(path.with_suffix(".npy"), mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as error:
            raise InvalidFile(f"{path} is damaged ({error}): {AGAIN}") from error
    return columns
