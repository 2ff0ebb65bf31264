"""Colours against Weisfeiler-Lehman refinement written with dictionaries."""

from __future__ import annotations

import dataclasses
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infograph.data.colours import edge_width, group_rows, node_width, open_colouring, refine, save_colouring
from infograph.data.graphset import GraphSet
from infograph.data.records import Record, assemble
from infograph.data.schema import Column, Role, Schema
from infograph.errors import InvalidFile


def plain_refinement(graphs: GraphSet, rounds: int, arc_keys: list[object]) -> list[list[object]]:
    """The textbook: a node's next colour is its colour and the sorted colours it hears."""
    columns = [graphs.node[c.name].tolist() for c in graphs.schema.features("node")]
    colour: list[object] = [tuple(c[v] for c in columns) for v in range(graphs.n_nodes)]
    history = [colour]
    for _ in range(rounds):
        heard: list[list[object]] = [[] for _ in range(graphs.n_nodes)]
        for (u, v), key in zip(graphs.edge_index.T.tolist(), arc_keys, strict=True):
            heard[v].append((colour[u], key))
        colour = [(colour[v], tuple(sorted(heard[v], key=repr))) for v in range(graphs.n_nodes)]
        names: dict[object, int] = {}
        colour = [names.setdefault(c, len(names)) for c in colour]
        history.append(colour)
    return history


def same_partition(a: list[object], b: list[object]) -> bool:
    return len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))


def used_edges(graphs: GraphSet) -> GraphSet:
    return dataclasses.replace(graphs, schema=graphs.schema.select("edge", ["bond"]))


@st.composite
def graph_sets(draw: st.DrawFn) -> GraphSet:
    records = []
    for _ in range(draw(st.integers(1, 4))):
        n = draw(st.integers(1, 7))
        arcs = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=14))
        bonds = draw(st.lists(st.sampled_from(["s", "d"]), min_size=len(arcs), max_size=len(arcs)))
        records.append(
            Record(
                n,
                np.array(arcs, np.int64).reshape(-1, 2).T,
                node={"kind": np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))},
                edge={"bond": np.array(bonds, dtype=object)},
            )
        )
    known = Schema(edge=(Column("bond", "categorical", used=draw(st.booleans())),))
    return assemble(records, columns=known)


@given(graph_sets())
def test_rounds_are_the_textbook_partition(graphs):
    keys = graphs.edge["bond"].tolist() if graphs.schema.features("edge") else [0] * graphs.n_edges
    expected = plain_refinement(graphs, 3, keys)
    colouring = refine(graphs, 3)
    for k in range(4):
        assert same_partition(expected[k], colouring.node_colours[k].tolist())
        assert colouring.n_colours(k) == len(set(expected[k]))


@given(graph_sets())
def test_a_round_says_what_its_colours_are_made_of(graphs):
    colouring = refine(graphs, 2)
    n_labels = len(colouring.edge_table)
    for k, made in enumerate(colouring.rounds, start=1):
        before, after = colouring.node_colours[k - 1], colouring.node_colours[k]
        assert np.array_equal(made.parent[after], before)
        total = made.incoming.toarray().sum(1)
        assert np.array_equal(total[after], np.bincount(graphs.edge_index[1], minlength=graphs.n_nodes))
        per_colour = made.incoming.toarray().reshape(len(made.parent), -1, n_labels).sum(2)  # (C, C')
        for node in range(graphs.n_nodes):
            sources = graphs.edge_index[0][graphs.edge_index[1] == node]
            counts = np.bincount(before[sources], minlength=per_colour.shape[1])
            assert np.array_equal(per_colour[after[node]], counts)


def test_weights_split_colours_and_minus_zero_is_zero():
    ring = np.array([[0, 1, 2, 3], [1, 2, 3, 0]])
    known = Schema(edge=(Column("w", "float", role="weight"),))
    weighted = assemble([Record(4, ring, edge={"w": np.array([1.0, 2.0, 1.0, 2.0])})], columns=known)
    assert refine(assemble([Record(4, ring)]), 1).n_colours(1) == 1
    colouring = refine(weighted, 1)
    assert colouring.n_colours(1) == 2 and colouring.edge_table.shape == (1, 0)  # a weight is no feature
    assert sorted(colouring.rounds[0].incoming.toarray().ravel().tolist()) == [1.0, 2.0]
    codes, first = group_rows([np.array([0.0, -0.0, 1.0])])
    assert codes.tolist() == [0, 0, 1] and first.tolist() == [0, 2]


def test_a_stable_partition_is_not_refined_again(corner_cases):
    colouring = refine(corner_cases, 12)
    counts = [colouring.n_colours(k) for k in range(13)]
    assert counts == sorted(counts)
    assert counts[-1] == counts[-2]
    assert colouring.rounds[-1] is colouring.rounds[-2]
    assert np.array_equal(colouring.rounds[-1].parent, np.arange(counts[-1]))


def test_features_of_nodes(corner_cases):
    assert refine(corner_cases, 0).node_table.tolist() == np.eye(3).tolist()
    assert refine(corner_cases, 0, node_features="constant").node_table.tolist() == [[1.0]]
    degree = refine(corner_cases, 0, node_features="degree")
    heard = np.bincount(corner_cases.edge_index[1], minlength=corner_cases.n_nodes)
    assert np.allclose(degree.node_table[degree.node_colours[0], 0], np.log1p(heard))
    assert node_width(corner_cases.schema) == 3
    assert node_width(corner_cases.schema, "degree") == 1
    assert edge_width(corner_cases.schema) == 0
    assert edge_width(used_edges(corner_cases).schema) == 2


def measured_edges(n_graphs: int, role: Role) -> GraphSet:
    """Graphs of 20 nodes and 40 edges, each with a number of its own."""
    rng = np.random.default_rng(0)
    records = []
    for _ in range(n_graphs):
        ends, value = rng.integers(20, size=(2, 40)), rng.normal(size=40)
        arcs = np.hstack([ends, ends[::-1]])
        records.append(Record(20, arcs, edge={"w": np.tile(value, 2)}))
    return assemble(records, columns=Schema(edge=(Column("w", "float", role=role),)))


@pytest.mark.parametrize("role", ["weight", "feature"])
def test_measured_edges(role):
    """Colours are numbered as they appear, and take memory for arcs, not for pairs of colour and code."""
    many = measured_edges(300, role)  # 6,000 colours times 12,000 codes: a table of 570 MB
    tracemalloc.start()
    try:
        refine(many, 3)
        assert tracemalloc.get_traced_memory()[1] < 30e6
    finally:
        tracemalloc.stop()
    graphs = measured_edges(10, role)
    expected = plain_refinement(graphs, 3, graphs.edge["w"].tolist())
    colouring = refine(graphs, 3)
    for k in range(1, 4):
        assert colouring.node_colours[k].tolist() == expected[k]


def test_saved_colours_open_as_memory_maps(corner_cases, tmp_path):
    expected = refine(used_edges(corner_cases), 12)  # stable long before
    found = open_colouring(save_colouring(expected, tmp_path / "c"))
    assert isinstance(found.node_colours[1], np.memmap)
    assert len(found.rounds) == 12 and found.rounds[-1] is found.rounds[-2]
    for name in ("node_ptr", "node_table", "edge_table", "graph_kinds"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    for a, b in zip(found.rounds, expected.rounds, strict=True):
        np.testing.assert_array_equal(a.parent, b.parent)
        np.testing.assert_array_equal(a.incoming.toarray(), b.incoming.toarray())
    for k in range(13):
        np.testing.assert_array_equal(found.node_colours[k], expected.node_colours[k])
        np.testing.assert_array_equal(found.graph_counts[k].toarray(), expected.graph_counts[k].toarray())
    (tmp_path / "c" / "colours_1.npy").write_bytes(b"no array")
    with pytest.raises(InvalidFile, match="colour the graphs again"):
        open_colouring(tmp_path / "c")
