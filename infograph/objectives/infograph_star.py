"""InfoGraph* (Eq. 7 and 8): a student with labels learns from a teacher; and Eq. 6."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, cast

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from infograph.nn.batch import Batch
from infograph.nn.encoder import GraphEncoder
from infograph.objectives.contrast import LocalGlobal
from infograph.objectives.discriminator import FeedForward
from infograph.objectives.objective import LossTerms, MakePredictor, Objective, Step, Task

Transfer = Literal["random", "all", "last"]
TransferScale = Literal["graph", "mean"]
MakeLocalGlobal = Callable[[GraphEncoder], LocalGlobal]


class InfoGraphStar(Objective):
    """`supervised(student) + unsupervised(teacher) - lambda * I(H^k student; H^k teacher) / |G|`.

    Student and teacher are two encoders with weights of their own. For graph j the last term is a
    Jensen-Shannon bound with the positive pair (j, j) and the negatives (j, i) averaged over the B - 1 other
    graphs, times 1/|G_j|. Every term is a mean over its own batch.

    Args:
        make_predictor, task: see `Objective`.
        make_local_global: the unsupervised loss for an encoder.
        lam: lambda; the paper searches 1e-3, 1e-4, 1e-5.
        transfer: "random" takes one layer k per update (the paper; it is not multiplied by K), "all" adds up
            all layers (Eq. 8), "last" takes the last one only, as the authors' code does.
        scale: "graph" divides by |G_j| (Eq. 8), "mean" does not, as in the authors' code.
        detach_teacher: whether the term leaves the teacher alone; in the paper its gradients reach both.
    """

    def __init__(
        self,
        make_predictor: MakePredictor,
        task: Task,
        make_local_global: MakeLocalGlobal,
        lam: float = 1e-3,
        *,
        transfer: Transfer = "random",
        scale: TransferScale = "graph",
        detach_teacher: bool = False,
    ) -> None:
        super().__init__(make_predictor, task)
        self.lam, self.transfer, self.scale, self.detach_teacher = lam, transfer, scale, detach_teacher
        self.teacher: GraphEncoder = make_predictor().encoder
        self.local_global = make_local_global(self.teacher)
        self.projections = nn.ModuleList(
            nn.ModuleList([FeedForward(dim, self.teacher.dim), FeedForward(dim, self.teacher.dim)])
            for dim in self.teacher.level_dims
        )

    def forward(self, step: Step) -> LossTerms:
        """The student passes over labelled and unlabelled graphs at once, the teacher over the unlabelled."""
        student = self.predictor.encode(step.both)
        outputs = self.predictor.outputs(student, step.both)[: step.n_labelled]
        supervised = self.task.loss(outputs, step.targets)
        states: list[Tensor] = self.teacher(step.unlabelled)
        result = self.local_global(states, self.teacher.vectors(states, step.unlabelled), step.unlabelled)
        transfer = self._transfer(student.states, states, step)
        total = supervised + result.loss + self.lam * transfer
        shown = {"supervised": supervised, "unsupervised": result.loss, "transfer": transfer}
        detached = {name: term.detach() for name, term in shown.items()}
        return LossTerms(total, {**detached, "accuracy": result.accuracy})

    def layers(self) -> list[int]:
        """The layers of this update."""
        n_layers = len(self.projections)
        if self.transfer == "all":
            return list(range(n_layers))
        return [n_layers - 1 if self.transfer == "last" else int(torch.randint(n_layers, ()))]

    def _transfer(self, student: list[Tensor], teacher: list[Tensor], step: Step) -> Tensor:
        sizes = step.unlabelled.sizes[step.unlabelled.which]
        losses = [
            transfer_loss(self._scores(student, teacher, step, k), sizes, self.scale) for k in self.layers()
        ]
        return torch.stack(losses).sum()

    def _scores(self, student: list[Tensor], teacher: list[Tensor], step: Step, k: int) -> Tensor:
        """T[j, i] of the student's vector of graph j and the teacher's of graph i at layer k. (B, B)."""
        first, second = cast(nn.ModuleList, self.projections[k])
        own = _level(self.predictor.encoder, student, step.both, k)[step.n_labelled :]
        other = _level(self.teacher, teacher, step.unlabelled, k)
        scores: Tensor = first(own) @ second(other.detach() if self.detach_teacher else other).T
        return scores


def transfer_loss(scores: Tensor, sizes: Tensor, scale: TransferScale) -> Tensor:
    """Minus the Jensen-Shannon bound of every graph j, over |G_j|, averaged. (B, B), (B,) -> scalar."""
    others = 1 - torch.eye(len(scores), dtype=scores.dtype, device=scores.device)
    negative = (softplus(scores) * others).sum(1) / (len(scores) - 1)
    each = softplus(-scores.diagonal()) + negative  # (B,)
    return (each / sizes.to(each.dtype) if scale == "graph" else each).mean()


def _level(encoder: GraphEncoder, states: list[Tensor], batch: Batch, k: int) -> Tensor:
    return encoder.level(states, batch, k)[batch.which]


class SemiNaive(Objective):
    """`supervised + lambda * unsupervised`, each a mean over its own batch.

    Args:
        make_predictor, task: see `Objective`.
        make_local_global: the unsupervised loss for an encoder.
        lam: lambda; the paper searches 1e-3, 1e-4, 1e-5.
    """

    def __init__(
        self, make_predictor: MakePredictor, task: Task, make_local_global: MakeLocalGlobal, lam: float = 1e-3
    ) -> None:
        super().__init__(make_predictor, task)
        self.lam = lam
        self.local_global = make_local_global(self.predictor.encoder)

    def forward(self, step: Step) -> LossTerms:
        """One pass over the labelled and one over the unlabelled graphs."""
        supervised = self.task.loss(self.predictor(step.labelled), step.targets)
        encoding = self.predictor.encode(step.unlabelled)
        result = self.local_global(encoding.states, encoding.vectors, step.unlabelled)
        shown = {"supervised": supervised.detach(), "unsupervised": result.loss.detach()}
        return LossTerms(supervised + self.lam * result.loss, {**shown, "accuracy": result.accuracy})
