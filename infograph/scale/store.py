"""Files of graphs -> one GraphSet on disk, a block of rows in memory at a time."""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import (
    GRAPHSET,
    MARKER,
    GraphSet,
    describe_graphs,
    joint_schema,
    open_graphs,
    recode,
    save_graphs,
)
from infograph.data.labels import MISSING
from infograph.data.read import PLACE, ReadOptions
from infograph.data.schema import LEVELS, Column, Schema
from infograph.data.tables import Block, read_blocks
from infograph.data.units import split_header
from infograph.errors import InvalidFile, InvalidGraph, InvalidParameter, SchemaMismatch
from infograph.io import check_outputs, check_replaceable, replaced_file, replaced_folder
from infograph.progress import ShardProgress
from infograph.scale.shards import BLOCK, Inputs, find_shards

Read = Callable[[Path], GraphSet]


@dataclass(frozen=True, eq=False)
class Stored:
    """What was stored.

    Attributes:
        graphs: all of them, as a memory map.
        rows: how many rows the files have.
        rejected: how many of them are no graphs.
    """

    graphs: GraphSet
    rows: int
    rejected: int


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
            texts; what a column of a text file holds is decided by the first rows that have a value. Numbers
            that are missing are NaN, and so is a column without any value.
        rejects: a CSV file that gets every row that is no graph, with its file, place and reason; None stops
            at the first one.
        reading: how files are read.
        block: rows in memory at a time.
        progress: told after every block.

    Raises:
        InvalidGraph: a row is no graph, and there is no file of rejects.
        InvalidParameter: not one row is a graph.
        SchemaMismatch: the files have different columns, or a column of numbers here and of texts there.
    """
    shards, options = find_shards(inputs), reading or ReadOptions()
    given = [inputs] if isinstance(inputs, str | Path) else inputs
    check_outputs([*given, *(shard.path for shard in shards)], out, rejects)
    rows = rejected = 0
    total = sum(shard.size for shard in shards) or 1
    kept = _Columns()
    with ExitStack() as stack:
        writer = None
        if rejects is not None:
            work = stack.enter_context(replaced_file(rejects))
            writer = csv.writer(stack.enter_context(work.open("w", encoding="utf-8", newline="")))
            writer.writerow(("file", "row", "id", "problem"))

        def chunks() -> Iterator[GraphSet]:
            nonlocal rows, rejected
            for done, shard in enumerate(shards):
                share = sum(before.size for before in shards[:done]) / total
                for each in read_blocks(shard, block, options, columns):
                    for bad in each.rejected:
                        if writer is None:
                            found = PLACE.fullmatch(bad.problem)
                            place, why = ("", bad.problem) if found is None else (f", {found[1]}", found[2])
                            raise InvalidGraph(
                                f"{shard.path}{place} (id {bad.graph_id!r}): {why}; name a file of rejects "
                                f"to leave such rows out"
                            )
                        writer.writerow((shard.path, each.start + bad.index, bad.graph_id, bad.problem))
                    rows, rejected = rows + len(each), rejected + len(each.rejected)
                    if each.graphs is not None:
                        yield kept.of(each, each.graphs, shard.path)
                    progress(ShardProgress(rows, done, len(shards), share))

        try:
            graphs = save_stream(chunks(), out, finish=kept.finish)
        except InvalidParameter as error:
            raise InvalidParameter(f"not one of {rows:,} rows is a graph") if rows else error from error
    return Stored(graphs, rows, rejected)


class _Columns:
    """The graph columns, each of one kind in all blocks: that of the first block with a value in it."""

    def __init__(self) -> None:
        self._known: dict[str, Column] = {}  # those of which a value has come
        self._wordy: dict[str, Column] = {}  # those of which only words such as "none" have come

    def of(self, block: Block, graphs: GraphSet, path: str) -> GraphSet:
        """The graphs of a block with the columns that were read beside them."""
        for name, values in block.columns.items():
            if graphs.schema.column("graph", name) is None:
                column, stored = self._stored(name, values.take(block.rows.tolist()), path, block.typed)
                graphs = graphs.with_column("graph", column, stored)
        for column in graphs.schema.graph:
            if _has_value(column, graphs.graph[column.name]):
                known = self._known.setdefault(column.name, column)
                if known.kind != column.kind:
                    raise SchemaMismatch(
                        f"{path}: the column {column.name!r} is one of kind {column.kind!r}, and of kind "
                        f"{known.kind!r} in the rows before: store such files apart, or leave the column out"
                    )
        return graphs

    def finish(self, graphs: GraphSet) -> GraphSet:
        """The same after the last block: columns without a value in this one take the kind of the others."""
        columns, stored = [], dict(graphs.graph)
        for column in graphs.schema.graph:
            known = self._known.get(column.name) or self._wordy.get(column.name, column)
            if known.kind != column.kind:
                column, stored[column.name] = _without_values(known, len(graphs))
            columns.append(column)
        return replace(graphs, schema=graphs.schema.replace("graph", columns), graph=stored)

    def _stored(self, name: str, values: Any, path: str, typed: bool) -> tuple[Column, NDArray[Any]]:
        """An Arrow array as a graph column: NaN, or an empty text, where a value is missing.

        With `typed`, texts are texts; otherwise they may be the cells of a column of numbers.
        """
        import pyarrow as pa

        numbers, kind = Column(name, "float", unit=split_header(name)[1]), values.type
        if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
            floats = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            return numbers, np.asarray(floats, np.float64)
        texts = ["" if value is None else str(value) for value in values.to_pylist()]
        given = [text for text in texts if text.strip().casefold() not in MISSING]
        strange = next((text for text in given if not _is_number(text)), None)
        known = self._known.get(name)
        wordy = known is None and not given and any(texts)
        if wordy:
            self._wordy.setdefault(name, Column(name, "text"))
        wordy = wordy or (typed and any(texts))
        if wordy or (strange is not None if known is None else known.kind != "float"):
            return Column(name, "text"), np.array(texts, np.str_)
        if strange is not None:
            raise InvalidFile(f"{path}: the column {name!r} holds numbers, and {strange!r} is none")
        return numbers, np.array([float(text) if _is_number(text) else np.nan for text in texts])


def _has_value(column: Column, values: NDArray[Any]) -> bool:
    if column.kind == "text":
        return any(text.strip().casefold() not in MISSING for text in values.tolist())
    given = values != column.unknown if column.kind == "categorical" else ~np.isnan(values)
    return bool(given.any())


def _without_values(column: Column, n_graphs: int) -> tuple[Column, NDArray[Any]]:
    """A column like that one, in which every value is missing."""
    if column.kind == "categorical":
        return replace(column, categories=()), np.zeros(n_graphs, np.int32)
    if column.kind == "text":
        return column, np.full(n_graphs, "")
    return column, np.full(n_graphs if column.width == 1 else (n_graphs, column.width), np.nan)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


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
        for name, values in _named_arrays(read(part), schema):
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
        for name, values in _named_arrays(read(part), schema):
            if name not in shapes:
                shapes[name], kinds[name] = list(values.shape), values.dtype
                continue
            along, pointer = int(name == "edges"), name in ("node_ptr", "edge_ptr")
            shapes[name][along] += values.shape[along] - int(pointer)
            kinds[name] = np.promote_types(kinds[name], values.dtype)
    return shapes, kinds


def _named_arrays(graphs: GraphSet, schema: Schema) -> Iterator[tuple[str, NDArray[Any]]]:
    """The arrays of a set in the codes of `schema`, by the names of their files."""
    for name in ("node_ptr", "edge_ptr", "edges", "ids"):
        yield name, getattr(graphs, name)
    for level in LEVELS:
        for position, column in enumerate(getattr(schema, level)):
            yield f"{level}_{position}", recode(graphs, level, column)[0]
