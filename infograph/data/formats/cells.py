"""Tables -> columns of cells: CSV and TSV, in which every row knows its line, and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

from infograph.data.assemble import Errors
from infograph.data.formats.reading import read_text, text_lines
from infograph.data.graphset import Rejected
from infograph.errors import InvalidFile


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
    names = _names(found, path)
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
    names = _names(found, path)
    rows = _filled(found, len(names))
    while block := list(islice(rows, size)):
        yield _cells(names, block, path, "skip")


def _names(rows: Iterator[tuple[int, list[str]]], path: Path) -> list[str]:
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
