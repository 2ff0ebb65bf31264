"""What node2vec, sub2vec and graph2vec share: checks before long work, names, a card, a saved folder."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.kernel import Estimate, check_whole
from infograph.contract import GraphTransformer
from infograph.data.align import align
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.data.schema import Schema
from infograph.errors import InvalidParameter

Vectors = NDArray[np.float32]


class GraphEmbedding(GraphTransformer):
    """Base of the embeddings that learn one vector per graph from words: `fit`, `transform`, `estimate`.

    Subclasses have `_check_settings`, `_schema`, `estimate`, `_learn(graphs)`, which gives the vectors of
    the fitted graphs, and `transform`. `max_minutes` and `memory_mb` may change after `fit`; `fit` refuses
    to begin where `estimate` says that it would take more.
    """

    _free: ClassVar[tuple[str, ...]] = ("max_minutes", "memory_mb")
    dim: int
    random_state: int
    max_minutes: float | None
    memory_mb: float | None
    n_graphs_: int
    _made_with: dict[str, Any]

    # ---- for subclasses

    def _check_settings(self) -> None:
        """Refuse settings outside their range."""
        check_whole("dim", self.dim, 1)
        check_whole("random_state", self.random_state, 0)

    def _schema(self, graphs: GraphSet) -> Schema:
        """The schema of the graphs as the method sees them."""
        raise NotImplementedError

    def _learn(self, graphs: GraphSet) -> Vectors:
        """Learn from graphs that fit `_schema`; their vectors. (G, dim)."""
        raise NotImplementedError

    def estimate(self, graphs: Any) -> Estimate:
        """Seconds and megabytes that `fit(graphs)` will take on one core, without fitting anything."""
        raise NotImplementedError

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

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """The class in small letters and a number, as scikit-learn asks for it. (dim,)."""
        self._check_fitted()
        name = type(self).__name__.lower()
        return np.array([f"{name}{position}" for position in range(self._n_features_out)], dtype=object)

    # ---- inside

    def _fit(self, graphs: Any) -> Vectors:
        self._check_settings()
        read = as_graphset(graphs)
        schema = self._schema(read).replace("graph", ())
        known = align(read, schema)
        check_budget(self, known)
        import infograph.baselines.generator  # noqa: F401  raises MissingExtra before any work

        self._made_with = self._settings()
        vectors = self._learn(known)
        self.schema_, self.n_graphs_ = schema, len(known)
        return vectors.copy()

    @property
    def _n_features_out(self) -> int:
        return int(self._made_with["dim"])

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

    def _card(self) -> str:
        settings = "".join(f"- {name}: {v}\n" for name, v in self.get_params(deep=False).items())
        return (
            f"# {type(self).__name__}\n\nTurns a graph into {self._n_features_out} numbers; fitted "
            f"to {self.n_graphs_:,} graphs.\n\n    infograph.load(folder).transform(graphs)\n\n{settings}"
        )


def check_budget(estimator: Any, graphs: GraphSet) -> None:
    """Refuse work that `estimator.estimate` says is beyond its `max_minutes` or `memory_mb`."""
    seconds, megabytes = estimator.estimate(graphs)
    for name, needed, unit in (("max_minutes", seconds / 60, "minutes"), ("memory_mb", megabytes, "MB")):
        limit = getattr(estimator, name)
        if limit is None:
            continue
        if isinstance(limit, bool) or not limit > 0:
            raise InvalidParameter(f"{name}={limit!r}: expected a positive number, or None for no limit")
        if needed > limit:
            raise InvalidParameter(
                f"{type(estimator).__name__} of {len(graphs):,} graphs would take about {needed:,.0f} "
                f"{unit}, more than {name}={limit:g}: lower max_tokens or dim, or pass {name}=None"
            )


def check_positive(name: str, value: Any) -> None:
    """Refuse what is not a positive finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < value < np.inf:
        raise InvalidParameter(f"{name}={value!r}: expected a positive number")


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse what is not one of some words."""
    if value not in choices:
        expected = ", ".join(map(repr, choices[:-1])) + f" or {choices[-1]!r}"
        raise InvalidParameter(f"{name}={value!r}: expected {expected}")
