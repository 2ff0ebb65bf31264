"""The columns of a table: where they come from, how they are called, and what their cells mean.

A table is Arrow arrays by name, whether it was a file or a DataFrame. Columns of text files, and of pandas
where they mix types, are lists of texts, of which `typed` finds out what they are.
"""

from __future__ import annotations

import csv
import re
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from infograph.data.convert import is_table
from infograph.data.graphset import GraphSet, Rejected, check_texts
from infograph.data.labels import MISSING, is_plain
from infograph.data.records import is_missing, is_value, store_graph_column, whole_number
from infograph.data.schema import Column
from infograph.data.text_tables import delimiter, header, kind, text_lines
from infograph.data.units import LABEL, match_name, split_header
from infograph.errors import ColumnWarning, InvalidFile, InvalidGraph, InvalidParameter
from infograph.io import open_unpacked

ENDS = ("source", "src", "src_id", "from", "u"), ("target", "dst", "dst_id", "to", "v")
GRAPH = ("graph", "graph_id")
EXACT = 2**53  # whole numbers up to here are floats without loss


# ---- by name


def called(names: Iterable[str], like: Sequence[str]) -> list[str]:
    """The columns that are called so, in the order of `like`; "Compound ID" is called compound_id."""
    plain = {name: re.sub(r"\s+", "_", name.strip()).casefold() for name in names}
    return sorted((name for name in plain if plain[name] in like), key=lambda name: like.index(plain[name]))


def edge_columns(names: Sequence[str]) -> tuple[str | None, str, str] | None:
    """Which columns of a table of edges are graph (None: all edges are of one), source and target."""
    graph, source, target = (next(iter(called(names, like)), None) for like in (GRAPH, *ENDS))
    return None if source is None or target is None else (graph, source, target)


def chosen_column(names: Iterable[str], chosen: str | None, option: str, path: object) -> str | None:
    """The column that `chosen` names, with or without the unit in its header."""
    found = None if chosen is None else match_name(names, chosen)
    if chosen is not None and found is None:
        raise InvalidParameter(f"{option}={chosen!r}: {path} has no such column, only {list(names)}")
    return found


# ---- of tables in memory


class Molecules(list[Any]):
    """A column of RDKit molecules, as RDKit's own DataFrames have it."""


def arrow_columns(source: Any) -> dict[str, Any]:
    """The columns of a DataFrame or Arrow table; as lists of texts where pandas mixes types."""
    if not is_table(source):
        raise InvalidParameter(f"a {type(source).__name__}, expected a DataFrame, an Arrow table or a path")
    if hasattr(source, "iloc"):  # of pandas
        pairs = [(str(name), _arrow(values, str(name))) for name, values in source.items()]
    else:
        source = source.collect() if hasattr(source, "collect") else source  # a lazy one of polars
        table = source.to_arrow() if hasattr(source, "to_arrow") else pa.table(source)
        pairs = list(zip(table.column_names, table.columns, strict=True))
    if len(dict(pairs)) < len(pairs):
        raise InvalidParameter(f"two columns of one name among {[name for name, _ in pairs]}")
    return {name: cells for name, cells in pairs if cells is not None}


def index_columns(source: Any, like: Sequence[str], own: str | None) -> dict[str, Any]:
    """The levels of pandas' index that are called like some columns, or `own`, as columns."""
    if not hasattr(source, "iloc"):
        return {}
    names = [str(name) for name in source.index.names]
    wanted = [n for n, name in enumerate(names) if name == own or called([name], like)]
    return {names[n]: _arrow(source.index.get_level_values(n).to_series(), names[n]) for n in wanted}


def _arrow(values: Any, name: str) -> Any:
    """A column of pandas; None, with a warning, where it holds objects that are no values."""
    try:
        made = pa.array(values, from_pandas=True)
    except (pa.ArrowException, UnicodeEncodeError, OverflowError):
        made = None
    of = getattr(made, "type", None)
    of = of.value_type if of is not None and pa.types.is_dictionary(of) else of
    if made is not None and not isinstance(of, pa.BaseExtensionType):
        return made
    cells = values.tolist()
    given = [cell for cell in cells if not is_missing(cell)]
    if made is None and all(type(cell).__name__ == "Mol" for cell in given):
        return Molecules(cells)
    if made is None and not all(map(is_value, given)):
        warnings.warn(f"the column {name!r} holds no values and is not used", ColumnWarning, stacklevel=5)
        return None
    return ["" if is_missing(cell) else str(cell) for cell in cells]  # mixed; or periods, intervals


def index_ids(source: Any) -> list[str | int] | None:
    """The ids that the index of a DataFrame or Series is; None where it counts rows, or repeats."""
    index = source.index
    if type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1:
        return None
    gaps = index.nlevels == 1 and index.hasnans
    if gaps or not index.is_unique:
        why = "has gaps" if gaps else f"repeats {index[index.duplicated()].tolist()[0]!r}"
        warnings.warn(
            f"the index of the {type(source).__name__} {why}, so that it is not taken for the graphs' ids; "
            f"reset_index(drop=True) numbers its rows",
            stacklevel=5,
        )
        return None
    named = map(whole_number, index.tolist())
    return [each if isinstance(each, str | int) else str(each) for each in named]


# ---- of files


@contextmanager
def parquet_file(path: Path, **how: Any) -> Iterator[Any]:
    """A Parquet file; whatever is wrong with it while it is read is an `InvalidFile`."""
    import pyarrow.parquet as parquet

    try:
        with parquet.ParquetFile(path, **how) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        raise InvalidFile(f"{path} is damaged or no Parquet file: {error}") from error


def column_names(path: Path) -> list[str]:
    """The columns of a CSV, TSV or Parquet file."""
    if kind(path) != ".parquet":
        return header(path)
    with parquet_file(path) as file:
        return list(file.schema_arrow.names)


def file_columns(path: Path) -> dict[str, Any]:
    """The columns of a CSV, TSV or Parquet file of edges or nodes, as Arrow has them.

    One without a name is left out: pandas writes the numbers of rows there.
    """
    if kind(path) == ".parquet":
        with parquet_file(path) as file:
            table = file.read()
            table.validate(full=True)  # texts may not be UTF-8
    else:
        table = _text_table(path)
    names = [name.strip() for name in table.column_names]
    if len(set(names)) < len(names):
        raise InvalidFile(f"{path}: two columns of one name in the header {names}")
    return {name: cells for name, cells in zip(names, table.columns, strict=True) if name}


def _text_table(path: Path) -> Any:
    """The cells of a text file as texts without white space around them, null where one is empty."""
    head = next(line for line in text_lines(path) if line.strip())
    (names,) = csv.reader([head], delimiter=delimiter(head))
    of_texts = arrow_csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))
    form = arrow_csv.ParseOptions(delimiter=delimiter(head))
    try:
        with open_unpacked(path) as raw:
            table = arrow_csv.read_csv(raw, parse_options=form, convert_options=of_texts)
    except (pa.ArrowException, OSError, EOFError, zlib.error) as error:
        raise InvalidFile(f"{path} is damaged, or no table: {error}") from error
    bare = [pc.utf8_trim_whitespace(cells) for cells in table.columns]  # behind a comma there may be a space
    return pa.table([pc.if_else(pc.equal(cells, ""), None, cells) for cells in bare], table.column_names)


# ---- what cells are


def plain_column(path: object, name: str, column: Any, *, needed: bool = False) -> Any:
    """A column of texts or numbers: bytes as texts, dictionaries as what they stand for.

    One that is nested is refused if it is `needed`, and else None, with a warning.
    """
    if isinstance(column, list):
        return column
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


def texts(path: object, name: str, column: Any) -> list[str]:
    """A column that is needed as texts: empty where a value is missing; "1" for 1.0 beside such gaps."""
    cells = plain_column(path, name, column, needed=True)
    if isinstance(cells, list):
        return [cell.strip() for cell in cells]
    return ["" if is_missing(value) else str(whole_number(value)) for value in cells.to_pylist()]


def ids_of(names: Sequence[str]) -> list[str] | list[int] | None:
    """Ids from texts, numbered where one is empty; None where all are."""
    if not any(names):
        return None
    if all(re.fullmatch(r"0|-?[1-9][0-9]{0,17}", name) for name in names):  # "007" stays text
        return [int(name) for name in names]
    taken = set(names)
    numbers = (f"row {row}" if str(row) in taken else str(row) for row in range(len(names)))
    return [name or number for name, number in zip(names, numbers, strict=True)]


def typed(cells: Any) -> list[Any]:
    """What the cells of a column mean: floats if all are numbers, else as they are; None where missing.

    A comma counts as a decimal point where all cells are such numbers and not all look like thousands; "inf"
    is a number, which learning refuses, and "1_1" is none. Arrow arrays are of their own type: only numbers
    are numbers, and whole ones that a float would round are texts.
    """
    if not isinstance(cells, list):
        return _typed_array(cells)
    given = [cell.strip() for cell in cells if cell.strip().casefold() not in MISSING]
    commas = (
        any("," in cell for cell in given)
        and all(re.fullmatch(r"[+-]?\d+(,\d+)?([eE][+-]?\d+)?", cell) for cell in given)
        and not all(re.fullmatch(r"[+-]?\d{1,3}(,\d{3})?", cell) for cell in given)
    )
    point = "." if commas else ","
    with suppress(ValueError):
        if given and all(map(is_plain, given)):
            return [
                None if cell.strip().casefold() in MISSING else float(cell.replace(",", point))
                for cell in cells
            ]
    return [cell or None for cell in cells]


def _typed_array(cells: Any) -> list[Any]:
    values, of = cells.to_pylist(), cells.type
    exact = pa.types.is_integer(of) and all(value is None or abs(value) <= EXACT for value in values)
    if exact or pa.types.is_floating(of) or pa.types.is_decimal(of):
        return [None if value is None or value != value else float(value) for value in values]
    if pa.types.is_boolean(of):
        return list(values)
    return [None if value is None or value == "" else str(value) for value in values]


def attribute(path: object, name: str, column: Any) -> Any:
    """A column of a table of nodes or edges, in one piece; lists of numbers stay such if all are as long."""
    if isinstance(column, list):
        column = _checked(name, [cell or None for cell in column])
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    lists = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if any(each(column.type) for each in lists) and not column.null_count and len(column):
        flat, width = column.flatten(), len(column.flatten()) // len(column)
        even = pc.all(pc.equal(pc.list_value_length(column), width)).as_py()
        if even and width and (pa.types.is_floating(flat.type) or pa.types.is_integer(flat.type)):
            return pa.FixedSizeListArray.from_arrays(flat.cast(pa.float64(), safe=False), width)
    return plain_column(path, name, column)


def guessed(cells: Any) -> Any:
    """Arrow texts as whole numbers or numbers, where all are such; else as they are."""
    cells = cells.combine_chunks()
    words = pa.array([word for word in MISSING if word])
    known = pc.if_else(pc.is_in(pc.utf8_lower(cells), words), None, cells)
    for number in (pa.int64(), pa.float64()):
        try:
            return known.cast(number)
        except pa.ArrowInvalid:
            continue
    return cells


def names_in(path: object, name: str, column: Any) -> Any:
    """What a column calls graphs or nodes, as texts; null where it says nothing. 1 and 1.0 are the same."""
    cells = plain_column(path, name, column, needed=True)
    cells = _checked(name, cells) if isinstance(cells, list) else cells
    if pa.types.is_floating(cells.type):  # of pandas, where one is missing
        whole = pc.all(pc.equal(pc.floor(cells), cells)).as_py()
        largest = pc.max(pc.abs(cells)).as_py() or 0
        cells = cells.cast(pa.int64()) if whole is not False and largest < 2**63 else cells
    cells = cells.cast(pa.large_string())
    cells = pc.if_else(pc.equal(cells, ""), None, cells)
    return cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells


def _checked(name: str, cells: Sequence[str | None]) -> Any:
    check_texts({name: np.array(cells, object)})
    return pa.array(cells, pa.large_string())


def encoded(cells: Any) -> tuple[NDArray[np.int64], Any]:
    """Codes in the order of appearance, -1 where a cell is null, and what they stand for."""
    found = (cells if isinstance(cells, pa.Array | pa.ChunkedArray) else pa.array(cells)).dictionary_encode()
    if isinstance(found, pa.ChunkedArray):
        found = found.unify_dictionaries().combine_chunks()
    codes = found.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return codes.astype(np.int64), found.dictionary


def numbers(cells: Any) -> NDArray[np.float64]:
    """Numbers (rows,) or (rows, width), NaN where one is missing; Arrow refuses what is none."""
    lists = pa.types.is_fixed_size_list(cells.type)
    found = (cells.flatten() if lists else cells.cast(pa.float64())).to_numpy(zero_copy_only=False)
    return np.asarray(found.reshape(-1, cells.type.list_size) if lists else found)


def is_number(of: Any) -> bool:
    """Whether an Arrow type is one of numbers that may have decimals."""
    return any(is_a(of) for is_a in (pa.types.is_floating, pa.types.is_decimal, pa.types.is_fixed_size_list))


# ---- columns of graphs


def with_columns(
    graphs: GraphSet, columns: Mapping[str, Any], label: str | None, place: Callable[[int], str]
) -> GraphSet:
    """`graphs` with the columns of their file, rejected rows included, and with places for what was rejected.

    The column `label` becomes `y`, with whole numbers and texts as categories.
    """
    out = {rejected.index for rejected in graphs.rejected}
    arrays, described = dict(graphs.graph), {column.name: column for column in graphs.schema.graph}
    for name, cells in columns.items():
        if name == LABEL and label in columns and label != LABEL:
            continue  # the chosen label takes its place
        if out:
            good = [row for row in range(len(cells)) if row not in out]
            cells = [cells[row] for row in good] if isinstance(cells, list) else cells.take(good)
        values = typed(cells)
        numbers = [value for value in values if isinstance(value, float)]
        known = Column(name, "float", unit=split_header(name)[1]) if numbers else None
        if name == label and all(number.is_integer() for number in numbers):
            values = [int(value) if isinstance(value, float) else value for value in values]
            known = Column(LABEL, "categorical")
        elif name == label and known:
            known = replace(known, name=LABEL)
        stored, column = store_graph_column(name, values, known)
        described.pop(column.name, None)  # a column of that name moves to the end
        arrays[column.name], described[column.name] = stored, column
    schema = graphs.schema.replace("graph", described.values())
    return replace(graphs, graph=arrays, schema=schema, rejected=placed(graphs.rejected, place))


def placed(rejected: Iterable[Rejected], place: Callable[[int], str]) -> tuple[Rejected, ...]:
    """Rejected rows whose problem begins with their place in the file."""
    return tuple(replace(each, problem=f"{place(each.index)}: {each.problem}") for each in rejected)


def in_file(error: InvalidGraph | InvalidParameter, path: object, place: Callable[[int], str]) -> Exception:
    """The same error, naming the file and the place in it."""
    if isinstance(error, InvalidGraph) and error.index is not None:
        problem = f"{path}, {place(error.index)}: {error.problem}"
        return InvalidGraph(problem, index=error.index, graph_id=error.graph_id)
    return InvalidFile(f"{path}: {error}")
