"""GraphIndex: embedded graphs that can be searched for the nearest ones."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.convert import as_graphset
from infograph.data.fingerprints import tanimoto
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.molecules import SMILES
from infograph.data.schema import Schema
from infograph.data.vectors import ENDINGS, Embeddings, data_frame, read_embeddings
from infograph.errors import FileMissing, InvalidParameter, MissingExtra
from infograph.estimators.base import check_embeds, load
from infograph.estimators.folder import model_folder
from infograph.index.nearest import (
    Approximate,
    Exact,
    Found,
    Metric,
    Vectors,
    check_metric,
    check_vectors,
    coinciding,
    faiss_installed,
)
from infograph.index.store import FAISS, MODEL, Store, is_index, read_index, write_index
from infograph.notebook import as_html, drawn

TABLE_NAMES = ("query", "rank", "id", "score", "tanimoto")
MOST_BYTES = 4 << 30  # of vectors that come sparse
EXACT_UP_TO = 100_000
MOST_DRAWN = 8  # hits of the first query, in a notebook
UNCOVERED_SHARE = 0.1  # of vectors, that may have come after the cells were learned
Reader = Callable[[Schema | None], GraphSet]
State = tuple[Store, Approximate | None]


class GraphIndex:
    """The vectors of graphs, with their ids, columns and the graphs themselves, made to be searched.

        index = GraphIndex.build(model, graphs)
        index.search(["CCO"], k=5).table()
        index.save("index")

    Made by `build`, `of` or `open`. Any number of threads may search, also while another one adds: a search
    sees the index as it was when it began.
    """

    def __init__(
        self, store: Store, metric: Metric, approximate: bool | None, model: Any, cells: Approximate | None
    ) -> None:
        self.metric: Metric = metric
        self.approximate = approximate
        self._model = model  # or the folder it is in
        self._lock = threading.RLock()  # of the model: estimators embed for one thread at a time
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
        """
        check_metric(metric)
        check_embeds(model)
        check_faiss(approximate)
        known = as_graphset(graphs, schema=schema_of(model), keep=True)  # bonds, to draw molecules
        store = Store.of_graphs(known, embedded(model, known), columns)
        return cls(store, metric, approximate, model, _cells_for(metric, store, approximate))

    @classmethod
    def of(
        cls, embeddings: Embeddings, *, metric: Metric = "cosine", approximate: bool | None = None
    ) -> GraphIndex:
        """An index of vectors without a model: it is searched by vectors and ids."""
        check_metric(metric)
        check_faiss(approximate)
        store = Store.of(embeddings.ids, embeddings.vectors, dict(embeddings.columns))
        return cls(store, metric, approximate, None, _cells_for(metric, store, approximate))

    # ---- what is in it

    def __len__(self) -> int:
        return len(self._state[0])

    def __contains__(self, graph_id: object) -> bool:
        """Whether a graph has this id; 7 and "7" are the same one."""
        return str(graph_id) in self._state[0].positions

    def row(self, graph_id: object) -> int:
        """Where a graph stands: `index.graphs[index.row("mol7")]`."""
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
    def vectors(self) -> Vectors:
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
        with self._lock:
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
        """
        _check_count("k", k)
        state = self._state
        vectors = _as_vectors(query, state[0].dim)
        if vectors is not None:
            return self._hits(state, self._nearest(*state, vectors, k), np.arange(len(vectors)))
        graphs, vectors = self._embed(query, as_queries)
        smiles = graphs.graph.get(SMILES.name)
        return self._hits(state, self._nearest(*state, vectors, k), graphs.ids, smiles)

    def search_id(self, graph_id: object, k: int = 10) -> Hits:
        """The `k` nearest neighbours of a stored graph, itself left out."""
        _check_count("k", k)
        state = store, _ = self._state
        own = np.array([store.row(graph_id)])
        found = without_own(self._nearest(*state, store.vectors[own], k + 1), own)
        smiles = store.columns.get(SMILES.name)
        return self._hits(state, found, store.ids[own], None if smiles is None else smiles[own])

    def recall(self, sample: int = 200, k: int = 10) -> float:
        """The share of the `k` nearest neighbours that the search finds, of some stored graphs.

        Measured against the exact search on `sample` graphs drawn at random, always the same ones. A
        neighbour counts as found if one as near was found. 1.0 for an exact index.
        """
        _check_count("sample", sample)
        _check_count("k", k)
        store, cells = self._state
        if cells is None or len(store) < 2:
            return 1.0
        drawn = np.random.default_rng(0).choice(len(store), min(sample, len(store)), replace=False)
        _, found = without_own(self._nearest(store, cells, store.vectors[drawn], k + 1), drawn)
        _, exact = without_own(self._nearest(store, None, store.vectors[drawn], k + 1), drawn)
        worst = exact[:, -1:]
        return float((found >= worst if self.metric == "cosine" else found <= worst).mean())

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

        A tolerance by which more than about 30 million pairs coincide is refused.
        """
        store, _ = self._state
        groups = coinciding(Exact(self.metric, store.vectors, store.norms), tolerance)
        return [store.ids[group].tolist() for group in groups]

    def _nearest(self, store: Store, cells: Approximate | None, queries: Vectors, k: int) -> Found:
        exact = Exact(self.metric, store.vectors, store.norms)
        return exact.nearest(queries, k) if cells is None else cells.nearest(exact, queries, k)

    def _hits(
        self, state: State, found: Found, queries: NDArray[Any], smiles: NDArray[Any] | None = None
    ) -> Hits:
        (store, _), (rows, scores) = state, found
        columns = {name: values[rows] for name, values in store.columns.items()}
        return Hits(store.ids[rows], scores, rows, columns, queries, self.metric, smiles, store.graphs)

    def _embed(self, query: Any, read: Callable[[Any, Schema | None], GraphSet]) -> tuple[GraphSet, Vectors]:
        """Graphs as the model reads them, and their vectors."""
        with self._lock:
            model = self.model
            if model is None:
                raise InvalidParameter(
                    "this index has no model to embed graphs with: search by vectors or ids"
                )
            graphs = read(query, schema_of(model))
            found = _as_vectors(np.asarray(embedded(model, graphs)), self._state[0].dim)
        if found is None:
            raise InvalidParameter(f"the {type(model).__name__} gave no vectors")
        return graphs, found

    # ---- growing and files

    def add(self, graphs: Any) -> None:
        """Embed more graphs and append them; add many at a time, as every call copies the vectors.

        Columns that the new graphs lack are missing values; columns that the index lacks are left out.
        """
        with self._lock:
            known, vectors = self._embed(graphs, lambda g, schema: as_graphset(g, schema=schema, keep=True))
            store, cells = self._state
            joined = store.joined(Store.of_graphs(known, vectors))
            self._state = joined, _cells_for(self.metric, joined, self.approximate, cells)

    def save(self, folder: str | Path) -> Path:
        """Write the index to `folder`, whole or not at all; an older index there is replaced."""
        settings = {"metric": self.metric, "approximate": self.approximate}
        write_index(folder, *self._state, settings, self.model)
        return Path(folder)

    @classmethod
    def open(cls, folder: str | Path, *, model: Any = None, verify: bool = True) -> GraphIndex:
        """Open a saved index; vectors and graphs are memory maps, and the model waits for its first query.

        Args:
            folder: what `save` wrote.
            model: the model, given again, where it has parts that are code and so not in the folder.
            verify: whether to compare all checksums and look for bad values, which reads every file.
        """
        folder = Path(folder).resolve()
        settings, store = read_index(folder, verify=verify)
        metric, approximate, covered, has_model = settings.values()
        check_faiss(approximate)
        cells = None
        if covered and faiss_installed():
            cells = Approximate.open(folder / FAISS, covered)
        elif covered:
            cells = _cells_for(metric, store, approximate)  # warns that faiss is not there
        if model is None and has_model:
            model = folder / MODEL
        return cls(store, metric, approximate, model, cells)


def _check_count(name: str, count: int) -> None:
    if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < 1:
        raise InvalidParameter(f"{name}={count!r}: expected a whole number of at least 1")


def check_faiss(approximate: bool | None) -> None:
    """Refuse before the work what would fail after it."""
    if approximate and not faiss_installed():
        raise MissingExtra("faiss", "search")


def _cells_for(
    metric: Metric, store: Store, approximate: bool | None, older: Approximate | None = None
) -> Approximate | None:
    """The approximate form of `store` if it is wanted; an older one serves while few rows came after it."""
    if approximate is False or (approximate is None and len(store) <= EXACT_UP_TO):
        return None
    if older is not None and older.covered >= (1 - UNCOVERED_SHARE) * len(store):
        return older
    if approximate is None and not faiss_installed():
        warnings.warn(
            f"{len(store):,} vectors are searched exactly, as faiss is not installed: "
            f"pip install 'infograph[search]'",
            stacklevel=3,
        )
        return None
    return Approximate.build(Exact(metric, store.vectors, store.norms))


def without_own(found: Found, own: IntArray) -> Found:
    """Neighbours of stored vectors, with one too many of each, without the vectors themselves."""
    rows, scores = found
    keep = rows != own[:, None]
    keep[keep.all(axis=1), -1] = False  # many equal ones stand before it: without the last
    shape = (len(rows), rows.shape[1] - 1)
    return rows[keep].reshape(shape), scores[keep].reshape(shape)


@dataclass(frozen=True, eq=False)
class Hits:
    """The nearest graphs of Q queries, K each, best first. Iterating gives the hits of one query at a time.

    Attributes:
        ids: (Q, K) ids of the graphs found.
        scores: (Q, K) float32, cosine similarities (best is 1) or Euclidean distances (best is 0).
        rows: (Q, K) positions of the graphs in the index.
        columns: (Q, K) each, what the index knows of the graphs found.
        queries: (Q,) ids of the query graphs, or their positions where they have none.
        metric: "cosine" or "euclidean".
        smiles: (Q,) the queries as SMILES; None where they are no molecules.
        graphs: those of the index, to draw the hits in a notebook; None where it has none.
    """

    ids: NDArray[Any]
    scores: NDArray[np.float32]
    rows: IntArray
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    queries: NDArray[Any] = field(default_factory=lambda: np.zeros(1, np.int64))
    metric: Metric = "cosine"
    smiles: NDArray[Any] | None = None
    graphs: GraphSet | None = field(default=None, repr=False)

    @cached_property
    def tanimoto(self) -> NDArray[np.float64] | None:
        """Tanimoto similarities of Morgan bits (radius 2, 2,048 bits), computed when asked for. (Q, K).

        None where queries or index are no molecules, or RDKit is not installed.
        """
        known = self.columns.get(SMILES.name)
        if self.smiles is None or known is None or find_spec("rdkit") is None:
            return None
        return tanimoto(self.smiles.tolist(), known)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Hits]:
        return (self[position] for position in range(len(self)))

    def __getitem__(self, query: int) -> Hits:
        """The hits of one query."""
        part = slice(range(len(self))[query], range(len(self))[query] + 1)
        columns = {name: values[part] for name, values in self.columns.items()}
        own = {name: getattr(self, name)[part] for name in ("ids", "scores", "rows", "queries")}
        smiles = None if self.smiles is None else self.smiles[part]
        return replace(self, columns=columns, smiles=smiles, **own)

    def table(self) -> list[dict[str, Any]]:
        """A row per hit: `query`, `rank` from 1, `id`, `score`, of molecules `tanimoto`, and the columns.

        A column that has the name of one of these is called "its name (column)".
        """
        alike = self.tanimoto
        named = {f"{name} (column)" if name in TABLE_NAMES else name: v for name, v in self.columns.items()}
        return [
            {
                "query": self.queries[query].item(),
                "rank": rank + 1,
                "id": self.ids[query, rank].item(),
                "score": float(self.scores[query, rank]),
                **({} if alike is None else {"tanimoto": float(alike[query, rank])}),
                **{name: values[query : query + 1, rank].tolist()[0] for name, values in named.items()},
            }
            for query in range(len(self))
            for rank in range(self.rows.shape[1])
        ]

    def to_pandas(self) -> Any:
        """The same as a DataFrame, with the ids of the graphs found as its index."""
        rows = self.table()
        names = [name for name in (rows[0] if rows else TABLE_NAMES[:4]) if name != "id"]
        return data_frame({name: [row[name] for row in rows] for name in names}, [row["id"] for row in rows])

    def _repr_html_(self) -> str:
        rows = self.table()
        head = [name for name in (rows[0] if rows else ()) if name != "query" or len(self) > 1]
        table = head, [[row[name] for name in head] for row in rows]
        first = rows[: min(self.rows.shape[1], MOST_DRAWN) if self.graphs is not None else 0]
        pictures = drawn(self.graphs, self.rows.ravel()[: len(first)].tolist())
        captions = (f"{row['id']}: {row['score']:.4g}" for row in first)
        title = f"The {self.rows.shape[1]} nearest" + (f" of each of {len(self):,}" if len(self) > 1 else "")
        score = {"cosine": "cosine, 1 is best", "euclidean": "distance, 0 is best"}[self.metric]
        drawings = zip(captions, pictures, strict=True)
        return as_html(title, {"score": score}, drawings=drawings, tables=[table])


# ---- queries and the models that embed them


def schema_of(model: Any) -> Schema | None:
    """What the graphs of a model must look like; None where it does not say."""
    schema = getattr(model, "schema_", None)
    return schema if isinstance(schema, Schema) else None


def embedded(model: Any, graphs: GraphSet) -> Any:
    """The vectors that a model gives; sparse ones, of kernels with many features, are filled with zeros."""
    vectors = model.transform(graphs)
    if not hasattr(vectors, "toarray"):
        return vectors
    if vectors.shape[0] * vectors.shape[1] * 4 > MOST_BYTES:
        raise InvalidParameter(
            f"{vectors.shape[0]:,} sparse vectors of {vectors.shape[1]:,} numbers would take more than "
            f"{MOST_BYTES >> 30} GB: use a model with shorter vectors, such as InfoGraph"
        )
    return vectors.astype(np.float32).toarray()


def _as_vectors(query: Any, dim: int) -> Vectors | None:
    """The vectors that a query is, (D,) or (Q, D) -> (Q, D); None where it is something else."""
    if hasattr(query, "detach") and hasattr(query, "numpy"):  # a tensor of torch
        query = query.detach().cpu().numpy()
    if isinstance(query, list) and query and isinstance(query[0], Real):
        query = np.asarray(query)
    if not isinstance(query, np.ndarray) or query.dtype.kind not in "iufb":
        return None
    vectors = check_vectors(query[None] if query.ndim == 1 else query)
    if vectors.shape[1] != dim:
        raise InvalidParameter(f"a query of {vectors.shape[1]} numbers, the vectors of the index have {dim}")
    return vectors


def as_queries(query: Any, schema: Schema | None, *, name: str | None = None) -> GraphSet:
    """The graphs that a query is: what `as_graphset` takes, one single graph, or a SMILES called `name`."""
    ids = None
    if isinstance(query, str) and not is_path(query):
        if schema is None or schema.option("hydrogens") is None:  # all readers of molecules set it
            raise InvalidParameter(
                f"{query[:60]!r} is no file, and no SMILES either: the graphs are no molecules"
            )
        query, ids = [query], None if name is None else [name]
    if isinstance(query, tuple) and len(query) == 2 and isinstance(query[0], list):
        query = [query]  # (edge_index, node_features)
    return as_graphset(query, schema=schema, ids=ids)


def is_path(text: str) -> bool:
    """Whether a text names a file or folder."""
    try:
        return bool(text.strip()) and Path(text).exists()
    except (OSError, ValueError):  # too long for a path, or with a zero in it
        return False


# ---- an index, or vectors, of anything that the command line takes


def represent(which: str | Path, read: Reader | None) -> Embeddings:
    """The vectors of a model folder, a file of vectors, or a saved index, with all columns of the graphs.

    A model needs `read`, which gives the graphs, read the way a schema asks for; to vectors that are there it
    adds the columns of the graphs with the same ids.
    """
    path = Path(which)
    found = None
    if is_index(path):
        index = GraphIndex.open(path)
        found = Embeddings(index.ids, index.vectors, index.columns)
    elif path.suffix in ENDINGS and not path.is_dir():
        found = read_embeddings(path)
    if found is not None:
        return found if read is None else found.with_columns_of(read(None))
    if not model_folder(path).exists():
        raise FileMissing(f"there is no model folder and no file of vectors {path}")
    model = load(path)
    if read is None:
        raise InvalidParameter(f"{path} is a model: name the graphs it should turn into vectors, too")
    check_embeds(model)
    graphs = read(model.schema_)
    return Embeddings.of(graphs, embedded(model, graphs), columns=None)


def index_of(which: str | Path, read: Reader | None) -> tuple[GraphIndex, int]:
    """An index of whatever `represent` takes, and how many graphs have no vector and are left out."""
    path = Path(which)
    if is_index(path):
        return GraphIndex.open(path), 0
    if read is not None and model_folder(path).is_dir() and path.suffix not in ENDINGS:
        model = load(path)
        return GraphIndex.build(model, read(model.schema_)), 0
    known = represent(path, read)
    usable = known.select(known.usable)
    return GraphIndex.of(usable), len(known) - len(usable)
