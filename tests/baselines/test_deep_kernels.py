"""Deep graph kernels: K = phi M phi' written out, and what the sentences are made of."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_matrix

from infograph import DeepGraphKernel, as_graphset, load_dataset
from infograph.baselines.deep_kernel import count_substructures, sentences
from infograph.baselines.words import find_tokens


@pytest.mark.parametrize("structure", ["wl", "graphlet", "walk", "shortest-path"])
def test_the_gram_matrix_is_phi_m_phi(structure):
    graphs = load_dataset("MUTAG")[:40]
    kernel = DeepGraphKernel(structure, dim=8, epochs=2).fit(graphs)
    known = as_graphset(graphs, schema=kernel.schema_)
    tokens, counts, _ = count_substructures(known, structure, 2, 0)
    place = find_tokens(kernel.tokens_, tokens)
    phi = np.zeros((40, len(place)))
    phi[:, place] = counts.toarray()
    m = kernel.embedding_ @ kernel.embedding_.T  # cosines
    np.testing.assert_allclose(np.diag(m), 1, rtol=1e-5)
    np.testing.assert_allclose(kernel.gram(), phi @ m @ phi.T, rtol=1e-4, atol=1e-6)


def test_company_makes_substructures_similar():
    """Labels a and b always occur together, c and d too: a is nearer to b than to c."""
    graphs = []
    for index in range(60):
        graph = nx.path_graph(6)
        pair = "ab" if index % 2 else "cd"
        nx.set_node_attributes(graph, {v: pair[(v + index // 2) % 2] for v in graph}, "label")
        graphs.append(graph)
    kernel = DeepGraphKernel("wl", rounds=0, dim=10, epochs=20).fit(as_graphset(graphs, node=["label"]))
    single = [nx.Graph() for _ in "abcd"]
    for graph, name in zip(single, "abcd", strict=True):
        graph.add_node(0, label=name)
    a, b, c, d = kernel.transform(as_graphset(single, node=["label"]))
    np.testing.assert_allclose([a @ a, b @ b], 1, rtol=1e-5)
    assert a @ b > max(a @ c, a @ d) + 0.3
    assert c @ d > max(c @ a, c @ b) + 0.3


def test_sentences_draw_what_a_graph_has():
    counts = csr_matrix(np.array([[3.0, 1, 0, 0, 7], [0, 0, 2, 2, 0], [0, 0, 0, 0, 0]]))
    drawn = sentences(counts, (0, 4, 5), 4000, 0)
    assert drawn.shape == (3, 4000)  # two graphs in the first group, one in the second
    assert (np.bincount(drawn[0], minlength=5) / 4000)[:2] == pytest.approx([0.75, 0.25], abs=0.03)
    assert (np.bincount(drawn[1], minlength=5) / 4000)[2:4] == pytest.approx([0.5, 0.5], abs=0.03)
    assert [set(row) for row in drawn] == [{0, 1}, {2, 3}, {4}]


def test_graphs_without_any_substructure():
    edgeless = (np.zeros((2, 0), int), 3)
    assert not DeepGraphKernel("shortest-path").fit([edgeless, edgeless]).gram().any()


def test_walks_are_read_label_by_label():
    graph = nx.cycle_graph(4)
    nx.set_node_attributes(graph, "x", "label")
    tokens, counts, _ = count_substructures(as_graphset([graph], node=["label"]), "walk", 0, 0)
    assert counts.toarray().tolist() == [[28.0]]  # four walks of seven windows, all x x x x
    assert tokens.shape == (2, 1)
    tokens, _, _ = count_substructures(as_graphset([nx.star_graph(3)]), "walk", 0, 0)
    assert tokens.shape == (2, 2)  # degrees 1 3 1 3 and 3 1 3 1
