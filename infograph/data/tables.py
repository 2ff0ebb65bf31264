"""Files of molecules (CSV, TSV, Parquet, SMI, SDF) -> GraphSet, whole or a block of rows at a time.

Every format is a function that gives its rows some at a time; reading a file whole is asking for one block.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from infograph.data.graphset import GraphSet, IntArray, Rejected
from infograph.data.molecules import from_molecules
from infograph.data.network_files import looks_like_edges
from infograph.data.read import (
    SDF_FILES,
    SMILES_FILES,
    TABLES,
    ReadOptions,
    cell_blocks,
    header,
    in_file,
    kind,
    placed,
    read,
    text_lines,
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


@dataclass(frozen=True, eq=False)
class Rows:
    """Consecutive rows of a file of molecules."""

    molecules: Sequence[Any]  # SMILES or RDKit molecules; a `Rejected` where a row is broken
    columns: Mapping[str, Any]  # texts, or an Arrow array where the file has types
    place: Callable[[int], str]  # where a row stands in the file
    smiles: str | None = None  # the column of the molecules, if they are in one
    ids: Sequence[str] | None = None  # of a format that has them outside its columns
    broken: Mapping[int, Rejected] = field(default_factory=dict)


def read_molecules(path: Path, options: ReadOptions) -> GraphSet:
    """All molecules of a file; its other columns become graph columns."""
    rows = next(_rows(path, options), None)
    if rows is None:
        raise InvalidFile(f"{path} has a header and no rows")
    for row, broken in rows.broken.items():
        if options.errors == "raise":
            raise InvalidFile(f"{path}, {rows.place(row)}: {broken.problem}")
    label = chosen_column(rows.columns, options.label, "label", path)
    own = chosen_column(rows.columns, options.id, "id", path)
    if own is None and rows.ids is None:
        own = _distinct_ids(rows, path)
    names = (rows.ids if own is None else texts(rows.columns[own])) or []
    ids: Sequence[str | int] | None = [name or str(row) for row, name in enumerate(names)]
    if all(re.fullmatch(r"0|-?[1-9]\d{0,17}", name) for name in names):  # "007" stays text
        ids = [int(name) for name in names]
    try:
        graphs = from_molecules(rows.molecules, ids=ids if any(names) else None, **options.of_molecules)
    except (InvalidGraph, InvalidParameter) as error:
        raise in_file(error, path, rows.place) from error
    columns = {}
    for name, cells in rows.columns.items():
        if name == label:
            columns[name] = cells
        elif name not in (rows.smiles, own):  # the canonical SMILES stays what it is
            columns[f"{name}_in_file" if name in graphs.graph else name] = cells
    return with_columns(graphs, columns, label, rows.place)


def _distinct_ids(rows: Rows, path: Path) -> str | None:
    """A column that is called like ids and whose values are all given and different; or a warning."""
    unfit = []
    for name in id_columns(rows.columns):
        values = [text for row, text in enumerate(texts(rows.columns[name])) if row not in rows.broken]
        if all(values) and len(set(values)) == len(values):
            return name
        repeated = next((text for text, times in Counter(values).items() if text and times > 1), None)
        unfit.append((name, f"repeats {repeated!r}" if repeated else "has empty cells"))
    if unfit:
        name, why = unfit[0]
        warnings.warn(
            f"{path}: the column {name!r} {why}, so graphs are numbered by position; "
            f"id={name!r} takes it all the same",
            stacklevel=2,
        )
    return None


def texts(column: Any) -> list[str]:
    """A column as texts: empty where a value is missing."""
    if isinstance(column, list):
        return column
    return ["" if value is None else str(value) for value in column.to_pylist()]


def is_molecule_table(path: Path, options: ReadOptions) -> bool:
    """Whether a CSV file is one of molecules, and not an edge list."""
    names = header(path)
    return options.smiles is not None or bool(smiles_columns(names)) or not looks_like_edges(names)


def smiles_columns(names: Sequence[str]) -> list[str]:
    """The columns that are called like SMILES, the best first."""
    lower = {name.strip().casefold(): name for name in reversed(names)}
    return [lower[name] for name in SMILES_NAMES if name in lower]


def _required_smiles(names: Sequence[str], options: ReadOptions, path: Path) -> str:
    found = smiles_columns(names) if options.smiles is None else {options.smiles}.intersection(names)
    for column in found:
        return column
    raise InvalidFile(f"{path} has no SMILES column among {list(names)}: name it with smiles=")


def id_columns(names: Iterable[str]) -> list[str]:
    """The columns that are called like ids."""
    return [name for name in names if name.strip().casefold() in ID_NAMES]


def chosen_column(names: Iterable[str], chosen: str | None, option: str, path: Path) -> str | None:
    """The column that `chosen` names, with or without the unit in its header."""
    found = None if chosen is None else match_name(names, chosen)
    if chosen is not None and found is None:
        raise InvalidParameter(f"{option}={chosen!r}: {path} has no such column, only {list(names)}")
    return found


# The formats. Each gives the rows of a file, `size` at a time (None: all at once), with at least the columns
# that `columns` names (None: all).


def _rows(
    path: Path, options: ReadOptions, size: int | None = None, columns: Sequence[str] | None = None
) -> Iterator[Rows]:
    ending = kind(path)
    if ending == ".parquet":
        return _parquet_rows(path, options, size, columns)
    if ending in SMILES_FILES:
        return _smi_rows(path, size)
    return _sdf_rows(path) if ending in SDF_FILES else _table_rows(path, options, size)


def _table_rows(path: Path, options: ReadOptions, size: int | None) -> Iterator[Rows]:
    for cells in cell_blocks(path, size):
        smiles = _required_smiles(cells.names, options, path)
        molecules = [cells.broken.get(row, text) for row, text in enumerate(cells.columns[smiles])]
        yield Rows(molecules, cells.columns, cells.place, smiles, broken=cells.broken)


def _parquet_rows(
    path: Path, options: ReadOptions, size: int | None, columns: Sequence[str] | None
) -> Iterator[Rows]:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    start = 0
    try:
        with parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False) as file:
            names, total = file.schema_arrow.names, file.metadata.num_rows
            smiles, wanted = _required_smiles(names, options, path), names
            if columns is not None:
                own = id_column(names, options, path)
                kept = kept_columns(names, columns, own, path)
                wanted = list(dict.fromkeys([smiles, *([own] if own else []), *kept]))
            batches = (
                file.iter_batches(size, columns=wanted) if size else [file.read(wanted)] if total else []
            )
            for batch in batches:
                yield Rows(
                    texts(batch.column(smiles)),
                    {name: batch.column(name) for name in wanted},
                    _counted("row", range(start + 1, start + 1 + batch.num_rows)),
                    smiles,
                )
                start += batch.num_rows
            if start != total:
                raise InvalidFile(f"{path} is damaged: {start} rows, {total} expected")
    except (pa.ArrowException, OSError) as error:
        raise InvalidFile(f"{path} is damaged or no Parquet file: {error}") from error


def _counted(what: str, numbers: Sequence[int]) -> Callable[[int], str]:
    return lambda row: f"{what} {numbers[row]}"


def _smi_rows(path: Path, size: int | None) -> Iterator[Rows]:
    """One molecule per line: a SMILES, then optionally white space and an id. A header line is tolerated."""

    def rows() -> Iterator[tuple[int, str, str]]:
        waiting: list[tuple[int, str, str]] = []  # blank lines at the end are no rows
        for number, line in enumerate(text_lines(path), start=1):
            smiles, *rest = line.split(maxsplit=1) or [""]
            if number == 1 and smiles.casefold() in SMILES_NAMES:
                continue
            waiting.append((number, smiles, rest[0].strip() if rest else ""))
            if smiles:
                yield from waiting
                waiting = []

    found = rows()
    while block := list(islice(found, size)):
        lines, smiles, ids = (list(part) for part in zip(*block, strict=True))
        yield Rows(smiles, {SMILES: smiles}, _counted("line", lines), SMILES, ids)


def _sdf_rows(path: Path) -> Iterator[Rows]:
    """An SDF file: properties become columns, titles the ids."""
    try:
        from rdkit import Chem, rdBase
    except ImportError as error:
        raise MissingExtra("rdkit", "chem") from error
    text = "".join(text_lines(path))
    if "M  END" not in text:
        raise InvalidFile(f"{path} is truncated or no SDF file: it has no line 'M  END'")
    titles, molecules, properties = [], [], []
    lines: list[int] = []
    broken: dict[int, Rejected] = {}
    line = 1
    for record in re.split(r"^\$\$\$\$.*\n?", text, flags=re.MULTILINE):
        if record.strip():
            row, ends = len(lines), len(re.findall(r"^M  END", record, flags=re.MULTILINE))
            block = record.partition("M  END")[0] + "M  END\n"
            with rdBase.BlockLogs():
                mol = Chem.MolFromMolBlock(block, removeHs=False)
                mol = mol or Chem.MolFromMolBlock(block, sanitize=False, removeHs=False)
            if not ends:
                broken[row] = Rejected(row, row, "the record is cut off, it has no line 'M  END'")
            elif ends > 1:
                broken[row] = Rejected(row, row, f"{ends} molecules in one record: no lines '$$$$' between")
            lines.append(line)
            titles.append(record.partition("\n")[0].strip())
            molecules.append(broken.get(row) or mol or Rejected(row, row, "no readable molecule block"))
            found = re.findall(r"^>.*?<([^>\n]+)>.*\n((?:.+\n?)*)", record, flags=re.MULTILINE)
            properties.append({name: value.strip() for name, value in found})
        line += record.count("\n") + 1
    names = dict.fromkeys(name for each in properties for name in each)
    columns = {name: [each.get(name, "") for each in properties] for name in names}
    yield Rows(
        molecules, columns, lambda row: f"record {row + 1} (line {lines[row]})", ids=titles, broken=broken
    )


# A shard -> blocks of rows: molecules read as they stream by, other graphs read whole and cut.
#
# Parquet, CSV, TSV and `.smi` files are streamed, so that memory is bounded by the block. SDF, JSON lines,
# saved GraphSets and all else that `infograph.read_graphs` knows are read whole by it: keep such shards small
# enough for memory (a saved GraphSet is a memory map, and takes little).
#
# Ids are the cells of the id column, as texts: the chosen one, or the first that is called like ids. They
# may repeat: whether they do would take the whole file. Rows without an id are `<shard>:<row>`, rows counted
# from 0; so are graphs whose ids are just their positions.


@dataclass(frozen=True)
class Shard:
    """One input file, or a folder with a saved GraphSet."""

    name: str  # of its output, without an ending; no two shards of a job share it
    path: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, eq=False)
class Block:
    """Some consecutive rows of a shard. R rows, of which G are graphs."""

    start: int  # the first one's place in the shard
    ids: Sequence[str]  # (R,)
    columns: dict[str, Any]  # what else is asked for, an Arrow array (R,) per name
    graphs: GraphSet | None  # None if none could be read
    rejected: tuple[Rejected, ...]  # the other rows; `index` counts from the start of the block
    typed: bool = True  # whether the file says what its columns hold; if not, numbers are texts

    @cached_property
    def rows(self) -> IntArray:
        """Where in the block the graphs stand. (G,)."""
        return np.delete(np.arange(len(self)), np.array([each.index for each in self.rejected], np.int64))

    def __len__(self) -> int:
        return len(self.ids)


def read_blocks(
    shard: Shard, size: int, options: ReadOptions, columns: Sequence[str] | None
) -> Iterator[Block]:
    """The rows of a shard, `size` at a time and every one of them, with some of its columns (None: all)."""
    import pyarrow as pa

    path, start = Path(shard.path), 0
    streamed = path.is_file() and (
        kind(path) in (".parquet", *SMILES_FILES)
        or (kind(path) in TABLES and is_molecule_table(path, options))
    )
    if not streamed:
        yield from _cut(shard, size, options, columns)
        return
    for rows in _rows(path, options, size, columns):
        own = id_column(rows.columns, options, path)
        names = texts(rows.columns[own]) if own else rows.ids or [""] * len(rows.molecules)
        ids = [name or f"{shard.name}:{start + row}" for row, name in enumerate(names)]
        stored = {name: rows.columns[name] for name in kept_columns(rows.columns, columns, own, path)}
        arrays = {n: pa.array(v, pa.string()) if isinstance(v, list) else v for n, v in stored.items()}
        graphs: GraphSet | None = None
        try:
            how = {**options.of_molecules, "errors": "skip"}
            graphs = from_molecules(rows.molecules, ids=ids, keep_smiles=False, **how)
            graphs, rejected = replace(graphs, rejected=()), graphs.rejected
        except NothingLeft as error:
            rejected = error.rejected
        typed = kind(path) == ".parquet"
        yield Block(start, ids, arrays, graphs, placed(rejected, rows.place), typed)
        start += len(ids)


def _cut(shard: Shard, size: int, options: ReadOptions, columns: Sequence[str] | None) -> Iterator[Block]:
    """The blocks of a shard that is read whole."""
    import pyarrow as pa

    graphs: GraphSet | None = None
    try:
        graphs = read(Path(shard.path), replace(options, errors="skip", label=None, units={}))
        rejected = graphs.rejected
        graphs = replace(graphs, rejected=())
    except InvalidFile as error:
        if not isinstance(error.__cause__, NothingLeft) or not error.__cause__.rejected:
            raise
        rejected = error.__cause__.rejected
    own = [] if graphs is None else graphs.ids.tolist()
    total = len(own) + len(rejected)
    good = np.delete(np.arange(total), np.array([each.index for each in rejected], np.int64))  # (G,)
    position = np.full(total, -1)  # of the graph of every row
    position[good] = np.arange(len(good))
    ids = [f"{shard.name}:{row}" for row in range(total)]
    named = [*zip(good.tolist(), own, strict=True), *((each.index, each.graph_id) for each in rejected)]
    for row, name in named:
        ids[row] = ids[row] if name == row else str(name)
    known = [] if graphs is None else [column.name for column in graphs.schema.graph]
    kept = known if columns is None else list(columns)
    check_names(kept)
    stored = {
        name: pa.nulls(total, pa.string()) if graphs is None else arrow_column(graph_values(graphs, name))
        for name in kept
    }
    for start in range(0, total, size):
        here = position[start : start + size]
        found = here[here >= 0]
        inside = tuple(
            replace(each, index=each.index - start, graph_id=ids[each.index])
            for each in rejected
            if start <= each.index < start + size
        )
        cut = graphs[int(found[0]) : int(found[-1]) + 1] if graphs is not None and len(found) else None
        taken = {name: values.take(pa.array(here, mask=here < 0)) for name, values in stored.items()}
        yield Block(start, ids[start : start + size], taken, cut, inside)


def column_types(shard: Shard, options: ReadOptions, columns: Sequence[str] | None) -> Any:
    """The Arrow schema of the columns of a shard without rows; only Parquet and tables can be that."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    path = Path(shard.path)
    if kind(path) == ".parquet":
        schema = parquet.read_schema(path)
    else:
        names = header(path) if kind(path) in TABLES else [SMILES]
        schema = pa.schema([(name, pa.string()) for name in names])
    kept = kept_columns(schema.names, columns, id_column(schema.names, options, path), path)
    return pa.schema([schema.field(name) for name in kept])


def id_column(names: Iterable[str], options: ReadOptions, path: Path) -> str | None:
    """The column of the ids: the chosen one, or the first that is called like ids."""
    return chosen_column(names, options.id, "id", path) or next(iter(id_columns(names)), None)


def kept_columns(
    names: Iterable[str], columns: Sequence[str] | None, own: str | None, path: Path
) -> list[str]:
    """The columns to write beside the vectors."""
    kept = [name for name in names if name != own] if columns is None else list(columns)
    missing = [name for name in kept if name not in names]
    if missing:
        have = ", ".join(map(repr, names))
        raise SchemaMismatch(f"no column {missing[0]!r} in {path}; there are: {have}")
    check_names(kept)
    return kept
