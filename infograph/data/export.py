"""GraphSet -> networkx graphs and PyG Data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from infograph.data.graphset import GraphSet

if TYPE_CHECKING:
    from torch_geometric.data import Data


def to_networkx(graphs: GraphSet) -> list[nx.Graph]:
    """One networkx graph per graph, nodes numbered from 0, columns as attributes.

    A graph all of whose arcs have their reverse becomes undirected; repeated arcs make it a multigraph.
    """
    node = {c.name: graphs.values("node", c.name) for c in graphs.schema.node}
    edge = {c.name: graphs.values("edge", c.name) for c in graphs.schema.edge}
    label = {c.name: graphs.values("graph", c.name) for c in graphs.schema.graph}
    made = []
    for g in range(len(graphs)):
        nodes = range(int(graphs.node_ptr[g]), int(graphs.node_ptr[g + 1]))
        arcs = range(int(graphs.edge_ptr[g]), int(graphs.edge_ptr[g + 1]))
        ends = [(int(u), int(v)) for u, v in graphs.edges[:, arcs.start : arcs.stop].T]
        rows = [tuple(_plain(values[a]) for values in edge.values()) for a in arcs]
        graph = _empty_like(ends, rows)
        graph.graph.update({"id": _plain(graphs.ids[g]), **{name: _plain(v[g]) for name, v in label.items()}})
        graph.add_nodes_from(
            (number, {name: _plain(values[n]) for name, values in node.items()})
            for number, n in enumerate(nodes)
        )
        graph.add_edges_from(
            (u, v, dict(zip(edge, row, strict=True)))
            for (u, v), row in zip(ends, rows, strict=True)
            if graph.is_directed() or u <= v
        )
        made.append(graph)
    return made


def _empty_like(ends: list[tuple[int, int]], rows: list[tuple[Any, ...]]) -> nx.Graph:
    """An empty networkx graph of the simplest class that can hold these arcs and their columns."""
    forward = sorted((u, v, str(row)) for (u, v), row in zip(ends, rows, strict=True))
    backward = sorted((v, u, str(row)) for (u, v), row in zip(ends, rows, strict=True))
    repeated = len(set(ends)) < len(ends)
    if forward == backward:
        return nx.MultiGraph() if repeated else nx.Graph()
    return nx.MultiDiGraph() if repeated else nx.DiGraph()


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else value


def to_pyg(graphs: GraphSet, *, columns: str = "used") -> list[Data]:
    """One PyG `Data` per graph: `x` and `edge_attr` as an encoder would see them, `y` where it is known.

    Args:
        graphs: the graphs.
        columns: "used" (those encoders see) or "all".
    """
    import torch
    from torch_geometric.data import Data

    def encoded(level: str) -> Any:
        chosen = getattr(graphs.schema, level) if columns == "all" else graphs.schema.features(level)  # type: ignore[arg-type]
        parts = [c.encode(getattr(graphs, level)[c.name]) for c in chosen if c.kind != "text"]
        return torch.from_numpy(np.hstack(parts)) if parts else None

    x, edge_attr = encoded("node"), encoded("edge")
    weight = graphs.schema.weight
    edges = torch.from_numpy(np.array(graphs.edges, dtype=np.int64))  # a copy: memory maps are read-only
    made = []
    for g in range(len(graphs)):
        nodes = slice(int(graphs.node_ptr[g]), int(graphs.node_ptr[g + 1]))
        arcs = slice(int(graphs.edge_ptr[g]), int(graphs.edge_ptr[g + 1]))
        data = Data(edge_index=edges[:, arcs], num_nodes=nodes.stop - nodes.start, id=_plain(graphs.ids[g]))
        if x is not None:
            data.x = x[nodes]
        if edge_attr is not None:
            data.edge_attr = edge_attr[arcs]
        if weight is not None:
            data.edge_weight = torch.from_numpy(np.array(graphs.edge[weight.name][arcs]))
        if "y" in graphs.graph:
            label = np.array(graphs.graph["y"][g : g + 1])
            data.y = torch.from_numpy(label.astype(np.float32) if label.dtype.kind == "f" else label)
        made.append(data)
    return made
