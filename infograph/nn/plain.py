"""A fitted encoder as a torch module of its own, over the tensors that PyG's batches hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from infograph.data.colours import DEGREES
from infograph.data.schema import Column, Level, Schema
from infograph.errors import InvalidParameter
from infograph.nn.batch import Batch, BatchRound, Identity, SparseMatrix
from infograph.nn.encoder import GraphEncoder, NodeBatch, NodeEncoder
from infograph.nn.gin import GINEncoder


class GraphModule(nn.Module):
    """A batch of graphs -> their vectors (G, dim); what a model's `to_torch()` gives.

        vectors = module(batch)  # a PyG Batch or Data
        vectors = module(x, edge_index, batch, edge_attr)  # its tensors

    `x` and `edge_attr` are as in the PyG data that the model was fitted on, categories and numbers; for a
    model that was fitted on other graphs they are as `to_pyg(as_graphset(graphs, schema=model.schema_))` has
    them. Neither PyG nor a GraphSet is needed. The arithmetic is that of `transform`, node by node, and in 32
    bits also where `torch.autocast` is on.
    """

    mean: Tensor | None
    axes: Tensor | None

    def __init__(self, encoder: GraphEncoder, schema: Schema, shown: Mapping[str, Tensor]) -> None:
        super().__init__()
        if not isinstance(encoder, GINEncoder | NodeEncoder):
            raise InvalidParameter(
                "to_torch() is for GIN and modules of your own; enn-s2s sees pairs of nodes, which PyG's "
                "batches do not hold: use model.transform"
            )
        self.encoder = encoder
        columns = schema.features("node") if encoder.node_features == "auto" else ()
        self.node = Inputs(columns, "node", "x")
        self.edge = Inputs(schema.features("edge"), "edge", "edge_attr")
        self.weighted = "" if schema.weight is None else schema.weight.tensor.split(" ")[0] or "edge_weight"
        for name in ("mean", "axes"):  # of shorter vectors
            self.register_buffer(name, shown.get(name), persistent=False)

    def forward(
        self,
        x: Any,
        edge_index: Tensor | None = None,
        batch: Tensor | None = None,
        edge_attr: Tensor | None = None,
        edge_weight: Tensor | None = None,
        **more: Tensor,
    ) -> Tensor:
        """Vectors of graphs. (G, dim).

        Args:
            x: a PyG Batch or Data; or inputs of nodes, None where these have none.
            edge_index: (2, E) sources and targets.
            batch: (N,) the graph of every node, ascending; None for one graph.
            edge_attr, edge_weight: rows of edges, if the model sees such.
            more: other tensors that the model was fitted on, by name.
        """
        given = {"x": x, "edge_attr": edge_attr, "edge_weight": edge_weight, **more}
        n_graphs = None
        if x is not None and not isinstance(x, Tensor):
            data, n_graphs = x, getattr(x, "num_graphs", None)
            edge_index, batch = data.edge_index, getattr(data, "batch", None)
            wanted = {*self.node.widths, *self.edge.widths, "edge_weight", self.weighted}
            given = {name: getattr(data, name, None) for name in wanted if name}
            n_graphs = 1 if batch is None else n_graphs
            batch = edge_index.new_zeros(data.num_nodes) if batch is None else batch
        elif batch is None:
            if x is None:
                raise InvalidParameter("without x the number of nodes is not known: pass batch")
            batch, n_graphs = torch.zeros(len(x), dtype=torch.long, device=x.device), 1
        if edge_index is None:
            raise InvalidParameter("edge_index is missing: expected (2, E) sources and targets")
        with torch.autocast(batch.device.type, enabled=False):
            made = self._batch(given, edge_index, batch, n_graphs)
            vectors = self.encoder.vectors(self.encoder(made), cast(Any, made))
            if self.mean is None or self.axes is None:
                return vectors
            return (vectors - self.mean) @ self.axes.T

    def _batch(
        self, given: Mapping[str, Any], edge_index: Tensor, graph: Tensor, n_graphs: int | None
    ) -> Batch:
        """The batch in which every node is its own colour."""
        if len(graph) > 1 and bool((graph.diff() < 0).any()):
            raise InvalidParameter("batch must ascend, graph after graph, as in PyG")
        n_nodes, device = len(graph), graph.device
        n_graphs = int(graph[-1]) + 1 if n_graphs is None else n_graphs
        ones = torch.ones(n_nodes, device=device)
        sizes = torch.zeros(n_graphs, dtype=torch.long, device=device).index_add(0, graph, ones.long())
        every = torch.arange(n_nodes, device=device)
        members = SparseMatrix(_pointer(sizes), every, ones, (n_graphs, n_nodes))
        x = self._nodes(given, edge_index[1], n_nodes)
        edges = self.edge(given, edge_index.shape[1]) if self.edge.widths else None
        weight = None
        if self.weighted:
            weight = _required(given, self.weighted).float().reshape(-1)
        about: dict[str, Any] = {"x": x, "sizes": sizes, "copies": torch.ones(n_graphs, device=device)}
        about["which"] = torch.arange(n_graphs, device=device)
        if isinstance(self.encoder, NodeEncoder):
            rounds = [BatchRound(Identity(), Identity(), ones, members)] * len(self.encoder.widths)
            tensors: dict[str, Any] = {"edge_index": edge_index, "edge_attr": edges, "edge_weight": weight}
            return NodeBatch(**about, **tensors, rounds=rounds)
        round_ = _round(edge_index, weight, ones, members, labelled=edges is not None)
        table = x.new_zeros(1, 0) if edges is None else edges
        return _Batch(**about, rounds=[round_] * len(self.encoder.widths), edge_table=table)

    def _nodes(self, given: Mapping[str, Any], target: Tensor, n_nodes: int) -> Tensor:
        """Inputs of nodes. (N, F)."""
        if self.node.widths:
            return cast(Tensor, self.node(given, n_nodes))
        one = torch.ones(n_nodes, device=target.device)
        how = self.encoder.node_features
        if how not in ("degree", "degrees"):
            return one[:, None]
        degree = torch.zeros_like(one).index_add(0, target, torch.ones_like(target, dtype=one.dtype))
        if how == "degree":
            return degree.log1p()[:, None]
        above = 32 + torch.floor(4 * torch.log2(degree.double().clamp(min=32) / 32))
        kind = torch.where(degree < 32, degree, above).clamp(max=DEGREES - 1).long()
        return torch.eye(DEGREES, device=target.device)[kind]


@dataclass(frozen=True, kw_only=True)
class _Batch(Batch):
    """What GIN and GINE ask of a batch, where every node is its own colour."""

    edge_table: Tensor


def _round(
    edge_index: Tensor, weight: Tensor | None, ones: Tensor, members: SparseMatrix, *, labelled: bool
) -> BatchRound:
    """Nodes hear arcs, each a message of its own where arcs have inputs; else nodes, themselves once more."""
    (source, target), n_nodes = edge_index, len(ones)
    value = torch.ones_like(target, dtype=ones.dtype) if weight is None else weight
    if not labelled:
        every = torch.arange(n_nodes, device=target.device)
        source, target = torch.cat([every, source]), torch.cat([every, target])
        value = torch.cat([ones, value])
    order = torch.argsort(target, stable=True)
    counts = torch.zeros_like(ones, dtype=torch.long).index_add(0, target, torch.ones_like(target))
    columns, index = (len(source), order) if labelled else (n_nodes, source[order])
    heard = SparseMatrix(_pointer(counts), index, value[order], (n_nodes, columns))
    messages = (source, torch.arange(len(source), device=source.device)) if labelled else ()
    return BatchRound(Identity(), heard, ones, members, *messages)


def _pointer(counts: Tensor) -> Tensor:
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])


def _required(given: Mapping[str, Any], name: str) -> Tensor:
    found = given.get(name)
    if found is None:
        raise InvalidParameter(f"the model was fitted with {name!r}, which these graphs lack")
    return cast(Tensor, found)


class Inputs(nn.Module):
    """Raw columns of nodes or edges in the tensors of a batch -> what an encoder sees, as `Column.encode`."""

    def __init__(self, columns: tuple[Column, ...], level: Level, main: str) -> None:
        super().__init__()
        self.level = level
        named = any(column.tensor.split(" ")[0] == main for column in columns)
        self.columns: list[tuple[Column, str, int]] = []  # with its tensor, and its place in a row
        self.widths: dict[str, int] = {}  # of the rows of every tensor
        for number, column in enumerate(columns):
            tensor, kind, shape = column.tensor.rsplit(" ", 2) if column.tensor else ("", "", "")
            place = 0
            if not tensor:  # inputs that come as they are
                tensor = column.name if named else main
                place = self.widths.get(tensor, 0)
                self.widths[tensor] = place + column.encoded_width
            else:
                self.widths[tensor] = math.prod(map(int, filter(None, shape.split(","))))
                if "float" not in kind and column.name != tensor:
                    place = int(column.name.removeprefix(f"{tensor}_"))
            self.columns.append((column, tensor, place))
            if column.tensor and column.kind == "categorical":
                self._keep(f"categories_{number}", torch.tensor([int(c) for c in column.categories]))
            elif column.tensor and column.mean:
                self._keep(f"mean_{number}", torch.tensor(column.mean, dtype=torch.float64))
                self._keep(f"scale_{number}", torch.tensor(column.scale, dtype=torch.float64))

    def _keep(self, name: str, values: Tensor) -> None:
        self.register_buffer(name, values, persistent=False)  # of the schema: weights alone are the state

    def forward(self, given: Mapping[str, Any], n_rows: int) -> Tensor:
        """(rows, inputs)."""
        rows = {}
        for name, width in self.widths.items():
            values = _required(given, name)
            if len(values) != n_rows:
                raise InvalidParameter(f"{name!r} has {len(values)} rows for {n_rows} {self.level}s")
            rows[name] = values = values.reshape(n_rows, math.prod(values.shape[1:]))
            chosen = [p for c, tensor, p in self.columns if tensor == name and c.tensor and c.categories]
            if values.shape[1] == len(chosen) < width:  # `to_pyg` has no others
                rows[name] = values.new_zeros(n_rows, width)
                rows[name][:, chosen] = values
            if rows[name].shape[1] != width:
                raise InvalidParameter(
                    f"{name!r} has {values.shape[1]} numbers per {self.level}, expected {width}: give what "
                    f"the model was fitted on, or to_pyg(as_graphset(graphs, schema=model.schema_))"
                )
        return torch.cat([self._encoded(n, rows[each[1]], *each) for n, each in enumerate(self.columns)], 1)

    def _encoded(self, number: int, rows: Tensor, column: Column, tensor: str, place: int) -> Tensor:
        if not column.tensor:
            return rows[:, place : place + column.encoded_width].float()
        if column.kind == "categorical":
            return (rows[:, place, None] == self.get_buffer(f"categories_{number}")).float()
        values = rows[:, place : place + column.width].double()
        if column.mean:
            values = (values - self.get_buffer(f"mean_{number}")) / self.get_buffer(f"scale_{number}")
            values = values.nan_to_num(0.0, posinf=torch.inf, neginf=-torch.inf)
        return values.float()
