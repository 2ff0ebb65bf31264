"""node2vec, graph2vec and sub2vec: what they promise, and what they must find."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from infograph import Graph2Vec, Node2Vec, Sub2Vec, as_graphset, load_dataset
from infograph.baselines.graph2vec import document_keys
from infograph.baselines.node2vec import budget
from infograph.baselines.words import number_tokens
from tests.baselines.oracles import permuted, random_set

DOCUMENTS = [
    pytest.param(Graph2Vec(12, epochs=60), id="graph2vec"),
    pytest.param(Sub2Vec(12, length=50, walk=10, epochs=60), id="sub2vec"),
    pytest.param(Sub2Vec(12, "neighbourhood", length=50, walk=10, epochs=60), id="sub2vec of nodes"),
]


@pytest.fixture(scope="module")
def graphs():
    return load_dataset("MUTAG")[:40]


@pytest.mark.parametrize("method", DOCUMENTS)
def test_inferred_vectors_are_near_the_learned_ones(method, graphs):
    """Fitted graphs, inferred as if they were new."""
    model = clone(method).fit(graphs)
    learned = model.transform(graphs)
    words, counts = model._count(as_graphset(graphs, schema=model.schema_))
    inferred = model._infer(words, counts, document_keys(words, counts))
    cosine = (learned * inferred).sum(1) / np.linalg.norm(learned, axis=1) / np.linalg.norm(inferred, axis=1)
    assert np.median(cosine) > 0.9


# ---- node2vec


def test_node2vec_pools_its_nodes(graphs):
    settings = {"dim": 6, "walks": 2, "length": 5}
    mean = Node2Vec(**settings).fit_transform(graphs)
    total = Node2Vec(**settings, pooling="sum").fit_transform(graphs)
    np.testing.assert_allclose(total, mean * graphs.sizes[:, None], rtol=1e-4, atol=1e-6)


def test_node2vec_keeps_to_its_budget():
    assert budget(1000, 10, 80, 10**9) == (10, 80)
    assert budget(1000, 10, 80, 400_000) == (5, 80)
    assert budget(1000, 10, 80, 40_000) == (1, 40)
    assert budget(1000, 10, 80, 1) == (1, 2)


def test_node2vec_in_blocks_is_node2vec_of_each_block(graphs):
    settings = {"dim": 4, "walks": 1, "length": 6}
    blocks = Node2Vec(**settings, block_nodes=100).fit_transform(graphs)
    order = np.random.default_rng(0).permutation(len(graphs))
    cut = int(np.searchsorted(np.cumsum(graphs.sizes[order]), 100, side="right"))
    assert 1 < cut < 39
    alone = Node2Vec(**settings).fit_transform(graphs[order[:cut]])
    assert np.array_equal(blocks[order[:cut]], alone)


# ---- graph2vec


def test_graph2vec_does_not_mind_the_order_of_nodes():
    some, other = random_set(0, count=12, most=14), random_set(1, count=4, most=14)
    model = Graph2Vec(dim=16, epochs=20, min_count=1).fit(some)
    for graphs in (some, other):  # learned, and inferred
        assert np.array_equal(model.transform(permuted(graphs, 0)), model.transform(graphs))


def test_graph2vec_tells_kinds_of_graphs_apart():
    kinds = [nx.cycle_graph, nx.path_graph, nx.star_graph]
    graphs = [kind(n) for n in range(6, 26) for kind in kinds]
    y = np.arange(60) % 3
    pipeline = make_pipeline(Graph2Vec(dim=16, epochs=30), LogisticRegression(max_iter=2000, C=100))
    assert pipeline.fit(graphs[:45], y[:45]).score(graphs[45:], y[45:]) >= 0.9


def test_graph2vec_and_words_it_never_saw(graphs):
    model = Graph2Vec(dim=6, epochs=2, min_count=1).fit(graphs)
    column = graphs.schema.node[0]
    new = nx.Graph()
    new.add_node(0, **{column.name: 12345})
    assert np.array_equal(model.transform([new]), np.zeros((1, 6), np.float32))


def test_rare_words_are_left_out(graphs):
    everything = Graph2Vec(dim=4, epochs=1, min_count=1).fit(graphs)
    frequent = Graph2Vec(dim=4, epochs=1, min_count=5).fit(graphs)
    assert 0 < frequent.words_.shape[1] < everything.words_.shape[1]
    assert frequent.counts_.min() >= 5
    few = Graph2Vec(dim=4, epochs=50, max_tokens=10_000).fit(graphs)
    n_words = int(few.counts_.sum())
    assert few.epochs_ == 10_000 // n_words


# ---- sub2vec


def test_sub2vec_words_are_degree_ratios_or_node_numbers():
    star = as_graphset([nx.star_graph(9)])  # ten nodes: the hub has 9/10, leaves have 1/10
    model = Sub2Vec(dim=4, length=100, walk=10, n_bins=20, min_count=1).fit(star)
    words, counts = model._count(star)
    assert np.array_equal(words, number_tokens(np.array([2, 18])))
    assert counts.toarray().tolist() == [[50.0, 50.0]]  # every other step is at the hub
    pair = as_graphset([nx.path_graph(3), nx.path_graph(5)])
    model = Sub2Vec(4, "neighbourhood", length=40, walk=10, min_count=1).fit(pair)
    _, counts = model._count(pair)
    assert counts.shape == (2, 5)
    assert counts.toarray()[0, 3:].tolist() == [0, 0]
    assert counts.toarray().sum(axis=1).tolist() == [40, 40]
