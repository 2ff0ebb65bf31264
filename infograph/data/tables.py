"""Files of molecules (CSV, TSV, Parquet, SMI, SDF) -> GraphSet, whole or a block of rows at a time.

Every format is a function that gives its rows some at a time; reading a file whole is asking for one block.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from infograph.data.convert import is_missing, whole_number
from infograph.data.graphset import GraphSet, IntArray, Rejected
from infograph.data.molecules import from_molecules
from infograph.data.network_files import called, edge_columns, looks_like_edges
from infograph.data.read import (
    NODES,
    SDF_FILES,
    SMILES_FILES,
    TABLES,
    ReadOptions,
    Rows,
    cell_blocks,
    header,
    in_file,
    kind,
    placed,
    read,
    text_lines,
    whole,
    with_columns,
)
from infograph.data.units import match_name
from infograph.data.vectors import arrow_column, check_names, graph_values
from infograph.errors import (
    ColumnWarning,
    InvalidFile,
    InvalidGraph,
    InvalidParameter,
    MissingExtra,
    NothingLeft,
    SchemaMismatch,
)

SMILES_NAMES = (
    "smiles",
    "canonical_smiles",
    "isomeric_smiles",
    "canonicalsmiles",
    "isomericsmiles",
    "smi",
    "mol",
)
ID_NAMES = ("id", "mol_id", "molecule_id", "compound_id", "name")
SMILES = "smiles"  # the one column of a .smi file beside its ids
BUFFER = 1 << 20  # bytes of a Parquet column that are read at a time, instead of a whole row group
READ = ("smiles", "id", "node", "edge", "weight", "directed", "hydrogens", "stereo", "salts")


def read_molecules(path: Path, options: ReadOptions) -> GraphSet:
    """All molecules of a file; its other columns become graph columns."""
    return molecules_of(whole(path, _rows(path, options), options.errors), options, path)


def molecules_of(
    rows: Rows, options: ReadOptions, path: object, ids: Sequence[str | int] | None = None
) -> GraphSet:
    """The molecules of a table; messages call it `path`. `ids` are those that are no column of it."""
    if options.nodes is not None:
        raise InvalidParameter(NODES)
    columns = {name: plain_column(path, name, cells) for name, cells in rows.columns.items()}
    rows = replace(rows, columns={name: cells for name, cells in columns.items() if cells is not None})
    label = _chosen(rows.columns, options.label, "label", path)
    own = _chosen(rows.columns, options.id, "id", path)
    if own is None and rows.ids is None and ids is None:
        own = _distinct_ids(rows, path)
    if own is not None or ids is None:
        ids = _ids(rows.ids if own is None else texts(rows.columns[own]))
    try:
        graphs = from_molecules(_items(rows), ids=ids, **options.of_molecules)
    except (InvalidGraph, InvalidParameter) as error:
        raise in_file(error, path, rows.place) from error
    columns = {}
    for name, cells in rows.columns.items():
        if name == label:
            columns[name] = cells
        elif name not in (rows.smiles, own):  # the canonical SMILES stays what it is
            columns[f"{name}_in_file" if name in graphs.graph else name] = cells
    return with_columns(graphs, columns, label, rows.place)


def _ids(names: Sequence[str] | None) -> Sequence[str | int] | None:
    """Ids from texts, numbered where one is empty; None where all are."""
    if not any(names or ()):
        return None
    if all(re.fullmatch(r"0|-?[1-9]\d{0,17}", name) for name in names or ()):  # "007" stays text
        return [int(name) for name in names or ()]
    taken = set(names or ())
    numbers = (f"row {row}" if str(row) in taken else str(row) for row in range(len(names or ())))
    return [name or number for name, number in zip(names or (), numbers, strict=True)]


def _items(rows: Rows) -> list[Any]:
    items = list(rows.molecules)
    for row, problem in rows.broken.items():
        items[row] = Rejected(row, row, problem)
    return items


def _distinct_ids(rows: Rows, path: object) -> str | None:
    """A column that is called like ids and whose values are all given and different; or a warning."""
    unfit = ""
    for name in called(rows.columns, ID_NAMES):
        values = [text for row, text in enumerate(texts(rows.columns[name])) if row not in rows.broken]
        if all(values) and len(set(values)) == len(values):
            return name
        (text, times), *_ = Counter(values).most_common(1)
        why = f"repeats {text!r}" if text and times > 1 else "has empty cells"
        unfit = unfit or f"the column {name!r} {why}"
    if unfit:
        problem = f"{path}: {unfit}, so graphs are numbered by position; id= takes it all the same"
        warnings.warn(problem, stacklevel=2)
    return None


def texts(column: Any) -> list[str]:
    """A column as texts: empty where a value is missing; "1" for 1.0, which gaps made of a whole number."""
    if isinstance(column, list):
        return column
    return ["" if is_missing(value) else str(whole_number(value)) for value in column.to_pylist()]


def plain_column(path: object, name: str, column: Any, *, needed: bool = False) -> Any:
    """A column of texts or numbers: bytes as texts, dictionaries as what they stand for.

    One that is nested is refused if it is `needed`, and else None, with a warning.
    """
    if isinstance(column, list):
        return column
    import pyarrow as pa

    if pa.types.is_nested(column.type):
        problem = f"{path}: the column {name!r} is nested ({column.type})"
        if needed:
            raise InvalidFile(f"{problem}, expected one text in each row")
        said = f"{problem} and is not used: write a column for each of its values"
        warnings.warn(said, ColumnWarning, stacklevel=4)
        return None
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        if "binary" in str(column.type):
            column = column.cast(pa.large_binary())
        if "binary" in str(column.type) or pa.types.is_string_view(column.type):
            column = column.cast(pa.large_string())
    except pa.ArrowException as error:
        problem = "holds bytes that are no text in UTF-8: leave it out, or write it as text"
        raise InvalidFile(f"{path}: the column {name!r} {problem}") from error
    return column


def column_names(path: Path) -> list[str]:
    """The columns of a CSV, TSV or Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    if kind(path) != ".parquet":
        return header(path)
    try:
        return list(parquet.read_schema(path).names)
    except (pa.ArrowException, OSError) as error:
        raise InvalidFile(f"{path} is damaged or no Parquet file: {error}") from error


def is_molecule_table(path: Path, options: ReadOptions) -> bool:
    """Whether a CSV, TSV or Parquet file is one of molecules, and not of edges."""
    names = column_names(path)
    edges = kind(path) != ".parquet" and looks_like_edges(names)
    return has_smiles(names, options) or not (edges or edge_columns(names))


def has_smiles(names: Sequence[str], options: ReadOptions) -> bool:
    """Whether a table has a column of SMILES, or was said to have one."""
    return options.smiles is not None or bool(called(names, SMILES_NAMES))


def smiles_column(names: Sequence[str], options: ReadOptions, path: object) -> str:
    """The column of the SMILES: the one that was named, or the first that is called so."""
    if options.smiles in names:
        return str(options.smiles)
    found = called(names, SMILES_NAMES) if options.smiles is None else []
    if not found:
        raise InvalidFile(
            f"{path} has no SMILES column among {list(names)}: name it with read_graphs(..., smiles=), or "
            f"--smiles; edges have columns source and target"
        )
    if len(found) > 1:
        warnings.warn(
            f"{path}: the SMILES may be in any of {found}; the first is taken, smiles= names another",
            ColumnWarning,
            stacklevel=4,
        )
    return found[0]


def _chosen(names: Iterable[str], chosen: str | None, option: str, path: object) -> str | None:
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
    for rows in cell_blocks(path, size):
        smiles = smiles_column(list(rows.columns), options, path)
        yield replace(rows, molecules=rows.columns[smiles], smiles=smiles)


def _parquet_rows(
    path: Path, options: ReadOptions, size: int | None, columns: Sequence[str] | None
) -> Iterator[Rows]:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    start = 0
    try:
        with parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False) as file:
            names, total = file.schema_arrow.names, file.metadata.num_rows
            smiles, wanted = smiles_column(names, options, path), names
            if columns is not None:
                own = _id_column(names, options, path)
                kept = _kept_columns(names, columns, own, path)
                wanted = list(dict.fromkeys([smiles, *([own] if own else []), *kept]))
            batches = (
                file.iter_batches(size, columns=wanted) if size else [file.read(wanted)] if total else []
            )
            for batch in batches:
                batch.validate(full=True)  # texts may not be UTF-8
                numbers = range(start + 1, start + 1 + batch.num_rows)
                cells = {name: batch.column(name) for name in wanted}
                molecules = texts(plain_column(path, smiles, cells[smiles], needed=True))
                yield Rows(cells, numbers, molecules=molecules, smiles=smiles, counted="row")
                start += batch.num_rows
            if start != total:
                raise InvalidFile(f"{path} is damaged: {start} rows, {total} expected")
    except (pa.ArrowException, OSError) as error:
        raise InvalidFile(f"{path} is damaged or no Parquet file: {error}") from error


def _smi_rows(path: Path, size: int | None) -> Iterator[Rows]:
    """One molecule per line: a SMILES, then optionally white space and an id. A header line is tolerated."""

    def filled() -> Iterator[tuple[int, str, str]]:
        waiting: list[tuple[int, str, str]] = []  # blank lines at the end are no rows
        for number, line in enumerate(text_lines(path), start=1):
            smiles, *rest = line.split(maxsplit=1) or [""]
            if number == 1 and smiles.casefold() in SMILES_NAMES:
                continue
            waiting.append((number, smiles, rest[0].strip() if rest else ""))
            if smiles:
                yield from waiting
                waiting = []

    rows = filled()
    while block := list(islice(rows, size)):
        lines, smiles, ids = (list(part) for part in zip(*block, strict=True))
        yield Rows({SMILES: smiles}, lines, molecules=smiles, smiles=SMILES, ids=ids)


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
    places: list[str] = []
    broken: dict[int, str] = {}
    line = 1
    for record in re.split(r"^\$\$\$\$.*\n?", text, flags=re.MULTILINE):
        if record.strip():
            with rdBase.BlockLogs():
                block = record.partition("M  END")[0] + "M  END\n"
                mol = Chem.MolFromMolBlock(block, removeHs=False)
                mol = mol or Chem.MolFromMolBlock(block, sanitize=False, removeHs=False)
            ends = len(re.findall(r"^M  END", record, flags=re.MULTILINE))
            if ends != 1:
                broken[len(places)] = f"the record has {ends} lines 'M  END': cut off, or no '$$$$' between"
            elif mol is None:
                broken[len(places)] = "no readable molecule block"
            places.append(f"{len(places) + 1} (line {line})")
            titles.append(record.partition("\n")[0].strip())
            molecules.append(mol)
            found = re.findall(r"^>.*?<([^>\n]+)>.*\n((?:.+\n?)*)", record, flags=re.MULTILINE)
            properties.append({name: value.strip() for name, value in found})
        line += record.count("\n") + 1
    names = dict.fromkeys(name for each in properties for name in each)
    columns = {name: [each.get(name, "") for each in properties] for name in names}
    yield Rows(columns, places, broken, molecules, ids=titles, counted="record")


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
        kind(path) in SMILES_FILES
        or (kind(path) in (*TABLES, ".parquet") and is_molecule_table(path, options))
    )
    if not streamed:
        yield from _cut(shard, size, options, columns)
        return
    for rows in _rows(path, options, size, columns):
        own = _id_column(rows.columns, options, path)
        names = rows.ids or [""] * len(rows.molecules)
        if own:
            names = texts(plain_column(path, own, rows.columns[own], needed=True))
        ids = [name or f"{shard.name}:{start + row}" for row, name in enumerate(names)]
        stored = {name: rows.columns[name] for name in _kept_columns(rows.columns, columns, own, path)}
        arrays = {n: pa.array(v, pa.string()) if isinstance(v, list) else v for n, v in stored.items()}
        graphs: GraphSet | None = None
        try:
            how = {**options.of_molecules, "errors": "skip"}
            graphs = from_molecules(_items(rows), ids=ids, keep_smiles=False, **how)
            graphs, rejected = replace(graphs, rejected=()), graphs.rejected
        except NothingLeft as error:
            rejected = error.rejected
        yield Block(start, ids, arrays, graphs, placed(rejected, rows.place), kind(path) == ".parquet")
        start += len(ids)


def _cut(shard: Shard, size: int, options: ReadOptions, columns: Sequence[str] | None) -> Iterator[Block]:
    """The blocks of a shard that is read whole."""
    import pyarrow as pa

    graphs: GraphSet | None = None
    try:
        graphs = read(Path(shard.path), replace(options, errors="skip", label=None, units={}))
        graphs, rejected = replace(graphs, rejected=()), graphs.rejected
    except InvalidFile as error:
        if not isinstance(error.__cause__, NothingLeft) or not error.__cause__.rejected:
            raise
        rejected = error.__cause__.rejected
    total = len(rejected) + (0 if graphs is None else len(graphs))
    ids = [f"{shard.name}:{row}" for row in range(total)]
    position = np.full(total, -1)  # of the graph of every row
    named = {each.index: each.graph_id for each in rejected}
    if graphs is not None:
        rows = np.delete(np.arange(total), list(named))
        position[rows] = np.arange(len(graphs))
        named |= dict(zip(rows.tolist(), graphs.ids.tolist(), strict=True))
    for row, name in named.items():
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
    kept = _kept_columns(schema.names, columns, _id_column(schema.names, options, path), path)
    return pa.schema([schema.field(name) for name in kept])


def _id_column(names: Iterable[str], options: ReadOptions, path: Path) -> str | None:
    """The column of the ids: the chosen one, or the first that is called like ids."""
    return _chosen(names, options.id, "id", path) or next(iter(called(names, ID_NAMES)), None)


def _kept_columns(
    names: Iterable[str], columns: Sequence[str] | None, own: str | None, path: Path
) -> list[str]:
    """The columns to write beside the vectors."""
    kept = [name for name in names if name != own] if columns is None else list(columns)
    there = set(names)
    missing = [name for name in kept if name not in there]
    if missing:
        have = ", ".join(map(repr, names))
        raise SchemaMismatch(f"no column {missing[0]!r} in {path}; there are: {have}")
    check_names(kept)
    return kept
