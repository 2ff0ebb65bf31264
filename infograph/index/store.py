"""The rows of an index, which never change in place: a search keeps what was there when it began."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.columns import id_array
from infograph.data.embeddings import graph_values
from infograph.data.graphset import GraphSet
from infograph.errors import InvalidParameter, SchemaMismatch
from infograph.index.joining import join_columns, join_graphs
from infograph.index.metric import check_vectors, norms_of


@dataclass(frozen=True, eq=False)
class Store:
    """One row per graph.

    Attributes:
        ids: (G,) the user's ids, all different.
        vectors: (G, D) float32, all finite.
        norms: (G,) their lengths.
        columns: what else is known of the graphs, (G,) or (G, width) each.
        graphs: the graphs themselves, None where there are only vectors.
    """

    ids: NDArray[Any]
    vectors: NDArray[np.float32]
    norms: NDArray[np.float64]
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    graphs: GraphSet | None = None

    @classmethod
    def of(
        cls,
        ids: NDArray[Any],
        vectors: Any,
        columns: Mapping[str, NDArray[Any]],
        graphs: GraphSet | None = None,
    ) -> Store:
        """Rows that were looked at.

        Raises:
            InvalidParameter: lengths differ, an id stands twice, or a vector is not finite.
        """
        found = np.ascontiguousarray(check_vectors(vectors, ids if len(ids) == len(vectors) else None))
        for name, values in {"ids": ids, **columns}.items():
            if len(values) != len(found):
                raise InvalidParameter(f"{len(found)} vectors, but {len(values)} values of {name!r}")
        store = cls(ids, found, norms_of(found), columns, graphs)
        _ = store.positions
        return store

    @classmethod
    def of_graphs(cls, graphs: GraphSet, vectors: Any, names: Iterable[str] | None = None) -> Store:
        """Graphs, their vectors, and the graph columns `names` (None: all); other columns are left out."""
        if names is not None:
            chosen = [names] if isinstance(names, str) else list(dict.fromkeys(names))
            columns = {name: graph_values(graphs, name) for name in chosen}  # says which there are
            schema = graphs.schema.replace("graph", (c for c in graphs.schema.graph if c.name in columns))
            graphs = replace(graphs, schema=schema, graph={name: graphs.graph[name] for name in columns})
        graphs = replace(graphs, rejected=())
        return cls.of(graphs.ids, vectors, all_columns(graphs), graphs)

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def dim(self) -> int:
        """The length of the vectors."""
        return int(self.vectors.shape[1])

    @cached_property
    def positions(self) -> dict[str, int]:
        """Where each id stands; ids are compared as texts."""
        positions = {str(graph_id): row for row, graph_id in enumerate(self.ids.tolist())}
        if len(positions) < len(self.ids):
            seen: set[str] = set()
            twice = next(i for i in map(str, self.ids.tolist()) if i in seen or seen.add(i))  # type: ignore[func-returns-value]
            raise InvalidParameter(f"the id {twice!r} stands twice: the ids of an index must be different")
        return positions

    def row(self, graph_id: object) -> int:
        """Where a graph stands.

        Raises:
            InvalidParameter: there is none of that id.
        """
        if str(graph_id) not in self.positions:
            some = ", ".join(map(repr, self.ids[:3].tolist()))
            raise InvalidParameter(
                f"no graph of this index has the id {graph_id!r}; it holds {len(self):,} graphs with ids "
                f"such as {some}"
            )
        return self.positions[str(graph_id)]

    def joined(self, other: Store) -> Store:
        """These rows and those of `other` behind them.

        Raises:
            InvalidParameter: an id is there already, or the vectors are of another length.
            SchemaMismatch: the columns do not fit.
        """
        known = next((i for i in other.positions if i in self.positions), None)
        if known is not None:
            raise InvalidParameter(
                f"the id {known!r} is in the index already: give the new graphs other ids, for instance "
                f"as_graphset(graphs, ids=[...])"
            )
        if other.dim != self.dim:
            raise InvalidParameter(f"vectors of {other.dim} numbers, those of the index have {self.dim}")
        vectors = np.concatenate([self.vectors, other.vectors])
        norms = np.concatenate([self.norms, other.norms])
        if self.graphs is not None and other.graphs is not None:
            graphs = join_graphs(self.graphs, other.graphs)
            return Store(graphs.ids, vectors, norms, all_columns(graphs), graphs)
        strange = [name for name in other.columns if name not in self.columns]
        if strange:
            have = ", ".join(map(repr, self.columns)) or "none"
            raise SchemaMismatch(f"the index has no column {strange[0]!r}; it has: {have}")
        columns = join_columns(self.columns, other.columns, len(other))
        ids = id_array([*self.ids.tolist(), *other.ids.tolist()])
        return Store(ids, vectors, norms, columns)


def all_columns(graphs: GraphSet) -> dict[str, NDArray[Any]]:
    """The graph columns as the user knows them."""
    return {column.name: graph_values(graphs, column.name) for column in graphs.schema.graph}
