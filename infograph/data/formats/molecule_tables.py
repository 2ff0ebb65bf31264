"""CSV, TSV and Parquet tables with a SMILES column -> GraphSet."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from infograph.data.chem.molecules import from_molecules
from infograph.data.formats.cells import Cells, header, read_cells, read_parquet
from infograph.data.formats.edge_lists import looks_like_edges
from infograph.data.formats.network_files import kind
from infograph.data.formats.reading import ReadOptions, in_file, with_columns
from infograph.data.graphset import GraphSet
from infograph.data.units import match_name
from infograph.errors import InvalidFile, InvalidGraph, InvalidParameter

SMILES_NAMES = ("smiles", "canonical_smiles", "isomeric_smiles", "canonicalsmiles", "isomericsmiles", "smi")
ID_NAMES = ("id", "mol_id", "molecule_id", "compound_id", "name")


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
