"""Graphs under the schema of a fitted model: recoded, refused by name, unknown categories counted."""

from __future__ import annotations

import warnings
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from infograph.data.convert import as_graphset, from_networkx
from infograph.data.graphset import GraphSet, align, concatenate
from infograph.data.schema import Column, Schema
from infograph.errors import InvalidGraph, SchemaMismatch, UnknownCategoryWarning


def chain(*kinds: str, **others: list[float]) -> nx.Graph:
    graph = nx.path_graph(len(kinds))
    nx.set_node_attributes(graph, dict(enumerate(kinds)), "kind")
    for name, values in others.items():
        nx.set_node_attributes(graph, dict(enumerate(values)), name)
    return graph


def test_codes_follow_the_schema() -> None:
    model = from_networkx([chain("c", "a", "b")], node="kind").schema
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graphs = as_graphset([chain("b", "c"), chain("a")], schema=model)
    assert graphs.schema == model
    assert graphs.node["kind"].tolist() == [1, 2, 0]


def test_unknown_categories_are_counted_in_one_warning() -> None:
    model = as_graphset([chain("a", "b")], node="kind", edge={}).schema
    other = as_graphset([chain("z", "a", "z"), chain("y", "b")], node="kind")
    with pytest.warns(UnknownCategoryWarning) as caught:
        graphs = align(other, model)
    assert len(caught) == 1
    assert "node column 'kind': 'y' (1x), 'z' (2x)" in str(caught[0].message)
    assert graphs.node["kind"].tolist() == [2, 0, 2, 2, 1]
    assert graphs.values("node", "kind").tolist() == [None, "a", None, None, "b"]
    assert graphs.schema.node[0].encode(graphs.node["kind"])[0].tolist() == [0, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert align(graphs, model) is graphs


def test_many_unknown_categories_stay_one_line() -> None:
    model = as_graphset([chain("a")], node="kind").schema
    with pytest.warns(UnknownCategoryWarning, match=r"'b00' \(1x\).*and 12 more$"):
        as_graphset([chain(*(f"b{i:02}" for i in range(20)))], schema=model)


def test_missing_columns_are_named(corner_cases: GraphSet) -> None:
    model = Schema(node=(Column("element", "categorical", categories=("C",)),))
    with pytest.raises(
        SchemaMismatch, match=r"the node column 'element' is missing; these graphs have: 'label'"
    ):
        as_graphset(corner_cases, schema=model)
    model = from_networkx([chain("a")], node="kind").schema
    with pytest.raises(InvalidGraph, match="graph 0: no node has the attribute 'kind'"):
        as_graphset([nx.path_graph(2)], schema=model)


def test_kinds_and_widths_are_named() -> None:
    features = [(np.zeros((2, 0)), np.zeros((2, 3)))]
    model = as_graphset([(np.zeros((2, 0)), np.zeros((2, 2)))]).schema
    with pytest.raises(
        SchemaMismatch, match=r"'x' holds 3 float value\(s\) each, expected 2 float value\(s\) each"
    ):
        as_graphset(features, schema=model)
    model = as_graphset([(np.zeros((2, 0)), ["a"])]).schema
    with pytest.raises(SchemaMismatch, match=r"'x' holds 3 float value\(s\) each, expected categories"):
        as_graphset(features, schema=model)


def test_columns_no_encoder_sees_may_be_missing(corner_cases: GraphSet) -> None:
    bare = replace(corner_cases, edge={}, schema=replace(corner_cases.schema, edge=()))
    graphs = align(bare, corner_cases.schema)
    assert graphs.edge == {} and graphs.schema.node == corner_cases.schema.node
    seen = corner_cases.schema.select("edge", ["bond"])
    with pytest.raises(SchemaMismatch, match="the edge column 'bond' is missing; these graphs have: none"):
        align(bare, seen)


def test_columns_the_schema_lacks_are_left_out() -> None:
    model = from_networkx([chain("a")], node="kind").schema
    graphs = from_networkx([chain("a", "a", size=[1.5, 2.5])], node=["size", "kind"])
    graphs = graphs.with_column("graph", Column("y", "float"), np.array([3.0]))
    aligned = align(graphs, model)
    assert list(aligned.node) == ["kind"] and aligned.graph["y"].tolist() == [3.0]


def test_columns_the_schema_lacks_may_stay_unseen() -> None:
    model = from_networkx([chain("a")], node="kind").schema
    graphs = from_networkx([chain("a", "a", size=[1.5, 2.5])], node=["size", "kind"])
    kept = as_graphset(graphs, schema=model, keep=True)
    assert kept.node["size"].tolist() == [1.5, 2.5] and kept.node["kind"].tolist() == [0, 0]
    assert kept.schema.features("node") == model.features("node")
    assert kept.schema.column("node", "size") == replace(graphs.schema.node[0], used=False)


def test_the_fitted_scale_travels() -> None:
    graphs = from_networkx([chain("a", "b", size=[1.0, 3.0])], node="size")
    column = graphs.schema.node[0].fitted(graphs.node["size"])
    assert (column.mean, column.scale) == ((2.0,), (1.0,))
    fitted = graphs.schema.replace("node", [column])
    again = as_graphset([chain("a", size=[5.0])], schema=fitted)
    assert again.schema.node[0].encode(again.node["size"]).tolist() == [[3.0]]


def test_other_options_are_refused(corner_cases: GraphSet) -> None:
    with_option = [
        replace(corner_cases, schema=replace(corner_cases.schema, options=(("hydrogens", value),)))
        for value in (True, False)
    ]
    with pytest.raises(SchemaMismatch, match="read with hydrogens=False, expected hydrogens=True"):
        align(with_option[1], with_option[0].schema)
    with pytest.raises(SchemaMismatch, match="read with hydrogens=False, expected hydrogens=True"):
        concatenate(with_option)
    assert align(corner_cases, with_option[0].schema) is corner_cases
