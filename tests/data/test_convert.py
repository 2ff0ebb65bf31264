"""networkx, PyG and tuples -> GraphSet and back."""

from __future__ import annotations

from collections.abc import Hashable
from decimal import Decimal
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from networkx.algorithms.isomorphism import categorical_multiedge_match, categorical_node_match
from torch_geometric.data import Batch, Data

from infograph.data.convert import as_graphset, to_networkx, to_pyg
from infograph.data.graphset import GraphSet
from infograph.errors import InvalidGraph


def arcs(graphs: GraphSet, index: int = 0) -> list[tuple[int, ...]]:
    return sorted(map(tuple, graphs[index].edges.T.tolist()))


def test_any_hashable_node_ids() -> None:
    graph = nx.Graph()
    names: list[Hashable] = ["a", (1, 2), frozenset({3}), None.__class__, 7, 2.5]
    graph.add_nodes_from(names)
    graph.add_edges_from([("a", (1, 2)), ((1, 2), 7), (2.5, 2.5)])
    graphs = as_graphset([graph])
    assert graphs.n_nodes == 6
    assert arcs(graphs) == [(0, 1), (1, 0), (1, 4), (4, 1), (5, 5)]


def test_directed_multi_and_loops() -> None:
    directed = nx.DiGraph([(0, 1), (1, 2), (2, 2)])
    multi = nx.MultiGraph([(0, 1), (0, 1), (1, 1), (1, 1)])
    multi_directed = nx.MultiDiGraph([(0, 1), (0, 1), (1, 0)])
    graphs = as_graphset([directed, multi, multi_directed])
    assert arcs(graphs, 0) == [(0, 1), (1, 2), (2, 2)]
    assert arcs(graphs, 1) == [(0, 1), (0, 1), (1, 0), (1, 0), (1, 1), (1, 1)]
    assert arcs(graphs, 2) == [(0, 1), (0, 1), (1, 0)]


def test_weights_multiply_messages() -> None:
    graph = nx.Graph()
    graph.add_edge("a", "b", strength=2)
    graph.add_edge("b", "c", strength=0.5)
    graphs = as_graphset([graph], weight="strength")
    assert graphs.schema.weight is not None and graphs.schema.weight.name == "strength"
    assert graphs.schema.features("edge") == ()
    weights = dict(zip(map(tuple, graphs.edges.T.tolist()), graphs.edge["strength"].tolist(), strict=True))
    assert weights == {(0, 1): 2.0, (1, 0): 2.0, (1, 2): 0.5, (2, 1): 0.5}


def test_kinds_of_attributes() -> None:
    graph = nx.path_graph(3)
    values = {
        "word": ["x", "y", "x"],
        "count": [3, 1, 3],
        "mixed": [1, 2.5, 3],
        "vector": [[1, 2], (3, 4), np.ones(2)],
    }
    for name, rows in values.items():
        nx.set_node_attributes(graph, dict(enumerate(rows)), name)
    graphs = as_graphset([graph], node=list(values))
    kinds = {column.name: (column.kind, column.width) for column in graphs.schema.node}
    assert kinds == {
        "word": ("categorical", 1),
        "count": ("categorical", 1),
        "mixed": ("float", 1),
        "vector": ("float", 2),
    }
    assert graphs.schema.node[1].categories == (1, 3)
    assert graphs.node["vector"].tolist() == [[1, 2], [3, 4], [1, 1]]
    forced = as_graphset([graph], node={"count": "float", "mixed": "categorical"})
    assert forced.node["count"].tolist() == [3, 1, 3]
    assert forced.values("node", "mixed").tolist() == [1, "2.5", 3]


def test_one_float_anywhere_makes_floats_everywhere() -> None:
    whole, broken = nx.path_graph(2), nx.path_graph(2)
    nx.set_node_attributes(whole, 1, "x")
    nx.set_node_attributes(broken, 1.5, "x")
    assert as_graphset([whole, broken], node="x").node["x"].tolist() == [1, 1, 1.5, 1.5]


def test_missing_categories_are_unknown_and_missing_floats_are_errors() -> None:
    graph = nx.path_graph(3)
    graph.nodes[0]["kind"], graph.nodes[1]["kind"] = "a", float("nan")
    graph.nodes[0]["size"] = 1.5
    assert as_graphset([graph], node="kind").values("node", "kind").tolist() == ["a", None, None]
    with pytest.raises(InvalidGraph, match="graph 0: the node attribute 'size' is missing on 2 of 3 nodes"):
        as_graphset([graph], node="size")
    graph.nodes[1]["size"], graph.nodes[2]["size"] = [1.5, 2.5], 2.5
    with pytest.raises(InvalidGraph, match="'size' does not hold numbers of one width"):
        as_graphset([graph], node="size")


def test_graphs_without_edges_among_graphs_with_edge_vectors() -> None:
    lonely, pair = nx.empty_graph(2), nx.path_graph(2)
    nx.set_edge_attributes(pair, {(0, 1): [1.0, 2.0]}, "x")
    graphs = as_graphset([lonely, pair], edge="x")
    assert graphs.edge["x"].tolist() == [[1, 2], [1, 2]] and graphs.schema.edge[0].width == 2


def test_graph_attributes_and_ids() -> None:
    graphs = [nx.path_graph(2, create_using=nx.Graph) for _ in range(3)]
    for graph, name, y in zip(graphs, ("p", "q", "r"), (1.5, None, 2), strict=True):
        graph.graph.update(
            {"id": f"g{name}", "name": name, "team": "red", "list": [1], **({"y": y} if y else {})}
        )
    made = as_graphset(graphs)
    assert made.ids.tolist() == ["gp", "gq", "gr"]
    assert {column.name: column.kind for column in made.schema.graph} == {
        "name": "text",
        "team": "categorical",
        "y": "float",
    }
    np.testing.assert_array_equal(made.graph["y"], [1.5, np.nan, 2])
    assert as_graphset(graphs, ids=[7, 8, 9]).ids.tolist() == [7, 8, 9]


def test_round_trip_through_networkx(corner_cases: GraphSet) -> None:
    back = as_graphset(to_networkx(corner_cases), node="label", edge="bond")
    assert back.ids.tolist() == corner_cases.ids.tolist()
    np.testing.assert_array_equal(back.node_ptr, corner_cases.node_ptr)
    np.testing.assert_array_equal(back.edge_ptr, corner_cases.edge_ptr)
    for before, after in zip(corner_cases, back, strict=True):
        rows = [
            sorted(
                (*arc, bond) for arc, bond in zip(g.edges.T.tolist(), g.values("edge", "bond"), strict=True)
            )
            for g in (before, after)
        ]
        assert rows[0] == rows[1]
        assert before.values("node", "label").tolist() == after.values("node", "label").tolist()


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
            after = nx.MultiDiGraph(from_both_ways(after))
        multi = nx.MultiDiGraph(after) if after.is_directed() else nx.MultiGraph(after)
        assert nx.is_isomorphic(
            before, multi, categorical_node_match("kind", None), categorical_multiedge_match("bond", None)
        )


def from_both_ways(graph: nx.Graph) -> nx.MultiDiGraph:
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


def pyg_graphs() -> list[Data]:
    edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    return [
        Data(
            x=torch.rand(3, 2),
            edge_index=edges,
            edge_attr=torch.rand(4, 3),
            y=torch.tensor([1.5]),
            pos=torch.rand(3, 3),
        ),
        Data(
            x=torch.rand(1, 2),
            edge_index=torch.zeros(2, 0, dtype=torch.long),
            edge_attr=torch.zeros(0, 3),
            y=torch.tensor([2.5]),
            pos=torch.rand(1, 3),
        ),
    ]


def test_pyg_and_back() -> None:
    data = pyg_graphs()
    graphs = as_graphset(data)
    assert not graphs.schema.column("node", "pos").used  # type: ignore[union-attr]
    for before, after in zip(data, to_pyg(graphs), strict=True):
        for name in ("x", "edge_index", "edge_attr", "y"):
            assert torch.equal(before[name], after[name])
        assert after.num_nodes == before.num_nodes
    assert to_pyg(graphs, columns="all")[0].x.shape == (3, 5)
    np.testing.assert_array_equal(as_graphset(Batch.from_data_list(data)).node["x"], graphs.node["x"])


def test_pyg_integers_are_categories_and_weights_are_weights() -> None:
    edges = torch.tensor([[0, 1], [1, 0]])
    data = Data(x=torch.tensor([[5, 1], [7, 1]]), edge_index=edges, edge_weight=torch.tensor([0.5, 2.0]), y=1)
    graphs = as_graphset([data])
    assert [column.categories for column in graphs.schema.node] == [(5, 7), (1,)]
    assert graphs.schema.weight is not None and graphs.edge["edge_weight"].tolist() == [0.5, 2.0]
    assert graphs.values("graph", "y").tolist() == [1]
    back = to_pyg(graphs)[0]
    assert back.x.tolist() == [[1, 0, 1], [0, 1, 1]] and back.edge_weight.tolist() == [0.5, 2.0]


def test_a_pyg_graph_of_only_nodes() -> None:
    assert as_graphset([Data(x=torch.rand(2, 1))]).n_edges == 0


def test_tuples() -> None:
    edges = np.array([[0, 1, 2], [1, 2, 0]])
    floats = as_graphset([(edges, np.eye(3)), ([(0, 1)], np.ones((2, 3)))])
    assert arcs(floats, 0) == [(0, 1), (1, 2), (2, 0)] and arcs(floats, 1) == [(0, 1)]
    assert floats.schema.node[0].width == 3 and floats.node["x"][3].tolist() == [1, 1, 1]
    words = as_graphset([(edges, ["a", "b", "a"])])
    assert words.values("node", "x").tolist() == ["a", "b", "a"]
    assert as_graphset([(edges, 5), ([], 1)]).sizes.tolist() == [5, 1]


def test_graphsets_pass_through(corner_cases: GraphSet) -> None:
    assert as_graphset(corner_cases) is corner_cases
    joined = as_graphset([corner_cases, corner_cases[:2]], ids=range(12))
    assert joined.ids.tolist() == list(range(12)) and joined.n_nodes == 334 + 5


def test_input_is_not_changed() -> None:
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, 1.5, "x")
    before = nx.to_dict_of_dicts(graph), dict(graph.nodes(data=True))
    as_graphset([graph], node="x")
    assert (nx.to_dict_of_dicts(graph), dict(graph.nodes(data=True))) == before


def test_tensors_and_fractions_are_numbers() -> None:
    for value in (
        torch.tensor([0.5, 2.0]),
        torch.tensor(0.5, requires_grad=True),
        Fraction(1, 2),
        Decimal("0.5"),
    ):
        graph = nx.path_graph(2)
        nx.set_node_attributes(graph, {0: value, 1: value}, "a")
        graphs = as_graphset([graph], node=["a"])
        assert graphs.schema.node[0].kind == "float"
        assert graphs.node["a"].ravel()[0] == 0.5


def test_features_of_no_width_are_no_column() -> None:
    edges = np.array([[0], [1]])
    assert as_graphset([(edges, np.zeros((2, 0)))]).schema.node == ()


def test_ids_of_more_than_64_bits_are_texts() -> None:
    graphs = as_graphset([nx.path_graph(3), nx.path_graph(3)], ids=[2**70, 1])
    assert graphs.ids.tolist() == [str(2**70), "1"]


def test_a_weight_is_one_number_and_no_feature() -> None:
    graph = nx.path_graph(3)
    nx.set_edge_attributes(graph, 0.5, "w")
    graphs = as_graphset([graph], edge=["w"], weight="w")
    assert graphs.schema.weight is not None
    assert graphs.schema.features("edge") == ()
