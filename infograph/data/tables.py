"""Files of molecules (CSV, TSV, Parquet, SMI, SDF) -> GraphSet, whole or a block of rows at a time."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from infograph.data.graphset import GraphSet, IntArray, Rejected
from infograph.data.molecules import from_molecules
from infograph.data.network_files import looks_like_edges
from infograph.data.read import (
    SMILES_FILES,
    TABLES,
    Cells,
    ReadOptions,
    cell_blocks,
    header,
    in_file,
    kind,
    read_cells,
    read_graphs,
    read_parquet,
    read_text,
    text_lines,
    texts,
    with_columns,
)
from infograph.data.units import match_name
from infograph.data.vectors import arrow_column, check_names, graph_values
from infograph.errors import (
    InvalidFile,
    InvalidGraph,
    InvalidParameter,
    MissingExtra,
    NothingLeft,
    SchemaMismatch,
)

SMILES_NAMES = ("smiles", "canonical_smiles", "isomeric_smiles", "canonicalsmiles", "isomericsmiles", "smi")
ID_NAMES = ("id", "mol_id", "molecule_id", "compound_id", "name")
SMILES = "smiles"  # the one column of a .smi file beside its ids
BUFFER = 1 << 20  # bytes of a Parquet column that are read at a time, instead of a whole row group
READ = ("smiles", "id", "node", "edge", "weight", "directed", "hydrogens", "stereo", "salts")


def read_molecule_table(path: Path, options: ReadOptions) -> GraphSet:
    """A table with a SMILES column; its other columns become graph columns.

    Numbers are floats (NaN where a cell is empty); texts that repeat are categories.
    """
    cells = read_parquet(path) if kind(path) == ".parquet" else read_cells(path, options.errors)
    column = required_smiles(cells.names, options, path)
    label = chosen_column(cells.names, options.label, "label", path)
    id_column = chosen_column(cells.names, options.id, "id", path) or _own_ids(cells, path)
    others = {name: cells.columns[name] for name in cells.names if name not in (column, id_column)}
    if label is not None:
        others[label] = cells.columns[label]
    return rows_to_graphs(
        path,
        [cells.broken.get(row, smiles) for row, smiles in enumerate(cells.columns[column])],
        ids=None if id_column is None else parse_ids(cells.columns[id_column]),
        columns=others,
        place=cells.place,
        options=options,
        label=label,
    )


def is_molecule_table(path: Path, options: ReadOptions) -> bool:
    """Whether a CSV file is one of molecules, and not an edge list."""
    names = header(path)
    return options.smiles is not None or smiles_column(names) is not None or not looks_like_edges(names)


def smiles_column(names: Sequence[str], chosen: str | None = None) -> str | None:
    """The column that holds the SMILES: the chosen one, or one that is called so."""
    if chosen is not None:
        return chosen if chosen in names else None
    lower = {name.strip().casefold(): name for name in reversed(names)}
    return next((lower[name] for name in SMILES_NAMES if name in lower), None)


def required_smiles(names: Sequence[str], options: ReadOptions, path: Path) -> str:
    """The same column, of a file that must have one.

    Raises:
        InvalidFile: it has none.
    """
    column = smiles_column(names, options.smiles)
    if column is None:
        raise InvalidFile(f"{path} has no SMILES column among {list(names)}: name it with smiles=")
    return column


def id_columns(names: Sequence[str]) -> list[str]:
    """The columns that are called like ids."""
    return [name for name in names if name.strip().casefold() in ID_NAMES]


def chosen_column(names: Sequence[str], chosen: str | None, option: str, path: Path) -> str | None:
    """The column that `chosen` names, with or without the unit in its header."""
    found = None if chosen is None else match_name(names, chosen)
    if chosen is not None and found is None:
        raise InvalidParameter(f"{option}={chosen!r}: {path} has no such column, only {list(names)}")
    return found


def _own_ids(cells: Cells, path: Path) -> str | None:
    """A column that is called like ids and whose values are all given and different.

    Where there are only columns that are called so, a warning says why they are not used.
    """
    unfit: list[tuple[str, str]] = []
    for name in id_columns(cells.names):
        values = [value for row, value in enumerate(cells.columns[name]) if row not in cells.broken]
        if all(values) and len(set(values)) == len(values):
            return name
        repeated = [value for value, times in Counter(values).items() if value and times > 1]
        unfit.append((name, f"repeats {repeated[0]!r}" if repeated else "has empty cells"))
    if unfit:
        name, why = unfit[0]
        warnings.warn(
            f"{path}: the column {name!r} {why}, so graphs are numbered by position; "
            f"id={name!r} takes it all the same",
            stacklevel=2,
        )
    return None


def parse_ids(values: Sequence[str]) -> list[str] | list[int]:
    """Ids as integers where that loses nothing ("007" stays text)."""
    if all(re.fullmatch(r"0|-?[1-9]\d{0,17}", value) for value in values):
        return [int(value) for value in values]
    return [value or str(row) for row, value in enumerate(values)]


def rows_to_graphs(
    path: Path,
    mols: Sequence[Any],
    *,
    ids: Sequence[str | int] | None,
    columns: Mapping[str, Sequence[str]],
    place: Callable[[int], str],
    options: ReadOptions,
    label: str | None = None,
) -> GraphSet:
    """The molecules of a file with their columns; errors name the file and the place in it."""
    try:
        graphs = from_molecules(
            mols,
            ids=ids,
            errors=options.errors,
            schema=options.schema,
            hydrogens=options.hydrogens,
            stereo=options.stereo,
            salts=options.salts,
        )
    except (InvalidGraph, InvalidParameter) as error:
        raise in_file(error, path, place) from error
    ours = {name for name in graphs.graph if name != label}  # the canonical SMILES stays what it is
    columns = {f"{name}_in_file" if name in ours else name: cells for name, cells in columns.items()}
    return with_columns(graphs, columns, label=label, place=place)


def read_smi(path: Path, options: ReadOptions) -> GraphSet:
    """One molecule per line: a SMILES, then optionally white space and an id. A header line is tolerated."""
    rows = list(smi_rows(read_text(path).split("\n")))
    ids = [row.id for row in rows]
    return rows_to_graphs(
        path,
        [row.smiles for row in rows],
        ids=parse_ids(ids) if any(ids) else None,
        columns={},
        place=lambda index: f"line {rows[index].line}",
        options=options,
    )


class SmiRow(NamedTuple):
    """A line of a `.smi` file: its number, counted from 1, and what stands in it; texts may be empty."""

    line: int
    smiles: str
    id: str


def smi_rows(lines: Iterable[str]) -> Iterator[SmiRow]:
    """The rows of a `.smi` file: a header and blank lines at the end are none."""
    waiting: list[SmiRow] = []
    for number, line in enumerate(lines, start=1):
        parts = line.split(maxsplit=1)
        if number == 1 and parts and parts[0].casefold() in SMILES_NAMES:
            continue
        if not parts:
            waiting.append(SmiRow(number, "", ""))
            continue
        yield from waiting
        yield SmiRow(number, parts[0], parts[1].strip() if len(parts) > 1 else "")
        waiting = []


def read_sdf(path: Path, options: ReadOptions) -> GraphSet:
    """An SDF file: properties become graph columns, titles the ids unless `id` names a property."""
    records = list(_records(path, options))
    mols = [mol for _, _, mol, _ in records]
    names = list(dict.fromkeys(name for *_, properties in records for name in properties))
    columns = {name: [properties.get(name, "") for *_, properties in records] for name in names}
    titles = [title for _, title, _, _ in records]
    label = chosen_column(names, options.label, "label", path)
    id_column = chosen_column(names, options.id, "id", path)
    ids = columns[id_column] if id_column else titles
    if id_column and id_column != label:
        del columns[id_column]
    return rows_to_graphs(
        path,
        mols,
        ids=parse_ids(ids) if any(ids) else None,
        columns=columns,
        place=lambda index: f"record {index + 1} (line {records[index][0]})",
        options=options,
        label=label,
    )


def _records(path: Path, options: ReadOptions) -> Iterator[tuple[int, str, Any, dict[str, str]]]:
    """Of every record its first line's number, title, molecule (or what is wrong with it) and properties."""
    try:
        from rdkit import Chem, rdBase
    except ImportError as error:
        raise MissingExtra("rdkit", "chem") from error
    text = read_text(path)
    if "M  END" not in text:
        raise InvalidFile(f"{path} is truncated or no SDF file: it has no line 'M  END'")
    line = 1
    for record in re.split(r"^\$\$\$\$.*\n?", text, flags=re.MULTILINE):
        if record.strip():
            problem = _broken(record)
            if problem and options.errors == "raise":
                raise InvalidFile(f"{path}, line {line}: {problem}")
            block = record.partition("M  END")[0] + "M  END\n"
            with rdBase.BlockLogs():
                mol = Chem.MolFromMolBlock(block, removeHs=False)
                mol = mol or Chem.MolFromMolBlock(block, sanitize=False, removeHs=False)
            bad = problem or (None if mol else "no readable molecule block")
            title = record.partition("\n")[0].strip()
            yield line, title, Rejected(0, 0, bad) if bad else mol, _properties(record)
        line += record.count("\n") + 1


def _broken(record: str) -> str | None:
    """What is wrong with the ends of a record, so that it does not hold just one molecule."""
    ends = len(re.findall(r"^M  END", record, flags=re.MULTILINE))
    if not ends:
        return "the record is cut off, it has no line 'M  END'"
    return None if ends == 1 else f"{ends} molecules in one record: the lines '$$$$' between them are missing"


def _properties(record: str) -> dict[str, str]:
    found = re.findall(r"^>.*?<([^>\n]+)>.*\n((?:.+\n?)*)", record, flags=re.MULTILINE)
    return {name: value.strip() for name, value in found}


# A shard -> blocks of rows: molecules read as they stream by, other graphs read whole and cut.
#
# Parquet, CSV, TSV and `.smi` files are streamed, so that memory is bounded by the block. SDF, JSON lines,
# saved GraphSets and all else that `infograph.data.read.read_graphs` knows are read whole by it: keep such
# shards small enough for memory (a saved GraphSet is a memory map, and takes little).
#
# Ids are the cells of the id column, as texts: the chosen one, or the first that is called like ids. They
# may repeat: whether they do would take the whole file. Rows without an id are `<shard>:<row>`, rows counted
# from 0; so are graphs whose ids are just their positions.


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


@dataclass(frozen=True, eq=False)
class Block:
    """Some consecutive rows of a shard. R rows, of which G are graphs.

    Attributes:
        start: the first one's place in the shard.
        ids: (R,) the user's ids.
        columns: what else is asked for, an Arrow array (R,) per name.
        graphs: those that could be read, None if there are none.
        rows: (G,) where in the block the graphs stand.
        rejected: the other rows; `index` counts from the start of the block, `problem` names the place.
    """

    start: int
    ids: Sequence[str]
    columns: dict[str, Any]
    graphs: GraphSet | None
    rows: IntArray
    rejected: tuple[Rejected, ...]

    @classmethod
    def of(
        cls,
        start: int,
        ids: Sequence[str],
        columns: dict[str, Any],
        graphs: GraphSet | None,
        rejected: tuple[Rejected, ...],
    ) -> Self:
        """A block in which every row that is not rejected is a graph, in their order."""
        rows = np.delete(np.arange(len(ids)), np.array([each.index for each in rejected], np.int64))
        graphs = None if graphs is None else replace(graphs, rejected=())
        return cls(start, ids, columns, graphs, rows, rejected)

    def __len__(self) -> int:
        return len(self.ids)


def numbered(shard: Shard, row: int) -> str:
    """The id of a row that has none of its own."""
    return f"{shard.name}:{row}"


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


@dataclass(frozen=True)
class Shard:
    """One input file, or a folder with a saved GraphSet.

    Attributes:
        name: what its output is called, without an ending; no two shards of a job share it.
        path: where it is.
        size: bytes.
        mtime_ns: when it was last changed.
    """

    name: str
    path: str
    size: int
    mtime_ns: int
