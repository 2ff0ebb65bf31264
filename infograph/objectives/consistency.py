"""What InfoGraph* is compared with (Appendix B): objectives with a second term of their own predictions."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import torch
from sklearn.utils._param_validation import Interval
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, log_softmax, normalize, softmax

from infograph.nn.norm import norms_with_momentum
from infograph.objectives.objective import LossTerms, MakePredictor, Objective, Step, Task

TRIAL = 1e-3  # length of the change from which the direction that hurts most is found


@dataclass
class WithSecondTerm(Objective):
    """Base: `supervised + weight * second term`.

    Args:
        weight: of the second term; 1 in the InfoGraph paper's code.
        ramp_up: updates T in which it rises, as `exp(-5 (1 - t/T)^2)` (Laine and Aila 2017); 0 for at once.
    """

    weight: float = 1.0
    ramp_up: int = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "weight": [Interval(Real, 0, None, closed="left")],
        "ramp_up": [Interval(Integral, 0, None, closed="left")],
        "noise": [Interval(Real, 0, None, closed="left")],
        "decay": [Interval(Real, 0, 1, closed="both")],
        "radius": [Interval(Real, 0, None, closed="neither")],
        "threshold": [Interval(Real, 0, 1, closed="both")],
    }

    def weight_at(self, number: int) -> float:
        """The weight at an update, counted from 0."""
        if number >= self.ramp_up:
            return self.weight
        return self.weight * math.exp(-5 * (1 - number / self.ramp_up) ** 2)

    def _terms(self, step: Step, supervised: Tensor, name: str, second: Tensor, **more: Tensor) -> LossTerms:
        total = supervised + self.weight_at(step.number) * second
        return LossTerms(total, {"supervised": supervised, name: second, **more})


def noisy(batch: Any, noise: float) -> Any:
    """The batch with Gaussian noise of that deviation on the inputs of nodes, shared by equal ones."""
    return batch if not noise else replace(batch, x=batch.x + noise * torch.randn_like(batch.x))


@dataclass
class MeanTeacher(WithSecondTerm):
    """Mean Teacher (Tarvainen and Valpola 2017): predictions agree with those of the averaged network.

    After update t (from 0) every weight of the teacher becomes `a * teacher + (1 - a) * student` with
    `a = min(1 - 1/(t+1), decay)`: a plain mean of all students so far, then an exponential one. The teacher
    predicts once training is over.

    Args:
        decay: the largest a; 0.999 in both papers.
        noise: deviation of noise on the inputs of both; none in the InfoGraph paper's code.

    Differs from the InfoGraph paper's code: the teacher starts as a copy of the student, not as another one.
    """

    decay: float = 0.999
    noise: float = 0.0
    predicts: ClassVar[str] = "teacher"
    title: ClassVar[str] = "Mean Teacher"

    def build(self, make_predictor: MakePredictor, task: Task) -> nn.ModuleDict:
        student = make_predictor()
        return nn.ModuleDict({"predictor": student, "teacher": copy.deepcopy(student).requires_grad_(False)})

    def loss(self, net: Any, step: Step, task: Task) -> LossTerms:
        # student and teacher see the same batch, so that BatchNorm alone makes no distance between them
        supervised = task.loss(net.predictor(noisy(step.labelled, self.noise)), step.targets)
        outputs = net.predictor(noisy(step.unlabelled, self.noise))
        with torch.no_grad():
            wanted = net.teacher(noisy(step.unlabelled, self.noise))
        return self._terms(step, supervised, "consistency", task.distance(outputs, wanted))

    def after_update(self, net: Any, number: int) -> None:
        follow(net.teacher, net.predictor, number, self.decay)


@torch.no_grad()
def follow(average: nn.Module, network: nn.Module, number: int, decay: float, *, norms: bool = False) -> None:
    """Move averaged weights towards those after an update: the mean of all so far, then an exponential one.

    With `norms` their statistics are averaged as well, for a network that computes none of its own.
    """
    move = 1 - min(1 - 1 / (number + 1), decay)
    pairs: list[tuple[Tensor, Tensor]] = [*zip(average.parameters(), network.parameters(), strict=True)]
    pairs += zip(average.buffers(), network.buffers(), strict=True) if norms else ()
    for own, other in pairs:
        if own.is_floating_point():
            own.lerp_(other, move)


@dataclass
class PiModel(WithSecondTerm):
    """Pi-model (Laine and Aila 2017): predictions agree under two draws of noise, the gradient reaching both.

    Args:
        noise: deviation of the noise on the inputs of nodes, which makes the two passes differ.
    """

    noise: float = 0.1
    title: ClassVar[str] = "Pi-model"

    def loss(self, net: Any, step: Step, task: Task) -> LossTerms:
        supervised = task.loss(net.predictor(noisy(step.labelled, self.noise)), step.targets)
        once, again = (net.predictor(noisy(step.unlabelled, self.noise)) for _ in range(2))
        return self._terms(step, supervised, "consistency", task.distance(once, again))


@dataclass
class VirtualAdversarial(WithSecondTerm):
    """Virtual adversarial training (Miyato et al. 2018): `divergence(f(G + r), f(G))`, r what hurts most.

    The direction of r, a change of node inputs, is found by one backward pass from a random one, as its
    authors do it.

    Args:
        radius: length of the change of every node's inputs.

    Differs from Miyato et al.: the change is bounded per node and not per example, since graphs differ in
    size; nodes that the batch computes once share theirs. As there, BatchNorm's running statistics are those
    of unchanged graphs.
    """

    radius: float = 0.5
    title: ClassVar[str] = "VAT"

    def loss(self, net: Any, step: Step, task: Task) -> LossTerms:
        supervised = task.loss(net.predictor(step.labelled), step.targets)
        batch = step.unlabelled
        with torch.no_grad():  # the same batch as below: without a change there is no divergence
            wanted = net.predictor(batch)

        def divergence(change: Tensor) -> Tensor:
            with norms_with_momentum(net.predictor, 0.0):  # no trace in the running statistics
                return task.divergence(net.predictor(replace(batch, x=batch.x + change)), wanted)

        trial = (TRIAL * normalize(torch.randn_like(batch.x), dim=1)).requires_grad_()
        (slope,) = torch.autograd.grad(divergence(trial), trial)
        adversarial = divergence(self.radius * normalize(slope, dim=1))
        return self._terms(step, supervised, "adversarial", adversarial)


@dataclass
class PseudoLabel(WithSecondTerm):
    """Pseudo-labels (Lee 2013): cross-entropy with the predicted class, where that is confident.

    The second term is a mean over all unlabelled graphs, so that few confident ones weigh little.

    Args:
        threshold: the least probability; 0.95 as in Oliver et al. 2018.
    """

    threshold: float = 0.95
    for_classes: ClassVar[bool] = True
    title: ClassVar[str] = "pseudo-labels"

    def loss(self, net: Any, step: Step, task: Task) -> LossTerms:
        outputs = net.predictor(step.both)
        supervised, free = task.loss(outputs[: step.n_labelled], step.targets), outputs[step.n_labelled :]
        probability, label = softmax(free.detach(), 1).max(1)
        confident = (probability > self.threshold).to(free.dtype)
        pseudo = torch.dot(cross_entropy(free, label, reduction="none"), confident) / len(confident)
        return self._terms(step, supervised, "pseudo", pseudo, confident=confident.mean())


@dataclass
class Entropy(WithSecondTerm):
    """Entropy minimisation (Grandvalet and Bengio 2005): predictions for unlabelled graphs become decided."""

    for_classes: ClassVar[bool] = True
    title: ClassVar[str] = "entropy"

    def loss(self, net: Any, step: Step, task: Task) -> LossTerms:
        outputs = net.predictor(step.both)
        supervised = task.loss(outputs[: step.n_labelled], step.targets)
        logs = log_softmax(outputs[step.n_labelled :], 1)
        entropy = -(logs.exp() * logs).sum(1).mean()
        return self._terms(step, supervised, "entropy", entropy)
