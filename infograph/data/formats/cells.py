"""Tables -> columns of cells: CSV and TSV, in which every row knows its line, and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from infograph.data.assemble import Errors
from infograph.data.formats.reading import read_text
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
    text = read_text(path)
    rows = list(_rows(text, path))
    (_, names), rows = rows[0], rows[1:]
    while rows and not any(rows[-1][1]):
        rows.pop()
    names = [name.strip() for name in names]
    if len(set(names)) < len(names):
        raise InvalidFile(f"{path}: two columns of one name in the header {names}")
    rows = [(line, row or [""]) for line, row in rows if row or len(names) == 1]
    if not rows:
        raise InvalidFile(f"{path} has a header and no rows")
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


def _rows(text: str, path: Path) -> Iterator[tuple[int, list[str]]]:
    """(line on which it begins, cells) of every row, the header first; empty lines before it do not count."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter(text), strict=True)
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
    rows = _rows(read_text(path), path)
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
    columns = {
        name: ["" if value is None else str(value) for value in table.column(name).to_pylist()]
        for name in table.column_names
    }
    return Cells(list(table.column_names), columns)
