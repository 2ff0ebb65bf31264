"""A GraphSet as a folder: one `.npy` file per array plus `schema.json`; opening is a memory map."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet, IntArray
from infograph.data.schema import LEVELS, Schema
from infograph.errors import FileMissing, InvalidFile, InvalidParameter

FORMAT = "infograph-graphset-1"
MARKER = "schema.json"


def save_graphs(graphs: GraphSet, folder: str | Path) -> Path:
    """Write `graphs` to `folder`; it appears whole or not at all, and replaces an older one."""
    with replaced_folder(folder) as work:
        arrays = {
            "node_ptr": graphs.node_ptr,
            "edge_ptr": graphs.edge_ptr,
            "edges": graphs.edges,
            "ids": graphs.ids,
        }
        content: dict[str, Any] = {"format": FORMAT, "schema": graphs.schema.to_dict(), "arrays": {}}
        for level in LEVELS:
            for position, column in enumerate(getattr(graphs.schema, level)):
                arrays[f"{level}_{position}"] = getattr(graphs, level)[column.name]
        for name, values in arrays.items():
            np.save(work / f"{name}.npy", np.ascontiguousarray(values), allow_pickle=False)
            content["arrays"][name] = list(values.shape)
        (work / MARKER).write_text(json.dumps(content, indent=1))
    return Path(folder)


def open_graphs(folder: str | Path) -> GraphSet:
    """Open a saved GraphSet as a memory map: nothing is read before it is used.

    Raises:
        FileMissing: the folder, or a file in it, is not there.
        InvalidFile: a file is damaged or of another format.
    """
    folder = Path(folder)
    content = read_json(folder / MARKER)
    if content.get("format") != FORMAT:
        raise InvalidFile(
            f"{folder}: not a saved GraphSet (format {content.get('format')!r}, expected {FORMAT!r})"
        )
    try:
        schema = Schema.from_dict(content["schema"])
        arrays = {
            name: _open_array(folder / f"{name}.npy", shape) for name, shape in content["arrays"].items()
        }
        columns: dict[str, Any] = {
            level: {
                c.name: arrays[f"{level}_{position}"] for position, c in enumerate(getattr(schema, level))
            }
            for level in LEVELS
        }
        return GraphSet(
            node_ptr=in_memory(arrays["node_ptr"]),
            edge_ptr=in_memory(arrays["edge_ptr"]),
            edges=arrays["edges"],
            ids=arrays["ids"],
            schema=schema,
            **columns,
        )
    except KeyError as error:
        raise InvalidFile(
            f"{folder / MARKER} is damaged: {error} is missing; save the GraphSet again"
        ) from error


def in_memory(values: NDArray[Any]) -> IntArray:
    """A copy off the disk: pointers are small, and a memory map is slow to index one by one."""
    return np.array(values)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file.

    Raises:
        FileMissing: no such file.
        InvalidFile: not a JSON object.
    """
    if not path.is_file():
        raise FileMissing(f"{path} is missing: it is part of every saved folder of its kind")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidFile(f"{path} is damaged, it holds no JSON: {error}") from error
    if not isinstance(content, dict):
        raise InvalidFile(f"{path} is damaged: expected a JSON object, it holds a {type(content).__name__}")
    return content


@contextmanager
def replaced_folder(folder: str | Path) -> Iterator[Path]:
    """A temporary folder that takes the place of `folder` once the block is through without an error."""
    folder = Path(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    work.chmod(0o755)
    try:
        yield work
        if folder.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{folder.name}-old-", dir=folder.parent))
            folder.replace(old / "old")
            work.replace(folder)
            shutil.rmtree(old)
        else:
            work.replace(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


@contextmanager
def replaced_file(path: str | Path) -> Iterator[Path]:
    """A temporary path that takes the place of `path` once the block is through without an error."""
    path = Path(path)
    check_writable(path)
    work = path.with_name(f".{path.stem}-{os.getpid()}{path.suffix}")
    try:
        yield work
        work.replace(path)
    finally:
        work.unlink(missing_ok=True)


def check_writable(path: str | Path) -> None:
    """Make sure that a file can be written to `path`, before the work that leads to it.

    Raises:
        InvalidParameter: it is a folder.
        OSError: its folder cannot be made or written to.
    """
    path = Path(path)
    if path.is_dir():
        raise InvalidParameter(f"{path} is a folder; expected the name of a file")
    check_folder(path.parent)


def check_folder(folder: str | Path) -> None:
    """Make a folder if need be, and make sure that files can be written to it.

    Raises:
        InvalidParameter: a file is in its place.
        OSError: it cannot be made or written to.
    """
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise InvalidParameter(f"{folder} cannot be a folder: there is a file in its place") from error
    with tempfile.TemporaryFile(dir=folder):
        pass


def _open_array(path: Path, shape: list[int]) -> NDArray[Any]:
    if not path.is_file():
        raise FileMissing(f"{path} is missing: save the GraphSet again")
    try:
        empty = 0 in shape  # an empty file cannot be mapped
        values: NDArray[Any] = np.load(path, mmap_mode=None if empty else "r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise InvalidFile(f"{path} is damaged ({error}): save the GraphSet again") from error
    if list(values.shape) != shape:
        raise InvalidFile(
            f"{path} is damaged: shape {list(values.shape)}, expected {shape}; save the GraphSet again"
        )
    return values
