"""The lines of a text file, and the rows of a CSV or TSV table with the lines on which they begin."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

from infograph.data.graphset import Rejected
from infograph.data.labels import as_number
from infograph.data.molecules import is_smiles
from infograph.data.records import Errors
from infograph.errors import InvalidFile
from infograph.io import open_unpacked


def kind(path: Path) -> str:
    """The extension that says what a file is: `.gz` is looked through."""
    return _unpacked(path).suffix.casefold()


def stem(path: Path) -> str:
    """The name of a file without that extension."""
    return _unpacked(path).stem


def _unpacked(path: Path) -> Path:
    return Path(path.stem) if path.suffix == ".gz" else path


def text_lines(path: Path) -> Iterator[str]:
    """The lines of a text file, each with "\\n" at its end, as they are asked for; `.gz` is unpacked."""
    number, empty = 0, True
    try:
        with open_unpacked(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if "\0" in line:
                    raise InvalidFile(f"{path} is not a text file: line {number} holds zero bytes")
                empty = empty and not line.strip()
                yield line if line.endswith("\n") else line + "\n"
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InvalidFile(f"{path} is truncated or no gzip file: {error}") from error
    except UnicodeDecodeError as error:
        raise InvalidFile(f"{path} is not a text file in UTF-8 (after line {number})") from error
    if empty:
        raise InvalidFile(f"{path} is empty")


@dataclass(frozen=True, eq=False)
class Rows:
    """Consecutive rows of a file."""

    columns: Mapping[str, Any]  # texts, or an Arrow array where the file has types
    lines: Sequence[object]  # where each row stands in the file
    broken: dict[int, str] = field(default_factory=dict)  # what is wrong with a row
    molecules: Sequence[Any] = ()  # SMILES or RDKit molecules
    smiles: str | None = None  # the column of the molecules, if they are in one
    ids: Sequence[str] | None = None  # of a format that has them outside its columns
    counted: str = "line"  # what `lines` counts

    def place(self, row: int) -> str:
        return f"{self.counted} {self.lines[row]}"

    @property
    def items(self) -> list[Any]:
        """The molecules, or what is wrong with their rows."""
        wrong = {row: Rejected(row, row, problem) for row, problem in self.broken.items()}
        return [wrong.get(row, molecule) for row, molecule in enumerate(self.molecules)]


T = TypeVar("T")
Row = tuple[int, list[str], str]  # the line on which it begins, cells, what is wrong with it


def cell_blocks(path: Path, size: int | None = None) -> Iterator[Rows]:
    """A CSV or TSV file, `size` rows at a time (None: all at once); without rows there is no block.

    What separates cells is found out. Empty lines before the header do not count; others are no rows, except
    in a table of one column, where they are empty cells unless the file ends with them.
    """
    found = _rows(path)
    names = header(path, found)
    width = len(names)
    given = ((line, row or [""], problem) for line, row, problem in found if row or width == 1)
    rows = as_far_as(given, lambda row: any(row[1]))
    while block := list(islice(rows, size)):
        lines, cells, problems = (list(part) for part in zip(*block, strict=True))
        broken = {
            index: problem or f"{len(row)} cells, while the header has {width}"
            for index, (row, problem) in enumerate(zip(cells, problems, strict=True))
            if problem or len(row) != width
        }
        for index in broken:
            cells[index] = [""] * width
        columns = {name: [row[position] for row in cells] for position, name in enumerate(names)}
        yield Rows(columns, lines, broken)


def as_far_as(rows: Iterable[T], counts: Callable[[T], bool]) -> Iterator[T]:
    """All rows up to the last one that counts: a file may end with blank ones."""
    waiting: list[T] = []
    for row in rows:
        waiting.append(row)
        if counts(row):
            yield from waiting
            waiting = []


def whole(path: Path, blocks: Iterator[Rows], errors: Errors = "raise") -> Rows:
    """The one block of a file that is read whole; errors="raise" refuses broken rows."""
    rows = next(blocks, None)
    if rows is None:
        raise InvalidFile(f"{path} has a header and no rows")
    for row, problem in rows.broken.items():
        if errors == "raise":
            raise InvalidFile(f"{path}, {rows.place(row)}: {problem}")
    return rows


def header(path: Path, rows: Iterator[Row] | None = None) -> list[str]:
    """The cells of a table's first row."""
    line, cells, problem = next(rows or _rows(path))
    if problem:
        raise InvalidFile(f"{path}, line {line}: {problem}")
    names = [name.strip() for name in cells]
    check_header(path, names)
    if len(set(names)) < len(names):
        raise InvalidFile(f"{path}: two columns of one name in the header {names}")
    return names


def check_header(path: object, names: Iterable[str]) -> None:
    """Refuse a first row that is data: SMILES, and numbers or nothing beside them. `CO` may be a name."""
    words = [name for name in names if name and as_number(name) is None]
    if words and all(is_smiles(word, least=5) for word in words):
        first, numbers = words[0], set(names) > set(words)
        shown = first if len(first) <= 60 else f"{first[:57]}..."
        raise InvalidFile(
            f"{path} has no header: the first row looks like data, with the SMILES {shown!r}"
            f"{' and numbers' * numbers}; add a header such as smiles{',value' * numbers}"
        )


def _rows(path: Path) -> Iterator[Row]:
    """Every row, the header first."""
    lines = text_lines(path)
    leading: list[str] = []
    for line in lines:  # as far as the header, which tells what separates cells
        leading.append(line)
        if line != "\n":
            break
    taken: list[str] = []  # the lines of the row that is being read

    def fed() -> Iterator[str]:
        for line in chain(leading, lines):
            taken.append(line)
            yield line

    between = delimiter(leading[-1])
    reader = csv.reader(fed(), delimiter=between, strict=True)
    begins, found, problem = 1, False, ""
    while True:
        more = 0
        try:
            row, problem = next(reader), ""
        except StopIteration:
            return
        except csv.Error as error:
            try:
                if "field limit" not in str(error):
                    raise
                more = _rest_of_row(taken, lines, between)
            except csv.Error as why:
                raise InvalidFile(f"{path}, line {begins}: not a table, or truncated ({why})") from why
            row, problem = ["?"], f"a cell of more than {csv.field_size_limit():,} characters"
        found = found or bool(row)
        if found:
            yield begins, row, problem
        begins += len(taken) + more
        taken.clear()


def _rest_of_row(taken: Iterable[str], lines: Iterator[str], between: str) -> int:
    """Go to the end of a row of which some lines were taken; gives how many more it has.

    A limit beyond which cells fit would be one for all of the process, and a forgotten quote would fill the
    memory with what is behind it.
    """
    inside = False
    for line in taken:
        inside = _goes_on(line, inside, between)
    more = 0
    while inside:
        line, more = next(lines, ""), more + 1
        if not line:
            raise csv.Error("unexpected end of data")
        inside = _goes_on(line, inside, between)
    return more


def _goes_on(line: str, inside: bool, between: str) -> bool:
    """Whether a quoted cell goes on behind a line, which begins inside of one or not."""
    line, at = f'"{line}' if inside else line, 0
    while opened := re.compile(f'(?:^|{between})"').search(line, at):
        closed = re.compile('[^"]*(?:""[^"]*)*"(?!")').match(line, opened.end())
        if closed is None:
            return True
        at = closed.end()
        if line[at] not in f"{between}\n":
            raise csv.Error(f"'{between}' expected after '\"'")
    return False


def delimiter(line: str) -> str:
    """What separates the cells of a line: the most frequent one of , ; and tab outside of quoted cells."""
    bare = re.sub(r'(?:^|(?<=[,;\t]))"(?:[^"]|"")*(?:"|$)', "", line)
    return max(",;\t", key=bare.count)
