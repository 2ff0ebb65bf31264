"""A simple model of vectors that were made without labels: seconds where networks take minutes.

Every head (`objectives.heads`) predicts numbers, classes as -1 and 1 each against the rest, and says while it
is fitted what it would have said of graphs that it did not see. That chooses among them, calibrates
probabilities, and is what error bars are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions
from torch import nn

from infograph.objectives.heads import FITS, MOST, Fit, Floats, Mixed, completed, linear, missed
from infograph.objectives.objective import Classification, Objective, Regression, Task, Tasks

Kind = Literal["ridge", "gp", "svm", "forest", "mean", "each"]
IntArray = NDArray[np.int64]
KINDS: tuple[Kind, ...] = ("ridge", "gp", "svm", "forest")
PARTS = ("vectors", "fingerprints", "descriptors")  # in the order in which heads see them
EVERY = "+".join(PARTS)  # what the mean of two heads sees
INPUTS: dict[str, tuple[Kind, ...]] = {  # and the heads that are tried on them without being asked for
    "vectors": KINDS,
    "vectors+descriptors": ("ridge", "gp", "svm"),
    "fingerprints+descriptors": ("forest",),
}
CLEARLY = 0.95  # of the error of one head, at most, where numbers are the mean of two
NEVER = -5.0  # the logit of a class that was never seen, beside 0


@dataclass
class Vectors(Objective):
    """The encoder stays as it is, and a simple model of its vectors learns the labels.

    The encoder is that of `init_from`; without one it is the pre-trained one for molecules, and otherwise an
    InfoGraph that is fitted to all graphs, labelled or not.

    Args:
        inputs: what the head sees: the encoder's "vectors"; of molecules "vectors+descriptors", with RDKit's
            beside them, or "fingerprints+descriptors", Morgan counts and no encoder; "auto" for one of these.
        head: "ridge" (linear), "gp" (a Gaussian process with an RBF kernel), "svm" (support vectors with the
            same kernel), "forest", "mean" (of the best forest and the best other), "each" (one of these for
            each column of numbers, one for all columns of classes), or "auto", which is "each".

    What is chosen has the least error on graphs that it did not see; so have penalties and widths.
    """

    inputs: str = "auto"
    head: Kind | Literal["auto"] = "auto"
    needs_unlabelled: ClassVar[bool] = False
    title: ClassVar[str] = "vectors"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "inputs": [StrOptions({"auto", EVERY, *INPUTS})],
        "head": [StrOptions({"auto", "mean", "each", *KINDS})],
    }

    def needs(self, molecules: bool) -> list[str]:
        """The parts of all inputs that may be chosen, by whether graphs are molecules with SMILES."""
        asked = [self.inputs] if self.inputs != "auto" else [*INPUTS] if molecules else ["vectors"]
        return [part for part in PARTS if any(part in each.split("+") for each in asked)]

    def solve(
        self,
        parts: Mapping[str, Floats],
        values: NDArray[Any],
        task: Task,
        seed: int,
        tell: Callable[[int, int], object] = lambda done, of: None,
    ) -> Solved:
        """The head for inputs (G, D) by part and numbers (G, T) with gaps, or classes (G,).

        `tell` is called with how many heads of how many are fitted.
        """
        wanted = np.array(values, np.float64)
        if isinstance(task, Tasks):
            wanted = 2 * wanted - 1
        elif isinstance(task, Classification):
            wanted = np.where(wanted[:, None] == np.arange(task.n_outputs), 1.0, -1.0)
        wanted = completed(wanted)
        choices, tried = self._choices(parts, wanted.size), []
        for number, (inputs, kind) in enumerate(choices, start=1):
            rows = np.hstack([parts[part] for part in inputs.split("+")])
            tried.append(Head(inputs, kind, FITS[kind](rows.astype(np.float64), wanted, seed)))
            tell(number, len(choices))
        names = [f"{kind} on {inputs}" for inputs, kind in choices]
        errors = {name: missed(each.fit.unseen, wanted) for name, each in zip(names, tried, strict=True)}
        apart = self.head in ("auto", "each") and isinstance(task, Regression)  # for classes that is noise
        shares = np.zeros((len(tried), wanted.shape[1]))
        for columns in _groups(wanted) if apart else [np.arange(wanted.shape[1])]:
            best = self._best(tried, wanted, columns, CLEARLY if isinstance(task, Regression) else 1.0)
            shares[np.array(best)[:, None], columns] = 1.0
        inputs, kind, (made, unseen) = _mixed(tried, shares / shares.sum(axis=0), parts)
        if kind in ("mean", "each"):
            used = " and ".join(compress(names, shares.sum(axis=1)))
            name = f"mean of {used}" if kind == "mean" else "the best for each target"
            errors[name] = missed(unseen, wanted)
        if isinstance(task, Classification):
            made, unseen = _calibrated(made, unseen, values, task)
        elif isinstance(task, Tasks):
            made, unseen = _calibrated_each(made, unseen, values, task)
        return Solved(inputs, kind, nn.Sequential(*made), unseen, errors)

    def _best(self, tried: list[Head], wanted: Floats, columns: IntArray, clearly: float) -> list[int]:
        """The head that misses least of some columns; or two, where the mean of a forest and another does.

        A mean that is not `clearly` better is left: forests look better on graphs left out than on new kinds.
        """

        def error(places: Sequence[int]) -> float:
            said = np.mean([tried[place].fit.unseen[:, columns] for place in places], axis=0)
            return missed(said, wanted[:, columns])

        others = [(n,) for n, each in enumerate(tried) if each.kind != "forest"]
        forests = [(n,) for n, each in enumerate(tried) if each.kind == "forest"]
        single = [min(places, key=error) for places in (others, forests) if places]
        best: Sequence[int] = min(single, key=error)
        if len(single) < 2 or self.head in KINDS:
            return [*best]
        both = single[0] + single[1]
        return [*both] if self.head == "mean" or error(both) < clearly * error(best) else [*best]

    def _choices(self, parts: Collection[str], n_values: int) -> list[tuple[str, Kind]]:
        """The inputs and kinds of heads that are tried, by the parts that there are."""
        slow = n_values > MOST and self.head != "svm"  # support vectors of many graphs or columns
        found: list[tuple[str, Kind]] = []
        for inputs, usual in INPUTS.items():
            if self.inputs in ("auto", EVERY, inputs) and all(part in parts for part in inputs.split("+")):
                kinds = KINDS if self.inputs == inputs else usual
                kinds = (self.head,) if self.head in KINDS else kinds
                found += [(inputs, kind) for kind in kinds if kind != "svm" or not slow]
        return found


class Head(NamedTuple):
    """A head that was fitted, and what it sees."""

    inputs: str
    kind: Kind
    fit: Fit


class Solved(NamedTuple):
    """A head, what it would have said of each graph without having seen it, and the errors that chose it."""

    inputs: str
    kind: Kind
    head: nn.Sequential
    unseen: Floats  # (G, T), or the scores of classes (G, C)
    errors: dict[str, float]  # share of the variance that is missed


def _groups(wanted: Floats) -> list[IntArray]:
    """Columns that choose by themselves; those of a single value go with the first."""
    varies = np.nanstd(wanted, axis=0) > 0
    groups = [np.array([column]) for column in np.flatnonzero(varies)] or [np.zeros(0, np.int64)]
    return [np.concatenate([groups[0], np.flatnonzero(~varies)]), *groups[1:]]


def _mixed(tried: list[Head], shares: Floats, parts: Mapping[str, Floats]) -> Head:
    """One head of those with a share (heads, K) in some column; several see all inputs that there are."""
    used: list[int] = np.flatnonzero(shares.any(axis=1)).tolist()
    if len(used) == 1:
        return tried[used[0]]
    heads, shares = [tried[place] for place in used], shares[used]
    parts = {part: parts[part] for part in PARTS if part in parts}
    sees = [each.inputs.split("+") for each in heads]
    spans = [np.hstack([np.full(rows.shape[1], part in own) for part, rows in parts.items()]) for own in sees]
    unseen = sum(share * each.fit.unseen for share, each in zip(shares, heads, strict=True))
    kind: Kind = "mean" if (shares == 0.5).all() else "each"
    made = Mixed([nn.Sequential(*each.fit.parts) for each in heads], np.stack(spans), shares)
    return Head("+".join(parts), kind, Fit([made], np.asarray(unseen)))


def _calibrated(parts: list[nn.Module], unseen: Floats, classes: NDArray[Any], task: Classification) -> Fit:
    """A head whose scores of classes are logits, by logistic regression on what it said of unseen graphs.

    Classes that no graph has are improbable. Weights of classes, as they would have in the likelihood, move
    logits by their logarithms.
    """
    from sklearn.linear_model import LogisticRegression

    there, n_classes = np.unique(classes), task.n_outputs
    weights, bias = np.zeros((n_classes, n_classes)), np.full(n_classes, NEVER)
    if len(there) > 1:
        fit = LogisticRegression(C=100.0, max_iter=1000).fit(unseen, classes)
        two = len(there) == 2  # of two classes the first scores 0
        weights[there[-1:] if two else there], bias[there[:1]] = fit.coef_, 0.0
        bias[there[-1:] if two else there] = fit.intercept_
    else:
        bias[there] = 0.0
    bias = bias + np.log(task.weights or 1.0)
    return Fit([*parts, linear(weights.T, bias)], unseen @ weights.T + bias)


def _calibrated_each(parts: list[nn.Module], unseen: Floats, values: Floats, task: Tasks) -> Fit:
    """The same for columns of two classes, each by itself; without any label both are as probable."""
    from sklearn.linear_model import LogisticRegression

    weights, bias = np.zeros((unseen.shape[1], unseen.shape[1])), np.zeros(unseen.shape[1])
    for column, (scores, given) in enumerate(zip(unseen.T, values.T, strict=True)):
        known = ~np.isnan(given)
        if len(np.unique(given[known])) == 2:
            fit = LogisticRegression(C=100.0).fit(scores[known, None], given[known].astype(np.int64))
            weights[column, column], bias[column] = fit.coef_[0, 0], fit.intercept_[0]
        elif known.any():
            bias[column] = -NEVER if given[known][0] else NEVER
    bias = bias + np.log(task.weights or 1.0)
    return Fit([*parts, linear(weights, bias)], unseen @ weights + bias)
