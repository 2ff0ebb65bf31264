"""A GraphSet on disk made of a stream of smaller ones: only one of them is in memory at a time."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.align import joint_schema, recode
from infograph.data.graphset import GraphSet
from infograph.data.schema import LEVELS, Schema
from infograph.data.storage import (
    GRAPHSET,
    MARKER,
    check_replaceable,
    describe_graphs,
    open_graphs,
    replaced_folder,
    save_graphs,
)
from infograph.errors import InvalidParameter

Read = Callable[[Path], GraphSet]


def save_stream(
    chunks: Iterable[GraphSet],
    folder: str | Path,
    *,
    finish: Callable[[GraphSet], GraphSet] = lambda graphs: graphs,
) -> GraphSet:
    """Write chunks of graphs, one after the other, as one GraphSet, and open it as a memory map.

    The result is that of `concatenate(chunks)`: columns are matched by name, categories joined in the order
    in which they come. The folder appears whole or not at all; until then, the chunks lie beside it, and take
    as much room again.

    Args:
        chunks: the graphs; what could not be read when a chunk was made is not remembered.
        folder: where to; it replaces an older GraphSet.
        finish: applied to each chunk after the last one has come: what is known only then goes here.

    Raises:
        SchemaMismatch: the chunks have different columns, or were read with different options.
        InvalidParameter: there is no graph at all, or the folder holds something else.
    """
    folder = Path(folder)
    check_replaceable(folder, GRAPHSET)
    folder.absolute().parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.absolute().parent) as name:
        parts = [
            save_graphs(chunk, Path(name) / str(number)) for number, chunk in enumerate(chunks) if len(chunk)
        ]
        if not parts:
            raise InvalidParameter("nothing to save: the stream has no graph")
        read: Read = lambda part: finish(open_graphs(part))  # noqa: E731
        with replaced_folder(folder, GRAPHSET) as work:
            _join(parts, joint_schema([read(part).schema for part in parts]), work, read)
    return open_graphs(folder)


def _join(parts: list[Path], schema: Schema, work: Path, read: Read) -> None:
    """Copy the parts into the arrays of one set."""
    shapes, kinds = _measure(parts, schema, read)
    arrays = {
        name: np.lib.format.open_memmap(work / f"{name}.npy", "w+", kinds[name], tuple(shapes[name]))
        for name in shapes
        if 0 not in shapes[name]
    }
    for name in shapes.keys() - arrays.keys():  # an empty file cannot be mapped
        np.save(work / f"{name}.npy", np.zeros(shapes[name], kinds[name]))
    at = dict.fromkeys(shapes, 0)
    for part in parts:
        for name, values in _named(read(part), schema):
            place = at[name]
            if name in ("node_ptr", "edge_ptr"):
                arrays[name][place + 1 : place + len(values)] = values[1:] + arrays[name][place]
                at[name] += len(values) - 1
            elif name == "edges":
                arrays[name][:, place : place + values.shape[1]] = values
                at[name] += values.shape[1]
            elif len(values):
                arrays[name][place : place + len(values)] = values
                at[name] += len(values)
    for array in arrays.values():
        array.flush()
    (work / MARKER).write_text(json.dumps(describe_graphs(schema, shapes), indent=1))


def _measure(
    parts: list[Path], schema: Schema, read: Read
) -> tuple[dict[str, list[int]], dict[str, np.dtype[Any]]]:
    """The shape and the type of every array."""
    shapes: dict[str, list[int]] = {}
    kinds: dict[str, np.dtype[Any]] = {}
    for part in parts:
        for name, values in _named(read(part), schema):
            if name not in shapes:
                shapes[name], kinds[name] = list(values.shape), values.dtype
                continue
            along, pointer = int(name == "edges"), name in ("node_ptr", "edge_ptr")
            shapes[name][along] += values.shape[along] - int(pointer)
            mixed = values.dtype.kind != kinds[name].kind and "U" in (values.dtype.kind, kinds[name].kind)
            both = [
                np.dtype("U21") if mixed and kind.kind != "U" else kind
                for kind in (values.dtype, kinds[name])
            ]
            kinds[name] = np.promote_types(*both)
    return shapes, kinds


def _named(graphs: GraphSet, schema: Schema) -> Iterator[tuple[str, NDArray[Any]]]:
    """The arrays of a set in the codes of `schema`, by the names of their files."""
    for name in ("node_ptr", "edge_ptr", "edges", "ids"):
        yield name, getattr(graphs, name)
    for level in LEVELS:
        for position, column in enumerate(getattr(schema, level)):
            yield f"{level}_{position}", recode(graphs, level, column)[0]
