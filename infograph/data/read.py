"""A path or a name -> GraphSet: what a file is, how it is read, and which rows could not be."""

from __future__ import annotations

import csv
import errno
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from infograph.data.convert import Choice, Errors, Salts, check_errors, store_graph_column
from infograph.data.graphset import MARKER, GraphSet, Rejected, open_graphs
from infograph.data.labels import MISSING
from infograph.data.qm9 import HARTREE, atomisation_energies, in_units
from infograph.data.schema import Column, Schema
from infograph.data.units import LABEL, graph_column, split_header, with_units
from infograph.errors import (
    FileMissing,
    InvalidFile,
    InvalidGraph,
    InvalidParameter,
    MissingExtra,
    SchemaMismatch,
    UnknownDataset,
)
from infograph.io import replaced_file
from infograph.progress import OnProgress

SMILES_FILES = (".smi", ".smiles")
SDF_FILES = (".sdf", ".sd", ".mol")
TABLES = (".csv", ".tsv")
JSON_LINES = (".jsonl", ".ndjson")
KNOWN = (
    "a saved GraphSet, a TU folder or zip, .smi, .csv / .tsv / .parquet with a SMILES column, .sdf, .jsonl, "
    ".graphml, .gexf, .edgelist / .edges / .txt / .csv edge lists, or a folder of such networks"
)
HEADER = ("place", "position", "id", "problem")
PLACE = re.compile(r"(line \d+|row \d+|record \d+ \(line \d+\)|file [^:]+): (.*)", flags=re.DOTALL)


def read_graphs(
    source: str | Path,
    *,
    errors: Errors = "raise",
    schema: Schema | None = None,
    smiles: str | None = None,
    id: str | None = None,
    label: str | None = None,
    node: Choice = None,
    edge: Choice = None,
    weight: str | None = None,
    directed: bool = False,
    hydrogens: bool | None = None,
    stereo: bool | None = None,
    salts: Salts | None = None,
    units: Mapping[str, str] | None = None,
    energies: str | None = None,
    atomisation: bool = False,
    download: bool = False,
    progress: OnProgress | None = None,
) -> GraphSet:
    """Read graphs from a file, a folder, a data set's name, or a SMILES.

    By extension, also with `.gz` behind it: `.smi` (a SMILES and an id per line), `.csv`, `.tsv` and
    `.parquet` (with a SMILES column; the other columns become graph columns), `.sdf` (properties become graph
    columns), `.jsonl` (`infograph.data.network_files` shows a line), `.graphml`, `.gexf`, edge lists
    (`.edgelist`, `.edges`, `.txt`, or a `.csv` without SMILES). By content: a folder written by
    `save_graphs`, a folder or zip of the TU collection, a folder of networks, one per file, with labels in
    `labels.csv`. A text that is no path is a data set of the catalogue, or else one SMILES.

    Args:
        source: the path, name or SMILES.
        errors: "raise" at the first bad graph, or "skip" it and list it in `GraphSet.rejected`.
        schema: the schema of a fitted model; the graphs are read its way.
        smiles: the column with the SMILES; found by its name otherwise.
        id: the column, SDF property or JSON key with the user's ids; found by its name otherwise, if all its
            values are given and different. The position otherwise.
        label: the column that becomes the graph column `y`; whole numbers and texts become categories. It may
            be named without the unit in its header, like every column.
        node, edge: attributes of networks to keep, or columns of stored sets that encoders see.
        weight: the edge attribute that multiplies messages.
        directed: whether edge lists, and JSON lines that do not say, are directed.
        hydrogens: whether the hydrogens of molecules become nodes; None as `schema` says, else no.
        stereo: whether the encoder sees stereochemistry; None as `schema` says, else no.
        salts: "keep" all pieces of molecules, or "strip" counter-ions and solvents and list them in the graph
            column `stripped` (`infograph.data.molecules.SaltStripper` has the rule); None as `schema` says,
            else "keep".
        units: {column: unit} of graph columns of numbers; otherwise the unit at the end of a header such as
            "logS [mol/L]" or "Tm (K)".
        energies: the unit that graph columns of energies shall have: "hartree", "eV", "kcal/mol", "kJ/mol".
        atomisation: whether U0, U, H and G of QM9's molecules are relative to the free atoms.
        download: whether a data set of the catalogue may be fetched where it is not on this machine.
        progress: called while a data set is downloaded or parsed for the first time, see `load_dataset`.

    Raises:
        FileMissing: there is no such file.
        InvalidFile: a file is truncated, empty, or not what its extension says.
        InvalidGraph: a graph cannot be used; the message names it, the file and the line.
        UnknownDataset: the text is no file, no data set and no SMILES.
    """
    check_errors(errors)
    options = ReadOptions(
        errors=errors,
        schema=schema,
        smiles=smiles,
        id=id,
        label=label,
        node=node,
        edge=edge,
        weight=weight,
        directed=directed,
        hydrogens=hydrogens,
        stereo=stereo,
        salts=salts,
        units=units or {},
    )
    graphs = with_units(
        _checked(_read(source, options, download, progress), source, options), options.units, label
    )
    graphs = atomisation_energies(graphs) if atomisation else graphs
    return graphs if energies is None else _in_units(graphs, energies)


def _in_units(graphs: GraphSet, unit: str) -> GraphSet:
    if not any(column.unit in HARTREE for column in graphs.schema.graph):
        raise InvalidParameter(
            f"energies={unit!r}: no graph column is an energy in {', '.join(HARTREE)}; units= says what a "
            f"column is in"
        )
    return in_units(graphs, unit)


def _read(source: str | Path, options: ReadOptions, download: bool, progress: OnProgress | None) -> GraphSet:
    if not str(source).strip():
        raise FileMissing("an empty path; expected " + KNOWN)
    path = _home(Path(source))
    try:
        if path.is_dir():
            return _read_folder(path, options)
        if path.is_file():
            return _read_file(path, options)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
    if isinstance(source, Path):
        raise FileMissing(f"{path} does not exist; expected {KNOWN}")
    return _read_text(source, options, download, progress)


def _read_text(text: str, options: ReadOptions, download: bool, progress: OnProgress | None) -> GraphSet:
    """A text that is no path: a data set of the catalogue, or one SMILES. Nothing is sent of any other."""
    from infograph.data.datasets import load_dataset
    from infograph.data.datasets import unknown as unknown_name

    try:
        return _select(load_dataset(text, download=None if download else False, progress=progress), options)
    except UnknownDataset as unknown:
        shown = repr(text if len(text) <= 60 else f"{text[:60]}...")
        try:
            from infograph.data.molecules import from_molecules

            given = {name: getattr(options, name) for name in ("schema", "hydrogens", "stereo", "salts")}
            return from_molecules([text], **given)
        except InvalidGraph as error:
            smiles = f"no SMILES either ({error.problem})"
        except MissingExtra as error:
            smiles = f"not read as a SMILES ({error})"
        if Path(text).suffix or len(Path(text).parts) > 1:
            raise FileMissing(
                f"{text} does not exist, and is {smiles}; expected {KNOWN}, a data set's name, or a SMILES"
            ) from unknown
        raise UnknownDataset(f"{shown} is no file or folder, {smiles}, and {unknown_name(text)}") from unknown


def _home(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:  # of a user who does not exist
        return path


def _checked(graphs: GraphSet, source: str | Path, options: ReadOptions) -> GraphSet:
    """`graphs`, once it is clear that they have the label and the weight that were asked for."""
    if options.label is not None and graphs.schema.column("graph", LABEL) is None:
        have = ", ".join(repr(column.name) for column in graphs.schema.graph) or "none"
        raise SchemaMismatch(f"no graph column {options.label!r} in {source}; the graphs have: {have}")
    if options.weight is not None and options.schema is None and graphs.schema.weight is None:
        have = ", ".join(repr(column.name) for column in graphs.schema.edge) or "none"
        raise SchemaMismatch(
            f"no edge column {options.weight!r} in {source} that could be a weight; the edges have: {have}"
        )
    return graphs


def _read_folder(path: Path, options: ReadOptions) -> GraphSet:
    from infograph.data.network_files import LABELS, network_files, read_networks

    if (path / MARKER).is_file():
        return _select(open_graphs(path), options)
    if any(path.rglob("*_graph_indicator.txt")) or (path / f"{path.name}_A.txt").is_file():
        from infograph.data.tu import read_tu

        return _select(read_tu(path), options)
    files = network_files(path)
    if not files:
        raise InvalidFile(f"the folder {path} holds no graphs; expected {KNOWN}")
    labels = path / LABELS
    return read_networks(files, options, labels if labels.is_file() else None)


def _read_file(path: Path, options: ReadOptions) -> GraphSet:
    from infograph.data.network_files import EDGE_LISTS, XML, read_json_lines, read_networks
    from infograph.data.tables import is_molecule_table, read_molecule_table, read_sdf, read_smi

    extension = kind(path)
    if extension == ".zip":
        from infograph.data.tu import read_tu

        return _select(read_tu(path), options)
    if extension in SMILES_FILES:
        return read_smi(path, options)
    if extension in SDF_FILES:
        return read_sdf(path, options)
    if extension == ".parquet" or (extension in TABLES and is_molecule_table(path, options)):
        return read_molecule_table(path, options)
    if extension in JSON_LINES:
        return read_json_lines(path, options)
    if extension in (*XML, *EDGE_LISTS):
        return read_networks([path], options)
    raise InvalidFile(
        f"{path}: files of the kind {extension or 'without extension'!r} are not read; expected {KNOWN}"
    )


def _select(graphs: GraphSet, options: ReadOptions) -> GraphSet:
    """A stored set in which encoders see the chosen columns."""
    schema = graphs.schema.select("node", _chosen_names(options.node)).select(
        "edge", _chosen_names(options.edge)
    )
    if options.weight is not None:
        schema = schema.select("edge", [*(c.name for c in schema.features("edge")), options.weight])
        column = schema.column("edge", options.weight)
        if column is not None and (column.kind, column.width) != ("float", 1):
            raise SchemaMismatch(
                f"the edge column {options.weight!r} cannot be a weight: it holds no numbers"
            )
        roles = (replace(c, role="weight") if c.name == options.weight else c for c in schema.edge)
        schema = schema.replace("edge", roles)
    graphs = replace(graphs, schema=schema)
    if options.label is None:
        return graphs
    column = graph_column(schema, options.label)
    return graphs.with_column("graph", replace(column, name=LABEL), graphs.graph[column.name])


def _chosen_names(choice: Choice) -> Iterable[str] | None:
    return [choice] if isinstance(choice, str) else choice


@dataclass(frozen=True)
class ReadOptions:
    """What a user may say about a file; `infograph.data.read.read_graphs` explains each."""

    errors: Errors = "raise"
    schema: Schema | None = None
    smiles: str | None = None
    id: str | None = None
    label: str | None = None
    node: Choice = None
    edge: Choice = None
    weight: str | None = None
    directed: bool = False
    hydrogens: bool | None = None
    stereo: bool | None = None
    salts: Salts | None = None
    units: Mapping[str, str] = field(default_factory=dict)


def read_text(path: Path) -> str:
    """The text of a file, unpacked if its name ends in `.gz`; line ends become "\\n".

    Raises:
        InvalidFile: it is empty, truncated, or not text.
    """
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        text = raw.decode("utf-8-sig")
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InvalidFile(f"{path} is truncated or no gzip file: {error}") from error
    except UnicodeDecodeError as error:
        raise InvalidFile(
            f"{path} is not a text file in UTF-8 (byte {error.start}): save it as UTF-8"
        ) from error
    if "\0" in text:
        raise InvalidFile(f"{path} is not a text file: it holds zero bytes")
    if not text.strip():
        raise InvalidFile(f"{path} is empty")
    return io.StringIO(text, newline=None).read()


def text_lines(path: Path) -> Iterator[str]:
    """The lines of a file as `read_text` has them, each with its "\\n", read as they are asked for.

    Raises:
        InvalidFile: it is empty, truncated, or not text; some lines may have come before.
    """
    number, empty = 0, True
    try:
        with (
            gzip.open(path) if path.suffix == ".gz" else path.open("rb") as raw,
            io.TextIOWrapper(raw, encoding="utf-8-sig") as lines,
        ):
            for number, line in enumerate(lines, start=1):
                if "\0" in line:
                    raise InvalidFile(f"{path} is not a text file: line {number} holds zero bytes")
                empty = empty and not line.strip()
                yield line if line.endswith("\n") else line + "\n"
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InvalidFile(f"{path} is truncated or no gzip file: {error}") from error
    except UnicodeDecodeError as error:
        raise InvalidFile(
            f"{path} is not a text file in UTF-8 (after line {number}): save it as UTF-8"
        ) from error
    if empty:
        raise InvalidFile(f"{path} is empty")


def typed(values: Sequence[str]) -> tuple[list[float | None] | list[str | None], bool]:
    """Cells as floats if all of them are numbers, else as texts; and whether all are whole numbers.

    A comma counts as a decimal point where all cells are such numbers and not all look like thousands.
    """
    if all(value.strip().casefold() in MISSING for value in values):
        return [value or None for value in values], False
    if _decimal_commas(values):
        values = [value.replace(",", ".") for value in values]
    try:
        numbers = [None if value.strip().casefold() in MISSING else float(value) for value in values]
    except ValueError:
        return [value or None for value in values], False
    return numbers, all(number is None or number.is_integer() for number in numbers)


def _decimal_commas(values: Sequence[str]) -> bool:
    given = [value.strip() for value in values if value.strip().casefold() not in MISSING]
    numbers = all(re.fullmatch(r"[+-]?\d+(,\d+)?([eE][+-]?\d+)?", value) for value in given)
    thousands = all(re.fullmatch(r"[+-]?\d{1,3}(,\d{3})?", value) for value in given)
    return numbers and not thousands and any("," in value for value in given)


def with_columns(
    graphs: GraphSet, columns: Mapping[str, Sequence[str]], *, label: str | None, place: Callable[[int], str]
) -> GraphSet:
    """`graphs` with the cells of a table as graph columns, and with places in the file for what was rejected.

    Columns of numbers take the unit at the end of their names (`infograph.data.units`).

    Args:
        graphs: made from the rows of the table, of which some may have been rejected.
        columns: all cells by column, rejected rows included.
        label: the column that becomes `y`, with whole numbers and texts as categories.
        place: row -> where it stands in the file.
    """
    out = {rejected.index for rejected in graphs.rejected}
    for name, cells in columns.items():
        if name == LABEL and label in columns and label != LABEL:
            continue  # the chosen label takes its place
        values, whole = typed([cell for row, cell in enumerate(cells) if row not in out])
        numeric = any(isinstance(value, float) for value in values)
        unit = split_header(name)[1]
        known: Column | None = Column(name, "float", unit=unit) if numeric else None
        if name == label:
            values = [int(v) if whole and isinstance(v, float) else v for v in values]  # type: ignore[assignment]
            continuous = numeric and not whole
            known = Column(LABEL, "float", unit=unit) if continuous else Column(LABEL, "categorical")
        stored, column = store_graph_column(name, values, known)
        graphs = graphs.with_column("graph", column, stored)
    rejected = (replace(r, problem=f"{place(r.index)}: {r.problem}") for r in graphs.rejected)
    return replace(graphs, rejected=tuple(rejected))


def in_file(error: InvalidGraph | InvalidParameter, path: Path, place: Callable[[int], str]) -> Exception:
    """The same error, naming the file and the place in it."""
    if isinstance(error, InvalidGraph) and error.index is not None:
        problem = f"{path}, {place(error.index)}: {error.problem}"
        return InvalidGraph(problem, index=error.index, graph_id=error.graph_id)
    return InvalidFile(f"{path}: {error}")


@dataclass(frozen=True)
class Cells:
    """A table as text, row by row as in the file.

    Attributes:
        names: the header.
        columns: one text per row; empty where nothing stands.
        lines: the line on which each row begins; empty for a file without lines.
        broken: rows that do not have as many cells as the header.
    """

    names: list[str]
    columns: dict[str, list[str]]
    lines: list[int] = field(default_factory=list)
    broken: dict[int, Rejected] = field(default_factory=dict)

    def place(self, row: int) -> str:
        """Where a row stands in its file."""
        return f"line {self.lines[row]}" if self.lines else f"row {row + 1}"


def read_cells(path: Path, errors: Errors = "raise") -> Cells:
    """A CSV or TSV file with a header; ";" and tabs are found out.

    Blank lines are no rows, except in a table of one column, where they are empty cells.

    Raises:
        InvalidFile: it is not a table; with errors="raise" also for a row of another length than the
            header's.
    """
    found = _rows(io.StringIO(read_text(path)), path)
    names = _header_names(found, path)
    rows = list(_filled(found, len(names)))
    if not rows:
        raise InvalidFile(f"{path} has a header and no rows")
    return _cells(names, rows, path, errors)


def cell_blocks(path: Path, size: int) -> Iterator[Cells]:
    """The same table some rows at a time, which is all of it that is ever in memory; none if it has no rows.

    Rows of another length than the header's are listed in `Cells.broken`.

    Raises:
        InvalidFile: it is not a table; some blocks may have come before.
    """
    found = _rows(text_lines(path), path)
    names = _header_names(found, path)
    rows = _filled(found, len(names))
    while block := list(islice(rows, size)):
        yield _cells(names, block, path, "skip")


def _header_names(rows: Iterator[tuple[int, list[str]]], path: Path) -> list[str]:
    names = [name.strip() for name in next(rows)[1]]
    if len(set(names)) < len(names):
        raise InvalidFile(f"{path}: two columns of one name in the header {names}")
    return names


def _filled(rows: Iterable[tuple[int, list[str]]], n_columns: int) -> Iterator[tuple[int, list[str]]]:
    """Rows but for blank lines, unless those are the empty cells of one column, and empty ones at the end."""
    waiting: list[tuple[int, list[str]]] = []
    for line, row in rows:
        if any(row):
            yield from waiting
            yield line, row
            waiting = []
        elif row or n_columns == 1:
            waiting.append((line, row or [""]))


def _cells(names: list[str], rows: list[tuple[int, list[str]]], path: Path, errors: Errors) -> Cells:
    broken = {
        index: Rejected(index, index, f"{len(row)} cells, while the header has {len(names)}")
        for index, (_, row) in enumerate(rows)
        if len(row) != len(names)
    }
    for index, problem in broken.items():
        if errors == "raise":
            raise InvalidFile(f"{path}, line {rows[index][0]}: {problem.problem}")
        rows[index] = (rows[index][0], [""] * len(names))
    columns = {name: [row[position] for _, row in rows] for position, name in enumerate(names)}
    return Cells(names, columns, [line for line, _ in rows], broken)


def _rows(lines: Iterable[str], path: Path) -> Iterator[tuple[int, list[str]]]:
    """(line on which it begins, cells) of every row, the header first; empty lines before it do not count."""
    lines = iter(lines)
    leading: list[str] = []
    for line in lines:  # as far as the header, which tells what separates cells
        leading.append(line)
        if line != "\n":
            break
    reader = csv.reader(chain(leading, lines), delimiter=delimiter("".join(leading)), strict=True)
    begins, found = 1, False
    try:
        for row in reader:
            found = found or bool(row)
            if found:
                yield begins, row
            begins = reader.line_num + 1
    except csv.Error as error:
        raise InvalidFile(f"{path}, line {begins}: not a table, or truncated ({error})") from error


def delimiter(text: str) -> str:
    """What separates cells: the one of , ; and tab that is most frequent in the first line."""
    first = text.lstrip("\n").split("\n", 1)[0]
    return max(",;\t", key=first.count)


def header(path: Path) -> Sequence[str]:
    """The cells of a file's first row."""
    rows = _rows(text_lines(path), path)
    return [name.strip() for name in next(rows)[1]]


def read_parquet(path: Path) -> Cells:
    """A Parquet file; rows are counted from 1.

    Raises:
        InvalidFile: it is damaged or something else.
    """
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        table = parquet.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise InvalidFile(f"{path} is damaged or no Parquet file: {error}") from error
    if not table.num_rows:
        raise InvalidFile(f"{path} has no rows")
    return Cells(list(table.column_names), {name: texts(table.column(name)) for name in table.column_names})


def texts(column: Any) -> list[str]:
    """An Arrow column as cells: empty where a value is missing."""
    return ["" if value is None else str(value) for value in column.to_pylist()]


def place_of(rejected: Rejected) -> tuple[str, str]:
    """Where a rejected input stands in its file, such as "line 7", and what is wrong with it.

    The place is empty for what does not come from a file.
    """
    found = PLACE.fullmatch(rejected.problem)
    return ("", rejected.problem) if found is None else (found[1], found[2])


def write_rejected(graphs: GraphSet, path: str | Path) -> Path:
    """Write what `errors="skip"` left out to a CSV file; only a header says that all was well.

    Columns: `place` (the line of a CSV, TSV, SMILES or JSON file, the row of a Parquet file, the record and
    its line in an SDF file), `position` among the inputs, counted from 0, the user's `id`, the `problem`.

    Do it before the set is sliced: parts of a set do not know what was left out.
    """
    with replaced_file(path) as work, work.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        for rejected in graphs.rejected:
            place, problem = place_of(rejected)
            writer.writerow([place, rejected.index, rejected.graph_id, problem])
    return Path(path)


def kind(path: Path) -> str:
    """The extension that says what a file is: `.gz` is looked through."""
    return (Path(path.stem) if path.suffix == ".gz" else path).suffix.casefold()
