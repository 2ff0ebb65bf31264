"""InfoGraph with labels (Eq. 6) and InfoGraph* (Eq. 7 and 8)."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar, Literal

import torch
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from torch import Tensor, nn
from torch.nn.functional import softplus

from infograph.errors import InvalidParameter
from infograph.nn.encoder import GraphEncoder
from infograph.objectives.contrast import LocalGlobal
from infograph.objectives.discriminator import FeedForward
from infograph.objectives.infograph import MutualInformation
from infograph.objectives.objective import LossTerms, MakePredictor, Objective, Step, Task

Transfer = Literal["random", "all", "last"]
TransferScale = Literal["graph", "mean"]


@dataclass
class InfoGraphWithLabels(Objective):
    """`supervised + lambda * unsupervised` (Eq. 6), one encoder for both, each a mean over its own batch.

    Args:
        lam: lambda; the paper searches 1e-3, 1e-4, 1e-5.
        information: the unsupervised term, without `prior` and `colours`.
    """

    lam: float = 1e-3
    information: MutualInformation = field(default_factory=MutualInformation)
    title: ClassVar[str] = "InfoGraph"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "lam": [Interval(Real, 0, None, closed="left")],
        "information": [HasMethods(["local_global"])],
    }

    def build(self, make_predictor: MakePredictor, task: Task) -> nn.ModuleDict:
        predictor = make_predictor()
        local_global = _contrast(self.information, predictor.encoder)
        return nn.ModuleDict({"predictor": predictor, "local_global": local_global})

    def loss(self, net: Any, step: Step, task: Task) -> LossTerms:
        supervised = task.loss(net.predictor(step.labelled), step.targets)
        found = net.local_global(*net.predictor.encode(step.unlabelled), step.unlabelled)
        shown = {"supervised": supervised, "unsupervised": found.loss, "accuracy": found.accuracy}
        return LossTerms(supervised + self.lam * found.loss, shown)


@dataclass
class InfoGraphStar(Objective):
    """`supervised (student) + unsupervised (teacher) + lambda * transfer` (Eq. 7).

    Two encoders: the student learns from labels, the teacher without. The transfer term (Eq. 8) is minus the
    mutual information between their vectors of the same graph, layer by layer: for graph j a Jensen-Shannon
    bound with the positive pair (j, j) and the negatives (j, i) averaged over the other graphs of the batch,
    times 1/|G_j|. It is not multiplied by the number of layers where a random one is taken.

    Args:
        lam: lambda, of the transfer term; the paper searches 1e-3, 1e-4, 1e-5.
        transfer: the layers of an update: a "random" one (paper), "all" (Eq. 8 as printed), or the "last" one
            only, as the authors' code does.
        transfer_scale: "graph" divides by |G_j| (Eq. 8), "mean" does not, as in the authors' code.
        detach_teacher: whether the term leaves the teacher alone; in the paper its gradients reach both.
        information: the unsupervised term of the teacher, without `prior` and `colours`.
    """

    lam: float = 1e-3
    transfer: Transfer = "random"
    transfer_scale: TransferScale = "graph"
    detach_teacher: bool = False
    information: MutualInformation = field(default_factory=MutualInformation)
    title: ClassVar[str] = "InfoGraph*"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **InfoGraphWithLabels._parameter_constraints,
        "transfer": [StrOptions({"random", "all", "last"})],
        "transfer_scale": [StrOptions({"graph", "mean"})],
        "detach_teacher": ["boolean"],
    }

    def build(self, make_predictor: MakePredictor, task: Task) -> nn.ModuleDict:
        predictor, teacher = make_predictor(), make_predictor().encoder
        local_global = _contrast(self.information, teacher)
        projections = nn.ModuleList(
            nn.ModuleList([FeedForward(dim, teacher.dim), FeedForward(dim, teacher.dim)])
            for dim in teacher.level_dims
        )
        parts = {"predictor": predictor, "teacher": teacher, "local_global": local_global}
        return nn.ModuleDict({**parts, "projections": projections})

    def loss(self, net: Any, step: Step, task: Task) -> LossTerms:
        student, vectors = net.predictor.encode(step.both)
        supervised = task.loss(net.predictor.outputs(vectors, step.both)[: step.n_labelled], step.targets)
        states = net.teacher(step.unlabelled)
        found = net.local_global(states, net.teacher.vectors(states, step.unlabelled), step.unlabelled)
        sizes, losses = step.unlabelled.sizes[step.unlabelled.which], []
        for k in self.layers(len(net.projections)):
            first, second = net.projections[k]
            own = net.predictor.encoder.level(student, step.both, k)
            own = own[step.both.which[step.n_labelled :]]
            other = net.teacher.level(states, step.unlabelled, k)[step.unlabelled.which]
            scores = first(own) @ second(other.detach() if self.detach_teacher else other).T  # (B, B)
            losses.append(transfer_loss(scores, sizes, self.transfer_scale))
        transfer = torch.stack(losses).sum()
        shown = {"supervised": supervised, "unsupervised": found.loss, "transfer": transfer}
        total = supervised + found.loss + self.lam * transfer
        return LossTerms(total, {**shown, "accuracy": found.accuracy})

    def layers(self, n_layers: int) -> list[int]:
        """The layers of this update."""
        if self.transfer == "all":
            return list(range(n_layers))
        return [n_layers - 1 if self.transfer == "last" else int(torch.randint(n_layers, ()))]


def _contrast(information: Any, encoder: GraphEncoder) -> LocalGlobal:
    """The unsupervised term for an encoder; terms that would not be part of the loss are refused."""
    for name in ("prior", "colours"):
        if getattr(information, name, 0.0):
            raise InvalidParameter(
                f"{name}={getattr(information, name)}: this term is there without labels only, in InfoGraph; "
                f"leave it at 0"
            )
    made: LocalGlobal = information.local_global(encoder)
    return made


def transfer_loss(scores: Tensor, sizes: Tensor, scale: TransferScale) -> Tensor:
    """Minus the Jensen-Shannon bound of every graph j, over |G_j|, averaged. (B, B), (B,) -> scalar."""
    others = 1 - torch.eye(len(scores), dtype=scores.dtype, device=scores.device)
    negative = (softplus(scores) * others).sum(1) / (len(scores) - 1)
    each = softplus(-scores.diagonal()) + negative  # (B,)
    return (each / sizes.to(each.dtype) if scale == "graph" else each).mean()
