"""networkx, PyG and tuples -> GraphSet and back."""

from __future__ import annotations

from collections.abc import Hashable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx.algorithms.isomorphism import categorical_multiedge_match, categorical_node_match
from torch_geometric.data import Batch, Data

from infograph import GraphSet, as_graphset, to_networkx, to_pyg


def arcs(graphs: GraphSet, index: int = 0) -> list[tuple[int, ...]]:
    return sorted(map(tuple, graphs[index].edges.T.tolist()))


def chain(n: int = 2, *, edge: Any = None, **node: Any) -> nx.Graph:
    """A path with the same attributes at every node, and perhaps an edge attribute "w"."""
    graph = nx.path_graph(n)
    for name, value in node.items():
        nx.set_node_attributes(graph, dict.fromkeys(graph, value), name)
    if edge is not None:
        nx.set_edge_attributes(graph, dict.fromkeys(graph.edges, edge), "w")
    return graph


def test_any_hashable_node_ids_directions_and_multiplicities() -> None:
    graph = nx.Graph()
    names: list[Hashable] = ["a", (1, 2), frozenset({3}), None.__class__, 7, 2.5]
    graph.add_nodes_from(names)
    graph.add_edges_from([("a", (1, 2)), ((1, 2), 7), (2.5, 2.5)])
    multi = nx.MultiGraph([(0, 1), (0, 1), (1, 1), (1, 1)])
    graphs = as_graphset(
        [graph, nx.DiGraph([(0, 1), (2, 2)]), multi, nx.MultiDiGraph([(0, 1), (0, 1), (1, 0)])]
    )
    assert graphs[0].n_nodes == 6 and arcs(graphs) == [(0, 1), (1, 0), (1, 4), (4, 1), (5, 5)]
    assert arcs(graphs, 1) == [(0, 1), (2, 2)]
    assert arcs(graphs, 2) == [(0, 1), (0, 1), (1, 0), (1, 0), (1, 1), (1, 1)]
    assert arcs(graphs, 3) == [(0, 1), (0, 1), (1, 0)]


def test_kinds_of_attributes() -> None:
    graph = nx.path_graph(3)
    values = {
        "word": ["x", "y", "x"],
        "count": [3, 1, 3],
        "mixed": [1, 2.5, 3],
        "vector": [[1, 2], (3, 4), np.ones(2)],
        "holes": ["a", float("nan"), None],
    }
    for name, rows in values.items():
        nx.set_node_attributes(graph, {i: row for i, row in enumerate(rows) if row is not None}, name)
    graphs = as_graphset([graph], node=list(values))
    kinds = {column.name: (column.kind, column.width) for column in graphs.schema.node}
    floats = {"mixed": ("float", 1), "vector": ("float", 2)}
    assert kinds == dict.fromkeys(("word", "count", "holes"), ("categorical", 1)) | floats
    assert graphs.schema.node[1].categories == (1, 3)
    assert graphs.node["vector"].tolist() == [[1, 2], [3, 4], [1, 1]]
    assert graphs.values("node", "holes").tolist() == ["a", None, None]
    forced = as_graphset([graph], node={"count": "float", "mixed": "categorical"})
    assert forced.node["count"].tolist() == [3, 1, 3]
    assert forced.values("node", "mixed").tolist() == [1, "2.5", 3]
    for value in (
        torch.tensor([0.5, 2.0]),
        torch.tensor(0.5, requires_grad=True),
        Fraction(1, 2),
        Decimal("0.5"),
    ):
        graphs = as_graphset([chain(a=value)], node=["a"])
        assert graphs.schema.node[0].kind == "float" and graphs.node["a"].ravel()[0] == 0.5


def test_what_only_some_graphs_show() -> None:
    assert as_graphset([chain(x=1), chain(x=1.5)], node="x").node["x"].tolist() == [1, 1, 1.5, 1.5]
    lonely = as_graphset([nx.empty_graph(2), chain(edge=[1.0, 2.0])], edge="w")
    assert lonely.edge["w"].tolist() == [[1, 2], [1, 2]] and lonely.schema.edge[0].width == 2
    weighted = as_graphset([chain(edge=2)], edge="w", weight="w").schema
    assert weighted.weight is not None and weighted.features("edge") == ()
    assert as_graphset([chain(), chain()], ids=[2**70, 1]).ids.tolist() == [str(2**70), "1"]


def test_graph_attributes_and_ids() -> None:
    graphs = [chain() for _ in range(3)]
    for graph, name, y in zip(graphs, ("p", "q", "r"), ({"y": 1.5}, {}, {"y": 2}), strict=True):
        graph.graph.update({"id": f"g{name}", "name": name, "team": "red", "list": [1], **y})
    made = as_graphset(graphs)
    assert made.ids.tolist() == ["gp", "gq", "gr"]
    kinds = {column.name: column.kind for column in made.schema.graph}
    assert kinds == {"name": "text", "team": "categorical", "y": "float"}
    np.testing.assert_array_equal(made.graph["y"], [1.5, np.nan, 2])
    assert as_graphset(graphs, ids=[7, 8, 9]).ids.tolist() == [7, 8, 9]


@st.composite
def networks(draw: st.DrawFn) -> nx.Graph:
    graph = draw(st.sampled_from([nx.MultiGraph, nx.MultiDiGraph]))()
    names = draw(st.lists(st.text(max_size=2), min_size=1, max_size=5, unique=True))
    graph.add_nodes_from((name, {"kind": draw(st.sampled_from("ab"))}) for name in names)
    ends = st.tuples(st.sampled_from(names), st.sampled_from(names))
    for u, v in draw(st.lists(ends, max_size=7)):
        graph.add_edge(u, v, bond=draw(st.integers(1, 2)))
    return graph


@settings(max_examples=40)
@given(st.lists(networks(), min_size=1, max_size=3))
def test_round_trip_is_isomorphic(graphs: list[nx.Graph]) -> None:
    back = to_networkx(as_graphset(graphs, node={"kind": "categorical"}, edge={"bond": "categorical"}))
    for before, after in zip(graphs, back, strict=True):
        if before.is_directed() and not after.is_directed():  # every arc had its reverse
            after = both_ways(after)
        multi = nx.MultiDiGraph(after) if after.is_directed() else nx.MultiGraph(after)
        assert nx.is_isomorphic(
            before, multi, categorical_node_match("kind", None), categorical_multiedge_match("bond", None)
        )


def both_ways(graph: nx.Graph) -> nx.MultiDiGraph:
    directed = nx.MultiDiGraph()
    directed.add_nodes_from(graph.nodes(data=True))
    for u, v, data in graph.edges(data=True):
        directed.add_edges_from([(u, v, data)] if u == v else [(u, v, data), (v, u, data)])
    return directed


def test_a_column_called_key_survives() -> None:
    graph = nx.MultiGraph()
    graph.add_edge(0, 1, key="k")
    graph[0][1]["k"]["key"] = "k"
    again = to_networkx(as_graphset([graph], edge={"key": "categorical"}))[0]
    assert [data["key"] for _, _, data in again.edges(data=True)] == ["k"]


def test_numbers_of_numpy_are_ids_and_graph_columns() -> None:
    """As they come from the rows of a table."""
    networks = [nx.path_graph(n) for n in (2, 3)]
    for network, number in zip(networks, (7, 3), strict=True):
        network.graph.update(id=np.int64(number), active=np.bool_(number > 5))
    graphs = as_graphset(networks)
    assert graphs.ids.tolist() == [7, 3] and graphs.values("graph", "active").tolist() == [True, False]


@pytest.fixture
def data() -> list[Data]:
    def one(n: int, edges: torch.Tensor, y: float) -> Data:
        features = {
            "x": torch.rand(n, 2),
            "pos": torch.rand(n, 3),
            "edge_attr": torch.rand(edges.shape[1], 3),
        }
        return Data(edge_index=edges, y=torch.tensor([y]), **features)

    return [one(3, torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), 1.5), one(1, torch.zeros(2, 0).long(), 2.5)]


def test_pyg_and_back(data: list[Data]) -> None:
    graphs = as_graphset(data)
    assert graphs.schema.position is not None and not graphs.schema.position.used
    for before, after in zip(data, to_pyg(graphs), strict=True):
        for name in ("x", "edge_index", "edge_attr", "y"):
            assert torch.equal(before[name], after[name])
        assert after.num_nodes == before.num_nodes
    np.testing.assert_array_equal(as_graphset(Batch.from_data_list(data)).node["x"], graphs.node["x"])
    assert as_graphset([Data(x=torch.rand(2, 1))]).n_edges == 0


def test_pyg_integers_are_categories_and_weights_are_weights() -> None:
    edges = torch.tensor([[0, 1], [1, 0]])
    data = Data(x=torch.tensor([[5, 1], [7, 1]]), edge_index=edges, edge_weight=torch.tensor([0.5, 2.0]), y=1)
    graphs = as_graphset([data])
    assert [column.categories for column in graphs.schema.node] == [(5, 7), (1,)]
    assert graphs.schema.weight is not None and graphs.edge["edge_weight"].tolist() == [0.5, 2.0]
    assert graphs.values("graph", "y").tolist() == [1]
    back = to_pyg(graphs)[0]
    assert back.x.tolist() == [[5, 1], [7, 1]] and back.edge_weight.tolist() == [0.5, 2.0]


def test_tuples_and_graphsets(corner_cases: GraphSet) -> None:
    edges = np.array([[0, 1, 2], [1, 2, 0]])
    floats = as_graphset([(edges, np.eye(3)), ([(0, 1)], np.ones((2, 3)))])
    assert arcs(floats, 0) == [(0, 1), (1, 2), (2, 0)] and arcs(floats, 1) == [(0, 1)]
    assert floats.schema.node[0].width == 3 and floats.node["x"][3].tolist() == [1, 1, 1]
    assert as_graphset([(edges, ["a", "b", "a"])]).values("node", "x").tolist() == ["a", "b", "a"]
    assert as_graphset([(edges, 5), ([], 1)]).sizes.tolist() == [5, 1]
    assert as_graphset(corner_cases) is corner_cases
    joined = as_graphset([corner_cases, corner_cases[:2]], ids=range(12))
    assert joined.ids.tolist() == list(range(12)) and joined.n_nodes == 334 + 5
