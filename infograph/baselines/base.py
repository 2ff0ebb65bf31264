"""What kernels and embeddings share: fitting, saving, features or similarities, a Gram matrix."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, Options, StrOptions

from infograph.baselines import words
from infograph.baselines.words import Floats, Matrix, Tokens
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.data.joining import align
from infograph.data.schema import Schema
from infograph.errors import InvalidParameter
from infograph.estimators.base import GraphEstimator, GraphTransformer
from infograph.estimators.folder import State
from infograph.parameters import check_parameters

Vectors = NDArray[np.float32]
Values = dict[str, tuple[str, type]]
NATURAL, COUNT = (Interval(Integral, least, None, closed="left") for least in (0, 1))
POSITIVE = Interval(Real, 0, np.inf, closed="neither")
COUNTED = (
    "dim window epochs walk walks length min_count max_tokens block_nodes n_bins n_samples rank n_landmarks "
    "n_labels max_ego n_bits n_trees min_samples_leaf"
)
CONSTRAINTS: dict[str, list[Any]] = {  # a parameter means the same in every method that has it
    **{name: [COUNT] for name in COUNTED.split()},
    **{name: [NATURAL] for name in ("rounds", "levels", "radius", "random_state")},
    **{name: [POSITIVE] for name in ("p", "q", "gamma", "eta")},
    **{name: ["boolean"] for name in ("normalise", "share", "connected_only")},
    "decay": [POSITIVE, StrOptions({"auto"})],
    "draws": [Interval(Integral, 2, None, closed="left")],
    "features": [StrOptions({"bits", "counts", "counts+descriptors"})],
    "max_features": [Interval(Real, 0, 1, closed="right"), None],
    "node_features": [StrOptions({"auto", "constant", "degree"})],
    "pooling": [StrOptions({"mean", "sum"})],
    "size": [Options(Integral, {3, 4, 5})],
    "structure": [StrOptions({"wl", "graphlet", "walk", "shortest-path"})],
    "values": [StrOptions({"frequencies", "counts"})],
    "variant": [StrOptions({"structural", "neighbourhood"})],
}


class SavedAttributes(GraphEstimator):
    """A model whose folder holds its fitted attributes, those whose names end in `_`.

    Arrays are in `model.safetensors` by their names without the `_`. What else there is, `_values` names: the
    entry of `config.json`, the attribute, and its type. `_lists` names lists of named tuples of arrays.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CONSTRAINTS
    _values: ClassVar[Values] = {}
    _lists: ClassVar[dict[str, tuple[str, Any]]] = {}

    def _state(self) -> State:
        state = {
            name.removesuffix("_"): value
            for name, value in vars(self).items()
            if name.endswith("_") and name != "classes_" and isinstance(value, np.ndarray)
        }
        for key, (name, _) in self._lists.items():
            for number, each in enumerate(getattr(self, name)):
                state |= {f"{key}{number}.{field}": values for field, values in each._asdict().items()}
        return state

    def _set_state(self, state: State) -> None:
        for key, (name, kind) in self._lists.items():
            count = len({each.partition(".")[0] for each in state if each.startswith(key)})
            made = [kind(*(state.pop(f"{key}{n}.{field}") for field in kind._fields)) for n in range(count)]
            setattr(self, name, made)
        for name, values in state.items():
            setattr(self, f"{name}_", values)

    def _learned(self) -> dict[str, Any]:
        own = {key: getattr(self, name) for key, (name, _) in self._values.items()}
        return {**super()._learned(), **own}

    def _set_learned(self, learned: dict[str, Any]) -> None:
        super()._set_learned(learned)
        for key, (name, kind) in self._values.items():
            setattr(self, name, kind(learned[key]))


class Baseline(SavedAttributes, GraphTransformer):
    """Base of kernels and embeddings. Subclasses have `_schema` and `_learn`.

    Settings but those in `_free` stay what they were in `fit`: `_made` is a copy that has them.
    """

    _free: ClassVar[tuple[str, ...]] = ()
    _values: ClassVar[Values] = {"graphs": ("n_graphs_", int)}
    n_graphs_: int
    _made: Self

    def _schema(self, graphs: GraphSet) -> Schema:
        """The schema of the graphs as the method sees them: just the columns that matter, as `used`."""
        raise NotImplementedError

    def _learn(self, graphs: GraphSet) -> Any:
        """Learn from graphs that fit `_schema`."""
        raise NotImplementedError

    def fit(self, graphs: Any, y: object = None) -> Self:
        """Learn from these graphs; `y` is ignored."""
        self._fit(graphs)
        return self

    def _fit(self, graphs: Any) -> Any:
        check_parameters(self)
        read = as_graphset(graphs)
        schema = self._schema(read).replace("graph", ())
        known = align(read, schema)
        self._made = clone(self)
        found = self._learn(known)
        self.schema_, self.n_graphs_ = schema, len(known)
        return found

    def _known(self, graphs: Any, errors: object) -> GraphSet:
        self._check_fitted()
        return read_like(graphs, self.schema_)

    def _fitted_settings(self) -> dict[str, Any]:
        return {name: v for name, v in self._made.get_params(deep=False).items() if name not in self._free}

    def _set_learned(self, learned: dict[str, Any]) -> None:
        super()._set_learned(learned)
        self._made = clone(self)

    def _card(self) -> str:
        fitted_with = {**self.get_params(deep=False), **self._fitted_settings()}
        settings = "".join(f"- {name}: {value}\n" for name, value in fitted_with.items())
        fitted = f"Fitted to {self.n_graphs_:,} graphs.\n\n    infograph.load(folder).transform(graphs)"
        return f"# {type(self).__name__}\n\n{fitted}\n\n{settings}"


class GraphKernel(Baseline):
    """Base of all graph kernels: similarities k(x, y) of graphs that are inner products of some features.

    `gram()` gives the kernel values of the fitted graphs, `gram(graphs)` those between new graphs and the
    fitted ones. A classifier takes the former as `infograph.evaluate.Gram(kernel.gram())`. `transform`
    gives explicit features where a kernel has them, and the rows of `gram(graphs)` where it has none.

    Every kernel has the parameter `normalise` (k(x, y) / sqrt(k(x, x) k(y, y)); 0 where k(x, x) or k(y, y)
    is), which may be changed after `fit`. All other settings stay what they were in `fit`.

    Subclasses have `_compare(graphs)`, and `_features(graphs)` where there are explicit features. There None
    stands for the fitted graphs, for which nothing is computed twice.

    Attributes:
        squares_: (G,) k(x, x) of the fitted graphs, not normalised.
    """

    _free = ("normalise",)
    normalise: bool
    squares_: Floats

    def _compare(self, graphs: GraphSet | None) -> tuple[Floats, Floats]:
        """Values between graphs and the fitted ones (G', G), and k(x, x) (G',); not normalised."""
        raise NotImplementedError

    def _features(self, graphs: GraphSet | None) -> Matrix:
        return self._gram(graphs)

    @property
    def _n_features_out(self) -> int:
        return self.n_graphs_

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

    def _gram(self, graphs: GraphSet | None) -> Floats:
        values, squares = self._compare(graphs)
        if not self.normalise:
            return values
        values = values * np.outer(_inverse_root(squares), _inverse_root(self.squares_))
        if graphs is None:
            np.fill_diagonal(values, np.where(squares > 0, 1.0, 0.0))
        return values


def _inverse_root(squares: Floats) -> Floats:
    """1 / sqrt(k(x, x)), and 0 where k(x, x) is 0."""
    return np.where(squares > 0, 1.0 / np.sqrt(np.where(squares > 0, squares, 1.0)), 0.0)


class FeatureKernel(GraphKernel):
    """Base of kernels with explicit features, dense or sparse.

    `transform` gives the features; with `normalise` each row is divided by sqrt(k(x, x)), so that inner
    products of rows are the values of `gram`. Subclasses have `_represent(graphs)`; those that learn which
    features there are have `_learn` as well.

    Attributes:
        features_: (G, F) of the fitted graphs, not normalised.
    """

    features_: Matrix

    def _represent(self, graphs: GraphSet) -> tuple[Matrix, Floats]:
        """Features (G', F) and k(x, x) (G',), to which features that no fitted graph has contribute."""
        raise NotImplementedError

    def _learn(self, graphs: GraphSet) -> None:
        self.features_, self.squares_ = self._represent(graphs)

    def _compare(self, graphs: GraphSet | None) -> tuple[Floats, Floats]:
        features, squares = (self.features_, self.squares_) if graphs is None else self._represent(graphs)
        return words.inner_products(features, self.features_), squares

    def _features(self, graphs: GraphSet | None) -> Matrix:
        features, squares = (self.features_, self.squares_) if graphs is None else self._represent(graphs)
        if not self.normalise:
            return features.copy()
        if isinstance(features, csr_matrix):
            return csr_matrix(diags(_inverse_root(squares)) @ features)
        return features * _inverse_root(squares)[:, None]

    @property
    def _n_features_out(self) -> int:
        return int(self.features_.shape[1])


class CountKernel(FeatureKernel):
    """Base of kernels that count things which they learn to know in `fit`: colours, paths.

    Subclasses have `_count(graphs)`, which names what it counted by tokens. What is new in later graphs
    has no column, so it does not change a value against a fitted graph, and it does count in k(x, x).

    Attributes:
        tokens_: (2, F) the columns' tokens.
    """

    tokens_: Tokens

    def _count(self, graphs: GraphSet) -> tuple[Tokens, Matrix]:
        """Distinct tokens (2, C), and how often each occurs in each graph: sparse (G', C)."""
        raise NotImplementedError

    def _learn(self, graphs: GraphSet) -> None:
        tokens, counts = self._count(graphs)
        self.tokens_, place = words.sort_tokens(tokens)
        self.features_ = words.count_known(self.tokens_, place, counts)
        self.squares_ = words.squared_norms(counts.astype(np.float64))

    def _represent(self, graphs: GraphSet) -> tuple[Matrix, Floats]:
        tokens, counts = self._count(graphs)
        known = words.count_known(self.tokens_, words.find_tokens(self.tokens_, tokens), counts)
        return known, words.squared_norms(counts.astype(np.float64))

    def _state(self) -> State:
        sparse = {name: getattr(self.features_, name) for name in ("data", "indices", "indptr")}
        return {**super()._state(), **sparse}

    def _set_state(self, state: State) -> None:
        data, indices, indptr = (state.pop(name) for name in ("data", "indices", "indptr"))
        super()._set_state(state)
        shape = (len(indptr) - 1, self.tokens_.shape[1])
        self.features_ = csr_matrix((data, indices, indptr), shape=shape)


class GraphEmbedding(Baseline):
    """Base of embeddings: `_learn(graphs)` gives one vector per graph. Subclasses have `transform`, too."""

    dim: int
    random_state: int

    def fit_transform(self, graphs: Any, y: object = None) -> Vectors:
        """`fit(graphs).transform(graphs)`, in one pass."""
        vectors: Vectors = self._fit(graphs)
        return vectors.copy()

    @property
    def _n_features_out(self) -> int:
        return self._made.dim


def read_like(source: Any, schema: Schema) -> GraphSet:
    """Graphs with the columns of `schema`, its categories first and their own new ones after them.

    A label that no fitted graph has matches none of theirs, and two such labels stay two: k(x, x) of a new
    graph is what it would be had it been there in `fit`. Only molecules that are read here from SMILES have
    all unknown categories as one, with the `UnknownCategoryWarning` of `as_graphset`.
    """
    if not isinstance(source, GraphSet) and schema.options:
        return as_graphset(source, schema=schema)
    node, edge = ({column.name: column.kind for column in schema.features(at)} for at in ("node", "edge"))
    read = as_graphset(
        source, node=node or None, edge=edge or None, weight=schema.weight.name if schema.weight else None
    )
    for level in ("node", "edge"):
        columns = []
        for column in getattr(schema, level):
            own = read.schema.column(level, column.name)
            if own is not None and "categorical" in (own.kind, column.kind):
                both = dict.fromkeys((*column.categories, *own.categories))  # distinct, in this order
                column = replace(column, categories=tuple(both))
            columns.append(column)
        schema = schema.replace(level, columns)
    return align(read, schema)


def label_schema(graphs: GraphSet, node: Any, edge: Any = None, *, edges: bool = True) -> Schema:
    """The schema of a kernel that compares labels: just the used node columns, and edge columns if `edges`.

    `node` and `edge` name the columns to compare; None takes those that the schema marks as used. Measured
    numbers, which hardly ever repeat, are refused.
    """
    schema = graphs.schema.select("node", node).select("edge", edge)
    kept = {"node": schema.features("node"), "edge": schema.features("edge") if edges else ()}
    for level, columns in kept.items():
        for column in columns:
            values = getattr(graphs, level)[column.name]
            measured = column.kind == "float" and (np.rint(values) != values).any()  # degrees, one-hot: not
            if measured or column.kind == "text":
                raise InvalidParameter(
                    f"the {level} column {column.name!r} holds measured numbers, but this kernel compares "
                    f"labels: round them, or choose others with {level}_columns=[...] ([] for none)"
                )
    return replace(schema, node=kept["node"], edge=kept["edge"], graph=())


def walk_schema(graphs: GraphSet) -> Schema:
    """The schema of a method that walks: no columns but the edges' weight."""
    weight = graphs.schema.weight
    return replace(graphs.schema, node=(), edge=() if weight is None else (weight,))
