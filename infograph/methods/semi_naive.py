"""InfoGraph with labels (Eq. 6): one encoder serves the supervised and the unsupervised loss."""

from __future__ import annotations

from collections.abc import Callable

from infograph.methods.objective import MakePredictor, Objective, Step
from infograph.methods.tasks import Task
from infograph.methods.terms import LossTerms
from infograph.mi.local_global import LocalGlobal
from infograph.nn.encoder import GraphEncoder

MakeLocalGlobal = Callable[[GraphEncoder], LocalGlobal]


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
