"""A simple model of vectors that were made without labels: seconds where networks take minutes.

Every head (`objectives.heads`) predicts numbers, classes as -1 and 1 each against the rest, and says while it
is fitted what it would have said of graphs that it did not see. That chooses among them, calibrates
probabilities, and is what error bars are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions
from torch import nn

from infograph.objectives.heads import FITS, MOST, Fit, Floats, Mean, completed, linear, missed
from infograph.objectives.objective import Classification, Objective, Task, Tasks

Kind = Literal["ridge", "gp", "svm", "forest", "mean"]
KINDS: tuple[Kind, ...] = ("ridge", "gp", "svm", "forest")
PARTS = ("vectors", "fingerprints", "descriptors")  # in the order in which heads see them
EVERY = "+".join(PARTS)  # what the mean of two heads sees
INPUTS: dict[str, tuple[Kind, ...]] = {  # and the heads that are tried on them without being asked for
    "vectors": KINDS,
    "vectors+descriptors": ("ridge", "gp", "svm"),
    "fingerprints+descriptors": ("forest",),
}
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
            same kernel), "forest", "mean" (of the best forest and the best other), or "auto" for one.

    What is chosen has the least error on graphs that it did not see; so have penalties and widths.
    """

    inputs: str = "auto"
    head: Kind | Literal["auto"] = "auto"
    needs_unlabelled: ClassVar[bool] = False
    title: ClassVar[str] = "vectors"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "inputs": [StrOptions({"auto", EVERY, *INPUTS})],
        "head": [StrOptions({"auto", "mean", *KINDS})],
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
        errors: dict[str, float] = {}
        best: dict[bool, Choice] = {}  # whether it is a forest -> the best one
        choices = self._choices(parts, wanted.size)
        for number, (inputs, kind) in enumerate(choices, start=1):
            rows = np.hstack([parts[part] for part in inputs.split("+")])
            fit = FITS[kind](rows.astype(np.float64), wanted, seed)
            choice = Choice(missed(fit.unseen, wanted), inputs, kind, fit)
            errors[f"{kind} on {inputs}"] = choice.error
            tell(number, len(choices))
            known = best.get(kind == "forest")
            if known is None or choice.error < known.error:
                best[kind == "forest"] = choice
        chosen = min(best.values(), key=lambda choice: choice.error)
        if self.head in ("auto", "mean") and len(best) == 2:
            both = _mean(list(best.values()), parts, wanted)
            names = [f"{each.kind} on {each.inputs}" for each in best.values()]
            errors[f"mean of {' and '.join(names)}"] = both.error
            chosen = both if both.error < chosen.error or self.head == "mean" else chosen
        inputs, kind, (made, unseen) = chosen[1:]
        if isinstance(task, Classification):
            made, unseen = _calibrated(made, unseen, values, task)
        elif isinstance(task, Tasks):
            made, unseen = _calibrated_each(made, unseen, values, task)
        return Solved(inputs, kind, nn.Sequential(*made), unseen, errors)

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


class Choice(NamedTuple):
    """A head that was fitted, and the share of the variance that it missed of graphs left out."""

    error: float
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


def _mean(choices: list[Choice], parts: Mapping[str, Floats], wanted: Floats) -> Choice:
    """The mean of heads, whose inputs are all that there are."""
    parts = {part: parts[part] for part in PARTS if part in parts}
    sees = [each.inputs.split("+") for each in choices]
    spans = [np.hstack([np.full(rows.shape[1], part in own) for part, rows in parts.items()]) for own in sees]
    unseen = np.mean([each.fit.unseen for each in choices], axis=0)
    head = Mean([nn.Sequential(*each.fit.parts) for each in choices], np.stack(spans))
    return Choice(missed(unseen, wanted), "+".join(parts), "mean", Fit([head], unseen))


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
