"""What the composition of a graph says of a number: least squares, before a model learns the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet
from infograph.data.molecules import ELEMENT, HYDROGENS
from infograph.data.schema import Column, Schema
from infograph.objectives.heads import completed, least_squares, missed

Floats = NDArray[np.float64]
WORTH = 0.95  # of the mean's squared error, at most, on graphs that were left out
NEARLY_ALL = 0.2  # the same for heads of vectors, which see composition by themselves: energies, sizes


@dataclass(frozen=True, eq=False)
class Offset:
    """A linear model of the atoms and bonds of each kind in a graph, or of its nodes and edges by label."""

    names: tuple[str, ...]  # (F,) what is counted
    coef: Floats  # (F, T) in the targets' units per occurrence
    intercept: Floats  # (T,)

    @classmethod
    def fit(cls, graphs: GraphSet, values: Floats, worth: float = WORTH) -> Self | None:
        """By ridge regression of numbers (G, T) with gaps; None where the mean does as well.

        That is decided for each target by leaving graphs out: where more than `worth` of the mean's squared
        error is left, the mean is what it says.
        """
        names, counts = composition(graphs)
        mean, deviation = counts.mean(axis=0), counts.std(axis=0)
        there = deviation > 0
        if not there.any():
            return None
        values = completed(values)
        level, spread = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
        if not spread.any():
            return None
        varies, spread = spread > 0, np.where(spread > 0, spread, 1.0)
        scaled, wanted = (counts[:, there] - mean[there]) / deviation[there], (values - level) / spread
        weights, bias, unseen = least_squares(scaled, wanted)
        kept = [missed(unseen[:, [t]], wanted[:, [t]]) <= worth for t in range(wanted.shape[1])] & varies
        if not kept.any():
            return None
        coef = np.zeros((len(names), values.shape[1]))
        coef[there] = np.where(kept, weights / deviation[there][:, None] * spread, 0.0)
        return cls(names, coef, bias * spread + level - mean @ coef)

    def predict(self, graphs: GraphSet) -> Floats:
        """What composition says. (G, T)."""
        return composition(graphs)[1] @ self.coef + self.intercept


def composition(graphs: GraphSet) -> tuple[tuple[str, ...], Floats]:
    """How many nodes and edges of each category every graph has, and how many nodes. (F,), (G, F).

    Of molecules these are elements, hydrogens that are no nodes, and kinds of bonds.
    """
    schema, names = graphs.schema, ["nodes"]
    counts: list[NDArray[Any]] = [graphs.sizes[:, None].astype(np.float64)]
    for level, column in _counted(schema):
        hydrogens = level == "node" and column.name == HYDROGENS.name
        own, found = count_column(graphs, level, column, add_up=hydrogens)
        names += own
        counts.append(found)
    return tuple(names), np.hstack(counts)


def count_column(graphs: GraphSet, level: str, column: Column, *, add_up: bool) -> tuple[list[str], Floats]:
    """How often each category of a column occurs in each graph: names (F,) and counts (G, F).

    With `add_up` categories are numbers of hydrogens that are no nodes, of which the sum counts.
    """
    codes = getattr(graphs, level)[column.name]
    owner = graphs.node_graph if level == "node" else graphs.edge_graph
    if add_up:
        attached = np.array([*column.categories, 0], dtype=np.float64)[codes]
        summed = np.asarray(np.bincount(owner, attached, len(graphs)), np.float64)
        return ["implicit hydrogens"], summed[:, None]
    names = [f"{column.name} {category}" for category in column.categories]
    return names, occurrences(owner, codes, len(graphs), column.unknown + 1)[:, :-1]  # the last: not known


def occurrences(owner: NDArray[Any], codes: NDArray[Any], n_graphs: int, n_codes: int) -> Floats:
    """How often every graph has each code. (rows,), (rows,) -> (G, codes)."""
    found = np.bincount(owner * n_codes + codes, minlength=n_graphs * n_codes)
    return found.reshape(n_graphs, n_codes).astype(np.float64)


def _counted(schema: Schema) -> list[tuple[str, Column]]:
    """The columns whose categories are counted."""
    nodes: list[Any] = [column for column in schema.features("node") if column.kind == "categorical"]
    if any(column.name == ELEMENT.name for column in nodes):
        implicit = (HYDROGENS.name,) if schema.option("hydrogens") is False else ()
        nodes = [column for column in nodes if column.name in (ELEMENT.name, *implicit)]
    edges = [column for column in schema.features("edge") if column.kind == "categorical"]
    return [("node", column) for column in nodes] + [("edge", column) for column in edges]
