"""The map as a table for other tools.

Parquet with `id`, the user's columns, `cluster` (from 1, missing in none), `outlier score`, `map_x`, `map_y`
and `neighbors`, a struct of `ids` (rows of this table, from 0) and `distances`: what embedding-atlas reads,

    embedding-atlas points.parquet --x map_x --y map_y --neighbors neighbors
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.storage import replaced_file
from infograph.errors import InvalidParameter
from infograph.explore.atlas import Atlas
from infograph.explore.columns import own_names
from infograph.explore.neighbours import neighbour_table
from infograph.index import GraphIndex

NEIGHBOURS = 15


def write_points(
    index: GraphIndex, atlas: Atlas, path: str | Path, *, neighbours: int = NEIGHBOURS, vectors: bool = False
) -> Path:
    """Write every graph with its place on the map to a Parquet file, whole or not at all.

    Args:
        index: the index.
        atlas: made from it.
        path: the `.parquet` file.
        neighbours: nearest graphs of each; 0 leaves them out. A distance is 1 - cosine, or the Euclidean one.
        vectors: whether the column `vector` is written.

    Raises:
        InvalidParameter: another ending, or a negative number of neighbours.
    """
    import pyarrow as pa
    import pyarrow.parquet as parquet

    if Path(path).suffix != ".parquet":
        raise InvalidParameter(f"{path}: points are written to a .parquet file")
    if neighbours < 0:
        raise InvalidParameter(f"neighbours={neighbours}: expected 0 or more")
    names = own_names(index.columns)
    columns: dict[str, Any] = {"id": pa.array(index.ids.tolist())}
    columns |= {names[name]: _array(values) for name, values in index.columns.items()}
    labels = atlas.clusters
    columns["cluster"] = pa.array(labels + 1, mask=labels < 0)
    columns["outlier score"] = pa.array(atlas.outliers)
    columns["map_x"], columns["map_y"] = (pa.array(axis) for axis in np.ascontiguousarray(atlas.points.T))
    if neighbours:
        columns["neighbors"] = _neighbors(index, neighbours)
    if vectors:
        flat = pa.array(np.ascontiguousarray(index.vectors).ravel())
        columns["vector"] = pa.FixedSizeListArray.from_arrays(flat, index.vectors.shape[1])
    with replaced_file(path) as work:
        parquet.write_table(pa.table(columns), work)
    return Path(path)


def _array(values: NDArray[Any]) -> Any:
    """A column of the table; numbers and texts together are texts."""
    import pyarrow as pa

    try:
        return pa.array(values.tolist())
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values.tolist()])


def _neighbors(index: GraphIndex, k: int) -> Any:
    import pyarrow as pa

    rows, scores = neighbour_table(index, k)
    distances = np.maximum(1 - scores, 0) if index.metric == "cosine" else scores
    ends = np.arange(0, rows.size + 1, max(rows.shape[1], 1), dtype=np.int32)
    if not rows.shape[1]:
        ends = np.zeros(len(rows) + 1, np.int32)
    lists = [pa.ListArray.from_arrays(ends, pa.array(part.ravel())) for part in (rows, distances)]
    return pa.StructArray.from_arrays(lists, ["ids", "distances"])
