"""How good predictions are: figures per target, and which of two models to use."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, roc_auc_score

from infograph.data.graphset import GraphSet
from infograph.data.labels import class_name, missing, without_mark
from infograph.data.targets import numeric_targets
from infograph.estimators.base import GraphPredictor
from infograph.progress import WRONG, Watcher

Floats = NDArray[np.float64]
Figures = dict[str, float]
MAE, RMSE, R2, AUC, PRECISION = "MAE", "RMSE", "R2", "ROC-AUC", "average precision"
IN_UNITS = (MAE, RMSE)
DRAWS, CHUNK = 2000, 100  # of test graphs with replacement, and how many at a time
FEWEST = 20  # test graphs to decide by


@dataclass(frozen=True, eq=False)
class Judged:
    """Predictions of graphs beside what is known of them. G graphs, T targets."""

    names: tuple[str, ...]  # of the targets
    units: tuple[str, ...]
    given: Floats  # (G, T) numbers, or places of classes, -1 for one that the model lacks; NaN where unknown
    said: Floats  # (G, T) what is predicted, alike
    scores: Floats | None  # (G, T) the probability of the second of two classes; None for all others
    classes: bool  # whether classes are predicted

    @classmethod
    def of(
        cls,
        model: GraphPredictor,
        graphs: GraphSet,
        columns: Sequence[str | None],
        outputs: NDArray[Any] | None = None,
    ) -> Self:
        """Of graphs that have the targets in these columns (None: in none of them).

        `outputs` are numbers (G, T) or probabilities, where the model has given them already.
        """
        classes, names = hasattr(model, "classes_"), model.target_names_
        if outputs is None:
            outputs = outputs_of(model, graphs)
        given = np.full((len(graphs), len(names)), np.nan)
        for place, column in enumerate(columns):
            if column is not None and len(graphs):
                given[:, place] = _given(model, without_mark(graphs, [column], model.unlabelled), column)
        if not classes:
            return cls(names, model.target_units_, given, np.reshape(outputs, given.shape), None, False)
        said = model._chosen(outputs).reshape(given.shape).astype(np.float64)
        scores = outputs if len(names) > 1 else outputs[:, 1:] if len(model.classes_) == 2 else None
        return cls(names, (WRONG,) * len(names), given, said, scores, True)

    @property
    def known(self) -> NDArray[np.bool_]:
        """(G, T)."""
        return ~np.isnan(self.given)

    @property
    def wrong(self) -> Floats:
        """By how much numbers are wrong, or 1 for a wrong class; NaN where unknown. (G, T)."""
        wrong = np.abs(self.said - self.given)
        return np.where(self.known, wrong > 0, np.nan) if self.classes else wrong

    @property
    def spread(self) -> Floats:
        """The deviation of each target's numbers; 1 where they do not differ, or there are none. (T,)."""
        columns = (column[known] for column, known in zip(self.given.T, self.known.T, strict=True))
        return np.array([(column.std() if len(column) else 0.0) or 1.0 for column in columns])

    @cached_property
    def figures(self) -> list[Figures]:
        """Of each target; NaN where graphs are too few, or of one class."""
        return [self._figures(target) for target in range(len(self.names))]

    def _figures(self, target: int) -> Figures:
        rows = self.known[:, target]
        given, wrong = self.given[rows, target], self.wrong[rows, target]
        mean = float(wrong.mean()) if len(wrong) else math.nan
        if not self.classes:
            square = float((wrong**2).mean()) if len(wrong) else math.nan
            spread = float(given.var()) if len(given) > 1 else 0.0
            return {MAE: mean, RMSE: math.sqrt(square), R2: 1 - square / spread if spread else math.nan}
        if self.scores is None:
            return {WRONG: mean}
        second, both = given == 1, set(given.tolist()) == {0.0, 1.0}
        areas = [
            float(area(second, self.scores[rows, target])) if both else math.nan
            for area in (roc_auc_score, average_precision_score)
        ]
        return {WRONG: mean, AUC: areas[0], PRECISION: areas[1]}

    @property
    def headline(self) -> str:
        """The figure that decides: RMSE, ROC-AUC, or the share of wrong classes."""
        if not self.classes:
            return RMSE
        return AUC if any(not math.isnan(each.get(AUC, math.nan)) for each in self.figures) else WRONG

    def resampled(self, counts: NDArray[np.int64]) -> Floats:
        """The headline as an error, where each of B samples holds graphs so many times. (B, G) -> (B, T)."""
        known, weights = self.known, counts.astype(np.float64)
        if self.headline == AUC and self.scores is not None:
            areas = [_missed_area(weights, *pair) for pair in zip(self.given.T, self.scores.T, strict=True)]
            return np.stack(areas, axis=1)
        wrong = np.where(known, self.wrong, 0.0)
        with np.errstate(invalid="ignore"):
            means = weights @ (wrong if self.classes else wrong**2) / (weights @ known)
        return np.asarray(means if self.classes else np.sqrt(means))


def outputs_of(model: GraphPredictor, graphs: GraphSet, watchers: Sequence[Watcher] = ()) -> NDArray[Any]:
    """Numbers (G, T) in the targets' units, or probabilities (G, C), of several columns (G, T)."""
    if not len(graphs):
        return np.zeros((0, model._n_outputs))
    return np.asarray(model._checked_outputs(graphs, "raise", model._watched(watchers) if watchers else None))


def predicted_classes(model: GraphPredictor, outputs: NDArray[Any]) -> NDArray[Any]:
    """The classes of the largest probabilities. (G,), or (G, T) of several columns."""
    return np.asarray(model.classes_[model._chosen(outputs)])


def _given(model: GraphPredictor, graphs: GraphSet, column: str) -> Floats:
    if not hasattr(model, "classes_"):
        return np.asarray(numeric_targets([column], graphs, fitting=False).values[:, 0])
    values = graphs.values("graph", column)
    places = {class_name(label): float(place) for place, label in enumerate(model.classes_.tolist())}
    pairs = zip(values.tolist(), ~missing(values), strict=True)
    return np.array([places.get(class_name(value), -1.0) if there else math.nan for value, there in pairs])


def _missed_area(weights: Floats, given: Floats, scores: Floats) -> Floats:
    """1 - the area under the ROC curve of samples; NaN where one has a single class. (B, G) -> (B,)."""
    order = np.argsort(scores, kind="stable")
    order = order[~np.isnan(given[order])]
    if not len(order):
        return np.full(len(weights), np.nan)
    ranked = scores[order]
    starts = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1]))  # of equal scores
    second = given[order] == 1
    ones = np.add.reduceat(weights[:, order] * second, starts, axis=1)
    zeros = np.add.reduceat(weights[:, order] * ~second, starts, axis=1)
    below = zeros.cumsum(axis=1) - zeros / 2
    pairs = ones.sum(axis=1) * zeros.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return np.asarray(1 - (ones * below).sum(axis=1) / np.where(pairs > 0, pairs, np.nan))


@dataclass(frozen=True)
class Verdict:
    """Which of two models to use for a target, by a paired test on the same graphs."""

    target: str  # its name, or "mean of 12" columns of classes
    figure: str  # by which they are compared
    unit: str  # of the figure
    model: str
    reference: str
    own: float  # the figure of the model
    other: float  # and that of the reference
    low: float  # the 95 % interval of own - other, by a bootstrap of the test graphs (2,000 draws)
    high: float
    n_graphs: int  # test graphs with a value
    use: str  # "model", "reference", or "" where the graphs are too few to say

    def __str__(self) -> str:
        turned = self.use == "reference"
        better, worse = (self.other, self.own) if turned else (self.own, self.other)
        low, high = (-self.high, -self.low) if turned else (self.low, self.high)
        start = f"Use {with_article(self.reference)}" if turned else "Use this model"
        second = "this model" if turned else with_article(self.reference)
        figure = "" if self.figure == WRONG else f"{self.figure} "
        first = f"{figure}{self._shown(better)} {self.unit}".rstrip()
        interval = f"95 % interval of the difference {self._shown(low, 2)} to {self._shown(high, 2)}"
        basis = f"{interval}, {self.n_graphs:,} test graphs"
        if self.n_graphs < FEWEST:
            basis = f"{self.n_graphs} test graphs; it takes {FEWEST}"
        start = start if self.use else "Not enough data to say which is better"
        return f"{start}: {first} against {self._shown(worse)} of {second} ({basis})."

    def _shown(self, value: float, digits: int = 3) -> str:
        return f"{100 * value:.1f}" if self.figure == WRONG else f"{value:.{digits}g}"


def with_article(method: str) -> str:
    """ "the mean of the labels", but "least squares on atom counts"."""
    return method if method.startswith(("least", "logistic")) else f"the {method}"


def compare_pair(model: str, own: Judged, reference: str, other: Judged) -> list[Verdict]:
    """Which of two models to use: one verdict per target of numbers, one for all columns of classes."""
    rng, n_graphs = np.random.default_rng(0), len(own.given)
    whole = np.ones((1, n_graphs), np.int64)
    figures = [each.resampled(whole)[0] for each in (own, other)]  # (T,)
    parts = []
    for _ in range(DRAWS // CHUNK):
        drawn = rng.multinomial(n_graphs, np.full(n_graphs, 1 / n_graphs), CHUNK)
        parts.append(own.resampled(drawn) - other.resampled(drawn))
    differences = np.concatenate(parts)  # (B, T)
    counts = own.known.sum(axis=0)
    if own.classes:  # all columns together
        figures = [_mean(each)[None] for each in figures]
        differences, counts = _mean(differences)[:, None], own.known.any(axis=1).sum()[None]
    several = len(own.names) > 1
    names = (mean_of(own.names) if several else own.names[0],) if own.classes else own.names
    verdicts = []
    for place, name in enumerate(names):
        known = differences[~np.isnan(differences[:, place]), place]
        low, high = np.quantile(known, [0.025, 0.975]) if len(known) else (math.nan, math.nan)
        enough = counts[place] >= FEWEST
        use = "model" if enough and high < 0 else "reference" if enough and low > 0 else ""
        a, b = (float(each[place]) for each in figures)
        if own.headline == AUC:  # whose error is 1 - area
            a, b, low, high = 1 - a, 1 - b, -high, -low
        unit = own.units[place] if own.headline in (*IN_UNITS, WRONG) else ""
        ends = float(low), float(high), int(counts[place])
        verdicts.append(Verdict(name, own.headline, unit, model, reference, a, b, *ends, use))
    return verdicts


def _mean(values: Floats) -> Floats:
    """Over the last axis, without NaN; NaN where there is nothing else."""
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, values, 0.0).sum(axis=-1) / known.sum(axis=-1))


def in_digits(value: float, name: str) -> str:
    """A figure as tables show it: errors with three digits, shares such as R2 with three decimals."""
    return "" if math.isnan(value) else f"{value:.3g}" if name in IN_UNITS else f"{value:.3f}"


def deciding(figures: Iterable[str]) -> str:
    """The figure by which methods are compared first."""
    return next(name for name in (RMSE, AUC, WRONG) if name in figures)


def mean_of(names: Sequence[str]) -> str:
    """What the mean over targets is called."""
    return f"mean of {len(names)}"


def mean_figures(figures: Sequence[Figures]) -> Figures:
    """Each figure's mean over the targets that have it."""
    return {name: float(_mean(np.array([each[name] for each in figures]))) for name in figures[0]}
