"""Table 2: errors on QM9 with 5,000 labels, by objective and target."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.baselines.atom_counts import AtomCounts
from infograph.baselines.fingerprints import FingerprintForest
from infograph.baselines.mean import MeanPredictor
from infograph.contract import GraphPredictor
from infograph.data.graphset import GraphSet
from infograph.data.qm9.targets import HEADERS
from infograph.data.sets.registry import load_dataset
from infograph.data.splits import Split, semi_supervised_split
from infograph.errors import InvalidGraph, InvalidParameter, TrainingDiverged
from infograph.estimators.regressor import InfoGraphRegressor
from infograph.methods.objectives import WEIGHED
from infograph.reproduce.cells import Cell, Result, parameters_of, pick_names
from infograph.train.checkpoint import FILE
from infograph.train.loop import Watcher

OBJECTIVES = ("supervised", "mean-teacher", "infograph", "infograph*")
REFERENCES: dict[str, type[GraphPredictor]] = {
    "mean": MeanPredictor,
    "atom-counts": AtomCounts,
    "fingerprints": FingerprintForest,
}
ROWS = (*REFERENCES, *OBJECTIVES)
SEARCHED = "alpha"  # the target on which lambda and weight decay are chosen, for all of them
DECAYS, LAMBDAS = (0.0, 1e-3, 1e-4), (1e-3, 1e-4, 1e-5)  # the paper's
DIGITS = 5  # significant digits of the error of a single molecule


def table2_cell(
    target: str,
    objective: str,
    *,
    seed: int = 0,
    epochs: int = 10,
    lam: float = 1e-3,
    weight_decay: float = 0.0,
    labelled: int = 5_000,
    validation: int = 10_000,
    test: int = 10_000,
    schedule: int = 2_000,
) -> Cell:
    """One cell. Other settings than these are the estimators' defaults, which are the paper's.

    Args:
        target: one of QM9's.
        objective: one of OBJECTIVES or REFERENCES.
        seed: of the split and of the weights.
        epochs, lam, weight_decay: see `InfoGraphRegressor`; lambda counts for InfoGraph and InfoGraph* only.
        labelled, validation, test: molecules; the rest is unlabelled.
        schedule: how many of the validation molecules choose the learning rate and the best epoch.
    """
    settings: dict[str, Any] = {
        "target": target,
        "objective": objective,
        "seed": seed,
        "labelled": labelled,
        "validation": validation,
        "test": test,
    }
    if objective not in REFERENCES:
        given = {"lam": lam} if objective in WEIGHED else {}
        model = InfoGraphRegressor(epochs=epochs, weight_decay=weight_decay)
        model.set_params(objective=objective, **given)
        settings |= {"schedule": schedule, "parameters": parameters_of(model)}
    return Cell("table2", f"{target} {objective} {seed}", settings)


def table2_stages(
    results: Path,
    targets: Sequence[str],
    objectives: Sequence[str],
    *,
    lam: float | None = None,
    weight_decay: float | None = None,
    epochs: int = 10,
    seed: int = 0,
) -> Iterator[list[Cell]]:
    """The cells of some columns and rows ("all" for all), in lists that need the results of those before.

    Weight decay, and then the lambda of InfoGraph and of InfoGraph*, are the ones with the least validation
    error on alpha, unless they are given; the same for all targets.

    Raises:
        InvalidParameter: there is no such target or row.
    """
    rows, columns = pick_names("objective", objectives, ROWS), pick_names("target", targets, HEADERS)
    common: dict[str, Any] = {"epochs": epochs, "seed": seed}
    trained = [row for row in rows if row not in REFERENCES]
    if trained and weight_decay is None:
        tried = [table2_cell(SEARCHED, "supervised", weight_decay=each, **common) for each in DECAYS]
        yield tried
        weight_decay = best_cell(tried, results).settings["parameters"]["weight_decay"]
    common["weight_decay"] = weight_decay or 0.0
    lams: dict[str, Any] = dict.fromkeys(WEIGHED, lam)
    if lam is None:
        tried_lams = {
            row: [table2_cell(SEARCHED, row, lam=each, **common) for each in LAMBDAS]
            for row in WEIGHED
            if row in rows
        }
        yield [cell for cells in tried_lams.values() for cell in cells]
        for row, cells in tried_lams.items():
            lams[row] = best_cell(cells, results).settings["parameters"]["lam"]
    yield [table2_cell(target, row, lam=lams.get(row, 0.0), **common) for target in columns for row in rows]


def best_cell(cells: Sequence[Cell], results: Path) -> Cell:
    """The cell with the least error on all validation molecules; none of them has to do with the test.

    Raises:
        InvalidParameter: one has no result yet, or the training of all of them diverged.
    """
    errors = []
    for cell in cells:
        error = validation_error(cell, results)
        if error is None:
            raise InvalidParameter(f"{cell.name} has no result yet")
        errors.append(error)
    least = min(errors)
    if math.isinf(least):
        raise InvalidParameter(f"{cells[0].name} diverged with every setting that was tried")
    return cells[errors.index(least)]


def validation_error(cell: Cell, results: Path) -> float | None:
    """Of all validation molecules; None before the cell has a result, infinite where training diverged."""
    result = cell.read(results)
    if result is None:
        return None
    return math.inf if result.get("empty") else float(result["scores"]["validation_mae"])


def compute_table2(cell: Cell, work: Path, *, watchers: Sequence[Watcher] = ()) -> Result:
    """Train or fit, and measure the error of all validation and test molecules once.

    "empty" has the reason where training diverges or predictions are not finite; there are no scores then.
    """
    settings = cell.settings
    graphs = load_dataset("QM9")
    sizes = {name: settings[name] for name in ("labelled", "validation", "test")}
    split = semi_supervised_split(graphs, **sizes, seed=settings["seed"])
    target = settings["target"]
    column = graphs.schema.column("graph", target)
    unit = column.unit if column else ""
    try:
        model, history = _train(graphs, split, settings, work, watchers)
        errors = {
            part: np.abs(model.predict(graphs[rows]) - graphs.graph[target][rows])
            for part, rows in (("validation", split.validation), ("test", split.test))
        }
    except (TrainingDiverged, InvalidGraph) as error:
        reason = " ".join(str(error).split())
        return {"unit": unit, "empty": reason, "scores": {}, "history": [], "test_errors": []}
    scores = {f"{part}_mae": float(values.mean()) for part, values in errors.items()}
    return {"unit": unit, "scores": scores, "history": history, "test_errors": _rounded(errors["test"])}


def _train(
    graphs: GraphSet, split: Split, settings: dict[str, Any], work: Path, watchers: Sequence[Watcher]
) -> tuple[GraphPredictor, list[dict[str, float]]]:
    target = settings["target"]
    if settings["objective"] in REFERENCES:
        return REFERENCES[settings["objective"]]().fit(graphs[split.labelled], target), []
    model = InfoGraphRegressor(**settings["parameters"], random_state=settings["seed"])
    y = np.full(len(split.train), np.nan)
    y[: len(split.labelled)] = graphs.graph[target][split.labelled]
    judged = split.validation[: settings["schedule"]]
    model.fit(
        graphs[split.train],
        y,
        validation=(graphs[judged], graphs.graph[target][judged]),
        checkpoint=work,
        resume=(work / FILE).is_file(),
        watchers=watchers,
    )
    return model, [{k: v for k, v in e.items() if "second" not in k} for e in model.history_]


def _rounded(values: NDArray[np.float64]) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values]
