"""Vectors of graphs beside the user's ids and columns, as a file: Parquet or CSV.

Parquet has the columns `id`, those of the graphs that were asked for, and `vector`, a list of D floats of
fixed length: `np.stack(pandas.read_parquet(path)["vector"])` is the (G, D) array. CSV has `v0` ... instead of
`vector`. A graph that could not be embedded has a vector of NaN, and the column `problem` says why.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from infograph.data.columns import ids_of
from infograph.data.graphset import GraphSet
from infograph.data.records import id_array, objects
from infograph.data.units import graph_column
from infograph.errors import FileMissing, InvalidFile, InvalidParameter, MissingExtra, SchemaMismatch
from infograph.io import replaced_file

PROBLEM = "problem"
ENDINGS = (".parquet", ".csv")
RESERVED = r"id|vector|v\d+"


@dataclass(frozen=True, eq=False)
class Embeddings:
    """One row per graph."""

    ids: NDArray[Any]  # (G,) the user's
    vectors: NDArray[np.float32]  # (G, D) NaN where a graph could not be embedded
    # What else is known of the graphs, (G,) each; None, NaN or "" where a value is missing.
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        graphs: GraphSet,
        vectors: NDArray[np.float32],
        *,
        columns: Iterable[str] | None = (),
        keep_places: bool = False,
    ) -> Embeddings:
        """The vectors of `graphs` with some of their columns (None: all).

        With `keep_places` the inputs that were rejected when the graphs were read have a row too, in their
        place, and the column `problem` says what was wrong.
        """
        names = [column.name for column in graphs.schema.graph] if columns is None else list(columns)
        values = {name: graph_values(graphs, name) for name in names}
        if not keep_places:
            return cls(graphs.ids, vectors, values)
        total = len(graphs) + len(graphs.rejected)
        rows = np.delete(np.arange(total), [rejected.index for rejected in graphs.rejected])

        def spread(given: NDArray[Any]) -> NDArray[Any]:
            """In their rows of a longer array whose other rows are missing."""
            missing: Any = {"O": None, "f": np.nan}.get(given.dtype.kind, "")
            full = np.full((total, *given.shape[1:]), missing, dtype=given.dtype)
            full[rows] = given
            return full

        ids, problems = objects([None] * total), objects([None] * total)
        ids[rows] = graphs.ids.tolist()
        for rejected in graphs.rejected:
            ids[rejected.index], problems[rejected.index] = rejected.graph_id, rejected.problem
        known = {name: spread(column) for name, column in values.items()}
        return cls(id_array(ids.tolist()), spread(vectors), {**known, PROBLEM: problems})

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def dim(self) -> int:
        return int(self.vectors.shape[1])

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Which rows hold a vector. (G,)."""
        return np.asarray(np.isfinite(self.vectors).all(axis=1))

    def to_pandas(self) -> Any:
        """A DataFrame with the ids as its index: the columns, and `v0` ... of the vectors."""
        numbers = {f"v{n}": values for n, values in enumerate(self.vectors.T)}
        return data_frame({**self.columns, **numbers}, self.ids)

    def column(self, name: str) -> NDArray[Any]:
        if name not in self.columns:
            have = ", ".join(map(repr, self.columns)) or "none"
            raise SchemaMismatch(f"no graph column {name!r}; there are: {have}")
        return self.columns[name]

    def select(self, rows: Any) -> Embeddings:
        """Some of the rows, by positions or by a mask."""
        chosen = {name: values[rows] for name, values in self.columns.items()}
        return Embeddings(self.ids[rows], self.vectors[rows], chosen)

    def with_columns_of(self, graphs: GraphSet) -> Embeddings:
        """These vectors with all graph columns of `graphs`, matched by id, in the order of `graphs`."""
        wanted, own = list(map(str, graphs.ids)), {str(name): row for row, name in enumerate(self.ids)}
        if len(own) < len(self) or len(set(wanted)) < len(wanted):
            where = "vectors" if len(own) < len(self) else "graphs"
            raise InvalidParameter(f"an id stands twice among the {where}: ids must be different")
        missing = [name for name in wanted if name not in own]
        if missing:
            raise InvalidParameter(
                f"{len(missing)} of {len(graphs)} graphs have no vector, the first is {missing[0]!r}"
            )
        found = self.select(np.array([own[name] for name in wanted], dtype=np.int64))
        columns = {column.name: graph_values(graphs, column.name) for column in graphs.schema.graph}
        return Embeddings(found.ids, found.vectors, {**found.columns, **columns})


def data_frame(columns: Mapping[Any, Any], ids: Any, name: str = "id") -> Any:
    """A DataFrame of pandas with ids as its index."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtra("pandas", "pandas") from error
    return pd.DataFrame(dict(columns), index=pd.Index(ids, name=name))


def graph_values(graphs: GraphSet, name: str) -> NDArray[Any]:
    """A graph column as the user knows it; its name may leave the unit out."""
    return graphs.values("graph", graph_column(graphs.schema, name).name)


def check_ending(path: str | Path) -> None:
    """Refuse a file name whose ending says nothing."""
    if Path(path).suffix not in ENDINGS:
        raise InvalidParameter(f"{path}: vectors are written to .parquet or .csv files")


def check_names(columns: Iterable[str]) -> None:
    """Refuse columns that cannot stand beside the vectors."""
    for name in columns:
        if re.fullmatch(RESERVED, name):
            raise InvalidParameter(f"the graph column {name!r} cannot be written beside vectors: rename it")


def write_embeddings(embeddings: Embeddings, path: str | Path) -> Path:
    """Write to a file, whole or not at all; its ending says how."""
    check_ending(path)
    check_names(embeddings.columns)
    path, vectors = Path(path), embeddings.vectors
    columns = {"id": pa.array(embeddings.ids)}
    columns |= {name: arrow_column(values) for name, values in embeddings.columns.items()}
    with replaced_file(path) as work:
        if path.suffix == ".csv":
            import pyarrow.csv as csv

            columns |= {f"v{n}": pa.array(np.ascontiguousarray(vectors[:, n])) for n in range(embeddings.dim)}
            csv.write_csv(pa.table(columns), work)
        else:
            import pyarrow.parquet as parquet

            columns["vector"] = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), embeddings.dim)
            parquet.write_table(pa.table(columns), work)
    return path


def arrow_column(values: NDArray[Any]) -> Any:
    """A graph column as an Arrow array; categories of several types become texts."""
    try:
        return pa.array(values.tolist() if values.dtype.kind == "O" or values.ndim > 1 else values)
    except pa.ArrowException:
        return pa.array([None if value is None else str(value) for value in values])


def read_embeddings(path: str | Path) -> Embeddings:
    """Read what `write_embeddings` wrote, or any Parquet or CSV table of that form."""
    path = Path(path)
    check_ending(path)
    if not path.is_file():
        raise FileMissing(f"no file {path}")
    try:
        if path.suffix == ".csv":
            import pyarrow.csv as csv

            form = csv.ConvertOptions(column_types={"id": pa.string()})  # "007" is no number
            found = _from_table(csv.read_csv(path, convert_options=form))
            ids = ids_of(found.ids.tolist())
            return found if ids is None else replace(found, ids=id_array(ids))
        import pyarrow.parquet as parquet

        return _from_table(parquet.ParquetFile(path).read())
    except (OSError, ValueError, KeyError) as error:
        raise InvalidFile(f"{path} is damaged, or holds no vectors of graphs: {error}") from error


def holds_embeddings(path: str | Path) -> bool:
    """Whether a file is one of vectors and not of graphs; looks at its header only."""
    path = Path(path)
    if path.suffix not in ENDINGS or not path.is_file():
        return False
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


def _from_table(table: Any) -> Embeddings:
    names = table.column_names
    wide = ["vector"] if "vector" in names else [f"v{n}" for n in range(len(names)) if f"v{n}" in names]
    if "id" not in names or not wide:
        raise ValueError("expected the columns 'id' and 'vector', or v0 ...")
    parts = [table[name].to_numpy() for name in wide]
    if wide == ["vector"]:
        vectors = np.array([np.asarray(row, np.float32) for row in parts[0]], dtype=np.float32)
    else:
        vectors = np.stack([part.astype(np.float32) for part in parts], axis=1)
    if vectors.ndim != 2 or not vectors.size:
        raise ValueError(f"expected one vector per id, found vectors of shape {vectors.shape}")
    columns = {name: np.asarray(table[name].to_numpy()) for name in names if name not in ("id", *wide)}
    for name, values in columns.items():
        if values.dtype.kind == "f" and str(table[name].type) not in ("double", "float"):
            columns[name] = objects(table[name].to_pylist())  # whole numbers of which some are missing
    return Embeddings(id_array(table["id"].to_pylist()), vectors, columns)
