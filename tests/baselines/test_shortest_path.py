"""The shortest-path kernel against networkx and GraKeL."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from infograph import ShortestPath, as_graphset, load_dataset
from tests.baselines.oracles import MOLECULES, grakel_graphs, path_counter, products, random_set, seeds


@settings(max_examples=20)
@given(seeds)
def test_equals_networkx(seed):
    graphs = random_set(seed, most=12, directed=seed % 2 == 1)
    for columns in (None, []):
        expected = products([path_counter(one, labelled=columns is None) for one in graphs])
        assert np.array_equal(ShortestPath(node_columns=columns).fit(graphs).gram(), expected)


def test_corner_cases(corner_cases):
    for columns in (None, []):
        kernel = ShortestPath(node_columns=columns).fit(corner_cases)
        expected = products([path_counter(one, labelled=columns is None) for one in corner_cases])
        assert np.array_equal(kernel.gram(), expected)
    kernel.normalise = True
    assert kernel.gram().diagonal().tolist() == [0, 0, 1, 1, 0, 1, 1, 1, 1, 1]  # no paths, no similarity
    assert kernel.transform(corner_cases[0]).nnz == 0


def test_no_path_anywhere():
    kernel = ShortestPath().fit([(np.zeros((2, 0), int), 3), (np.zeros((2, 0), int), 1)])
    assert kernel.features_.shape == (2, 0)
    assert not kernel.gram(random_set(1, labels="a")).any()


@pytest.mark.parametrize("name", MOLECULES)
def test_equals_grakel(name):
    grakel = pytest.importorskip("grakel")
    graphs = load_dataset(name)
    theirs = grakel_graphs(graphs)
    for labelled in (True, False):
        kernel = ShortestPath(node_columns=None if labelled else [])
        expected = grakel.ShortestPath(with_labels=labelled).fit_transform(theirs)
        np.testing.assert_allclose(kernel.fit(graphs).gram(), expected, rtol=1e-8)


def test_a_long_path_with_a_label_per_node():
    n = 300
    path = np.array([np.arange(n - 1), np.arange(1, n)])
    graphs = as_graphset([(np.hstack([path, path[::-1]]), np.arange(n)[:, None])])
    kernel = ShortestPath().fit(graphs)
    assert kernel.features_.shape == (1, n * (n - 1))  # each pair once
    lengths = ShortestPath(node_columns=[]).fit(graphs).features_.toarray()[0]
    assert sorted(lengths) == [2 * (n - length) for length in range(n - 1, 0, -1)]
