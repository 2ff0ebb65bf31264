"""Mean Teacher (Tarvainen and Valpola 2017): predictions agree with those of the averaged network."""

from __future__ import annotations

import copy

import torch

from infograph.methods.consistency import RampUp, perturbed
from infograph.methods.objective import MakePredictor, Objective, Step
from infograph.methods.predictor import Predictor
from infograph.methods.tasks import Task
from infograph.methods.terms import LossTerms


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
