"""Files of graphs -> one GraphSet on disk, a block of rows in memory at a time."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.formats.reading import MISSING, ReadOptions
from infograph.data.graphset import GraphSet
from infograph.data.rejected import PLACE
from infograph.data.schema import Column
from infograph.data.storage import check_outputs, replaced_file
from infograph.data.stream import save_stream
from infograph.data.units import split_header
from infograph.errors import InvalidFile, InvalidGraph, InvalidParameter, SchemaMismatch
from infograph.scale.block import Block
from infograph.scale.blocks import read_blocks
from infograph.scale.job import BLOCK
from infograph.scale.report import Progress
from infograph.scale.shards import Inputs, find_shards


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
    progress: Callable[[Progress], None] = lambda now: None,
) -> Stored:
    """Read files of graphs, however large, into one saved GraphSet.

        graphs = store_graphs("shards/*.parquet", "graphs", columns=["logS"], rejects="bad.csv").graphs
        InfoGraph().fit(graphs, scratch="scratch")

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
                            raise _named(bad.problem, shard.path, bad.graph_id)
                        writer.writerow((shard.path, each.start + bad.index, bad.graph_id, bad.problem))
                    rows, rejected = rows + len(each), rejected + len(each.rejected)
                    if each.graphs is not None:
                        yield kept.of(each, each.graphs, shard.path)
                    progress(Progress(rows, done, len(shards), share))

        try:
            graphs = save_stream(chunks(), out, finish=kept.finish)
        except InvalidParameter as error:
            raise InvalidParameter(f"not one of {rows:,} rows is a graph") if rows else error from error
    return Stored(graphs, rows, rejected)


def _named(problem: str, path: str, graph_id: str | int) -> InvalidGraph:
    found = PLACE.fullmatch(problem)
    place, why = ("", problem) if found is None else (f", {found[1]}", found[2])
    return InvalidGraph(f"{path}{place} (id {graph_id!r}): {why}; --rejects FILE leaves such rows out")


class _Columns:
    """The graph columns, each of one kind in all blocks: that of the first block with a value in it."""

    def __init__(self) -> None:
        self._known: dict[str, Column] = {}  # those of which a value has come
        self._wordy: dict[str, Column] = {}  # those of which only words such as "none" have come

    def of(self, block: Block, graphs: GraphSet, path: str) -> GraphSet:
        """The graphs of a block with the columns that were read beside them.

        Raises:
            SchemaMismatch: a column is of another kind than in the blocks before.
        """
        for name, values in block.columns.items():
            if graphs.schema.column("graph", name) is None:
                column, stored = self._stored(name, values.take(block.rows.tolist()), path)
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

    def _stored(self, name: str, values: Any, path: str) -> tuple[Column, NDArray[Any]]:
        """An Arrow array as a graph column: NaN, or an empty text, where a value is missing."""
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
