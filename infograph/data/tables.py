"""Files of molecules (CSV, TSV, Parquet, SMI, SDF) and DataFrames of them -> GraphSet.

Every format is a function that gives its rows some at a time; reading a file whole is asking for one block.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from infograph.data import edge_tables
from infograph.data.columns import (
    ENDS,
    GRAPH,
    Molecules,
    arrow_columns,
    called,
    chosen_column,
    column_names,
    edge_columns,
    ids_of,
    in_file,
    index_columns,
    index_ids,
    parquet_file,
    plain_column,
    texts,
    with_columns,
)
from infograph.data.graphset import GraphSet, check_texts
from infograph.data.molecules import from_molecules, rdkit
from infograph.data.network_files import looks_like_edges
from infograph.data.read import NODES, SDF_FILES, SMILES_FILES, ReadOptions
from infograph.data.text_tables import Rows, as_far_as, cell_blocks, check_header, kind, text_lines, whole
from infograph.data.vectors import check_names
from infograph.errors import ColumnWarning, InvalidFile, InvalidGraph, InvalidParameter, SchemaMismatch

SMILES_NAMES = (
    "smiles",
    "canonical_smiles",
    "isomeric_smiles",
    "canonicalsmiles",
    "isomericsmiles",
    "smi",
    "mol",
    "smile",
)
MOLECULE = ("molecule",)  # SMILES where no other column is of such; else names, or the graphs of edges
ID_NAMES = ("id", "mol_id", "molecule_id", "compound_id", "name")
SMILES = "smiles"  # the one column of a .smi file beside its ids
BUFFER = 1 << 20  # bytes of a Parquet column that are read at a time, instead of a whole row group


def read_molecules(path: Path, options: ReadOptions) -> GraphSet:
    """All molecules of a file; its other columns become graph columns."""
    return molecules_of(whole(path, rows_of(path, options), options.errors), options, path)


def read_table(source: Any, options: ReadOptions) -> GraphSet:
    """A table of molecules, or of edges where it has no SMILES and columns of source and target."""
    name, columns = f"the {type(source).__name__}", arrow_columns(source)
    columns = {**index_columns(source, SMILES_NAMES, options.smiles), **columns}
    named = has_smiles(list(columns), options)
    if not named:
        columns = {**index_columns(source, (*GRAPH, *ENDS[0], *ENDS[1]), options.id), **columns}
        if edge_columns(list(columns)):
            return edge_tables.read_edges(edge_tables.EdgeTable.of(columns, name, options.id), options)
    objects = [each for each, cells in columns.items() if isinstance(cells, Molecules)]
    square = hasattr(source, "iloc") and len(source) == source.shape[1]
    if objects and (options.smiles in objects or not named):
        smiles = options.smiles if options.smiles in objects else objects[0]
        molecules, column = columns[smiles], None
    elif square and not named and not called(columns, MOLECULE):
        raise InvalidParameter(
            f"{name} of shape {source.shape} has no columns of molecules or edges; an adjacency matrix has "
            f"the same names as index and columns, or is an array: to_numpy() gives one"
        )
    else:
        column = smiles_column([each for each in columns if each not in objects], options, name)
        molecules = texts(name, column, columns[column])
    if not len(molecules):
        raise InvalidParameter(f"{name} has columns and no rows")
    cells = {each: values for each, values in columns.items() if each not in objects}
    check_texts({n: np.array(v, object) for n, v in cells.items() if isinstance(v, list) and n != column})
    rows = Rows(cells, range(1, len(molecules) + 1), molecules=molecules, smiles=column, counted="row")
    return molecules_of(rows, options, name, index_ids(source) if hasattr(source, "iloc") else None)


def molecules_of(
    rows: Rows, options: ReadOptions, path: object, ids: Sequence[str | int] | None = None
) -> GraphSet:
    """The molecules of a table; messages call it `path`. `ids` are those that are no column of it."""
    if options.nodes is not None:
        raise InvalidParameter(NODES)
    columns = {name: plain_column(path, name, cells) for name, cells in rows.columns.items()}
    rows = replace(rows, columns={name: cells for name, cells in columns.items() if cells is not None})
    label = chosen_column(rows.columns, options.label, "label", path)
    own = chosen_column(rows.columns, options.id, "id", path)
    if own is None and rows.ids is None and ids is None:
        own = _distinct_ids(rows, path)
    if own is not None or ids is None:
        ids = ids_of((rows.ids or ()) if own is None else texts(path, own, rows.columns[own]))
    try:
        graphs = from_molecules(rows.items, ids=ids, **options.of_molecules)
    except (InvalidGraph, InvalidParameter) as error:
        raise in_file(error, path, rows.place) from error
    columns = {}
    for name, cells in rows.columns.items():
        if name == label:
            columns[name] = cells
        elif name not in (rows.smiles, own):  # the canonical SMILES stays what it is
            columns[f"{name}_in_file" if name in graphs.graph else name] = cells
    return with_columns(graphs, columns, label, rows.place)


def _distinct_ids(rows: Rows, path: object) -> str | None:
    """A column that is called like ids and whose values are all given and different; or a warning."""
    unfit = ""
    for name in called(rows.columns, ID_NAMES):
        found = texts(path, name, rows.columns[name])
        values = [text for row, text in enumerate(found) if row not in rows.broken]
        if all(values) and len(set(values)) == len(values):
            return name
        (text, times), *_ = Counter(values).most_common(1)
        why = f"repeats {text!r}" if text and times > 1 else "has empty cells"
        unfit = unfit or f"the column {name!r} {why}"
    if unfit:
        problem = f"{path}: {unfit}, so graphs are numbered by position; id= takes it all the same"
        warnings.warn(problem, stacklevel=2)
    return None


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
    check_header(path, names)
    if options.smiles in names:
        return str(options.smiles)
    found = called(names, SMILES_NAMES) or called(names, MOLECULE) if options.smiles is None else []
    if not found:
        raise InvalidFile(
            f"{path} has no SMILES column among {list(names)}: name it with read_graphs(..., smiles=), or "
            f"--smiles, or add a header such as smiles,value; edges have columns source and target"
        )
    if len(found) > 1:
        warnings.warn(
            f"{path}: the SMILES may be in any of {found}; the first is taken, smiles= names another",
            ColumnWarning,
            stacklevel=4,
        )
    return found[0]


def id_column(names: Iterable[str], options: ReadOptions, path: Path) -> str | None:
    """The column of the ids: the chosen one, or the first that is called like ids."""
    return chosen_column(names, options.id, "id", path) or next(iter(called(names, ID_NAMES)), None)


def kept_columns(
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


# The formats.


def rows_of(
    path: Path, options: ReadOptions, size: int | None = None, columns: Sequence[str] | None = None
) -> Iterator[Rows]:
    """The rows of a file, `size` at a time (None: all at once), with at least some columns (None: all)."""
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
    start = 0
    with parquet_file(path, buffer_size=BUFFER, pre_buffer=False) as file:
        names, total = file.schema_arrow.names, file.metadata.num_rows
        smiles, wanted = smiles_column(names, options, path), names
        if columns is not None:
            own = id_column(names, options, path)
            kept = kept_columns(names, columns, own, path)
            wanted = list(dict.fromkeys([smiles, *([own] if own else []), *kept]))
        batches = file.iter_batches(size, columns=wanted) if size else [file.read(wanted)] if total else []
        for batch in batches:
            batch.validate(full=True)  # texts may not be UTF-8
            numbers = range(start + 1, start + 1 + batch.num_rows)
            cells = {name: batch.column(name) for name in wanted}
            molecules = texts(path, smiles, cells[smiles])
            yield Rows(cells, numbers, molecules=molecules, smiles=smiles, counted="row")
            start += batch.num_rows
        if start != total:
            raise InvalidFile(f"{path} is damaged: {start} rows, {total} expected")


def _smi_rows(path: Path, size: int | None) -> Iterator[Rows]:
    """One molecule per line: a SMILES, then optionally white space and an id. A header line is tolerated."""

    def given() -> Iterator[tuple[int, str, str]]:
        for number, line in enumerate(text_lines(path), start=1):
            smiles, own, *_ = *line.split(maxsplit=1), "", ""
            if number > 1 or smiles.casefold() not in SMILES_NAMES:
                yield number, smiles, own.strip()

    rows = as_far_as(given(), lambda row: bool(row[1]))
    while block := list(islice(rows, size)):
        lines, smiles, ids = (list(part) for part in zip(*block, strict=True))
        yield Rows({SMILES: smiles}, lines, molecules=smiles, smiles=SMILES, ids=ids)


def _sdf_rows(path: Path) -> Iterator[Rows]:
    """An SDF file: properties become columns, titles the ids."""
    Chem, rdBase = rdkit("Chem"), rdkit("rdBase")
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
