"""Everything an evaluation measured, and the two ways to report it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.errors import InvalidParameter
from infograph.evaluate.candidate import Candidate, best, pick
from infograph.evaluate.plan import Plan
from infograph.evaluate.score import Choice, Score

FORMAT = 1


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The result of `cross_validate`: every inner and outer score, labelled.

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
        outer = np.stack([each.chosen_outer for each in self.candidates], axis=-1)  # (R, F, candidates)
        which = best(inner)  # (R, F)
        return Score.of(
            "leak-free", pick(outer, which), self._choices(which), "all chosen on the inner folds"
        )

    def paper(self) -> Score:
        """The setting and classifier with the best outer mean; only C is chosen on the inner folds.

        This is how the paper reports. With more than one candidate the test folds take part in the choice, so
        the figure is optimistic; the note says so. With one candidate it equals `leak_free()`.
        """
        means = np.array([each.chosen_outer.mean() for each in self.candidates])
        first = int(best(means))
        winner = self.candidates[first]
        which = np.full((len(self.seeds), self.plan.folds), first)
        note = "all chosen on the inner folds"
        if len(self.candidates) > 1:
            note = (
                f"{winner.setting} with {winner.classifier} chosen on the outer folds "
                f"among {len(self.candidates)}, which is optimistic"
            )
        return Score.of("paper", winner.chosen_outer, self._choices(which), note)

    def select(
        self, settings: Collection[str] | None = None, classifiers: Collection[str] | None = None
    ) -> Evaluation:
        """The same evaluation with these settings and classifiers only; None keeps all."""
        kept = tuple(
            each
            for each in self.candidates
            if (settings is None or each.setting in settings)
            and (classifiers is None or each.classifier in classifiers)
        )
        if not kept:
            have = ", ".join(f"({each.setting}, {each.classifier})" for each in self.candidates)
            raise InvalidParameter(
                f"no candidate has settings={settings}, classifiers={classifiers}; there are {have}"
            )
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
    def std_folds(self) -> float:
        """Deviation of `leak_free()` over folds."""
        return self.leak_free().std_folds

    @property
    def n_stopped(self) -> int:
        """How many fits reached the iteration bound."""
        return int(sum(each.stopped.sum() for each in self.candidates))

    @property
    def n_fits(self) -> int:
        """How many fits there were."""
        return sum(each.inner.size for each in self.candidates) * (self.plan.inner_folds + 1)

    def __str__(self) -> str:
        early = f"; {self.n_stopped} of {self.n_fits} fits stopped early" if self.n_stopped else ""
        return f"{self.leak_free()}{early}"

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-ready lists and numbers; `from_dict` gives it back exactly."""
        return {
            "format": FORMAT,
            "plan": {**asdict(self.plan), "class_sizes": [list(pair) for pair in self.plan.class_sizes]},
            "seeds": list(self.seeds),
            "candidates": [each.to_dict() for each in self.candidates],
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Evaluation:
        """The evaluation that `to_dict` wrote.

        Raises:
            InvalidParameter: the record is of another format, or something is missing from it.
        """
        if not isinstance(record, Mapping) or record.get("format") != FORMAT:
            raise InvalidParameter(
                f"expected a record of Evaluation.to_dict() in format {FORMAT}; evaluate again"
            )
        try:
            plan = dict(record["plan"])
            plan["class_sizes"] = tuple((str(name), int(size)) for name, size in plan["class_sizes"])
            seeds = tuple(int(seed) for seed in record["seeds"])
            candidates = tuple(Candidate.from_dict(each) for each in record["candidates"])
            found = cls(plan=Plan(**plan), seeds=seeds, candidates=candidates)
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidParameter(f"the stored evaluation is damaged ({error!r}); evaluate again") from error
        for each in candidates:
            shape = (len(seeds), found.plan.folds, len(each.grid))
            if not each.inner.shape == each.outer.shape == each.stopped.shape == shape:
                raise InvalidParameter(
                    f"the stored scores of {each.setting!r} are not of shape {shape}; evaluate again"
                )
        return found

    def _choices(self, which: NDArray[np.intp]) -> tuple[Choice, ...]:
        values = [each.chosen for each in self.candidates]
        return tuple(
            Choice(
                seed=seed,
                fold=f,
                setting=self.candidates[which[r, f]].setting,
                classifier=self.candidates[which[r, f]].classifier,
                value=float(values[which[r, f]][r, f]),
            )
            for r, seed in enumerate(self.seeds)
            for f in range(self.plan.folds)
        )
