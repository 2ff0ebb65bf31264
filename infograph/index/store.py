"""The rows of an index, which never change in place, and the folder they are saved to."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import infograph
from infograph.data.convert import id_array, objects
from infograph.data.graphset import GraphSet, concatenate, open_graphs, save_graphs
from infograph.data.schema import LEVELS, Column
from infograph.data.vectors import graph_values
from infograph.errors import FileMissing, InvalidFile, InvalidParameter, SchemaMismatch
from infograph.index.nearest import Approximate, check_vectors, norms_of
from infograph.io import FolderKind, check_replaceable, read_json, replaced_folder

FORMAT = "infograph-index-1"
MARKER, GRAPHS, MODEL, COLUMNS, FAISS = "index.json", "graphs", "model", "columns", "faiss.index"
CHUNK = 16 << 20
ATLAS_ARRAYS = ("points", "clusters", "outliers")
MISSING: dict[str, Any] = {"f": np.nan, "U": ""}


@dataclass(frozen=True, eq=False)
class Store:
    """One row per graph.

    Attributes:
        ids: (G,) the user's ids, all different.
        vectors: (G, D) float32, all finite.
        norms: (G,) their lengths.
        columns: what else is known of the graphs, (G,) or (G, width) each.
        graphs: the graphs themselves, None where there are only vectors.
    """

    ids: NDArray[Any]
    vectors: NDArray[np.float32]
    norms: NDArray[np.float64]
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    graphs: GraphSet | None = None

    @classmethod
    def of(
        cls,
        ids: NDArray[Any],
        vectors: Any,
        columns: Mapping[str, NDArray[Any]],
        graphs: GraphSet | None = None,
    ) -> Store:
        """Rows that were looked at.

        Raises:
            InvalidParameter: lengths differ, an id stands twice, or a vector is not finite.
        """
        found = np.ascontiguousarray(check_vectors(vectors, ids if len(ids) == len(vectors) else None))
        for name, values in {"ids": ids, **columns}.items():
            if len(values) != len(found):
                raise InvalidParameter(f"{len(found)} vectors, but {len(values)} values of {name!r}")
        store = cls(ids, found, norms_of(found), columns, graphs)
        _ = store.positions
        return store

    @classmethod
    def of_graphs(cls, graphs: GraphSet, vectors: Any, names: Iterable[str] | None = None) -> Store:
        """Graphs, their vectors, and the graph columns `names` (None: all); other columns are left out."""
        if names is not None:
            chosen = [names] if isinstance(names, str) else list(dict.fromkeys(names))
            columns = {name: graph_values(graphs, name) for name in chosen}  # says which there are
            schema = graphs.schema.replace("graph", (c for c in graphs.schema.graph if c.name in columns))
            graphs = replace(graphs, schema=schema, graph={name: graphs.graph[name] for name in columns})
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
        positions = {str(graph_id): row for row, graph_id in enumerate(self.ids.tolist())}
        if len(positions) < len(self.ids):
            seen: set[str] = set()
            twice = next(i for i in map(str, self.ids.tolist()) if i in seen or seen.add(i))  # type: ignore[func-returns-value]
            raise InvalidParameter(f"the id {twice!r} stands twice: the ids of an index must be different")
        return positions

    def row(self, graph_id: object) -> int:
        """Where a graph stands.

        Raises:
            InvalidParameter: there is none of that id.
        """
        if str(graph_id) not in self.positions:
            some = ", ".join(map(repr, self.ids[:3].tolist()))
            raise InvalidParameter(
                f"no graph of this index has the id {graph_id!r}; it holds {len(self):,} graphs with ids "
                f"such as {some}"
            )
        return self.positions[str(graph_id)]

    def joined(self, other: Store) -> Store:
        """These rows and those of `other` behind them.

        Raises:
            InvalidParameter: an id is there already, or the vectors are of another length.
            SchemaMismatch: the columns do not fit.
        """
        known = next((i for i in other.positions if i in self.positions), None)
        if known is not None:
            raise InvalidParameter(
                f"the id {known!r} is in the index already: give the new graphs other ids, for instance "
                f"as_graphset(graphs, ids=[...])"
            )
        if other.dim != self.dim:
            raise InvalidParameter(f"vectors of {other.dim} numbers, those of the index have {self.dim}")
        vectors = np.concatenate([self.vectors, other.vectors])
        norms = np.concatenate([self.norms, other.norms])
        if self.graphs is not None and other.graphs is not None:
            graphs = join_graphs(self.graphs, other.graphs)
            return Store(graphs.ids, vectors, norms, all_columns(graphs), graphs)
        strange = [name for name in other.columns if name not in self.columns]
        if strange:
            have = ", ".join(map(repr, self.columns)) or "none"
            raise SchemaMismatch(f"the index has no column {strange[0]!r}; it has: {have}")
        columns = join_columns(self.columns, other.columns, len(other))
        ids = id_array([*self.ids.tolist(), *other.ids.tolist()])
        return Store(ids, vectors, norms, columns)


def all_columns(graphs: GraphSet) -> dict[str, NDArray[Any]]:
    """The graph columns as the user knows them."""
    return {column.name: graph_values(graphs, column.name) for column in graphs.schema.graph}


# The folder of a saved index, file by file.
#
# `index.json` (format, version, metric, and the size and checksum of every other file), `vectors.npy`,
# `norms.npy`, `ids.npy`; `graphs/`, a saved GraphSet, and `model/`, a saved model, or else `columns/`, one
# file per column; `faiss.index` where the search is approximate. The checksums are CRC-32, which finds
# damage at 2 GB/s; it is no protection against forgery.


def _files_of_atlas(content: Mapping[str, Any]) -> list[str]:
    predicted = [f"predicted_{place}" for place in range(len(content["predicted"]))]
    return [f"{name}.npy" for name in (*ATLAS_ARRAYS, *predicted)]


# What `infograph.explore` keeps in the folder of an index, one per method and seed.
ATLAS_FOLDER = FolderKind("a map", "atlas.json", "infograph-atlas-1", _files_of_atlas)
INDEX = FolderKind("an index", MARKER, FORMAT, lambda content: content["files"], (("atlas/*", ATLAS_FOLDER),))


def check_index_folder(folder: str | Path) -> None:
    """Make sure, before the work that leads to it, that an index can be saved there: `check_replaceable`."""
    check_replaceable(folder, INDEX)


def is_index(folder: str | Path) -> bool:
    """Whether an index was saved there."""
    try:
        return bool(read_json(Path(folder) / MARKER).get("format") == FORMAT)
    except (FileMissing, InvalidFile):
        return False


def write_index(
    folder: str | Path, store: Store, settings: dict[str, Any], cells: Approximate | None, model: Any
) -> None:
    """Write all files of an index, whole or not at all."""
    check_index_folder(folder)
    if model is not None and not hasattr(model, "save"):
        raise InvalidParameter(
            f"the model of this index, a {type(model).__name__}, has no save(folder): save the vectors "
            f"alone, with GraphIndex.of(Embeddings(index.ids, index.vectors, index.columns)).save(folder)"
        )
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
        content["files"] = {path.relative_to(work).as_posix(): checksum(path) for path in files}
        (work / MARKER).write_text(json.dumps(content, indent=1) + "\n")


def read_content(folder: str | Path, *, verify: bool) -> dict[str, Any]:
    """What `index.json` says, once every file is there and, with `verify`, is what was written.

    Raises:
        FileMissing: the folder, or a file in it, is not there.
        InvalidFile: it is no index, or a file is damaged.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise FileMissing(f"no index folder {folder}: infograph index, or GraphIndex.save, makes one")
    if not (folder / MARKER).is_file():
        raise InvalidFile(f"{folder} is not a saved index: it has no {MARKER}")
    content = read_json(folder / MARKER)
    if content.get("format") != FORMAT:
        raise InvalidFile(
            f"{folder} is not a saved index that this version reads (format {content.get('format')!r}, "
            f"expected {FORMAT!r}; written by version {content.get('version', 'unknown')})"
        )
    expected = {"version", "metric", "approximate", "shape", "columns", "covered", "model", "files"}
    missing = sorted(expected - set(content))
    if missing or not _lists_files(content["files"]):
        what = f"{missing[0]!r} is missing" if missing else "'files' lists no files"
        raise InvalidFile(f"{folder / MARKER} is damaged: {what}; save the index again")
    _check_files(folder, content["files"], verify=verify)
    return content


def _lists_files(files: Any) -> bool:
    """Whether it is name -> [size, checksum]."""
    return isinstance(files, dict) and all(isinstance(a, list) and len(a) == 2 for a in files.values())


def _check_files(folder: Path, files: Mapping[str, Any], *, verify: bool) -> None:
    for name, (size, _) in files.items():
        if not (folder / name).is_file():
            raise FileMissing(f"{folder / name} is missing: save the index again")
        if (folder / name).stat().st_size != size:
            raise InvalidFile(
                f"{folder / name} is damaged: {(folder / name).stat().st_size} bytes, expected {size}; save "
                f"the index again"
            )
    if not verify:
        return
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda name: checksum(folder / name), files)
        for (name, expected), now in zip(files.items(), found, strict=True):
            if now != expected:
                raise InvalidFile(
                    f"{folder / name} is damaged: its checksum is not the one in {MARKER}; save "
                    f"the index again"
                )


def read_store(folder: Path, content: dict[str, Any]) -> Store:
    """The rows of an index as memory maps."""
    try:
        arrays = {name: _open(folder / f"{name}.npy") for name in ("vectors", "norms", "ids")}
        graphs = open_graphs(folder / GRAPHS) if content["columns"] is None else None
        columns = all_columns(graphs) if graphs is not None else _read_columns(folder, content["columns"])
        vectors, ids = arrays["vectors"], np.array(arrays["ids"])
        lengths = {len(values) for values in (vectors, arrays["norms"], ids, *columns.values())}
        fits = vectors.dtype == np.float32 and list(vectors.shape) == content["shape"] and len(lengths) == 1
    except (TypeError, AttributeError, OSError, ValueError) as error:
        if isinstance(error, InvalidFile | FileMissing):
            raise
        raise InvalidFile(f"{folder} is damaged ({error}): save the index again") from error
    if not fits or (graphs is not None and len(graphs) != len(ids)):
        raise InvalidFile(f"{folder} is damaged: its parts are not of one length; save the index again")
    return Store(ids, vectors, np.array(arrays["norms"]), columns, graphs)


def checksum(path: Path) -> list[int]:
    """Size and CRC-32 of a file."""
    size = crc = 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            size, crc = size + len(chunk), zlib.crc32(chunk, crc)
    return [size, crc]


def _open(path: Path) -> NDArray[Any]:
    """A memory map, as a plain array."""
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


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
        path = folder / COLUMNS / f"{place}.json"
        if path.is_file():
            columns[name] = objects(json.loads(path.read_text()))
        else:
            columns[name] = _open(path.with_suffix(".npy"))
    return columns


def join_graphs(old: GraphSet, new: GraphSet) -> GraphSet:
    """Both sets with the columns of the old one: missing values are NaN, "" or of no known category.

    Raises:
        SchemaMismatch: a column is of another kind or width, or the graphs were read with other options.
    """
    counts = {"node": new.n_nodes, "edge": new.n_edges, "graph": len(new)}
    filled: dict[str, dict[str, NDArray[Any]]] = {level: {} for level in LEVELS}
    schema = new.schema
    for level in LEVELS:
        columns: list[Column] = []
        for column in getattr(old.schema, level):
            own = new.schema.column(level, column.name)
            columns.append(own or column)
            values = getattr(new, level).get(column.name)
            filled[level][column.name] = _empty(column, counts[level]) if values is None else values
        schema = schema.replace(level, columns)
    changed: dict[str, Any] = filled
    return concatenate([old, replace(new, schema=schema, **changed)])


def join_columns(
    old: Mapping[str, NDArray[Any]], new: Mapping[str, NDArray[Any]], n_rows: int
) -> dict[str, NDArray[Any]]:
    """The columns of `old` with `n_rows` more values each, missing ones where `new` has no such column."""
    return {name: _joined(values, new.get(name), n_rows) for name, values in old.items()}


def _joined(old: NDArray[Any], new: NDArray[Any] | None, n_rows: int) -> NDArray[Any]:
    if new is None and old.dtype.kind in MISSING:
        new = np.full((n_rows, *old.shape[1:]), MISSING[old.dtype.kind], old.dtype)
    if new is not None and old.ndim == new.ndim and (old.dtype.kind == new.dtype.kind or old.ndim > 1):
        return np.concatenate([old, new])
    return objects([*old.tolist(), *([None] * n_rows if new is None else new.tolist())])


def _empty(column: Column, n_rows: int) -> NDArray[Any]:
    """A column without a single value."""
    if column.kind == "categorical":
        return np.full(n_rows, column.unknown, np.int32)
    if column.kind == "text":
        return np.full(n_rows, "", np.str_)
    return np.full((n_rows, column.width) if column.width != 1 else n_rows, np.nan, np.float32)
