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
from infograph.data.units import graph_column, match_name, split_header
from infograph.data.vectors import (
    PROBLEM,
    Embeddings,
    arrow_column,
    check_ending,
    check_names,
    graph_values,
    write_embeddings,
)
from infograph.errors import InvalidParameter
from infograph.estimators.base import GraphPredictor, a_model, check_embeds
from infograph.io import check_writable, replaced_file
from infograph.progress import WRONG, figure_text

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
    scores: tuple[TargetError, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.columns[ID])

    def header(self, name: str) -> str:
        """A column's name with its unit, as a table of texts shows it."""
        unit = self.units.get(name, "")
        return name if not unit or split_header(name)[1] else f"{name} [{unit}]"


@dataclass(frozen=True)
class TargetError:
    """The error of one target: the mean absolute one, or the share of wrong classes (unit "% wrong")."""

    target: str
    unit: str
    error: float
    n_graphs: int  # that have a value

    def __str__(self) -> str:
        name = "" if self.unit == WRONG else "mean absolute error "
        return f"{self.target}: {name}{figure_text(self.error, self.unit)} over {self.n_graphs:,} graphs"


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
    names, units, found = model.target_names_, {}, {}  # type: Any, dict[str, str], dict[str, NDArray[Any]]
    if hasattr(model, "classes_"):
        both: Any = model.predict_proba(graphs, return_std=True) if std else [model.predict_proba(graphs)]
        shares, every = both[0], np.arange(len(graphs))
        best = shares.argmax(axis=1)
        predicted = np.asarray(model.classes_[best])
        found = {names[0]: predicted, PROBABILITY: shares[every, best]}
        if std:
            found[f"{PROBABILITY} {STD}"] = both[1][every, best]
        if probabilities:
            found |= {f"{PROBABILITY} {label}": shares[:, n] for n, label in enumerate(model.classes_)}
    else:
        both = model.predict(graphs, return_std=True) if std else (model.predict(graphs),)
        predicted = both[0]
        for values, suffix in zip(both, ("", STD), strict=False):
            for place, (name, unit) in enumerate(zip(names, model.target_units_, strict=True)):
                title = f"{split_header(name)[0]} {suffix}" if suffix else name
                found[title] = values.reshape(len(values), -1)[:, place]
                units |= {title: unit} if unit else {}
    own = {}
    for name in (graph_column(graphs.schema, column).name for column in columns):
        own[f"measured {name}" if name in found or name == ID else name] = graph_values(graphs, name)
    table = {ID: graphs.ids, **own, **found}
    if keep_places and graphs.rejected:
        table = _in_place(table, graphs)
    return Predictions(table, units, *score_predictions(model, graphs, predicted))


def check_predicts(model: Any, *, probabilities: bool = False, std: bool = False) -> None:
    """Refuse models that cannot give what is asked for; the message says what they can do."""
    kind = a_model(model)
    if not isinstance(model, GraphPredictor):
        raise InvalidParameter(f"{kind} makes vectors and predicts nothing: train a model with a target")
    if probabilities and not hasattr(model, "classes_"):
        raise InvalidParameter(f"{kind} predicts numbers and has no probabilities of classes")
    if std and len(getattr(model, "models_", ())) < 2:
        raise InvalidParameter(f"{kind} is no ensemble and has no spread: train one with n_models=5")


def _check_own(columns: Sequence[str], keep_places: bool) -> None:
    if keep_places and PROBLEM in columns:
        raise InvalidParameter(
            f"the column {PROBLEM!r} says why a row is empty: leave the graphs' own one out"
        )


def _in_place(table: dict[str, NDArray[Any]], graphs: GraphSet) -> dict[str, NDArray[Any]]:
    """All rows with gaps where inputs were rejected, and the column that says why."""
    whole = Embeddings.of(graphs, np.zeros((len(graphs), 0), np.float32), keep_places=True)
    good = np.delete(np.arange(len(whole)), [item.index for item in graphs.rejected])
    padded = {}
    for name, values in table.items():
        numbers = values.dtype.kind == "f"
        kind = (np.nan, float) if numbers else (None, object)
        padded[name] = np.full((len(whole), *values.shape[1:]), *kind)
        padded[name][good] = values if numbers else values.tolist()
    return {**padded, ID: whole.ids, PROBLEM: whole.columns[PROBLEM]}


def score_predictions(
    model: GraphPredictor, graphs: GraphSet, predicted: NDArray[Any]
) -> tuple[tuple[TargetError, ...], tuple[str, ...]]:
    """The errors of the targets that the graphs have values of, and why others could not be compared.

    The graphs may have the targets among their columns, named with or without their unit.
    """
    classes, notes, scores = hasattr(model, "classes_"), [], []
    table = predicted.reshape(len(predicted), -1).T  # (T, G)
    for values, name, unit in zip(table, model.target_names_, model.target_units_, strict=True):
        names = [column.name for column in graphs.schema.graph]
        found, (stem, written) = match_name(names, name), split_header(name)
        if found is None and written:
            alike = [each for each in names if split_header(each)[0] == stem]
            found = alike[0] if len(alike) == 1 else None
        if found is None:
            continue
        graphs = without_mark(graphs, [found], model.unlabelled)
        column = graphs.schema.column("graph", found)
        if column is None or (column.kind != "float" and not classes):
            continue
        if unit and column.unit != unit and column.unit:
            notes.append(f"{name} was not compared: it is in {column.unit} here, and predicted in {unit}.")
        elif unit and not column.unit and found != name:
            notes.append(
                f"{name} was not compared: the column {found!r} has no unit; if it is in {unit}, read it "
                f"with units={{{found!r}: {unit!r}}}."
            )
        else:
            error = errors_of(model, graphs, [found], values)[0]
            known = int(np.count_nonzero(~missing(graphs.values("graph", found))))
            if known:
                scores.append(TargetError(name, WRONG if classes else unit, error, known))
    return tuple(scores), tuple(notes)


def errors_of(
    model: GraphPredictor, graphs: GraphSet, targets: Sequence[str], predicted: NDArray[Any] | None = None
) -> list[float]:
    """Mean absolute error per target, or the share of wrong classes; NaN where no graph has a value."""
    if not len(graphs):
        return [math.nan] * len(model.target_names_)
    predicted = model.predict(graphs) if predicted is None else predicted
    if hasattr(model, "classes_"):
        given = graphs.values("graph", targets[0])
        pairs = zip(given, predicted, ~missing(given), strict=True)
        wrong = [[float(class_name(a) != class_name(b)) if known else math.nan] for a, b, known in pairs]
        wrong_by = np.array(wrong)  # (G, 1)
    else:
        values = numeric_targets(list(targets), graphs, fitting=False).values  # (G, T)
        wrong_by = np.abs(np.asarray(predicted).reshape(len(graphs), -1) - values)
    known_of = [column[~np.isnan(column)] for column in wrong_by.T]
    return [float(known.mean()) if len(known) else math.nan for known in known_of]


def check_place(path: str | Path) -> None:
    """Refuse, before the work that leads to it, a file that cannot be written."""
    if Path(path).suffix not in (".parquet", ".csv", ".json", ".jsonl"):
        raise InvalidParameter(f"{path}: predictions are written to .parquet, .csv or .json files")
    check_writable(path)


def write_predictions(predictions: Predictions, path: str | Path) -> Path:
    """Write to a file, whole or not at all; its ending says how.

    Parquet has each unit as the metadata `unit` of its field; CSV and JSON lines (one object per line) have
    it in brackets behind the column's name.
    """
    check_place(path)
    path = Path(path)
    heads = [predictions.header(name) for name in predictions.columns]
    with replaced_file(path) as work:
        if path.suffix in (".json", ".jsonl"):
            rows = (dict(zip(heads, row.values(), strict=True)) for row in rows_of(predictions))
            lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            work.write_text("".join(lines), encoding="utf-8")
            return path
        import pyarrow as pa
        from pyarrow import csv, parquet

        columns = {name: arrow_column(values) for name, values in predictions.columns.items()}
        if path.suffix == ".csv":
            for name, values in predictions.columns.items():
                if values.dtype.kind == "f" and values.ndim == 1:
                    columns[name] = pa.array(values, from_pandas=True)  # NaN is an empty cell
            csv.write_csv(pa.table(columns).rename_columns(heads), work)
        else:
            table = pa.table(columns)
            for place, name in enumerate(columns):
                if name in predictions.units:
                    known = table.field(place).with_metadata({"unit": predictions.units[name]})
                    table = table.set_column(place, known, columns[name])
            parquet.write_table(table, work)
    return path


def rows_of(predictions: Predictions) -> list[dict[str, Any]]:
    """One JSON-ready mapping per graph, by column name; None where a value is missing."""
    columns = {name: values.tolist() for name, values in predictions.columns.items()}
    return [
        {name: None if value != value else value for name, value in zip(columns, row, strict=True)}
        for row in zip(*columns.values(), strict=True)
    ]


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
