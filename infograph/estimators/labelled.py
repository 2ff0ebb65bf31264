"""Learning from few labels: networks, or a simple head on vectors; ensembles, vectors, saving."""

from __future__ import annotations

import copy
import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from numbers import Integral, Real
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from torch import Tensor

from infograph.data.convert import as_graphset
from infograph.data.fingerprints import descriptor_names, morgan_fingerprints, rdkit_descriptors
from infograph.data.graphset import GraphSet, IntArray, fingerprint
from infograph.data.labels import (
    ClassTargets,
    Targets,
    check_unlabelled,
)
from infograph.data.molecules import SMILES
from infograph.data.schema import Category
from infograph.errors import InvalidParameter, InvalidTarget, UnknownCategoryWarning
from infograph.estimators.architecture import AnyEncoder, Auto, choose_device, encoder_spec, fitted_model
from infograph.estimators.base import BadRows, GraphPredictor
from infograph.estimators.folder import State
from infograph.estimators.infograph import SEED, GraphNetwork, InfoGraph, check_enough
from infograph.estimators.offset import Offset
from infograph.estimators.removal import contributions
from infograph.nn.encoder import GraphEncoder
from infograph.objectives import OBJECTIVES
from infograph.objectives.infograph import MutualInformation
from infograph.objectives.infograph_star import InfoGraphStar
from infograph.objectives.objective import Objective, Predictor, Regression, Task
from infograph.objectives.vectors import Vectors, read_head
from infograph.parameters import changed, check_parameters, frozen
from infograph.progress import (
    AREA,
    ERROR,
    WRONG,
    Epoch,
    ProgressReport,
    Watcher,
    figure_text,
    least_error,
    validation_unit,
)
from infograph.train.checkpoint import FILE, MEMBER, check_weights, load_weights
from infograph.train.loop import Cosine, Plateau, compute, own_noise, step_loader, train

AnyTargets = Targets | ClassTargets
Rows = NDArray[np.float64]
NETWORK = "infograph*"  # that objective="auto" tries beside "vectors"
CLEARLY = 0.9  # of the error of vectors, at most, where a network is chosen instead
HELD_OUT = 0.2  # of the labelled graphs, to choose by
MOST_FITTED = 20_000  # graphs for an encoder of vectors that is fitted without labels
AS_LEARNED = {"hydrogens": False, "stereo": False}  # how molecules are for the pre-trained model
SEEN = 0.8  # of the labelled graphs, by each head of an ensemble
FEWEST = 50  # updates per epoch where a pass over the labelled graphs would be fewer
BATCHES = (20, 128)  # labelled graphs per update, at least and at most
SCHEDULES: dict[str, Any] = {"cosine": Cosine, "plateau": Plateau}
ELEMENT = "element"  # its categories are the periodic table, so that all sets of molecules look alike


class Data(NamedTuple):
    """What a network learns from."""

    graphs: GraphSet
    values: Tensor  # (G, T) or (G,)
    labelled: IntArray
    everyone: IntArray  # who is learned from without labels


class Judged(NamedTuple):
    """What networks give for graphs that they did not learn from."""

    graphs: GraphSet
    targets: AnyTargets
    outputs: NDArray[Any]  # (M, G, T) or (M, G, C)


class SemiSupervised(GraphNetwork, GraphPredictor):
    """Base of InfoGraphRegressor and InfoGraphClassifier, which say what is predicted."""

    _parameter_constraints = {  # noqa: RUF012 - scikit-learn's form
        "objective": [StrOptions({"auto", *OBJECTIVES}), Objective],
        "dim": [Interval(Integral, 1, None, closed="left")],
        "epochs": [Interval(Integral, 0, None, closed="left")],
        "lr": [Interval(Real, 0, None, closed="neither")],
        "batch_size": [StrOptions({"auto"}), Interval(Integral, 2, None, closed="left")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "schedule": [StrOptions({*SCHEDULES}), HasMethods(["rate"])],
        "early_stopping": [Interval(Integral, 1, None, closed="left"), None],
        "steps_per_epoch": [Interval(Integral, 1, None, closed="left"), None],
        "n_models": [Interval(Integral, 1, None, closed="left")],
        "offset": [StrOptions({"auto"}), None],
        "class_weight": [StrOptions({"balanced"}), Mapping, None],
        "random_state": [SEED],
    }
    models_: list[Predictor]
    n_labelled_: int = 0  # of the n_graphs_; those held out for validation are not counted
    chosen_: str = ""  # by objective="auto"
    errors_: dict[str, float]  # on graphs that were held out, by which it was
    offset_: Offset | None = None
    inputs_: str = ""  # of the head of vectors ...
    head_: str = ""  # ... and its kind
    heads_: dict[str, float]  # the share of the variance that each of them missed, by which it was chosen
    _descriptors: tuple[str, ...] = ()
    _elements: list[str]

    def __init__(
        self,
        objective: str | Objective = "auto",
        encoder: AnyEncoder = "auto",
        dim: int = 128,
        *,
        epochs: int = 30,
        lr: float = 1e-3,
        batch_size: int | Literal["auto"] = "auto",
        weight_decay: float = 0.0,
        schedule: str | Plateau | Cosine = "plateau",
        early_stopping: int | None = 50,
        steps_per_epoch: int | None = None,
        n_models: int = 1,
        init_from: Any = None,
        offset: Literal["auto"] | None = "auto",
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
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
        self.offset = offset
        self.class_weight = class_weight
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
            "dim": 128,
            "epochs": 500,
            "lr": 1e-3,
            "batch_size": 20,
            "weight_decay": 0.0,
            "offset": None,
        }
        return cls(**{**given, **changed})

    def _parts(self) -> dict[str, Any]:
        name = self.chosen_ or NETWORK if self.objective == "auto" else self.objective
        objective = OBJECTIVES[name]() if isinstance(name, str) else name
        schedule = SCHEDULES[self.schedule]() if isinstance(self.schedule, str) else self.schedule
        return {"encoder": encoder_spec(self.encoder), "objective": objective, "schedule": schedule}

    # ---- what regression and classification differ in

    def _learnable(self, targets: AnyTargets, labelled: IntArray) -> tuple[Tensor, Task]:
        """Remember the targets; what a network is to learn, scaled by the labelled graphs, and the task."""
        raise NotImplementedError

    def _targets_like(self, targets: AnyTargets, y: Any, graphs: GraphSet) -> AnyTargets:
        """The targets of validation graphs."""
        raise NotImplementedError

    def _finish(self, outputs: NDArray[np.float32], graphs: GraphSet) -> Rows:
        """What a network gives for graphs -> numbers in the targets' units, or probabilities."""
        raise NotImplementedError

    def _offset_of(self, graphs: GraphSet, targets: AnyTargets, labelled: IntArray) -> Offset | None:
        """What is known of the targets before a network learns; nothing."""

    def _calibrate(self, judged: Judged, graphs: GraphSet) -> None:
        """Keep what networks give for graphs that they did not learn from; beside them those they did."""
        raise NotImplementedError

    def _forget(self) -> None:
        """Be as before the first `fit` in all that it may leave unset."""
        self.chosen_, self.errors_, self.inputs_, self.head_, self.heads_ = "", {}, "", "", {}

    def _rest(self, targets: AnyTargets, graphs: GraphSet) -> AnyTargets:
        """What is left of the targets."""
        if self.offset_ is None or isinstance(targets, ClassTargets):
            return targets
        return replace(targets, values=targets.values - self.offset_.predict(graphs))

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
        self._forget()
        if self.objective == "auto":
            return self._choose(
                graphs, y, validation, {"checkpoint": checkpoint, "resume": resume, "watchers": watchers}
            )
        known, make_encoder = self._start(graphs, watchers)
        targets = self._targets(y, check_enough(known))
        labelled, everyone = np.flatnonzero(targets.labelled), np.arange(len(known))
        held_out: tuple[GraphSet, AnyTargets] | None = None
        if isinstance(validation, tuple) and len(validation) == 2:
            given = as_graphset(validation[0], schema=self.schema_)
            held_out = given, self._targets_like(targets, validation[1], given)
        elif validation is not None:
            chosen = _hold_out(validation, targets, labelled, self.random_state)
            labelled, everyone = np.setdiff1d(labelled, chosen), np.setdiff1d(everyone, chosen)
            held_out = known[chosen], targets.of(chosen)
        self.offset_ = self._offset_of(known, targets, labelled)
        values, task = self._learnable(self._rest(targets, known), labelled)
        keep: dict[str, Any] = {"checkpoint": checkpoint, "resume": resume, "identity": {}}
        if checkpoint is not None:
            identity = self._run_settings() | {"labelled graphs": len(labelled)}
            for name, each in (("training", (known, targets)), ("validation", held_out)):
                if each is not None:
                    identity[f"{name} graphs"] = len(each[0])
                    identity[f"checksum of the {name} graphs"] = fingerprint(each[0])
                    identity[f"checksum of the {name} labels"] = each[1].checksum
            keep["identity"] = identity
        self.models_, self.history_, self._elements = [], [], elements_of(known)
        self.n_graphs_, self.n_labelled_ = len(known), len(labelled)
        self._unseen: tuple[IntArray, Rows] | None = None
        for member in range(self.n_models):
            data = Data(known, values, labelled, everyone)
            history = self._train(member, make_encoder, task, data, held_out, watchers, **keep)
            extra = {"model": float(member + 1)} if self.n_models > 1 else {}
            self.history_ += [{**extra, **record} for record in history]
        if self._unseen is not None:
            rows, unseen = self._unseen
            self._calibrate(Judged(known[rows], targets.of(rows), unseen[None]), known[rows])
        elif held_out is not None:
            outputs = np.stack([self._network_outputs(model, held_out[0]) for model in self.models_])
            self._calibrate(Judged(*held_out, outputs), known[everyone])
        del self._unseen
        return self

    def _choose(self, graphs: Any, y: Any, validation: Any, keep: dict[str, Any]) -> Self:
        """Fit both, hold some labelled graphs out, and be the network where it has clearly less error."""
        held_out, fitted = HELD_OUT if validation is None else validation, {}  # type: Any, dict[str, Self]
        simple = changed(self, {"objective": "vectors"})
        simple.init_from = simple._donor(graphs, keep["watchers"])  # is fitted once
        fitted["vectors"] = copy.copy(simple).fit(graphs, y, validation=held_out)
        network = changed(self, {"objective": NETWORK})
        fitted[NETWORK] = network.fit(graphs, y, validation=held_out, **keep)
        errors = {name: _choosing_error(model.history_) for name, model in fitted.items()}
        chosen = NETWORK if errors[NETWORK] < CLEARLY * errors["vectors"] else "vectors"
        best = fitted[chosen]
        if best.inputs_ and validation is None:  # nothing is left to choose: learn from all
            best = simple.fit(graphs, y)
        settings = self.get_params(deep=False)
        for name, value in vars(best).items():
            if name not in settings:
                setattr(self, name, value)
        self.chosen_, self.errors_ = chosen, errors
        return self

    def _start(self, graphs: Any, watchers: Sequence[Watcher]) -> tuple[GraphSet, Callable[[], GraphEncoder]]:
        """The graphs, and what makes encoders for them; remembers schema and encoder."""
        start = self._donor(graphs, watchers)
        if start is None:
            known, encoder = self._read(graphs)
            schema = known.schema.replace("graph", ())
            self.schema_, self.encoder_ = schema, frozen(encoder)
            return known, lambda: encoder.build(schema, self.dim)
        schema, encoder, dim = start.schema_, start.encoder_, start._encoder.dim
        weights = {name: tensor.detach().clone() for name, tensor in start._encoder.state_dict().items()}
        self.schema_, self.encoder_ = schema, encoder

        def copied() -> GraphEncoder:
            made: GraphEncoder = encoder.build(schema, dim)
            load_weights(made, weights)
            return made

        return as_graphset(graphs, schema=schema), copied

    def _donor(self, graphs: Any, watchers: Sequence[Watcher]) -> Any:
        """The fitted model whose encoder is the start; None for an encoder with fresh weights."""
        if self.init_from is not None:
            return fitted_model(self.init_from)
        if not isinstance(self._parts()["objective"], Vectors):
            return None
        known = as_graphset(graphs, node=self.node_columns)
        if self.node_columns is None and AS_LEARNED.items() <= dict(known.schema.options).items():
            model = InfoGraph.from_pretrained("molecules")
            model.schema_ = replace(model.schema_, options=known.schema.options)  # salts as they are here
            return model
        beside = ("encoder", "node_columns", "edge_columns", "device", "random_state", "verbose")
        some = np.sort(np.random.default_rng(self.random_state).permutation(len(known))[:MOST_FITTED])
        return InfoGraph(**{name: getattr(self, name) for name in beside}).fit(known[some], watchers=watchers)

    def _solve(
        self, predictor: Predictor, objective: Vectors, task: Task, data: Data, held_out: Any, seed: int
    ) -> list[Epoch]:
        """Fit the head of a predictor whose encoder stays as it is; the history has one record."""
        began, rows = time.perf_counter(), data.labelled
        if self.n_models > 1:  # networks of an ensemble differ in the labels that they see
            few = np.random.default_rng(seed).permutation(rows)[: max(2, round(SEEN * len(rows)))]
            rows = np.sort(few)
        learned, values = data.graphs[rows], data.values[rows].cpu().numpy()
        molecules = learned.schema.column("graph", SMILES.name) is not None
        if not self.inputs_:  # the first network chooses for all
            self._descriptors = descriptor_names() if "descriptors" in objective.needs(molecules) else ()
        else:
            objective = replace(objective, inputs=self.inputs_, head=cast(Any, self.head_))
        parts = {part: self._input(part, learned, predictor.encoder) for part in objective.needs(molecules)}
        solved = objective.solve(parts, values, task, seed)
        predictor.head = solved.head.to(choose_device(self.device)).eval()
        self.inputs_, self.head_ = solved.inputs, solved.kind
        self._unseen = self._unseen or (rows, solved.unseen)
        record: Epoch = {"epoch": 1, "loss": min(solved.errors.values())}
        self.heads_ = self.heads_ or solved.errors
        if held_out is not None:
            outputs = self._network_outputs(predictor, held_out[0])
            record |= self._figures(self._finish(outputs, held_out[0]), held_out[1])
        return [{**record, "seconds": time.perf_counter() - began}]

    def _input(self, part: str, graphs: GraphSet, encoder: GraphEncoder) -> NDArray[Any]:
        """One of the inputs of a head, for every graph. (G, F)."""
        if part == "fingerprints":
            return np.log1p(morgan_fingerprints(graphs, counts=True).astype(np.float32))
        if part == "descriptors":
            found = rdkit_descriptors(graphs, self._descriptors)
            return np.asarray(np.sign(found) * np.log1p(np.abs(found)))
        encode = lambda batch: encoder.vectors(encoder(batch), batch)[batch.which]  # noqa: E731
        return compute(encoder, encoder.source(graphs, choose_device(self.device)), encode)

    def _network_outputs(
        self, model: Predictor, graphs: GraphSet, given: Mapping[str, NDArray[Any]] = MappingProxyType({})
    ) -> NDArray[np.float32]:
        """What a network gives for graphs; inputs of a head that are `given` are not made."""
        if not self.inputs_:
            return compute(model, self._source(graphs), model)
        asked = self.inputs_.split("+")
        rows = [given[p] if p in given else self._input(p, graphs, model.encoder) for p in asked]
        with torch.no_grad():
            table = torch.from_numpy(np.hstack(rows).astype(np.float32)).to(choose_device(self.device))
            return np.asarray(model.head(table).cpu().numpy())

    def _train(
        self,
        member: int,
        make_encoder: Callable[[], GraphEncoder],
        task: Task,
        data: Data,
        held_out: tuple[GraphSet, AnyTargets] | None,
        watchers: Sequence[Watcher],
        checkpoint: str | Path | None,
        resume: bool,
        identity: dict[str, Any],
    ) -> list[Epoch]:
        """Train one network and give its history."""
        parts, seed, device = self._parts(), self.random_state + member, choose_device(self.device)
        objective, schedule = parts["objective"], parts["schedule"]
        if objective.for_classes and isinstance(task, Regression):
            raise InvalidParameter(f"objective={self.objective!r} is for classes: use InfoGraphClassifier")
        if isinstance(objective, Vectors):
            self.models_.append(Predictor(make_encoder(), task.n_outputs).to(device).eval())
            return self._solve(self.models_[-1], objective, task, data, held_out, seed)
        with own_noise(seed):
            make = lambda: Predictor(make_encoder(), task.n_outputs)  # noqa: E731
            network = objective.build(make, task).to(device)
        predictor: Any = network[objective.predicts]
        predictor.encoder.check_sees(self.schema_)
        self.models_.append(predictor)
        size, usual = self.batch_size, min(max(BATCHES[0], len(data.labelled) // FEWEST), BATCHES[1])
        size = usual if isinstance(size, str) else size
        loader = step_loader(
            predictor.encoder.source(data.graphs, device),
            data.values.to(device),
            data.labelled,
            data.everyone if objective.needs_unlabelled else data.everyone[:0],
            batch_size=size,
            n_updates=self.steps_per_epoch or max(-(-len(data.labelled) // size), FEWEST),
            seed=seed,
        )
        validate: Callable[[], Epoch] | None = None
        if held_out is not None:
            judged = predictor.encoder.source(held_out[0], device)

            def validate() -> Epoch:
                outputs = compute(predictor, judged, predictor)
                return self._figures(self._finish(outputs, held_out[0]), held_out[1])

        if checkpoint is not None and self.n_models > 1:
            checkpoint = Path(checkpoint) / MEMBER.format(member + 1)
            resume = resume and (member == 0 or (checkpoint / FILE).is_file())
        optimiser = torch.optim.Adam(
            [p for p in network.parameters() if p.requires_grad],
            lr=self.lr,
            weight_decay=self.weight_decay,
            fused=True,
        )
        unit = validation_unit(self.target_units_, classes=hasattr(self, "classes_"))
        with ProgressReport(unit=unit) if self.verbose else nullcontext() as report:
            return train(
                network,
                optimiser,
                loader,
                lambda step: objective.loss(network, step, task),
                epochs=self.epochs,
                seed=seed,
                checkpoint=checkpoint,
                resume=resume,
                identity=identity,
                rate=lambda errors: schedule.rate(self.lr, errors, self.epochs),
                stop_after=None if held_out is None else self.early_stopping,
                validate=validate,
                after_update=lambda number: objective.after_update(network, number),
                watchers=[*watchers] if report is None else [report, *watchers],
                model=self,
            )

    # ---- predictions and vectors

    @property
    def _encoder(self) -> GraphEncoder:
        return self.models_[0].encoder

    def _check_elements(self, graphs: GraphSet) -> None:
        unseen = [element for element in elements_of(graphs) if element not in self._elements]
        if unseen:
            warnings.warn(
                f"no training molecule has the element {', '.join(unseen)}: predictions for molecules with "
                f"it are guesses; train with some of them (the training had {', '.join(self._elements)})",
                UnknownCategoryWarning,
                stacklevel=2,
            )

    def _members(self, graphs: GraphSet) -> NDArray[np.float64]:
        """What every network predicts for graphs that fit the schema. (M, G, T) or (M, G, C)."""
        self._check_elements(graphs)
        outputs = [self._network_outputs(model, graphs) for model in self.models_]
        return np.stack([self._finish(each, graphs) for each in outputs])

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

        rows = self._checked_outputs(graphs, errors, both, times=2)
        return rows[:, : self._n_outputs], rows[:, self._n_outputs :]

    @property
    def scores_nodes(self) -> bool:
        """Whether `score_nodes` gives a number per node."""
        return hasattr(self, "models_") and self._single

    def score_nodes(self, graphs: Any) -> Rows:
        """What each node contributes: the prediction minus that without the node and its edges. (N,), (N, T).

        Numbers are in the targets' units. Of classes these are log-odds: of the second of two classes (in
        each of several columns), or of the predicted class where there are more.
        """
        self._check_fitted()
        known = as_graphset(graphs, schema=self.schema_)
        self._check_elements(known)
        found = contributions(self, known)
        return found[:, 0] if self._single else found

    # ---- saving

    def _state(self) -> State:
        return {
            f"{member}.{name}": tensor.cpu().numpy()
            for member, model in enumerate(self.models_)
            for name, tensor in model.state_dict().items()
        }

    def _set_state(self, state: State) -> None:
        check_parameters(self)
        encoder = self.encoder_ = encoder_spec(self.encoder)
        self.models_ = []

        def make() -> Predictor:
            return Predictor(encoder.build(self.schema_, self.dim), self._n_outputs)

        for member in range(self.n_models):
            own = {n.removeprefix(f"{member}."): v for n, v in state.items() if n.startswith(f"{member}.")}
            weights = {name: torch.from_numpy(np.array(value)) for name, value in own.items()}
            if self.inputs_:
                seen = {n[8:]: value for n, value in weights.items() if n.startswith("encoder.")}
                check_weights(lambda: encoder.build(self.schema_, self.dim), seen)
            else:
                check_weights(make, weights)
            model = make()
            if self.inputs_:
                model.head = read_head({n[5:]: v for n, v in weights.items() if n.startswith("head.")})
            load_weights(model, weights)
            self.models_.append(model.to(choose_device(self.device)).eval())

    def _learned(self) -> dict[str, Any]:
        own: dict[str, Any] = {"inputs": self.inputs_, "head": self.head_, "heads": self.heads_}
        own["descriptors"] = self._descriptors
        own |= {"graphs": self.n_graphs_, "labelled": self.n_labelled_}
        return {**super()._learned(), **own, "elements": self._elements, "errors": self.errors_}

    def _set_learned(self, learned: dict[str, Any]) -> None:
        super()._set_learned(learned)
        self._forget()
        self._elements, self.errors_ = list(learned["elements"]), learned.get("errors", {})
        self.inputs_, self.head_ = learned.get("inputs", ""), learned.get("head", "")
        self.heads_ = learned.get("heads", {})
        self._descriptors = tuple(learned.get("descriptors", ()))
        self.n_graphs_, self.n_labelled_ = learned.get("graphs", 0), learned.get("labelled", 0)

    def _facts(self) -> dict[str, str]:
        facts = super()._facts()
        if self.n_graphs_:
            facts["learned from"] = f"{self.n_graphs_:,} graphs, {self.n_labelled_:,} of them labelled"
        if self.errors_:
            unit = validation_unit(self.target_units_, classes=hasattr(self, "classes_"))
            beside = (f"{name} {error:.3g}" for name, error in self.errors_.items())
            facts["chosen"] = f"{self.chosen_ or self.objective}, by held-out error: {', '.join(beside)}"
            facts["chosen"] += f" {unit}" if unit and unit != WRONG else ""
        if self.inputs_:
            missed = min(self.heads_.values(), default=math.nan)
            facts["head"] = f"{self.head_} of {self.inputs_.replace('+', ' + ')}"
            facts["head"] += "" if math.isnan(missed) else f", missed {100 * missed:.0f} % of the variance"
        elif self.history_:
            facts["training"] = f"{len(self.history_)} epochs"
            if ERROR in self.history_[-1]:
                unit = validation_unit(self.target_units_, classes=hasattr(self, "classes_"))
                facts["validation error"] = figure_text(least_error(self.history_), unit)
        return facts

    def _fitted_settings(self) -> dict[str, Any]:
        built = {"encoder": self.encoder_, "dim": self._encoder.dim, "init_from": None}
        built |= {"objective": self.chosen_} if self.chosen_ else {}
        return {**super()._fitted_settings(), **built, "n_models": len(self.models_)}


def _hold_out(share: Any, targets: AnyTargets, labelled: IntArray, seed: int) -> IntArray:
    """Some of the labelled graphs, drawn at random; of classes about the same share each, never all."""
    if isinstance(share, bool) or not isinstance(share, Real) or not 0 < float(share) < 1:
        given = repr(share) if isinstance(share, Real | str) else f"a {type(share).__name__}"
        raise InvalidParameter(f"validation is {given}: expected a tuple (graphs, y), or a share such as 0.1")
    count = max(1, round(float(share) * len(labelled)))
    order = np.random.default_rng([seed, len(labelled)]).permutation(labelled)
    if isinstance(targets, ClassTargets):  # they take turns by their size, and the last of each class stays
        codes = targets.codes[order]
        rank, size = np.empty(len(codes)), np.bincount(codes)[codes]
        for code in np.unique(codes):
            rank[codes == code] = np.arange(np.sum(codes == code))
        turns = np.argsort((rank + 0.5) / size, kind="stable")
        order = order[turns[rank[turns] < size[turns] - 1]]
    if len(order) < count or len(labelled) - count < 2:
        raise InvalidTarget(
            f"validation={share}: {len(labelled)} labelled graphs are too few to hold {count} of them out"
        )
    return np.sort(order[:count])


def _choosing_error(history: Sequence[Epoch]) -> float:
    """The error of the epoch that was kept: by ROC-AUC where there is one."""
    best = min(history, key=lambda record: record.get(ERROR, math.inf))
    return 1 - best[AREA] if not math.isnan(best.get(AREA, math.nan)) else best.get(ERROR, math.inf)


def elements_of(graphs: GraphSet) -> list[str]:
    """The elements that occur in molecules an encoder sees them of; none in other graphs."""
    column = graphs.schema.column("node", ELEMENT)
    if column is None or not column.used or column.kind != "categorical":
        return []
    found = np.unique(graphs.node[ELEMENT])
    return [str(column.categories[code]) for code in found.tolist() if code != column.unknown]
