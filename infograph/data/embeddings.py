"""Vectors of graphs beside the user's ids and columns, as a file: Parquet, CSV or NPZ.

Parquet has the columns `id`, those of the graphs that were asked for, and `vector`, a list of D floats of
fixed length: `np.stack(pandas.read_parquet(path)["vector"])` is the (G, D) array. CSV has `v0` ... instead of
`vector`, NPZ an array per column. A graph that could not be embedded has a vector of NaN, and the column
`problem` says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.columns import id_array, objects
from infograph.data.graphset import GraphSet
from infograph.errors import InvalidParameter, SchemaMismatch

PROBLEM = "problem"


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
