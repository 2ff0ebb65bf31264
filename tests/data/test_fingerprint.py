"""Checksums of graphs: what they tell apart, and that they last."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from infograph import InfoGraph, load_dataset, read_graphs
from infograph.data.convert import Record, as_graphset, assemble
from infograph.data.graphset import GraphSet, fingerprint
from infograph.data.schema import Column, Schema
from tests.baselines.oracles import needs_real

QUICK = {"encoder": "gin", "dim": 4, "layers": 1, "epochs": 1}


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """Rings and paths with a number per edge."""
    path, rng = tmp_path / "a.jsonl", np.random.default_rng(0)
    with path.open("w") as file:
        for n in range(4, 10):
            graph = nx.cycle_graph(n) if n % 2 else nx.path_graph(n)
            edges = [[u, v, {"w": float(rng.uniform(0.5, 2))}] for u, v in graph.edges]
            file.write(json.dumps({"nodes": n, "edges": edges}) + "\n")
    return path


def measured(graphs: GraphSet, scale: float) -> GraphSet:
    """The same graphs whose edge column is divided by something."""
    column = replace(graphs.schema.edge[0], mean=(1.0,), scale=(scale,))
    return replace(graphs, schema=graphs.schema.replace("edge", [column]))


@needs_real
def test_checksums_of_known_sets_last() -> None:
    """Checkpoints, results and scratch folders are told apart by them."""
    found = {name: fingerprint(load_dataset(name)) for name in ("MUTAG", "IMDB-BINARY")}
    assert found == {"MUTAG": "c50283245972b5a6", "IMDB-BINARY": "579de8047ff1c2d4"}


def test_checksums_of_molecules_with_coordinates_last() -> None:
    """As enn-s2s has them: element, a scaled number, and coordinates."""
    record = Record(
        2,
        np.array([[0, 1], [1, 0]]),
        node={"element": np.array(["C", "O"], object), "z": np.array([6.0, 8.0]), "position": np.eye(2, 3)},
    )
    known = Schema(
        node=(
            Column("element", "categorical"),
            Column("z", "float", mean=(7.0,), scale=(1.0,)),
            Column("position", "float", width=3, role="position"),
        )
    )
    assert fingerprint(assemble([record], columns=known)) == "d85b9137b5ffc685"


def test_a_weight_is_no_feature(lines: Path, tmp_path: Path) -> None:
    feature, weight = read_graphs(lines, edge="w"), read_graphs(lines, weight="w")
    np.testing.assert_array_equal(feature.edge["w"], weight.edge["w"])
    assert fingerprint(feature) != fingerprint(weight)
    assert fingerprint(weight) == fingerprint(read_graphs(lines, weight="w"))
    for graphs in (feature, weight):  # the second one would find the colours of the first
        expected = InfoGraph(**QUICK).fit(graphs).transform(graphs)
        model = InfoGraph(**QUICK).fit(graphs, scratch=tmp_path / "scratch")
        np.testing.assert_array_equal(model.transform(graphs), expected)
    assert len(list((tmp_path / "scratch").iterdir())) == 2


def test_scaling_counts_where_inputs_are_kept(lines: Path, tmp_path: Path) -> None:
    graphs = read_graphs(lines, edge="w")
    one, two = measured(graphs, 1.0), measured(graphs, 2.0)
    assert fingerprint(one, scaling=True) != fingerprint(two, scaling=True)
    assert fingerprint(one, scaling=True) != fingerprint(graphs, scaling=True) == fingerprint(graphs)
    assert fingerprint(one) == fingerprint(two) == fingerprint(graphs)


def test_colours_in_scratch_are_those_of_the_scaling(lines: Path, tmp_path: Path) -> None:
    """A model that goes on with its own scaling does not find the colours of another scaling."""
    graphs, scratch = read_graphs(lines, edge="w"), tmp_path / "scratch"
    wide = replace(graphs, edge={"w": 10 * graphs.edge["w"]})
    InfoGraph(**QUICK).fit(graphs, scratch=scratch)
    expected = InfoGraph(**QUICK, warm_start=True).fit(wide).fit(graphs)
    found = InfoGraph(**QUICK, warm_start=True).fit(wide).fit(graphs, scratch=scratch)
    np.testing.assert_array_equal(found.transform(graphs), expected.transform(graphs))
    assert len(list(scratch.iterdir())) == 2


def test_kinds_and_roles_that_are_not_as_usual() -> None:
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, [0.0, 0.0, 0.0], "pos")
    placed = as_graphset([graph], node={"pos": "float"})
    assert placed.schema.node[0].role == "position"
    columns = [
        placed.schema.node[0],
        replace(placed.schema.node[0], role="feature"),
        Column("pos", "categorical"),  # nobody knows the category of any node
    ]
    sets = [replace(placed, schema=placed.schema.replace("node", [column])) for column in columns]
    assert len({fingerprint(graphs) for graphs in sets}) == 3
