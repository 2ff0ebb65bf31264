"""Table 2: errors on QM9 with 5,000 labels, by objective and target."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from infograph.baselines.references import AtomCounts, FingerprintForest, MeanPredictor
from infograph.cells import Cell, Result, parameters_of, pick_names
from infograph.data.datasets import load_dataset
from infograph.data.qm9 import HEADERS, TARGETS
from infograph.data.splits import semi_supervised_split
from infograph.errors import InvalidGraph, InvalidParameter, TrainingDiverged
from infograph.estimators.architecture import ENN
from infograph.estimators.base import GraphPredictor
from infograph.estimators.predictors import InfoGraphRegressor
from infograph.evaluate.published import paper_table2
from infograph.paper.table1 import CONFIDENCE, Interval, seed_interval, without_times
from infograph.parameters import changed
from infograph.progress import Watcher
from infograph.train.checkpoint import FILE
from infograph.train.loop import Cosine

OBJECTIVES = ("supervised", "mean-teacher", "infograph", "infograph*")
WEIGHTED = ("infograph", "infograph*")  # objectives with a lambda to search
REFERENCES: dict[str, type[GraphPredictor]] = {
    "mean": MeanPredictor,
    "atom-counts": AtomCounts,
    "fingerprints": FingerprintForest,
}
ROWS = (*REFERENCES, *OBJECTIVES)
NAMES = {
    "supervised": "supervised",
    "mean-teacher": "Mean Teacher",
    "infograph": "InfoGraph",
    "infograph*": "InfoGraph*",
    "mean": "mean of labels",
    "atom-counts": "atom counts",
    "fingerprints": "fingerprints",
}
PUBLISHED = {"mean-teacher": "Mean-Teachers", "infograph": "InfoGraph", "infograph*": "InfoGraph*"}
REFERENCE = "supervised"
SEARCHED, SEARCH_EPOCHS = "alpha", 10  # where lambda and weight decay are chosen, for all targets
EPOCHS, SEEDS = {"alpha": 50, "U0": 50}, {"alpha": range(3), "U0": range(3)}
OTHER_EPOCHS, OTHER_SEEDS = 30, range(1)
FIRST_EPOCHS = 10  # of the table's first run: all node columns, torch's weights, a rate that never fell
DRAWN = ("U0", "infograph*", 150)  # the training whose convergence is shown, as in the paper's appendix
ENOUGH = 3  # seeds that an interval is made of
DECAYS, LAMBDAS = (0.0, 1e-3, 1e-4), (1e-3, 1e-4, 1e-5)  # the paper's
DECAY, LAM = 0.0, 1e-3  # before anything is chosen: no penalty, and the authors' lambda
UNITS = {column.name: column.unit for column in TARGETS}
DIGITS = 5  # significant digits of the error of a single molecule
RESAMPLES, SEED = 2_000, 0
AT_ONCE = 200  # resamples; their counts are 16 MB for 10,000 molecules


def make_regressor(
    objective: str, *, epochs: int, lam: float, weight_decay: float, seed: int = 0, first: bool = False
) -> InfoGraphRegressor:
    """The estimator of a cell, otherwise as in the paper; lambda is for InfoGraph and InfoGraph* only.

    Inputs and weights at the start are the authors' (docs/design.md). The learning rate falls to 0 along a
    cosine, for every objective alike: the paper's rule waits for epochs without improvement, of which a run
    of a tenth of its epochs has none. `first` is the table's first run.
    """
    given = {"objective": objective, "epochs": epochs, "weight_decay": weight_decay, "random_state": seed}
    given |= {"lam": lam} if objective in WEIGHTED else {}
    if not first:
        given |= {"encoder": ENN(weights="xavier"), "node_columns": ("pyg",), "schedule": Cosine()}
        given |= {"early_stopping": None}
    return changed(InfoGraphRegressor.paper(), given)


def table2_cell(
    target: str,
    objective: str,
    *,
    seed: int = 0,
    epochs: int | None = None,
    lam: float = LAM,
    weight_decay: float = DECAY,
    first: bool = False,
    labelled: int = 5_000,
    validation: int = 10_000,
    test: int = 10_000,
    schedule: int = 2_000,
) -> Cell:
    """One of QM9's targets by one of ROWS, with that many molecules; the others are unlabelled.

    Without `epochs` it has those of its target. The seed is that of the split and of the weights; the first
    `schedule` validation molecules choose the best epoch.
    """
    settings: dict[str, Any] = {"target": target, "objective": objective, "seed": seed}
    settings |= {"labelled": labelled, "validation": validation, "test": test}
    if objective not in REFERENCES:
        epochs = EPOCHS.get(target, OTHER_EPOCHS) if epochs is None else epochs
        model = make_regressor(objective, epochs=epochs, lam=lam, weight_decay=weight_decay, first=first)
        settings |= {"schedule": schedule, "parameters": parameters_of(model)}
    return Cell("table2", f"{target} {objective} {seed}", settings)


def table2_stages(
    results: Path,
    targets: Sequence[str],
    objectives: Sequence[str],
    *,
    lam: float | None = None,
    weight_decay: float | None = None,
    epochs: int | None = None,
    seeds: Sequence[int] | None = None,
    first: bool = False,
) -> Iterator[list[Cell]]:
    """The cells of some columns and rows ("all" for all), in lists that need the results of those before.

    Weight decay, and then the lambda of InfoGraph and of InfoGraph*, are the ones with the least validation
    error on alpha, unless they are given; the same for all targets. Without `epochs` and `seeds` every target
    has its own. The first seed of all comes first.
    """
    rows, columns = pick_names("objective", objectives, ROWS), pick_names("target", targets, HEADERS)
    common: dict[str, Any] = {"epochs": min(SEARCH_EPOCHS, epochs or SEARCH_EPOCHS), "first": first}
    trained = [row for row in rows if row not in REFERENCES]
    if trained and weight_decay is None:
        tried = [table2_cell(SEARCHED, "supervised", weight_decay=each, **common) for each in DECAYS]
        yield tried
        weight_decay = best_cell(tried, results).settings["parameters"]["weight_decay"]
    common["weight_decay"] = weight_decay or 0.0
    lams: dict[str, Any] = dict.fromkeys(WEIGHTED, lam)
    if lam is None:
        tried_lams = {
            row: [table2_cell(SEARCHED, row, lam=each, **common) for each in LAMBDAS]
            for row in WEIGHTED
            if row in rows
        }
        yield [cell for cells in tried_lams.values() for cell in cells]
        for row, cells in tried_lams.items():
            lams[row] = best_cell(cells, results).settings["parameters"]["lam"]
    common["epochs"] = FIRST_EPOCHS if first else epochs
    own = {target: SEEDS.get(target, OTHER_SEEDS) if seeds is None else seeds for target in columns}
    yield [
        table2_cell(target, row, lam=lams.get(row, 0.0), seed=seed, **common)
        for seed in sorted(set().union(*own.values()))
        for target in columns
        if seed in own[target]
        for row in rows
    ]


def best_cell(cells: Sequence[Cell], results: Path) -> Cell:
    """The cell with the least error on all validation molecules; none of them has to do with the test."""
    errors = {cell.key: validation_error(cell, results) for cell in cells}
    if None in errors.values():
        raise InvalidParameter(f"a setting of {cells[0].name} has no result yet")
    best = min(cells, key=lambda cell: errors[cell.key] or 0.0)
    if errors[best.key] == math.inf:
        raise InvalidParameter(f"{best.name} diverged with every setting that was tried")
    return best


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
    of, graphs = cell.settings, load_dataset("QM9")
    sizes = {name: of[name] for name in ("labelled", "validation", "test")}
    split = semi_supervised_split(graphs, **sizes, seed=of["seed"])
    values, unit = graphs.graph[of["target"]], UNITS[of["target"]]
    history: list[dict[str, float]] = []
    try:
        if of["objective"] in REFERENCES:
            model: GraphPredictor = REFERENCES[of["objective"]]()
            model.fit(graphs[split.labelled], of["target"])
        else:
            given = {name: of["parameters"][name] for name in ("epochs", "lam", "weight_decay")}
            model = make_regressor(of["objective"], **given, seed=of["seed"])
            y = np.full(len(split.train), np.nan)
            y[: len(split.labelled)] = values[split.labelled]
            judged = split.validation[: of["schedule"]]
            model.fit(
                graphs[split.train],
                y,
                validation=(graphs[judged], values[judged]),
                checkpoint=work,
                resume=(work / FILE).is_file(),
                watchers=watchers,
            )
            history = without_times(model.history_)
        errors = {
            part: np.abs(model.predict(graphs[rows]) - values[rows])
            for part, rows in (("validation", split.validation), ("test", split.test))
        }
    except (TrainingDiverged, InvalidGraph) as error:
        reason = " ".join(str(error).split())
        return {"unit": unit, "empty": reason, "scores": {}, "history": [], "test_errors": []}
    scores = {f"{part}_mae": float(found.mean()) for part, found in errors.items()}
    rounded = [float(f"{error:.{DIGITS}g}") for error in errors["test"]]
    return {"unit": unit, "scores": scores, "history": history, "test_errors": rounded}


class Plan2(NamedTuple):
    """The cells of Table 2."""

    tried: tuple[Cell, ...]  # of the search, decay first; those of lambda are known once the decay is chosen
    cells: tuple[Cell, ...]  # of the table, seed by seed, target by target
    open: tuple[str, ...]  # what is not chosen yet, "weight decay" or "lambda"; empty when the search is over

    @property
    def chosen(self) -> tuple[Cell, ...]:
        """The cells of the search whose settings the table has, so far as they are chosen."""
        has = {(c.settings["objective"], *tried_what(c)) for c in self.cells if "parameters" in c.settings}
        tried = ((cell, tried_what(cell)) for cell in self.tried)
        return tuple(c for c, w in tried if (c.settings["objective"], *w) in has and w[0] not in self.open)

    @property
    def drawn(self) -> Cell:
        """The training whose convergence is shown."""
        target, objective, epochs = DRAWN
        of = next(c for c in self.cells if c.settings["objective"] == objective).settings["parameters"]
        given = {"lam": of["lam"], "weight_decay": of["weight_decay"]}
        return table2_cell(target, objective, epochs=epochs, **given)


def plan_table2(results: Path, *, first: bool = False) -> Plan2:
    """The table's cells with the chosen settings; with DECAY and LAM for what the search has not chosen."""
    stages: list[list[Cell]] = []
    given: dict[str, Any] = {"first": first, "seeds": (0,) if first else None}
    try:
        stages.extend(table2_stages(results, ["all"], ["all"], **given))
    except InvalidParameter:  # results of the search are missing
        decay = stages[1][0].settings["parameters"]["weight_decay"] if len(stages) > 1 else DECAY
        still_open = ("weight decay", "lambda")[len(stages) - 1 :]
        stages += table2_stages(results, ["all"], ["all"], lam=LAM, weight_decay=decay, **given)
    else:
        still_open = ()
    return Plan2(tuple(chain(*stages[:-1])), tuple(stages[-1]), still_open)


def planned_cells(results: Path) -> list[tuple[str, Cell]]:
    """All cells of the table by their columns, "search" for settings that are tried, each once.

    Of the first run these are the ones with a result: nothing of it is computed any more.
    """
    plan, first = plan_table2(results), plan_table2(results, first=True)
    found = [("search", cell) for cell in plan.tried]
    found += [(cell.settings["target"], cell) for cell in (*plan.cells, plan.drawn)]
    there = (cell for cell in (*first.cells, *first.tried) if cell.path(results).is_file())
    found += [(cell.settings["target"], cell) for cell in there]
    return list({cell.key: (column, cell) for column, cell in reversed(found)}.values())[::-1]


def tried_what(cell: Cell) -> tuple[str, float]:
    """What a cell of the search tries: ("weight decay", 0.001), or ("lambda", 0.0001)."""
    parameters = cell.settings["parameters"]
    if cell.settings["objective"] in WEIGHTED:
        return "lambda", parameters["lam"]
    return "weight decay", parameters["weight_decay"]


@dataclass(frozen=True, eq=False)
class TargetError:
    """One cell of Table 2."""

    target: str
    objective: str
    results: tuple[Result, ...] = ()  # one per seed; without scores where training diverged
    ratio: float | None = None  # of its test error to the supervised model's; of that one's to the paper's
    interval: Interval | None = None  # of the ratio, over seeds where there are enough, else over molecules

    @property
    def mae(self) -> float | None:
        """The mean absolute error on the test molecules, the mean over seeds."""
        found = [float(each["scores"]["test_mae"]) for each in self.results if each["scores"]]
        return sum(found) / len(found) if found and not self.reason else None

    @property
    def reason(self) -> str:
        """Why it was run and has no figure."""
        return next((str(each["empty"]) for each in self.results if each.get("empty")), "")

    @property
    def published(self) -> float | None:
        """The paper's ratio; None for rows that the paper does not have."""
        if self.objective == REFERENCE:
            return 1.0
        name = PUBLISHED.get(self.objective)
        return None if name is None else paper_table2().ratios[name][self.target]

    @property
    def difference(self) -> float | None:
        """Our ratio minus the paper's."""
        return None if self.ratio is None or self.published is None else self.ratio - self.published

    @property
    def inside(self) -> bool:
        """Whether the paper's ratio lies inside our interval."""
        if self.interval is None or self.published is None:
            return False
        return self.interval[0] <= self.published <= self.interval[1]


class Length(NamedTuple):
    """How long the networks of a target were trained, and how often."""

    epochs: int
    seeds: int

    @property
    def over(self) -> str:
        """What its intervals are over."""
        return "seeds" if self.seeds >= ENOUGH else "test molecules alone"

    def __str__(self) -> str:
        return f"{self.epochs} epochs, {self.seeds} seed{'s' * (self.seeds > 1)}"


class Table2(NamedTuple):
    """Table 2 from its result files."""

    plan: Plan2
    errors: Mapping[tuple[str, str], TargetError]  # by (target, objective), those that were not run too
    search: tuple[tuple[Cell, float | None], ...]  # the search's cells with their `validation_error`
    lengths: Mapping[str, Length]  # by target
    drawn: Result | None  # the training whose convergence is shown


def read_table2(results: Path) -> Table2:
    """Table 2 from the result files of the chosen settings.

    A target whose supervised model was not trained again has the figures of the table's first run.
    """
    plan, errors, lengths = plan_table2(results), dict[tuple[str, str], TargetError](), dict[str, Length]()
    runs = [_by_row(each.cells, results) for each in (plan, plan_table2(results, first=True))]
    for target in paper_table2().targets:
        again, before = (run[target] for run in runs)
        is_new = bool(again[REFERENCE]) or not before[REFERENCE]
        own = again if is_new else before
        epochs = EPOCHS.get(target, OTHER_EPOCHS) if is_new else FIRST_EPOCHS
        lengths[target] = Length(epochs, max(1, len(own[REFERENCE])))
        errors |= {(target, row): _against(target, row, own) for row in ROWS}
    search = tuple((cell, validation_error(cell, results)) for cell in plan.tried)
    return Table2(plan, errors, search, lengths, plan.drawn.read(results))


Runs = dict[str, dict[int, Result]]  # row -> seed -> result


def _by_row(cells: Sequence[Cell], results: Path) -> dict[str, Runs]:
    found: dict[str, Runs] = {target: {row: {} for row in ROWS} for target in HEADERS}
    for cell in cells:
        of, result = cell.settings, cell.read(results)
        if result is not None:
            found[of["target"]][of["objective"]][of["seed"]] = result
    return found


def _against(target: str, row: str, runs: Runs) -> TargetError:
    """A row beside the supervised model, over the seeds that both have; that model beside the paper's."""
    own, base = (
        {seed: r for seed, r in runs[name].items() if not r.get("empty")} for name in (row, REFERENCE)
    )
    seeds = sorted(own.keys() & base.keys())
    if not seeds:
        return TargetError(target, row, tuple(runs[row].values()))
    wrong = np.array([own[seed]["test_errors"] for seed in seeds])  # (S, N)
    theirs = np.full_like(wrong, paper_table2().supervised[target])
    if row != REFERENCE:
        theirs = np.array([base[seed]["test_errors"] for seed in seeds])
    ratios = wrong.mean(axis=1) / theirs.mean(axis=1)
    if len(seeds) >= ENOUGH:
        interval = seed_interval(ratios)
    else:
        interval = ratio_interval(wrong.ravel(), theirs.ravel())
    return TargetError(target, row, tuple(runs[row].values()), float(ratios.mean()), interval)


def ratio_interval(own: ArrayLike, theirs: ArrayLike) -> Interval:
    """Percentile interval of the mean of some errors (N,) divided by that of others, paired by molecule.

    Molecules are drawn with replacement. A draw is written as how often each molecule came, so that the means
    are one matrix product.
    """
    columns = np.stack([own, theirs], axis=1, dtype=np.float64)  # (N, 2)
    rng, n = np.random.default_rng(SEED), len(columns)
    portions: list[NDArray[np.float64]] = []
    for begin in range(0, RESAMPLES, AT_ONCE):
        draws = min(AT_ONCE, RESAMPLES - begin)
        molecules = rng.integers(n, size=(draws, n)) + n * np.arange(draws)[:, None]
        counts = np.bincount(molecules.ravel(), minlength=draws * n).reshape(draws, n)
        portions.append(counts @ columns / n)  # (draws, 2)
    means = np.concatenate(portions)
    low, high = np.quantile(means[:, 0] / means[:, 1], [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)
