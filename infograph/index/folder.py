"""The folder of a saved index, file by file.

`index.json` (format, version, metric, and the size and checksum of every other file), `vectors.npy`,
`norms.npy`, `ids.npy`; `graphs/`, a saved GraphSet, and `model/`, a saved model, or else `columns/`, one file
per column; `faiss.index` where the search is approximate. The checksums are CRC-32, which finds damage at
2 GB/s; it is no protection against forgery.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import infograph
from infograph.data.columns import objects
from infograph.data.storage import (
    FolderKind,
    check_replaceable,
    open_graphs,
    read_json,
    replaced_folder,
    save_graphs,
)
from infograph.errors import FileMissing, InvalidFile, InvalidParameter
from infograph.index.approximate import Approximate
from infograph.index.store import Store, all_columns

FORMAT = "infograph-index-1"
MARKER, GRAPHS, MODEL, COLUMNS, FAISS = "index.json", "graphs", "model", "columns", "faiss.index"
CHUNK = 16 << 20
ATLAS_ARRAYS = ("points", "clusters", "outliers")


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
