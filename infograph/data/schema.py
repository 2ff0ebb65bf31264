"""What every column of a GraphSet means: its kind, width, categories, unit and scaling.

The schema travels with every saved GraphSet and every fitted model, so that graphs with other features are
refused by name instead of being embedded silently.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from infograph.errors import InvalidFile, SchemaMismatch
from infograph.notebook import as_html, some

Kind = Literal["categorical", "float", "text"]
Level = Literal["node", "edge", "graph"]
Role = Literal["feature", "weight", "position"]
Category = str | int | bool
LEVELS: tuple[Level, ...] = ("node", "edge", "graph")


@dataclass(frozen=True)
class Column:
    """One named column of a GraphSet.

    Attributes:
        name: the user's name for it.
        kind: "categorical" (stored as codes), "float" (`width` numbers each; float32 at nodes and edges,
            float64 at graphs, where they are measured values) or "text".
        width: numbers per row of a float column; 1 otherwise.
        categories: code -> category. The code `len(categories)` means "unknown": missing, or not seen when
            the schema was made. At graphs, where categories are labels, NaN stands for it.
        unit: physical unit, empty where there is none.
        used: whether encoders see the column unless told otherwise (TU edge labels and coordinates: False).
        role: "feature", "weight" for the edge column that multiplies messages, or "position" for the node
            column with coordinates in space, of which encoders see only distances.
        tensor: name, type and shape of the tensor of PyG that the column was or was part of, such as
            "x int64 9"; empty where it came from elsewhere.
        mean, scale: what standardises a float column, one pair per dimension; empty before `fit`.
    """

    name: str
    kind: Kind
    width: int = 1
    categories: tuple[Category, ...] = ()
    unit: str = ""
    used: bool = True
    role: Role = "feature"
    tensor: str = ""
    mean: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()

    @property
    def unknown(self) -> int:
        """The code of a category that is not in the schema."""
        return len(self.categories)

    @property
    def encoded_width(self) -> int:
        """Inputs the column gives an encoder: one per category (unknown is all zeros), or its floats."""
        return len(self.categories) if self.kind == "categorical" else self.width

    def __str__(self) -> str:
        """What it holds: "3 categories: C, N, O", "3 numbers, Angstrom, position"."""
        numbers = "number" if self.width == 1 else f"{self.width} numbers"
        held = {"float": numbers, "text": "text"}.get(self.kind) or (
            f"{len(self.categories)} {'category' if len(self.categories) == 1 else 'categories'}: "
            f"{some(self.categories)}"
        )
        role = "" if self.role == "feature" else self.role
        return ", ".join(filter(None, (held, self.unit, role)))

    def codes(self, values: NDArray[Any]) -> NDArray[np.int32]:
        """Stored categories as codes: a NaN, which is a missing one at graphs, is `unknown`."""
        if values.dtype.kind == "f":
            values = np.where(np.isnan(values), self.unknown, values)
        return values.astype(np.int32, copy=False)

    def fitted(self, values: NDArray[Any]) -> Column:
        """This column with `mean` and `scale` taken from `values`.

        Dimensions that only hold 0 and 1 are indicators and stay as they are; constant ones are only centred.
        """
        if self.kind != "float" or self.role != "feature":
            return self
        rows = np.asarray(values, dtype=np.float64).reshape(len(values), self.width)  # (rows, width)
        missing = np.isnan(rows)
        rows = np.where(missing.all(axis=0), 0.0, rows) if len(rows) else np.zeros((1, self.width))
        indicator = ((rows == 0) | (rows == 1) | np.isnan(rows)).all(axis=0)
        mean = np.where(indicator, 0.0, np.nanmean(rows, axis=0))
        deviation = np.nanstd(rows, axis=0)
        scale = np.where(indicator | (deviation <= 1e-12 * np.abs(mean)), 1.0, deviation)
        return dataclasses.replace(self, mean=tuple(mean.tolist()), scale=tuple(scale.tolist()))

    def encode(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """An encoder's inputs: one-hot rows, or standardised floats. (rows, encoded_width).

        What is missing is zeros: no category, or the mean.
        """
        if self.kind == "categorical":
            one_hot = np.eye(self.unknown + 1, self.unknown, dtype=np.float32)
            return cast(NDArray[np.float32], one_hot[values])
        rows = np.asarray(values, dtype=np.float64).reshape(len(values), self.width)
        if self.mean:
            rows = np.nan_to_num((rows - np.asarray(self.mean)) / np.asarray(self.scale), posinf=np.inf)
        return rows.astype(np.float32)


@dataclass(frozen=True)
class Schema:
    """The columns of nodes, edges and graphs, in order.

    Attributes:
        node, edge, graph: the columns of each level.
        options: how the graphs were read, as (name, value) pairs such as ("hydrogens", True). Readers that
            are given this schema read further graphs likewise.
    """

    node: tuple[Column, ...] = ()
    edge: tuple[Column, ...] = ()
    graph: tuple[Column, ...] = ()
    options: tuple[tuple[str, Category], ...] = ()

    def option(self, name: str) -> Category | None:
        """What was chosen for a reader's option, or None where the reader has no such option."""
        return dict(self.options).get(name)

    def column(self, level: Level, name: str) -> Column | None:
        """The column of that name, or None."""
        return self._by_name[level].get(name)

    @cached_property
    def _by_name(self) -> dict[Level, dict[str, Column]]:
        """So that reading a table of thousands of columns takes no time that grows with their square."""
        return {level: {column.name: column for column in getattr(self, level)[::-1]} for level in LEVELS}

    def features(self, level: Level) -> tuple[Column, ...]:
        """The columns of a level that encoders see as features."""
        return tuple(column for column in getattr(self, level) if column.used and column.role == "feature")

    @property
    def weight(self) -> Column | None:
        """The edge column that multiplies messages, if there is one."""
        return next((column for column in self.edge if column.used and column.role == "weight"), None)

    @property
    def position(self) -> Column | None:
        """The node column with coordinates in space, if there is one."""
        return next((column for column in self.node if column.role == "position"), None)

    def select(self, level: Level, names: Iterable[str] | None) -> Schema:
        """A copy in which encoders see just the columns `names` of a level; None changes nothing."""
        if names is None:
            return self
        names = [names] if isinstance(names, str) else list(names)
        for name in names:
            if self.column(level, name) is None:
                raise no_column(self, level, name)
        columns = (dataclasses.replace(c, used=c.name in names) for c in getattr(self, level))
        return self.replace(level, columns)

    def replace(self, level: Level, columns: Iterable[Column]) -> Schema:
        """A copy with other columns at one level."""
        changed: dict[str, Any] = {level: tuple(columns)}
        return dataclasses.replace(self, **changed)

    def _repr_html_(self) -> str:
        rows = [
            (level, column.name, column, "yes" if column.used and level != "graph" else "")
            for level in LEVELS
            for column in getattr(self, level)
        ]
        head = ("level", "column", "holds", "seen by encoders")
        return as_html("Schema", dict(self.options), tables=[(head, rows)] if rows else ())

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form; what is as by default is left out."""
        content: dict[str, Any] = {level: [] for level in LEVELS}
        defaults = {field.name: field.default for field in dataclasses.fields(Column)}
        for level in LEVELS:
            for column in getattr(self, level):
                changed = {name: v for name, v in vars(column).items() if v != defaults[name]}
                content[level].append(
                    {name: list(v) if isinstance(v, tuple) else v for name, v in changed.items()}
                )
        return {**content, "options": dict(self.options)} if self.options else content

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Schema:
        """The inverse of `to_dict`."""

        def column(entry: dict[str, Any]) -> Column:
            values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
            return Column(**values)

        try:
            columns = {level: tuple(map(column, content[level])) for level in LEVELS}
            return cls(**columns, options=tuple(content.get("options", {}).items()))
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidFile(f"not a schema: {error!r}") from error


def no_column(schema: Schema, level: Level, name: str) -> SchemaMismatch:
    """What to raise where a column is asked for that is not there."""
    have = ", ".join(repr(column.name) for column in getattr(schema, level)) or "none"
    return SchemaMismatch(f"no {level} column {name!r}; the graphs have: {have}")
