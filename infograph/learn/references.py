"""How wrong predictions are, beside those of methods that are hard to beat."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.atom_counts import AtomCounts
from infograph.baselines.fingerprints import FingerprintForest
from infograph.baselines.mean import MeanPredictor
from infograph.contract import GraphPredictor, Task
from infograph.data.graphset import GraphSet
from infograph.data.label_columns import class_name
from infograph.data.labels import missing
from infograph.data.targets import numeric_targets
from infograph.learn.parts import Parts
from infograph.train.figures import WRONG

References = Literal["none", "usual", "all"]
NAMES: dict[Task, tuple[str, str, str]] = {
    "regression": ("mean of the labels", "least squares on atom counts", "fingerprints + random forest"),
    "classification": (
        "most frequent class",
        "logistic regression on counts",
        "fingerprints + random forest",
    ),
}


@dataclass(frozen=True)
class ErrorRow:
    """The error of one method for one target: mean absolute error, or share of wrong classes.

    Attributes:
        method, target, unit: whose error of what; "% wrong" is the unit of a share of wrong classes.
        validation, test: the errors; NaN where there are no such graphs.
    """

    method: str
    target: str
    unit: str
    validation: float
    test: float

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


def error_rows(method: str, model: GraphPredictor, parts: Parts) -> list[ErrorRow]:
    """The errors of a fitted model on the validation and the test graphs, one row per target."""
    found = [errors_of(model, graphs, parts.targets) for graphs in (parts.validation, parts.test)]
    units = [WRONG] if hasattr(model, "classes_") else model.target_units_
    return [ErrorRow(method, *row) for row in zip(model.target_names_, units, *found, strict=True)]


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


def gaps(rows: Sequence[ErrorRow], parts: Parts) -> list[str]:
    """Why errors are missing: nothing was held out, or nothing that has a value of a target."""
    reasons = []
    for name, graphs in (("validation", parts.validation), ("test", parts.test)):
        if not len(graphs):
            reasons.append(
                f"There is no {name} error: of {parts.n_labelled:,} labelled graphs none was held out; label "
                f"more, or hold some out with --{name}."
            )
            continue
        empty = dict.fromkeys(row.target for row in rows if math.isnan(getattr(row, name)))
        reasons += [
            f"There is no {name} error of {target}: not one of its {len(graphs):,} graphs has a value."
            for target in empty
        ]
    return reasons


def reference_rows(parts: Parts, which: References = "usual") -> Iterator[ErrorRow]:
    """The errors of the methods to beat, fitted to the same labels.

    "usual" are the mean and, where nodes have categories, least squares on their counts; "all" adds a random
    forest on Morgan fingerprints, for molecules.
    """
    labelled = parts.train[: parts.n_labelled]
    for name, model in _models(parts, which):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the model itself has said it
            yield from error_rows(name, model.fit(labelled, parts.y), parts)


def _models(parts: Parts, which: References) -> Iterator[tuple[str, Any]]:
    mean, counts, forest = NAMES[parts.task]
    schema = parts.train.schema
    if which == "none":
        return
    yield mean, MeanPredictor(parts.task)
    if any(column.kind == "categorical" for column in schema.features("node")):
        yield counts, AtomCounts(task=parts.task)
    if which == "all" and schema.column("graph", "smiles") is not None:
        yield forest, FingerprintForest(task=parts.task)
