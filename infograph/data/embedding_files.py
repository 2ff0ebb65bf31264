"""Embeddings to and from Parquet, CSV and NPZ; `infograph.data.embeddings` describes the columns."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.columns import id_array, objects
from infograph.data.embeddings import Embeddings
from infograph.data.storage import replaced_file
from infograph.errors import FileMissing, InvalidFile, InvalidParameter

ENDINGS = (".parquet", ".csv", ".npz")
RESERVED = r"id|vector|v\d+|file|allow_pickle"  # the last two: arguments of numpy.savez


def check_ending(path: str | Path) -> None:
    """Refuse a file name whose ending says nothing.

    Raises:
        InvalidParameter: the ending is none of `.parquet`, `.csv`, `.npz`.
    """
    if Path(path).suffix not in ENDINGS:
        raise InvalidParameter(f"{path}: vectors are written to .parquet, .csv or .npz files")


def check_names(columns: Iterable[str]) -> None:
    """Refuse columns that cannot stand beside the vectors.

    Raises:
        InvalidParameter: a column has a name that the file needs for itself.
    """
    for name in columns:
        if re.fullmatch(RESERVED, name):
            raise InvalidParameter(
                f"the graph column {name!r} cannot be written beside the vectors, whose file uses that name "
                f"itself: rename the column, or leave it out"
            )


def write_embeddings(embeddings: Embeddings, path: str | Path) -> Path:
    """Write to a file, whole or not at all; its ending says how."""
    check_ending(path)
    check_names(embeddings.columns)
    path = Path(path)
    with replaced_file(path) as work:
        if path.suffix == ".npz":
            arrays: dict[str, Any] = {
                name: _plain_array(values) for name, values in embeddings.columns.items()
            }
            np.savez_compressed(work, id=embeddings.ids, **arrays, vector=embeddings.vectors)
        elif path.suffix == ".csv":
            import pyarrow.csv as csv

            csv.write_csv(_table(embeddings, wide=True), work)
        else:
            import pyarrow.parquet as parquet

            parquet.write_table(_table(embeddings, wide=False), work)
    return path


def read_embeddings(path: str | Path) -> Embeddings:
    """Read what `write_embeddings` wrote, or any Parquet or CSV table of that form.

    Raises:
        FileMissing: there is no such file.
        InvalidFile: it is damaged, or holds no vectors.
    """
    path = Path(path)
    check_ending(path)
    if not path.is_file():
        raise FileMissing(f"no file {path}")
    try:
        return _read_npz(path) if path.suffix == ".npz" else _from_table(_read_table(path), path)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        if isinstance(error, InvalidFile):
            raise
        raise InvalidFile(f"{path} is damaged, or holds no vectors of graphs: {error}") from error


def holds_embeddings(path: str | Path) -> bool:
    """Whether a file is one of vectors and not of graphs; looks at its header only."""
    path = Path(path)
    if path.suffix not in ENDINGS or not path.is_file():
        return False
    if path.suffix == ".npz":
        return True
    try:
        if path.suffix == ".csv":
            with path.open(encoding="utf-8-sig", errors="replace") as file:
                names = file.readline().replace('"', "").strip().split(",")
        else:
            import pyarrow.parquet as parquet

            names = parquet.read_schema(path).names
    except (OSError, ValueError):
        return False
    return "id" in names and ("vector" in names or "v0" in names)


def _table(embeddings: Embeddings, *, wide: bool) -> Any:
    import pyarrow as pa

    vectors, dim = embeddings.vectors, embeddings.dim
    columns = {"id": pa.array(embeddings.ids)}
    columns |= {name: arrow_column(values) for name, values in embeddings.columns.items()}
    if wide:
        columns |= {f"v{place}": pa.array(np.ascontiguousarray(vectors[:, place])) for place in range(dim)}
    else:
        columns["vector"] = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), dim)
    return pa.table(columns)


def arrow_column(values: NDArray[Any]) -> Any:
    """A graph column as an Arrow array; categories of several types become texts."""
    import pyarrow as pa

    try:
        return pa.array(values.tolist() if values.dtype.kind == "O" or values.ndim > 1 else values)
    except pa.ArrowException:
        return pa.array([None if value is None else str(value) for value in values])


def _plain_array(values: NDArray[Any]) -> NDArray[Any]:
    """Objects as numbers or texts: NPZ holds no others without pickle."""
    if values.dtype.kind != "O":
        return values
    rows = values.tolist()
    if all(row is None or (isinstance(row, int) and not isinstance(row, bool)) for row in rows):
        return np.array(rows) if None not in rows else np.array(rows, dtype=np.float64)
    return np.array(["" if row is None else str(row) for row in rows])


def _read_npz(path: Path) -> Embeddings:
    with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    ids, vectors = arrays.pop("id"), arrays.pop("vector").astype(np.float32)
    return _checked(Embeddings(ids, vectors, arrays), path)


def _read_table(path: Path) -> Any:
    if path.suffix == ".csv":
        import pyarrow.csv as csv

        return csv.read_csv(path)
    import pyarrow.parquet as parquet

    return parquet.ParquetFile(path).read()


def _from_table(table: Any, path: Path) -> Embeddings:
    names = table.column_names
    wide = [f"v{place}" for place in range(len(names)) if f"v{place}" in names]
    if "id" not in names or not (wide or "vector" in names):
        raise InvalidFile(
            f"{path} holds no vectors of graphs: expected the columns 'id' and 'vector', or v0 ..."
        )
    if "vector" in names:
        wide = ["vector"]
        vectors = np.array(
            [np.asarray(row, np.float32) for row in table["vector"].to_numpy()], dtype=np.float32
        )
    else:
        vectors = np.stack([table[name].to_numpy().astype(np.float32) for name in wide], axis=1)
    ids = id_array(table["id"].to_pylist())
    columns = {name: _column(table[name]) for name in names if name not in ("id", *wide)}
    return _checked(Embeddings(ids, vectors, columns), path)


def _column(column: Any) -> NDArray[Any]:
    values: NDArray[Any] = np.asarray(column.to_numpy())
    if values.dtype.kind == "f" and str(column.type) not in ("double", "float") and column.null_count:
        return objects(column.to_pylist())  # whole numbers of which some are missing
    return values


def _checked(embeddings: Embeddings, path: Path) -> Embeddings:
    lengths = {len(values) for values in (embeddings.ids, embeddings.vectors, *embeddings.columns.values())}
    if embeddings.vectors.ndim != 2 or len(lengths) != 1 or not len(embeddings) or not embeddings.dim:
        raise InvalidFile(
            f"{path}: expected one vector per id, found vectors of shape {embeddings.vectors.shape}"
        )
    return embeddings
