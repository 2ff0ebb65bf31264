"""What kernels and embeddings share: features or similarities, a Gram matrix, limits, a card."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags

from infograph.baselines.words import Floats, Matrix, Tokens, Vocabulary, inner_products
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet, align
from infograph.data.schema import Column, Level, Schema
from infograph.errors import InvalidParameter
from infograph.estimators.base import GraphTransformer, unchanged_on_error
from infograph.estimators.folder import State

BASE_MB = 400.0  # the interpreter and its libraries
Vectors = NDArray[np.float32]


class BoundedTransformer(GraphTransformer):
    """A transformer whose `fit` refuses to begin where `estimate` says that it would take too much.

    `max_minutes` and `memory_mb` are the limits, None for none. They, and whatever else `_free` names, may be
    changed after `fit`; all other settings stay what they were in it. A fit that fails leaves the model as it
    was. Subclasses have `_check_settings`, `_schema`, `estimate` and `_learn`.
    """

    _free: ClassVar[tuple[str, ...]] = ("max_minutes", "memory_mb")
    _remedy: ClassVar[str] = "take fewer or smaller graphs"
    max_minutes: float | None
    memory_mb: float | None
    n_graphs_: int
    _made_with: dict[str, Any]

    # ---- for subclasses

    def _check_settings(self) -> None:
        """Refuse settings outside their range."""
        raise NotImplementedError

    def _schema(self, graphs: GraphSet) -> Schema:
        """The schema of the graphs as the method sees them: just the columns that matter, as `used`."""
        raise NotImplementedError

    def _learn(self, graphs: GraphSet) -> Any:
        """Learn from graphs that fit `_schema`."""
        raise NotImplementedError

    def estimate(self, graphs: Any) -> Estimate:
        """Seconds and megabytes that `fit(graphs)`, and a kernel's `gram()`, will take on one core."""
        raise NotImplementedError

    # ---- inside

    def _fit(self, graphs: Any) -> Any:
        """Check, learn, and remember; what `_learn` gave."""
        self._check_settings()
        read = as_graphset(graphs)
        schema = self._schema(read).replace("graph", ())
        known = align(read, schema)
        self._check_estimate(known)
        with unchanged_on_error(self):
            self._made_with = self._settings()
            found = self._learn(known)
        self.schema_, self.n_graphs_ = schema, len(known)
        return found

    def _check_estimate(self, graphs: GraphSet) -> None:
        for name in ("max_minutes", "memory_mb"):
            limit = getattr(self, name)
            if limit is not None and (isinstance(limit, bool) or not limit > 0):
                raise InvalidParameter(f"{name}={limit!r}: expected a positive number, or None for no limit")
        seconds, megabytes = self.estimate(graphs)
        kinds = (("max_minutes", seconds / 60, "take", "minutes"), ("memory_mb", megabytes, "need", "MB"))
        for name, needed, verb, unit in kinds:
            limit = getattr(self, name)
            if limit is not None and needed > limit:
                raise InvalidParameter(
                    f"{type(self).__name__} of {len(graphs):,} graphs would {verb} about {needed:,.0f} "
                    f"{unit}, more than {name}={limit:g}: {self._remedy}, or pass {name}=None"
                )

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """The class in small letters and a number, as scikit-learn asks for it. (F,)."""
        self._check_fitted()
        name = type(self).__name__.lower()
        return np.array([f"{name}{position}" for position in range(self._n_features_out)], dtype=object)

    def _settings(self) -> dict[str, Any]:
        return {name: v for name, v in self.get_params(deep=False).items() if name not in self._free}

    def _fitted_settings(self) -> dict[str, Any]:
        return {**super()._fitted_settings(), **self._made_with}

    def _learned(self) -> dict[str, Any]:
        return {**super()._learned(), "graphs": self.n_graphs_}

    def _set_learned(self, learned: dict[str, Any]) -> None:
        super()._set_learned(learned)
        self.n_graphs_ = int(learned["graphs"])
        self._made_with = self._settings()


class GraphKernel(BoundedTransformer):
    """Base of all graph kernels: similarities k(x, y) of graphs that are inner products of some features.

    `gram()` gives the kernel values of the fitted graphs, `gram(graphs)` those between new graphs and the
    fitted ones. A classifier takes the former as `infograph.evaluate.Gram(kernel.gram())`. `transform`
    gives explicit features where a kernel has them, and the rows of `gram(graphs)` where it has none.

    Every kernel has the parameters `normalise` (k(x, y) / sqrt(k(x, x) k(y, y)); 0 where k(x, x) or k(y, y)
    is), which may be changed after `fit`, and `max_minutes` and `memory_mb`: `fit` refuses to begin where
    `estimate` says that the Gram matrix would take more; None never refuses. All other settings stay what
    they were in `fit`.

    Subclasses have `_check_settings`, `_schema`, `estimate`, and
      * `_learn(graphs)`: learn from graphs that fit the schema;
      * `_compare(graphs)`: values against the fitted graphs and k(x, x), neither normalised;
      * `_features(graphs)`: what `transform` returns, only where there are explicit features.
    In both, None stands for the fitted graphs, for which nothing is computed twice.
    """

    _free: ClassVar[tuple[str, ...]] = ("normalise", "max_minutes", "memory_mb")  # may change after fit
    normalise: bool

    # ---- for subclasses

    def _compare(self, graphs: GraphSet | None) -> tuple[Floats, Floats]:
        """Values between graphs and the fitted ones (G', G), and k(x, x) (G',); not normalised."""
        raise NotImplementedError

    def _features(self, graphs: GraphSet | None) -> Matrix:
        """Explicit features; here the kernel values against the fitted graphs, which any kernel has."""
        return self._gram(graphs)

    def _squares(self) -> Floats:
        """k(x, x) of the fitted graphs, not normalised. (G,)."""
        raise NotImplementedError

    @property
    def _n_features_out(self) -> int:
        return self.n_graphs_

    # ---- the public calls

    def fit(self, graphs: Any, y: object = None) -> Self:
        """Learn the features of these graphs; `y` is ignored.

        Raises:
            InvalidParameter: a setting is out of range, or the work would take too long or too much memory.
        """
        check_bool("normalise", self.normalise)
        self._fit(graphs)
        return self

    def fit_transform(self, graphs: Any, y: object = None) -> Matrix:
        """`fit(graphs).transform(graphs)`, in one pass."""
        return self.fit(graphs)._features(None)

    def transform(self, graphs: Any) -> Matrix:
        """Explicit features of graphs, or their kernel values against the fitted ones. (G', F)."""
        self._check_fitted()
        return self._features(read_like(graphs, self.schema_))

    def gram(self, graphs: Any = None) -> Floats:
        """Kernel values of the fitted graphs (G, G), or between `graphs` and the fitted ones (G', G)."""
        self._check_fitted()
        return self._gram(None if graphs is None else read_like(graphs, self.schema_))

    # ---- inside

    def _gram(self, graphs: GraphSet | None) -> Floats:
        values, squares = self._compare(graphs)
        if not self.normalise:
            return values
        values = values * np.outer(inverse_root(squares), inverse_root(self._squares()))
        if graphs is None:
            np.fill_diagonal(values, np.where(squares > 0, 1.0, 0.0))
        return values

    def _card(self) -> str:
        kind = type(self).__name__
        settings = "".join(f"- {name}: {value}\n" for name, value in self.get_params(deep=False).items())
        return (
            f"# {kind}\n\nA graph kernel, fitted to {self.n_graphs_:,} graphs.\n\n"
            "    kernel = infograph.load(folder)\n"
            f"    kernel.gram(graphs)  # values against the fitted graphs\n\n{settings}"
        )


def inverse_root(squares: Floats) -> Floats:
    """1 / sqrt(k(x, x)), and 0 where k(x, x) is 0."""
    safe = np.where(squares > 0, squares, 1.0)
    return np.where(squares > 0, 1.0 / np.sqrt(safe), 0.0)


class FeatureKernel(GraphKernel):
    """Base of kernels with explicit features, dense or sparse.

    `transform` gives the features; with `normalise` each row is divided by sqrt(k(x, x)), so that inner
    products of rows are the values of `gram`. Subclasses have `_represent(graphs)`; those that learn which
    features there are have `_learn` as well.

    Attributes:
        features_: (G, F) of the fitted graphs, not normalised.
        squares_: (G,) k(x, x) of the fitted graphs.
    """

    features_: Matrix
    squares_: Floats

    def _represent(self, graphs: GraphSet) -> tuple[Matrix, Floats]:
        """Features (G', F) and k(x, x) (G',), to which features that no fitted graph has contribute."""
        raise NotImplementedError

    def _learn(self, graphs: GraphSet) -> None:
        self.features_, self.squares_ = self._represent(graphs)

    def _compare(self, graphs: GraphSet | None) -> tuple[Floats, Floats]:
        if graphs is None:
            return inner_products(self.features_, self.features_), self.squares_
        features, squares = self._represent(graphs)
        return inner_products(features, self.features_), squares

    def _features(self, graphs: GraphSet | None) -> Matrix:
        features, squares = (self.features_, self.squares_) if graphs is None else self._represent(graphs)
        if not self.normalise:
            return features.copy()
        if isinstance(features, csr_matrix):
            return csr_matrix(diags(inverse_root(squares)) @ features)
        return features * inverse_root(squares)[:, None]

    def _squares(self) -> Floats:
        return self.squares_

    @property
    def _n_features_out(self) -> int:
        return int(self.features_.shape[1])

    def _state(self) -> State:
        if not isinstance(self.features_, csr_matrix):
            return {"features": self.features_, "squares": self.squares_}
        x = self.features_
        return {"data": x.data, "indices": x.indices, "indptr": x.indptr, "squares": self.squares_}

    def _set_state(self, state: State) -> None:
        self.features_, self.squares_ = state["features"], state["squares"]


class CountKernel(FeatureKernel):
    """Base of kernels that count things which they learn to know in `fit`: colours, paths.

    Subclasses have `_count(graphs)`, which names what it counted by tokens. What is new in later graphs
    has no column, so it does not change a value against a fitted graph, and it does count in k(x, x).

    Attributes:
        vocabulary_: the columns' tokens.
    """

    vocabulary_: Vocabulary

    def _count(self, graphs: GraphSet) -> tuple[Tokens, Matrix]:
        """Distinct tokens (2, C), and how often each occurs in each graph: sparse (G', C)."""
        raise NotImplementedError

    def _learn(self, graphs: GraphSet) -> None:
        tokens, counts = self._count(graphs)
        self.vocabulary_, place = Vocabulary.of(tokens)
        self.features_, self.squares_ = self.vocabulary_.counts(tokens, counts, place)

    def _represent(self, graphs: GraphSet) -> tuple[Matrix, Floats]:
        return self.vocabulary_.counts(*self._count(graphs))

    def _state(self) -> State:
        return {**super()._state(), "tokens": self.vocabulary_.tokens}

    def _set_state(self, state: State) -> None:
        self.vocabulary_ = Vocabulary(np.asarray(state["tokens"], np.uint64))
        parts = (state["data"], state["indices"], state["indptr"])
        self.features_ = csr_matrix(parts, shape=(len(state["indptr"]) - 1, len(self.vocabulary_)))
        self.squares_ = state["squares"]


class GraphEmbedding(BoundedTransformer):
    """Base of the embeddings that learn one vector per graph from words: `fit`, `transform`, `estimate`.

    Subclasses have `_check_settings`, `_schema`, `estimate`, `_learn(graphs)`, which gives the vectors of
    the fitted graphs, and `transform`.
    """

    _remedy: ClassVar[str] = "lower max_tokens or dim"
    dim: int
    random_state: int

    # ---- for subclasses

    def _check_settings(self) -> None:
        """Refuse settings outside their range."""
        check_whole("dim", self.dim, 1)
        check_whole("random_state", self.random_state, 0)

    def transform(self, graphs: Any) -> Vectors:
        """One vector per graph. (G', dim)."""
        raise NotImplementedError

    # ---- the public calls

    def fit(self, graphs: Any, y: object = None) -> Self:
        """Learn from these graphs; `y` is ignored.

        Raises:
            InvalidParameter: a setting is out of range, or the work would take too long or too much memory.
            MissingExtra: numba is not installed.
        """
        self._fit(graphs)
        return self

    def fit_transform(self, graphs: Any, y: object = None) -> Vectors:
        """`fit(graphs).transform(graphs)`, in one pass."""
        return self._fit(graphs)

    # ---- inside

    def _fit(self, graphs: Any) -> Vectors:
        from infograph.baselines.walks import need_numba

        need_numba()  # before any work
        vectors: Vectors = super()._fit(graphs)
        return vectors.copy()

    @property
    def _n_features_out(self) -> int:
        return int(self._made_with["dim"])

    def _card(self) -> str:
        settings = "".join(f"- {name}: {v}\n" for name, v in self.get_params(deep=False).items())
        return (
            f"# {type(self).__name__}\n\nTurns a graph into {self._n_features_out} numbers; fitted "
            f"to {self.n_graphs_:,} graphs.\n\n    infograph.load(folder).transform(graphs)\n\n{settings}"
        )


class Estimate(NamedTuple):
    """What a method will take on one core, roughly: within a factor of three or so."""

    seconds: float
    megabytes: float


def check_bool(name: str, value: object) -> None:
    """Refuse what is not True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidParameter(f"{name}={value!r}: expected True or False")


def check_whole(name: str, value: Any, least: int) -> None:
    """Refuse what is not a whole number of at least `least`."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
        raise InvalidParameter(f"{name}={value!r}: expected a whole number, at least {least}")


def check_positive(name: str, value: Any) -> None:
    """Refuse what is not a positive finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < value < np.inf:
        raise InvalidParameter(f"{name}={value!r}: expected a positive number")


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse what is not one of some words."""
    if value not in choices:
        expected = ", ".join(map(repr, choices[:-1])) + f" or {choices[-1]!r}"
        raise InvalidParameter(f"{name}={value!r}: expected {expected}")


def read_like(source: Any, schema: Schema) -> GraphSet:
    """Graphs with the columns of `schema`, its categories first and their own new ones after them.

    A label that no fitted graph has matches none of theirs, and two such labels stay two: k(x, x) of a new
    graph is what it would be had it been there in `fit`. Only molecules that are read here from SMILES have
    all unknown categories as one, with the `UnknownCategoryWarning` of `as_graphset`.

    Raises:
        SchemaMismatch: a column is missing, or of another kind.
    """
    if not isinstance(source, GraphSet) and schema.options:
        return as_graphset(source, schema=schema)
    kinds = ({column.name: column.kind for column in schema.features(level)} for level in ("node", "edge"))
    node, edge = kinds
    read = as_graphset(
        source, node=node or None, edge=edge or None, weight=schema.weight.name if schema.weight else None
    )
    for level in ("node", "edge"):
        schema = schema.replace(level, (_extended(column, level, read) for column in getattr(schema, level)))
    return align(read, schema)


def _extended(column: Column, level: Level, graphs: GraphSet) -> Column:
    own = graphs.schema.column(level, column.name)
    if own is None or "categorical" not in (own.kind, column.kind):
        return column
    known = set(column.categories)
    return replace(column, categories=(*column.categories, *(c for c in own.categories if c not in known)))


def label_schema(graphs: GraphSet, node: Any, edge: Any, *, edges: bool = True) -> Schema:
    """The schema of a kernel that compares labels: just the used node columns, and edge columns if `edges`.

    Args:
        graphs: the graphs.
        node, edge: names of the columns to compare; None takes those the schema marks as used.
        edges: whether the kernel looks at edge labels at all.

    Raises:
        SchemaMismatch: a name is not there.
        InvalidParameter: a column holds measured numbers, which hardly ever repeat.
    """
    schema = graphs.schema.select("node", node).select("edge", edge)
    node_columns = schema.features("node")
    edge_columns = schema.features("edge") if edges else ()
    for level, columns in (("node", node_columns), ("edge", edge_columns)):
        for column in columns:
            check_discrete(graphs, level, column)
    return replace(schema, node=node_columns, edge=edge_columns, graph=())


def check_discrete(graphs: GraphSet, level: str, column: Column) -> None:
    """Accept categories and whole numbers (one-hot vectors, degrees)."""
    if column.kind == "categorical":
        return
    values = getattr(graphs, level)[column.name]
    if column.kind == "text" or (np.rint(values) != values).any():
        raise InvalidParameter(
            f"the {level} column {column.name!r} holds measured numbers, but this kernel compares labels: "
            f"round them to a few whole numbers, or choose others with {level}_columns=[...] ([] for none)"
        )
