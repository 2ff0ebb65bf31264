"""What a label is, from whatever a user gives; what counts as missing; and every way it can be wrong."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.preprocessing import StandardScaler

from infograph import InfoGraphClassifier, Vectors, as_graphset
from infograph.data.graphset import GraphSet, Rejected
from infograph.data.labels import (
    Mark,
    class_name,
    count_classes,
    is_continuous,
    is_known,
    missing,
    task_of,
    without_mark,
)
from infograph.data.schema import Column
from infograph.data.targets import (
    Scaler,
    class_targets,
    encode_labels,
    has_several,
    numeric_targets,
    task_targets,
)
from infograph.errors import InvalidParameter, InvalidTarget, TargetWarning
from tests.report.conftest import rings_and_stars

NAN, INF = float("nan"), float("inf")
EDGES = np.zeros((2, 0), np.int64)
quiet = pytest.mark.filterwarnings("ignore::infograph.errors.TargetWarning")


def some(n: int) -> GraphSet:
    return as_graphset([(EDGES, 1)] * n, ids=[f"m{i + 1}" for i in range(n)])


@pytest.fixture(scope="module")
def graphs() -> GraphSet:
    """Four graphs with columns of every kind."""
    made = some(4)
    for column, values in (
        (Column("U0", "float", unit="hartree"), [1.0, NAN, 3.0, 5.0]),
        (Column("alpha", "float", unit="bohr^3"), [10.0, 20.0, NAN, 40.0]),
        (Column("pair", "float", 2, unit="eV"), np.arange(8.0).reshape(4, 2)),
        (Column("y", "categorical", categories=(-1, 1)), [0, 1, 2, 0]),
        (Column("name", "text"), ["a", "", "b", "a"]),
    ):
        made = made.with_column("graph", column, np.array(values))
    return made


# ---- missing


@pytest.mark.parametrize(
    ("values", "unlabelled", "gone"),
    [
        ([1.0, NAN, INF], None, [0, 1, 0]),
        ([1, -1, 0], -1, [0, 1, 0]),
        ([1.0, -1.0, NAN], "-1", [0, 1, 1]),
        (np.array(["a", "", "nan"]), None, [0, 1, 1]),
        (np.array([None, NAN, pd.NA, "?", 0], object), None, [1, 1, 1, 0, 0]),
        (np.array([None, " ?", "-1", "a"], object), "?", [1, 1, 0, 0]),
        (np.array(["-1.0", -1, "1", True], object), -1, [1, 1, 0, 0]),
        (np.array([True, False]), 1, [0, 0]),  # True is not 1
    ],
)
def test_what_is_missing(values, unlabelled, gone) -> None:
    assert missing(np.asarray(values), unlabelled).tolist() == list(map(bool, gone))


def test_every_reader_of_labels_agrees_on_what_is_missing() -> None:
    """One table: each value among known labels, in every place that reads labels."""
    graphs, known = some(5), ["a", "b", "a", "b"]
    for value in (None, NAN, pd.NA, ""):
        labels = np.array([*known, value], object)
        assert missing(labels).tolist() == (~is_known(labels)).tolist() == [False] * 4 + [True]
        assert class_targets(list(labels), graphs).labelled.tolist() == [True] * 4 + [False]
        assert numeric_targets([1, 2, 3, 4, value], graphs).labelled.tolist() == [True] * 4 + [False]
        assert count_classes(labels) == [("a", 2), ("b", 2)]
        assert encode_labels(labels)[0].tolist() == [0, 1, 0, 1, -1]
    assert class_targets([*known, "?"], graphs, "?").labelled.sum() == 4
    assert numeric_targets([1, 2, 3, 4, "?"], graphs, unlabelled="?").labelled.sum() == 4
    for read in (lambda y: numeric_targets(y, graphs), lambda y: class_targets(y, graphs), encode_labels):
        with pytest.raises(InvalidTarget, match="inf"):
            read([1.0, 2.0, 1.0, 2.0, INF])
    assert not is_known(np.array([1.0, INF]))[1]


NUMBERS = [-999.0 if i % 4 == 0 else i / 7 for i in range(40)]
TRUE = np.array([NAN if i % 4 == 0 else i / 7 for i in range(40)])


def test_a_mark_becomes_a_missing_value() -> None:
    marks: list[Mark] = [-999, -999.0, "-999"]
    for mark in marks:
        clean = without_mark(rings_and_stars(NUMBERS), ["y"], mark)
        assert np.array_equal(clean.graph["y"], TRUE, equal_nan=True)
    graphs = rings_and_stars(["?" if np.isnan(value) else repr(value) for value in TRUE.tolist()], "Tm [K]")
    clean = without_mark(graphs, ["Tm [K]"], "?")  # numbers, but for the marks
    assert np.array_equal(clean.graph["Tm [K]"], TRUE, equal_nan=True)
    assert clean.schema.column("graph", "Tm [K]") == Column("Tm [K]", "float", unit="K")
    graphs = without_mark(rings_and_stars(["a", "b", "?", "a"] * 5), ["y"], "?")
    assert graphs.values("graph", "y").tolist() == ["a", "b", None, "a"] * 5


# ---- numbers or classes


def test_kinds_and_spelling() -> None:
    for values, continuous in (
        ([0.5, 1, NAN], True),
        ([0.0, 1, NAN], False),
        (np.arange(30), True),
        (["a", "b"], False),
        ([NAN, NAN], False),
        (np.array([1, 2.5, None], object), True),
    ):
        assert is_continuous(np.asarray(values)) == continuous
    assert [class_name(value) for value in (1.0, 1, True, " a  b ", 0.5)] == ["1", "1", "True", "a b", "0.5"]
    assert count_classes(np.array([1, 1.0, None, 0], object)) == [("1", 2), ("0", 1)]
    codes, names = encode_labels([-1, 3.0, -1, 3])
    assert (codes.tolist(), names) == ([0, 1, 0, 1], ("-1", "3"))


@pytest.mark.parametrize(
    ("labels", "unit", "task"),
    [
        (TRUE.tolist(), "", "regression"),
        (["yes", "no"] * 10, "", "classification"),
        ([0.0, 1.0] * 10, "K", "regression"),
        ([float(i) for i in range(40)], "", "regression"),
    ],
)
def test_the_column_decides_the_task(labels, unit, task) -> None:
    graphs = rings_and_stars(labels)
    column = graphs.schema.graph[0]
    assert task_of(graphs, [Column(column.name, column.kind, 1, column.categories, unit)]) == task


# ---- numbers


@pytest.mark.parametrize(
    "y",
    [
        (1, NAN, 3.0, 5),
        np.array([1, None, 3, 5], object),
        [Decimal(1), None, Decimal(3), Decimal(5)],
        pd.Series([1, pd.NA, 3, 5], dtype="Int64"),
        [torch.tensor(1.0), None, torch.tensor(3.0), torch.tensor(5.0)],
        "U0",
    ],
)
def test_one_number_per_graph(graphs, y) -> None:
    targets = numeric_targets(y, graphs)
    np.testing.assert_array_equal(targets.values, [[1], [NAN], [3], [5]])
    assert targets.values.dtype == np.float64 and targets.single and len(targets.values) == 4
    assert targets.names == ("U0" if isinstance(y, str) else "y",)
    assert targets.units == ("hartree" if isinstance(y, str) else "",)
    assert targets.labelled.tolist() == [True, False, True, True]


@pytest.mark.parametrize(
    ("y", "names", "units"),
    [
        (["U0", "alpha"], ("U0", "alpha"), ("hartree", "bohr^3")),
        ([[1, 10], [None, 20], [3, NAN], [5.0, 40]], ("y_0", "y_1"), ("", "")),
        (pd.DataFrame({"a": [1, None, 3, 5], "b": [10, 20, None, 40]}), ("a", "b"), ("", "")),
        (pa.table({"a": [1, None, 3, 5], "b": [10, 20, None, 40]}), ("a", "b"), ("", "")),
    ],
)
def test_several_numbers_per_graph(graphs, y, names, units) -> None:
    targets = numeric_targets(y, graphs)
    np.testing.assert_array_equal(targets.values, [[1, 10], [NAN, 20], [3, NAN], [5, 40]])
    assert (targets.names, targets.units, targets.single) == (names, units, False)
    assert targets.known.tolist() == [[True, True], [False, True], [True, False], [True, True]]
    assert targets.labelled.all()


measured = arrays(
    np.float64,
    st.tuples(st.integers(2, 12), st.integers(1, 3)),
    elements=st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: round(value, 3)),
)


@given(measured, st.integers(0, 2**32 - 1))
def test_scaling_is_that_of_the_labelled_graphs_alone(values, seed) -> None:
    hidden = np.random.default_rng(seed).random(values.shape) < 0.4
    hidden[0] = False
    masked = np.where(hidden, np.nan, values)
    scaler, oracle = Scaler.of(masked), StandardScaler().fit(masked)
    np.testing.assert_allclose(scaler.mean, oracle.mean_, rtol=1e-9, atol=1e-9)
    varies = np.nanmax(masked, axis=0) > np.nanmin(masked, axis=0)
    np.testing.assert_allclose(np.array(scaler.scale)[varies], oracle.scale_[varies], rtol=1e-9)
    standard = scaler.standardise(masked)
    assert np.array_equal(np.isnan(standard), hidden)
    np.testing.assert_allclose(scaler.restore(standard)[~hidden], values[~hidden], rtol=1e-9, atol=1e-6)


def test_targets_of_a_model_are_found_by_name(graphs) -> None:
    targets = numeric_targets(["alpha", "U0"], graphs, fitting=False)
    found = targets.like(("U0", "alpha"), ("hartree", "bohr^3"))
    assert (found.names, found.units) == (("U0", "alpha"), ("hartree", "bohr^3"))
    assert np.array_equal(found.values, targets.values[:, ::-1], equal_nan=True)
    with pytest.raises(InvalidTarget, match="targets are 'alpha', 'U0', the model's are 'U0', 'gap'"):
        targets.like(("U0", "gap"), ("", ""))
    for names in (("y_0", "y_1"), ("0", "1")):  # nobody chose these
        assert np.array_equal(targets.like(names, ("", "")).values, targets.values, equal_nan=True)
    with pytest.raises(InvalidTarget, match="'U0' is in hartree here, the model learns it in eV"):
        targets.like(("U0", "alpha"), ("eV", ""))


# ---- classes


@pytest.mark.parametrize(
    ("y", "classes", "codes"),
    [
        (["b", "a", None, "b"], ("a", "b"), [1, 0, -1, 1]),
        (["a", "nan", "nan", "a"], ("a", "nan"), [0, 1, 1, 0]),
        (np.array(["a", "b", np.nan, "b"]), ("a", "b"), [0, 1, -1, 1]),
        ([3, 1, 1, 3], (1, 3), [1, 0, 0, 1]),
        ([True, False, None, True], (False, True), [1, 0, -1, 1]),
        (pd.Series([1, pd.NA, 0, 1], dtype="Int64"), (0, 1), [1, -1, 0, 1]),
        (pd.Series(["x", pd.NA, "y", "x"], dtype="string"), ("x", "y"), [0, -1, 1, 0]),
        (torch.tensor([1, 0, 0, 1]), (0, 1), [1, 0, 0, 1]),
        (None, (-1, 1), [0, 1, -1, 0]),
        ("name", ("a", "b"), [0, -1, 1, 0]),
    ],
)
@quiet
def test_classes(graphs, y, classes, codes) -> None:
    targets = class_targets(y, graphs)
    assert targets.classes == classes
    assert [type(label) for label in targets.classes] == [type(label) for label in classes]
    assert targets.codes.tolist() == codes
    assert targets.labelled.tolist() == [code >= 0 for code in codes]


@quiet
def test_minus_one_is_in_doubt_but_in_a_column_of_classes(graphs) -> None:
    assert class_targets([1, 0, -1, 1], graphs, np.int64(-1)).codes.tolist() == [1, 0, -1, 1]
    for y in ([1, -1, 0, 1], [1.0, -1.0, NAN, 1.0], np.array([-1, 1, -1, 1])):
        with pytest.raises(InvalidTarget, match=r"a -1 among the classes -1, .*unlabelled=-1.* y='y', or"):
            class_targets(y, graphs)
    assert class_targets("y", graphs[[0, 1, 3, 1]]).codes.tolist() == [0, 1, 0, 1]
    with pytest.raises(InvalidTarget, match="only class 1"):
        class_targets("y", graphs, unlabelled=-1)


def test_codes_of_a_fitted_model(graphs) -> None:
    targets = class_targets(["b", "c", None, "b"], graphs, fitting=False)
    assert targets.coded_for(["a", "b", "c"]).tolist() == [1, 2, -1, 1]
    with pytest.raises(InvalidTarget, match=r"class 'c' is not among those of the training: 'a', 'b'$"):
        targets.coded_for(["a", "b"])
    with pytest.raises(InvalidTarget, match=r"class 9 is not among .*: 0, 1; measured .* task='regression'"):
        class_targets([0, 9, 0, 9], graphs, fitting=False).coded_for([0, 1])
    with pytest.raises(InvalidTarget, match=r"are integers \(1\), .* are booleans"):
        class_targets([1, 1, 1, 1], graphs, fitting=False).coded_for([False, True])


def test_warnings_about_labels(graphs) -> None:
    with pytest.warns(TargetWarning, match=r"1 of 2 classes have a single labelled graph \('b'\)") as caught:
        class_targets(["a", "b", None, "a"], graphs)
    assert len(caught) == 1
    odd = "the class 'NA' looks like a missing label: if it is, pass unlabelled='NA'"
    with pytest.warns(TargetWarning, match=odd) as caught:
        class_targets(["a", "NA", "NA", "a"], graphs)
    assert len(caught) == 1
    with pytest.warns(
        TargetWarning, match="the classes 'Yes', 'yes ' differ in case or white space"
    ) as caught:
        class_targets(["Yes", "yes ", "Yes", "yes "], graphs)
    assert len(caught) == 1
    assert class_targets(["a", "NA", "b", "a"], graphs, "NA", fitting=False).classes == ("a", "b")
    with pytest.warns(TargetWarning, match="'y' has the same value in all labelled graphs") as caught:
        targets = numeric_targets([0.1, None, 0.1, 0.1], graphs)
    assert len(caught) == 1 and Scaler.of(targets.values).scale == (1.0,)


# ---- mistakes


@pytest.mark.parametrize(
    ("y", "said"),
    [
        ([None] * 4, "'y' has no labelled graph: at least two"),
        ([[1, 1], [2, NAN], [3, NAN], [4, NAN]], "'y_1' has only one labelled graph"),
        ([1, 2, np.inf, 3], r"'y' of graph 2 \(id 'm3'\) is inf: correct it, or make it NaN"),
        ([1, 2, -2e305, 3], r"graph 2 \(id 'm3'\) is -2e\+305"),
        ([1, 2, "high", 3], r"'y' of graph 2 \(id 'm3'\) is 'high', no number"),
        ([1, 2, 3], "3 labels for 4 graphs: give one value per graph"),
        (np.zeros((4, 0)), r"shape \(4, 0\)"),
        (np.zeros((4, 2, 1)), r"shape \(4, 2, 1\)"),
        (5.0, "a single float"),
        ([[1, 2], [3], [4, 5], [6, 7]], "different lengths"),
        (["U0", "U1"], "no graph column 'U1' .*: 'U0', 'alpha', 'pair', 'y', 'name'"),
        (["U0", "U0"], "'U0' is there twice"),
    ],
)
def test_what_is_no_number_to_learn(graphs, y, said) -> None:
    with pytest.raises(InvalidTarget, match=said) as caught:
        numeric_targets(y, graphs)
    assert isinstance(caught.value, InvalidParameter) and isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("y", "said"),
    [
        ([None] * 4, "no labels: at least two classes"),
        ([0.5, 1, 2, 3], r"'y' of graph 0 \(id 'm1'\) is 0\.5.*use InfoGraphRegressor"),
        ([1.0, np.inf, 0.0, 1.0], r"graph 1 \(id 'm2'\) is inf"),
        (["a", 1, "b", "a"], r"graph 1 \(id 'm2'\) is 1, the first is 'a'"),
        ([True, 1, False, 0], r"graph 1 \(id 'm2'\) is 1, the first is True"),
        (np.zeros((4, 2)), r"2 columns \(y_0, y_1\); a classifier predicts one"),
    ],
)
def test_what_is_no_class_to_learn(graphs, y, said) -> None:
    with pytest.raises(InvalidTarget, match=said):
        class_targets(y, graphs)


@pytest.mark.parametrize("read", [numeric_targets, class_targets])
def test_graphs_without_labels_and_labels_without_graphs(graphs, read) -> None:
    with pytest.raises(InvalidTarget, match=r"no graph column 'y' to predict: pass y, .* none at all"):
        read(None, some(2))
    bad = replace(graphs, rejected=(Rejected(1, "x", "bad"), Rejected(4, "z", "bad")))
    with pytest.raises(InvalidTarget, match=r"6 labels for 4 graphs: 2 inputs were left out"):
        read([1, 9, 1, 0, 9, 0], bad)
    assert not read([None] * 4, graphs, fitting=False).labelled.any()


# ---- several columns of two classes


TABLE = np.array([[0, 1], [1, np.nan], [np.nan, 0], [1, 1], [0, 0], [1, np.nan]])
SIX = as_graphset(["CCO", "CCN", "CCC", "CO", "CC", "CCCC"])


@pytest.mark.parametrize("pair", [(0, 1), (3, 7), ("no", "yes"), (False, True)])
def test_two_classes_of_any_kind_in_several_columns(pair):
    labels = [[None if cell != cell else pair[int(cell)] for cell in row] for row in TABLE.tolist()]
    found = task_targets(labels, SIX)
    assert found.classes == pair and np.array_equal(found.values, TABLE, equal_nan=True)
    assert found.names == ("y_0", "y_1") and not found.single and has_several(labels, SIX)
    frame = pd.DataFrame(labels, columns=["b", "a"])
    turned = task_targets(frame, SIX).like(("a", "b"), ("", ""))
    assert np.array_equal(turned.values, TABLE[:, ::-1], equal_nan=True)
    with pytest.raises(InvalidTarget, match="the targets are 'b', 'a', the model's are 'a', 'c'"):
        task_targets(frame, SIX).like(("a", "c"), ("", ""))


def test_what_stands_for_several_columns():
    named = SIX.with_column("graph", Column("a", "float"), TABLE[:, 0])
    named = named.with_column("graph", Column("b", "float"), TABLE[:, 1])
    assert has_several(["a", "b"], named) and has_several(pd.DataFrame(TABLE), SIX)
    for y in (["a"], "a", ["a", "b", "a", "b", "a", "b"], ["a", "z"], TABLE[:, :1], None):
        assert not has_several(y, named)
    assert np.array_equal(task_targets(["b", "a"], named).values, TABLE[:, ::-1], equal_nan=True)


def test_what_several_columns_may_not_hold():
    marked = np.where(np.isnan(TABLE), -1, TABLE)
    assert np.array_equal(task_targets(marked, SIX, -1).values, TABLE, equal_nan=True)
    for labels, said in (
        (np.where(np.isnan(TABLE), 2, TABLE), "the same two classes each; here are 0, 1, 2: train one model"),
        (marked, "there is a -1 among the classes -1, 0, 1: pass unlabelled=-1"),
        (2 * np.nan_to_num(TABLE) - 1, "there is a -1 among the classes -1, 1: pass unlabelled=-1"),
        (np.full((6, 2), np.nan), "y holds no labels: at least two classes are needed"),
        (np.zeros((6, 2)), "here are 0: train"),
        ([["no", 0], ["yes", 1]] * 3, "here are 0, 1, 'no', 'yes'"),
        (TABLE / 2, r"is 0.5, no class"),
    ):
        with pytest.raises(InvalidTarget, match=said):
            task_targets(labels, SIX)
    with pytest.warns(TargetWarning, match="the target 'y_1' has no two classes to learn"):
        task_targets(np.column_stack([TABLE[:, 0], np.full(6, np.nan)]), SIX)


def test_labels_to_score_by_are_coded_for_the_classes_of_the_model():
    ones = np.ones((6, 2))
    assert np.array_equal(task_targets(ones, SIX, fitting=False, classes=(0, 1)).values, ones)
    with pytest.raises(InvalidTarget, match="the class 2 is not among those of the training: 0, 1"):
        task_targets(ones + TABLE, SIX, fitting=False, classes=(0, 1))
    model = InfoGraphClassifier(objective=Vectors("vectors", "ridge")).fit(SIX, np.nan_to_num(TABLE))
    assert model.score(SIX, ones) == (model.predict(SIX) == 1).mean()
    labels = pd.DataFrame(np.nan_to_num(TABLE), columns=["y_0", "y_1"])
    assert model.score(SIX, labels[["y_1", "y_0"]]) == (model.predict(SIX) == labels).mean(axis=None)


def test_labels_whose_index_has_the_ids_in_another_order():
    table = pd.DataFrame({"smiles": ["CCC", "C", "CCCC"], "size": [3.0, 1.0, 4.0]}, index=[2, 0, 1])
    graphs = as_graphset(table)
    assert numeric_targets(table["size"], graphs).values[:, 0].tolist() == [3, 1, 4]
    turned = table["size"].sort_index()
    with pytest.warns(TargetWarning, match="ids of the graphs in another order, and labels go by position"):
        assert numeric_targets(turned, graphs).values[:, 0].tolist() == [1, 4, 3]
    assert numeric_targets(turned.to_numpy(), graphs).values[:, 0].tolist() == [1, 4, 3]
    assert numeric_targets(turned.loc[graphs.ids], graphs).values[:, 0].tolist() == [3, 1, 4]
    by_position = as_graphset(table["smiles"].tolist())
    assert numeric_targets(table["size"], by_position).values[:, 0].tolist() == [3, 1, 4]
