"""Predictions of a user's graphs as a table, how wrong they are, and files of them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet
from infograph.data.labels import class_name, missing, numeric_targets, without_mark
from infograph.data.schema import Column
from infograph.data.units import graph_column, match_name, split_header
from infograph.data.vectors import (
    PROBLEM,
    Embeddings,
    check_ending,
    check_names,
    graph_values,
    write_embeddings,
)
from infograph.errors import InvalidParameter
from infograph.estimators.base import GraphPredictor, check_embeds
from infograph.io import check_writable, replaced_file
from infograph.progress import WRONG, figure_text

ID, PROBABILITY, STD = "id", "probability", "std"
PARQUET, CSV, JSON_LINES = (".parquet",), (".csv",), (".json", ".jsonl")


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
    scores: tuple[TargetError, ...] = ()
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
    """
    check_predicts(model, probabilities=probabilities, std=std)
    _check_own(columns, keep_places)
    found, predicted = _predict(model, graphs, probabilities, std)
    own = {}
    for name in (graph_column(graphs.schema, column).name for column in columns):
        own[f"measured {name}" if name in found or name == ID else name] = graph_values(graphs, name)
    scores, notes = score_predictions(model, graphs, predicted)
    table = {ID: graphs.ids, **own, **found}
    if keep_places and graphs.rejected:
        table = _in_place(table, graphs)
    named = (
        {} if hasattr(model, "classes_") else dict(zip(model.target_names_, model.target_units_, strict=True))
    )
    spread = {_spread_name(name): unit for name, unit in named.items()} if std else {}
    units = {name: unit for name, unit in {**named, **spread}.items() if unit}
    return Predictions(table, units, tuple(scores), tuple(notes))


def check_predicts(model: Any, *, probabilities: bool = False, std: bool = False) -> None:
    """Refuse models that cannot give what is asked for; the message says what they can do."""
    kind = type(model).__name__
    if not isinstance(model, GraphPredictor):
        raise InvalidParameter(f"{kind} makes vectors and predicts nothing: train a model with a target")
    if probabilities and not hasattr(model, "classes_"):
        raise InvalidParameter(f"{kind} that predicts numbers has no probabilities of classes")
    if std and not hasattr(model, "_with_spread"):
        raise InvalidParameter(f"{kind} is no ensemble and has no spread")
    if std and len(getattr(model, "models_", ())) == 1:
        raise InvalidParameter("the model is one network and so has no spread: train one with n_models=5")


def _check_own(columns: Sequence[str], keep_places: bool) -> None:
    if keep_places and PROBLEM in columns:
        raise InvalidParameter(
            f"the column {PROBLEM!r} says why a row is empty: leave the graphs' own one out"
        )


def _predict(
    model: Any, graphs: GraphSet, probabilities: bool, std: bool
) -> tuple[dict[str, NDArray[Any]], NDArray[Any]]:
    """The columns of predictions by name, and the bare predictions."""
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


def _in_place(table: dict[str, NDArray[Any]], graphs: GraphSet) -> dict[str, NDArray[Any]]:
    """All rows with gaps where inputs were rejected, and the column that says why."""
    whole = Embeddings.of(graphs, np.zeros((len(graphs), 0), np.float32), keep_places=True)
    bad = [item.index for item in graphs.rejected]
    good = np.delete(np.arange(len(whole)), bad)
    padded = {ID: whole.ids}
    for name, values in table.items():
        if name != ID:
            numbers = values.dtype.kind == "f"
            rows = np.full(
                (len(whole), *values.shape[1:]), np.nan if numbers else None, float if numbers else object
            )
            rows[good] = values if numbers else values.tolist()
            padded[name] = rows
    return {**padded, PROBLEM: whole.columns[PROBLEM]}


def check_place(path: str | Path) -> None:
    """Refuse, before the work that leads to it, a file that cannot be written."""
    if Path(path).suffix not in (*PARQUET, *CSV, *JSON_LINES):
        raise InvalidParameter(f"{path}: predictions are written to .parquet, .csv or .json files")
    check_writable(path)


def write_predictions(predictions: Predictions, path: str | Path) -> Path:
    """Write to a file, whole or not at all; its ending says how.

    Parquet has each unit as the metadata `unit` of its field; CSV and JSON lines (one object per line) have
    it in brackets behind the column's name.
    """
    check_place(path)
    path = Path(path)
    with replaced_file(path) as work:
        if path.suffix in JSON_LINES:
            heads = [predictions.header(name) for name in predictions.columns]
            rows = (dict(zip(heads, row.values(), strict=True)) for row in rows_of(predictions))
            lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            work.write_text("".join(lines), encoding="utf-8")
        elif path.suffix in CSV:
            import pyarrow.csv as csv

            table = _table(predictions, gaps=True)
            csv.write_csv(table.rename_columns([predictions.header(n) for n in table.column_names]), work)
        else:
            import pyarrow.parquet as parquet

            parquet.write_table(_table(predictions), work)
    return path


def rows_of(predictions: Predictions) -> list[dict[str, Any]]:
    """One JSON-ready mapping per graph, by column name; None where a value is missing."""
    columns = {name: values.tolist() for name, values in predictions.columns.items()}
    rows = zip(*columns.values(), strict=True)
    return [
        {name: None if value != value else value for name, value in zip(columns, row, strict=True)}
        for row in rows
    ]


def _table(predictions: Predictions, *, gaps: bool = False) -> Any:
    """As an Arrow table; with `gaps` a NaN is no value at all, which CSV writes as an empty cell."""
    import pyarrow as pa

    arrays, fields = [], []
    for name, values in predictions.columns.items():
        rows = values.tolist() if values.dtype.kind == "O" or values.ndim > 1 else values
        array = pa.array(rows, from_pandas=gaps)
        unit = predictions.units.get(name)
        arrays.append(array)
        fields.append(pa.field(name, array.type, metadata={"unit": unit} if unit else None))
    return pa.table(arrays, schema=pa.schema(fields))


@dataclass(frozen=True)
class TargetError:
    """The error of one target: the mean absolute one, or the share of wrong classes.

    Attributes:
        target, unit: of what; "% wrong" is the unit of a share of wrong classes.
        error: how wrong.
        n_graphs: how many graphs have a value.
    """

    target: str
    unit: str
    error: float
    n_graphs: int

    def __str__(self) -> str:
        name = "" if self.unit == WRONG else "mean absolute error "
        return f"{self.target}: {name}{figure_text(self.error, self.unit)} over {self.n_graphs:,} graphs"


def score_predictions(
    model: GraphPredictor, graphs: GraphSet, predicted: NDArray[Any]
) -> tuple[list[TargetError], list[str]]:
    """The errors of the targets that the graphs have values of, and why others could not be compared.

    The graphs may have the targets among their columns, named with or without their unit.
    """
    classes, notes = hasattr(model, "classes_"), []
    scores: list[TargetError] = []
    table = predicted.reshape(len(predicted), -1).T  # (T, G)
    for place, (name, unit) in enumerate(zip(model.target_names_, model.target_units_, strict=True)):
        found = _own_column(graphs, name)
        if found is None:
            continue
        graphs = without_mark(graphs, [found.name], model.unlabelled)
        column = graphs.schema.column("graph", found.name)
        if column is None or (column.kind != "float" and not classes):
            continue
        if unit and column.unit != unit and (column.unit or column.name != name):
            notes.append(_other_unit(name, unit, column))
            continue
        error = errors_between(model, table[place], graphs, [column.name])[0]
        if not math.isnan(error):
            known = np.count_nonzero(~missing(graphs.values("graph", column.name)))
            scores.append(TargetError(name, WRONG if classes else unit, error, int(known)))
    return scores, notes


def _own_column(graphs: GraphSet, target: str) -> Column | None:
    """The graphs' column of a target: of its name, or of that but for the unit."""
    names = [column.name for column in graphs.schema.graph]
    found = match_name(names, target)
    if found is None and split_header(target)[1]:
        stem = split_header(target)[0]
        alike = [name for name in names if split_header(name)[0] == stem]
        found = alike[0] if len(alike) == 1 else None
    return None if found is None else graphs.schema.column("graph", found)


def _other_unit(target: str, unit: str, column: Column) -> str:
    if column.unit:
        return f"{target} was not compared: it is in {column.unit} here, and predicted in {unit}."
    return (
        f"{target} was not compared: the column {column.name!r} has no unit; if it is in {unit}, read it "
        f"with units={{{column.name!r}: {unit!r}}}."
    )


def embed_to_file(
    model: Any,
    graphs: GraphSet,
    path: str | Path,
    *,
    columns: Sequence[str] = (),
    keep_places: bool = False,
) -> Embeddings:
    """Write the vectors of `graphs` to a `.parquet` or `.csv` file, keyed by their ids.

    With `keep_places` rejected inputs keep their rows, with vectors of NaN and the column `problem`. Whatever
    cannot be written is refused before the vectors are computed.
    """
    check_embeds(model)
    check_ending(path)
    check_names(columns)
    _check_own(columns, keep_places)
    for name in columns:
        graph_values(graphs, name)
    check_writable(path)
    embeddings = Embeddings.of(graphs, model.transform(graphs), columns=columns, keep_places=keep_places)
    write_embeddings(embeddings, path)
    return embeddings


def errors_of(model: GraphPredictor, graphs: GraphSet, targets: Sequence[str]) -> list[float]:
    """Mean absolute error per target, or the share of wrong classes; NaN where no graph has a value."""
    n_targets = 1 if hasattr(model, "classes_") else len(model.target_names_)
    if not len(graphs):
        return [math.nan] * n_targets
    return errors_between(model, model.predict(graphs), graphs, targets)


def errors_between(
    model: GraphPredictor, predicted: NDArray[Any], graphs: GraphSet, targets: Sequence[str]
) -> list[float]:
    """The same for predictions that are there already."""
    if hasattr(model, "classes_"):
        given = graphs.values("graph", targets[0])
        known = ~missing(given)
        wrong = [class_name(a) != class_name(b) for a, b in zip(given[known], predicted[known], strict=True)]
        return [float(np.mean(wrong)) if wrong else math.nan]
    values = numeric_targets(list(targets), graphs, fitting=False).values  # (G, T)
    wrong_by = np.abs(np.asarray(predicted).reshape(len(graphs), -1) - values)
    return [
        float(column[~np.isnan(column)].mean()) if (~np.isnan(column)).any() else math.nan
        for column in wrong_by.T
    ]
