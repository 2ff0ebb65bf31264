"""What predictions are worth: defaults, candidates and references on molecules with measured values.

docs/choosing_predictions.md was written before anything here was run: sets, splits and figures are those of
its table. A cell is one method on one set with one seed, of its weights and of the split.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from infograph.baselines.references import AtomCounts, FingerprintForest, MeanPredictor
from infograph.cells import Cell, Result, parameters_of
from infograph.data.datasets import load_dataset
from infograph.data.graphset import GraphSet
from infograph.data.qm9 import TARGETS
from infograph.data.splits import (
    Split,
    deterministic_scaffold_split,
    random_split,
    scaffold_split,
    semi_supervised_split,
)
from infograph.estimators.base import GraphPredictor
from infograph.estimators.predictors import InfoGraphClassifier, InfoGraphRegressor
from infograph.evaluate.judges import SCORINGS
from infograph.objectives.vectors import Kind, Vectors
from infograph.progress import Watcher
from infograph.train.loop import Cosine

LEVEL = 0.9  # of intervals
JUDGED = 1_000, 10_000  # molecules of QM9 to choose by, and to test on
How = Literal["scaffold", "random", "ordered"]


@dataclass(frozen=True)
class PredictionSet:
    """A set of molecules, how it is divided, and what predictions are judged by."""

    name: str
    figure: str  # "rmse", "mae" or "roc_auc", the mean over columns
    role: str = "choosing"  # or "unseen" until something was chosen, or for "finalists"
    how: How = "scaffold"
    labels: int = 0  # of QM9, whose twelve columns are learned together

    @property
    def title(self) -> str:
        """What the set is called here."""
        if self.labels:
            return f"{self.name} {self.labels}"
        return self.name if self.how == "scaffold" else f"{self.name} {self.how}"

    def divide(self, seed: int) -> tuple[GraphSet, NDArray[np.float64], Split]:
        """The graphs, their numbers (G, T), and who is for what."""
        graphs = load_dataset(self.name)
        names = [name for name in graphs.graph if name != "smiles"]
        if self.labels:
            names, (validation, test) = [column.name for column in TARGETS], JUDGED
            parts = semi_supervised_split(
                graphs, labelled=self.labels, validation=validation, test=test, seed=seed
            )
        else:
            split: Any = {"scaffold": scaffold_split, "random": random_split}.get(self.how)
            parts = split(graphs, seed=seed) if split else deterministic_scaffold_split(graphs)
        values = np.column_stack([graphs.graph[name] for name in names]).astype(np.float64)
        return graphs, values, parts


_MEASURED = (
    PredictionSet("ESOL", "rmse"),
    PredictionSet("BACE", "roc_auc"),
    PredictionSet("SIDER", "roc_auc"),
    PredictionSet("FreeSolv", "rmse", "unseen"),
    PredictionSet("ClinTox", "roc_auc", "unseen"),
    PredictionSet("Tox21", "roc_auc", "finalists"),
)
_QM9 = [PredictionSet("QM9", "mae", labels=labels) for labels in (100, 300, 1_000, 5_000)]
SETS = {
    each.title: each
    for each in (
        *_MEASURED,
        *_QM9,
        *(replace(each, how="random") for each in _MEASURED if each.figure == "rmse"),
        *(replace(each, how="ordered") for each in _MEASURED),
    )
}

# seed, whether classes are predicted -> an estimator
Make = Callable[[int, bool], GraphPredictor]


def _learned(**given: Any) -> Make:
    def make(seed: int, classes: bool) -> GraphPredictor:
        cls = InfoGraphClassifier if classes else InfoGraphRegressor
        return cls(**{"random_state": seed, **given})

    return make


def _head(inputs: str, head: Kind | Literal["auto"]) -> Make:
    return _learned(objective=Vectors(inputs, head))


def _task(classes: bool) -> Any:
    return "classification" if classes else "regression"


_NETWORK: dict[str, Any] = {"objective": "infograph*", "epochs": 30}
METHODS: dict[str, Make] = {
    "mean": lambda seed, classes: MeanPredictor(task=_task(classes)),
    "atom counts": lambda seed, classes: AtomCounts(task=_task(classes)),
    "forest": lambda seed, classes: FingerprintForest(
        features="counts+descriptors", task=_task(classes), random_state=seed
    ),
    "ridge on vectors": _head("vectors", "ridge"),
    "gp on vectors": _head("vectors", "gp"),
    "svm on vectors": _head("vectors", "svm"),
    "forest on vectors": _head("vectors", "forest"),
    "gp on vectors+descriptors": _head("vectors+descriptors", "gp"),
    "forest on fingerprints+descriptors": _head("fingerprints+descriptors", "forest"),
    "vectors": _learned(objective="vectors"),
    "supervised": _learned(objective="supervised", epochs=30),
    "infograph": _learned(objective="infograph", epochs=30),
    "infograph*": _learned(**_NETWORK),
    "infograph* without offset": _learned(**_NETWORK, offset=None),
    "infograph* cosine": _learned(**_NETWORK, schedule=Cosine()),
    "infograph* 20 per update": _learned(**_NETWORK, batch_size=20),
    "infograph* 20 per update cosine": _learned(**_NETWORK, batch_size=20, schedule=Cosine()),
    "infograph 20 per update cosine": _learned(
        objective="infograph", epochs=30, batch_size=20, schedule=Cosine()
    ),
    "supervised 20 per update": _learned(objective="supervised", epochs=30, batch_size=20),
    "supervised 20 per update cosine": _learned(
        objective="supervised", epochs=30, batch_size=20, schedule=Cosine()
    ),
    "infograph* from molecules": _learned(**_NETWORK, init_from="molecules"),
    "auto": _learned(),
}
REFERENCES = ("mean", "atom counts", "forest")
NETWORKS = tuple(name for name in METHODS if name.startswith(("supervised", "infograph")))


def is_judged(data: str, method: str) -> bool:
    """Whether a method is judged on a set: the pre-trained network knows no coordinates."""
    return not (method == "infograph* from molecules" and SETS[data].labels)


def prediction_cells(data: Sequence[str], methods: Sequence[str], seeds: Sequence[int]) -> list[Cell]:
    """The cells, the first seed of all first; a split that is always the same has one."""
    places = [each for each in product(seeds, data, methods) if is_judged(*each[1:])]
    first = seeds[0] if len(seeds) else 0
    wanted = [each for each in places if SETS[each[1]].how != "ordered" or each[0] == first]
    return [prediction_cell(name, method, seed) for seed, name, method in wanted]


def prediction_cell(data: str, method: str, seed: int) -> Cell:
    """One method on one set with one seed."""
    of = SETS[data]
    made = METHODS[method](0, of.figure == "roc_auc")
    settings = {"data": data, "method": method, "seed": seed, "figure": of.figure, "how": of.how}
    settings |= {"estimator": type(made).__name__, "parameters": parameters_of(made)}
    return Cell("predictions", f"{data} {method} {seed}", settings)


def compute_predictions(cell: Cell, work: Path, *, watchers: Sequence[Watcher] = ()) -> Result:
    """Fit to the labelled molecules of a split, and judge the test molecules."""
    of, seed, method = SETS[cell.settings["data"]], cell.settings["seed"], cell.settings["method"]
    classes, began = of.figure == "roc_auc", time.perf_counter()
    model, (molecules, values, parts) = METHODS[method](seed, classes), of.divide(seed)
    labelled, judged, test = parts.labelled, parts.validation, parts.test
    graphs: Any = molecules
    if of.labels and method not in (*REFERENCES, *NETWORKS):
        graphs = molecules.graph["smiles"]  # the pre-trained model's vectors are of SMILES
    elif of.labels and method in NETWORKS:
        labelled = parts.train
    y = _targets(values, classes)
    options: dict[str, Any] = {}
    if isinstance(model, InfoGraphRegressor | InfoGraphClassifier):
        options = {"validation": (graphs[judged], y[judged]), "watchers": watchers}
    known = y[labelled].astype(object if classes and y.ndim == 1 else np.float64)
    known[len(parts.labelled) :] = None if known.dtype == object else np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(graphs[labelled], known, **options)
        found = _found(model, graphs[test], classes)
    fitted = time.perf_counter() - began
    scores = figures(of.figure, found, values[test])
    each = [None if np.isnan(score) else score for score in scores]  # JSON has no NaN
    result: Result = {"scores": each, "test": float(np.nanmean(scores)), "n_test": len(test)}
    if getattr(model, "error_bars_", None) is not None:
        result["intervals"] = _intervals(model, graphs[test], values[test])
    for name in ("chosen_", "errors_", "inputs_", "head_"):
        result |= {name.rstrip("_"): value} if (value := getattr(model, name, "")) else {}
    history = [each for each in getattr(model, "history_", ()) if "validation" in each]
    if history:
        result["validation"] = min(each["validation"] for each in history)
    return {**result, "epochs": len(history), "measured": {"fit_seconds": fitted}}


def _targets(values: NDArray[np.float64], classes: bool) -> NDArray[Any]:
    if values.shape[1] > 1:
        return values
    return values[:, 0].astype(np.int64) if classes else values[:, 0]


def _found(model: Any, graphs: Any, classes: bool) -> NDArray[np.float64]:
    """Numbers, or probabilities of second classes. (G, T)."""
    if not classes:
        return np.asarray(model.predict(graphs)).reshape(len(graphs), -1)
    shares = model.predict_proba(graphs)
    return np.asarray(shares if len(model.target_names_) > 1 else shares[:, 1:])


def figures(figure: str, found: NDArray[Any], given: NDArray[Any]) -> list[float]:
    """The figure of every column; NaN where test molecules have one class only."""
    scores = []
    for mine, true in zip(found.T, given.T, strict=True):
        there = ~np.isnan(true)
        scores.append(SCORINGS[figure].score(true[there], mine[there]))
    return scores


def _intervals(model: InfoGraphRegressor, graphs: Any, given: NDArray[Any]) -> dict[str, float]:
    """Of the first column: how often it lies between bounds, their distance, whether that ranks errors."""
    parts = model.predict(graphs, interval=LEVEL)
    middle, low, high = (np.asarray(each).reshape(len(given), -1)[:, 0] for each in parts)
    true = given[:, 0]
    inside, width = (low <= true) & (true <= high), high - low
    rank = float(spearmanr(width, np.abs(middle - true)).statistic)
    return {"coverage": float(inside.mean()), "width": float(width.mean()), "rank": rank}
