"""InfoGraphRegressor and InfoGraphClassifier: few labels, ensembles, vectors, saving."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from torch import Tensor

from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet, IntArray, align, fingerprint
from infograph.data.labels import (
    ClassTargets,
    Scaler,
    Targets,
    check_unlabelled,
    class_targets,
    constant,
    match_names,
    numeric_targets,
)
from infograph.data.schema import Category
from infograph.errors import InvalidParameter, InvalidTarget, UnknownCategoryWarning
from infograph.estimators.architecture import (
    AnyEncoder,
    Auto,
    EncoderSpec,
    choose_device,
    encoder_spec,
    pretrained,
    schema_for,
)
from infograph.estimators.base import BadRows, GraphPredictor, rows_of, unchanged_on_error
from infograph.estimators.folder import State
from infograph.estimators.infograph import SEED, check_enough, run_settings
from infograph.nn.encoder import GraphEncoder
from infograph.objectives import OBJECTIVES
from infograph.objectives.infograph import MutualInformation
from infograph.objectives.infograph_star import InfoGraphStar
from infograph.objectives.objective import Classification, Objective, Predictor, Regression, Task
from infograph.parameters import check_parameters, frozen
from infograph.progress import Epoch, ProgressReport, Watcher, validation_unit
from infograph.train.checkpoint import FILE, load_weights, member_folder
from infograph.train.loop import AnyBatcher, Plan, Plateau, StepFeed, compute, train

AnyTargets = Targets | ClassTargets
Rows = NDArray[np.float64]
FEWEST = 50  # updates per epoch where a pass over the labelled graphs would be fewer
ELEMENT = "element"  # its categories are the periodic table, so that all sets of molecules look alike


class SemiSupervised(TransformerMixin, GraphPredictor):  # type: ignore[misc]
    """Base of InfoGraphRegressor and InfoGraphClassifier, which say what is predicted."""

    _parameter_constraints = {  # noqa: RUF012 - scikit-learn's form
        "objective": [StrOptions(set(OBJECTIVES)), Objective],
        "dim": [Interval(Integral, 1, None, closed="left")],
        "epochs": [Interval(Integral, 0, None, closed="left")],
        "lr": [Interval(Real, 0, None, closed="neither")],
        "batch_size": [Interval(Integral, 2, None, closed="left")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "schedule": [StrOptions({"plateau"}), HasMethods(["rate"])],
        "early_stopping": [Interval(Integral, 1, None, closed="left"), None],
        "steps_per_epoch": [Interval(Integral, 1, None, closed="left"), None],
        "n_models": [Interval(Integral, 1, None, closed="left")],
        "random_state": [SEED],
    }
    history_: list[Epoch]
    models_: list[Predictor]
    encoder_: EncoderSpec
    _elements: list[str]

    def __init__(
        self,
        objective: str | Objective = "infograph*",
        encoder: AnyEncoder = "auto",
        dim: int = 128,
        *,
        epochs: int = 50,
        lr: float = 1e-3,
        batch_size: int = 20,
        weight_decay: float = 0.0,
        schedule: str | Plateau = "plateau",
        early_stopping: int | None = 50,
        steps_per_epoch: int | None = None,
        n_models: int = 1,
        init_from: Any = None,
        node_columns: Sequence[str] | None = None,
        edge_columns: Sequence[str] | None = None,
        unlabelled: Category | None = None,
        device: str = "auto",
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self.objective = objective
        self.encoder = encoder
        self.dim = dim
        self.epochs = epochs
        self.lr = lr
        self.batch_size = batch_size
        self.weight_decay = weight_decay
        self.schedule = schedule
        self.early_stopping = early_stopping
        self.steps_per_epoch = steps_per_epoch
        self.n_models = n_models
        self.init_from = init_from
        self.node_columns = node_columns
        self.edge_columns = edge_columns
        self.unlabelled = unlabelled
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def paper(cls, **changed: Any) -> Self:
        """With the paper's settings, whatever today's defaults are; 500 epochs take long."""
        information = MutualInformation("jsd", "paper", weighting="graph", patches="all", prior=0.0)
        given: dict[str, Any] = {
            "objective": InfoGraphStar(1e-3, "random", "graph", False, information),
            "encoder": Auto(layers=None, readout="sum", norm=True, learn_eps=False, node_features="auto"),
            "schedule": Plateau(factor=0.7, patience=5, floor=1e-6),
        }
        given |= {"dim": 128, "epochs": 500, "lr": 1e-3, "batch_size": 20, "weight_decay": 0.0}
        return cls(**{**given, **changed})

    def _parts(self) -> dict[str, Any]:
        objective = OBJECTIVES[self.objective]() if isinstance(self.objective, str) else self.objective
        schedule = Plateau() if isinstance(self.schedule, str) else self.schedule
        return {"encoder": encoder_spec(self.encoder), "objective": objective, "schedule": schedule}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    # ---- what regression and classification differ in

    def _start(self, targets: AnyTargets, labelled: IntArray) -> tuple[Tensor, Task]:
        """Remember the targets; what a network is to learn, scaled by the labelled graphs, and the task."""
        raise NotImplementedError

    def _finish(self, outputs: NDArray[np.float32]) -> Rows:
        """What a network gives -> numbers in the targets' units, or probabilities."""
        raise NotImplementedError

    def _figures(self, predicted: Rows, targets: AnyTargets) -> Epoch:
        """How good predictions are, with the error to go by as "validation"."""
        raise NotImplementedError

    # ---- learning

    def fit(
        self,
        graphs: Any,
        y: Any = None,
        *,
        validation: float | tuple[Any, Any] | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        watchers: Sequence[Watcher] = (),
    ) -> Self:
        """Learn from labelled and unlabelled graphs.

        Args:
            graphs: anything `InfoGraph` accepts, the unlabelled graphs included.
            y: one value (or row of values) per graph, NaN or None where unlabelled; or the name of a graph
                column; None for the column "y".
            validation: `(graphs, y)` to choose the best epoch and the learning rate by, or the share of the
                labelled graphs that is held out for that. None keeps the last epoch.
            checkpoint: a folder that gets the state after every epoch.
            resume: continue from that folder to the weights an uninterrupted run would have.
            watchers: called after every update with where the run stands.
        """
        check_parameters(self)
        check_unlabelled(self.unlabelled)
        with unchanged_on_error(self):
            known, make_encoder = self._read(graphs)
            targets = self._targets(y, known)
            labelled, everyone, judge = self._divide(known, targets, validation)
            values, task = self._start(targets, labelled)
            data = Data(known, labelled, everyone, values, task, targets.checksum)
            self.models_, self.history_, self._elements = [], [], elements_of(known)
            for member in range(self.n_models):
                run = _Member(self, member, data, judge, make_encoder)
                history = run.train(checkpoint, resume, watchers)
                extra = {"model": float(member + 1)} if self.n_models > 1 else {}
                self.history_ += [{**extra, **record} for record in history]
        return self

    def _read(self, graphs: Any) -> tuple[GraphSet, Callable[[], GraphEncoder]]:
        """The graphs, and what makes encoders for them; remembers schema and encoder."""
        start = pretrained(self.init_from)
        if start is not None:
            known = as_graphset(graphs, schema=start.schema)
            self.schema_, self.encoder_, self._built_dim = start.schema, start.encoder, start.dim
            return known, start.build
        read = as_graphset(graphs, node=self.node_columns, edge=self.edge_columns)
        encoder = encoder_spec(self.encoder).resolved(read)
        check_parameters(encoder)
        known = align(read, schema_for(encoder, read, self.node_columns, self.edge_columns))
        schema, dim = known.schema.replace("graph", ()), self.dim
        self.schema_, self.encoder_, self._built_dim = schema, frozen(encoder), dim
        return known, lambda: encoder.build(schema, dim)

    def _divide(
        self,
        graphs: GraphSet,
        targets: AnyTargets,
        validation: float | tuple[Any, Any] | None,
    ) -> tuple[IntArray, IntArray, Validation | None]:
        """Positions of the labelled graphs and of all to learn from, and the graphs to judge by."""
        labelled, everyone = np.flatnonzero(targets.labelled), np.arange(len(graphs))
        check_enough(graphs)
        if validation is None:
            return labelled, everyone, None
        if isinstance(validation, tuple) and len(validation) == 2:
            held_out = as_graphset(validation[0], schema=self.schema_)
            wanted = self._targets_like(targets, validation[1], held_out)
        else:
            chosen = _hold_out(validation, targets, labelled, self.random_state)
            labelled, everyone = np.setdiff1d(labelled, chosen), np.setdiff1d(everyone, chosen)
            held_out, wanted = graphs[chosen], targets.of(chosen)
        figures = lambda outputs: self._figures(self._finish(outputs), wanted)  # noqa: E731
        return labelled, everyone, Validation(held_out, figures, wanted.checksum)

    def _targets_like(self, targets: AnyTargets, y: Any, graphs: GraphSet) -> AnyTargets:
        """The targets of validation graphs."""
        raise NotImplementedError

    # ---- predictions and vectors

    def _members(self, graphs: GraphSet) -> NDArray[np.float64]:
        """What every network predicts for graphs that fit the schema. (M, G, T) or (M, G, C)."""
        source = self._source(graphs)
        return np.stack([self._finish(compute(model, source, model)) for model in self.models_])

    def _outputs(self, graphs: GraphSet) -> Rows:
        return np.asarray(self._members(graphs).mean(axis=0))

    def _with_spread(self, graphs: Any, errors: BadRows) -> tuple[Rows, Rows]:
        """The mean of all networks' predictions, and their standard deviation."""
        self._check_fitted()
        if len(self.models_) < 2:
            raise InvalidParameter(
                "return_std=True: there is one network and so no spread; fit with n_models=5, for instance"
            )

        def both(known: GraphSet) -> Rows:
            members = self._members(known)
            return np.hstack([members.mean(axis=0), members.std(axis=0, ddof=1)])

        rows = self._rows(graphs, errors, both, 2 * self._n_outputs)
        return rows[:, : self._n_outputs], rows[:, self._n_outputs :]

    def transform(self, graphs: Any, *, errors: BadRows = "raise") -> NDArray[np.float32]:
        """One vector per graph, that of the first network's encoder. (G, dim).

        Args:
            graphs: anything `fit` accepts.
            errors: at a bad graph "raise", "skip" its row, or keep the row's place with "nan".
        """
        self._check_fitted()
        width = self._encoder.dim
        rows = rows_of(graphs, self.schema_, self._vectors, width=width, errors=errors, what="vector")
        return rows.astype(np.float32, copy=False)

    def _vectors(self, graphs: GraphSet) -> NDArray[np.float32]:
        model = self.models_[0]
        return compute(model, self._source(graphs), lambda batch: model.encode(batch).vectors[batch.which])

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """`infographregressor0` ... as scikit-learn asks for it."""
        self._check_fitted()
        prefix = type(self).__name__.lower()
        return np.array([f"{prefix}{place}" for place in range(self._encoder.dim)], dtype=object)

    @property
    def _n_features_out(self) -> int:
        return self._encoder.dim

    @property
    def _encoder(self) -> GraphEncoder:
        return self.models_[0].encoder

    def _source(self, graphs: GraphSet) -> AnyBatcher:
        warn_of_unseen(graphs, self._elements)
        made: AnyBatcher = self._encoder.source(graphs, choose_device(self.device))
        return made

    # ---- saving

    def _state(self) -> State:
        return {
            f"{member}.{name}": tensor.cpu().numpy()
            for member, model in enumerate(self.models_)
            for name, tensor in model.state_dict().items()
        }

    def _set_state(self, state: State) -> None:
        check_parameters(self)
        self.encoder_, self._built_dim, self.models_ = encoder_spec(self.encoder), self.dim, []
        for member in range(self.n_models):
            encoder = self.encoder_.build(self.schema_, self.dim)
            model = Predictor(encoder, self._n_outputs).to(choose_device(self.device)).eval()
            own = {n.removeprefix(f"{member}."): v for n, v in state.items() if n.startswith(f"{member}.")}
            load_weights(model, {name: torch.from_numpy(np.array(value)) for name, value in own.items()})
            self.models_.append(model)

    def _learned(self) -> dict[str, Any]:
        return {**super()._learned(), "elements": self._elements}

    def _set_learned(self, learned: dict[str, Any]) -> None:
        super()._set_learned(learned)
        self._elements = list(learned["elements"])

    def _fitted_settings(self) -> dict[str, Any]:
        built = {"encoder": self.encoder_, "dim": self._built_dim, "init_from": None}
        return {**super()._fitted_settings(), **built, "n_models": len(self.models_)}


def _hold_out(share: float, targets: AnyTargets, labelled: IntArray, seed: int) -> IntArray:
    """Some of the labelled graphs, drawn at random; of classes about the same share each, never all."""
    if isinstance(share, bool) or not isinstance(share, Real) or not 0 < share < 1:
        shown = repr(share) if isinstance(share, Real | str) else f"a {type(share).__name__}"
        raise InvalidParameter(
            f"validation is {shown}: expected a tuple (graphs, y), or the share of the labelled graphs, such "
            f"as 0.1"
        )
    count = max(1, round(float(share) * len(labelled)))
    order = np.random.default_rng([seed, len(labelled)]).permutation(labelled)
    if isinstance(targets, ClassTargets):
        order = _spread(order, targets.codes[order])
    if len(order) < count or len(labelled) - count < 2:
        raise InvalidTarget(
            f"validation={share}: {len(labelled)} labelled graphs are too few to hold {count} of them out"
        )
    return np.sort(order[:count])


def _spread(order: IntArray, codes: IntArray) -> IntArray:
    """Graphs in an order in which classes take turns by their size, without the last one of each class."""
    rank, size = np.empty(len(codes)), np.empty(len(codes))
    for code in np.unique(codes):
        own = np.flatnonzero(codes == code)
        rank[own], size[own] = np.arange(len(own)), len(own)
    turn = (rank + 0.5) / size
    kept = np.argsort(turn, kind="stable")
    return order[kept[rank[kept] < size[kept] - 1]]


class InfoGraphRegressor(SemiSupervised):
    """Numbers of graphs, learned from some labelled and many unlabelled ones (Sun et al., ICLR 2020).

        model = InfoGraphRegressor().fit(molecules, logS)  # NaN where logS was not measured
        model.predict(["CCO", "c1ccccc1"])

    The loss is the mean squared error of targets scaled to mean 0 and variance 1 by the labelled training
    graphs alone; predictions are in the targets' own units. `y` may have several columns, with gaps anywhere.

    Args:
        objective: "infograph*" or `InfoGraphStar(lam=1e-4, ...)` (Eq. 7-8), "infograph" or
            `InfoGraphWithLabels(...)` (Eq. 6), "mean-teacher" or `MeanTeacher(...)`, "supervised", as the
            paper compares them; from its Appendix B "pi-model", "vat", and for classes "pseudo-label",
            "entropy"; or one of your own, see `infograph.objectives.objective`.
        encoder: "auto" takes "enn-s2s" (the paper's encoder of molecules) for graphs with coordinates or
            continuous edge features and "gin" (GINE where edges have columns) otherwise, and for graphs of
            more than 200 nodes or with edge weights, with a warning; or an object or module, see `InfoGraph`.
        dim: length of graph vectors; enn-s2s has node states of half of it, 64 in the paper's code.
        epochs: at most so many; 500 in the paper, 50 here.
        lr: Adam's learning rate at the start; 1e-3 in the paper.
        batch_size: labelled graphs per update, and as many unlabelled; 20 in the paper.
        weight_decay: Adam's L2 penalty; the paper searches 0, 1e-3, 1e-4.
        schedule: how the learning rate falls: "plateau", or `Plateau(factor=0.7, patience=5)`.
        early_stopping: epochs without improvement on the validation graphs after which training ends; None
            for never. Improvement without validation graphs is that of the loss, and nothing ends early.
        steps_per_epoch: updates per epoch; None for one pass over the labelled graphs, at least 50.
        n_models: networks that are trained, from seeds `random_state`, `random_state + 1` ...; predictions
            are their mean, and `return_std` gives their spread.
        init_from: a fitted InfoGraph, InfoGraphRegressor or InfoGraphClassifier, or the folder of one, whose
            encoder (architecture, columns and weights) is the start; its settings here are ignored.
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


class InfoGraphClassifier(SemiSupervised):
    """Classes of graphs, learned from some labelled and many unlabelled ones (Sun et al., ICLR 2020).

        model = InfoGraphClassifier().fit(graphs, labels)  # None where the class is not known
        model.predict(graphs)

    The loss is the cross-entropy. A -1 among the labels raises unless `unlabelled=-1` says what it means.

    Args:
        objective: "infograph*" or `InfoGraphStar(lam=1e-4, ...)` (Eq. 7-8), "infograph" or
            `InfoGraphWithLabels(...)` (Eq. 6), "mean-teacher" or `MeanTeacher(...)`, "supervised", as the
            paper compares them; from its Appendix B "pi-model", "vat", and for classes "pseudo-label",
            "entropy"; or one of your own, see `infograph.objectives.objective`.
        encoder: "auto" takes "enn-s2s" (the paper's encoder of molecules) for graphs with coordinates or
            continuous edge features and "gin" (GINE where edges have columns) otherwise, and for graphs of
            more than 200 nodes or with edge weights, with a warning; or an object or module, see `InfoGraph`.
        dim: length of graph vectors; enn-s2s has node states of half of it, 64 in the paper's code.
        epochs: at most so many; 500 in the paper, 50 here.
        lr: Adam's learning rate at the start; 1e-3 in the paper.
        batch_size: labelled graphs per update, and as many unlabelled; 20 in the paper.
        weight_decay: Adam's L2 penalty; the paper searches 0, 1e-3, 1e-4.
        schedule: how the learning rate falls: "plateau", or `Plateau(factor=0.7, patience=5)`.
        early_stopping: epochs without improvement on the validation graphs after which training ends; None
            for never. Improvement without validation graphs is that of the loss, and nothing ends early.
        steps_per_epoch: updates per epoch; None for one pass over the labelled graphs, at least 50.
        n_models: networks that are trained, from seeds `random_state`, `random_state + 1` ...; predictions
            are their mean, and `return_std` gives their spread.
        init_from: a fitted InfoGraph, InfoGraphRegressor or InfoGraphClassifier, or the folder of one, whose
            encoder (architecture, columns and weights) is the start; its settings here are ignored.
        node_columns, edge_columns: what the encoder sees, see `InfoGraph`.
        unlabelled: one more value of `y` that means unlabelled, such as -1.
        device: "auto" takes a GPU if there is one; or any torch device.
        random_state: seed of weights, batches and noise.
        verbose: show progress on standard error.

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


@dataclass(frozen=True)
class Data:
    """What is learned from.

    Attributes:
        graphs: all graphs.
        labelled: positions of those whose labels are learned.
        everyone: positions of those that are learned from without labels, the labelled ones included.
        values: (G, T) standardised numbers or (G,) classes.
        task: what kind of values these are.
        checksum: of the labels as they were given.
    """

    graphs: GraphSet
    labelled: IntArray
    everyone: IntArray
    values: Tensor
    task: Task
    checksum: str


@dataclass(frozen=True)
class Validation:
    """Graphs that no network learns from, the figures of predictions for them, and their labels' checksum."""

    graphs: GraphSet
    figures: Callable[[NDArray[np.float32]], Epoch]
    checksum: str

    @property
    def identity(self) -> dict[str, Any]:
        """What a resumed run must have, too."""
        return {
            "validation graphs": len(self.graphs),
            "checksum of the validation": fingerprint(self.graphs),
            "checksum of the validation labels": self.checksum,
        }


class _Member:
    """One network of an estimator, from settings and data to trained weights."""

    def __init__(
        self,
        estimator: SemiSupervised,
        member: int,
        data: Data,
        validation: Validation | None,
        make_encoder: Callable[[], GraphEncoder],
    ) -> None:
        self.objective = estimator._parts()["objective"]
        if self.objective.for_classes and isinstance(data.task, Regression):
            raise InvalidParameter(
                f"objective={estimator.objective!r} is for classes: use InfoGraphClassifier, or another "
                f"objective for numbers"
            )
        self.estimator, self.member, self.data, self.validation = estimator, member, data, validation
        self.seed, self.device = estimator.random_state + member, choose_device(estimator.device)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            make = lambda: Predictor(make_encoder(), data.task.n_outputs)  # noqa: E731
            self.network = self.objective.build(make, data.task).to(self.device)
        self.result: Any = self.network[self.objective.predicts]
        self.result.encoder.check_sees(estimator.schema_)
        estimator.models_.append(self.result)

    def train(self, checkpoint: str | Path | None, resume: bool, watchers: Sequence[Watcher]) -> list[Epoch]:
        """Train, and give the history."""
        estimator, objective, net, task = self.estimator, self.objective, self.network, self.data.task
        optimiser = torch.optim.Adam(
            [p for p in net.parameters() if p.requires_grad],
            lr=estimator.lr,
            weight_decay=estimator.weight_decay,
            fused=True,
        )
        unit = validation_unit(estimator.target_units_, classes=hasattr(estimator, "classes_"))
        with ProgressReport(unit=unit) if estimator.verbose else nullcontext() as report:
            return train(
                net,
                optimiser,
                self._feed(),
                self._plan(checkpoint, resume),
                loss=lambda step: objective.loss(net, step, task),
                after_update=lambda number: objective.after_update(net, number),
                watchers=[*watchers] if report is None else [report, *watchers],
                model=estimator,
            )

    def _feed(self) -> StepFeed:
        data, estimator = self.data, self.estimator
        one_pass = -(-len(data.labelled) // estimator.batch_size)
        return StepFeed(
            self.result.encoder.source(data.graphs, self.device),
            data.values.to(self.device),
            data.labelled,
            data.everyone,
            estimator.batch_size,
            estimator.steps_per_epoch or max(one_pass, FEWEST),
            self.seed,
            self.objective.needs_unlabelled,
        )

    def _plan(self, checkpoint: str | Path | None, resume: bool) -> Plan:
        estimator, data, held_out = self.estimator, self.data, self.validation
        plan = Plan(
            estimator.epochs,
            self.seed,
            resume=resume,
            schedule=estimator._parts()["schedule"],
            lr=estimator.lr,
            stop_after=estimator.early_stopping if held_out is not None else None,
            validate=None if held_out is None else self._validate(held_out),
        )
        if checkpoint is None:
            return plan
        folder = Path(checkpoint)
        if estimator.n_models > 1:
            folder = folder / member_folder(self.member)
            resume = resume and (self.member == 0 or (folder / FILE).is_file())
        identity = {
            **run_settings(estimator),
            "graphs": len(data.graphs),
            "labelled graphs": len(data.labelled),
            "checksum of the graphs": fingerprint(data.graphs),
            "checksum of the labels": data.checksum,
            **({"validation graphs": 0} if held_out is None else held_out.identity),
        }
        return replace(plan, checkpoint=folder, resume=resume, identity=identity)

    def _validate(self, held_out: Validation) -> Callable[[], Epoch]:
        source = self.result.encoder.source(held_out.graphs, self.device)
        return lambda: held_out.figures(compute(self.result, source, self.result))


def elements_of(graphs: GraphSet) -> list[str]:
    """The elements that occur in molecules an encoder sees them of; none in other graphs."""
    column = graphs.schema.column("node", ELEMENT)
    if column is None or not column.used or column.kind != "categorical":
        return []
    found = np.unique(graphs.node[ELEMENT])
    return [str(column.categories[code]) for code in found.tolist() if code != column.unknown]


def warn_of_unseen(graphs: GraphSet, seen: list[str]) -> None:
    """One `UnknownCategoryWarning` for all elements that are not among those of the training."""
    unseen = [element for element in elements_of(graphs) if element not in seen]
    if unseen:
        warnings.warn(
            f"no training molecule has the element {', '.join(unseen)}: predictions for molecules with it "
            f"are guesses; train with some of them, labelled or not (the training had {', '.join(seen)})",
            UnknownCategoryWarning,
            stacklevel=2,
        )
