"""What every encoder of graphs offers: states of nodes, graph vectors; and a user's module as one."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from infograph.data.colours import arc_weights, dense, edge_inputs, edge_width, node_inputs, node_width
from infograph.data.graphset import GraphSet, IntArray, ranges
from infograph.data.schema import Schema
from infograph.errors import InvalidParameter
from infograph.nn.batch import Batch, SparseMatrix, per_node

Readout = Literal["sum", "mean", "max", "log"]
NodeFeatures = Literal["auto", "constant", "degree", "degrees"]
Weights = Literal["torch", "xavier"]


def xavier(module: nn.Module) -> None:
    """Start all linear maps of a module with Xavier's weights and biases of zero."""
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            if layer.weight.numel():  # torch warns where there is nothing to do
                nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)


class GraphEncoder(nn.Module):
    """A network over batches; its call gives the states of all nodes after each of K layers (Eq. 1)."""

    widths: Sequence[int]  # K widths of node states; a patch is all of them, concatenated (Eq. 2)
    level_dims: Sequence[int]  # K widths of the graph vectors H^k made of one layer's states
    dim: int  # width of the graph vector H
    node_features: NodeFeatures = "auto"  # what nodes start with; without node columns "auto" is a constant
    weights: Weights = "torch"  # what the linear maps of a head on its vectors start with

    def source(self, graphs: GraphSet, device: torch.device | None = None) -> Any:
        """What makes batches of graphs for this encoder: `source(graphs).batch(positions)`."""
        raise NotImplementedError

    def level(self, states: Sequence[Tensor], batch: Any, k: int) -> Tensor:
        """H^k, the vectors of the distinct graphs at layer k. (G, level_dims[k])."""
        raise NotImplementedError

    def vectors(self, states: Sequence[Tensor], batch: Any) -> Tensor:
        """H, the vectors of the distinct graphs of a batch (Eq. 3). (G, dim)."""
        raise NotImplementedError

    def check_sees(self, schema: Schema) -> None:
        """Refuse graphs with columns that this encoder would not see."""


class ColourEncoder(GraphEncoder):
    """Base of GIN and of users' networks per node: H^k is a sum, mean or maximum, H all of them together."""

    def __init__(self, widths: Sequence[int], readout: Readout) -> None:
        super().__init__()
        self.widths = self.level_dims = list(widths)
        self.dim, self.readout = sum(widths), readout

    def level(self, states: Sequence[Tensor], batch: Batch, k: int) -> Tensor:
        return read_out(states[k], batch.rounds[k].members, batch.sizes, self.readout)

    def vectors(self, states: Sequence[Tensor], batch: Batch) -> Tensor:
        return torch.cat([self.level(states, batch, k) for k in range(len(states))], 1)


def read_out(states: Tensor, members: SparseMatrix, sizes: Tensor, how: Readout) -> Tensor:
    """(C, D) states, (B, C) members, (B,) sizes -> (B, D)."""
    if how == "max":
        return _largest(states, members)
    total = members @ states
    if how == "log":
        return total.sign() * total.abs().log1p()
    return total / sizes.to(total.dtype)[:, None] if how == "mean" else total


def _largest(states: Tensor, members: SparseMatrix) -> Tensor:
    """The largest state per graph; tied nodes share the gradient equally, a colour by its multiplicity."""
    graph = members.rows  # (entries,)
    chosen = states[members.index]  # (entries, D)
    zeros = states.new_zeros(members.shape[0], states.shape[1])
    with torch.no_grad():
        largest = torch.full_like(zeros, -torch.inf)
        largest.scatter_reduce_(0, graph[:, None].expand_as(chosen), chosen, "amax")
        share = (chosen == largest[graph]) * members.value.to(states.dtype)[:, None]  # tied nodes per colour
        share /= zeros.index_add(0, graph, share)[graph]
    mean = zeros.index_add(0, graph, share * chosen)  # of the tied ones: it has the gradient, and rounding
    return largest + (mean - mean.detach())


@dataclass(frozen=True, kw_only=True)
class NodeBatch(Batch):
    """A batch in which every node is its own colour, with the tensors that PyG modules expect."""

    edge_index: Tensor  # (2, E) source and target of every arc
    edge_attr: Tensor | None = None  # (E, F_e) inputs of arcs
    edge_weight: Tensor | None = None  # (E,) what multiplies messages


class NodeBatcher:
    """Cuts per-node batches out of a GraphSet; `sizes`, `loads`, `costs` and `most` as for `Batcher`."""

    most = 100_000

    def __init__(
        self, graphs: GraphSet, layers: int, node_features: str, device: torch.device | None = None
    ) -> None:
        self.graphs, self.layers = graphs, layers
        self.sizes = self.loads = self.costs = graphs.sizes
        self.device = device or torch.device("cpu")
        self._colour, table = node_inputs(graphs, node_features)
        self._table = dense(table)
        arcs = np.arange(graphs.n_edges)
        self._edge_code, self._edge_table = edge_inputs(graphs, arcs)
        self._weight = arc_weights(graphs, arcs)

    def batch(self, graphs: IntArray, *, nodes: bool = False) -> NodeBatch:
        """The batch of `graphs`, positions in the GraphSet."""
        graphs = np.asarray(graphs)
        chosen = self.graphs[graphs]
        rows, _ = ranges(self.graphs.node_ptr, graphs)
        arcs, _ = ranges(self.graphs.edge_ptr, graphs)
        attributes = self._edge_table[self._edge_code[arcs]] if self._edge_table.shape[1] else None
        weight = None if self._weight is None else self._weight[arcs].astype(np.float32)
        return NodeBatch(
            **per_node(chosen.node_ptr, self.layers, nodes, self.device),
            x=torch.from_numpy(self._table[self._colour[rows]]).to(self.device),
            edge_index=torch.from_numpy(chosen.edge_index.astype(np.int64)).to(self.device),
            edge_attr=None if attributes is None else torch.from_numpy(attributes).to(self.device),
            edge_weight=None if weight is None else torch.from_numpy(weight).to(self.device),
        )


class NodeEncoder(ColourEncoder):
    """A user's module as an encoder: `forward(x, edge_index, batch) -> list of node states per layer`.

    A module with the arguments `edge_attr` or `edge_weight` gets those, too, and need not take `batch`; one
    that gives the states of its last layer only, as a tensor, has one layer. A module that cannot be called
    like that is refused.
    """

    def __init__(
        self,
        module: nn.Module,
        schema: Schema,
        readout: Readout = "sum",
        node_features: NodeFeatures = "auto",
    ) -> None:
        graph_as, wanted = _arguments(module)
        edge_dim = edge_width(schema)
        more = {"edge_attr": torch.zeros(2, edge_dim) if edge_dim else None}
        more["edge_weight"] = None if schema.weight is None else torch.ones(2)
        width = node_width(schema, node_features)
        x, pair = torch.zeros(2, width), torch.tensor([[0, 1], [1, 0]])
        try:
            with torch.no_grad():
                tried = _states(module.eval(), x, pair, pair[0] * 0, graph_as, {k: more[k] for k in wanted})
        except (RuntimeError, ValueError, IndexError) as error:
            if isinstance(error, InvalidParameter) or x.is_meta:  # where shapes are wanted and not numbers
                raise
            raise InvalidParameter(
                f"the encoder {type(module).__name__} fails with {width} inputs per node and {edge_dim} per "
                f"edge, which these graphs have: {str(error).splitlines()[0]}"
            ) from error
        super().__init__([state.shape[1] for state in tried], readout)
        self.module, self.node_features = module, node_features
        self._wanted, self._graph_as = wanted, graph_as

    def source(self, graphs: GraphSet, device: torch.device | None = None) -> NodeBatcher:
        return NodeBatcher(graphs, len(self.widths), self.node_features, device)

    def check_sees(self, schema: Schema) -> None:
        columns = {"edge_attr": [c.name for c in schema.features("edge")]}
        columns["edge_weight"] = [] if schema.weight is None else [schema.weight.name]
        for argument, names in columns.items():
            if names and argument not in self._wanted:
                raise InvalidParameter(
                    f"the encoder {type(self.module).__name__} would not see the edge column {names[0]!r}: "
                    f"give its forward the argument {argument}, or leave the column out (edge_columns=[...])"
                )

    def forward(self, batch: NodeBatch) -> list[Tensor]:
        """States per layer: K tensors (N, D_k)."""
        more = {name: getattr(batch, name) for name in self._wanted}
        return _states(self.module, batch.x, batch.edge_index, batch.node_graph, self._graph_as, more)


def _arguments(module: nn.Module) -> tuple[str, tuple[str, ...]]:
    """How `forward` takes the graph of every node (by name, in third place, or not), and which of `edge_attr`
    and `edge_weight`; models of PyG take both and say which of them their layers see.
    """
    try:
        signature = inspect.signature(module.forward)
    except (TypeError, ValueError):  # compiled code says nothing about itself
        return "third", ()
    seen = (name for name in ("edge_attr", "edge_weight") if getattr(module, f"supports_{name}", True))
    taken = tuple(name for name in seen if name in signature.parameters)
    problem = TypeError()
    for way in ("batch",) if "batch" in signature.parameters else ("third", ""):
        more = dict.fromkeys((*taken, "batch") if way == "batch" else taken)
        try:
            signature.bind("x", "edge_index", *(["batch"] if way == "third" else []), **more)
        except TypeError as error:
            problem = error
        else:
            return way, taken
    raise InvalidParameter(
        f"the encoder {type(module).__name__} has forward{signature}: expected forward(x, edge_index, "
        f"batch), with batch the graph of every node ({problem})"
    ) from problem


def _states(
    module: nn.Module,
    x: Tensor,
    edge_index: Tensor,
    graph: Tensor,
    graph_as: str,
    more: dict[str, Tensor | None],
) -> list[Tensor]:
    third = (graph,) if graph_as == "third" else ()
    more = {**more, "batch": graph} if graph_as == "batch" else more
    states: Any = module(x, edge_index, *third, **more)
    states = [states] if isinstance(states, Tensor) else states
    listed = states if isinstance(states, list | tuple) else []
    shapes = [tuple(getattr(state, "shape", ())) for state in listed]
    if not shapes or any(len(shape) != 2 or shape[0] != len(x) for shape in shapes):
        raise InvalidParameter(
            f"encoder.forward(x, edge_index, batch) must return a list with one tensor of shape "
            f"({len(x)}, width) per layer; it returned {shapes or states}"
        )
    return list(states)
