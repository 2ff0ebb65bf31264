"""What all readers of files share: their options, opening text, and the columns beside the graphs."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from infograph.data.assemble import Errors
from infograph.data.chem.salts import Salts
from infograph.data.columns import store_graph_column
from infograph.data.graphset import GraphSet
from infograph.data.networks import Choice
from infograph.data.schema import Column, Schema
from infograph.data.units import LABEL as LABEL
from infograph.data.units import split_header
from infograph.errors import InvalidFile, InvalidGraph, InvalidParameter

MISSING = {"", "na", "n/a", "nan", "null", "none"}  # cells of a column of numbers that hold none, in any case


@dataclass(frozen=True)
class ReadOptions:
    """What a user may say about a file; `infograph.data.files.read_graphs` explains each."""

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
