"""Graphs divided by what they are for."""

from __future__ import annotations

import numpy as np
import pytest

from infograph import InfoGraphRegressor, as_graphset, read_graphs, semi_supervised_split
from infograph.data.cleaning import prepare
from infograph.data.graphset import GraphSet
from infograph.data.records import store_graph_column
from infograph.data.schema import Column
from infograph.errors import InvalidParameter, InvalidTarget, SchemaMismatch
from infograph.learn.parts import make_parts
from infograph.learn.training import learn
from tests.learn.test_predictions import SMALL
from tests.report.conftest import rings_and_stars

NUMBERS = [i / 7 for i in range(100)]
MARKED = [-999.0 if i % 4 == 0 else i / 7 for i in range(40)]


def ids(graphs):
    return set(graphs.ids.tolist())


def test_fully_labelled_graphs_are_split_as_in_the_paper():
    graphs = rings_and_stars(NUMBERS)
    parts = make_parts(graphs, ["y"], labelled=20, validation=30, test=10, seed=3)
    split = semi_supervised_split(100, labelled=20, validation=30, test=10, seed=3)
    for part, rows in (
        (parts.train, split.train),
        (parts.validation, split.validation),
        (parts.test, split.test),
    ):
        assert part.ids.tolist() == graphs.ids[rows].tolist()
    assert parts.counts == {"labelled": 20, "unlabelled": 40, "validation": 30, "test": 10}
    values = parts.train.graph["y"]  # labels of unlabelled graphs are hidden, all others kept
    assert np.isnan(values[20:]).all() and values[:20].tolist() == graphs.graph["y"][split.labelled].tolist()
    assert not np.isnan(graphs.graph["y"]).any()


@pytest.mark.parametrize("labels", [NUMBERS, ["a", "b", "b", "c"] * 25, [0.0, 1.0] * 50])
def test_parts_are_disjoint_and_repeat(labels):
    gaps = [None if i % 5 == 0 else label for i, label in enumerate(labels)]
    graphs = rings_and_stars(gaps)
    parts, again, other = (
        make_parts(graphs, ["y"], validation=0.25, test=0.25, seed=seed) for seed in (1, 1, 2)
    )
    assert parts.counts == {"labelled": 40, "unlabelled": 20, "validation": 20, "test": 20}
    groups = [ids(parts.train), ids(parts.validation), ids(parts.test)]
    assert set.union(*groups) == ids(graphs) and sum(map(len, groups)) == 100
    assert parts.train.ids.tolist() == again.train.ids.tolist()
    assert {f"g{i}" for i in range(0, 100, 5)} == set(parts.train.ids[parts.n_labelled :].tolist())
    assert other.test.ids.tolist() != parts.test.ids.tolist()


def test_classes_are_spread_evenly():
    graphs = rings_and_stars(["rare" if i % 10 == 0 else "often" for i in range(200)])
    parts = make_parts(graphs, ["y"], labelled=20, validation=40, test=40)
    for part in (parts.train[:20], parts.validation, parts.test):
        assert np.mean(part.values("graph", "y") == "rare") == pytest.approx(0.1, abs=0.051)


def test_defaults_units_and_several_targets():
    graphs = rings_and_stars(NUMBERS, "logS [mol/L]")
    values, column = store_graph_column("Tm", [None if i % 2 else i * 1.5 for i in range(100)])
    parts = make_parts(graphs.with_column("graph", column, values), ["logS", "Tm"])
    assert parts.counts == {"labelled": 80, "unlabelled": 0, "validation": 10, "test": 10}
    assert (parts.targets, parts.task) == (("logS [mol/L]", "Tm"), "regression")
    assert parts.y == ["logS [mol/L]", "Tm"]
    assert parts.sentence.startswith("Predicting logS [mol/L], Tm as numbers: 80 labelled, 0 unlabelled")


def test_scaffolds_stay_together():
    rings = ["c1ccccc1", "c1ccncc1", "C1CCCC1", "C1CCOC1", "c1ccsc1", "C1CCNCC1", "C1CC1", "c1cc[nH]c1"]
    smiles = [ring + "C" * n for ring in rings for n in range(1, 6)]
    graphs = as_graphset(smiles).with_column("graph", Column("z", "float"), np.arange(40) / 7)
    parts = make_parts(graphs, ["z"], how="scaffold", labelled=10, validation=0.2, test=0.2)
    assert parts.counts["labelled"] == 10
    kept = [{i // 5 for i in part.ids.tolist()} for part in (parts.train, parts.validation, parts.test)]
    assert not (kept[0] & kept[1] or kept[0] & kept[2] or kept[1] & kept[2])


def test_nothing_after_the_start_sees_the_mark():
    graphs = rings_and_stars(MARKED).with_column("graph", Column("b", "float"), np.roll(MARKED, 1))
    clean, _ = prepare(graphs, ["y", "b"], unlabelled=-999)
    for parts in (make_parts(clean, ["y", "b"]), make_parts(graphs, ["y", "b"], unlabelled=-999)):
        for part in (parts.train, parts.validation, parts.test):
            assert not any((part.graph[name] == -999).any() for name in ("y", "b"))
        usual = learn(InfoGraphRegressor(**SMALL), parts).rows[1:]
        assert usual and all(row.test["MAE"] < 6 for row in usual)
    classes = rings_and_stars([float(i % 3 - 1) for i in range(60)])
    counts = {"labelled": 32, "unlabelled": 20, "validation": 4, "test": 4}
    assert make_parts(classes, ["y"], unlabelled=-1).counts == counts


def test_bounds_among_decimal_commas_are_named(tmp_path):
    """As in many a chemist's table: "<0,5" keeps the whole column a text."""
    rows = [f"{'C' * (n % 9 + 1)}O;{n / 4:.2f}".replace(".", ",") for n in range(20)]
    rows[3], rows[7] = "CCO;<0,50", "CO;n.d."
    (tmp_path / "t.csv").write_text("\r\n".join(["smiles;logS", *rows]))
    said = r"that of graph 3 is '<0,50': correct 2 such values \('<0,50', 'n.d.'\), or leave the cells empty"
    with pytest.raises(InvalidTarget, match=said):
        make_parts(read_graphs(tmp_path / "t.csv"), ["logS"])


@pytest.mark.parametrize("task", [None, "regression"])
def test_a_bad_cell_is_named(task):
    graphs = rings_and_stars(["n.d." if i == 3 else str(i / 7) for i in range(40)])
    with pytest.raises(InvalidTarget, match=r"graph 3 \(id 'g3'\) is 'n\.d\.'.*unlabelled='n\.d\.'"):
        make_parts(graphs, ["y"], task=task)


MORE = rings_and_stars([0.0, 1.0] * 20).with_column("graph", Column("b", "float"), np.ones(40))
MORE = MORE.with_column("graph", Column("c", "float"), np.arange(40) / 7)
MORE = MORE.with_column("graph", Column("z", "float"), np.arange(40) % 4.0)


def test_several_columns_of_two_classes():
    parts = make_parts(MORE, ["y", "b"], labelled=20, validation=8, test=8)
    assert (parts.task, parts.y) == ("classification", ["y", "b"])
    assert np.isnan(parts.train.graph["b"][20:]).all() and not np.isnan(parts.train.graph["b"][:20]).any()
    assert make_parts(MORE, ["y", "c"], task="regression").task == "regression"


@pytest.mark.parametrize(
    ("labels", "options", "error", "message"),
    [
        (NUMBERS, {"targets": ["z"]}, SchemaMismatch, "no graph column 'z'; the graphs have: 'y'"),
        (NUMBERS, {"labelled": 90}, InvalidParameter, "10 for test: 80 are left, but 90 are needed"),
        (NUMBERS, {"test": 1.5}, InvalidParameter, r"test=1\.5: expected a share below 1"),
        (NUMBERS, {"labelled": 1}, InvalidParameter, "labelled=1: expected at least two"),
        (NUMBERS, {"unlabelled": -77}, InvalidParameter, "unlabelled=-77: not one of 100 graphs"),
        (
            [float("nan")] * 20,
            {"task": "regression"},
            InvalidTarget,
            "not one of 20 graphs has a value of 'y'",
        ),
        ([f"name {i}" for i in range(30)], {}, InvalidTarget, "texts that hardly repeat"),
        (list("abcdefghij") * 5, {"labelled": 5}, InvalidParameter, "labelled=5 is too small for 10 classes"),
        ([-1.0, 1.0] * 20, {}, InvalidTarget, "a -1 among the classes"),
        (MORE, {"targets": ["y", "c"]}, InvalidTarget, "'y' holds classes and 'c' measured numbers: train"),
        (MORE, {"targets": ["y", "b", "z"]}, InvalidTarget, "the same two classes each; here are 0, 1, 2, 3"),
        (NUMBERS, {"task": "classification"}, InvalidTarget, "'y' has .* different numbers.*='regression'"),
        (["no", "yes"] * 20, {"task": "regression"}, InvalidTarget, "the words 'no', 'yes' and no numbers"),
    ],
)
def test_mistakes(labels, options, error, message):
    graphs = labels if isinstance(labels, GraphSet) else rings_and_stars(labels)
    with pytest.raises(error, match=message):
        make_parts(graphs, **{"targets": ["y"], **options})


def test_minus_one_in_a_column_of_categories_is_a_class():
    assert make_parts(rings_and_stars([-1, 1] * 20), ["y"]).task == "classification"
    assert make_parts(rings_and_stars(list("abcdefghij") * 5), ["y"], labelled=20).n_labelled == 20
