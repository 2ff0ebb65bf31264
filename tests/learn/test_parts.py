from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from infograph import as_graphset
from infograph.data.convert import store_graph_column
from infograph.data.graphset import GraphSet
from infograph.data.labels import task_of
from infograph.data.schema import Column
from infograph.data.splits import semi_supervised_split
from infograph.errors import InvalidParameter, InvalidTarget, SchemaMismatch
from infograph.learn.parts import make_parts
from tests.report.conftest import rings_and_stars

NUMBERS = [i / 7 for i in range(100)]


def ids(graphs: GraphSet) -> set[str]:
    return set(graphs.ids.tolist())


def test_fully_labelled_graphs_are_split_as_in_the_paper() -> None:
    graphs = rings_and_stars(NUMBERS)
    parts = make_parts(graphs, ["y"], labelled=20, validation=30, test=10, seed=3)
    split = semi_supervised_split(100, labelled=20, validation=30, test=10, seed=3)
    assert parts.train.ids.tolist() == graphs.ids[split.train].tolist()
    assert parts.validation.ids.tolist() == graphs.ids[split.validation].tolist()
    assert parts.test.ids.tolist() == graphs.ids[split.test].tolist()
    assert parts.counts == {"labelled": 20, "unlabelled": 40, "validation": 30, "test": 10}


def test_labels_of_unlabelled_graphs_are_hidden_and_all_others_kept() -> None:
    graphs = rings_and_stars(NUMBERS)
    parts = make_parts(graphs, ["y"], labelled=20)
    values = parts.train.graph["y"]
    assert np.isnan(values[20:]).all()
    expected = dict(zip(graphs.ids.tolist(), NUMBERS, strict=True))
    assert [expected[i] for i in parts.train.ids[:20].tolist()] == values[:20].tolist()
    assert not np.isnan(graphs.graph["y"]).any()


@pytest.mark.parametrize("labels", [NUMBERS, ["a", "b", "b", "c"] * 25, [0.0, 1.0] * 50])
def test_parts_are_disjoint_and_repeat(labels: list[Any]) -> None:
    gaps = [None if i % 5 == 0 else label for i, label in enumerate(labels)]
    graphs = rings_and_stars(gaps)
    parts, again = (make_parts(graphs, ["y"], validation=0.25, test=0.25, seed=1) for _ in range(2))
    assert parts.counts == {"labelled": 40, "unlabelled": 20, "validation": 20, "test": 20}
    groups = [ids(parts.train), ids(parts.validation), ids(parts.test)]
    assert set.union(*groups) == ids(graphs) and sum(map(len, groups)) == 100
    assert parts.train.ids.tolist() == again.train.ids.tolist()
    held = {f"g{i}" for i in range(0, 100, 5)}
    assert held == set(parts.train.ids[parts.n_labelled :].tolist())
    other = make_parts(graphs, ["y"], validation=0.25, test=0.25, seed=2)
    assert other.test.ids.tolist() != parts.test.ids.tolist()


def test_classes_are_spread_evenly() -> None:
    graphs = rings_and_stars(["rare" if i % 10 == 0 else "often" for i in range(200)])
    parts = make_parts(graphs, ["y"], labelled=20, validation=40, test=40)
    for part in (parts.train[:20], parts.validation, parts.test):
        assert np.mean(part.values("graph", "y") == "rare") == pytest.approx(0.1, abs=0.051)


def test_a_tenth_is_held_out_by_default() -> None:
    assert make_parts(rings_and_stars(NUMBERS), ["y"]).counts == {
        "labelled": 80,
        "unlabelled": 0,
        "validation": 10,
        "test": 10,
    }


@pytest.mark.parametrize(
    ("labels", "unit", "task"),
    [
        (NUMBERS, "", "regression"),
        (["yes", "no"] * 10, "", "classification"),
        ([0.0, 1.0] * 10, "", "classification"),
        ([0.0, 1.0] * 10, "K", "regression"),
        ([True, False] * 10, "", "classification"),
        ([float(i) for i in range(40)], "", "regression"),
    ],
)
def test_the_column_decides_the_task(labels: list[Any], unit: str, task: str) -> None:
    graphs = rings_and_stars(labels)
    column = graphs.schema.graph[0]
    assert task_of(graphs, [Column(column.name, column.kind, 1, column.categories, unit)]) == task


def test_units_may_be_left_out_and_several_targets_be_given() -> None:
    graphs = rings_and_stars(NUMBERS, "logS [mol/L]")
    values, column = store_graph_column("Tm", [None if i % 2 else i * 1.5 for i in range(100)])
    parts = make_parts(graphs.with_column("graph", column, values), ["logS", "Tm"])
    assert (parts.targets, parts.task) == (("logS [mol/L]", "Tm"), "regression")
    assert parts.y == ["logS [mol/L]", "Tm"]


def test_scaffolds_stay_together() -> None:
    rings = ["c1ccccc1", "c1ccncc1", "C1CCCC1", "C1CCOC1", "c1ccsc1", "C1CCNCC1", "C1CC1", "c1cc[nH]c1"]
    smiles = [ring + "C" * n for ring in rings for n in range(1, 6)]
    graphs = as_graphset(smiles).with_column("graph", Column("z", "float"), np.arange(40) / 7)
    parts = make_parts(graphs, ["z"], how="scaffold", labelled=10, validation=0.2, test=0.2)
    assert parts.counts["labelled"] == 10
    kept = [{i // 5 for i in part.ids.tolist()} for part in (parts.train, parts.validation, parts.test)]
    assert not (kept[0] & kept[1] or kept[0] & kept[2] or kept[1] & kept[2])


def test_a_value_can_mean_unlabelled() -> None:
    graphs = rings_and_stars([float(i % 3 - 1) for i in range(60)])
    parts = make_parts(graphs, ["y"], unlabelled=-1)
    assert parts.counts == {"labelled": 32, "unlabelled": 20, "validation": 4, "test": 4}


def test_mistakes_are_named() -> None:
    graphs = rings_and_stars(NUMBERS)
    with pytest.raises(SchemaMismatch, match="no graph column 'z'; the graphs have: 'y'"):
        make_parts(graphs, ["z"])
    with pytest.raises(InvalidParameter, match="10 for test: 80 are left, but 90 are needed"):
        make_parts(graphs, ["y"], labelled=90)
    with pytest.raises(InvalidParameter, match=r"test=1\.5: expected a share below 1, or a whole number"):
        make_parts(graphs, ["y"], test=1.5)
    with pytest.raises(InvalidParameter, match="labelled=1: expected at least two"):
        make_parts(graphs, ["y"], labelled=1)
    with pytest.raises(InvalidTarget, match="not one of 20 graphs has a value of 'y'"):
        make_parts(graphs[:20].with_column("graph", Column("y", "float"), np.full(20, np.nan)), ["y"])
    with pytest.raises(InvalidTarget, match=r"holds numbers, but that of graph 3 \(id 'g3'\) is 'n\.d\.'"):
        make_parts(rings_and_stars([*map(str, NUMBERS[:3]), "n.d.", *map(str, NUMBERS[4:])]), ["y"])
    with pytest.raises(InvalidTarget, match="holds texts that hardly repeat"):
        make_parts(rings_and_stars([f"name {i}" for i in range(30)]), ["y"])
