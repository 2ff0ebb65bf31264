"""Predictions of a user's graphs as a table, and how wrong they are where the truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.contract import GraphPredictor
from infograph.data.columns import id_array, objects
from infograph.data.embeddings import PROBLEM, graph_values
from infograph.data.graphset import GraphSet
from infograph.data.units import graph_column, split_header
from infograph.errors import InvalidParameter
from infograph.learn.scores import Score, score_predictions

ID, PROBABILITY, STD = "id", "probability", "std"


@dataclass(frozen=True, eq=False)
class Predictions:
    """One row per graph.

    Attributes:
        columns: name -> (G,) values: `id`, the graphs' own columns that were asked for, the predictions under
            the names of their targets, and what else was asked for.
        units: of the columns that have one.
        scores: the errors, of targets that the graphs have values of.
        notes: what a reader must know.
    """

    columns: dict[str, NDArray[Any]]
    units: dict[str, str] = field(default_factory=dict)
    scores: tuple[Score, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.columns[ID])

    def header(self, name: str) -> str:
        """A column's name with its unit, as a table of texts shows it."""
        unit = self.units.get(name, "")
        return name if not unit or split_header(name)[1] else f"{name} [{unit}]"


def predict_table(
    model: Any,
    graphs: GraphSet,
    *,
    columns: Sequence[str] = (),
    probabilities: bool = False,
    std: bool = False,
    keep_places: bool = False,
) -> Predictions:
    """Predict graphs that were read with the model's schema.

    Args:
        model: a fitted model.
        graphs: the graphs.
        columns: their own columns to put beside the predictions; one that has the name of a target is called
            "measured ...".
        probabilities: whether every class gets a column, and not only the predicted one's probability.
        std: whether the spread of an ensemble is added.
        keep_places: whether rejected inputs keep their rows, with NaN and the column `problem`.

    Raises:
        InvalidParameter: the model does not predict, or has no probabilities or spread.
    """
    check_predicts(model, probabilities=probabilities)
    found, predicted = _predict(model, graphs, probabilities, std)
    own = {}
    for name in (graph_column(graphs.schema, column).name for column in columns):
        if keep_places and name == PROBLEM:
            raise InvalidParameter(
                f"the column {PROBLEM!r} says why a row is empty: leave the graphs' own one out"
            )
        own[f"measured {name}" if name in found or name == ID else name] = graph_values(graphs, name)
    scores, notes = score_predictions(model, graphs, predicted)
    table = {ID: graphs.ids, **own, **found}
    if keep_places and graphs.rejected:
        table = _in_place(table, graphs)
    units = {} if hasattr(model, "classes_") else _units(model, std)
    return Predictions(table, units, tuple(scores), tuple(notes))


def check_predicts(model: Any, *, probabilities: bool = False) -> None:
    """Refuse models that only make vectors.

    Raises:
        InvalidParameter: says what the model can do.
    """
    kind = type(model).__name__
    if not isinstance(model, GraphPredictor):
        raise InvalidParameter(
            f"{_article(kind)} makes vectors and predicts nothing: train with --target, or use "
            f"infograph embed"
        )
    if probabilities and not hasattr(model, "classes_"):
        raise InvalidParameter(f"{_article(kind)} that predicts numbers has no probabilities of classes")


def check_embeds(model: Any) -> None:
    """Refuse models that have no vectors.

    Raises:
        InvalidParameter: says what the model can do.
    """
    if not hasattr(model, "transform"):
        raise InvalidParameter(
            f"{_article(type(model).__name__)} predicts and has no vectors: use infograph predict"
        )


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "AEIOU" else f"a {kind}"


def _predict(
    model: Any, graphs: GraphSet, probabilities: bool, std: bool
) -> tuple[dict[str, NDArray[Any]], NDArray[Any]]:
    """The columns of predictions by name, and the bare predictions."""
    if std and not hasattr(model, "_with_spread"):
        raise InvalidParameter(f"{_article(type(model).__name__)} is no ensemble and has no spread")
    if std and len(getattr(model, "models_", ())) == 1:
        raise InvalidParameter(
            "--std: the model is one network and so has no spread; train one with --n-models 5, for instance"
        )
    names = model.target_names_
    if not hasattr(model, "classes_"):
        predicted, spread = model.predict(graphs, return_std=True) if std else (model.predict(graphs), None)
        table = dict(zip(names, _rows(predicted), strict=True))
        more = {} if spread is None else zip(map(_spread_name, names), _rows(spread), strict=True)
        return {**table, **dict(more)}, predicted
    shares, spread = (
        model.predict_proba(graphs, return_std=True) if std else (model.predict_proba(graphs), None)
    )
    best, every = shares.argmax(axis=1), np.arange(len(shares))
    labels = np.asarray(model.classes_[best])
    table = {names[0]: labels, PROBABILITY: shares[every, best]}
    if spread is not None:
        table[f"{PROBABILITY} {STD}"] = spread[every, best]
    if probabilities:
        table |= {f"{PROBABILITY} {label}": shares[:, place] for place, label in enumerate(model.classes_)}
    return table, labels


def _rows(values: NDArray[Any]) -> NDArray[Any]:
    """(G,) or (G, T) -> (T, G)."""
    return np.asarray(values.reshape(len(values), -1).T)


def _spread_name(target: str) -> str:
    return f"{split_header(target)[0]} {STD}"


def _units(model: GraphPredictor, std: bool) -> dict[str, str]:
    named = dict(zip(model.target_names_, model.target_units_, strict=True))
    spread = {_spread_name(name): unit for name, unit in named.items()} if std else {}
    return {name: unit for name, unit in {**named, **spread}.items() if unit}


def _in_place(table: dict[str, NDArray[Any]], graphs: GraphSet) -> dict[str, NDArray[Any]]:
    """All rows with gaps where inputs were rejected, and the column that says why."""
    bad = {item.index: item for item in graphs.rejected}
    good = [row for row in range(len(graphs) + len(bad)) if row not in bad]
    ids: list[Any] = [bad[row].graph_id if row in bad else None for row in range(len(good) + len(bad))]
    for row, graph_id in zip(good, table[ID].tolist(), strict=True):
        ids[row] = graph_id
    padded = {ID: id_array(ids)}
    for name, values in table.items():
        if name != ID:
            padded[name] = _padded(values, good, len(ids))
    padded[PROBLEM] = objects([bad[row].problem if row in bad else None for row in range(len(ids))])
    return padded


def _padded(values: NDArray[Any], good: list[int], n_rows: int) -> NDArray[Any]:
    if values.dtype.kind == "f":
        rows = np.full((n_rows, *values.shape[1:]), np.nan)
        rows[good] = values
        return rows
    gaps: list[Any] = [None] * n_rows
    for row, value in zip(good, values.tolist(), strict=True):
        gaps[row] = value
    return objects(gaps)
