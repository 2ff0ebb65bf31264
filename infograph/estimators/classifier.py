"""InfoGraphClassifier: a few labelled and many unlabelled graphs in; classes out."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from infograph.contract.rows import BadRows
from infograph.data.classes import ClassTargets, class_targets
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.labels import match_names
from infograph.errors import InvalidTarget
from infograph.estimators.semi import AnyTargets, Rows, SemiSupervised
from infograph.methods.tasks import Classification, Task
from infograph.train.loop import Epoch


class InfoGraphClassifier(SemiSupervised):
    """Classes of graphs, learned from some labelled and many unlabelled ones (Sun et al., ICLR 2020).

        model = InfoGraphClassifier().fit(graphs, labels)  # None where the class is not known
        model.predict(graphs)

    The loss is the cross-entropy. A -1 among the labels raises unless `unlabelled=-1` says what it means.

    Args: as below.

    Attributes:
        classes_: (C,) the classes in the order of the probabilities.
        models_: the trained networks.
        history_: one record per epoch: every loss term and, as "validation", the share of validation graphs
            that are classified wrongly.
        schema_: what the graphs must look like.
    """

    task = "classification"

    def predict_proba(
        self, graphs: Any, *, return_std: bool = False, errors: BadRows = "raise"
    ) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The probability of every class, in the order of `classes_`. (G, C).

        Args:
            graphs: anything `fit` accepts.
            return_std: also give the standard deviation over the networks of an ensemble (`n_models` > 1).
            errors: at a bad graph "raise", "skip" its row, or keep the row's place with "nan".
        """
        return self._with_spread(graphs, errors) if return_std else self._checked_outputs(graphs, errors)

    def _targets_like(self, targets: AnyTargets, y: Any, graphs: GraphSet) -> ClassTargets:
        found, known = class_targets(y, graphs, self.unlabelled, fitting=False), cast(ClassTargets, targets)
        if not found.labelled.any():
            raise InvalidTarget("validation has not one label: there is nothing to choose by")
        match_names([found.name], [known.name])
        return ClassTargets(found.name, found.coded_for(known.classes), known.classes)

    def _start(self, targets: AnyTargets, labelled: IntArray) -> tuple[Tensor, Task]:
        known = cast(ClassTargets, targets)
        self._remember(known)
        return torch.from_numpy(known.codes), Classification(len(known.classes))

    def _finish(self, outputs: NDArray[np.float32]) -> Rows:
        return torch.softmax(torch.from_numpy(outputs).double(), 1).numpy()

    def _figures(self, predicted: Rows, targets: AnyTargets) -> Epoch:
        known = cast(ClassTargets, targets)
        wrong = predicted.argmax(axis=1) != known.codes
        return {"validation": float(wrong[known.labelled].mean())}
