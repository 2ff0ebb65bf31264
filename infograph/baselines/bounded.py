"""What kernels and embeddings share: settings that stay, an estimate before long work, and its limits."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from infograph.contract import GraphTransformer
from infograph.contract.rollback import unchanged_on_error
from infograph.data.align import align
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.data.schema import Schema
from infograph.errors import InvalidParameter


class Estimate(NamedTuple):
    """What a method will take on one core, roughly: within a factor of three or so."""

    seconds: float
    megabytes: float


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
