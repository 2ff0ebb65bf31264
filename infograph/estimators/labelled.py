"""Learning from few labels: networks, or a simple head on vectors; ensembles, vectors, saving."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from torch import Tensor

from infograph.data.convert import as_graphset
from infograph.data.fingerprints import descriptor_names
from infograph.data.graphset import GraphSet, IntArray, fingerprint
from infograph.data.labels import check_unlabelled
from infograph.data.molecules import ELEMENT
from infograph.data.schema import Category
from infograph.data.targets import ClassTargets, Targets
from infograph.errors import InvalidParameter, UnknownCategoryWarning
from infograph.estimators.architecture import (
    AnyEncoder,
    Auto,
    choose_device,
    encoder_spec,
    fitted_model,
    load_widened,
    widened,
)
from infograph.estimators.base import BadRows, Compute, GraphPredictor, reread
from infograph.estimators.choosing import NETWORK, SIMPLE, choose, hold_out, in_words
from infograph.estimators.folder import State, carried_folder
from infograph.estimators.infograph import AS_LEARNED, CARRIED, SEED, GraphNetwork, InfoGraph, check_enough
from infograph.estimators.members import Data, fit_head, network_outputs, train_network, watched_outputs
from infograph.estimators.offset import Offset
from infograph.estimators.removal import contributions
from infograph.nn.encoder import GraphEncoder
from infograph.objectives import OBJECTIVES
from infograph.objectives.heads import Standardised, read_head
from infograph.objectives.infograph import MutualInformation
from infograph.objectives.infograph_star import InfoGraphStar
from infograph.objectives.objective import Objective, Predictor, Regression, Task
from infograph.objectives.vectors import Vectors
from infograph.parameters import check_parameters, frozen
from infograph.progress import (
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
from infograph.train.loop import Cosine, Plateau, own_noise

AnyTargets = Targets | ClassTargets
Rows = NDArray[np.float64]
MOST_FITTED = 20_000  # graphs for an encoder of vectors that is fitted without labels
SCHEDULES: dict[str, Any] = {"cosine": Cosine, "plateau": Plateau}


@dataclass(eq=False, repr=False)
class SemiSupervised(GraphNetwork, GraphPredictor):
    """Base of InfoGraphRegressor and InfoGraphClassifier, which say what is predicted."""

    objective: str | Objective = "auto"
    encoder: AnyEncoder = "auto"
    dim: int = 128
    _: KW_ONLY
    epochs: int = 30
    lr: float = 1e-3
    batch_size: int | Literal["auto"] = "auto"
    weight_decay: float = 0.0
    schedule: str | Plateau | Cosine = "plateau"
    clip: float | None = None
    early_stopping: int | None = 50
    steps_per_epoch: int | None = None
    n_models: int = 1
    n_splits: int = 1
    averaging: float | None = None
    init_from: Any = None
    thaw_after: int = 0
    descriptors: Literal["rdkit"] | None = None
    offset: Literal["auto"] | None = "auto"
    class_weight: Literal["balanced"] | Mapping[Any, float] | None = None
    node_columns: Sequence[str] | None = None
    edge_columns: Sequence[str] | None = None
    unlabelled: Category | None = None
    device: str = "auto"
    random_state: int = 0
    verbose: bool = False

    _parameter_constraints = {  # noqa: RUF012 - scikit-learn's form
        "objective": [StrOptions({"auto", *OBJECTIVES}), Objective],
        "dim": [Interval(Integral, 1, None, closed="left")],
        "epochs": [Interval(Integral, 0, None, closed="left")],
        "lr": [Interval(Real, 0, None, closed="neither")],
        "batch_size": [StrOptions({"auto"}), Interval(Integral, 2, None, closed="left")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "schedule": [StrOptions({*SCHEDULES}), HasMethods(["rate"])],
        "clip": [Interval(Real, 0, None, closed="neither"), None],
        "early_stopping": [Interval(Integral, 1, None, closed="left"), None],
        "steps_per_epoch": [Interval(Integral, 1, None, closed="left"), None],
        "n_models": [Interval(Integral, 1, None, closed="left")],
        "n_splits": [Interval(Integral, 1, None, closed="left")],
        "averaging": [Interval(Real, 0, 1, closed="neither"), None],
        "thaw_after": [Interval(Integral, 0, None, closed="left")],
        "descriptors": [StrOptions({"rdkit"}), None],
        "offset": [StrOptions({"auto"}), None],
        "class_weight": [StrOptions({"balanced"}), Mapping, None],
        "random_state": [SEED],
    }
    n_labelled_ = 0  # of the n_graphs_; those held out for validation are not counted
    chosen_ = ""  # by objective="auto"
    inputs_ = ""  # of the head of vectors ...
    head_ = ""  # ... and its kind

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
            "clip": None,
            "offset": None,
        }
        return cls(**{**given, **changed})

    def _parts(self) -> dict[str, Any]:
        name = self.chosen_ or NETWORK if self.objective == "auto" else self.objective
        objective = OBJECTIVES[name]() if isinstance(name, str) else name
        schedule = SCHEDULES[self.schedule]() if isinstance(self.schedule, str) else self.schedule
        return {"encoder": encoder_spec(self.encoder), "objective": objective, "schedule": schedule}

    # ---- what regression and classification differ in

    def _learnable(self, graphs: GraphSet, targets: AnyTargets, labelled: IntArray) -> tuple[Tensor, Task]:
        """Remember the targets; what a network is to learn, scaled by the labelled graphs, and the task."""
        raise NotImplementedError

    def _targets_like(self, targets: AnyTargets, y: Any, graphs: GraphSet) -> AnyTargets:
        """The targets of validation graphs."""
        raise NotImplementedError

    def _finish(self, outputs: NDArray[np.float32], graphs: GraphSet) -> Rows:
        """What a network gives for graphs -> numbers in the targets' units, or probabilities."""
        raise NotImplementedError

    def _calibrate(self, graphs: GraphSet, targets: AnyTargets, said: NDArray[Any], every: GraphSet) -> None:
        """Keep what networks said of graphs that they did not learn from. (M, G, T) or (M, G, C)."""
        raise NotImplementedError

    def _forget(self) -> None:
        """Be as before the first `fit` in all that it may leave unset."""
        self.chosen_, self.inputs_, self.head_ = "", "", ""
        self.errors_: dict[str, float] = {}  # on graphs that were held out, by which it was chosen
        self.heads_: dict[str, float] = {}  # the share of the variance that each head missed, likewise
        self.offset_: Offset | None = None
        self._descriptors: tuple[str, ...] = ()

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
        graphs = reread(graphs)
        if self.thaw_after and self.init_from is None and not isinstance(self._parts()["objective"], Vectors):
            raise InvalidParameter(
                f"thaw_after={self.thaw_after} would leave an encoder with fresh weights as it is: say with "
                f"init_from where to start, such as init_from='molecules'"
            )
        self._forget()
        if self.objective == "auto":
            return self._choose(
                graphs, y, validation, {"checkpoint": checkpoint, "resume": resume, "watchers": watchers}
            )
        known, make_encoder = self._start(graphs, watchers)
        targets = self._targets(y, check_enough(known))
        labelled, everyone, held_out = self._divided(known, targets, validation)
        values, task = self._learnable(known, targets, labelled)
        self.models_: list[Predictor] = []
        self.history_, self._elements = [], elements_of(known[labelled])
        self._descriptors = descriptor_names() if self.descriptors else ()
        self.n_graphs_, self.n_labelled_ = len(known), len(labelled)
        self._unseen: tuple[IntArray, Rows] | None = None
        data = Data(known, values, labelled, everyone, held_out, task, make_encoder)
        identity = {} if checkpoint is None else self._identity(data, targets)
        unit = validation_unit(self.target_units_, classes=hasattr(self, "classes_"))
        with ProgressReport(unit=unit, runs=self.n_models) if self.verbose else nullcontext() as report:
            told: list[Watcher] = [*watchers] if report is None else [report, *watchers]
            self._fit_members(data, told, checkpoint, {"resume": resume, "identity": identity})
        if self._unseen is not None:
            rows, unseen = self._unseen
            self._calibrate(known[rows], targets.of(rows), unseen[None], known[rows])
        elif held_out is not None:
            outputs = np.stack([network_outputs(self, model, held_out[0]) for model in self.models_])
            self._calibrate(*held_out, outputs, known[everyone])
        del self._unseen
        return self

    def _divided(
        self, known: GraphSet, targets: AnyTargets, validation: Any
    ) -> tuple[IntArray, IntArray, tuple[GraphSet, AnyTargets] | None]:
        """Who is learned from with labels, who with or without them, and what is held out."""
        labelled, everyone = np.flatnonzero(targets.labelled), np.arange(len(known))
        if validation is None:
            return labelled, everyone, None
        if isinstance(validation, tuple) and len(validation) == 2:
            given = as_graphset(validation[0], schema=self.schema_)
            return labelled, everyone, (given, self._targets_like(targets, validation[1], given))
        chosen = hold_out(validation, targets, labelled, self.random_state)
        held_out = known[chosen], targets.of(chosen)
        return np.setdiff1d(labelled, chosen), np.setdiff1d(everyone, chosen), held_out

    def _fit_members(
        self, data: Data, watchers: Sequence[Watcher], checkpoint: str | Path | None, keep: dict[str, Any]
    ) -> None:
        """Train the networks, or find their heads."""
        objective = self._parts()["objective"]
        if objective.for_classes and isinstance(data.task, Regression):
            raise InvalidParameter(f"objective={self.objective!r} is for classes: use InfoGraphClassifier")
        for member in range(self.n_models):
            seed, own = self.random_state + member, {"checkpoint": checkpoint, **keep}
            if checkpoint is not None and self.n_models > 1:
                folder = own["checkpoint"] = Path(checkpoint) / MEMBER.format(member + 1)
                own["resume"] = keep["resume"] and (member == 0 or (folder / FILE).is_file())
            head = isinstance(objective, Vectors)
            history = (fit_head if head else train_network)(self, data, watchers, seed, own)
            extra = {"model": float(member + 1)} if self.n_models > 1 else {}
            self.history_ += [{**extra, **record} for record in history]

    def _identity(self, data: Data, targets: AnyTargets) -> dict[str, Any]:
        """What must not differ between a checkpoint and the run that goes on from it."""
        identity = self._run_settings() | {"labelled graphs": len(data.labelled)}
        if self.init_from is not None:
            with own_noise(self.random_state):
                weights = data.make_encoder().state_dict().values()
            every = b"".join(each.cpu().numpy().tobytes() for each in weights)
            identity["checksum of the weights of init_from"] = hashlib.sha256(every).hexdigest()[:16]
        for name, each in (("training", (data.graphs, targets)), ("validation", data.held_out)):
            if each is not None:
                identity[f"{name} graphs"] = len(each[0])
                identity[f"checksum of the {name} graphs"] = fingerprint(each[0])
                identity[f"checksum of the {name} labels"] = each[1].checksum
        return identity

    def _choose(self, graphs: Any, y: Any, validation: Any, keep: dict[str, Any]) -> Self:
        """Be the better of a head on vectors and of a network."""
        best, errors = choose(self, graphs, y, validation, keep)
        settings = self.get_params(deep=False)
        for name, value in vars(best).items():
            if name not in settings:
                setattr(self, name, value)
        self.chosen_, self.errors_ = SIMPLE if best.inputs_ else NETWORK, errors
        return self

    @property
    def choice_(self) -> str:
        """Which objective="auto" chose, and why, as a sentence; empty where it had nothing to choose."""
        chosen = SIMPLE if self.inputs_ else NETWORK
        return in_words(self.errors_, chosen, self.n_splits) if self.errors_ else ""

    def _start(self, graphs: Any, watchers: Sequence[Watcher]) -> tuple[GraphSet, Callable[[], GraphEncoder]]:
        """The graphs, and what makes encoders for them; remembers schema and encoder."""
        start = self._donor(graphs, watchers)
        if start is None:
            known, encoder = self._read(graphs)
            schema = known.schema.replace("graph", ())
            self.schema_, self.encoder_ = schema, frozen(encoder)
            if self.n_models > 1:
                with own_noise():
                    encoder.another(schema, self.dim)  # one that cannot be made is refused before training
            return known, lambda: (encoder.another if self.models_ else encoder.build)(schema, self.dim)
        schema, encoder, donor = start.schema_, start.encoder_, start._encoder
        if schema.option("hydrogens") is not None and not isinstance(self._parts()["objective"], Vectors):
            graphs = as_graphset(graphs, **dict(schema.options))  # new elements get inputs to learn
            schema = widened(schema, graphs)
        self.schema_, self.encoder_ = schema, encoder

        def copied() -> GraphEncoder:
            made: GraphEncoder = encoder.build(schema, donor.dim)
            load_widened(made, donor, start.schema_, schema)
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
            model = fitted_model(carried_folder(CARRIED))
            model.schema_ = replace(model.schema_, options=known.schema.options)  # salts as they are here
            return model
        beside = ("encoder", "node_columns", "edge_columns", "device", "random_state", "verbose")
        some = np.sort(np.random.default_rng(self.random_state).permutation(len(known))[:MOST_FITTED])
        return InfoGraph(**{name: getattr(self, name) for name in beside}).fit(known[some], watchers=watchers)

    # ---- predictions and vectors

    @property
    def _encoder(self) -> GraphEncoder:
        return self.models_[0].encoder

    def _check_elements(self, graphs: GraphSet) -> None:
        unseen = [element for element in elements_of(graphs) if element not in self._elements]
        if unseen:
            warnings.warn(
                f"no labelled training molecule has the element {', '.join(unseen)}: what is predicted for "
                f"molecules with it is a guess: train with it (the training had {', '.join(self._elements)})",
                UnknownCategoryWarning,
                stacklevel=2,
            )

    def _members(self, graphs: GraphSet, watchers: Sequence[Watcher] = ()) -> NDArray[np.float64]:
        """What every network predicts for graphs that fit the schema. (M, G, T) or (M, G, C)."""
        self._check_elements(graphs)
        outputs = watched_outputs(self, graphs, watchers)
        return np.stack([self._finish(each, graphs) for each in outputs])

    def _outputs(self, graphs: GraphSet) -> Rows:
        return np.asarray(self._members(graphs).mean(axis=0))

    def _watched(self, watchers: Sequence[Watcher]) -> Compute:
        return lambda known: np.asarray(self._members(known, watchers).mean(axis=0))

    def _with_spread(
        self, graphs: Any, errors: BadRows, watchers: Sequence[Watcher] = ()
    ) -> tuple[Rows, Rows]:
        """The mean of all networks' predictions, and their standard deviation."""
        self._check_fitted()
        if len(self.models_) < 2:
            raise InvalidParameter(
                "return_std=True: there is one network and so no spread; fit with n_models=5, for instance"
            )

        def both(known: GraphSet) -> Rows:
            members = self._members(known, watchers)
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
            empty = np.zeros(len(self._descriptors))
            far = state.get("0.beside.far")  # earlier models have none
            scaled = Standardised(empty, empty, far) if len(empty) and not self.inputs_ else None
            return Predictor(encoder.build(self.schema_, self.dim), self._n_outputs, scaled)

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


def elements_of(graphs: GraphSet) -> list[str]:
    """The elements that occur in molecules an encoder sees them of; none in other graphs."""
    column = graphs.schema.column("node", ELEMENT.name)
    if column is None or not column.used or column.kind != "categorical":
        return []
    found = np.unique(graphs.node[ELEMENT.name])
    return [str(column.categories[code]) for code in found.tolist() if code != column.unknown]


def has_others(graphs: GraphSet, elements: Sequence[str]) -> NDArray[np.bool_]:
    """Which molecules have an element beside these; no other graphs. (G,)."""
    if not elements:
        return np.zeros(len(graphs), bool)
    categories: Any = getattr(graphs.schema.column("node", ELEMENT.name), "categories", ())
    other = np.array([*(each not in elements for each in categories), True])  # the last one is unknown
    return np.bincount(graphs.node_graph, other[graphs.node[ELEMENT.name]], len(graphs)) > 0
