"""Kernels that are computed exactly, against slow and plain ways to say the same, and against GraKeL."""

from __future__ import annotations

import tracemalloc
from itertools import combinations
from math import comb

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import csr_matrix
from sklearn.base import clone

from infograph import (
    Graphlets,
    OptimalAssignment,
    RandomWalk,
    ShortestPath,
    WeisfeilerLehman,
    as_graphset,
    load_dataset,
)
from infograph.baselines.graphlets import PAIRS, five_node_types
from infograph.baselines.random_walk import largest_norm
from infograph.baselines.words import find_tokens, inner_products, sort_tokens
from infograph.data.records import Record, assemble
from infograph.data.schema import Column, Schema
from tests.baselines.oracles import (
    MOLECULES,
    adjacency,
    grakel_graphs,
    graphlet_counter,
    path_counter,
    random_set,
    seeds,
    simple_graph,
    walk_value,
    wl_counter,
)


def products(counter, **options):
    """The oracle of a kernel that counts things."""

    def gram(kernel, graphs):
        counters = [counter(one, **options) for one in graphs]
        return [[sum(x[k] * y[k] for k in x) for y in counters] for x in counters]

    return gram


def smaller_counts(kernel, graphs):
    """The oracle of optimal assignment: nodes of each colour that both graphs have."""
    counters = [wl_counter(one, rounds=kernel.rounds) for one in graphs]
    return [[sum(min(x[k], y[k]) for k in x) for y in counters] for x in counters]


def inverses(**options):
    """The oracle of random walks."""
    return lambda kernel, graphs: [
        [walk_value(x, y, kernel.decay_, **options) for y in graphs] for x in graphs
    ]


NONE, BOND = {"edge_columns": []}, {"edge_columns": ["bond"]}
ORACLES = {
    "wl 0": (WeisfeilerLehman(0, **NONE), products(wl_counter, rounds=0)),
    "wl 3": (WeisfeilerLehman(3, **NONE), products(wl_counter, rounds=3)),
    "wl-oa": (OptimalAssignment(2, **NONE), smaller_counts),
    "wl with bonds": (WeisfeilerLehman(2, **BOND), products(wl_counter, rounds=2, bonds=True)),
    "wl of degrees": (
        WeisfeilerLehman(2, **NONE, node_features="degree"),
        products(wl_counter, rounds=2, degree=True),
    ),
    "sp": (ShortestPath(), products(path_counter)),
    "sp of lengths": (ShortestPath(node_columns=[]), products(path_counter, labelled=False)),
    "rw": (RandomWalk(**NONE), inverses()),
    "rw with bonds": (RandomWalk(**BOND), inverses(bonds=True)),
    "rw of bonds": (RandomWalk(node_columns=[], **BOND), inverses(labelled=False, bonds=True)),
    "rw without labels": (RandomWalk(node_columns=[], **NONE), inverses(labelled=False)),
    "gk3": (Graphlets(3, values="counts"), products(graphlet_counter, size=3)),
    "gk4": (Graphlets(4, values="counts"), products(graphlet_counter, size=4)),
}


def assert_equal_to_oracle(name, graphs):
    kernel, oracle = ORACLES[name]
    kernel = clone(kernel).fit(graphs)
    rtol = 1e-10 if name.startswith("rw") else 0
    np.testing.assert_allclose(kernel.gram(), oracle(kernel, graphs), rtol=rtol)


@pytest.mark.parametrize("name", ORACLES)
@settings(max_examples=15)
@given(seed=seeds)
def test_equals_its_oracle(name, seed):
    assert_equal_to_oracle(name, random_set(seed, count=5, directed=seed % 2 == 1))


@pytest.mark.parametrize("name", ORACLES)
def test_corner_cases(name, corner_cases):
    assert_equal_to_oracle(name, corner_cases[[0, 1, 2, 3, 4, 5, 7, 8, 9]])  # the sixth is the huge hub


@pytest.mark.parametrize("name", MOLECULES)
@pytest.mark.parametrize("method", ["wl", "wl normalised", "sp", "sp of lengths", "rw", "rw without labels"])
def test_equals_grakel(name, method):
    grakel = pytest.importorskip("grakel")
    graphs, geometric = load_dataset(name), {"method_type": "baseline", "kernel_type": "geometric"}
    if method.startswith("rw"):
        graphs = graphs[np.flatnonzero(graphs.sizes <= 18)[:12]]  # GraKeL inverts n^2 x n^2 matrices
    decay = RandomWalk().fit(graphs).decay_
    plain = RandomWalk(decay, node_columns=[])
    ours, theirs = {
        "wl": (WeisfeilerLehman(), grakel.WeisfeilerLehman()),
        "wl normalised": (WeisfeilerLehman(normalise=True), grakel.WeisfeilerLehman(normalize=True)),
        "sp": (ShortestPath(), grakel.ShortestPath(with_labels=True)),
        "sp of lengths": (ShortestPath(node_columns=[]), grakel.ShortestPath(with_labels=False)),
        "rw": (RandomWalk(decay), grakel.RandomWalkLabeled(lamda=decay, **geometric)),
        "rw without labels": (plain, grakel.RandomWalk(lamda=decay, **geometric)),
    }[method]
    values = ours.fit(graphs).gram()
    if method == "rw":  # GraKeL's walks of no step begin at all pairs
        counts = np.array([np.bincount(one.node["label"], minlength=40) for one in graphs])
        values = values + np.outer(graphs.sizes, graphs.sizes) - counts @ counts.T
    np.testing.assert_allclose(values, theirs.fit_transform(grakel_graphs(graphs)), rtol=1e-8, atol=1e-8)


# ---- Weisfeiler-Lehman


def test_many_edge_labels_take_memory_for_what_occurs():
    rng = np.random.default_rng(0)  # 3,000 colours times 3,000 labels: a table of 144 MB
    bonds = [{"bond": np.arange(40.0) + 20 * n} for n in range(150)]
    records = [Record(20, rng.integers(20, size=(2, 40)), edge=edge) for edge in bonds]
    graphs = assemble(records, columns=Schema(edge=(Column("bond", "float"),)))
    tracemalloc.start()
    try:
        WeisfeilerLehman(2, edge_columns=["bond"]).fit(graphs)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 30e6


def test_optimal_assignment_of_many_colours_and_many_nodes_of_one():
    sizes, nothing = (100_000, 30_000), np.zeros((2, 0), int)  # their product has more than 32 bits
    labels = np.zeros(sizes[0], int), np.arange(sizes[1])
    graphs = as_graphset([(nothing, each[:, None]) for each in labels], node={"x": "categorical"})
    kernel = OptimalAssignment(0).fit(graphs)
    assert kernel.gram().tolist() == [[sizes[0], 1], [1, sizes[1]]]
    assert kernel.gram(graphs[1]).tolist() == [[1, sizes[1]]]


@pytest.mark.parametrize("same", [True, False])
def test_inner_products_of_sparse_matrices(same, monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr("infograph.baselines.words.BLOCK", 50)  # many blocks
    counts = [rng.poisson(np.tile([5.0, 0.01, 0.001], 40), (size, 120)) for size in (33, 21)]
    x, y = (csr_matrix(c.astype(float)) for c in counts)
    y = x if same else y
    assert np.array_equal(inner_products(x, y), (x @ y.T).toarray())


def test_tokens_that_share_their_first_half_are_found():
    tokens = np.array([[5, 3, 5, 9, 5], [1, 1, 7, 2, 4]], np.uint64)
    known, place = sort_tokens(tokens)
    assert np.array_equal(known[:, place], tokens)
    asked = np.array([[5, 5, 5, 5, 9, 9, 3, 0, 10], [4, 1, 7, 8, 2, 3, 1, 0, 0]], np.uint64)
    assert find_tokens(known, asked).tolist() == [2, 1, 3, -1, 4, -1, 0, -1, -1]


# ---- shortest paths


def test_graphs_without_paths(corner_cases):
    kernel = ShortestPath(node_columns=[], normalise=True).fit(corner_cases)
    assert kernel.gram().diagonal().tolist() == [0, 0, 1, 1, 0, 1, 1, 1, 1, 1]  # no paths, no similarity
    kernel = ShortestPath().fit([(np.zeros((2, 0), int), 3), (np.zeros((2, 0), int), 1)])
    assert kernel.features_.shape == (2, 0)
    assert not kernel.gram(random_set(1, labels="a")).any()


def test_a_long_path_with_a_label_per_node():
    n = 300
    path = np.array([np.arange(n - 1), np.arange(1, n)])
    graphs = as_graphset([(np.hstack([path, path[::-1]]), np.arange(n)[:, None])], node={"x": "categorical"})
    assert ShortestPath().fit(graphs).features_.shape == (1, n * (n - 1))  # each pair once
    lengths = ShortestPath(node_columns=[]).fit(graphs).features_.toarray()[0]
    assert sorted(lengths) == [2 * (n - length) for length in range(n - 1, 0, -1)]


# ---- random walks


@settings(max_examples=20)
@given(seeds)
def test_decays_close_to_the_limit_are_exact(seed):
    graphs = random_set(seed, count=3, most=6)
    norm = max(np.linalg.norm(adjacency(one), 2) for one in graphs)
    decay = 0.95 / max(norm, 0.1) ** 2
    for labelled in (False, True):
        kernel = RandomWalk(decay, node_columns=None if labelled else [], edge_columns=[]).fit(graphs)
        assert kernel.norm_ == pytest.approx(norm, rel=1e-10, abs=1e-12)
        np.testing.assert_allclose(kernel.gram(), inverses(labelled=labelled)(kernel, graphs), rtol=1e-10)


def test_explicit_features_are_walk_counts():
    graphs = random_set(7, most=6)
    kernel = RandomWalk(0.01, node_columns=[], edge_columns=[]).fit(graphs)
    for row, one in zip(kernel.features_, graphs, strict=True):
        power = np.eye(one.n_nodes)
        for t in range(6):
            assert row[t] == pytest.approx(0.1**t * power.sum())
            power = power @ adjacency(one)


def test_the_largest_norm_of_large_blocks():
    rng = np.random.default_rng(0)
    for symmetric in (True, False):
        dense = (rng.random((200, 200)) < 0.03).astype(float)
        dense = np.maximum(dense, dense.T) if symmetric else dense
        found = largest_norm(csr_matrix(dense), np.array([0, 200]))
        assert found == pytest.approx(np.linalg.norm(dense, 2), rel=1e-10)


def test_walks_by_hand(corner_cases):
    ring = np.array([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]])
    graphs = as_graphset([(ring, 3), (np.array([[0, 1], [1, 0]]), 2)])
    # a triangle has 3 * 2^t walks of t steps: 9 / (1 - 4 decay)
    assert RandomWalk(0.2).fit(graphs).gram()[0, 0] == pytest.approx(45, rel=1e-12)
    assert RandomWalk("auto").fit(graphs).decay_ == pytest.approx(0.125)
    hub = RandomWalk(node_columns=[]).fit(corner_cases)
    assert hub.norm_ == pytest.approx(np.sqrt(300))
    assert hub.gram()[0, 1] == 4.0  # no edges: the pairs of nodes, walks of no step


# ---- graphlets


def test_columns_of_graphlets():
    graphs = random_set(4, count=20)
    for size, n_kinds, connected in ((3, 4, [2, 3]), (4, 11, range(5, 11))):
        counters = [graphlet_counter(one, size) for one in graphs]
        expected = np.array([[float(counter[kind]) for kind in range(n_kinds)] for counter in counters])
        only = Graphlets(size, values="counts", connected_only=True).fit_transform(graphs)
        assert np.array_equal(only, expected[:, connected])
        shares = expected / np.maximum(expected.sum(axis=1, keepdims=True), 1)
        np.testing.assert_allclose(Graphlets(size).fit_transform(graphs), shares, rtol=1e-15)
    kernel = Graphlets(connected_only=True).fit(graphs)
    assert kernel.graphlet_names_ == ("path", "star", "cycle", "paw", "diamond", "clique")


@pytest.mark.parametrize("n", [301, 200_001])
def test_hubs_are_exact(n):
    star = np.array([np.zeros(n - 1, int), np.arange(1, n)])
    counts = Graphlets(4, values="counts").fit([(star, n)]).features_[0]
    assert counts.tolist() == [float(comb(n - 1, 4)), *[0.0] * 5, float(comb(n - 1, 3)), *[0.0] * 4]


@pytest.mark.parametrize("name", MOLECULES)
@pytest.mark.parametrize("size", [3, 4])
def test_graphlets_equal_grakel(name, size):
    """GraKeL's exact counts are those of connected graphlets, where its enumeration is complete.

    GraKeL 0.1.11 misses graphlets of some graphs, depending on the order of nodes, and counts one too many of
    each kind in every graph but the first that has it.
    """
    grakel = pytest.importorskip("grakel")
    from grakel.kernels.graphlet_sampling import sample_graphlets_all_connected as enumerate_them

    graphs = load_dataset(name)[:100]
    kernel = Graphlets(size, values="counts", connected_only=True)
    totals = kernel.fit_transform(graphs).sum(axis=1)
    found = [len(list(enumerate_them((adjacency(one) > 0).astype(int), size))) for one in graphs]
    assert (found <= totals).all()
    complete = graphs[np.flatnonzero(found == totals)]
    assert len(complete) >= 20
    counts = kernel.fit(complete).features_
    present = counts > 0
    counts = counts + (present & (np.cumsum(present, axis=0) > 1))
    theirs = grakel.GraphletSampling(k=size).fit_transform(grakel_graphs(complete))
    np.testing.assert_allclose(counts @ counts.T, theirs, rtol=1e-8)


def test_the_34_types():
    types = five_node_types()
    assert len(set(types.tolist())) == 34
    for a, b in np.random.default_rng(0).integers(0, 1024, (300, 2)).tolist():
        x, y = nx.empty_graph(5), nx.empty_graph(5)
        x.add_edges_from(pair for bit, pair in enumerate(PAIRS) if a >> bit & 1)
        y.add_edges_from(pair for bit, pair in enumerate(PAIRS) if b >> bit & 1)
        assert (types[a] == types[b]) == nx.is_isomorphic(x, y)


def test_samples_of_five_nodes_are_unbiased():
    graphs, types = random_set(14, count=8, most=13), five_node_types()
    expected = np.zeros((8, 34))
    for row, one in zip(expected, graphs, strict=True):
        graph = simple_graph(one)
        for nodes in combinations(graph, 5):
            code = sum(1 << b for b, (i, j) in enumerate(PAIRS) if graph.has_edge(nodes[i], nodes[j]))
            row[types[code]] += 1
    kernel = Graphlets(5, values="counts", n_samples=200_000).fit(graphs)
    assert expected.sum() > 500
    np.testing.assert_allclose(kernel.features_, expected, atol=0.01 * expected.sum(axis=1).max())
    assert np.array_equal(kernel.features_ > 0, expected > 0)
