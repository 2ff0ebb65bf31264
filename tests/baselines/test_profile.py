"""The local topological profile against networkx and the definitions."""

import math

import networkx as nx
import numpy as np

from infograph import LocalTopologicalProfile, as_graphset
from infograph.baselines.profile import _profile

GRAPHS = [
    nx.erdos_renyi_graph(12, 0.3, seed=1),
    nx.star_graph(6),
    nx.path_graph(5),
    nx.empty_graph(3),
    nx.disjoint_union(nx.cycle_graph(4), nx.complete_graph(4)),
]


def edge_features(graph, u, v):
    degree = dict(graph.degree)

    def rank_score(a, b):
        higher = sum(degree[w] > degree[b] for w in graph[a])
        return 1.0 if degree[a] < 2 else 1 - math.log(higher + 1) / math.log(degree[a])

    shared = len(set(graph[u]) & set(graph[v]))
    return shared / len(set(graph[u]) | set(graph[v])), max(rank_score(u, v), rank_score(v, u))


def test_features_are_those_of_networkx():
    nodes, edges, ptr = _profile(as_graphset(GRAPHS))
    start = 0
    for number, graph in enumerate(GRAPHS):
        for node in graph:
            around = [graph.degree[w] for w in graph[node]] or [0]
            wanted = [graph.degree[node], min(around), max(around), np.mean(around), np.std(around)]
            np.testing.assert_allclose(nodes[start + node], wanted, atol=1e-12)
        between = nx.edge_betweenness_centrality(graph)
        found = sorted(map(tuple, edges[ptr[number] : ptr[number + 1]].round(9).tolist()))
        wanted = sorted(
            (round(between[edge], 9), *(round(value, 9) for value in edge_features(graph, *edge)))
            for edge in graph.edges
        )
        np.testing.assert_allclose(found, wanted, atol=1e-8)
        start += len(graph)


def test_histograms_count_every_node_and_edge_once():
    model = LocalTopologicalProfile(10)
    vectors = model.fit_transform(GRAPHS)
    assert vectors.shape == (5, 80)
    parts = vectors.reshape(5, 8, 10).sum(axis=2)
    assert (parts[:, :5] == [[len(g)] for g in GRAPHS]).all()
    assert (parts[:, 5:] == [[g.number_of_edges()] for g in GRAPHS]).all()
    assert np.array_equal(model.transform(GRAPHS[::-1]), vectors[::-1])
    larger = model.transform([nx.star_graph(40)])  # beyond the fitted range
    assert larger.sum() == 5 * 41 + 3 * 40
