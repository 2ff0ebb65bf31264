"""The random-walk kernel against the inverse of product graphs, and against GraKeL's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import csr_matrix

from infograph import RandomWalk, as_graphset, load_dataset
from infograph.baselines.random_walk import largest_norm
from infograph.baselines.walks import adjacency as arcs_of
from tests.baselines.oracles import MOLECULES, adjacency, grakel_graphs, random_set, seeds, walk_value


def inverses(graphs, decay, **options):
    return np.array([[walk_value(x, y, decay, **options) for y in graphs] for x in graphs])


@settings(max_examples=20)
@given(seeds)
def test_equals_the_inverse(seed):
    graphs = random_set(seed, count=5, most=7, directed=seed % 2 == 1)
    for labelled, bonds in ((False, False), (True, False), (True, True), (False, True)):
        kernel = RandomWalk(
            node_columns=["label"] if labelled else [], edge_columns=["bond"] if bonds else []
        ).fit(graphs)
        expected = inverses(graphs, kernel.decay_, labelled=labelled, bonds=bonds)
        np.testing.assert_allclose(kernel.gram(), expected, rtol=1e-10)


@settings(max_examples=20)
@given(seeds)
def test_decays_close_to_the_limit_are_exact(seed):
    graphs = random_set(seed, count=3, most=6)
    norm = max(np.linalg.norm(adjacency(one), 2) for one in graphs)
    decay = 0.95 / max(norm, 0.1) ** 2
    for labelled in (False, True):
        kernel = RandomWalk(decay, node_columns=None if labelled else [], edge_columns=[]).fit(graphs)
        np.testing.assert_allclose(kernel.gram(), inverses(graphs, decay, labelled=labelled), rtol=1e-10)


def test_corner_cases(corner_cases):
    small = corner_cases[[0, 1, 2, 3, 4, 5, 7, 8, 9]]
    for columns in (None, []):
        kernel = RandomWalk(node_columns=columns).fit(small)
        expected = inverses(small, kernel.decay_, labelled=columns is None)
        np.testing.assert_allclose(kernel.gram(), expected, rtol=1e-10)
    hub = RandomWalk(node_columns=[]).fit(corner_cases)
    assert hub.norm_ == pytest.approx(np.sqrt(300))
    assert hub.gram()[0, 1] == 4.0  # no edges: the pairs of nodes, walks of no step


@pytest.mark.parametrize("name", MOLECULES)
def test_equals_grakel(name):
    grakel = pytest.importorskip("grakel")
    graphs = load_dataset(name)
    graphs = graphs[np.flatnonzero(graphs.sizes <= 18)[:12]]  # GraKeL inverts n^2 x n^2 matrices
    theirs = grakel_graphs(graphs)
    for labelled in (False, True):
        kernel = RandomWalk(node_columns=None if labelled else []).fit(graphs)
        reference = grakel.RandomWalkLabeled if labelled else grakel.RandomWalk
        expected = reference(lamda=kernel.decay_, method_type="baseline", kernel_type="geometric")
        values = kernel.gram()
        if labelled:  # GraKeL's walks of no step begin at all pairs
            width = len(graphs.schema.node[0].categories)
            counts = np.array([np.bincount(one.node["label"], minlength=width) for one in graphs])
            values = values + np.outer(graphs.sizes, graphs.sizes) - counts @ counts.T
        np.testing.assert_allclose(values, expected.fit_transform(theirs), rtol=1e-8)


def test_explicit_features_are_walk_counts():
    graphs = random_set(7, most=6)
    kernel = RandomWalk(0.01, node_columns=[], edge_columns=[]).fit(graphs)
    for row, one in zip(kernel.features_, graphs, strict=True):
        power = np.eye(one.n_nodes)
        for t in range(6):
            assert row[t] == pytest.approx(0.1**t * power.sum())
            power = power @ adjacency(one)


def test_a_label_per_graph_set_is_the_unlabelled_kernel():
    graphs = random_set(8, labels="a")
    plain = RandomWalk(node_columns=[], edge_columns=[]).fit(graphs).gram()
    np.testing.assert_allclose(RandomWalk(edge_columns=[]).fit(graphs).gram(), plain, rtol=1e-12)


@settings(max_examples=20)
@given(seeds)
def test_the_largest_norm(seed):
    graphs = random_set(seed, count=12, most=14, directed=seed % 2 == 1)
    expected = max(np.linalg.norm(adjacency(one), 2) for one in graphs)
    found = largest_norm(arcs_of(graphs), graphs.node_ptr)
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-12)


def test_the_largest_norm_of_large_blocks():
    rng = np.random.default_rng(0)
    for symmetric in (True, False):
        dense = (rng.random((200, 200)) < 0.03).astype(float)
        dense = np.maximum(dense, dense.T) if symmetric else dense
        found = largest_norm(csr_matrix(dense), np.array([0, 200]))
        assert found == pytest.approx(np.linalg.norm(dense, 2), rel=1e-10)


def test_decays_by_hand():
    ring = np.array([[0, 1, 2, 1, 2, 0], [1, 2, 0, 0, 1, 2]])
    graphs = as_graphset([(ring, 3), (np.array([[0, 1], [1, 0]]), 2)])
    # a triangle has 3 * 2^t walks of t steps: 9 / (1 - 4 decay)
    assert RandomWalk(0.2).fit(graphs).gram()[0, 0] == pytest.approx(45, rel=1e-12)
    assert RandomWalk("auto").fit(graphs).decay_ == pytest.approx(0.125)
