"""What every encoder of graphs offers: states of nodes, graph vectors; and a user's module as one."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from infograph.data.colours import arc_weights, edge_inputs, edge_width, node_inputs, node_width
from infograph.data.graphset import GraphSet, IntArray, ranges
from infograph.data.schema import Schema
from infograph.errors import InvalidParameter
from infograph.nn.batch import Batch, BatchRound, Identity, SparseMatrix

Readout = Literal["sum", "mean", "max"]
NodeFeatures = Literal["auto", "constant", "degree"]


class GraphEncoder(nn.Module):
    """A network over batches; its call gives the states of all nodes after each of K layers (Eq. 1).

    Attributes:
        widths: K widths of node states; a patch is all of them, concatenated (Eq. 2).
        level_dims: K widths of the graph vectors H^k made of one layer's states.
        dim: width of the graph vector H.
        node_features: what nodes start with: "auto" (the node columns, a constant where there are none),
            "constant", or "degree".
    """

    widths: Sequence[int]
    level_dims: Sequence[int]
    dim: int
    node_features: NodeFeatures = "auto"

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
    """Base of GIN and of users' networks per node: H^k is a sum, mean or maximum, H all of them together.

    Args:
        widths: of the layers' states.
        readout: how the states of nodes become a graph's vector; the paper sums.
    """

    def __init__(self, widths: Sequence[int], readout: Readout) -> None:
        super().__init__()
        self.widths = self.level_dims = list(widths)
        self.dim, self.readout = sum(widths), readout

    def level(self, states: Sequence[Tensor], batch: Batch, k: int) -> Tensor:
        """The readout of layer k."""
        return read_out(states[k], batch.rounds[k].members, batch.sizes, self.readout)

    def vectors(self, states: Sequence[Tensor], batch: Batch) -> Tensor:
        """All layers' readouts, side by side."""
        return torch.cat([self.level(states, batch, k) for k in range(len(states))], 1)


def read_out(states: Tensor, members: SparseMatrix, sizes: Tensor, how: Readout) -> Tensor:
    """(C, D) states, (B, C) members, (B,) sizes -> (B, D)."""
    if how == "max":
        return cast(Tensor, _Max.apply(states, members))  # type: ignore[no-untyped-call]
    total = members @ states
    return total / sizes.to(total.dtype)[:, None] if how == "mean" else total


class _Max(torch.autograd.Function):
    """The largest state per graph; tied nodes share the gradient equally, a colour by its multiplicity."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, members: SparseMatrix) -> Tensor:
        rows = members.rows
        graph = torch.repeat_interleave(torch.arange(members.shape[0], device=states.device), rows.ptr.diff())
        chosen = states[rows.index]  # (entries, D)
        index = graph[:, None].expand_as(chosen)
        largest = torch.full(
            (members.shape[0], states.shape[1]), -torch.inf, dtype=states.dtype, device=states.device
        )
        largest.scatter_reduce_(0, index, chosen, "amax")
        ctx.save_for_backward(chosen == largest[graph], graph)
        ctx.members = members
        return largest

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        tied, graph = ctx.saved_tensors
        members: SparseMatrix = ctx.members
        share = tied * members.rows.value.to(gradient.dtype)[:, None]  # (entries, D) tied nodes per colour
        total = torch.zeros_like(gradient).index_add_(0, graph, share)
        result = gradient.new_zeros(members.shape[1], gradient.shape[1])
        return result.index_add_(0, members.rows.index, share * (gradient / total)[graph]), None


@dataclass(frozen=True, kw_only=True)
class NodeBatch(Batch):
    """A batch in which every node is its own colour, with the tensors that PyG modules expect.

    Attributes:
        edge_index: (2, E) source and target of every arc.
        graph: (N,) the graph of every node.
        edge_attr: (E, F_e) inputs of arcs; None where there are none.
        edge_weight: (E,) what multiplies messages; None where nothing does.
    """

    edge_index: Tensor
    graph: Tensor
    edge_attr: Tensor | None = None
    edge_weight: Tensor | None = None


class NodeBatcher:
    """Cuts per-node batches out of a GraphSet; `sizes`, `loads`, `costs` and `most` as for `Batcher`."""

    most = 100_000

    def __init__(
        self, graphs: GraphSet, layers: int, node_features: str, device: torch.device | None = None
    ) -> None:
        self.graphs, self.layers, self.loads = graphs, layers, graphs.sizes
        self.sizes = self.costs = self.loads
        self.device = device or torch.device("cpu")
        self._colour, self._table = node_inputs(graphs, node_features)
        arcs = np.arange(graphs.n_edges)
        self._edge_code, self._edge_table = edge_inputs(graphs, arcs)
        self._weight = arc_weights(graphs, arcs)

    def batch(self, graphs: IntArray, *, nodes: bool = False) -> NodeBatch:
        """The batch of `graphs`, positions in the GraphSet."""
        positions = np.asarray(graphs)
        chosen = self.graphs[positions]
        rows, _ = ranges(self.graphs.node_ptr, positions)
        arcs, _ = ranges(self.graphs.edge_ptr, positions)
        n, ones = chosen.n_nodes, np.ones(chosen.n_nodes, np.float32)
        members = SparseMatrix.from_csr(chosen.node_ptr, np.arange(n), ones, n).to(self.device)
        round_ = BatchRound(Identity(), Identity(), torch.ones(n, device=self.device), members)
        attributes = self._edge_table[self._edge_code[arcs]] if self._edge_table.shape[1] else None
        return NodeBatch(
            x=self._tensor(self._table[self._colour[rows]]),
            rounds=[round_] * self.layers,
            sizes=self._tensor(np.asarray(chosen.sizes)),
            copies=torch.ones(len(chosen), device=self.device),
            which=torch.arange(len(chosen), device=self.device),
            node_colour=torch.arange(n, device=self.device) if nodes else None,
            edge_index=self._tensor(chosen.edge_index.astype(np.int64)),
            graph=self._tensor(chosen.node_graph),
            edge_attr=None if attributes is None else self._tensor(attributes),
            edge_weight=None if self._weight is None else self._tensor(self._weight[arcs].astype(np.float32)),
        )

    def _tensor(self, values: NDArray[Any]) -> Tensor:
        return torch.from_numpy(values).to(self.device)


class NodeEncoder(ColourEncoder):
    """A user's module as an encoder: `forward(x, edge_index, batch) -> list of node states per layer`.

    A module with the arguments `edge_attr` or `edge_weight` gets those, too; one that gives the states of its
    last layer only, as a tensor, has one layer.

    Args:
        module: the user's module.
        schema: of the graphs.
        readout: how node states become a graph vector.
        node_features: what nodes start with.

    Raises:
        InvalidParameter: the module cannot be called like that.
    """

    def __init__(
        self,
        module: nn.Module,
        schema: Schema,
        readout: Readout = "sum",
        node_features: NodeFeatures = "auto",
    ) -> None:
        edge_dim, weighted = edge_width(schema), schema.weight is not None
        wanted = _edge_arguments(module)
        pair = torch.tensor([[0, 1], [1, 0]])
        given = (torch.zeros(2, node_width(schema, node_features)), pair, torch.zeros(2, dtype=torch.long))
        more = {"edge_attr": torch.zeros(2, edge_dim) if edge_dim else None}
        more["edge_weight"] = torch.ones(2) if weighted else None
        with torch.no_grad():
            tried = _states(module.eval(), *given, {name: more[name] for name in wanted})
        super().__init__([state.shape[1] for state in tried], readout)
        self.module, self.node_features, self._wanted = module, node_features, wanted

    def source(self, graphs: GraphSet, device: torch.device | None = None) -> NodeBatcher:
        """Batches per node."""
        return NodeBatcher(graphs, len(self.widths), self.node_features, device)

    def check_sees(self, schema: Schema) -> None:
        """Refuse edge columns for which the module's `forward` has no argument."""
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
        return _states(self.module, batch.x, batch.edge_index, batch.graph, more)


def _edge_arguments(module: nn.Module) -> tuple[str, ...]:
    """Which of `edge_attr` and `edge_weight` a module's `forward` takes."""
    try:
        signature = inspect.signature(module.forward)
    except (TypeError, ValueError):  # compiled code says nothing about itself
        return ()
    taken = tuple(each for each in ("edge_attr", "edge_weight") if each in signature.parameters)
    try:
        signature.bind("x", "edge_index", "batch", **dict.fromkeys(taken))
    except TypeError as error:
        raise InvalidParameter(
            f"the encoder {type(module).__name__} has forward{signature}: expected forward(x, edge_index, "
            f"batch), with batch the graph of every node; add the argument that is not there, even if unused "
            f"({error})"
        ) from error
    return taken


def _states(
    module: nn.Module, x: Tensor, edge_index: Tensor, graph: Tensor, more: dict[str, Tensor | None]
) -> list[Tensor]:
    states: Any = module(x, edge_index, graph, **more)
    states = [states] if isinstance(states, Tensor) else states
    tensors = isinstance(states, list | tuple) and all(isinstance(state, Tensor) for state in states)
    if not tensors or not states or any(state.dim() != 2 or len(state) != len(x) for state in states):
        got = [tuple(state.shape) for state in states] if tensors else type(states).__name__
        raise InvalidParameter(
            f"encoder.forward(x, edge_index, batch) must return a list with one tensor of shape "
            f"({len(x)}, width) per layer; it returned {got}"
        )
    return list(states)
