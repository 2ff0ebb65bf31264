"""Tables in memory -> GraphSet, as files are read: pandas and polars DataFrames, Arrow tables."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from infograph.data.convert import is_missing, is_table, whole_number
from infograph.data.edge_tables import EdgeTable, read_edges
from infograph.data.graphset import GraphSet, check_texts
from infograph.data.network_files import ENDS, GRAPH, called, edge_columns, is_value
from infograph.data.read import ReadOptions, Rows
from infograph.data.tables import SMILES_NAMES, has_smiles, molecules_of, plain_column, smiles_column, texts
from infograph.errors import ColumnWarning, InvalidParameter

EDGE_NAMES = (*GRAPH, *ENDS[0], *ENDS[1])


def read_table(source: Any, options: ReadOptions) -> GraphSet:
    """A table of molecules, or of edges where it has no SMILES and columns of source and target."""
    name, columns = f"the {type(source).__name__}", arrow_columns(source)
    columns = {**index_columns(source, SMILES_NAMES, options.smiles), **columns}
    if not has_smiles(list(columns), options):
        columns = {**index_columns(source, EDGE_NAMES, options.id), **columns}
    if edge_columns(list(columns)) and not has_smiles(list(columns), options):
        return read_edges(EdgeTable.of(columns, name, options.id), options)
    objects = [each for each, cells in columns.items() if isinstance(cells, _Molecules)]
    if objects and (options.smiles in objects or not has_smiles(list(columns), options)):
        smiles = options.smiles if options.smiles in objects else objects[0]
        molecules, column = columns[smiles], None
    elif not has_smiles(list(columns), options) and _is_square(source):
        raise InvalidParameter(
            f"{name} of shape {source.shape} has no columns of molecules or edges; an adjacency matrix has "
            f"the same names as index and columns, or is an array: to_numpy() gives one"
        )
    else:
        column = smiles_column([each for each in columns if each not in objects], options, name)
        molecules = texts(plain_column(name, column, columns[column], needed=True))
    if not len(molecules):
        raise InvalidParameter(f"{name} has columns and no rows")
    cells = {each: values for each, values in columns.items() if each not in objects}
    check_texts({n: np.array(v, object) for n, v in cells.items() if isinstance(v, list) and n != column})
    rows = Rows(cells, range(1, len(molecules) + 1), molecules=molecules, smiles=column, counted="row")
    return molecules_of(rows, options, name, index_ids(source) if hasattr(source, "iloc") else None)


def _is_square(source: Any) -> bool:
    return hasattr(source, "iloc") and len(source) == source.shape[1]


class _Molecules(list[Any]):
    """A column of RDKit molecules, as RDKit's own DataFrames have it."""


def arrow_columns(source: Any) -> dict[str, Any]:
    """The columns of a table as Arrow arrays; as lists of texts where pandas mixes types."""
    import pyarrow as pa

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


def _arrow(values: Any, name: str = "") -> Any:
    """A column of pandas; None, with a warning, where it holds objects that are no values."""
    import pyarrow as pa

    try:
        made = pa.array(values, from_pandas=True)
    except (pa.ArrowException, UnicodeEncodeError):
        made = None
    kind = getattr(made, "type", None)
    kind = kind.value_type if kind is not None and pa.types.is_dictionary(kind) else kind
    if made is not None and not isinstance(kind, pa.BaseExtensionType):
        return made
    cells = values.tolist()
    if made is not None:  # periods, intervals
        return ["" if is_missing(cell) else str(cell) for cell in cells]
    given = [cell for cell in cells if not is_missing(cell)]
    if all(type(cell).__name__ == "Mol" for cell in given):
        return _Molecules(cells)
    if not all(map(is_value, given)):
        warnings.warn(f"the column {name!r} holds no values and is not used", ColumnWarning, stacklevel=5)
        return None
    return ["" if is_missing(cell) else str(cell) for cell in cells]


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
