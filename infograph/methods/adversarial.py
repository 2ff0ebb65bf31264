"""Virtual adversarial training (Miyato et al. 2018): predictions hold against the worst small change."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.functional import normalize

from infograph.methods.consistency import RampUp, unremembered
from infograph.methods.objective import MakePredictor, Objective, Step
from infograph.methods.tasks import Task
from infograph.methods.terms import LossTerms
from infograph.nn.batch import Batch

TRIAL = 1e-3  # length of the first, random change per node; its effect must exceed rounding


class VirtualAdversarial(Objective):
    """`supervised + weight * divergence(f(G + r), f(G))`, r the change of node inputs that hurts most.

    The direction of r is found by one backward pass from a random one, as its authors do it.

    Args:
        make_predictor, task: see `Objective`.
        consistency: the weight of the divergence.
        radius: length of the change of every node's inputs.

    Differs from Miyato et al.: the change is bounded per node and not per example, since graphs differ in
    size; nodes that the batch computes once share theirs. As there, BatchNorm's running statistics are those
    of unchanged graphs.
    """

    def __init__(
        self,
        make_predictor: MakePredictor,
        task: Task,
        consistency: RampUp = RampUp(),  # noqa: B008 - frozen
        radius: float = 0.5,
    ) -> None:
        super().__init__(make_predictor, task)
        self.consistency, self.radius = consistency, radius

    def forward(self, step: Step) -> LossTerms:
        """One pass over the labelled graphs, one over the unlabelled, and two over these with a change."""
        supervised = self.task.loss(self.predictor(step.labelled), step.targets)
        with torch.no_grad():  # the same batch as below: without a change there is no divergence
            wanted = self.predictor(step.unlabelled)
        changed = self._against(step.unlabelled, self.radius * self._direction(step.unlabelled, wanted))
        divergence = self.task.divergence(changed, wanted)
        total = supervised + self.consistency.at(int(self.updates)) * divergence
        return LossTerms(total, {"supervised": supervised.detach(), "adversarial": divergence.detach()})

    def _direction(self, batch: Batch, wanted: Tensor) -> Tensor:
        """Unit vectors, one per row of the inputs."""
        trial = (TRIAL * normalize(torch.randn_like(batch.x), dim=1)).requires_grad_()
        divergence = self.task.divergence(self._against(batch, trial), wanted)
        (slope,) = torch.autograd.grad(divergence, trial)
        return normalize(slope, dim=1)

    def _against(self, batch: Batch, change: Tensor) -> Tensor:
        with unremembered(self.predictor):
            outputs: Tensor = self.predictor(replace(batch, x=batch.x + change))
        return outputs
