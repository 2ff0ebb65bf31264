"""InfoGraphRegressor: a few measured values and many graphs without, in; predictions out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from infograph.contract.rows import BadRows
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.scaler import constant
from infograph.data.targets import Scaler, Targets, numeric_targets
from infograph.errors import InvalidTarget
from infograph.estimators.semi import AnyTargets, Rows, SemiSupervised
from infograph.methods.tasks import Regression, Task
from infograph.train.loop import Epoch


class InfoGraphRegressor(SemiSupervised):
    """Numbers of graphs, learned from some labelled and many unlabelled ones (Sun et al., ICLR 2020).

        model = InfoGraphRegressor().fit(molecules, logS)  # NaN where logS was not measured
        model.predict(["CCO", "c1ccccc1"])

    The loss is the mean squared error of targets scaled to mean 0 and variance 1 by the labelled training
    graphs alone; predictions are in the targets' own units. `y` may have several columns, with gaps anywhere.

    Args: as below.

    Attributes:
        target_names_, target_units_: of the targets.
        scaler_: mean and scale of the targets; a constant target has scale 0 and is what is predicted.
        models_: the trained networks.
        history_: one record per epoch: every loss term and, as "validation", the mean absolute error of the
            validation graphs in the target's unit (of several targets: the mean, each in its deviations).
        schema_: what the graphs must look like.
    """

    task = "regression"
    scaler_: Scaler

    def predict(  # type: ignore[override]
        self, graphs: Any, *, return_std: bool = False, errors: BadRows = "raise"
    ) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The predicted numbers in the targets' units: (G,), or (G, T) where `fit` got rows.

        Args:
            graphs: anything `fit` accepts.
            return_std: also give the standard deviation over the networks of an ensemble (`n_models` > 1).
            errors: at a bad graph "raise", "skip" its row, or keep the row's place with "nan".
        """
        if not return_std:
            return super().predict(graphs, errors=errors)
        mean, std = self._with_spread(graphs, errors)
        return (mean[:, 0], std[:, 0]) if self._single else (mean, std)

    def _targets_like(self, targets: AnyTargets, y: Any, graphs: GraphSet) -> Targets:
        known = cast(Targets, targets)
        found = numeric_targets(y, graphs, unlabelled=self.unlabelled, fitting=False)
        if found.n_targets != known.n_targets:
            raise InvalidTarget(
                f"validation has {found.n_targets} targets, y has {known.n_targets}: give the same ones"
            )
        if not found.known.any(axis=0).all():
            raise InvalidTarget("validation has a target without any label: there is nothing to choose by")
        return found.like(known.names, known.units)

    def _start(self, targets: AnyTargets, labelled: IntArray) -> tuple[Tensor, Task]:
        known = cast(Targets, targets)
        unknown = np.flatnonzero(np.isnan(known.values[labelled]).all(axis=0))
        if len(unknown):
            raise InvalidTarget(
                f"the target {known.names[unknown[0]]!r} has no label left to learn from, all of them are "
                f"held out for validation: give a smaller share, or validation=(graphs, y)"
            )
        self._remember(known)
        given = known.values[labelled]
        scaler, steady = Scaler.of(given), constant(given)
        self.scaler_ = replace(scaler, scale=tuple(np.where(steady, 0.0, scaler.scale).tolist()))
        values = np.full(known.values.shape, np.nan, np.float32)
        values[labelled] = np.where(steady, 0.0 * given, scaler.standardise(given))  # 0 * NaN is NaN
        return torch.from_numpy(values), Regression(known.n_targets)

    def _finish(self, outputs: NDArray[np.float32]) -> Rows:
        return self.scaler_.restore(outputs)

    def _figures(self, predicted: Rows, targets: AnyTargets) -> Epoch:
        given = cast(Targets, targets).values
        judged = np.flatnonzero(
            ~np.isnan(given).all(axis=0)
        )  # a share of few labels may hold none of a target
        wrong = np.nanmean(np.abs(predicted - given)[:, judged], axis=0)  # (T,)
        if len(self.target_names_) == 1:
            return {"validation": float(wrong[0])}
        each = {
            f"validation {self.target_names_[target]}": float(error)
            for target, error in zip(judged, wrong, strict=True)
        }
        scale = np.asarray(self.scaler_.scale)[judged]
        return {"validation": float(np.mean(wrong / np.where(scale, scale, 1.0))), **each}

    def _learned(self) -> dict[str, Any]:
        return {**super()._learned(), "mean": self.scaler_.mean, "scale": self.scaler_.scale}

    def _set_learned(self, learned: dict[str, Any]) -> None:
        super()._set_learned(learned)
        self.scaler_ = Scaler(tuple(learned["mean"]), tuple(learned["scale"]))
