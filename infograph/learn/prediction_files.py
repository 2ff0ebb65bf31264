"""Predictions to Parquet, CSV and JSON lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from infograph.data.storage import check_writable, replaced_file
from infograph.errors import InvalidParameter
from infograph.learn.predictions import Predictions

PARQUET, CSV, JSON_LINES = (".parquet",), (".csv",), (".json", ".jsonl")


def check_place(path: str | Path) -> None:
    """Refuse, before the work that leads to it, a file that cannot be written.

    Raises:
        InvalidParameter: its ending says nothing, or it is a folder.
        OSError: its folder cannot be written to.
    """
    if Path(path).suffix not in (*PARQUET, *CSV, *JSON_LINES):
        raise InvalidParameter(f"{path}: predictions are written to .parquet, .csv or .json files")
    check_writable(path)


def write_predictions(predictions: Predictions, path: str | Path) -> Path:
    """Write to a file, whole or not at all; its ending says how.

    Parquet has each unit as the metadata `unit` of its field; CSV and JSON lines (one object per line) have
    it in brackets behind the column's name.
    """
    check_place(path)
    path = Path(path)
    with replaced_file(path) as work:
        if path.suffix in JSON_LINES:
            work.write_text(_json_lines(predictions), encoding="utf-8")
        elif path.suffix in CSV:
            import pyarrow.csv as csv

            table = _table(predictions, gaps=True)
            csv.write_csv(table.rename_columns([predictions.header(n) for n in table.column_names]), work)
        else:
            import pyarrow.parquet as parquet

            parquet.write_table(_table(predictions), work)
    return path


def rows_of(predictions: Predictions) -> list[dict[str, Any]]:
    """One JSON-ready mapping per graph, by column name; None where a value is missing."""
    columns = {name: values.tolist() for name, values in predictions.columns.items()}
    rows = zip(*columns.values(), strict=True)
    return [{name: _plain(value) for name, value in zip(columns, row, strict=True)} for row in rows]


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and value != value else value


def _json_lines(predictions: Predictions) -> str:
    heads = {name: predictions.header(name) for name in predictions.columns}
    lines = ({heads[name]: value for name, value in row.items()} for row in rows_of(predictions))
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def _table(predictions: Predictions, *, gaps: bool = False) -> Any:
    """As an Arrow table; with `gaps` a NaN is no value at all, which CSV writes as an empty cell."""
    import pyarrow as pa

    arrays, fields = [], []
    for name, values in predictions.columns.items():
        rows = values.tolist() if values.dtype.kind == "O" or values.ndim > 1 else values
        array = pa.array(rows, from_pandas=gaps)
        unit = predictions.units.get(name)
        arrays.append(array)
        fields.append(pa.field(name, array.type, metadata={"unit": unit} if unit else None))
    return pa.table(arrays, schema=pa.schema(fields))
