"""Everything an evaluation measured, the two ways to report it, and the test between two methods."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from infograph.data.vectors import data_frame
from infograph.errors import InvalidParameter
from infograph.evaluate.judges import SCORINGS, Floats, Rows
from infograph.io import without_nan
from infograph.notebook import as_html

FORMAT = 1
SCORES = {"inner": np.float64, "outer": np.float64, "stopped": np.int64}  # the arrays of a candidate


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The result of `cross_validate`: every inner and outer score.

    Attributes:
        plan: folds and labels.
        seeds: the seed of each repeat.
        candidates: scores per setting and classifier.
    """

    plan: Plan
    seeds: tuple[int, ...]
    candidates: tuple[Candidate, ...]

    def leak_free(self) -> Score:
        """Per outer fold, the (setting, classifier, value) that is best on its inner folds; its outer score.

        Of equals the first candidate and the smallest value are taken. No test fold takes part in any choice.
        """
        inner = np.stack([each.chosen_inner for each in self.candidates], axis=-1)  # (R, F, candidates)
        outer = np.stack([each.chosen_outer for each in self.candidates], axis=-1)
        return Score.of(_pick(outer, _best(inner, self.scoring)), self.scoring)

    def paper(self) -> Score:
        """The setting and classifier with the best outer mean; only C is chosen on the inner folds.

        This is how the paper reports. With more than one candidate the test folds take part in the choice, so
        the figure is optimistic. With one candidate it equals `leak_free()`.
        """
        means = np.array([np.nanmean(each.chosen_outer) for each in self.candidates])
        return Score.of(self.candidates[int(_best(means, self.scoring))].chosen_outer, self.scoring)

    @property
    def scoring(self) -> str:
        """What was measured, such as "accuracy"."""
        return self.candidates[0].scoring

    def select(
        self, settings: Collection[str] | str | None = None, classifiers: Collection[str] | str | None = None
    ) -> Evaluation:
        """The same evaluation with these settings and classifiers only, one or several; None keeps all."""
        settings, classifiers = (
            (each,) if isinstance(each, str) else each for each in (settings, classifiers)
        )
        kept = tuple(
            each
            for each in self.candidates
            if (settings is None or each.setting in settings)
            and (classifiers is None or each.classifier in classifiers)
        )
        if not kept:
            have = ", ".join(map(str, self.candidates))
            raise InvalidParameter(f"no candidate of {settings} with {classifiers}; there are {have}")
        return replace(self, candidates=kept)

    @property
    def mean(self) -> float:
        """Mean of `leak_free()`."""
        return self.leak_free().mean

    @property
    def std(self) -> float:
        """Deviation of `leak_free()` over repeats."""
        return self.leak_free().std

    @property
    def n_stopped(self) -> int:
        """How many of the `n_fits` fits reached the iteration bound."""
        return int(sum(each.stopped.sum() for each in self.candidates))

    @property
    def n_fits(self) -> int:
        """On outer folds, and on inner ones where something was to be chosen."""
        inside = self.plan.inner_folds
        return sum(each.outer.size * (1 + inside * each.has_inner) for each in self.candidates)

    def to_pandas(self) -> Any:
        """A DataFrame with a row per candidate, repeat, fold and, of several, column of labels.

        `chosen` is the value of the grid that is best on the inner folds, `inner` its score there, and
        `score` that on the outer test fold.
        """
        parts = []
        for each in self.candidates:
            scores = each.chosen_outer  # (R, F) or (R, F, T)
            places: dict[str, Any] = dict(
                zip(("repeat", "fold", "target"), np.indices(scores.shape), strict=False)
            )
            places["repeat"] = np.array(self.seeds)[places["repeat"]]
            figures = {"chosen": each.chosen, "inner": each.chosen_inner, "score": scores}
            own = {"setting": each.setting, "classifier": each.classifier}
            rows = {name: values.ravel() for name, values in {**places, **figures}.items()}
            parts.append({**{name: np.full(scores.size, text) for name, text in own.items()}, **rows})
        joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        return data_frame(joined, np.arange(len(joined["score"])), "row")

    def __str__(self) -> str:
        early = f"; {self.n_stopped} of {self.n_fits} fits stopped early" if self.n_stopped else ""
        return f"{self.leak_free()}{early}"

    def _repr_html_(self) -> str:
        plan, kind = self.plan, self.scoring
        facts = {"graphs": f"{plan.n_graphs:,}", "folds": plan.folds, "repeats": len(self.seeds)}
        if plan.class_sizes and kind == "accuracy":
            facts["largest class"] = f"{100 * plan.majority:.1f} %"
        rows = [("leak-free", *self.leak_free().shown)]
        if len(self.candidates) > 1:
            rows.append(("best setting on the test folds (paper)", *self.paper().shown))
        head = ("", kind, "± over repeats", "± over folds")
        each = [(str(one), *Score.of(one.chosen_outer, kind).shown) for one in self.candidates]
        tables = [(head, rows), (("candidate", *head[1:]), each)]
        early = [f"{self.n_stopped} of {self.n_fits} fits stopped early"] if self.n_stopped else []
        return as_html("Cross-validation", facts, tables=tables[: len(each)], notes=early)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-ready lists and numbers; `from_dict` gives it back exactly."""
        return {
            "format": FORMAT,
            "plan": self.plan.to_dict(),
            "seeds": list(self.seeds),
            "candidates": [each.to_dict() for each in self.candidates],
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Evaluation:
        """The evaluation that `to_dict` wrote; another format or a damaged record is refused."""
        if not isinstance(record, Mapping) or record.get("format") != FORMAT:
            raise InvalidParameter(f"expected a record of Evaluation.to_dict() in format {FORMAT}")
        try:
            sizes = tuple((str(name), int(size)) for name, size in record["plan"]["class_sizes"])
            plan = Plan(**{**record["plan"], "class_sizes": sizes})
            seeds = tuple(int(seed) for seed in record["seeds"])
            candidates = tuple(Candidate.from_dict(each) for each in record["candidates"])
            for each in candidates:
                shapes = {getattr(each, name).shape for name in SCORES}
                sides = {(shape[:2], shape[-1], len(shape)) for shape in shapes}
                if len(shapes) > 1 or not sides <= {
                    ((len(seeds), plan.folds), len(each.grid), n) for n in (3, 4)
                }:
                    raise ValueError(f"scores of {each} have the shapes {shapes}")
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidParameter(f"the stored evaluation is damaged ({error!r}); evaluate again") from error
        return cls(plan, seeds, candidates)


@dataclass(frozen=True)
class Plan:
    """The folds of an evaluation up to their seed. Equal plans and equal seeds mean equal folds."""

    folds: int  # outer folds, each judged once per repeat
    inner_folds: int  # folds of every outer training part, where C is chosen
    class_sizes: tuple[tuple[str, int], ...]  # (name, number of graphs) per class, in the order of the codes
    labels: str  # SHA-256 of the labels in their order, so that a different data set or order is noticed
    graphs: int = 0  # how many there are, where there are no classes or several columns of them
    groups: str = ""  # SHA-256 of the groups that stay together, if there are any

    @classmethod
    def of(cls, codes: Rows, names: tuple[str, ...], folds: int, inner_folds: int) -> Plan:
        """Plan the folds for these labels; a class that is too small for them is refused."""
        sizes = np.bincount(codes, minlength=len(names)).tolist()
        for name, size in zip(names, sizes, strict=True):
            left = size - -(-size // folds)  # a test fold takes at most ceil(size / folds) of them
            if size < folds or left < inner_folds:
                raise InvalidParameter(
                    f"class {name} has {size} members, of which a training part keeps {left}: too few for "
                    f"folds={folds}, inner_folds={inner_folds}; use fewer folds, or leave the class out"
                )
        digest = hashlib.sha256(json.dumps([list(names), codes.tolist()]).encode()).hexdigest()
        return cls(folds, inner_folds, tuple(zip(names, sizes, strict=True)), digest)

    def to_dict(self) -> dict[str, Any]:
        given = {**asdict(self), "class_sizes": [list(pair) for pair in self.class_sizes]}
        return {name: value for name, value in given.items() if name not in ("graphs", "groups") or value}

    @property
    def n_graphs(self) -> int:
        return self.graphs or sum(size for _, size in self.class_sizes)

    @property
    def majority(self) -> float:
        """The accuracy of always answering the largest class; NaN where there are no classes."""
        return max((size for _, size in self.class_sizes), default=math.nan) / self.n_graphs


@dataclass(frozen=True, eq=False)
class Candidate:
    """All scores of one setting with one classifier: R repeats, F folds, P values of the grid.

    For several columns of labels arrays are (R, F, T, P).
    """

    setting: str
    classifier: str
    grid: tuple[float, ...]  # the P values of C, or numbers of neighbours for knn, smallest first
    scale: bool  # whether columns were standardised
    max_iter: int  # iteration bound of each fit; 0 for knn, which does not iterate
    inner: Floats  # (R, F, P) mean score over the inner folds; NaN where nothing was to be chosen
    outer: Floats  # (R, F, P) score on the outer test fold; NaN of ranks where it has one class only
    stopped: Rows  # (R, F, P) fits, of inner_folds + 1, that reached the iteration bound
    scoring: str = "accuracy"  # what was measured

    @property
    def has_inner(self) -> bool:
        """Whether there are inner scores, by which it can be compared with other candidates."""
        return not bool(np.isnan(self.inner).all())

    @property
    def chosen(self) -> Floats:
        """The value of the grid that is best on the inner folds of each outer fold, (R, F)."""
        return np.array(self.grid)[_best(self.inner, self.scoring)]

    @property
    def chosen_inner(self) -> Floats:
        """The inner score of that value, (R, F)."""
        return _pick(self.inner, _best(self.inner, self.scoring))

    @property
    def chosen_outer(self) -> Floats:
        """The outer score of that value, (R, F)."""
        return _pick(self.outer, _best(self.inner, self.scoring))

    def to_dict(self) -> dict[str, Any]:
        arrays = {name: without_nan(getattr(self, name)) for name in SCORES}
        scoring = {} if self.scoring == "accuracy" else {"scoring": self.scoring}
        own = {name: value for name, value in vars(self).items() if name != "scoring"}
        return {**own, "grid": list(self.grid), **arrays, **scoring}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Candidate:
        arrays = {name: np.array(record[name], kind) for name, kind in SCORES.items()}  # None is NaN
        return cls(**{**record, "grid": tuple(map(float, record["grid"])), **arrays})

    def __str__(self) -> str:
        return f"{self.setting!r} with {self.classifier}"


def _best(scores: Floats, scoring: str = "accuracy") -> NDArray[np.intp]:
    """The first of the best along the last axis; rounded, as equal scores may differ in the last bit."""
    worse = np.inf if SCORINGS[scoring].lower else -np.inf
    clean = np.where(np.isnan(scores), worse, np.round(scores, 12))
    return np.asarray(clean.argmin(axis=-1) if SCORINGS[scoring].lower else clean.argmax(axis=-1))


def _pick(scores: Floats, which: NDArray[np.intp]) -> Floats:
    return np.asarray(np.take_along_axis(scores, which[..., None], axis=-1)[..., 0])


@dataclass(frozen=True)
class Score:
    """A figure as a table cell needs it; an accuracy is between 0 and 1.

    Attributes:
        mean: mean over repeats and folds.
        std: sample deviation of the repeats' means; NaN for a single repeat.
        std_folds: sample deviation over all folds of all repeats.
        fold_scores: the score of every outer fold, per repeat.
        scoring: what was measured.
    """

    mean: float
    std: float
    std_folds: float
    fold_scores: tuple[tuple[float, ...], ...]
    scoring: str = "accuracy"

    @classmethod
    def of(cls, outer: Floats, scoring: str = "accuracy") -> Score:
        """The score of outer scores (R, F), or (R, F, T), of which the mean over columns counts."""
        outer = outer if outer.ndim == 2 else np.nanmean(outer, axis=2)
        means = np.nanmean(outer, axis=1)  # (R,)
        std = float(means.std(ddof=1)) if len(means) > 1 else math.nan
        folds = tuple(map(tuple, outer.tolist()))
        return cls(float(means.mean()), std, float(np.nanstd(outer, ddof=1)), folds, scoring)

    @property
    def in_table(self) -> tuple[float, float, float]:
        """Mean and deviations, in per cent where that is usual."""
        factor = 100 if SCORINGS[self.scoring].percent else 1
        return factor * self.mean, factor * self.std, factor * self.std_folds

    @property
    def shown(self) -> tuple[str, str, str]:
        """The same as texts; a deviation that does not exist is empty."""
        form = "{:.1f} %" if SCORINGS[self.scoring].percent else "{:.3f}"
        mean, std, folds = ("" if math.isnan(value) else form.format(value) for value in self.in_table)
        return mean, std, folds

    def _repr_html_(self) -> str:
        head = (self.scoring, "± over repeats", "± over folds")
        return as_html("", tables=[(head, [self.shown])])

    def __str__(self) -> str:
        mean, std, std_folds = self.in_table
        unit, digits = (" %", 1) if SCORINGS[self.scoring].percent else ("", 3)
        repeats, folds = len(self.fold_scores), f"folds ± {std_folds:.{digits}f}"
        kind = "" if self.scoring == "accuracy" else f"{self.scoring} "
        if repeats == 1:
            return f"{kind}{mean:.{digits}f}{unit} (1 repeat; {folds})"
        return f"{kind}{mean:.{digits}f}{unit} ± {std:.{digits}f} (over {repeats} repeats; {folds})"


@dataclass(frozen=True)
class Row:
    """One line of a table of scores, per cent for accuracies; NaN for a deviation that does not exist."""

    method: str
    mean: float
    std: float = math.nan
    std_folds: float = math.nan
    note: str = ""

    @classmethod
    def of(cls, method: str, score: Score, note: str = "") -> Row:
        return cls(method, *score.in_table, note)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; null for a deviation that does not exist."""
        return {key: None if value != value else value for key, value in vars(self).items()}


def merge(evaluations: Iterable[Evaluation]) -> Evaluation:
    """One evaluation from many of the same graphs and folds: other repeats, other settings, or both.

    Together they must form a full grid: every setting and classifier in every repeat, once. Repeats are in
    the order of their seeds, candidates as they first appear, as one call to `cross_validate` would have
    them. Of several settings or classifiers all need inner scores, by which one is chosen.
    """
    parts = list(evaluations)
    if not parts:
        raise InvalidParameter("merge got no evaluations; pass at least one")
    seeds = tuple(sorted({seed for part in parts for seed in part.seeds}))
    found: dict[str, list[tuple[int, int, Candidate]]] = {}  # -> (seed, which repeat it is, its candidate)
    for part in parts:
        check_same_plan(parts[0], part)
        for candidate in part.candidates:
            found.setdefault(str(candidate), []).extend((s, r, candidate) for r, s in enumerate(part.seeds))
    joined = []
    for name, repeats in found.items():
        repeats.sort(key=lambda each: each[0])
        if tuple(seed for seed, _, _ in repeats) != seeds:
            raise InvalidParameter(f"{name} needs one repeat with each of the seeds {seeds}")
        if len({(each.grid, each.scale, each.max_iter) for _, _, each in repeats}) > 1:
            raise InvalidParameter(f"{name} has not the same grid, scale and max_iter in all repeats")
        arrays: Any = {what: np.stack([getattr(each, what)[r] for _, r, each in repeats]) for what in SCORES}
        joined.append(replace(repeats[0][2], **arrays))
    for each in joined if len(joined) > 1 else ():
        if not each.has_inner:
            raise InvalidParameter(
                f"{each} has no inner scores to choose by, having been evaluated alone: "
                f"evaluate all settings and classifiers in one call of cross_validate"
            )
    return Evaluation(parts[0].plan, seeds, tuple(joined))


def check_same_plan(a: Evaluation, b: Evaluation) -> None:
    """Refuse two evaluations that were not of the same graphs and folds, or measured something else."""
    for name, mine in vars(a.plan).items():
        if getattr(b.plan, name) != mine:
            raise InvalidParameter(
                f"the evaluations differ in {name}; evaluate both with the same folds and graphs"
            )
    if a.scoring != b.scoring:
        raise InvalidParameter(f"one evaluation has the {a.scoring}, the other the {b.scoring}")


@dataclass(frozen=True)
class PairedTest:
    """The outcome of a paired test; positive differences speak for the first evaluation.

    Attributes:
        difference: mean score of the first minus that of the second; the other way round for errors.
        interval: confidence interval of the difference.
        p_value: two-sided.
        statistic: Student's t; infinite if all differences are equal and not zero.
        degrees: its degrees of freedom, repeats x folds - 1; folds that could not be scored do not count.
        level: confidence of the interval.
    """

    difference: float
    interval: tuple[float, float]
    p_value: float
    statistic: float
    degrees: int
    level: float
    scoring: str = "accuracy"

    def __str__(self) -> str:
        factor, digits, unit = (100, 1, " points") if SCORINGS[self.scoring].percent else (1, 3, "")
        low, high = (f"{factor * end:+.{digits}f}" for end in self.interval)
        return (
            f"{factor * self.difference:+.{digits}f}{unit} "
            f"({100 * self.level:g} % interval {low} to {high}, p = {self.p_value:.2g})"
        )

    def _repr_html_(self) -> str:
        return as_html(f"Difference in {self.scoring}", notes=[str(self)])


def paired_test(
    a: Evaluation, b: Evaluation, *, protocol: str = "leak-free", level: float = 0.95
) -> PairedTest:
    """Corrected resampled t-test of Nadeau and Bengio (2003) on the fold-wise differences a - b.

    With n differences d of variance s^2, t = mean(d) / sqrt((1/n + test/train) s^2) with n - 1 degrees of
    freedom. The second term stands for the overlap of training folds, without which repeated folds look
    far too certain; for F folds it is 1 / (F - 1).

    Args:
        a: first evaluation.
        b: second evaluation, of the same graphs, folds and seeds.
        protocol: "leak-free" or "paper"; the latter compares figures that were chosen on the test folds.
        level: confidence of the interval.
    """
    if protocol not in ("leak-free", "paper"):
        raise InvalidParameter(f'protocol must be "leak-free" or "paper"; {protocol!r} came')
    if not 0 < level < 1:
        raise InvalidParameter(f"level must lie between 0 and 1; {level} came")
    check_same_plan(a, b)
    if a.seeds != b.seeds:
        raise InvalidParameter(
            f"the repeats have seeds {a.seeds} and {b.seeds}; a paired test needs the same folds"
        )
    scores = [each.leak_free() if protocol == "leak-free" else each.paper() for each in (a, b)]
    d = np.subtract(scores[0].fold_scores, scores[1].fold_scores).ravel()  # (R * F,)
    scored = ~np.isnan(d)  # a fold of one class has no ranks
    d = d[scored] if scored.sum() > 1 else d
    d = -d if SCORINGS[a.scoring].lower else d
    n, mean = len(d), float(d.mean())
    error = float(np.sqrt((1 / n + 1 / (a.plan.folds - 1)) * d.var(ddof=1)))
    if error < 1e-12:  # equal in every fold up to rounding: no t exists, and none is needed
        mean = 0.0 if abs(mean) < 1e-12 else mean
        statistic, p_value = (math.copysign(math.inf, mean), 0.0) if mean else (0.0, 1.0)
    else:
        statistic = mean / error
        p_value = float(2 * stats.t.sf(abs(statistic), n - 1))
    reach = float(stats.t.ppf((1 + level) / 2, n - 1)) * error
    return PairedTest(mean, (mean - reach, mean + reach), p_value, statistic, n - 1, level, a.scoring)
