"""The Weisfeiler-Lehman kernel against its definition and against GraKeL."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import csr_matrix

from infograph import WeisfeilerLehman, load_dataset
from infograph.baselines.words import find_tokens, inner_products, named_colours, sort_tokens
from infograph.data.convert import Record, assemble
from infograph.data.graphset import GraphSet
from infograph.data.schema import Column, Schema
from tests.baselines.oracles import MOLECULES, grakel_graphs, products, random_set, seeds, wl_counter


@settings(max_examples=20)
@given(seeds)
def test_equals_colours_written_as_tuples(seed):
    graphs = random_set(seed, directed=seed % 2 == 1)
    for rounds, bonds, degree in ((0, False, False), (3, False, False), (2, True, False), (2, False, True)):
        kernel = WeisfeilerLehman(
            rounds, edge_columns=["bond"] if bonds else [], node_features="degree" if degree else "auto"
        )
        expected = products([wl_counter(one, rounds, bonds, degree) for one in graphs])
        assert np.array_equal(kernel.fit(graphs).gram(), expected)


def test_odd_graphs_equal_colours_written_as_tuples(corner_cases):
    for bonds in (False, True):
        kernel = WeisfeilerLehman(3, edge_columns=["bond"] if bonds else None)
        expected = products([wl_counter(one, 3, bonds) for one in corner_cases])
        assert np.array_equal(kernel.fit(corner_cases).gram(), expected)


@pytest.mark.parametrize("name", MOLECULES)
def test_equals_grakel(name):
    grakel = pytest.importorskip("grakel")
    graphs = load_dataset(name)
    for normalise in (False, True):
        theirs = grakel.WeisfeilerLehman(n_iter=5, normalize=normalise).fit_transform(grakel_graphs(graphs))
        ours = WeisfeilerLehman(5, normalise=normalise).fit(graphs).gram()
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8)


def test_a_constant_label_is_no_label():
    graphs = random_set(3, labels="a")
    plain = WeisfeilerLehman(node_columns=[]).fit(graphs).gram()
    assert np.array_equal(plain, WeisfeilerLehman().fit(graphs).gram())
    assert np.array_equal(plain, WeisfeilerLehman(node_features="constant").fit(graphs).gram())


def test_rounds_beyond_a_stable_colouring_still_count():
    graphs = random_set(5, count=3, most=4)
    few, many = (products([wl_counter(one, k) for one in graphs]) for k in (4, 8))
    assert np.array_equal(WeisfeilerLehman(8).fit(graphs).gram(), many)
    assert (many > few).diagonal().all()


def many_labels(n_graphs: int) -> GraphSet:
    """Graphs of 20 nodes and 40 arcs, half of whose labels the next one has, too."""
    rng = np.random.default_rng(0)
    records = [
        Record(20, rng.integers(20, size=(2, 40)), edge={"bond": np.arange(40.0) + 20 * n})
        for n in range(n_graphs)
    ]
    return assemble(records, columns=Schema(edge=(Column("bond", "float"),)))


def test_many_edge_labels_take_memory_for_what_occurs():
    graphs = many_labels(150)  # 3,000 colours times 3,000 labels: a table of 144 MB
    tracemalloc.start()
    try:
        named_colours(graphs, 2, "constant")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 30e6


def test_many_edge_labels_equal_colours_written_as_tuples():
    graphs = many_labels(6)
    kernel = WeisfeilerLehman(2, edge_columns=["bond"], node_features="degree")
    expected = products([wl_counter(one, 2, True, True) for one in graphs])
    assert expected[0, 1] > 0
    assert np.array_equal(kernel.fit(graphs).gram(), expected)


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
