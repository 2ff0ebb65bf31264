"""Table 1: accuracy of unsupervised methods, by data set, setting and repeat."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from infograph.contract import GraphTransformer
from infograph.data.graphset import GraphSet
from infograph.data.sets.registry import load_dataset
from infograph.data.storage import read_json, replaced_file
from infograph.errors import InfoGraphError
from infograph.evaluate import Evaluation, Gram, cross_validate, merge
from infograph.reproduce.cells import Cell, Result, parameters_of
from infograph.reproduce.methods import METHODS, Method, blames_method, represent
from infograph.train.checkpoint import FILE
from infograph.train.loop import Watcher

REPEATS, FOLDS, INNER_FOLDS = 5, 10, 5
SMALL = ("MUTAG", "PTC_MR", "IMDB-BINARY", "IMDB-MULTI")
REDUCED = {
    "REDDIT-BINARY": ("layers=4 lr=0.001", "layers=4 lr=0.0001"),
    "REDDIT-MULTI-5K": ("layers=4 lr=0.001",),
}  # InfoGraph's settings where a training takes minutes, fixed before anything was run there
REDUCED_EPOCHS = (10, 20)


def table1_cells(
    data: Sequence[str] = SMALL,
    methods: Sequence[str] = tuple(METHODS),
    repeats: Sequence[int] = range(REPEATS),
) -> list[Cell]:
    """The cells of some columns and rows: one per setting and repeat, the first repeat of all first."""
    return [
        table1_cell(name, method, setting, repeat)
        for repeat in repeats
        for name in data
        for method in (searched_on(name, each) for each in methods)
        for setting in method.searched
    ]


def searched_on(data: str, name: str) -> Method:
    """A method with the settings and epochs that are searched on a data set."""
    method = METHODS[name]
    if name != "infograph" or data not in REDUCED:
        return method
    grid = {setting: method.searched[setting] for setting in REDUCED[data]}
    return replace(method, grid=grid, epochs=REDUCED_EPOCHS)


def table1_cell(data: str, method: Method, setting: str, repeat: int, table: str = "table1") -> Cell:
    """One cell: a method with one setting, made and judged with the seed `repeat`.

    A method that is trained has a figure after each of its `epochs`, from one run.
    """
    settings: dict[str, Any] = {
        "data": data,
        "method": method.name,
        "setting": setting,
        "repeat": repeat,
        "folds": FOLDS,
        "inner_folds": INNER_FOLDS,
        "parameters": parameters_of(method.searched[setting](0)),
    }
    if method.epochs:
        settings["epochs"] = list(method.epochs)
        del settings["parameters"]["epochs"]
    return Cell(table, f"{data} {method.name} {setting} {repeat}", settings)


def compute_table1(cell: Cell, work: Path, *, watchers: Sequence[Watcher] = ()) -> Result:
    """Represent all graphs, and judge that with the folds of this repeat."""
    settings = cell.settings
    make = METHODS[settings["method"]].searched[settings["setting"]]
    return judged(make(settings["repeat"]), settings, work, watchers)


def judged(
    estimator: GraphTransformer,
    settings: dict[str, Any],
    work: Path,
    watchers: Sequence[Watcher] = (),
    **judging: Any,
) -> Result:
    """The result of a cell: what an estimator makes of a data set, and its scores.

    "empty" has the reason where a method cannot do it, as where training diverges. Where it diverges after
    some of the epochs were judged, those stay, and "lacking" has the reason why the others are missing.

    Args:
        estimator: with its seed, not fitted.
        settings: of the cell.
        work: its folder; scores after some epochs wait there for the others.
        watchers: of the training.
        judging: further arguments of `cross_validate`.

    Raises:
        InfoGraphError: what says nothing of the method (`blames_method`), such as a missing package.
    """
    graphs = load_dataset(settings["data"])
    evaluations, took = [], {"represent_seconds": 0.0, "evaluate_seconds": 0.0}
    history: list[dict[str, float]] = []
    reason = ""
    for epochs in settings.get("epochs", [None]):
        kept = work / f"{epochs}.json"
        if not kept.is_file():
            began = time.perf_counter()
            try:
                values, history = _represent(estimator, graphs, epochs, work, watchers)
            except InfoGraphError as error:
                if not blames_method(error):
                    raise
                reason = " ".join(str(error).split())
                break
            middle = time.perf_counter()
            evaluation = _judge(values, graphs, settings, epochs, judging)
            with replaced_file(kept) as partial:
                partial.write_text(json.dumps({"evaluation": evaluation.to_dict(), "history": history}))
            took["represent_seconds"] += middle - began
            took["evaluate_seconds"] += time.perf_counter() - middle
        record = read_json(kept)
        evaluations.append(Evaluation.from_dict(record["evaluation"]))
        history = record["history"]
    if not evaluations:
        return {"empty": reason, "evaluation": None, "history": history}
    measured = {name: round(value, 2) for name, value in took.items()}
    lacking = {"lacking": reason} if reason else {}
    whole = merge(evaluations).to_dict()
    return {"empty": "", **lacking, "evaluation": whole, "history": history, "measured": measured}


def _represent(
    estimator: GraphTransformer, graphs: GraphSet, epochs: int | None, work: Path, watchers: Sequence[Watcher]
) -> tuple[NDArray[Any] | Gram, list[dict[str, float]]]:
    """Vectors (G, D) or a Gram matrix, and the history of a training.

    A run of 20 epochs goes on from the checkpoint of the one of 10, to the weights that it would have alone.
    """
    if epochs is None:
        return represent(estimator, graphs), []
    began = (work / FILE).is_file()
    estimator.set_params(epochs=epochs)
    vectors = represent(estimator, graphs, checkpoint=work, resume=began, watchers=watchers)
    return vectors, [{k: v for k, v in e.items() if "second" not in k} for e in estimator.history_]


def _judge(
    values: NDArray[Any] | Gram,
    graphs: GraphSet,
    settings: dict[str, Any],
    epochs: int | None,
    judging: dict[str, Any],
) -> Evaluation:
    name = settings["setting"] if epochs is None else f"{settings['setting']} epochs={epochs}"
    return cross_validate(
        {name: values},
        graphs.graph["y"],
        repeats=1,
        folds=settings["folds"],
        inner_folds=settings["inner_folds"],
        random_state=settings["repeat"],
        **judging,
    )


def collect(results: Iterable[Result]) -> Evaluation | None:
    """One evaluation of a method on a data set, from the cells that are there.

    Settings that lack a repeat which others have, or that could not be computed, are left out; so is a number
    of epochs that the training of one repeat did not reach.
    """
    parts = [Evaluation.from_dict(result["evaluation"]) for result in results if not result["empty"]]
    seeds = {part.seeds[0] for part in parts}
    repeats: dict[str, set[int]] = {}
    for part in parts:
        for candidate in part.candidates:
            repeats.setdefault(candidate.setting, set()).add(part.seeds[0])
    whole = [setting for setting, found in repeats.items() if found == seeds]
    kept = [
        part.select(settings=whole)
        for part in parts
        if any(candidate.setting in whole for candidate in part.candidates)
    ]
    return merge(kept) if kept else None


def group(results: Iterable[Result]) -> dict[tuple[str, str], list[Result]]:
    """Results by data set and method, both in the order they come."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result["settings"]["data"], result["settings"]["method"]), []).append(result)
    return groups
