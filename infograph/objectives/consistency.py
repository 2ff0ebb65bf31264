"""Objectives that compare predictions for the same graphs, or make them surer."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, log_softmax, normalize, softmax

from infograph.nn.batch import Batch
from infograph.nn.norm import norms_with_momentum
from infograph.objectives.objective import LossTerms, MakePredictor, Objective, Predictor, Step, Task

AnyBatch = TypeVar("AnyBatch", bound=Batch)
TRIAL = 1e-3  # length of the first, random change per node; its effect must exceed rounding


@dataclass(frozen=True)
class RampUp:
    """A weight that rises from almost 0 to its full value as `exp(-5 (1 - t/T)^2)` (Laine and Aila 2017).

    Attributes:
        weight: the full value.
        updates: T, the update at which it is reached; 0 for the full value from the start.
    """

    weight: float = 1.0
    updates: int = 0

    def at(self, update: int) -> float:
        """The weight at an update, counted from 0."""
        if update >= self.updates:
            return self.weight
        return self.weight * math.exp(-5 * (1 - update / self.updates) ** 2)


def perturbed(batch: AnyBatch, noise: float) -> AnyBatch:
    """The batch with Gaussian noise of that deviation on the inputs of nodes.

    Nodes that the batch computes only once, because nothing tells them apart, get the same noise.
    """
    return batch if not noise else replace(batch, x=batch.x + noise * torch.randn_like(batch.x))


@contextmanager
def unremembered(network: nn.Module) -> Iterator[None]:
    """What `network` computes inside leaves no trace in the running statistics of its BatchNorms."""
    with norms_with_momentum(network, 0.0):
        yield


class MeanTeacher(Objective):
    """`supervised + weight * distance(student, teacher)`; the teacher is an exponential moving average.

    After update t (from 0) every weight of the teacher becomes `a * teacher + (1 - a) * student` with
    `a = min(1 - 1/(t+1), decay)`: a plain mean of all students so far, then an exponential one. The teacher
    predicts once training is over.

    Args:
        make_predictor, task: see `Objective`.
        consistency: the weight of the distance; 1 without ramp-up in the InfoGraph paper's code.
        decay: the largest a; 0.999 in both papers.
        noise: deviation of the noise on the student's and the teacher's inputs; none in the InfoGraph paper's
            code.

    Differs from the InfoGraph paper's code: the teacher starts as a copy of the student, not as another one.
    """

    teacher: Predictor

    def __init__(
        self,
        make_predictor: MakePredictor,
        task: Task,
        consistency: RampUp = RampUp(),  # noqa: B008 - frozen
        decay: float = 0.999,
        noise: float = 0.0,
    ) -> None:
        super().__init__(make_predictor, task)
        self.consistency, self.decay, self.noise = consistency, decay, noise
        self.teacher = copy.deepcopy(self.predictor).requires_grad_(False)

    @property
    def result(self) -> Predictor:
        """The teacher."""
        return self.teacher

    def forward(self, step: Step) -> LossTerms:
        """The student passes over the labelled and the unlabelled graphs, the teacher over the unlabelled.

        Student and teacher see the same batch, so that BatchNorm alone makes no distance between them.
        """
        supervised = self.task.loss(self.predictor(perturbed(step.labelled, self.noise)), step.targets)
        outputs = self.predictor(perturbed(step.unlabelled, self.noise))
        with torch.no_grad():
            wanted = self.teacher(perturbed(step.unlabelled, self.noise))
        distance = self.task.distance(outputs, wanted)
        total = supervised + self.consistency.at(int(self.updates)) * distance
        return LossTerms(total, {"supervised": supervised.detach(), "consistency": distance.detach()})

    @torch.no_grad()
    def after_update(self) -> None:
        """Move the teacher towards the student."""
        keep = min(1 - 1 / (int(self.updates) + 1), self.decay)
        for own, student in zip(self.teacher.parameters(), self.predictor.parameters(), strict=True):
            own.lerp_(student, 1 - keep)
        super().after_update()


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
