"""What every encoder of graphs offers: states of nodes, graph vectors; and a user's module as one."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import torch
from torch import Tensor, nn

from infograph.data.colours import node_inputs
from infograph.data.graphset import GraphSet, IntArray, ranges
from infograph.errors import InvalidParameter
from infograph.nn.batch import Batch, BatchRound, Identity, SparseMatrix

Readout = Literal["sum", "mean", "max"]


class GraphEncoder(nn.Module):
    """A network over batches; its call gives the states of all nodes after each of K layers (Eq. 1).

    Attributes:
        widths: K widths of node states; a patch is all of them, concatenated (Eq. 2).
        level_dims: K widths of the graph vectors H^k made of one layer's states.
        dim: width of the graph vector H.
    """

    widths: Sequence[int]
    level_dims: Sequence[int]
    dim: int

    def level(self, states: Sequence[Tensor], batch: Any, k: int) -> Tensor:
        """H^k, the vectors of the distinct graphs at layer k. (G, level_dims[k])."""
        raise NotImplementedError

    def vectors(self, states: Sequence[Tensor], batch: Any) -> Tensor:
        """H, the vectors of the distinct graphs of a batch (Eq. 3). (G, dim)."""
        raise NotImplementedError


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
    """A batch in which every node is its own colour, with the tensors that PyG modules expect."""

    edge_index: Tensor
    graph: Tensor


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

    def batch(self, graphs: IntArray, *, nodes: bool = False) -> NodeBatch:
        """The batch of `graphs`, positions in the GraphSet."""
        chosen = self.graphs[np.asarray(graphs)]
        rows, _ = ranges(self.graphs.node_ptr, np.asarray(graphs))
        n, ones = chosen.n_nodes, np.ones(chosen.n_nodes, np.float32)
        members = SparseMatrix.from_csr(chosen.node_ptr, np.arange(n), ones, n).to(self.device)
        round_ = BatchRound(Identity(), Identity(), torch.ones(n, device=self.device), members)
        return NodeBatch(
            x=torch.from_numpy(self._table[self._colour[rows]]).to(self.device),
            rounds=[round_] * self.layers,
            sizes=torch.from_numpy(np.asarray(chosen.sizes)).to(self.device),
            copies=torch.ones(len(chosen), device=self.device),
            which=torch.arange(len(chosen), device=self.device),
            node_colour=torch.arange(n, device=self.device) if nodes else None,
            edge_index=torch.from_numpy(chosen.edge_index.astype(np.int64)).to(self.device),
            graph=torch.from_numpy(chosen.node_graph).to(self.device),
        )


class NodeEncoder(ColourEncoder):
    """A user's `forward(x, edge_index, batch) -> list of node states per layer`, checked.

    Args:
        module: the user's module.
        node_dim: inputs per node; the widths of its layers are found by trying it on two joined nodes.
        readout: how node states become a graph vector.
    """

    def __init__(self, module: nn.Module, node_dim: int, readout: Readout = "sum") -> None:
        _check_signature(module)
        pair = torch.tensor([[0, 1], [1, 0]])
        with torch.no_grad():
            tried = _states(module.eval(), torch.zeros(2, node_dim), pair, torch.zeros(2, dtype=torch.long))
        super().__init__([state.shape[1] for state in tried], readout)
        self.module = module

    def forward(self, batch: NodeBatch) -> list[Tensor]:
        """States per layer: K tensors (N, D_k)."""
        return _states(self.module, batch.x, batch.edge_index, batch.graph)


def _check_signature(module: nn.Module) -> None:
    """Refuse a module whose `forward` cannot be called with three tensors."""
    try:
        signature = inspect.signature(module.forward)
    except (TypeError, ValueError):  # compiled code says nothing about itself
        return
    try:
        signature.bind("x", "edge_index", "batch")
    except TypeError as error:
        raise InvalidParameter(
            f"the encoder {type(module).__name__} has forward{signature}: expected "
            f"forward(x, edge_index, batch), with batch the graph of every node; add the argument that is "
            f"not there, even if unused ({error})"
        ) from error


def _states(module: nn.Module, x: Tensor, edge_index: Tensor, graph: Tensor) -> list[Tensor]:
    states: Any = module(x, edge_index, graph)
    tensors = isinstance(states, list | tuple) and all(isinstance(state, Tensor) for state in states)
    if not tensors or not states or any(state.dim() != 2 or len(state) != len(x) for state in states):
        got = [tuple(state.shape) for state in states] if tensors else type(states).__name__
        raise InvalidParameter(
            f"encoder.forward(x, edge_index, batch) must return a list with one tensor of shape "
            f"({len(x)}, width) per layer; it returned {got}"
        )
    return list(states)
