"""InfoGraph, the unsupervised estimator: graphs in, vectors out; and its untrained encoder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from infograph.data.convert import as_graphset
from infograph.data.graphset import GraphSet, align, fingerprint
from infograph.data.schema import Column, Schema
from infograph.errors import InvalidParameter
from infograph.estimators.architecture import (
    Architecture,
    EncoderName,
    NodeFeatures,
    check_epochs,
    check_settings,
    choose_device,
    make_source,
)
from infograph.estimators.base import BadRows, GraphTransformer, check_finite, rows_of, unchanged_on_error
from infograph.estimators.folder import State
from infograph.io import json_ready
from infograph.nn.batch import Batch
from infograph.nn.encoder import GraphEncoder, Readout
from infograph.nn.norm import ALONE, Peers
from infograph.objectives.bounds import BoundName
from infograph.objectives.contrast import Negatives, Weighting
from infograph.objectives.infograph import InfoGraphObjective
from infograph.progress import Epoch, ProgressReport, Watcher
from infograph.train.checkpoint import load_weights
from infograph.train.loop import (
    SOLO,
    AnyBatcher,
    GraphFeed,
    PartFeed,
    Plan,
    SharedLoss,
    Team,
    collect_statistics,
    compute,
    cut,
    train,
)

BUILT = (  # the settings that a network is made with
    "dim",
    "layers",
    "readout",
    "weighting",
    "bound",
    "discriminator",
    "prior",
    "node_columns",
    "edge_columns",
    "node_features",
    "encoder",
    "norm",
    "learn_eps",
)
TEAM = ("workers", "on", "negatives")
BESIDE = ("epochs", "verbose", "device", "warm_start")  # parameters that runs of one kind may differ in


class InfoGraph(GraphTransformer):
    """One vector per graph, learned without labels by maximising mutual information (Sun et al., ICLR 2020).

        vectors = InfoGraph(epochs=20).fit_transform(graphs)

    `graphs` is a GraphSet, a path, a data set's name, or a list of networkx graphs, PyG Data, `(edge_index,
    features)` tuples, SMILES strings or RDKit molecules.

    Args:
        dim: length of the vectors; 512 in the paper.
        layers: GIN layers; the paper searches 4, 8, 12. Widths are as equal as possible and add up to `dim`.
        epochs: passes over the graphs; the paper searches 10, 20, 100. 0 gives the untrained encoder, with
            BatchNorm statistics from one pass.
        lr: Adam's learning rate; the paper searches 1e-2, 1e-3, 1e-4.
        batch_size: graphs per step; 128 in the paper. All other graphs of the batch are negatives.
        readout: "sum" (paper), "mean" or "max".
        weighting: "graph" gives each graph the same weight (1/|G|, Eq. 4), "node" each node, as the authors'
            code does.
        bound: "jsd" (Eq. 5), "dv" (Donsker-Varadhan) or "infonce".
        discriminator: "paper" (Appendix D), or "conditioned": BatchNorm on graph vectors, scores divided by
            sqrt(dim).
        prior: weight of Deep InfoMax's prior term; the paper has none.
        node_columns, edge_columns: the columns (or networkx attributes) that the encoder sees; None takes
            those the schema marks as used. Edge columns turn GIN into GINE.
        node_features: "auto" (the node columns, a constant where there are none), "constant", or "degree".
        encoder: "gin"; "enn-s2s", the paper's encoder of molecules with coordinates, which also takes
            continuous edge features; "auto" for the second where there are such; or a module
            `forward(x, edge_index, batch) -> list of node states per layer`, which is copied.
        norm: BatchNorm after every GIN layer.
        learn_eps: learn GIN's eps instead of fixing it at 0.
        weight_decay: Adam's L2 penalty; the paper has none here.
        max_nodes: nodes per step: batches of large graphs hold fewer of them, never fewer than two.
        memory_mb: what the score matrix and its activations may take at a time.
        warm_start: `fit` continues from the weights it finds instead of starting anew.
        device: "auto" takes a GPU if there is one; or any torch device.
        random_state: seed of weights, batches and noise. The same seed gives the same vectors.
        verbose: show progress on standard error.

    Attributes:
        schema_: what the graphs must look like.
        history_: one record per epoch: loss, MI estimate (0 at chance, 2 log 2 at most for "jsd"), pair
            accuracy.
        network_: the trained torch module.
    """

    _unsaved: ClassVar[tuple[str, ...]] = ("encoder",)
    history_: list[Epoch]
    _built: dict[str, Any]
    network_: InfoGraphObjective

    def __init__(
        self,
        dim: int = 512,
        layers: int = 4,
        epochs: int = 20,
        lr: float = 1e-3,
        batch_size: int = 128,
        *,
        readout: Readout = "sum",
        weighting: Weighting = "graph",
        bound: BoundName = "jsd",
        discriminator: Literal["paper", "conditioned"] = "paper",
        prior: float = 0.0,
        node_columns: Sequence[str] | None = None,
        edge_columns: Sequence[str] | None = None,
        node_features: Literal["auto", "constant", "degree"] = "auto",
        encoder: EncoderName | nn.Module = "gin",
        norm: bool = True,
        learn_eps: bool = False,
        weight_decay: float = 0.0,
        max_nodes: int = 200_000,
        memory_mb: float = 512.0,
        warm_start: bool = False,
        device: str = "auto",
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self.dim = dim
        self.layers = layers
        self.epochs = epochs
        self.lr = lr
        self.batch_size = batch_size
        self.readout = readout
        self.weighting = weighting
        self.bound = bound
        self.discriminator = discriminator
        self.prior = prior
        self.node_columns = node_columns
        self.edge_columns = edge_columns
        self.node_features = node_features
        self.encoder = encoder
        self.norm = norm
        self.learn_eps = learn_eps
        self.weight_decay = weight_decay
        self.max_nodes = max_nodes
        self.memory_mb = memory_mb
        self.warm_start = warm_start
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    # ---- learning

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
        negatives: Negatives = "global",
        scratch: str | Path | None = None,
    ) -> Self:
        """Learn from graphs; `y` is ignored.

        Args:
            graphs: the graphs.
            y: nothing; there for scikit-learn's sake.
            checkpoint: a folder that gets the state after every epoch.
            resume: continue from that folder to the weights an uninterrupted run would have.
            watchers: called after every step with where the run stands.
            workers: processes with one thread each that share every batch; 1 trains in this one, with all its
                threads. The weights are the same but for rounding.
            on: "local", or a Ray cluster: "ray" starts one here, "ray://host:port" is a running one.
            negatives: "global" contrasts a patch with the graphs of all workers, "local" with its own
                worker's only, which is another loss.
            scratch: a folder for what does not fit into memory: graphs are coloured block by block, and their
                colours kept there, for this and later runs. With graphs that were opened as a memory map,
                training then needs little memory, however many they are.
        """
        team = Team(workers, on, negatives)
        self._fit(graphs, checkpoint=checkpoint, resume=resume, watchers=watchers, team=team, scratch=scratch)
        return self

    def fit_transform(self, graphs: Any, y: object = None, **fit_params: Any) -> NDArray[np.float32]:
        """`fit(graphs).transform(graphs)`, colouring the graphs once."""
        team = Team(**{name: fit_params.pop(name) for name in TEAM if name in fit_params})
        source, known = self._fit(graphs, **fit_params, team=team)
        return check_finite(self._vectors(source), known)

    def partial_fit(self, graphs: Any, y: object = None, *, epochs: int | None = None) -> Self:
        """Continue training on these graphs for `epochs` (default: the setting); the first call is `fit`."""
        check_settings(self)
        check_epochs(epochs)
        if not hasattr(self, "schema_"):
            self._fit(graphs, epochs=epochs)
            return self
        self._check_same_network()
        known = as_graphset(graphs, schema=self.schema_)
        check_enough(known)
        with self._unchanged_on_error(in_place=True):
            self._train(self._source(known), known, self._plan(known, epochs))
        return self

    def _fit(
        self,
        graphs: Any,
        *,
        epochs: int | None = None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        watchers: Sequence[Watcher] = (),
        team: Team = SOLO,
        scratch: str | Path | None = None,
    ) -> tuple[AnyBatcher, GraphSet]:
        check_settings(self)
        warm = self.warm_start and hasattr(self, "schema_")
        if warm:
            self._check_same_network()
            known = as_graphset(graphs, schema=self.schema_)
        else:
            known, architecture = read_for(self, graphs)
        check_enough(known)
        with self._unchanged_on_error(in_place=warm):
            if not warm:
                self._build(known.schema, architecture)
            source = self._source(known, scratch)
            plan = self._plan(known, epochs, checkpoint, resume)
            self._train(source, known, plan, watchers, team)
        self.schema_ = known.schema.replace("graph", ())
        return source, known

    def _unchanged_on_error(self, *, in_place: bool) -> AbstractContextManager[None]:
        """A block in which a new network learns, or `in_place` the one that is there."""
        learning = (self.network_, self._optimiser) if in_place else ()
        return unchanged_on_error(self, *(each for each in learning if each is not None))

    def _check_same_network(self) -> None:
        """Refuse to go on training a network that other settings ask to be another one."""
        for name, value in self._built.items():
            now = getattr(self, name)
            decided = (name, now) in (("encoder", "auto"), ("layers", None)) or isinstance(value, nn.Module)
            if not decided and json_ready(now) != json_ready(value):
                raise InvalidParameter(
                    f"{name}={now!r}, but the network to go on with was made with {name}={value!r}: "
                    f"set it back, or start anew with fit and warm_start=False"
                )

    def _source(self, graphs: GraphSet, scratch: str | Path | None = None) -> AnyBatcher:
        features: NodeFeatures = self._built["node_features"]
        return make_source(self.network_.encoder, graphs, features, choose_device(self.device), scratch)

    def _build(self, schema: Schema, architecture: Architecture) -> None:
        """A network with fresh weights for graphs of this schema."""
        self._built = {**{name: getattr(self, name) for name in BUILT}, **vars(architecture)}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.random_state)
            self.network_ = InfoGraphObjective(
                architecture.build(schema),
                weighting=self.weighting,
                bound=self.bound,
                conditioned=self.discriminator == "conditioned",
                prior=self.prior,
                memory_mb=self.memory_mb,
            ).to(choose_device(self.device))
        self.history_ = []
        self._optimiser: torch.optim.Optimizer | None = None  # made for training: that takes torch a second

    def _plan(
        self,
        graphs: GraphSet,
        epochs: int | None,
        checkpoint: str | Path | None = None,
        resume: bool = False,
    ) -> Plan:
        data: dict[str, Any] = {"graphs": len(graphs), "nodes": graphs.n_nodes, "arcs": graphs.n_edges}
        if checkpoint is not None:
            data["checksum of the graphs"] = fingerprint(graphs)
        passes, earlier = self.epochs if epochs is None else epochs, len(self.history_)
        identity = {**run_settings(self), **data, **({"earlier epochs": earlier} if earlier else {})}
        return Plan(passes, self.random_state, checkpoint, resume, identity, earlier=earlier)

    def _train(
        self,
        source: AnyBatcher,
        graphs: GraphSet,
        plan: Plan,
        watchers: Sequence[Watcher] = (),
        team: Team = SOLO,
    ) -> None:
        if plan.epochs == 0 and not self.history_:
            order = cut(np.arange(len(graphs)), source.sizes, self.batch_size, self.max_nodes, least=2)
            collect_statistics(self.network_, self.network_.encode, map(source.batch, order))
            return
        with ProgressReport() if self.verbose else nullcontext() as report:
            watching: list[Watcher] = [*watchers] if report is None else [report, *watchers]
            if team.alone:
                history = self._train_here(source, plan, watching)
            else:
                from infograph.estimators.distributed import train_by_team

                history = train_by_team(self, source, graphs, plan, team, watching)
        self.history_ = self.history_ + history

    def _train_here(
        self,
        source: AnyBatcher,
        plan: Plan,
        watchers: Sequence[Watcher],
        peers: Peers = ALONE,
        least: int = 2,
    ) -> list[Epoch]:
        """Train in this process, alone or as one of several that share every batch."""
        feed = GraphFeed(source, source.sizes, self.batch_size, self.max_nodes, self.random_state, least)
        optimiser = self._make_optimiser()
        if peers is ALONE:
            return train(self.network_, optimiser, feed, plan, watchers=watchers)
        part = PartFeed(feed, source.costs, peers.rank, peers.size)
        loss = SharedLoss(self.network_, peers)
        return train(self.network_, optimiser, part, plan, watchers=watchers, loss=loss)

    def _make_optimiser(self) -> torch.optim.Optimizer:
        """The optimiser; that of earlier training goes on with today's settings."""
        optimiser = self._optimiser or torch.optim.Adam(self.network_.parameters(), fused=True)
        for group in optimiser.param_groups:
            group.update(lr=self.lr, weight_decay=self.weight_decay)
        self._optimiser = optimiser
        return optimiser

    # ---- vectors

    def transform(self, graphs: Any, *, errors: BadRows = "raise") -> NDArray[np.float32]:
        """One vector per graph. (G, dim). It does not depend on the other graphs of the call.

        Args:
            graphs: anything `fit` accepts.
            errors: at a bad graph "raise", "skip" its row, or keep the row's place with "nan".
        """
        self._check_fitted()
        embed = lambda known: self._vectors(self._source(known))  # noqa: E731
        rows = rows_of(graphs, self.schema_, embed, width=self.network_.dim, errors=errors, what="vector")
        return rows.astype(np.float32, copy=False)

    def transform_nodes(self, graphs: Any) -> NDArray[np.float32]:
        """The patch representation of every node, graph after graph (Eq. 2). (N, dim)."""
        return self._per_node(graphs, lambda batch: self.network_.node_vectors(batch))

    def score_nodes(self, graphs: Any) -> NDArray[np.float32]:
        """T(h_u, H(G)) of every node, graph after graph: which parts of a graph speak for it. (N,)."""
        return self._per_node(graphs, lambda batch: self.network_.score_nodes(batch))

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """`infograph0` ... as scikit-learn asks for it."""
        self._check_fitted()
        return np.array([f"infograph{position}" for position in range(self.network_.dim)], dtype=object)

    @property
    def _n_features_out(self) -> int:
        return self.network_.dim

    @property
    def _encoder(self) -> GraphEncoder:
        return self.network_.encoder

    def _vectors(self, source: AnyBatcher) -> NDArray[np.float32]:
        return compute(self.network_, source, lambda batch: self.network_.encode(batch)[1][batch.which])

    def _per_node(self, graphs: Any, what: Callable[[Batch], Tensor]) -> NDArray[np.float32]:
        self._check_fitted()
        known = as_graphset(graphs, schema=self.schema_)
        return compute(self.network_, self._source(known), what, nodes=True)

    # ---- saving

    def _state(self) -> State:
        return {name: tensor.cpu().numpy() for name, tensor in self.network_.state_dict().items()}

    def _set_state(self, state: State) -> None:
        check_settings(self)
        self._build(self.schema_, Architecture.of(self))
        load_weights(
            self.network_, {name: torch.from_numpy(np.array(value)) for name, value in state.items()}
        )
        self.network_.eval()

    def _fitted_settings(self) -> dict[str, Any]:
        return self._built

    def _card(self) -> str:
        settings = {**self.get_params(deep=False), **self._built}
        return model_card(settings, self.schema_, self.history_, self.network_.dim)


def read_for(estimator: Any, graphs: Any) -> tuple[GraphSet, Architecture]:
    """Graphs with the columns that an estimator's settings ask for, and what its encoder is made with."""
    read = as_graphset(graphs, node=estimator.node_columns, edge=estimator.edge_columns)
    architecture = Architecture.of(estimator).resolved(read)
    schema = architecture.schema(read, estimator.node_columns, estimator.edge_columns)
    return align(read, schema), architecture


def check_enough(graphs: GraphSet) -> None:
    """Refuse a single graph.

    Raises:
        InvalidParameter: there are fewer than two.
    """
    if len(graphs) < 2:
        raise InvalidParameter(f"{len(graphs)} graph: at least two are needed, each is the other's negative")


def run_settings(estimator: Any) -> dict[str, Any]:
    """The parameters that must not differ between a checkpoint and the run that goes on from it, as JSON."""
    ignored = (*BESIDE, *estimator._unsaved)
    return {k: json_ready(v) for k, v in estimator.get_params(deep=False).items() if k not in ignored}


def model_card(
    settings: Mapping[str, Any], schema: Schema, history: Sequence[Mapping[str, float]], dim: int
) -> str:
    """Markdown for people; nothing reads it back."""
    lines = ["# InfoGraph model", "", f"Turns a graph into a vector of {dim} numbers.", ""]
    lines += [
        "```python",
        "import infograph",
        "",
        'vectors = infograph.load("this folder").transform(graphs)',
        "```",
        "",
    ]
    lines += ["## Expects", "", *_columns(schema), "", "## Training", ""]
    if history:
        last = history[-1]
        end = f"loss {last['loss']:.4g}, pair accuracy {last['accuracy']:.1%}"
        lines.append(f"{len(history)} epochs; at the end: {end}.")
    else:
        lines.append("Untrained weights; BatchNorm statistics from one pass.")
    lines += ["", "## Settings", "", *(f"- {name}: {value}" for name, value in settings.items()), ""]
    return "\n".join(lines)


def _columns(schema: Schema) -> list[str]:
    described = [f"- node column `{c.name}`: {_describe(c)}" for c in schema.node]
    described += [f"- edge column `{c.name}`: {_describe(c)}" for c in schema.edge]
    return described or ["- graphs without node or edge columns"]


def _describe(column: Column) -> str:
    if column.role == "weight":
        return "weight of messages"
    if column.kind == "categorical":
        shown = ", ".join(map(str, column.categories[:12])) + (" ..." if len(column.categories) > 12 else "")
        return f"{len(column.categories)} categories ({shown})"
    return f"{column.width} number(s), standardised"


class UntrainedGIN(InfoGraph):
    """`InfoGraph(epochs=0)` by a name of its own: random weights, BatchNorm statistics from one pass.

        vectors = UntrainedGIN().fit_transform(graphs)

    The same seed gives the same weights as in `InfoGraph`, so the two differ by training alone. Whatever has
    to do with training is fixed.

    Args:
        dim, layers, batch_size, readout, node_columns, edge_columns, node_features, encoder, norm,
            max_nodes, device, random_state: as in `InfoGraph`, with its defaults.
    """

    def __init__(
        self,
        dim: int = 512,
        layers: int = 4,
        *,
        batch_size: int = 128,
        readout: Readout = "sum",
        node_columns: Sequence[str] | None = None,
        edge_columns: Sequence[str] | None = None,
        node_features: Literal["auto", "constant", "degree"] = "auto",
        encoder: EncoderName | nn.Module = "gin",
        norm: bool = True,
        max_nodes: int = 200_000,
        device: str = "auto",
        random_state: int = 0,
    ) -> None:
        super().__init__(
            dim,
            layers,
            epochs=0,
            batch_size=batch_size,
            readout=readout,
            node_columns=node_columns,
            edge_columns=edge_columns,
            node_features=node_features,
            encoder=encoder,
            norm=norm,
            max_nodes=max_nodes,
            device=device,
            random_state=random_state,
        )

    def partial_fit(self, graphs: Any, y: object = None, *, epochs: int | None = None) -> Self:
        """`fit`, but for the weights, which stay.

        Raises:
            InvalidParameter: it is asked to train.
        """
        if epochs:
            raise InvalidParameter(f"epochs={epochs!r}: an untrained encoder stays one; take InfoGraph")
        return super().partial_fit(graphs, y, epochs=0)

    def _fitted_settings(self) -> dict[str, Any]:
        own = self._get_param_names()
        return {name: value for name, value in super()._fitted_settings().items() if name in own}
