"""States and vectors -> a loss: what InfoGraph maximises, and what it is compared with, by name."""

from __future__ import annotations

from infograph.objectives.consistency import Entropy, MeanTeacher, PiModel, PseudoLabel, VirtualAdversarial
from infograph.objectives.infograph_star import InfoGraphStar, InfoGraphWithLabels
from infograph.objectives.objective import Objective, Supervised

OBJECTIVES: dict[str, type[Objective]] = {
    "supervised": Supervised,
    "infograph": InfoGraphWithLabels,
    "infograph*": InfoGraphStar,
    "mean-teacher": MeanTeacher,
    "pi-model": PiModel,
    "pseudo-label": PseudoLabel,
    "entropy": Entropy,
    "vat": VirtualAdversarial,
}
