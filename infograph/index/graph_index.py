"""GraphIndex: embedded graphs that can be searched for the nearest ones."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.contract import load
from infograph.data.columns import id_array
from infograph.data.convert import as_graphset
from infograph.data.embeddings import Embeddings
from infograph.data.graphset import GraphSet
from infograph.data.schema import Schema
from infograph.errors import InvalidFile, InvalidParameter
from infograph.index.approximate import Approximate, faiss_installed
from infograph.index.duplicates import check_tolerance, coinciding
from infograph.index.folder import FAISS, MODEL, read_content, read_store, write_index
from infograph.index.hits import Hits
from infograph.index.metric import Metric, check_metric
from infograph.index.neighbours import (
    Found,
    cells_for,
    check_faiss,
    measured_recall,
    neighbours,
    neighbours_of_rows,
)
from infograph.index.queries import as_queries, as_vectors, check_embeds, embedded, schema_of
from infograph.index.store import Store


class GraphIndex:
    """The vectors of graphs, with their ids, columns and the graphs themselves, made to be searched.

        index = GraphIndex.build(model, graphs)
        index.search(["CCO"], k=5).table()
        index.save("index")

    Made by `build`, `of` or `open`. Any number of threads may search, also while another one adds: a search
    sees the index as it was when it began.
    """

    def __init__(
        self,
        store: Store,
        *,
        metric: Metric = "cosine",
        approximate: bool | None = None,
        model: Any = None,
        cells: Approximate | None = None,
    ) -> None:
        check_metric(metric)
        self.metric: Metric = metric
        self.approximate = approximate
        self._model = model  # or the folder it is in
        self._embedding, self._adding = threading.RLock(), threading.Lock()
        self._state = store, cells

    @classmethod
    def build(
        cls,
        model: Any,
        graphs: Any,
        *,
        metric: Metric = "cosine",
        approximate: bool | None = None,
        columns: Iterable[str] | None = None,
    ) -> GraphIndex:
        """Embed graphs with a fitted model and keep everything that a search needs.

        Args:
            model: a fitted estimator with `transform`.
            graphs: anything that `as_graphset` takes; their ids must be different.
            metric: "cosine" similarity, which does not see how long a vector is, or "euclidean" distance.
                With a sum readout, the vectors of a ring of 4 and of one of 8 atoms differ in length alone.
            approximate: False compares a query with all vectors; True lets faiss look only where neighbours
                are likely; None does so above 100,000 vectors where faiss is installed.
            columns: the graph columns to keep; all by default.

        Raises:
            InvalidParameter: the model has no vectors, or an id stands twice.
            MissingExtra: `approximate=True` without faiss.
        """
        check_metric(metric)
        check_embeds(model)
        check_faiss(approximate)
        known = as_graphset(graphs, schema=schema_of(model), keep=True)  # bonds, to draw molecules
        store = Store.of_graphs(known, embedded(model, known), columns)
        cells = cells_for(metric, store, approximate)
        return cls(store, metric=metric, approximate=approximate, model=model, cells=cells)

    @classmethod
    def of(
        cls, embeddings: Embeddings, *, metric: Metric = "cosine", approximate: bool | None = None
    ) -> GraphIndex:
        """An index of vectors without a model: it is searched by vectors and ids.

        Raises:
            InvalidParameter: a vector is not finite, or an id stands twice.
        """
        check_metric(metric)
        check_faiss(approximate)
        store = Store.of(embeddings.ids, embeddings.vectors, dict(embeddings.columns))
        cells = cells_for(metric, store, approximate)
        return cls(store, metric=metric, approximate=approximate, cells=cells)

    # ---- what is in it

    def __len__(self) -> int:
        return len(self._state[0])

    def __contains__(self, graph_id: object) -> bool:
        """Whether a graph has this id; 7 and "7" are the same one."""
        return str(graph_id) in self._state[0].positions

    def row(self, graph_id: object) -> int:
        """Where a graph stands: `index.graphs[index.row("mol7")]`.

        Raises:
            InvalidParameter: no graph has this id.
        """
        return self._state[0].row(graph_id)

    def __repr__(self) -> str:
        store, cells = self._state
        form = "exact" if cells is None else "approximate"
        return f"GraphIndex({len(store):,} graphs, {store.dim} numbers each; {self.metric}, {form})"

    @property
    def ids(self) -> NDArray[Any]:
        """The users' ids. (G,)."""
        return self._state[0].ids

    @property
    def vectors(self) -> NDArray[np.float32]:
        """The vectors. (G, D)."""
        return self._state[0].vectors

    @property
    def columns(self) -> Mapping[str, NDArray[Any]]:
        """What else is known of the graphs."""
        return self._state[0].columns

    @property
    def graphs(self) -> GraphSet | None:
        """The graphs as the model sees them; None in an index of vectors."""
        return self._state[0].graphs

    @property
    def is_approximate(self) -> bool:
        """Whether searches go through faiss."""
        return self._state[1] is not None

    @property
    def has_model(self) -> bool:
        """Whether there is an estimator that embeds queries, read or not."""
        return self._model is not None

    @property
    def model(self) -> Any:
        """The estimator that embeds queries, None where there is none; read from its folder at first use."""
        with self._embedding:
            if isinstance(self._model, Path):
                self._model = load(self._model)
            return self._model

    # ---- searching

    def search(self, query: Any, k: int = 10) -> Hits:
        """The `k` nearest graphs of each query, best first; of equal scores the one stored first.

        Args:
            query: one graph or several in any form that `as_graphset` takes, a SMILES, or a vector (D,) or
                vectors (Q, D). A text is a file if there is one, otherwise a SMILES; in a list it is always
                a SMILES.
            k: how many; fewer come back where the index holds fewer.

        Raises:
            InvalidGraph, InvalidParameter, SchemaMismatch: the query cannot be embedded.
        """
        _check_count("k", k)
        store, cells = self._state
        vectors, names = as_vectors(query, store.dim), None
        if vectors is None:
            graphs, vectors = self._embed(query, as_queries)
            names = graphs.ids
        found = neighbours(self.metric, store, cells, vectors, k)
        return self._hits(store, found, np.arange(len(vectors)) if names is None else names)

    def search_id(self, graph_id: object, k: int = 10) -> Hits:
        """The `k` nearest neighbours of a stored graph, itself left out.

        Raises:
            InvalidParameter: no graph has this id.
        """
        _check_count("k", k)
        store, cells = self._state
        own = np.array([store.row(graph_id)])
        found = neighbours_of_rows(self.metric, store, cells, own, k)
        return self._hits(store, found, store.ids[own])

    def recall(self, sample: int = 200, k: int = 10) -> float:
        """The share of the `k` nearest neighbours that the search finds, of some stored graphs.

        Measured against the exact search on `sample` graphs drawn at random, always the same ones. A
        neighbour counts as found if one as near was found. 1.0 for an exact index.
        """
        _check_count("sample", sample)
        _check_count("k", k)
        return measured_recall(self.metric, *self._state, sample, k)

    def near_duplicates(self, tolerance: float | None = None) -> list[list[Any]]:
        """Groups of graphs whose vectors coincide, as lists of ids in the order of the index.

        Two vectors coincide if their cosine distance 1 - cos, or with the metric "euclidean" their distance
        divided by the length of the longer one, is at most `tolerance`. This is exact, not a search with
        misses: two graphs whose vectors coincide are always in one group. A group is linked by such pairs;
        its ends may be further apart than the tolerance. Vectors of length 0 coincide with each other. The
        default, 5e-11 or 1e-5, joins what is equal but for roundings of float32, such as one graph in two
        orders of its nodes: with both, vectors differ by 1e-5 of their length.

        Equal vectors are no proof of equal graphs: graphs that the encoder cannot tell apart have them, too,
        and by the cosine all rings of carbon are one, whatever their size.

        Memory does not grow with the number of pairs. Time grows with the number of vectors, and with that
        of pairs within the tolerance along the direction in which the vectors differ most.

        Raises:
            InvalidParameter: the tolerance is negative, or so large that it joins everything.
        """
        allowed = check_tolerance(self.metric, tolerance)
        store, _ = self._state
        groups = coinciding(self.metric, store.vectors, store.norms, allowed)
        return [store.ids[group].tolist() for group in groups]

    def _hits(self, store: Store, found: Found, queries: NDArray[Any]) -> Hits:
        rows, scores = found
        columns = {name: values[rows] for name, values in store.columns.items()}
        return Hits(store.ids[rows], scores, rows, columns, queries, self.metric)

    def _embed(
        self, query: Any, read: Callable[[Any, Schema | None], GraphSet]
    ) -> tuple[GraphSet, NDArray[np.float32]]:
        """Graphs as the model reads them, and their vectors. One at a time: estimators promise no more."""
        with self._embedding:
            model = self.model
            if model is None:
                raise InvalidParameter(
                    "this index has no model to embed graphs with: search it by a vector, or by an id with "
                    "search_id"
                )
            graphs = read(query, schema_of(model))
            found = as_vectors(np.asarray(embedded(model, graphs)), self._state[0].dim)
        if found is None:
            raise InvalidParameter(f"the {type(model).__name__} gave no vectors")
        return graphs, found

    # ---- growing

    def add(self, graphs: Any) -> None:
        """Embed more graphs and append them; add many at a time, as every call copies the vectors.

        Columns that the new graphs lack are missing values; columns that the index lacks are left out.

        Raises:
            InvalidParameter: an id is in the index already, or there is no model.
            SchemaMismatch: a column is of another kind than that of the index.
        """
        if self._state[0].graphs is None:
            raise InvalidParameter("this index holds vectors and has no model: use add_vectors")
        known, vectors = self._embed(
            graphs, lambda found, schema: as_graphset(found, schema=schema, keep=True)
        )
        self._append(Store.of_graphs(known, vectors))

    def add_vectors(
        self,
        ids: Sequence[Any] | NDArray[Any],
        vectors: Any,
        columns: Mapping[str, Sequence[Any] | NDArray[Any]] | None = None,
    ) -> None:
        """Append vectors to an index that has no model.

        Args:
            ids: new ids, one per vector.
            vectors: (G, D).
            columns: values of columns of the index; those of other columns are missing.

        Raises:
            InvalidParameter: an id is in the index already, or the index holds graphs.
            SchemaMismatch: the index has no such column.
        """
        if self._state[0].graphs is not None:
            raise InvalidParameter("this index holds graphs, not only vectors: use add(graphs)")
        values = {name: np.asarray(column) for name, column in (columns or {}).items()}
        self._append(Store.of(id_array(np.asarray(ids).tolist()), vectors, values))

    def _append(self, more: Store) -> None:
        with self._adding:
            store, cells = self._state
            joined = store.joined(more)
            self._state = joined, cells_for(self.metric, joined, self.approximate, cells)

    # ---- files

    def save(self, folder: str | Path) -> Path:
        """Write the index to `folder`, whole or not at all; an older index there is replaced.

        Raises:
            InvalidParameter: the folder holds other things, or the model cannot be saved.
        """
        store, cells = self._state
        settings = {"metric": self.metric, "approximate": self.approximate}
        write_index(folder, store, settings, cells, self.model)
        return Path(folder)

    @classmethod
    def open(cls, folder: str | Path, *, model: Any = None, verify: bool = True) -> GraphIndex:
        """Open a saved index; vectors and graphs are memory maps, and the model waits for its first query.

        Args:
            folder: what `save` wrote.
            model: the model, given again, where it has parts that are code and so not in the folder.
            verify: whether to compare all checksums, which reads every file once.

        Raises:
            FileMissing, InvalidFile: a file is missing or damaged, or the folder is no index.
            MissingExtra: it was made with `approximate=True`, and faiss is not installed.
        """
        folder = Path(folder).resolve()
        content = read_content(folder, verify=verify)
        metric, approximate, covered = (content[name] for name in ("metric", "approximate", "covered"))
        store, cells = read_store(folder, content), None
        if covered and (approximate or faiss_installed()):
            cells = Approximate.open(folder / FAISS, covered)
        elif covered:
            cells = cells_for(metric, store, approximate)  # warns that faiss is not there
        if model is None and content["model"]:
            model = folder / MODEL
        try:
            return cls(store, metric=metric, approximate=approximate, model=model, cells=cells)
        except InvalidParameter as error:
            raise InvalidFile(f"{folder} is damaged, {error}; save the index again") from error


def _check_count(name: str, count: int) -> None:
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise InvalidParameter(f"{name}={count!r}: expected a whole number of at least 1")
