"""States and vectors -> a loss: what InfoGraph maximises, and what it is compared with, by name."""

from __future__ import annotations

from infograph.objectives.consistency import Entropy, MeanTeacher, PiModel, PseudoLabel, VirtualAdversarial
from infograph.objectives.infograph_star import InfoGraphStar, InfoGraphWithLabels
from infograph.objectives.objective import Objective, Supervised
from infograph.objectives.vectors import Vectors

OBJECTIVES: dict[str, type[Objective]] = {
    "supervised": Supervised,
    "vectors": Vectors,
    "infograph": InfoGraphWithLabels,
    "infograph*": InfoGraphStar,
    "mean-teacher": MeanTeacher,
    "pi-model": PiModel,
    "pseudo-label": PseudoLabel,
    "entropy": Entropy,
    "vat": VirtualAdversarial,
}
