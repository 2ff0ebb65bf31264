"""Molecules that stand there more than once: every rule on planted data, the report, and properties."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infograph.data.cleaning import RULES, resolve_duplicates
from infograph.data.graphset import GraphSet
from infograph.data.molecules import from_molecules
from infograph.data.records import store_graph_column
from infograph.data.schema import Column
from infograph.errors import InvalidParameter

NAN = math.nan
PLANTED = [  # SMILES, logS, class
    ("CCO", -1.0, "a"),
    ("OCC", -2.0, "a"),
    ("C(O)C", NAN, "b"),
    ("CC", 0.5, "a"),
    ("CN", NAN, None),
    ("NC", 3.0, "b"),
    ("CC", 0.5, "b"),
    ("C", 7.0, "b"),
    ("OCC", -6.0, None),
]


def planted(rows: list[tuple[str, float, str | None]] | None = None) -> GraphSet:
    rows = PLANTED if rows is None else rows
    graphs = from_molecules([row[0] for row in rows], ids=[f"m{number}" for number in range(len(rows))])
    graphs = graphs.with_column(
        "graph", Column("logS [mol/L]", "float", unit="mol/L"), np.array([row[1] for row in rows])
    )
    known = Column("class", "categorical")
    stored, column = store_graph_column("class", [row[2] for row in rows], known)
    return graphs.with_column("graph", column, stored)


@pytest.mark.parametrize(
    ("rule", "tolerance", "ids", "numbers", "classes"),
    [
        ("mean", None, ["m0", "m3", "m4", "m7"], [-3.0, 0.5, 3.0, 7.0], ["a", None, "b", "b"]),
        ("median", None, ["m0", "m3", "m4", "m7"], [-2.0, 0.5, 3.0, 7.0], ["a", None, "b", "b"]),
        ("mean", 5.0, ["m0", "m3", "m4", "m7"], [-3.0, 0.5, 3.0, 7.0], ["a", None, "b", "b"]),
        ("mean", 4.9, ["m0", "m3", "m4", "m7"], [NAN, 0.5, 3.0, 7.0], ["a", None, "b", "b"]),
        ("first", 0.1, ["m0", "m3", "m4", "m7"], [-1.0, 0.5, 3.0, 7.0], ["a", "a", "b", "b"]),
        ("keep", 0.1, [f"m{n}" for n in range(9)], [row[1] for row in PLANTED], [row[2] for row in PLANTED]),
        ("drop", None, ["m4", "m7"], [3.0, 7.0], ["b", "b"]),
    ],
)
def test_hand_checked_rules(
    rule: Any, tolerance: float | None, ids: list[str], numbers: list[float], classes: list[str | None]
) -> None:
    before = planted()
    graphs, report = resolve_duplicates(before, ["logS", "class"], rule=rule, tolerance=tolerance)
    assert graphs.ids.tolist() == ids and graphs.values("graph", "class").tolist() == classes
    np.testing.assert_array_equal(graphs.graph["logS [mol/L]"], numbers)
    assert graphs.schema == before.schema
    assert [group.smiles for group in report.groups] == ["CCO", "CC", "CN"]
    assert (report.n_graphs, report.n_left) == (9, len(ids))
    np.testing.assert_array_equal(before.graph["logS [mol/L]"], [row[1] for row in PLANTED])  # untouched


def test_dropping_looks_at_the_chosen_targets_only() -> None:
    graphs, report = resolve_duplicates(planted(), "logS", rule="drop")
    assert graphs.ids.tolist() == ["m3", "m4", "m7"]
    assert [group.action for group in report.groups] == ["dropped", "merged", "merged"]
    graphs, _ = resolve_duplicates(planted(), "logS", rule="drop", tolerance=5)
    assert graphs.graph["logS [mol/L]"].tolist() == [-3.0, 0.5, 3.0, 7.0]  # within the tolerance: the mean
    pairs = ["CC(=O)[O-].[Na+]", "CC(=O)O"]  # duplicates once salts are stripped
    made = [resolve_duplicates(from_molecules(pairs, salts=salts), [])[0] for salts in ("keep", "strip")]
    assert list(map(len, made)) == [2, 1]


def test_the_report_is_a_sentence_and_a_table() -> None:
    _, report = resolve_duplicates(planted(), ["logS", "class"], tolerance=1)
    assert str(report) == (
        "3 molecules stand there more than once (8 of 9 graphs). Rule mean: 4 graphs are left. "
        "The values of 2 disagree: CCO, CC."
    )
    group = report.groups[0]
    assert group.ids == ("m0", "m1", "m2", "m8") and group.values["class"] == ("a", "a", "b", None)
    assert group.resolved == {"logS [mol/L]": None, "class": "a"} and group.action == "merged"
    _, report = resolve_duplicates(planted()[3:5], "logS")
    assert str(report) == "No molecule stands there more than once (2 graphs)."


def test_numbers_that_are_classes() -> None:
    graphs = from_molecules(["CC"] * 5)
    binary = graphs.with_column("graph", Column("active", "float"), np.array([1.0, 0, 1, NAN, 1]))
    assert resolve_duplicates(binary, "active")[0].graph["active"].tolist() == [1.0]  # not 0.75
    tie = graphs.with_column("graph", Column("active", "float"), np.array([1.0, 0, 1, NAN, 0]))
    assert np.isnan(resolve_duplicates(tie, "active")[0].graph["active"]).all()
    three = graphs.with_column("graph", Column("grade", "float"), np.array([1.0, 3, 3, NAN, NAN]))
    assert resolve_duplicates(three, "grade", classes=["grade"])[0].graph["grade"].tolist() == [3.0]
    assert resolve_duplicates(three, "grade")[0].graph["grade"].tolist() == [pytest.approx(7 / 3)]
    np.testing.assert_array_equal(resolve_duplicates(planted(), "class")[0].graph["class"], [0, NAN, 1, 1])


def test_a_tolerance_allows_for_rounding() -> None:
    graphs = from_molecules(["CC", "CC"])
    graphs = graphs.with_column("graph", Column("a (K)", "float"), np.array([0.7, 0.8]))
    for tolerance, value in ((0.1, 0.75), (0.09, NAN)):  # 0.8 > 0.7 + 0.1 in binary
        made, _ = resolve_duplicates(graphs, "a", tolerance=tolerance)
        np.testing.assert_array_equal(made.graph["a (K)"], [value])
    with pytest.raises(InvalidParameter, match="tolerance=-1: expected a number, 0 or more"):
        resolve_duplicates(graphs, "a", tolerance=-1)


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["C", "CC", "CCC", "CO", "OC"]),
        st.one_of(st.just(NAN), st.floats(-1e6, 1e6)),
        st.sampled_from(["a", "b", None]),
    ),
    min_size=1,
    max_size=14,
)


@settings(max_examples=30, deadline=None)
@given(ROWS, st.sampled_from(RULES), st.one_of(st.none(), st.floats(0, 10)))
def test_resolving_twice_is_resolving_once(
    rows: list[tuple[str, float, str | None]], rule: Any, tolerance: float | None
) -> None:
    graphs, first = resolve_duplicates(planted(rows), ["logS", "class"], rule=rule, tolerance=tolerance)
    if not len(graphs):
        return
    again, second = resolve_duplicates(graphs, ["logS", "class"], rule=rule, tolerance=tolerance)
    assert again.ids.tolist() == graphs.ids.tolist() and len(graphs) == first.n_left == second.n_left
    np.testing.assert_array_equal(again.graph["logS [mol/L]"], graphs.graph["logS [mol/L]"])
    if rule != "keep":
        assert not second.groups and len(set(graphs.graph["smiles"])) == len(graphs)
    values = np.array([row[1] for row in rows])
    made = graphs.graph["logS [mol/L]"][~np.isnan(graphs.graph["logS [mol/L]"])]
    assert not len(made) or (made.min() >= np.nanmin(values) and made.max() <= np.nanmax(values))
