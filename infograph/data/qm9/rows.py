"""The CSV files of QM9, as the package qm9pack carries them -> arrays, one piece of a file at a time."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import IntArray, pointer
from infograph.data.qm9.targets import HEADERS
from infograph.errors import InvalidFile

PATTERN = "qm9_part*.csv"
NUMBERS = {"H": 1, "C": 6, "N": 7, "O": 8, "F": 9}
WANTED = ("Index", "SMILES", "N_atoms", "Elements", "XYZ_Ang", *HEADERS.values())
ROWS = 1_000  # rows per piece: about half a second of work
FRESH_COPY = "the file is damaged or incomplete: get a fresh copy (pip install --force-reinstall qm9pack)"


@dataclass(frozen=True)
class Piece:
    """Some rows of a file: n_rows lines from byte `start` to byte `stop`, of which the first is `line`.

    `columns` says where in a row the columns WANTED are, `width` how many there are in all.
    """

    path: Path
    start: int
    stop: int
    line: int
    n_rows: int
    columns: tuple[int, ...]
    width: int


@dataclass(frozen=True, eq=False)
class Rows:
    """Molecules as the files state them. G molecules, N atoms.

    Attributes:
        ids: (G,) numbers of the molecules in the data set, from 1 with gaps.
        smiles: G of them, as written.
        node_ptr: (G+1,) molecule g has the atoms node_ptr[g] ... node_ptr[g+1] - 1.
        numbers: (N,) atomic numbers.
        positions: (N, 3) in angstrom.
        targets: (G, 12) in the order and units of TARGETS.
    """

    ids: IntArray
    smiles: list[str]
    node_ptr: IntArray
    numbers: IntArray
    positions: NDArray[np.float64]
    targets: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.ids)


def pieces(path: Path, limit: int | None = None) -> Iterator[Piece]:
    """A file cut into pieces of whole lines, at most `limit` rows of it.

    Raises:
        InvalidFile: the file has no such columns.
    """
    content = path.read_bytes().rstrip()
    ends = np.flatnonzero(np.frombuffer(content, np.uint8) == ord("\n")) + 1
    ends = np.append(ends, len(content))  # (lines,) where each line stops
    header = content[: ends[0]].decode("utf-8", "replace").strip()
    names = next(csv.reader([header]), [])
    missing = [name for name in WANTED if name not in names]
    if missing:
        raise InvalidFile(f"{path} has no column {missing[0]!r}, which every file of QM9 has; {FRESH_COPY}")
    stop = len(ends) if limit is None else min(len(ends), limit + 1)
    columns = tuple(names.index(name) for name in WANTED)
    for first in range(1, stop, ROWS):
        last = min(first + ROWS, stop) - 1
        span = int(ends[first - 1]), int(ends[last])
        yield Piece(path, *span, first + 1, last - first + 1, columns, len(names))


def read_rows(piece: Piece) -> Rows:
    """Parse one piece.

    Raises:
        InvalidFile: the message names the line and what is wrong with it.
    """
    with piece.path.open("rb") as file:
        file.seek(piece.start)
        lines = file.read(piece.stop - piece.start).decode("utf-8", "replace").rstrip("\n").split("\n")
    parsed: list[_Row] = []
    for line, text in enumerate(lines, start=piece.line):
        try:
            parsed.append(_parse(next(csv.reader([text]), []), piece))
        except (ValueError, csv.Error) as error:
            raise InvalidFile(f"{piece.path}, line {line}: {error}; {FRESH_COPY}") from None
    positions = np.array([value for row in parsed for value in row.positions], np.float64).reshape(-1, 3)
    return Rows(
        ids=np.array([row.index for row in parsed], np.int64),
        smiles=[row.smiles for row in parsed],
        node_ptr=pointer(np.array([len(row.numbers) for row in parsed])),
        numbers=np.array([number for row in parsed for number in row.numbers], np.int64),
        positions=positions,
        targets=np.array([row.targets for row in parsed], np.float64),
    )


@dataclass(frozen=True)
class _Row:
    index: int
    smiles: str
    numbers: list[int]
    positions: list[float]
    targets: list[float]


def _parse(fields: list[str], piece: Piece) -> _Row:
    if len(fields) != piece.width:
        raise ValueError(f"{len(fields)} columns, expected {piece.width}")
    index, smiles, n_atoms, elements, places, *targets = (fields[column] for column in piece.columns)
    row = _Row(
        index=_whole("Index", index),
        smiles=smiles,
        numbers=[_number(symbol) for symbol in _items(elements.replace("'", ""))],
        positions=_floats("XYZ_Ang", _items(places)),
        targets=_floats("targets", targets),
    )
    if not len(row.numbers) == len(row.positions) / 3 == _whole("N_atoms", n_atoms):
        raise ValueError(
            f"N_atoms is {n_atoms}, but there are {len(row.numbers)} elements and {len(row.positions)} "
            f"coordinates"
        )
    return row


def _items(text: str) -> list[str]:
    """The items of a list, or of a list of lists, as Python or JSON writes it; 3 us for 18 atoms."""
    return text.replace("[", "").replace("]", "").split(",")


def _number(symbol: str) -> int:
    number = NUMBERS.get(symbol.strip())
    if number is None:
        raise ValueError(f"Elements has {symbol.strip()!r}, expected {', '.join(NUMBERS)}")
    return number


def _whole(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{name} is {text[:40]!r}, expected a whole number") from None


def _floats(name: str, texts: list[str]) -> list[float]:
    try:
        values = list(map(float, texts))
        if math.isfinite(sum(values)):  # one NaN or infinity among them is enough
            return values
    except ValueError:
        pass
    bad = next(text for text in texts if not _is_number(text))
    raise ValueError(f"{name}: {bad.strip()[:40]!r} is not a number")


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
