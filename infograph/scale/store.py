"""Files of graphs -> one GraphSet on disk, a block of rows in memory at a time."""

from __future__ import annotations

import csv
import errno
import math
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GRAPHSET, GraphSet, mark_graphs, open_graphs, save_graphs
from infograph.data.joining import joint_schema, recode
from infograph.data.labels import MISSING, as_number
from infograph.data.read import ReadOptions, place_of
from infograph.data.schema import LEVELS, Column, Schema
from infograph.data.units import split_header
from infograph.errors import InvalidGraph, NothingLeft, SchemaMismatch
from infograph.io import (
    check_outputs,
    check_replaceable,
    replaced_file,
    replaced_folder,
    temporary_folder,
    writing,
)
from infograph.progress import ShardProgress
from infograph.scale.shards import BLOCK, Block, Inputs, find_shards, read_blocks


@dataclass(frozen=True, eq=False)
class Stored:
    """What was stored."""

    graphs: GraphSet  # all of them, as a memory map
    rows: int  # of all files
    rejected: int  # how many of them are no graphs


def store_graphs(
    inputs: Inputs,
    out: str | Path,
    *,
    columns: Sequence[str] | None = (),
    rejects: str | Path | None = None,
    reading: ReadOptions | None = None,
    block: int = BLOCK,
    progress: Callable[[ShardProgress], None] = lambda now: None,
) -> Stored:
    """Read files of graphs, however large, into one saved GraphSet.

        graphs = store_graphs("shards/*.parquet", "graphs", columns=["logS"], rejects="bad.csv").graphs
        InfoGraph().fit(graphs)

    Args:
        inputs: a pattern, a folder, or a list of files; `infograph.scale.shards` has the rules.
        out: the folder of the GraphSet; it appears whole or not at all.
        columns: columns of molecule files to keep; None for all. Numbers are kept as numbers, all else as
            texts; a column of text files is one of numbers if all its values are. Numbers that are missing
            are NaN, and so is a column without any value.
        rejects: a CSV file that gets every row that is no graph, with its file, place and reason; None stops
            at the first one.
        reading: how files are read.
        block: rows in memory at a time.
        progress: told after every block and every file.

    Raises:
        InvalidGraph: a row is no graph, and there is no file of rejects.
        InvalidParameter: not one row is a graph.
        SchemaMismatch: the files have different columns, or a column of numbers here and of texts there.
    """
    shards, options = find_shards(inputs), reading or ReadOptions()
    given = [inputs] if isinstance(inputs, str | Path) else inputs
    check_outputs([*given, *(shard.path for shard in shards)], out, rejects)
    rows = rejected = read = 0
    total = sum(shard.size for shard in shards) or 1
    kept = _Columns()
    with ExitStack() as stack:
        writer = None
        if rejects is not None:
            work = stack.enter_context(replaced_file(rejects))
            writer = csv.writer(stack.enter_context(work.open("w", encoding="utf-8", newline="")))
            writer.writerow(("file", "row", "id", "problem"))

        def chunks() -> Iterator[GraphSet]:
            nonlocal rows, rejected, read
            for done, shard in enumerate(shards):
                for each in read_blocks(shard, block, options, columns):
                    for bad in each.rejected:
                        if writer is None:
                            place, why = place_of(bad)
                            raise InvalidGraph(
                                f"{shard.path}, {place} (id {bad.graph_id!r}): {why}; name a file of rejects "
                                f"to leave such rows out"
                            )
                        writer.writerow((shard.path, each.start + bad.index, bad.graph_id, bad.problem))
                    rows, rejected = rows + len(each), rejected + len(each.rejected)
                    if each.graphs is not None:
                        yield kept.of(each, each.graphs, shard.path)
                    progress(ShardProgress(rows, done, len(shards), read / total))
                read += shard.size
                progress(ShardProgress(rows, done + 1, len(shards), read / total))

        try:
            graphs = save_stream(chunks(), out, finish=kept.finish)
        except NothingLeft as error:
            raise NothingLeft(f"not one of {rows:,} rows is a graph", rows) from error
    return Stored(graphs, rows, rejected)


class _Columns:
    """The graph columns, of which the last block may say what they hold."""

    def __init__(self) -> None:
        self._seen: dict[str, dict[str, Column]] = {}  # name -> what its values are -> the column with them

    def of(self, block: Block, graphs: GraphSet, path: str) -> GraphSet:
        """The graphs of a block with the columns that were read beside them, as they are in the file."""
        described, arrays, rows = list(graphs.schema.graph), dict(graphs.graph), block.rows.tolist()
        for name, values in block.columns.items():
            if name not in graphs.graph:
                column, arrays[name] = _stored(name, values.take(rows))
                described.append(column)
        graphs = replace(graphs, graph=arrays, schema=graphs.schema.replace("graph", described))
        for column in graphs.schema.graph:
            given, kind = _given(column, graphs.graph[column.name]), str(column.kind)
            if column.kind == "text" and not given:
                kind = "missing"  # words such as "none"
            elif column.kind == "text" and not block.typed and None not in map(as_number, given):
                kind = "number"  # as texts
            if given or kind == "missing":
                seen = self._seen.setdefault(column.name, {})
                seen.setdefault(kind, column)
                if len(kinds := seen.keys() - {"missing", "number"}) > 1:
                    raise SchemaMismatch(
                        f"{path}: the column {column.name!r} is one of kind {kind!r}, and of kind "
                        f"{(kinds - {kind}).pop()!r} in the rows before: store such files apart"
                    )
        return graphs

    def finish(self, graphs: GraphSet) -> GraphSet:
        """The same after the last block: a column has the kind that its values have in all blocks."""
        columns, stored = [], dict(graphs.graph)
        for column in graphs.schema.graph:
            seen, values = self._seen.get(column.name, {}), stored[column.name]
            firm = [each for kind, each in seen.items() if kind not in ("missing", "number")]
            loose = _floats(column.name) if "number" in seen else seen.get("missing", column)
            final = firm[0] if firm else loose
            if column.kind == "text" and final.kind == "float":
                column, numbers = final, [as_number(text) for text in values.tolist()]
                stored[column.name] = np.array([np.nan if number is None else number for number in numbers])
            elif column.kind != final.kind and not _given(column, values):
                column, stored[column.name] = _without_values(final, len(graphs))
            columns.append(column)
        return replace(graphs, schema=graphs.schema.replace("graph", columns), graph=stored)


def _stored(name: str, values: Any) -> tuple[Column, NDArray[Any]]:
    """An Arrow array as a graph column: NaN, or an empty text, where a value is missing."""
    import pyarrow as pa

    kind = values.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        return _floats(name), values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    texts = ["" if value is None else str(value) for value in values.to_pylist()]
    if any(texts):
        return Column(name, "text"), np.array(texts)
    return _without_values(_floats(name), len(texts))


def _floats(name: str) -> Column:
    return Column(name, "float", unit=split_header(name)[1])


def _given(column: Column, values: NDArray[Any]) -> list[Any]:
    """The values that are not missing."""
    if column.kind == "text":
        return [text for text in values.tolist() if text.strip().casefold() not in MISSING]
    if column.kind == "categorical":
        values = column.codes(values)
        return list(values[values != column.unknown])
    return list(values[~np.isnan(values)])


def _without_values(column: Column, n_graphs: int) -> tuple[Column, NDArray[Any]]:
    """A column like that one, in which every value is missing."""
    if column.kind == "categorical":
        return replace(column, categories=()), np.zeros(n_graphs, np.int32)
    if column.kind == "text":
        return column, np.full(n_graphs, "")
    return column, np.full(n_graphs if column.width == 1 else (n_graphs, column.width), np.nan)


def save_stream(
    chunks: Iterable[GraphSet],
    folder: str | Path,
    *,
    finish: Callable[[GraphSet], GraphSet] = lambda graphs: graphs,
) -> GraphSet:
    """Write chunks of graphs, one after the other, as one GraphSet, and open it as a memory map.

    The result is that of `concatenate(chunks)`. The folder, which replaces an older GraphSet, appears whole
    or not at all; until then, the chunks lie beside it, and take as much room again. `finish` is applied to
    each chunk after the last one has come: what is known only then goes there.
    """
    check_replaceable(folder, GRAPHSET)
    folder = Path(folder).resolve()
    with writing(folder), temporary_folder(folder) as near:
        parts = [save_graphs(chunk, near / str(number)) for number, chunk in enumerate(chunks) if len(chunk)]
        if not parts:
            raise NothingLeft("nothing to save: the stream has no graph")
        schema = joint_schema([finish(open_graphs(part)).schema for part in parts])
        with replaced_folder(folder, GRAPHSET) as work:
            _join(lambda: (_named_arrays(finish(open_graphs(part)), schema) for part in parts), schema, work)
    return open_graphs(folder)


Arrays = Iterator[tuple[str, NDArray[Any]]]


def _join(parts: Callable[[], Iterable[Arrays]], schema: Schema, work: Path) -> None:
    """Write the arrays of all parts, which are gone through twice, as the arrays of one set."""
    shapes: dict[str, list[int]] = {}
    kinds: dict[str, np.dtype[Any]] = {}
    for name, values in chain.from_iterable(parts()):
        if name in shapes:
            shapes[name][name == "edges"] += len(_rows(name, values))
            kinds[name] = np.promote_types(kinds[name], values.dtype)
        else:
            shapes[name], kinds[name] = list(values.shape), values.dtype
    needed = sum(math.prod(shape) * kinds[name].itemsize for name, shape in shapes.items())
    if needed > shutil.disk_usage(work).free:  # a memory map beyond it would end the process
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), work)
    arrays: dict[str, NDArray[Any]] = {}
    for name, shape in shapes.items():
        if 0 in shape:  # an empty file cannot be mapped
            np.save(work / f"{name}.npy", np.zeros(shape, kinds[name]))
        else:
            path = work / f"{name}.npy"
            arrays[name] = np.lib.format.open_memmap(path, "w+", kinds[name], tuple(shape))
    at = dict.fromkeys(arrays, 0)
    for name, values in chain.from_iterable(parts()):
        if name in arrays:
            begin, rows = at[name], _rows(name, values)
            at[name] += len(rows)
            offset = arrays[name][begin] if name.endswith("_ptr") else None
            _rows(name, arrays[name])[begin : at[name]] = rows if offset is None else rows + offset
    del arrays  # written
    mark_graphs(work, schema, shapes)


def _rows(name: str, values: NDArray[Any]) -> NDArray[Any]:
    """What grows with every part, along the first axis."""
    return values.T if name == "edges" else values[1:] if name.endswith("_ptr") else values


def _named_arrays(graphs: GraphSet, schema: Schema) -> Arrays:
    """The arrays of a set in the codes of `schema`, by the names of their files."""
    for name in ("node_ptr", "edge_ptr", "edges", "ids"):
        yield name, getattr(graphs, name)
    for level in LEVELS:
        for position, column in enumerate(getattr(schema, level)):
            yield f"{level}_{position}", recode(graphs, level, column)[0]
