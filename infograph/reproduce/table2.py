"""Table 2: errors on QM9 with 5,000 labels, by objective and target."""

from __future__ import annotations

from collections.abc import Sequence
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
from infograph.errors import InvalidParameter
from infograph.estimators.regressor import InfoGraphRegressor
from infograph.reproduce.cells import Cell, Result
from infograph.train.loop import Watcher

OBJECTIVES = ("supervised", "mean-teacher", "infograph", "infograph*")
REFERENCES: dict[str, type[GraphPredictor]] = {
    "mean": MeanPredictor,
    "atom-counts": AtomCounts,
    "fingerprints": FingerprintForest,
}
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
        settings |= {"epochs": epochs, "schedule": schedule, "weight_decay": weight_decay}
    if objective in ("infograph", "infograph*"):
        settings["lam"] = lam
    return Cell("table2", f"{target} {objective} {seed}", settings)


def choose_cells(targets: Sequence[str], objectives: Sequence[str], **settings: Any) -> list[Cell]:
    """The cells of some rows and columns, "all" for all of them; target after target.

    Raises:
        InvalidParameter: there is no such target or row.
    """
    rows = (*REFERENCES, *OBJECTIVES)
    chosen = []
    for name, given, known in (("target", targets, tuple(HEADERS)), ("objective", objectives, rows)):
        named = [one for each in given for one in (known if each == "all" else (each,))]
        strange = [each for each in named if each not in known]
        if strange or not named:
            raise InvalidParameter(
                f"no {name} {strange[0] if strange else ''!r}; there are: {', '.join(known)}"
            )
        chosen.append(list(dict.fromkeys(named)))
    return [table2_cell(target, objective, **settings) for target in chosen[0] for objective in chosen[1]]


def compute_table2(cell: Cell, work: Path, *, watchers: Sequence[Watcher] = ()) -> Result:
    """Train or fit, and measure the error of all validation and test molecules once."""
    settings = cell.settings
    graphs = load_dataset("QM9")
    sizes = {name: settings[name] for name in ("labelled", "validation", "test")}
    split = semi_supervised_split(graphs, **sizes, seed=settings["seed"])
    target = settings["target"]
    model, history = _train(graphs, split, settings, work, watchers)
    errors = {
        part: np.abs(model.predict(graphs[rows]) - graphs.graph[target][rows])
        for part, rows in (("validation", split.validation), ("test", split.test))
    }
    column = graphs.schema.column("graph", target)
    scores = {f"{part}_mae": float(values.mean()) for part, values in errors.items()}
    return {
        "unit": column.unit if column else "",
        "scores": scores,
        "history": history,
        "test_errors": _rounded(errors["test"]),
    }


def _train(
    graphs: GraphSet, split: Split, settings: dict[str, Any], work: Path, watchers: Sequence[Watcher]
) -> tuple[GraphPredictor, list[dict[str, float]]]:
    target = settings["target"]
    if settings["objective"] in REFERENCES:
        return REFERENCES[settings["objective"]]().fit(graphs[split.labelled], target), []
    model = InfoGraphRegressor(
        settings["objective"],
        epochs=settings["epochs"],
        lam=settings.get("lam", 0.0),
        weight_decay=settings["weight_decay"],
        random_state=settings["seed"],
    )
    y = np.full(len(split.train), np.nan)
    y[: len(split.labelled)] = graphs.graph[target][split.labelled]
    judged = split.validation[: settings["schedule"]]
    model.fit(
        graphs[split.train],
        y,
        validation=(graphs[judged], graphs.graph[target][judged]),
        checkpoint=work,
        resume=any(work.iterdir()),
        watchers=watchers,
    )
    return model, [{k: v for k, v in e.items() if "second" not in k} for e in model.history_]


def _rounded(values: NDArray[np.float64]) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values]
