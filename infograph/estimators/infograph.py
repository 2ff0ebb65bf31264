"""InfoGraph, the unsupervised estimator: graphs in, vectors out."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, Self, cast

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from torch import Tensor, nn

from infograph.data.colours import WIDE, node_width
from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet, IntArray, fingerprint
from infograph.data.joining import align
from infograph.data.schema import Schema
from infograph.errors import InvalidParameter
from infograph.estimators.architecture import (
    GIN,
    AnyEncoder,
    EncoderSpec,
    choose_device,
    encoder_spec,
    fitted_model,
    load_widened,
    schema_for,
    widened,
)
from infograph.estimators.base import BadRows, GraphTransformer, check_finite, rows_of
from infograph.estimators.folder import State, carried_folder, pretrained_names
from infograph.nn.batch import Batch
from infograph.nn.encoder import GraphEncoder
from infograph.nn.norm import all_sum, norms_with_momentum
from infograph.nn.plain import GraphModule
from infograph.objectives.contrast import LocalGlobal, node_vectors
from infograph.objectives.infograph import MutualInformation
from infograph.parameters import CUSTOM, Spec, check_parameters, frozen, saved
from infograph.progress import ERROR, Epoch, ProgressReport, Watcher
from infograph.train import loop
from infograph.train.checkpoint import check_weights, load_weights

SEED = Interval(Integral, 0, 2**32 - 1, closed="both")
MOST_EPOCHS, PATIENCE = 100, 5  # of epochs="auto"
FEW, MOST_OUT = 100, 5000  # graphs of which none is held out; how many at most
BESIDE = ("epochs", "verbose", "device", "warm_start")  # parameters that runs of one kind may differ in
OBJECTIVES = {
    "auto": MutualInformation("infonce", "conditioned", max_patches=64),
    "infograph": MutualInformation(),
}
CARRIED = "molecules"  # the pre-trained model ...
AS_LEARNED = {"hydrogens": False, "stereo": False}  # ... and how it read them
MEASURED = {"loss": "loss", "mi": "MI", "accuracy": "share of pairs told apart", f"{ERROR} mi": "held-out MI"}
BUILT = ("dim", "encoder", "objective", "node_columns", "edge_columns")  # what a network is made with


class GraphNetwork(GraphTransformer):
    """Base of the estimators that train an encoder, which is `_encoder` once they are fitted."""

    encoder: AnyEncoder
    node_columns: Sequence[str] | None
    edge_columns: Sequence[str] | Literal["auto"] | None
    device: str
    history_: list[Epoch]
    encoder_: EncoderSpec
    n_graphs_: int = 0  # that it was fitted on; 0 where an older file does not say
    _directions: State  # mean (dim,) and principal axes (dim, dim) of vectors ...
    _n_shown: int | None  # ... and how many of them shorter ones are made of; None for vectors as they are

    @property
    def _encoder(self) -> GraphEncoder:
        raise NotImplementedError

    @property
    def _n_features_out(self) -> int:
        return self._encoder.dim

    def _read(self, graphs: Any, like: Schema | None = None) -> tuple[GraphSet, EncoderSpec]:
        """Graphs to learn from, with the columns that the encoder sees, and what the encoder is made with.

        Molecules are read as those of `like` were.
        """
        edge = None if self.edge_columns == "auto" else self.edge_columns
        options: dict[str, Any] = {} if like is None else dict(like.options)
        read = as_graphset(graphs, node=self.node_columns, edge=edge, **options)
        encoder = encoder_spec(self.encoder).resolved(read)
        check_parameters(encoder)
        if self.edge_columns == "auto" and isinstance(encoder, GIN):
            used = read.schema.select("node", self.node_columns)
            narrow = node_width(used, encoder.node_features) <= WIDE  # beside edges, GIN takes no more
            labels = (c for c in read.schema.edge if c.name == "label" and c.encoded_width <= WIDE and narrow)
            edge = [c.name for c in (*(c for c in read.schema.edge if c.used), *labels)]
        return align(read, schema_for(encoder, read, self.node_columns, edge)), encoder

    def _run_settings(self) -> dict[str, Any]:
        """The parameters that must not differ between a checkpoint and the run that goes on from it."""
        given = self.get_params(deep=False)
        return {name: saved(value) for name, value in given.items() if name not in BESIDE}

    def _fitted_settings(self) -> dict[str, Any]:
        return {**super()._fitted_settings(), "device": str(self.device)}  # which may be torch's object

    def _source(self, graphs: GraphSet) -> loop.AnyBatcher:
        return cast(loop.AnyBatcher, self._encoder.source(graphs, choose_device(self.device)))

    def _vectors(self, source: loop.AnyBatcher) -> NDArray[np.float32]:
        return loop.compute(self._encoder, source, lambda batch: self._encode(batch)[batch.which])

    def _encode(self, batch: Batch) -> Tensor:
        return self._encoder.vectors(self._encoder(batch), batch)

    def transform(self, graphs: Any, *, errors: BadRows = "raise") -> NDArray[np.float32]:
        """One vector per graph. (G, dim). It does not depend on the other graphs of the call.

        Args:
            graphs: anything `fit` accepts.
            errors: at a bad graph "raise", "skip" its row, or keep the row's place with "nan".
        """
        self._check_fitted()
        embed = lambda known: self._vectors(self._source(known))  # noqa: E731
        rows = rows_of(graphs, self.schema_, embed, self._n_features_out, errors, "vector")
        return rows.astype(np.float32, copy=False)

    def to_torch(self) -> GraphModule:
        """The encoder as a torch module over PyG's batches, whose vectors are those of `transform`.

            module = model.to_torch()
            vectors = module(batch)  # or module(x, edge_index, batch, edge_attr)

        It is a copy in evaluation mode, with gradients, for a network and a training loop of your own.
        """
        self._check_fitted()
        encoder = copy.deepcopy(self._encoder).requires_grad_().eval()
        made = GraphModule(encoder, self.schema_, self._shown_directions())
        return made.to(choose_device(self.device)).eval()

    def _shown_directions(self) -> dict[str, Tensor]:
        """Mean and axes of shorter vectors; nothing for whole ones."""
        return {}


@dataclass(eq=False, repr=False)
class InfoGraph(GraphNetwork):
    """One vector per graph, learned without labels by maximising mutual information (Sun et al., ICLR 2020).

        vectors = InfoGraph(epochs=20).fit_transform(graphs)

    `graphs` is a GraphSet, a path, a data set's name, or a list of networkx graphs, PyG Data, `(edge_index,
    features)` tuples, SMILES strings or RDKit molecules.

    Args:
        dim: length of the vectors; 512 in the paper.
        encoder: "gin" or `GIN(layers=5, readout="mean", ...)`; "enn-s2s" or `ENN(...)`, the paper's encoder
            of molecules with coordinates, which also takes continuous edge features; "auto" for the second
            where there are such; or a module of your own, see `PerNode`.
        objective: "auto" (the conditioned discriminator and InfoNCE, which docs/choosing_defaults.md found
            best, with at most 64 nodes of each graph per update), "infograph" (the paper's, Eq. 4 and 5),
            `MutualInformation(bound="dv", ...)`, or one of your own.
        epochs: passes over the graphs. "auto" holds a tenth of the graphs out (none of fewer than 100, which
            are judged by themselves), ends once their loss has not fallen by 0.01 for 5 epochs (100 at most),
            and keeps the best weights of the run; the paper searches 10, 20, 100. 0 gives the untrained
            encoder, with BatchNorm statistics from one pass.
        lr: Adam's learning rate; the paper searches 1e-2, 1e-3, 1e-4.
        batch_size: graphs per step; 128 in the paper. All other graphs of the batch are negatives.
        weight_decay: Adam's L2 penalty; the paper has none here.
        schedule: how the learning rate falls: `Cosine()`, `Plateau()`; None for not at all.
        clip: the largest norm of the gradient of an update, longer ones are shortened to it; None for any,
            as in the paper.
        node_columns, edge_columns: the columns (or networkx attributes) that the encoder sees; None takes
            those the schema marks as used, "auto" also the edge labels of benchmark sets, where the encoder
            can see them. Edge columns turn GIN into GINE.
        init_from: the fitted model, or the folder or name of one, whose encoder training starts from;
            categories that it does not know, such as elements, begin with random weights. "auto" takes the
            pre-trained model for molecules without hydrogens or stereo, where `dim`, `encoder` and columns
            are the defaults. None, and "auto" for other graphs, start with random weights, as the paper does.
        warm_start: `fit` continues from the weights it finds instead of starting anew.
        device: "auto" takes a GPU if there is one; or any torch device.
        random_state: seed of weights, batches and noise. The same seed gives the same vectors.
        verbose: show progress on standard error.

    Attributes:
        schema_: what the graphs must look like.
        encoder_: the encoder as an object, "auto" decided.
        n_graphs_: how many graphs it was fitted on.
        started_from_: the name of the model whose encoder training started from; "" for random weights.
        history_: one record per epoch: loss, MI estimate (0 at chance, 2 log 2 at most for "jsd"), pair
            accuracy.
        network_: the trained torch modules by name, "encoder" among them.
    """

    dim: int = 512
    encoder: AnyEncoder = "gin"
    objective: str | MutualInformation = "auto"
    _: KW_ONLY
    epochs: int | Literal["auto"] = "auto"
    lr: float = 1e-3
    batch_size: int = 128
    weight_decay: float = 0.0
    schedule: Any = None
    clip: float | None = None
    node_columns: Sequence[str] | None = None
    edge_columns: Sequence[str] | Literal["auto"] | None = "auto"
    init_from: str | Path | GraphNetwork | None = "auto"
    warm_start: bool = False
    device: str = "auto"
    random_state: int = 0
    verbose: bool = False

    _parameter_constraints = {  # noqa: RUF012 - scikit-learn's form
        "dim": [Interval(Integral, 1, None, closed="left")],
        "objective": [StrOptions(set(OBJECTIVES)), MutualInformation],
        "epochs": [Interval(Integral, 0, None, closed="left"), StrOptions({"auto"})],
        "lr": [Interval(Real, 0, None, closed="neither")],
        "batch_size": [Interval(Integral, 2, None, closed="left")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "schedule": [None, HasMethods(["rate"])],
        "clip": [None, Interval(Real, 0, None, closed="neither")],
        "init_from": [None, str, Path, GraphTransformer],
        "random_state": [SEED],
    }
    _alone = False  # whether the encoder alone was trained, or read
    started_from_ = ""
    _prefix = "infograph"  # of the names of features, those of `UntrainedGIN` too

    @classmethod
    def paper(cls, **changed: Any) -> Self:
        """With the paper's settings, whatever today's defaults are; of those it searches, the middle ones."""
        known = cls._get_param_names()
        return cls(**{**{name: frozen(value) for name, value in PAPER.items() if name in known}, **changed})

    @classmethod
    def from_pretrained(cls, name: str = "molecules", *, dim: int | None = None) -> Self:
        """A model that the package carries, or one of a folder: no training, no download.

            vectors = InfoGraph.from_pretrained("molecules").transform(["CCO", "c1ccccc1"])

        It carries its encoder only. `warm_start` is set, so that `fit` goes on from that, with a new
        discriminator; vectors are whole ones then.

        Args:
            name: "molecules", or a folder.
            dim: shorter vectors, the leading principal directions of the molecules that it was trained on;
                None for all of the encoder's numbers.
        """
        model = cls.load(name).set_params(warm_start=True)
        if dim is not None:
            model._shorten(dim)
        return model

    def save_encoder(self, folder: str | Path, graphs: Any) -> Path:
        """Save the encoder alone, with the principal directions of these graphs' vectors.

        `from_pretrained(folder)` reads it; its `dim` leading directions are shorter vectors.
        """
        kept = copy.copy(self)
        kept._n_shown = None
        vectors = kept.transform(graphs).astype(np.float64)
        if len(vectors) < 2:
            raise InvalidParameter("one graph has no principal directions: give at least two")
        mean = vectors.mean(axis=0)
        found = np.linalg.eigh(np.cov(vectors - mean, rowvar=False))[1].T[::-1]  # largest first
        kept._directions = {"mean": mean.astype(np.float32), "axes": found.astype(np.float32)}
        kept._alone = True
        return kept.save(folder)

    def _shorten(self, dim: int) -> None:
        most = len(self._directions.get("axes", ()))
        if not most:
            raise InvalidParameter("this model keeps no directions for shorter vectors: use save_encoder")
        if isinstance(dim, bool) or not isinstance(dim, Integral) or not 1 <= dim <= most:
            raise InvalidParameter(f"dim={dim!r}: expected 1 to {most}, the directions kept with this model")
        self._n_shown = int(dim)

    def _named_objective(self) -> Any:
        name = self.objective
        return OBJECTIVES.get(name, name) if isinstance(name, str) else name

    def _parts(self) -> dict[str, Spec]:
        parts = {"encoder": encoder_spec(self.encoder), "objective": cast(Spec, self._named_objective())}
        return {name: part for name, part in parts.items() if name in self._get_param_names()}

    def fit(
        self,
        graphs: Any,
        y: object = None,
        *,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        watchers: Sequence[Watcher] = (),
        workers: int = 1,
        on: str = "local",
    ) -> Self:
        """Learn from graphs; `y` is ignored.

        Args:
            graphs: the graphs.
            y: nothing; there for scikit-learn's sake.
            checkpoint: a folder that gets the state after every epoch.
            resume: continue from that folder to the weights an uninterrupted run would have.
            watchers: called after every step with where the run stands (`infograph.progress.Progress`), such
                as `CSVLog("run.csv")` and `TensorBoard("runs")`.
            workers: processes with one thread each that share every batch; 1 trains in this one, with all its
                threads. The weights are the same but for rounding. Watchers hear of it, but cannot end it.
            on: "local", or a Ray cluster: "ray" starts one here, "ray://host:port" is a running one.
        """
        self._fit(graphs, checkpoint=checkpoint, resume=resume, watchers=watchers, workers=workers, on=on)
        return self

    def fit_transform(self, graphs: Any, y: object = None, **fit_params: Any) -> NDArray[np.float32]:
        """`fit(graphs).transform(graphs)`, colouring the graphs once."""
        source, known = self._fit(graphs, **fit_params)
        return check_finite(self._vectors(source), known)

    def partial_fit(self, graphs: Any, y: object = None, *, epochs: int | None = None) -> Self:
        """Continue training on these graphs for `epochs` (default: the setting); the first call is `fit`.

        Inputs stay those of the first graphs: elements and other categories that they lack are one "unknown"
        from then on, with a warning. Begin with graphs that have them, or with the pre-trained model.
        """
        if epochs is not None:
            check_parameters(clone(self).set_params(epochs=epochs))
        self._fit(graphs, epochs=epochs, warm=hasattr(self, "schema_"))
        return self

    def prepare(self, graphs: Any) -> tuple[nn.ModuleDict, loop.AnyBatcher]:
        """A network as `fit` starts with, and batches of graphs, for a training loop of your own.

            net, source = model.prepare(graphs)
            total, shown = model.objective_.loss(net, source.batch([0, 1, 2, 3]))

        What the loop makes of the network is what `transform` uses.
        """
        known = check_enough(self._start(graphs))
        self.n_graphs_ = len(known)
        return self.network_, self._source(known)

    def _fit(
        self,
        graphs: Any,
        *,
        epochs: int | Literal["auto"] | None = None,
        warm: bool | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        watchers: Sequence[Watcher] = (),
        workers: int = 1,
        on: str = "local",
    ) -> tuple[loop.AnyBatcher, GraphSet]:
        if isinstance(workers, bool) or not isinstance(workers, Integral) or workers < 1:
            raise InvalidParameter(f"workers={workers!r}: expected 1 or more")
        if on != "local" and on.partition("://")[0] != "ray":
            raise InvalidParameter(f"on={on!r}: expected 'local', 'ray', or such as 'ray://host:10001'")
        epochs = self.epochs if epochs is None else epochs
        warm = self.warm_start and hasattr(self, "schema_") if warm is None else warm
        known = check_enough(self._go_on(graphs) if warm else self._start(graphs))
        self.n_graphs_ = len(known)
        source, earlier = self._source(known), len(self.history_)
        if epochs == 0 and not earlier and not self.started_from_:
            order = loop.cut(np.arange(len(known)), source.sizes, self.batch_size, loop.MAX_NODES, least=2)
            loop.collect_statistics(self.network_, self._encode, map(source.batch, order))
            return source, known
        identity = self._run_settings() | {"graphs": len(known)}
        if checkpoint is not None:
            identity["checksum of the graphs"] = fingerprint(known)
        if earlier:
            identity["earlier epochs"] = earlier
        if epochs == "auto":
            identity["held out"] = len(held_out(len(known), self.random_state)[1])
        most = MOST_EPOCHS if epochs == "auto" else epochs
        run: dict[str, Any] = {"epochs": most, "seed": self.random_state, "earlier": earlier}
        run |= {"identity": identity, "checkpoint": checkpoint, "resume": resume, "clip": self.clip}
        if epochs == "auto":
            run["stop_after"] = PATIENCE
        with ProgressReport() if self.verbose else nullcontext() as report:
            run["watchers"] = [*watchers] if report is None else [report, *watchers]
            if workers == 1 and on == "local":
                loader, run["validate"] = self._loader(source, epochs == "auto")
                loss = partial(self.objective_.loss, self.network_)
                run["rate"] = self._rate(most)
                history = loop.train(self.network_, self._make_optimiser(), loader, loss, model=self, **run)
            else:
                from infograph.estimators.distributed import train_by_team

                history = train_by_team(self, source, known, workers, on, **run)
        self.history_, self._alone = self.history_ + history, self._alone and not history
        return source, known

    def _rate(self, epochs: int) -> Callable[[list[float]], float] | None:
        if self.schedule is None:
            return None
        return lambda errors: float(self.schedule.rate(self.lr, errors, epochs))

    def _loader(
        self,
        source: loop.AnyBatcher,
        auto: bool,
        least: int = 2,
        own: Callable[[IntArray], IntArray] = lambda graphs: graphs,
    ) -> tuple[loop.Loader, Callable[[], Epoch] | None]:
        """Batches to train on and, where some graphs are held out, what these say after an epoch."""
        chosen, others = held_out(len(source.sizes), self.random_state) if auto else (None, None)
        loader = loop.graph_loader(
            source, self.batch_size, self.random_state, among=chosen, least=least, own=own
        )
        if others is None:
            return loader, None

        @torch.no_grad()
        def validate() -> Epoch:
            totals = np.zeros(2)
            with norms_with_momentum(self.network_, 0.0):  # by their own statistics: running ones lag behind
                self.network_.train()
                for graphs in loop.cut(others, source.sizes, self.batch_size, loop.MAX_NODES, least):
                    loss, shown = self.objective_.loss(self.network_, source.batch(own(graphs)))
                    totals += len(graphs) * np.array([float(all_sum(loss)), float(shown.get("mi", math.nan))])
                self.network_.eval()
            loss, information = (totals / len(others)).tolist()
            return {ERROR: round(loss, 2), f"{ERROR} mi": information}

        return loader, validate

    def _start(self, graphs: Any) -> GraphSet:
        """The graphs, and a network with fresh weights for them."""
        check_parameters(self)
        self._directions, self._n_shown = {}, None
        given, self.started_from_ = self.init_from, ""
        start = None if given is None or given == "auto" else fitted_model(given)
        known, encoder = self._read(graphs, start and start.schema_)
        if given == "auto" and self.epochs != 0 and self._is_usual(known, encoder):
            start, given = fitted_model(carried_folder(CARRIED)), CARRIED
        if start is not None:
            name = Path(given).name if isinstance(given, str | Path) else "another model"
            return self._start_from(start, name, known, encoder)
        self._build(known.schema.replace("graph", ()), encoder)
        self._encoder.check_sees(self.schema_)
        return known

    def _is_usual(self, graphs: GraphSet, encoder: EncoderSpec) -> bool:
        """Whether these are molecules as the pre-trained model knows them, and its encoder is asked for."""
        plain = (self.dim, encoder, self.node_columns, self.edge_columns) == (512, GIN(), None, "auto")
        known = AS_LEARNED.items() <= dict(graphs.schema.options).items()
        return plain and known and CARRIED in pretrained_names()

    def _start_from(self, start: Any, name: str, graphs: GraphSet, encoder: EncoderSpec) -> GraphSet:
        """The graphs, and a network with fresh weights but for the encoder, which has those of `start`."""
        schema = replace(widened(start.schema_, graphs), options=graphs.schema.options)
        for what, own, its in (("dim", self.dim, start._encoder.dim), ("encoder", encoder, start.encoder_)):
            if saved(own) != saved(its):
                raise InvalidParameter(f"{what}={own!r}, but init_from has {what}={its!r}: give the same")
        self._build(schema, start.encoder_)
        load_widened(self._encoder, start._encoder, start.schema_, schema)
        self.started_from_ = name
        return align(graphs, schema)

    def _go_on(self, graphs: Any) -> GraphSet:
        """The graphs, to go on with the network that is there, unless the settings ask for another one."""
        check_parameters(self)
        self._directions, self._n_shown = {}, None
        for name, before in self._built.items():
            now = getattr(self, name)
            same = saved(now) == saved(before) or (name == "encoder" and now == "auto")
            if not same and saved(before) != CUSTOM:
                raise InvalidParameter(
                    f"{name}={now!r}, but the network to go on with was made with {name}={before!r}: "
                    f"set it back, or start anew with fit and warm_start=False"
                )
        return as_graphset(graphs, schema=self.schema_)

    def _build(self, schema: Schema, encoder: EncoderSpec) -> None:
        """A network with fresh weights for graphs of this schema."""
        self.schema_, self.encoder_ = schema, frozen(encoder)
        self._built = {name: frozen(getattr(self, name)) for name in BUILT if name in self._get_param_names()}
        with loop.own_noise(self.random_state):
            made = self._network(schema, encoder)
        self.network_ = made.to(choose_device(self.device))
        self.history_, self._alone = [], False
        self._optimiser: torch.optim.Optimizer | None = None  # made for training: that takes torch a second

    def _network(self, schema: Schema, encoder: EncoderSpec) -> nn.ModuleDict:
        self.objective_ = frozen(self._named_objective())
        made: nn.ModuleDict = self.objective_.build(encoder.build(schema, self.dim))
        return made

    def _make_optimiser(self) -> torch.optim.Optimizer:
        """The optimiser; that of earlier training goes on with today's settings."""
        optimiser = self._optimiser or loop.adam(self.network_.parameters())
        for group in optimiser.param_groups:
            group.update(lr=self.lr, weight_decay=self.weight_decay)
        self._optimiser = optimiser
        return optimiser

    @property
    def _encoder(self) -> GraphEncoder:
        return cast(GraphEncoder, self.network_["encoder"])

    def transform_nodes(self, graphs: Any) -> NDArray[np.float32]:
        """The patch representation of every node, graph after graph (Eq. 2). (N, dim)."""
        return self._per_node(graphs, lambda batch: node_vectors(self._encoder(batch), batch))

    @property
    def scores_nodes(self) -> bool:
        """Whether there is a discriminator for `score_nodes`: an encoder alone has none, nor have some of
        your own objectives.
        """
        return "local_global" in getattr(self, "network_", ()) and not self._alone

    def score_nodes(self, graphs: Any) -> NDArray[np.float32]:
        """T(h_u, H(G)) of every node, graph after graph: which parts of a graph speak for it. (N,)."""
        self._check_fitted()
        if self._alone:
            raise InvalidParameter(
                "this model is an encoder alone: fit it, with warm_start=True, to score nodes"
            )
        if not self.scores_nodes:
            raise InvalidParameter("the objective of this model has no discriminator to score nodes by")
        contrast = cast(LocalGlobal, self.network_["local_global"])

        def score(batch: Batch) -> Tensor:
            states = self._encoder(batch)
            return contrast.score_nodes(states, self._encoder.vectors(states, batch), batch)

        return self._per_node(graphs, score)

    def _per_node(self, graphs: Any, what: Callable[[Batch], Tensor]) -> NDArray[np.float32]:
        self._check_fitted()
        known = as_graphset(graphs, schema=self.schema_)
        return loop.compute(self.network_, self._source(known), what, nodes=True)

    def _vectors(self, source: loop.AnyBatcher) -> NDArray[np.float32]:
        vectors, shown = super()._vectors(source), self._shown_directions()
        return np.asarray((vectors - shown["mean"].numpy()) @ shown["axes"].numpy().T) if shown else vectors

    def _shown_directions(self) -> dict[str, Tensor]:
        if self._n_shown is None:
            return {}
        mean, axes = (torch.from_numpy(np.array(self._directions[name])) for name in ("mean", "axes"))
        return {"mean": mean, "axes": axes[: self._n_shown]}

    @property
    def _n_features_out(self) -> int:
        return super()._n_features_out if self._n_shown is None else self._n_shown

    def _state(self) -> State:
        part = self.network_["encoder"] if self._alone else self.network_
        weights = part.state_dict(prefix="encoder." if self._alone else "")
        state = {name: tensor.cpu().numpy() for name, tensor in weights.items()}
        return state | {f"directions.{name}": values for name, values in self._directions.items()}

    def _set_state(self, state: State) -> None:
        check_parameters(self)
        kept = {
            name: state.pop(f"directions.{name}")
            for name in ("mean", "axes")
            if f"directions.{name}" in state
        }
        weights = {name: torch.from_numpy(np.array(values)) for name, values in state.items()}
        encoder = encoder_spec(self.encoder)
        alone = all(name.startswith("encoder.") for name in weights)
        part = (lambda net: nn.ModuleDict({"encoder": net["encoder"]})) if alone else (lambda net: net)
        check_weights(lambda: part(self._network(self.schema_, encoder)), weights)
        self._build(self.schema_, encoder)
        load_weights(part(self.network_), weights)
        self.network_.eval()
        self._alone = alone
        self._directions = kept

    def _learned(self) -> dict[str, Any]:
        shown = {} if self._n_shown is None else {"shown": self._n_shown}
        return {**shown, "graphs": self.n_graphs_, "started_from": self.started_from_}

    def _set_learned(self, learned: dict[str, Any]) -> None:
        self._n_shown = int(learned["shown"]) if "shown" in learned else None
        self.n_graphs_, self.started_from_ = int(learned.get("graphs", 0)), learned.get("started_from", "")

    def _fitted_settings(self) -> dict[str, Any]:
        made: dict[str, Any] = {"objective": self.objective_} if self.objective == "auto" else {}
        made |= {} if self.init_from == "auto" else {"init_from": None}
        return {**super()._fitted_settings(), **self._built, "encoder": self.encoder_, **made}

    def _facts(self) -> dict[str, str]:
        facts = {"makes of a graph": f"a vector of {self._n_features_out} numbers"}
        facts |= {"fitted on": f"{self.n_graphs_:,} graphs"} if self.n_graphs_ else {}
        facts |= {"started from": self.started_from_} if self.started_from_ else {}
        if not self.history_:
            started = "the encoder is as it was" if self.started_from_ else "the weights are random"
            return {**facts, "training": f"none: {started}"}
        last = self.history_[-1]
        figures = (f"{what} {last[name]:.3g}" for name, what in MEASURED.items() if name in last)
        return {**facts, "training": f"{len(self.history_)} epochs", "last epoch": ", ".join(figures)}


PAPER = {
    "dim": 512,
    "encoder": GIN(layers=4, readout="sum", norm=True, learn_eps=False, node_features="auto"),
    "objective": MutualInformation("jsd", "paper", weighting="graph", patches="all", prior=0.0),
    "epochs": 20,
    "lr": 1e-3,
    "batch_size": 128,
    "weight_decay": 0.0,
    "schedule": None,
    "clip": None,
    "edge_columns": None,
    "init_from": None,
}


def held_out(n_graphs: int, seed: int) -> tuple[IntArray, IntArray]:
    """Graphs to train on, and a tenth to end training by; where 100 are not there, all for both."""
    order = loop.shuffled(n_graphs, seed, 0)
    if n_graphs < FEW:
        return order, order
    n_out = min(n_graphs // 10, MOST_OUT)
    return np.sort(order[n_out:]), np.sort(order[:n_out])


def check_enough(graphs: GraphSet) -> GraphSet:
    """Refuse a single graph."""
    if len(graphs) < 2:
        raise InvalidParameter(f"{len(graphs)} graph: at least two are needed, each is the other's negative")
    return graphs


@dataclass(eq=False, repr=False)
class UntrainedGIN(InfoGraph):
    """`InfoGraph(epochs=0)` by a name of its own: random weights, BatchNorm statistics from one pass.

        vectors = UntrainedGIN().fit_transform(graphs)

    The same seed gives the same weights as in `InfoGraph(init_from=None)`, so these two differ by training
    alone. Whatever has to do with training is fixed.

    Args:
        dim, encoder, batch_size, node_columns, edge_columns, device, random_state: as in `InfoGraph`, with
            its defaults.
    """

    objective: str | MutualInformation = field(default="infograph", init=False)
    epochs: int | Literal["auto"] = field(default=0, init=False)
    lr: float = field(default=1e-3, init=False)
    weight_decay: float = field(default=0.0, init=False)
    schedule: Any = field(default=None, init=False)
    clip: float | None = field(default=None, init=False)
    init_from: str | Path | GraphNetwork | None = field(default="auto", init=False)
    warm_start: bool = field(default=False, init=False)
    verbose: bool = field(default=False, init=False)

    def partial_fit(self, graphs: Any, y: object = None, *, epochs: int | None = None) -> Self:
        """`fit`, but for the weights, which stay.

        Raises:
            InvalidParameter: it is asked to train.
        """
        if epochs:
            raise InvalidParameter(f"epochs={epochs!r}: an untrained encoder stays one; take InfoGraph")
        return super().partial_fit(graphs, y)
