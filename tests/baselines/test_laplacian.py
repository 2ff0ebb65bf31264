"""The multi-scale Laplacian kernel against dense determinants and against GraKeL."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from infograph import MultiscaleLaplacian, as_graphset, load_dataset
from tests.baselines.oracles import adjacency, permuted

FULL = {"rank": 500, "n_landmarks": 500, "max_ego": 64, "share": False}


@pytest.fixture(scope="module")
def graphs():
    return load_dataset("MUTAG")[:30]


def flg(laplacians: tuple[np.ndarray, np.ndarray], kernel: np.ndarray, gamma: float, eta: float) -> float:
    """Kondor and Pan's Definition 2 with explicit determinants.

    `kernel` (n + m, n + m) holds the base kernel of the vertices of both graphs; its square root are features
    of all of them.
    """
    values, vectors = np.linalg.eigh(kernel)
    features = vectors * np.sqrt(np.maximum(values, 0))  # (n + m, n + m)
    n = len(laplacians[0])
    matrices = []
    for laplacian, own in zip(laplacians, (features[:n], features[n:]), strict=True):
        inner = np.linalg.inv(laplacian + eta * np.eye(len(laplacian)))
        matrices.append(own.T @ inner @ own + gamma * np.eye(features.shape[1]))
    first, second = matrices
    middle = np.linalg.inv(0.5 * np.linalg.inv(first) + 0.5 * np.linalg.inv(second))
    ratio = np.linalg.slogdet(middle)[1] / 2
    return float(np.exp(ratio - np.linalg.slogdet(first)[1] / 4 - np.linalg.slogdet(second)[1] / 4))


def laplacian(graph: nx.Graph, nodes: list[int] | None = None) -> np.ndarray:
    part = graph if nodes is None else graph.subgraph(nodes)
    order = sorted(part)
    return nx.laplacian_matrix(part, nodelist=order).toarray().astype(float)


def direct(x: nx.Graph, y: nx.Graph, levels: int, gamma: float, eta: float) -> float:
    """The definition, recursion by recursion, over the vertices of two graphs."""
    vertices = [(graph, v) for graph in (x, y) for v in sorted(graph)]
    label = [graph.nodes[v]["label"] for graph, v in vertices]
    kernel = np.array([[float(a == b) for b in label] for a in label])
    for radius in range(1, levels + 1):
        number = {(id(graph), v): i for i, (graph, v) in enumerate(vertices)}
        egos = [sorted(nx.ego_graph(graph, v, radius)) for graph, v in vertices]
        rows = [[number[id(graph), u] for u in ego] for (graph, _), ego in zip(vertices, egos, strict=True)]
        parts = [laplacian(graph, ego) for (graph, _), ego in zip(vertices, egos, strict=True)]
        values = np.eye(len(vertices))
        for i in range(len(vertices)):
            for j in range(i):
                both = rows[i] + rows[j]
                values[i, j] = values[j, i] = flg(
                    (parts[i], parts[j]), kernel[np.ix_(both, both)], gamma, eta
                )
        kernel = values
    return flg((laplacian(x), laplacian(y)), kernel, gamma, eta)


def labelled(seed: int, n: int) -> nx.Graph:
    graph = nx.gnp_random_graph(n, 0.45, seed=seed)
    for v in graph:
        graph.nodes[v]["label"] = "ab"[(v * 7 + seed) % 2]
    return graph


@pytest.mark.parametrize(
    ("levels", "gamma", "eta"), [(0, 0.01, 0.01), (0, 1.0, 0.1), (1, 0.1, 0.5), (2, 1.0, 1.0)]
)
def test_small_graphs_against_the_definition(levels, gamma, eta):
    graphs = [labelled(1, 5), labelled(2, 6), labelled(5, 4)]
    kernel = MultiscaleLaplacian(levels, gamma=gamma, eta=eta, **FULL).fit(
        as_graphset(graphs, node=["label"])
    )
    expected = [[direct(x, y, levels, gamma, eta) for y in graphs] for x in graphs]
    np.testing.assert_allclose(kernel.gram(), expected, rtol=1e-6)
    assert np.abs(np.array(expected) - 1).max() > 0.05  # the graphs do differ


@pytest.mark.parametrize("levels", [0, 1, 2])
def test_against_grakel(graphs, levels):
    grakel = pytest.importorskip("grakel")

    class Halved(grakel.MultiscaleLaplacian):
        """GraKeL leaves out the two halves of the definition, a factor that changes the next level."""

        def pairwise_operation(self, x, y):
            (first, log_x), (second, log_y) = x, y
            return float(np.exp(-np.linalg.slogdet((first + second) / 2)[1] / 2 - (log_x + log_y) / 4))

    some = graphs[:5]
    labels = [dict(enumerate(np.eye(7)[one.node["label"]].tolist())) for one in some]
    theirs = [[adjacency(one), label] for one, label in zip(some, labels, strict=True)]
    reference = Halved(
        L=max(levels, 1), gamma=0.1, heta=0.1, P=some.n_nodes, n_samples=some.n_nodes, random_state=0
    )
    reference.initialize()
    reference.L = levels
    expected = reference.fit_transform(theirs)
    ours = MultiscaleLaplacian(levels, gamma=0.1, eta=0.1, **FULL).fit(some).gram()
    np.testing.assert_allclose(ours, expected, rtol=2e-3)


def test_sharing_colours_changes_little_and_low_rank_comes_nearer(graphs):
    exact = MultiscaleLaplacian(2, share=False).fit(graphs).gram()
    shared = MultiscaleLaplacian(2).fit(graphs).gram()
    np.testing.assert_allclose(shared, exact, atol=0.02)
    grams = [
        MultiscaleLaplacian(2, **{**FULL, "rank": rank}).fit(graphs[:10]).gram() for rank in (5, 40, 500)
    ]
    assert np.abs(grams[0] - grams[2]).max() > np.abs(grams[1] - grams[2]).max()


def test_the_order_of_nodes_does_not_matter(graphs):
    kernel, shuffled = MultiscaleLaplacian(2).fit(graphs), permuted(graphs, 0)
    np.testing.assert_allclose(kernel.gram(shuffled), kernel.gram(), atol=1e-6)
    np.testing.assert_allclose(MultiscaleLaplacian(2).fit(shuffled).gram(), kernel.gram(), atol=1e-6)


def test_a_loop_does_not_count_and_no_value_exceeds_one(corner_cases):
    gram = MultiscaleLaplacian(2).fit(corner_cases).gram()
    assert gram[1, 4] == pytest.approx(1)  # one node, and one node with a loop
    np.testing.assert_allclose(np.diag(gram), 1, rtol=1e-8)
    assert gram.max() <= 1 + 1e-8
