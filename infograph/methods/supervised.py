"""The supervised objective: what all semi-supervised ones are compared with."""

from __future__ import annotations

from infograph.methods.objective import Objective, Step
from infograph.methods.terms import LossTerms


class Supervised(Objective):
    """Mean squared error or cross-entropy of the labelled graphs; the first term of Eq. 6 and 7."""

    needs_unlabelled = False

    def forward(self, step: Step) -> LossTerms:
        """One pass over the labelled graphs."""
        loss = self.task.loss(self.predictor(step.labelled), step.targets)
        return LossTerms(loss, {"supervised": loss.detach()})
