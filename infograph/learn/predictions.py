"""Predictions of a user's graphs as a table, how wrong they are, and files of them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet
from infograph.data.labels import without_mark
from infograph.data.units import graph_column, match_name, split_header, with_unit
from infograph.data.vectors import (
    PROBLEM,
    Embeddings,
    arrow_column,
    check_ending,
    check_names,
    data_frame,
    graph_values,
    write_embeddings,
)
from infograph.errors import InvalidParameter, UnknownCategoryWarning
from infograph.estimators.base import GraphPredictor, a_model, check_embeds
from infograph.io import check_writable, replaced_file
from infograph.learn.judging import IN_UNITS, Figures, Judged, outputs_of, predicted_classes
from infograph.notebook import MOST_ROWS, as_html
from infograph.progress import WRONG, Watcher, figure_text

ID, PROBABILITY, STD = "id", "probability", "std"
UNLIKE = "unlike training"


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

    def to_pandas(self) -> Any:
        """A DataFrame with the ids as its index; `attrs["units"]` has the units."""
        frame = data_frame({name: v for name, v in self.columns.items() if name != ID}, self.columns[ID])
        frame.attrs["units"] = dict(self.units)
        return frame

    def header(self, name: str) -> str:
        """A column's name with its unit, as a table of texts shows it."""
        return with_unit(name, self.units.get(name, ""))

    def _repr_html_(self) -> str:
        first = [values[:MOST_ROWS].tolist() for values in self.columns.values()]
        rows = [*zip(*first, strict=True)]
        more = [f"and {len(self) - len(rows):,} more"] if len(self) > len(rows) else []
        table = list(map(self.header, self.columns)), rows
        return as_html("Predictions", tables=[table], notes=[*more, *map(str, self.scores), *self.notes])


@dataclass(frozen=True)
class TargetError:
    """How wrong the predictions of one target are."""

    target: str
    unit: str  # "% wrong" of a share of wrong classes
    figures: Figures  # MAE, RMSE and R2, or the share of wrong classes and, of two, both areas
    n_graphs: int  # that have a value

    def __str__(self) -> str:
        texts = []
        for name, value in self.figures.items():
            if value == value:
                unit = self.unit if name in (*IN_UNITS, WRONG) else ""
                texts.append(
                    figure_text(value, unit) if name == WRONG else f"{name} {figure_text(value, unit)}"
                )
        return f"{self.target}: {', '.join(texts)} over {self.n_graphs:,} graphs"


def predict_table(
    model: Any,
    graphs: Any,
    *,
    columns: Sequence[str] = (),
    probabilities: bool = False,
    std: bool = False,
    interval: float | None = None,
    keep_places: bool = False,
    watchers: Sequence[Watcher] = (),
) -> Predictions:
    """Predict graphs, and compare with what their own columns say of the targets.

        predict_table(model, "new.csv", interval=0.9).to_pandas()

    Args:
        model: a fitted model.
        graphs: anything `fit` accepts.
        columns: their own columns to put beside the predictions; one that has the name of a target is called
            "measured ...".
        probabilities: whether every class gets a column, and not only the predicted one's probability. Of
            several columns of classes each has that of the second class anyway.
        std: whether the spread of an ensemble is added.
        interval: the share of graphs whose numbers are to lie between the columns "low" and "high" that are
            added, such as 0.9; and "unlike training" says which graphs are like none of the training.
        keep_places: whether rejected inputs keep their rows, with NaN and the column `problem`.
        watchers: are told how far it is, as those of `fit` are.
    """
    check_predicts(model, probabilities=probabilities, std=std, interval=interval)
    _check_own(columns, keep_places)
    graphs = as_graphset(graphs, schema=model.schema_, errors="skip" if keep_places else "raise")
    both = model._with_spread(graphs, "raise", watchers) if std else (outputs_of(model, graphs, watchers),)
    both = [np.asarray(each).reshape(len(graphs), -1) for each in both]
    if hasattr(model, "classes_"):
        found, units = _class_columns(model, both, probabilities), dict[str, str]()
    else:
        found, units = _number_columns(model, both)
    if interval is not None:
        _add_bounds(model, graphs, interval, found, units)
    own = {}
    for name in (graph_column(graphs.schema, column).name for column in columns):
        own[f"measured {name}" if name in found or name == ID else name] = graph_values(graphs, name)
    table = {ID: graphs.ids, **own, **found}
    if keep_places and graphs.rejected:
        table = _in_place(table, graphs)
    return Predictions(table, units, *score_predictions(model, graphs, both[0]))


Columns = dict[str, NDArray[Any]]


def _class_columns(model: GraphPredictor, both: Sequence[NDArray[Any]], probabilities: bool) -> Columns:
    """Classes and their probabilities (and the spread of these)."""
    names, classes, found = model.target_names_, model.classes_.tolist(), {}  # type: Any, Any, Columns
    predicted = predicted_classes(model, both[0]).reshape(-1, len(names))
    if len(names) > 1:
        for place, name in enumerate(names):
            found[name] = predicted[:, place]
            for values, suffix in zip(both, ("", f" {STD}"), strict=False):
                found[f"{name} {PROBABILITY} {classes[1]}{suffix}"] = values[:, place]
        return found
    every, best = np.arange(len(predicted)), both[0].argmax(axis=1)
    found[names[0]] = predicted[:, 0]
    for values, suffix in zip(both, ("", f" {STD}"), strict=False):
        found[f"{PROBABILITY}{suffix}"] = values[every, best]
    if probabilities:
        found |= {f"{PROBABILITY} {label}": both[0][:, n] for n, label in enumerate(classes)}
    return found


def stems_of(model: GraphPredictor) -> Sequence[str]:
    """What "std", "low" and "high" follow: the names of the targets without units, unless two are alike."""
    stems = [split_header(name)[0] for name in model.target_names_]
    return stems if len({*stems}) == len(stems) else model.target_names_


def _number_columns(model: GraphPredictor, both: Sequence[NDArray[Any]]) -> tuple[Columns, dict[str, str]]:
    """Numbers (and their spread), and the units of all columns."""
    found, units = {}, {}  # type: Columns, dict[str, str]
    titles = model.target_names_, [f"{stem} {STD}" for stem in stems_of(model)]
    for values, names in zip(both, titles, strict=False):
        for place, (title, unit) in enumerate(zip(names, model.target_units_, strict=True)):
            found[title] = values[:, place]
            units |= {title: unit} if unit else {}
    return found, units


def _add_bounds(model: Any, graphs: GraphSet, level: float, found: Columns, units: dict[str, str]) -> None:
    """Lower and upper bounds beside the predictions, and which graphs they are doubtful for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownCategoryWarning)  # the predictions have given it
        bounds = [each.reshape(len(graphs), -1) for each in model.predict(graphs, interval=level)[1:]]
    for place, (stem, unit) in enumerate(zip(stems_of(model), model.target_units_, strict=True)):
        for values, suffix in zip(bounds, ("low", "high"), strict=True):
            title = f"{stem} {suffix}"
            found[title] = values[:, place]
            units |= {title: unit} if unit else {}
    found[UNLIKE] = np.where(model.unlike(graphs), "yes", "no").astype(object)


def check_predicts(
    model: Any, *, probabilities: bool = False, std: bool = False, interval: float | None = None
) -> None:
    """Refuse models that cannot give what is asked for; the message says what they can do."""
    kind = a_model(model)
    if not isinstance(model, GraphPredictor):
        raise InvalidParameter(f"{kind} makes vectors and predicts nothing: train a model with a target")
    if probabilities and not hasattr(model, "classes_"):
        raise InvalidParameter(f"{kind} predicts numbers and has no probabilities of classes")
    if std and len(getattr(model, "models_", ())) < 2:
        raise InvalidParameter(f"{kind} is no ensemble and has no spread: train one with n_models=5")
    if interval is not None and getattr(model, "error_bars_", None) is None:
        what = "predicts classes" if hasattr(model, "classes_") else "does not know how wrong it is"
        raise InvalidParameter(
            f"{kind} {what} and has no intervals: they come with numbers and held-out graphs"
        )


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
    model: GraphPredictor, graphs: GraphSet, outputs: NDArray[Any]
) -> tuple[tuple[TargetError, ...], tuple[str, ...]]:
    """The errors of the targets that the graphs have values of, and why others could not be compared.

    The graphs may have the targets among their columns, named with or without their unit. `outputs` are
    predicted numbers (G, T), or probabilities.
    """
    names = [column.name for column in graphs.schema.graph]
    columns: list[str | None] = []
    notes = []
    for name, unit in zip(model.target_names_, model.target_units_, strict=True):
        found, (stem, written) = match_name(names, name), split_header(name)
        if found is None and written:
            alike = [each for each in names if split_header(each)[0] == stem]
            found = alike[0] if len(alike) == 1 else None
        marked = graphs if found is None else without_mark(graphs, [found], model.unlabelled)
        column = None if found is None else marked.schema.column("graph", found)
        columns.append(None)
        if column is None or (column.kind != "float" and not hasattr(model, "classes_")):
            continue
        if unit and column.unit != unit and column.unit:
            notes.append(f"{name} was not compared: it is in {column.unit} here, and predicted in {unit}.")
        elif unit and not column.unit and found != name:
            notes.append(
                f"{name} was not compared: the column {found!r} has no unit; if it is in {unit}, read it "
                f"with units={{{found!r}: {unit!r}}}."
            )
        else:
            columns[-1] = found
    judged = Judged.of(model, graphs, columns, outputs)
    rows = zip(judged.names, judged.units, judged.figures, judged.known.sum(axis=0).tolist(), strict=True)
    return tuple(TargetError(*row) for row in rows if row[-1]), tuple(notes)


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
    model: Any, graphs: GraphSet, path: str | Path, *, columns: Sequence[str] = (), keep_places: bool = False
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
