"""InfoGraphRegressor and InfoGraphClassifier: what is predicted, how sure it is, and how it is judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from torch import Tensor
from torch.nn.functional import cross_entropy

from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.labels import listed
from infograph.data.targets import (
    ClassTargets,
    Scaler,
    Targets,
    TaskTargets,
    class_targets,
    constant,
    match_names,
    numeric_targets,
    task_targets,
)
from infograph.errors import InvalidParameter, InvalidTarget
from infograph.estimators.base import BadRows
from infograph.estimators.folder import State
from infograph.estimators.intervals import MOST, ErrorBars, conformal_quantile
from infograph.estimators.labelled import AnyTargets, Rows, SemiSupervised, has_others
from infograph.estimators.offset import NEARLY_ALL, WORTH, Offset
from infograph.objectives.objective import Classification, Regression, Task, Tasks
from infograph.objectives.vectors import Vectors
from infograph.progress import AREA, ERROR, Epoch

TEMPERATURES = tuple(2 ** (n / 4) for n in range(-8, 17))  # a quarter to sixteen


class InfoGraphRegressor(SemiSupervised):
    """Numbers of graphs, learned from some labelled and many unlabelled ones (Sun et al., ICLR 2020).

        model = InfoGraphRegressor().fit(molecules, logS)  # NaN where logS was not measured
        model.predict(["CCO", "c1ccccc1"])

    The loss is the mean squared error of targets scaled to mean 0 and variance 1 by the labelled training
    graphs alone; predictions are in the targets' own units. `y` may have several columns, with gaps anywhere.

    Args:
        objective: "auto" fits "vectors" and "infograph*" and is the second where that has a tenth less error
            on validation graphs, or on a fifth of the labelled ones where there are none; `choice_` says
            which and why. "vectors" or `Vectors(...)` is a simple head (ridge, a Gaussian
            process, support vectors, a forest) on vectors that were made without labels. As the paper
            compares them: "infograph*" or `InfoGraphStar(lam=1e-4, ...)` (Eq. 7-8), "infograph" or
            `InfoGraphWithLabels(...)` (Eq. 6), "mean-teacher" or `MeanTeacher(...)`, "supervised"; from its
            Appendix B "pi-model", "vat", and for classes "pseudo-label", "entropy"; or one of your own, see
            `infograph.objectives.objective`.
        encoder: "auto" takes "enn-s2s" (the paper's encoder of molecules) for graphs with coordinates or
            continuous edge features and "gin" (GINE where edges have columns) otherwise, and for graphs of
            more than 200 nodes or with edge weights, with a warning; or an object or module, see `InfoGraph`.
        dim: length of graph vectors; enn-s2s has node states of half of it, 64 in the paper's code.
        epochs: at most so many; 500 in the paper, 30 here.
        lr: Adam's learning rate at the start; 1e-3 in the paper.
        batch_size: labelled graphs per update, and as many unlabelled; 20 in the paper, "auto" takes a
            250th of the labelled graphs, at least 20 and at most 128.
        weight_decay: Adam's L2 penalty; the paper searches 0, 1e-3, 1e-4.
        schedule: how the learning rate falls: "plateau", where the error stops falling, as in the paper's
            code, or "cosine", to 0 after the last epoch; or `Plateau(factor=0.7, patience=5)`.
        clip: the largest norm of the gradient of an update, longer ones are shortened to it; None for any,
            as in the paper.
        early_stopping: epochs without improvement on the validation graphs after which training ends; None
            for never. Improvement without validation graphs is that of the loss, and nothing ends early.
        steps_per_epoch: updates per epoch; None for one pass over the labelled graphs, at least 50.
        n_models: networks that are trained, from seeds `random_state`, `random_state + 1` ...; predictions
            are their mean, and `return_std` gives their spread.
        n_splits: of objective="auto": by so many draws of a fifth of the labelled graphs it is chosen, each
            with two trainings; validation graphs then have no part in the choice. 1 for one draw, or for the
            validation graphs.
        averaging: the decay of an exponential average of a network's weights over updates, such as 0.99,
            which is validated and kept instead of the last weights; None for none, as in the paper.
        init_from: a fitted InfoGraph, InfoGraphRegressor or InfoGraphClassifier, or the folder of one, whose
            encoder (architecture, columns and weights) is the start; its settings here are ignored. Networks
            get inputs for elements that it does not know. "molecules" is the model in the package.
        thaw_after: epochs in which the encoder of `init_from` stays as it is, and the head alone learns.
        descriptors: "rdkit" puts RDKit's descriptors of molecules, scaled by the labelled ones, behind the
            graph vector that a network's head sees; heads of "vectors" choose by themselves.
        offset: "auto" fits numbers to counts of atoms and bonds (of node and edge labels elsewhere) first,
            where that is better than the mean on labelled graphs that are left out, and networks learn the
            rest; heads of "vectors" do so where it leaves a tenth of the variance, at most. None for no such
            part, as in the paper. Classes have none.
        class_weight: of classes, "balanced" for as if all were equally frequent, or class -> weight.
        node_columns, edge_columns: what the encoder sees, see `InfoGraph`.
        unlabelled: one more value of `y` that means unlabelled, such as -1.
        device: "auto" takes a GPU if there is one; or any torch device.
        random_state: seed of weights, batches and noise.
        verbose: show progress on standard error.

    Attributes:
        target_names_, target_units_: of the targets.
        scaler_: mean and scale of the targets; a constant target has scale 0 and is what is predicted.
        models_: the trained networks.
        history_: one record per epoch: every loss term and, as "validation", the mean absolute error of the
            validation graphs in the target's unit (of several targets: the mean, each in its deviations).
        schema_: what the graphs must look like.
        chosen_, errors_, choice_: by objective="auto": which, the errors on graphs that were held out, and a
            sentence on both.
        inputs_, head_, heads_: of objective="vectors": what its head sees, its kind, and the share of the
            variance that each head missed of graphs left out.
        offset_: the part by composition; None where there is none.
        error_bars_: what intervals are made of; None where no errors are known.
    """

    task = "regression"
    scaler_: Scaler
    error_bars_: ErrorBars | None = None

    def predict(  # type: ignore[override]
        self,
        graphs: Any,
        *,
        interval: float | None = None,
        return_std: bool = False,
        errors: BadRows = "raise",
    ) -> NDArray[np.float64] | tuple[NDArray[np.float64], ...]:
        """The predicted numbers in the targets' units: (G,), or (G, T) where `fit` got rows.

        Args:
            graphs: anything `fit` accepts.
            interval: the share of graphs like those of the training whose values are to lie between two
                bounds, such as 0.9; predictions, lower and upper bounds are given then.
            return_std: also give the standard deviation over the networks of an ensemble (`n_models` > 1).
            errors: at a bad graph "raise", "skip" its row, or keep the row's place with "nan".
        """
        if interval is None and not return_std:
            return super().predict(graphs, errors=errors)
        if interval is not None and return_std:
            raise InvalidParameter("interval and return_std: ask for one of them")
        both: tuple[Rows, ...] = self._with_spread(graphs, errors) if interval is None else ()
        found = both or self._with_bounds(graphs, interval, errors)
        return tuple(each[:, 0] for each in found) if self._single else found

    def unlike(self, graphs: Any) -> NDArray[np.bool_]:
        """Which graphs are unlike all whose errors are known: bounds promise nothing for them. (G,).

        Such as are farther from these than nearly all of these from each other, or have another element.
        """
        if self.error_bars_ is None:
            raise InvalidParameter(
                "no errors are known: fit with validation=0.2, or with objective='vectors'"
            )
        known = as_graphset(graphs, schema=self.schema_)
        return self.error_bars_.unlike(self.transform(known)) | has_others(known, self._elements)

    def _with_bounds(self, graphs: Any, level: Any, errors: BadRows) -> tuple[Rows, ...]:
        self._check_fitted()
        bars = self.error_bars_
        if bars is None:
            raise InvalidParameter(
                f"interval={level}: how wrong this model is on graphs that it did not learn from is not "
                f"known; fit it with validation=0.2, for instance, or with objective='vectors'"
            )

        def three(known: GraphSet) -> Rows:
            middle = self._outputs(known)
            wide = bars.widths(self._vectors(self._source(known)), level)
            return np.hstack([middle, middle - wide, middle + wide])

        rows = self._checked_outputs(graphs, errors, three, times=3)
        return tuple(np.split(rows, 3, axis=1))

    def _calibrate(self, graphs: GraphSet, targets: AnyTargets, said: NDArray[Any], every: GraphSet) -> None:
        found = np.mean([self._finish(each, graphs) for each in said], axis=0)
        wrong = np.abs(found - cast(Targets, targets).values)
        vectors = [self._vectors(self._source(each)) for each in (graphs, every[:MOST])]
        self.error_bars_ = ErrorBars.fit(vectors[0], wrong, vectors[1])

    def _forget(self) -> None:
        super()._forget()
        self.error_bars_ = None

    def _state(self) -> State:
        bars = {} if self.error_bars_ is None else vars(self.error_bars_)
        return super()._state() | {f"bars.{n}": np.asarray(v, np.float32) for n, v in bars.items()}

    def _set_state(self, state: State) -> None:
        own: dict[str, Any] = {n[5:]: v.astype(np.float64) for n, v in state.items() if n.startswith("bars.")}
        super()._set_state({name: value for name, value in state.items() if not name.startswith("bars.")})
        self.error_bars_ = ErrorBars(**{**own, "far": own["far"].item()}) if own else None

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

    def _learnable(self, graphs: GraphSet, targets: AnyTargets, labelled: IntArray) -> tuple[Tensor, Task]:
        if self.class_weight is not None:
            raise InvalidParameter("class_weight is for classes: use InfoGraphClassifier, or None")
        known = cast(Targets, targets)
        if self.offset is not None:
            worth = NEARLY_ALL if isinstance(self._parts()["objective"], Vectors) else WORTH
            self.offset_ = Offset.fit(graphs[labelled], known.values[labelled], worth)
        if self.offset_ is not None:  # what is left is to be learned
            known = replace(known, values=known.values - self.offset_.predict(graphs))
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

    def _finish(self, outputs: NDArray[np.float32], graphs: GraphSet) -> Rows:
        found = self.scaler_.restore(outputs)
        return found if self.offset_ is None else found + self.offset_.predict(graphs)

    def _figures(self, predicted: Rows, targets: AnyTargets) -> Epoch:
        given = cast(Targets, targets).values
        judged = np.flatnonzero(~np.isnan(given).all(axis=0))  # few labels may hold none of a target
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
        known = {"mean": self.scaler_.mean, "scale": self.scaler_.scale}
        return {**super()._learned(), **known, "offset": self.offset_ and vars(self.offset_)}

    def _set_learned(self, learned: dict[str, Any]) -> None:
        super()._set_learned(learned)
        self.scaler_ = Scaler(tuple(learned["mean"]), tuple(learned["scale"]))
        known = learned.get("offset")
        self.offset_ = known and Offset(
            tuple(known["names"]), *map(np.array, (known["coef"], known["intercept"]))
        )


class InfoGraphClassifier(SemiSupervised):
    """Classes of graphs, learned from some labelled and many unlabelled ones (Sun et al., ICLR 2020).

        model = InfoGraphClassifier().fit(graphs, labels)  # None where the class is not known
        model.predict(graphs)

    The loss is the cross-entropy. A -1 among the labels raises unless `unlabelled=-1` says what it means.
    Rows of labels, or several names of columns, are as many questions of two classes, with gaps anywhere.
    Probabilities are calibrated on graphs that the model did not learn from, where there are such.

    Args: those of `InfoGraphRegressor`.

    Attributes:
        classes_: (C,) the classes in the order of the probabilities.
        models_, schema_: as in `InfoGraphRegressor`.
        history_: one record per epoch: every loss term and, as "validation", the share of validation graphs
            that are classified wrongly; of several columns 1 minus their mean ROC-AUC.
    """

    task = "classification"
    temperature_: float = 1.0
    surprise_: Rows | None = None

    def predict_proba(
        self, graphs: Any, *, return_std: bool = False, errors: BadRows = "raise"
    ) -> NDArray[np.float64] | tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The probability of every class, in the order of `classes_`; and its spread on request. (G, C)."""
        return self._with_spread(graphs, errors) if return_std else self._checked_outputs(graphs, errors)

    def predict_set(
        self, graphs: Any, coverage: float = 0.9, *, errors: BadRows = "raise"
    ) -> NDArray[np.bool_]:
        """Which classes each graph may have, so that its own is among them as often as asked. (G, C).

        Split conformal: a class is in the set where its probability is not below what true classes of graphs
        that the model did not learn from nearly always have (Sadinle et al. 2019). Graphs like those of the
        training are assumed; a set may be empty.
        """
        self._check_fitted()
        if self.surprise_ is None:
            raise InvalidParameter(
                f"coverage={coverage}: how sure this model is of graphs that it did not learn from is not "
                f"known; one column of classes, with validation=0.2 or objective='vectors', is needed"
            )
        most = conformal_quantile(self.surprise_, coverage, "coverage")
        return np.asarray(self._checked_outputs(graphs, errors) >= 1 - most)

    def _calibrate(self, graphs: GraphSet, targets: AnyTargets, said: NDArray[Any], every: GraphSet) -> None:
        """Divide scores by what makes probabilities of graphs that were not learned from most likely."""
        if self._several:
            return
        known = cast(ClassTargets, targets)
        rows = np.flatnonzero(known.labelled)
        if not self.inputs_:  # heads of vectors are calibrated
            scores = torch.from_numpy(said[:, rows]).double()
            wanted = torch.from_numpy(known.codes[rows]).expand(len(scores), -1)
            likely = [float(cross_entropy(scores.mT / t, wanted)) for t in TEMPERATURES]
            self.temperature_ = TEMPERATURES[int(np.argmin(likely))]
        shares = np.mean([self._finish(each, graphs) for each in said], axis=0)
        self.surprise_ = np.sort(1 - shares[rows, known.codes[rows]])

    def _forget(self) -> None:
        super()._forget()
        self.temperature_, self.surprise_ = 1.0, None

    def _state(self) -> State:
        return super()._state() | ({} if self.surprise_ is None else {"surprise": self.surprise_})

    def _set_state(self, state: State) -> None:
        super()._set_state({name: value for name, value in state.items() if name != "surprise"})
        self.surprise_ = state.get("surprise")

    def _learned(self) -> dict[str, Any]:
        return {**super()._learned(), "temperature": self.temperature_}

    def _set_learned(self, learned: dict[str, Any]) -> None:
        super()._set_learned(learned)
        self.temperature_ = float(learned.get("temperature", 1.0))
        if isinstance(self.class_weight, Mapping):  # whose keys are texts in JSON
            labels = {str(label): label for label in self.classes_.tolist()}
            self.class_weight = {labels.get(key, key): value for key, value in self.class_weight.items()}

    def _targets_like(self, targets: AnyTargets, y: Any, graphs: GraphSet) -> AnyTargets:
        if isinstance(targets, TaskTargets):
            tasks = task_targets(y, graphs, self.unlabelled, fitting=False, classes=targets.classes)
            return tasks.like(targets.names, targets.units)
        found, known = class_targets(y, graphs, self.unlabelled, fitting=False), cast(ClassTargets, targets)
        if not found.labelled.any():
            raise InvalidTarget("validation has not one label: there is nothing to choose by")
        match_names([found.name], [known.name])
        return ClassTargets(found.name, found.coded_for(known.classes), known.classes)

    def _learnable(self, graphs: GraphSet, targets: AnyTargets, labelled: IntArray) -> tuple[Tensor, Task]:
        self._remember(targets)
        if isinstance(targets, TaskTargets):
            values = np.full(targets.values.shape, np.nan, np.float32)
            given = values[labelled] = targets.values[labelled]
            rare, common = (np.maximum(np.nansum(each, axis=0), 1) for each in (given, 1 - given))
            balanced = np.stack([np.ones(len(rare)), common / rare])
            one, two = self._weights(balanced, targets.classes)
            return torch.from_numpy(values), Tasks(targets.n_targets, tuple((two / one).tolist()))
        known = cast(ClassTargets, targets)
        counts = np.bincount(known.codes[labelled], minlength=len(known.classes))
        balanced = len(labelled) / (len(counts) * np.maximum(counts, 1))
        weights = self._weights(balanced, known.classes)
        return torch.from_numpy(known.codes), Classification(len(known.classes), tuple(weights.tolist()))

    def _weights(self, balanced: Rows, classes: Sequence[Any]) -> Rows:
        """Of each class, the first axis; by default all are 1."""
        if isinstance(self.class_weight, str):
            return balanced
        given = self.class_weight or {}
        strange = [label for label in given if label not in classes]
        if strange:
            raise InvalidParameter(f"class_weight names {strange[0]!r}; the classes are {listed(classes)}")
        one = np.array([float(given.get(label, 1.0)) for label in classes])
        if not (one > 0).all():
            raise InvalidParameter("class_weight: expected numbers above 0")
        return np.asarray(one.reshape(-1, *[1] * (balanced.ndim - 1)) * np.ones(balanced.shape))

    def _finish(self, outputs: NDArray[np.float32], graphs: GraphSet) -> Rows:
        scores = torch.from_numpy(outputs).double() / self.temperature_
        return (scores.sigmoid() if self._several else torch.softmax(scores, 1)).numpy()

    def _figures(self, predicted: Rows, targets: AnyTargets) -> Epoch:
        if isinstance(targets, TaskTargets):
            areas = [
                roc_auc_score(given[there], found[there])
                for given, found in zip(targets.values.T, predicted.T, strict=True)
                if len(np.unique(given[there := ~np.isnan(given)])) == 2
            ]
            if areas:
                return {ERROR: 1 - float(np.mean(areas)), AREA: float(np.mean(areas))}
            there = ~np.isnan(targets.values)  # few labels may hold two classes in no column
            return {ERROR: float(np.mean((predicted >= 0.5)[there] != targets.values[there]))}
        known = cast(ClassTargets, targets)
        found, given = predicted[known.labelled], known.codes[known.labelled]
        wrong = {ERROR: float(np.mean(found.argmax(axis=1) != given))}
        if len(known.classes) != 2 or len(np.unique(given)) != 2:
            return wrong
        return wrong | {AREA: float(roc_auc_score(given, found[:, 1]))}
