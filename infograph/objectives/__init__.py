"""All objectives by name, and what each needs of the settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from infograph.errors import InvalidParameter
from infograph.nn.encoder import GraphEncoder
from infograph.objectives.consistency import (
    EntropyMinimisation,
    MeanTeacher,
    PiModel,
    PseudoLabel,
    RampUp,
    VirtualAdversarial,
)
from infograph.objectives.contrast import LocalGlobal, Patches
from infograph.objectives.infograph_star import InfoGraphStar, SemiNaive, Transfer, TransferScale
from infograph.objectives.objective import MakePredictor, Objective, Regression, Supervised, Task

ObjectiveName = Literal[
    "supervised",
    "infograph",
    "infograph*",
    "mean-teacher",
    "pi-model",
    "pseudo-label",
    "entropy",
    "vat",
]
TITLES: dict[ObjectiveName, str] = {
    "supervised": "supervised",
    "infograph": "InfoGraph",
    "infograph*": "InfoGraph*",
    "mean-teacher": "Mean Teacher",
    "pi-model": "Pi-model",
    "pseudo-label": "pseudo-labels",
    "entropy": "entropy",
    "vat": "VAT",
}
FOR_CLASSES = ("pseudo-label", "entropy")
WEIGHED = ("infograph", "infograph*")  # those with a lambda


@dataclass(frozen=True)
class ObjectiveSettings:
    """What the objectives can be told; each takes what it needs.

    Attributes:
        lam: InfoGraph's and InfoGraph*'s lambda.
        transfer, transfer_scale, detach_teacher: see `InfoGraphStar`.
        patches, memory_mb: see `LocalGlobal`.
        consistency: weight of the second term of the others, and the updates in which it rises.
        decay: of the Mean Teacher's average.
        noise: on node inputs, for Mean Teacher and Pi-model; None for each one's own default.
        threshold: of pseudo-labels.
        radius: of adversarial changes.
    """

    lam: float = 1e-3
    transfer: Transfer = "random"
    transfer_scale: TransferScale = "graph"
    detach_teacher: bool = False
    patches: Patches = "all"
    memory_mb: float = 512.0
    consistency: RampUp = RampUp()  # noqa: RUF009 - frozen
    decay: float = 0.999
    noise: float | None = None
    threshold: float = 0.95
    radius: float = 0.5


def make_objective(
    name: ObjectiveName, make_predictor: MakePredictor, task: Task, settings: ObjectiveSettings
) -> Objective:
    """The objective of that name.

    Raises:
        InvalidParameter: it is for classes, and numbers are to be predicted.
    """
    if name in FOR_CLASSES and isinstance(task, Regression):
        raise InvalidParameter(
            f"objective={name!r} is for classes: use InfoGraphClassifier, or another objective for numbers"
        )

    def local_global(encoder: GraphEncoder) -> LocalGlobal:
        return LocalGlobal(encoder, patches=settings.patches, memory_mb=settings.memory_mb)

    weight = settings.consistency
    match name:
        case "supervised":
            return Supervised(make_predictor, task)
        case "infograph":
            return SemiNaive(make_predictor, task, local_global, settings.lam)
        case "infograph*":
            return InfoGraphStar(
                make_predictor,
                task,
                local_global,
                settings.lam,
                transfer=settings.transfer,
                scale=settings.transfer_scale,
                detach_teacher=settings.detach_teacher,
            )
        case "mean-teacher":
            noise = 0.0 if settings.noise is None else settings.noise
            return MeanTeacher(make_predictor, task, weight, settings.decay, noise)
        case "pi-model":
            noise = 0.1 if settings.noise is None else settings.noise
            return PiModel(make_predictor, task, weight, noise)
        case "pseudo-label":
            return PseudoLabel(make_predictor, task, weight, settings.threshold)
        case "entropy":
            return EntropyMinimisation(make_predictor, task, weight)
        case "vat":
            return VirtualAdversarial(make_predictor, task, weight, settings.radius)
