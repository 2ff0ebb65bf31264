"""Text files of comma-separated numbers -> numpy columns, fast, naming the line that is wrong."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from infograph.errors import InvalidFile

Numbers = Literal["whole", "real"]
FRESH_COPY = "the file is truncated or damaged: get a fresh copy"


def read_table(raw: bytes, where: str, numbers: Numbers) -> list[NDArray[Any]]:
    """The columns of a table without a header.

    Spaces around numbers, CRLF line ends, blank lines and a byte-order mark are tolerated.

    Args:
        raw: the file's content.
        where: the file's name, for error messages.
        numbers: "whole" gives int32 columns (int64 where needed; "1.0" counts as 1), "real" gives float32.

    Raises:
        InvalidFile: the table is empty, ragged, or holds something else than numbers.
    """
    raw = raw.rstrip()
    if not raw:
        raise InvalidFile(f"{where} is empty; {FRESH_COPY}")
    width = raw.lstrip().split(b"\n", 1)[0].split(b"\r", 1)[0].count(b",") + 1
    if numbers == "real":
        columns = _parse(raw, width, "float32")
    else:
        columns = _parse(raw, width, "int32") or _whole(_parse(raw, width, "float64"))
    if not columns:
        raise InvalidFile(_complaint(raw, where, width, numbers))
    return columns


def line_number(raw: bytes, row: int) -> int:
    """The line, counted from 1, on which row `row` of a table stands: blank lines are no rows."""
    rows = (number for number, line in enumerate(raw.splitlines(), start=1) if line)
    return next((number for position, number in enumerate(rows) if position == row), row + 1)


def _parse(raw: bytes, width: int, dtype: str) -> list[NDArray[Any]]:
    """Columns of one type, or an empty list if the text does not have that form."""
    import pyarrow as pa  # here, because opening a cached set needs none of it
    import pyarrow.csv as csv

    names = [str(position) for position in range(width)]
    try:
        # Arrow parses on all cores: 0.4 s for the 96 MB of REDDIT-MULTI-5K's arcs.
        table = csv.read_csv(
            pa.BufferReader(raw),
            read_options=csv.ReadOptions(column_names=names),
            parse_options=csv.ParseOptions(quote_char=False),
            convert_options=csv.ConvertOptions(
                column_types={name: getattr(pa, dtype)() for name in names}, null_values=[]
            ),
        )
    except pa.ArrowInvalid:
        return []
    return [np.asarray(table.column(name).to_numpy()) for name in names]


def _whole(columns: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """Floats that are whole numbers, and exact as such, as integers; an empty list if one is not."""
    exact = all(bool(((np.abs(values) < 2**53) & (values == np.floor(values))).all()) for values in columns)
    return [values.astype(np.int64) for values in columns] if exact else []


def _complaint(raw: bytes, where: str, width: int, numbers: Numbers) -> str:
    """What is wrong with a table that did not parse; slow, and only run then."""
    expected = f"{width} {numbers} number{'s separated by commas' if width > 1 else ''}"
    for number, line in enumerate(raw.splitlines(), start=1):
        cells = line.removeprefix(b"\xef\xbb\xbf").split(b",")
        if line and (len(cells) != width or not all(_is_number(cell, numbers) for cell in cells)):
            shown = line[:60].decode("utf-8", "replace")
            return f"{where}, line {number}: {shown!r}, expected {expected}; {FRESH_COPY}"
    return f"{where}: not a table of {expected} per line; {FRESH_COPY}"


def _is_number(cell: bytes, numbers: Numbers) -> bool:
    try:
        value = float(cell)
    except ValueError:
        return False
    return numbers == "real" or value.is_integer()
