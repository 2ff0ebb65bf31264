"""Vectors of graphs beside the user's ids and columns, as a file: Parquet, CSV or NPZ.

Parquet has the columns `id`, those of the graphs that were asked for, and `vector`, a list of D floats of
fixed length: `np.stack(pandas.read_parquet(path)["vector"])` is the (G, D) array. CSV has `v0` ... instead of
`vector`, NPZ an array per column. A graph that could not be embedded has a vector of NaN, and the column
`problem` says why.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.convert import id_array, objects
from infograph.data.graphset import GraphSet
from infograph.errors import FileMissing, InvalidFile, InvalidParameter, SchemaMismatch
from infograph.io import replaced_file

PROBLEM = "problem"
ENDINGS = (".parquet", ".csv", ".npz")
RESERVED = r"id|vector|v\d+|file|allow_pickle"  # the last two: arguments of numpy.savez


@dataclass(frozen=True, eq=False)
class Embeddings:
    """One row per graph.

    Attributes:
        ids: (G,) the user's ids.
        vectors: (G, D) float32; NaN where a graph could not be embedded.
        columns: what else is known of the graphs, by name, (G,) each; None, NaN or "" where a value is
            missing.
    """

    ids: NDArray[Any]
    vectors: NDArray[np.float32]
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

        Raises:
            SchemaMismatch: there is no such column.
        """
        names = [column.name for column in graphs.schema.graph] if columns is None else list(columns)
        values = {name: graph_values(graphs, name) for name in names}
        if not keep_places:
            return cls(graphs.ids, vectors, values)
        total = len(graphs) + len(graphs.rejected)
        rows = np.delete(np.arange(total), [rejected.index for rejected in graphs.rejected])
        ids, problems = objects([None] * total), objects([None] * total)
        ids[rows] = graphs.ids.tolist()
        for rejected in graphs.rejected:
            ids[rejected.index], problems[rejected.index] = rejected.graph_id, rejected.problem
        spread = {name: _spread(column, rows, total) for name, column in values.items()}
        return cls(id_array(ids.tolist()), _spread(vectors, rows, total), {**spread, PROBLEM: problems})

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def dim(self) -> int:
        """The length of the vectors."""
        return int(self.vectors.shape[1])

    @property
    def usable(self) -> NDArray[np.bool_]:
        """Which rows hold a vector. (G,)."""
        return np.asarray(np.isfinite(self.vectors).all(axis=1))

    def column(self, name: str) -> NDArray[Any]:
        """A column by name.

        Raises:
            SchemaMismatch: there is none; the message lists those there are.
        """
        if name not in self.columns:
            have = ", ".join(map(repr, self.columns)) or "none"
            raise SchemaMismatch(f"no graph column {name!r}; there are: {have}")
        return self.columns[name]

    def select(self, rows: Any) -> Embeddings:
        """Some of the rows, by positions or by a mask."""
        chosen = {name: values[rows] for name, values in self.columns.items()}
        return Embeddings(self.ids[rows], self.vectors[rows], chosen)

    def with_columns_of(self, graphs: GraphSet) -> Embeddings:
        """These vectors with all graph columns of `graphs`, matched by id, in the order of `graphs`.

        Raises:
            InvalidParameter: an id stands twice, or a graph has no vector.
        """
        own = _positions(self.ids.tolist(), "the vectors")
        wanted = _positions(graphs.ids.tolist(), "the graphs")
        missing = [graph_id for graph_id in wanted if graph_id not in own]
        if missing:
            raise InvalidParameter(
                f"{len(missing)} of {len(graphs)} graphs have no vector, the first is {missing[0]!r}: "
                f"are these the graphs that were embedded, read with the same ids?"
            )
        found = self.select(np.array([own[graph_id] for graph_id in wanted], dtype=np.int64))
        columns = {column.name: graph_values(graphs, column.name) for column in graphs.schema.graph}
        return Embeddings(found.ids, found.vectors, {**found.columns, **columns})


def graph_values(graphs: GraphSet, name: str) -> NDArray[Any]:
    """A graph column as the user knows it.

    Raises:
        SchemaMismatch: there is none; the message lists those there are.
    """
    if graphs.schema.column("graph", name) is None:
        have = ", ".join(repr(column.name) for column in graphs.schema.graph) or "none"
        raise SchemaMismatch(f"no graph column {name!r}; the graphs have: {have}")
    return graphs.values("graph", name)


def _positions(ids: Sequence[Any], where: str) -> dict[str, int]:
    positions: dict[str, int] = {}
    for position, graph_id in enumerate(map(str, ids)):
        if graph_id in positions:
            raise InvalidParameter(f"the id {graph_id!r} stands twice among {where}: ids must be different")
        positions[graph_id] = position
    return positions


def _spread(values: NDArray[Any], rows: NDArray[np.integer[Any]], total: int) -> NDArray[Any]:
    """`values` in their rows of a longer array whose other rows are missing."""
    missing: Any = {"O": None, "f": np.nan}.get(values.dtype.kind, "")
    full = np.full((total, *values.shape[1:]), missing, dtype=values.dtype)
    full[rows] = values
    return full


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
