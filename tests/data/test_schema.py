"""Columns and schemas: encoding, standardising, choosing, and their JSON form."""

from __future__ import annotations

import json

import numpy as np
import pytest

from infograph.data.schema import Column, Schema
from infograph.errors import InvalidFile, SchemaMismatch

SCHEMA = Schema(
    node=(
        Column("kind", "categorical", categories=("a", 1, True)),
        Column("x", "float", width=2, unit="m", mean=(1.0, 2.0), scale=(0.5, 1.0)),
    ),
    edge=(Column("w", "float", role="weight"), Column("bond", "categorical", categories=("s",), used=False)),
    graph=(Column("name", "text"),),
    options=(("hydrogens", True),),
)


def test_json_round_trip():
    again = Schema.from_dict(json.loads(json.dumps(SCHEMA.to_dict())))
    assert again == SCHEMA and [type(c) for c in again.node[0].categories] == [str, int, bool]
    for content in ({}, {"node": 3, "edge": [], "graph": []}, {"node": [{"colour": 1}], "edge": []}):
        with pytest.raises(InvalidFile, match="not a schema"):
            Schema.from_dict(content)


def test_features_weight_and_select():
    assert [c.name for c in SCHEMA.features("node")] == ["kind", "x"] and SCHEMA.features("edge") == ()
    assert SCHEMA.weight is not None and SCHEMA.weight.name == "w"
    chosen = SCHEMA.select("node", ["x"]).select("edge", ["bond"]).select("graph", None)
    assert [c.name for c in chosen.features("node")] == ["x"] and chosen.weight is None
    assert [c.name for c in chosen.features("edge")] == ["bond"] and chosen.options == SCHEMA.options
    with pytest.raises(SchemaMismatch, match="no node column 'colour'; the graphs have: 'kind', 'x'"):
        SCHEMA.select("node", ["colour"])


def test_encode():
    kind, x = SCHEMA.node
    assert kind.encode(np.array([2, 0, kind.unknown])).tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 0]]
    assert x.encode(np.array([[1.0, 2.0], [2.0, 0.0]])).tolist() == [[0, 0], [2, -2]]
    assert (kind.encoded_width, x.encoded_width) == (3, 2)


def test_fitted_standardises_all_but_indicators_and_constants():
    values = np.array([[0.0, 5.0, 1.0], [1.0, 5.0, 3.0]])
    column = Column("x", "float", width=3).fitted(values)
    assert column.mean == (0.0, 5.0, 2.0) and column.scale == (1.0, 1.0, 1.0)
    spread = Column("x", "float").fitted(np.array([1.0, 5.0]))
    assert spread.encode(np.array([1.0, 5.0])).tolist() == [[-1], [1]]
    assert Column("x", "float", width=2).fitted(np.zeros((0, 2))).scale == (1.0, 1.0)
    assert SCHEMA.edge[0].fitted(np.array([1.0, 5.0])) == SCHEMA.edge[0]  # weights keep their size


def test_columns_are_found_by_name_in_wide_schemas():
    columns = tuple(Column(f"c{i}", "float") for i in range(3000))
    schema = Schema(node=columns, graph=(Column("c0", "text"), Column("c0", "float")))
    assert schema.column("node", "c2999") is columns[-1] and schema.column("node", "x") is None
    assert schema.column("edge", "c0") is None
    assert schema.column("graph", "c0") == Column("c0", "text")  # the first of a name
    assert schema.replace("node", columns[:1]).column("node", "c2999") is None
