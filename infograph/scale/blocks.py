"""A shard -> blocks of rows: molecules read as they stream by, other graphs read whole and cut.

Parquet, CSV, TSV and `.smi` files are streamed, so that memory is bounded by the block. SDF, JSON lines,
saved GraphSets and all else that `infograph.data.files.read_graphs` knows are read whole by it: keep such
shards small enough for memory (a saved GraphSet is a memory map, and takes little).

Ids are the cells of the id column, as texts: the chosen one, or the first that is called like ids. They may
repeat: whether they do would take the whole file. Rows without an id are `<shard>:<row>`, rows counted from
0; so are graphs whose ids are just their positions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from infograph.data.embedding_files import arrow_column, check_names
from infograph.data.embeddings import graph_values
from infograph.data.files import SMILES_FILES, TABLES, read_graphs
from infograph.data.formats.molecule_tables import is_molecule_table
from infograph.data.formats.network_files import kind
from infograph.data.formats.reading import ReadOptions
from infograph.data.graphset import GraphSet, IntArray, Rejected
from infograph.errors import InvalidFile, NothingLeft
from infograph.scale.block import Block, numbered
from infograph.scale.job import READ
from infograph.scale.shards import Shard
from infograph.scale.streams import parquet_blocks, smi_blocks, table_blocks


def read_blocks(
    shard: Shard, size: int, options: ReadOptions, columns: Sequence[str] | None
) -> Iterator[Block]:
    """The rows of a shard, `size` at a time and every one of them.

    Args:
        shard: the shard.
        size: rows per block.
        options: how to read it; bad rows are listed, whatever `options.errors` says.
        columns: columns to keep, None for all.

    Raises:
        InvalidFile: it is damaged; some blocks may have come before.
        SchemaMismatch: it lacks a column.
    """
    path = Path(shard.path)
    if path.is_file():
        ending = kind(path)
        if ending == ".parquet":
            return parquet_blocks(shard, size, options, columns)
        if ending in SMILES_FILES:
            return smi_blocks(shard, size, options, columns)
        if ending in TABLES and is_molecule_table(path, options):
            return table_blocks(shard, size, options, columns)
    return _whole(shard, size, options, columns)


def _whole(shard: Shard, size: int, options: ReadOptions, columns: Sequence[str] | None) -> Iterator[Block]:
    graphs, rejected = _read_whole(shard, options)
    total = (0 if graphs is None else len(graphs)) + len(rejected)
    bad = np.array([each.index for each in rejected], np.int64)
    good = np.delete(np.arange(total), bad)  # (G,) the row of every graph
    ids: list[Any] = [None] * total
    for row, own in zip(good.tolist(), [] if graphs is None else graphs.ids.tolist(), strict=True):
        ids[row] = None if own == row else str(own)
    for each in rejected:
        ids[each.index] = None if each.graph_id == each.index else str(each.graph_id)
    ids = [numbered(shard, row) if own is None else own for row, own in enumerate(ids)]
    known = [] if graphs is None else [column.name for column in graphs.schema.graph]
    kept = known if columns is None else list(columns)
    check_names(kept)
    stored = {name: _stored(graphs, name, total) for name in kept}
    places = np.full(total, -1)
    places[good] = np.arange(len(good))
    for start in range(0, total, size):
        stop = min(start + size, total)
        first, last = np.searchsorted(good, [start, stop])
        here = places[start:stop]
        inside = tuple(
            replace(each, index=each.index - start, graph_id=ids[each.index])
            for each in rejected
            if start <= each.index < stop
        )
        cut = None if graphs is None or first == last else graphs[int(first) : int(last)]
        yield Block.of(start, ids[start:stop], {n: _taken(v, here) for n, v in stored.items()}, cut, inside)


def _read_whole(shard: Shard, options: ReadOptions) -> tuple[GraphSet | None, Sequence[Rejected]]:
    try:
        graphs = read_graphs(
            Path(shard.path),
            errors="skip",
            schema=options.schema,
            **{name: getattr(options, name) for name in READ},
        )
    except InvalidFile as error:
        if isinstance(error.__cause__, NothingLeft) and error.__cause__.rejected:
            return None, error.__cause__.rejected
        raise
    return replace(graphs, rejected=()), graphs.rejected


def _taken(values: Any, places: IntArray) -> Any:
    """The values of some rows; -1 is a row that has none."""
    import pyarrow as pa

    return values.take(pa.array(places, mask=places < 0))


def _stored(graphs: GraphSet | None, name: str, total: int) -> Any:
    """A graph column as an Arrow array; without graphs there is nothing that it could hold."""
    import pyarrow as pa

    return pa.nulls(total, pa.string()) if graphs is None else arrow_column(graph_values(graphs, name))
