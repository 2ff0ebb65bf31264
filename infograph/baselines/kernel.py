"""What all graph kernels share: fit, transform, gram, a saved folder, and an estimate before long work."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.reading import read_like
from infograph.contract import GraphTransformer
from infograph.data.align import align
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.data.schema import Schema
from infograph.errors import InvalidParameter

Floats = NDArray[np.float64]
Matrix: TypeAlias = Any  # a (G, F) numpy array or scipy CSR matrix, both float64
BASE_MB = 400.0  # the interpreter and its libraries


class Estimate(NamedTuple):
    """What fitting and one Gram matrix will take on one core, roughly: the order of magnitude."""

    seconds: float
    megabytes: float


class GraphKernel(GraphTransformer):
    """Base of all graph kernels: similarities k(x, y) of graphs that are inner products of some features.

    `gram()` gives the kernel values of the fitted graphs, `gram(graphs)` those between new graphs and the
    fitted ones. A classifier takes the former as `infograph.evaluate.gram.Gram(kernel.gram())`. `transform`
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
    _remedy: ClassVar[str] = "take fewer or smaller graphs"
    normalise: bool
    max_minutes: float | None
    memory_mb: float | None
    n_graphs_: int
    _made_with: dict[str, Any]

    # ---- for subclasses

    def _check_settings(self) -> None:
        """Refuse settings outside their range."""
        raise NotImplementedError

    def _schema(self, graphs: GraphSet) -> Schema:
        """The schema of the graphs as the kernel sees them: just the columns that matter, as `used`."""
        raise NotImplementedError

    def _learn(self, graphs: GraphSet) -> None:
        """Learn from graphs that fit `_schema`."""
        raise NotImplementedError

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

    def estimate(self, graphs: Any) -> Estimate:
        """Seconds and megabytes that `fit(graphs).gram()` will take, without fitting anything."""
        raise NotImplementedError

    # ---- the public calls

    def fit(self, graphs: Any, y: object = None) -> Self:
        """Learn the features of these graphs; `y` is ignored.

        Raises:
            InvalidParameter: a setting is out of range, or the work would take too long or too much memory.
        """
        check_bool("normalise", self.normalise)
        self._check_settings()
        read = as_graphset(graphs)
        schema = self._schema(read).replace("graph", ())
        known = align(read, schema)
        self._check_estimate(known)
        before = dict(self.__dict__)
        try:
            self._made_with = {k: v for k, v in self.get_params(deep=False).items() if k not in self._free}
            self._learn(known)
        except BaseException:  # a model that was fitted before stays that model
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        self.schema_, self.n_graphs_ = schema, len(known)
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

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """The class in small letters and a number, as scikit-learn asks for it. (F,)."""
        self._check_fitted()
        name = type(self).__name__.lower()
        return np.array([f"{name}{position}" for position in range(self._n_features_out)], dtype=object)

    # ---- inside

    def _gram(self, graphs: GraphSet | None) -> Floats:
        values, squares = self._compare(graphs)
        if not self.normalise:
            return values
        values = values * np.outer(inverse_root(squares), inverse_root(self._squares()))
        if graphs is None:
            np.fill_diagonal(values, np.where(squares > 0, 1.0, 0.0))
        return values

    def _check_estimate(self, graphs: GraphSet) -> None:
        for name in ("max_minutes", "memory_mb"):
            limit = getattr(self, name)
            if limit is not None and (isinstance(limit, bool) or not (limit > 0)):
                raise InvalidParameter(f"{name}={limit!r}: expected a positive number, or None for no limit")
        seconds, megabytes = self.estimate(graphs)
        kind = type(self).__name__
        if self.max_minutes is not None and seconds > 60 * self.max_minutes:
            raise InvalidParameter(
                f"{kind} of {len(graphs):,} graphs would take about {seconds / 60:,.0f} minutes, more than "
                f"max_minutes={self.max_minutes:g}: {self._remedy}, or pass max_minutes=None"
            )
        if self.memory_mb is not None and megabytes > self.memory_mb:
            raise InvalidParameter(
                f"{kind} of {len(graphs):,} graphs would need about {megabytes:,.0f} MB, more than "
                f"memory_mb={self.memory_mb:g}: {self._remedy}, or pass memory_mb=None"
            )

    def _fitted_settings(self) -> dict[str, Any]:
        return {**super()._fitted_settings(), **self._made_with}

    def _learned(self) -> dict[str, Any]:
        return {**super()._learned(), "graphs": self.n_graphs_}

    def _set_learned(self, learned: dict[str, Any]) -> None:
        super()._set_learned(learned)
        self.n_graphs_ = int(learned["graphs"])
        self._made_with = {k: v for k, v in self.get_params(deep=False).items() if k not in self._free}

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


def check_bool(name: str, value: object) -> None:
    """Refuse what is not True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidParameter(f"{name}={value!r}: expected True or False")


def check_whole(name: str, value: Any, least: int) -> None:
    """Refuse what is not a whole number of at least `least`."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value < least:
        raise InvalidParameter(f"{name}={value!r}: expected a whole number, at least {least}")
