"""Entropy minimisation (Grandvalet and Bengio 2005): predictions for unlabelled graphs become decided."""

from __future__ import annotations

from torch.nn.functional import log_softmax

from infograph.methods.consistency import RampUp
from infograph.methods.objective import MakePredictor, Objective, Step
from infograph.methods.tasks import Task
from infograph.methods.terms import LossTerms


class EntropyMinimisation(Objective):
    """`supervised + weight * mean entropy of the predicted classes of unlabelled graphs`.

    Args:
        make_predictor, task: see `Objective`; classes only.
        consistency: the weight of the entropy.
    """

    def __init__(
        self,
        make_predictor: MakePredictor,
        task: Task,
        consistency: RampUp = RampUp(),  # noqa: B008 - frozen
    ) -> None:
        super().__init__(make_predictor, task)
        self.consistency = consistency

    def forward(self, step: Step) -> LossTerms:
        """One pass over all graphs."""
        outputs = self.predictor(step.both)
        supervised = self.task.loss(outputs[: step.n_labelled], step.targets)
        logs = log_softmax(outputs[step.n_labelled :], 1)
        entropy = -(logs.exp() * logs).sum(1).mean()
        total = supervised + self.consistency.at(int(self.updates)) * entropy
        return LossTerms(total, {"supervised": supervised.detach(), "entropy": entropy.detach()})
