"""Pi-model (Laine and Aila 2017; Sajjadi et al. 2016): predictions agree under two draws of noise."""

from __future__ import annotations

from infograph.methods.consistency import RampUp, perturbed
from infograph.methods.objective import MakePredictor, Objective, Step
from infograph.methods.tasks import Task
from infograph.methods.terms import LossTerms


class PiModel(Objective):
    """`supervised + weight * distance(f(G + noise), f(G + other noise))`, the gradient reaching both.

    Args:
        make_predictor, task: see `Objective`.
        consistency: the weight of the distance.
        noise: deviation of the noise on the inputs of nodes, which makes the two passes differ.
    """

    def __init__(
        self,
        make_predictor: MakePredictor,
        task: Task,
        consistency: RampUp = RampUp(),  # noqa: B008 - frozen
        noise: float = 0.1,
    ) -> None:
        super().__init__(make_predictor, task)
        self.consistency, self.noise = consistency, noise

    def forward(self, step: Step) -> LossTerms:
        """One pass over the labelled graphs, two over the unlabelled.

        Both of these see the same batch, so that nothing but noise makes a distance, BatchNorm neither.
        """
        supervised = self.task.loss(self.predictor(perturbed(step.labelled, self.noise)), step.targets)
        once, again = (self.predictor(perturbed(step.unlabelled, self.noise)) for _ in range(2))
        distance = self.task.distance(once, again)
        total = supervised + self.consistency.at(int(self.updates)) * distance
        return LossTerms(total, {"supervised": supervised.detach(), "consistency": distance.detach()})
