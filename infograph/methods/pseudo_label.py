"""Pseudo-labelling (Lee 2013): confident predictions for unlabelled graphs become their labels."""

from __future__ import annotations

import torch
from torch.nn.functional import cross_entropy, softmax

from infograph.methods.consistency import RampUp
from infograph.methods.objective import MakePredictor, Objective, Step
from infograph.methods.tasks import Task
from infograph.methods.terms import LossTerms


class PseudoLabel(Objective):
    """`supervised + weight * cross-entropy with the predicted class`, where that is confident.

    The second term is a mean over all unlabelled graphs, so that few confident ones weigh little.

    Args:
        make_predictor, task: see `Objective`; classes only.
        consistency: the weight of the second term.
        threshold: the least probability; 0.95 as in Oliver et al. 2018.
    """

    def __init__(
        self,
        make_predictor: MakePredictor,
        task: Task,
        consistency: RampUp = RampUp(),  # noqa: B008 - frozen
        threshold: float = 0.95,
    ) -> None:
        super().__init__(make_predictor, task)
        self.consistency, self.threshold = consistency, threshold

    def forward(self, step: Step) -> LossTerms:
        """One pass over all graphs."""
        outputs = self.predictor(step.both)
        supervised = self.task.loss(outputs[: step.n_labelled], step.targets)
        unlabelled = outputs[step.n_labelled :]
        probability, label = softmax(unlabelled.detach(), 1).max(1)
        confident = (probability > self.threshold).to(unlabelled.dtype)
        pseudo = torch.dot(cross_entropy(unlabelled, label, reduction="none"), confident) / len(confident)
        total = supervised + self.consistency.at(int(self.updates)) * pseudo
        shown = {"supervised": supervised.detach(), "pseudo": pseudo.detach(), "confident": confident.mean()}
        return LossTerms(total, shown)
