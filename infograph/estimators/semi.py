"""What the semi-supervised estimators share: training, ensembles, vectors, saving."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from torch import Tensor, nn

from infograph.contract import GraphPredictor, State
from infograph.contract.rollback import unchanged_on_error
from infograph.contract.rows import BadRows, rows_of
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.schema import Category, Schema
from infograph.data.targets import ClassTargets, Targets
from infograph.errors import InvalidParameter, InvalidTarget
from infograph.estimators.donor import find_donor
from infograph.estimators.fitting import Data, Encoders, Judge, Run, fit_one
from infograph.estimators.networks import AnyBatcher, Architecture, EncoderName, NodeFeatures, make_source
from infograph.estimators.runs import check_enough, read_for
from infograph.estimators.settings import check_settings, choose_device
from infograph.estimators.unseen import elements_of, warn_of_unseen
from infograph.estimators.vectors import compute
from infograph.methods.infograph_star import Transfer, TransferScale
from infograph.methods.objectives import ObjectiveName
from infograph.methods.predictor import Predictor
from infograph.methods.tasks import Task
from infograph.mi.local_global import Patches
from infograph.nn.encoder import GraphEncoder
from infograph.nn.readout import Readout
from infograph.train.checkpoint import load_weights
from infograph.train.loop import Epoch, Watcher

AnyTargets = Targets | ClassTargets
Rows = NDArray[np.float64]


class SemiSupervised(TransformerMixin, GraphPredictor):  # type: ignore[misc]
    """Base of InfoGraphRegressor and InfoGraphClassifier, which say what is predicted.

    Args:
        objective: "infograph*" (Eq. 7-8), "infograph" (Eq. 6), "mean-teacher" or "supervised", as the paper
            compares them; from its Appendix B "pi-model", "vat", and for classes "pseudo-label", "entropy".
        epochs: at most so many; 500 in the paper, 50 here.
        lr: Adam's learning rate at the start; 1e-3 in the paper.
        batch_size: labelled graphs per update, and as many unlabelled; 20 in the paper.
        lam: lambda, the weight of InfoGraph's unsupervised or InfoGraph*'s transfer term; the paper searches
            1e-3, 1e-4, 1e-5.
        weight_decay: Adam's L2 penalty; the paper searches 0, 1e-3, 1e-4.
        encoder: "auto" takes "enn-s2s" (the paper's encoder of molecules) for graphs with coordinates or
            continuous edge features and "gin" (GINE where edges have columns) otherwise, and for graphs of
            more than 200 nodes or with edge weights, with a warning; or a module as in `InfoGraph`.
        dim: length of graph vectors; enn-s2s has node states of half of it, 64 in the paper's code.
        layers: message steps or GIN layers; None for 3 (enn-s2s) and 4 (GIN).
        readout, norm, learn_eps: of GIN, see `InfoGraph`.
        node_columns, edge_columns, node_features: what the encoder sees, see `InfoGraph`.
        transfer: the layers of InfoGraph*'s transfer term per update: a "random" one (paper), "all", "last".
        transfer_scale: "graph" for the factor 1/|G| of Eq. 8, "mean" without it.
        detach_teacher: keep the transfer term from moving the teacher.
        patches: "all" layers (Eq. 2), or the "last" one only, as in the authors' code for molecules.
        consistency: weight of the second term of mean-teacher, pi-model, vat, pseudo-label and entropy.
        ramp_up: updates until that weight is reached; 0 for at once.
        decay: of Mean Teacher's moving average.
        noise: deviation of noise on node inputs; None for 0 (mean-teacher) and 0.1 (pi-model).
        threshold: probability from which a pseudo-label counts.
        radius: length of the adversarial change of a node's inputs.
        factor, patience: the learning rate is multiplied by `factor` after more than `patience` epochs
            without improvement, down to 1e-6; 0.7 and 5 in the paper's code.
        early_stopping: epochs without improvement on the validation graphs after which training ends; None
            for never. Improvement without validation graphs is that of the loss, and nothing ends early.
        steps_per_epoch: updates per epoch; None for one pass over the labelled graphs, at least 50.
        n_models: networks that are trained, from seeds `random_state`, `random_state + 1` ...; predictions
            are their mean, and `return_std` gives their spread.
        init_from: a fitted InfoGraph, InfoGraphRegressor or InfoGraphClassifier, or the folder of one, whose
            encoder (architecture, columns and weights) is the start; its settings here are ignored.
        unlabelled: one more value of `y` that means unlabelled, such as -1.
        memory_mb: what a score matrix and its activations may take at a time.
        device: "auto" takes a GPU if there is one; or any torch device.
        random_state: seed of weights, batches and noise.
        verbose: show progress on standard error.
    """

    def __init_subclass__(cls) -> None:
        """Complete the docstring by the parameters, which are described once, here."""
        parameters = (SemiSupervised.__doc__ or "").partition("    Args:")[2]
        cls.__doc__ = (cls.__doc__ or "").replace(
            "    Args: as below.\n", f"    Args:{parameters.rstrip()}\n"
        )

    _unsaved: ClassVar[tuple[str, ...]] = ("encoder", "init_from")
    history_: list[Epoch]
    models_: list[Predictor]
    _built: dict[str, Any]
    _elements: list[str]

    def __init__(
        self,
        objective: ObjectiveName = "infograph*",
        epochs: int = 50,
        lr: float = 1e-3,
        batch_size: int = 20,
        *,
        lam: float = 1e-3,
        weight_decay: float = 0.0,
        encoder: EncoderName | nn.Module = "auto",
        dim: int = 128,
        layers: int | None = None,
        readout: Readout = "sum",
        norm: bool = True,
        learn_eps: bool = False,
        node_columns: Sequence[str] | None = None,
        edge_columns: Sequence[str] | None = None,
        node_features: NodeFeatures = "auto",
        transfer: Transfer = "random",
        transfer_scale: TransferScale = "graph",
        detach_teacher: bool = False,
        patches: Patches = "all",
        consistency: float = 1.0,
        ramp_up: int = 0,
        decay: float = 0.999,
        noise: float | None = None,
        threshold: float = 0.95,
        radius: float = 0.5,
        factor: float = 0.7,
        patience: int = 5,
        early_stopping: int | None = 50,
        steps_per_epoch: int | None = None,
        n_models: int = 1,
        init_from: Any = None,
        unlabelled: Category | None = None,
        memory_mb: float = 512.0,
        device: str = "auto",
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self.objective = objective
        self.epochs = epochs
        self.lr = lr
        self.batch_size = batch_size
        self.lam = lam
        self.weight_decay = weight_decay
        self.encoder = encoder
        self.dim = dim
        self.layers = layers
        self.readout = readout
        self.norm = norm
        self.learn_eps = learn_eps
        self.node_columns = node_columns
        self.edge_columns = edge_columns
        self.node_features = node_features
        self.transfer = transfer
        self.transfer_scale = transfer_scale
        self.detach_teacher = detach_teacher
        self.patches = patches
        self.consistency = consistency
        self.ramp_up = ramp_up
        self.decay = decay
        self.noise = noise
        self.threshold = threshold
        self.radius = radius
        self.factor = factor
        self.patience = patience
        self.early_stopping = early_stopping
        self.steps_per_epoch = steps_per_epoch
        self.n_models = n_models
        self.init_from = init_from
        self.unlabelled = unlabelled
        self.memory_mb = memory_mb
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

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
        check_settings(self)
        known, encoders = self._read(graphs)
        targets = self._targets(y, known)
        with unchanged_on_error(self):
            labelled, everyone, judge = self._divide(known, targets, validation, encoders.schema)
            data = Data(known, labelled, everyone, *self._start(targets, labelled), targets.checksum)
            self.models_, self.history_, self._built = [], [], vars(encoders.architecture)
            for member in range(self.n_models):
                run = Run(checkpoint, resume, watchers)
                model, history = fit_one(self, member, encoders, data, judge, run)
                self.models_.append(model)
                extra = {"model": float(member + 1)} if self.n_models > 1 else {}
                self.history_ += [{**extra, **record} for record in history]
        self.schema_, self._elements = encoders.schema.replace("graph", ()), elements_of(known)
        return self

    def _read(self, graphs: Any) -> tuple[GraphSet, Encoders]:
        """The graphs, and how encoders for them are made."""
        donor = find_donor(self.init_from)
        if donor is not None:
            known = as_graphset(graphs, schema=donor.schema)
            return known, Encoders(donor.architecture, donor.schema, donor)
        known, architecture = read_for(self, graphs)
        return known, Encoders(architecture, known.schema, None)

    def _divide(
        self,
        graphs: GraphSet,
        targets: AnyTargets,
        validation: float | tuple[Any, Any] | None,
        schema: Schema,
    ) -> tuple[IntArray, IntArray, Judge | None]:
        """Positions of the labelled graphs and of all to learn from, and the graphs to judge by."""
        labelled, everyone = np.flatnonzero(targets.labelled), np.arange(len(graphs))
        check_enough(graphs)
        if validation is None:
            return labelled, everyone, None
        if isinstance(validation, tuple) and len(validation) == 2:
            held_out = as_graphset(validation[0], schema=schema)
            wanted = self._targets_like(targets, validation[1], held_out)
        else:
            chosen = _hold_out(validation, targets, labelled, self.random_state)
            labelled, everyone = np.setdiff1d(labelled, chosen), np.setdiff1d(everyone, chosen)
            held_out, wanted = graphs[chosen], targets.of(chosen)
        figures = lambda outputs: self._figures(self._finish(outputs), wanted)  # noqa: E731
        return labelled, everyone, Judge(held_out, figures, wanted.checksum)

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
        return make_source(self._encoder, graphs, self._built["node_features"], choose_device(self.device))

    # ---- saving

    def _state(self) -> State:
        return {
            f"{member}.{name}": tensor.cpu().numpy()
            for member, model in enumerate(self.models_)
            for name, tensor in model.state_dict().items()
        }

    def _set_state(self, state: State) -> None:
        check_settings(self)
        architecture = Architecture.of(self)
        encoders = Encoders(architecture, self.schema_, None)
        self._built, self.models_ = vars(architecture), []
        for member in range(self.n_models):
            model = encoders.predictor(self._n_outputs).to(choose_device(self.device)).eval()
            own = {n.removeprefix(f"{member}."): v for n, v in state.items() if n.startswith(f"{member}.")}
            load_weights(model, {name: torch.from_numpy(np.array(value)) for name, value in own.items()})
            self.models_.append(model)

    def _learned(self) -> dict[str, Any]:
        return {**super()._learned(), "elements": self._elements}

    def _set_learned(self, learned: dict[str, Any]) -> None:
        super()._set_learned(learned)
        self._elements = list(learned["elements"])

    def _fitted_settings(self) -> dict[str, Any]:
        return {**super()._fitted_settings(), **self._built, "init_from": None, "n_models": len(self.models_)}


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
