"""Files of molecules that stream by: Parquet, CSV, TSV and `.smi`, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from infograph.data.chem.molecules import from_molecules
from infograph.data.embedding_files import check_names
from infograph.data.files import TABLES
from infograph.data.formats.cells import cell_blocks, header, texts
from infograph.data.formats.molecule_files import smi_rows
from infograph.data.formats.molecule_tables import chosen_column, id_columns, required_smiles
from infograph.data.formats.network_files import kind
from infograph.data.formats.reading import ReadOptions, text_lines
from infograph.data.graphset import GraphSet, Rejected
from infograph.errors import InvalidFile, NothingLeft, SchemaMismatch
from infograph.scale.block import Block, numbered
from infograph.scale.shards import Shard

SMILES = "smiles"  # the one column of a .smi file beside its ids
BUFFER = 1 << 20  # bytes of a Parquet column that are read at a time, instead of a whole row group


def parquet_blocks(
    shard: Shard, size: int, options: ReadOptions, columns: Sequence[str] | None
) -> Iterator[Block]:
    """A Parquet file; only the columns that are wanted are read."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    path, start = Path(shard.path), 0
    try:
        with parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False) as file:
            names = file.schema_arrow.names
            smiles, own = required_smiles(names, options, path), id_column(names, options, path)
            kept = kept_columns(names, columns, own, path)
            wanted = list(dict.fromkeys([smiles, *([own] if own else []), *kept]))
            for batch in file.iter_batches(size, columns=wanted):
                ids = None if own is None else texts(batch.column(own))
                stored = {name: batch.column(name) for name in kept}
                yield _molecules(shard, start, texts(batch.column(smiles)), ids, stored, options, _row)
                start += batch.num_rows
            if start != file.metadata.num_rows:
                raise InvalidFile(f"{path} is damaged: {start} rows, {file.metadata.num_rows} expected")
    except (pa.ArrowException, OSError) as error:
        raise InvalidFile(f"{path} is damaged or no Parquet file: {error}") from error


def _row(row: int) -> str:
    return f"row {row + 1}"


def _line_of(lines: Mapping[int, int], row: int) -> str:
    return f"line {lines[row]}"


def _line_after(first: int, row: int) -> str:
    return f"line {first + row}"


def table_blocks(
    shard: Shard, size: int, options: ReadOptions, columns: Sequence[str] | None
) -> Iterator[Block]:
    """A CSV or TSV file."""
    import pyarrow as pa

    path, start = Path(shard.path), 0
    names = header(path)
    smiles, own = required_smiles(names, options, path), id_column(names, options, path)
    kept = kept_columns(names, columns, own, path)
    for cells in cell_blocks(path, size):
        ids = None if own is None else cells.columns[own]
        mols = [cells.broken.get(row, cell) for row, cell in enumerate(cells.columns[smiles])]
        stored = {name: pa.array(cells.columns[name], pa.string()) for name in kept}
        lines = dict(enumerate(cells.lines, start=start))
        yield _molecules(shard, start, mols, ids, stored, options, partial(_line_of, lines))
        start += len(mols)


def smi_blocks(
    shard: Shard, size: int, options: ReadOptions, columns: Sequence[str] | None
) -> Iterator[Block]:
    """A `.smi` file."""
    import pyarrow as pa

    path, start = Path(shard.path), 0
    kept = kept_columns([SMILES], columns, None, path)
    rows = smi_rows(text_lines(path))
    while block := list(islice(rows, size)):
        mols, first = [row.smiles for row in block], block[0].line - start
        stored = {name: pa.array(mols, pa.string()) for name in kept}
        ids = [row.id for row in block]
        yield _molecules(shard, start, mols, ids, stored, options, partial(_line_after, first))
        start += len(block)


def _molecules(
    shard: Shard,
    start: int,
    mols: Sequence[Any],
    ids: Sequence[str] | None,
    columns: dict[str, Any],
    options: ReadOptions,
    place: Callable[[int], str],
) -> Block:
    """A block of molecules; `place` says where a row of the shard stands in its file."""
    names = [numbered(shard, start + row) for row in range(len(mols))] if ids is None else list(ids)
    names = [name or numbered(shard, start + row) for row, name in enumerate(names)]
    graphs: GraphSet | None = None
    rejected: Sequence[Rejected] = ()
    try:
        graphs = from_molecules(
            mols,
            ids=names,
            errors="skip",
            schema=options.schema,
            hydrogens=options.hydrogens,
            stereo=options.stereo,
            salts=options.salts,
            keep_smiles=False,
        )
        rejected = graphs.rejected
    except NothingLeft as error:
        rejected = error.rejected
    placed = (replace(each, problem=f"{place(start + each.index)}: {each.problem}") for each in rejected)
    return Block.of(start, names, columns, graphs, tuple(placed))


def column_types(shard: Shard, options: ReadOptions, columns: Sequence[str] | None) -> Any:
    """The Arrow schema of the columns of a shard without rows; only Parquet and tables can be that."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    path = Path(shard.path)
    if kind(path) == ".parquet":
        schema = parquet.read_schema(path)
        kept = kept_columns(schema.names, columns, id_column(schema.names, options, path), path)
        return pa.schema([schema.field(name) for name in kept])
    names = list(header(path)) if kind(path) in TABLES else [SMILES]
    kept = kept_columns(names, columns, id_column(names, options, path), path)
    return pa.schema([(name, pa.string()) for name in kept])


def id_column(names: Sequence[str], options: ReadOptions, path: Path) -> str | None:
    """The column of the ids: the chosen one, or the first that is called like ids."""
    chosen = chosen_column(names, options.id, "id", path)
    return chosen or next(iter(id_columns(names)), None)


def kept_columns(
    names: Sequence[str], columns: Sequence[str] | None, own: str | None, path: Path
) -> list[str]:
    """The columns to write beside the vectors.

    Raises:
        SchemaMismatch: there is no such column.
        InvalidParameter: a column has a name that the file of vectors needs for itself.
    """
    kept = [name for name in names if name != own] if columns is None else list(columns)
    missing = [name for name in kept if name not in names]
    if missing:
        have = ", ".join(map(repr, names))
        raise SchemaMismatch(f"no column {missing[0]!r} in {path}; there are: {have}")
    check_names(kept)
    return kept
