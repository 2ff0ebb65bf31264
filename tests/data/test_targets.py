"""What is to be predicted, from whatever a user gives, and every way it can be wrong."""

from __future__ import annotations

import warnings
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from infograph.data.convert import Record, assemble
from infograph.data.graphset import Rejected
from infograph.data.labels import Scaler, class_targets, numeric_targets
from infograph.data.schema import Column
from infograph.errors import InvalidParameter, InvalidTarget, TargetWarning

NAN = float("nan")
EDGES = np.zeros((2, 0), np.int64)


@pytest.fixture(scope="module")
def graphs():
    """Four graphs with ids and columns of every kind."""
    made = assemble([Record(1, EDGES, graph_id=name) for name in ("m1", "m2", "m3", "m4")])
    float_columns = {
        "U0": (np.array([1.0, NAN, 3.0, 5.0]), "hartree"),
        "alpha": (np.array([10.0, 20.0, NAN, 40.0]), "bohr^3"),
    }
    for name, (values, unit) in float_columns.items():
        made = made.with_column("graph", Column(name, "float", unit=unit), values)
    made = made.with_column("graph", Column("pair", "float", 2, unit="eV"), np.arange(8.0).reshape(4, 2))
    made = made.with_column("graph", Column("y", "categorical", categories=(-1, 1)), np.array([0, 1, 2, 0]))
    return made.with_column("graph", Column("name", "text"), np.array(["a", "", "b", "a"]))


# ---- numbers


@pytest.mark.parametrize(
    "y",
    [
        [1.0, None, 3, 5],
        (1, NAN, 3.0, 5),
        np.array([1, np.nan, 3, 5], np.float32),
        np.array([1, None, 3, 5], object),
        [Decimal(1), None, Decimal(3), Decimal(5)],
        pd.Series([1.0, None, 3.0, 5.0]),
        pd.Series([1, pd.NA, 3, 5], dtype="Int64"),
        torch.tensor([1.0, float("nan"), 3.0, 5.0]),
        [torch.tensor(1.0), None, torch.tensor(3.0), torch.tensor(5.0)],
        "U0",
    ],
    ids=lambda y: type(y).__name__,
)
def test_one_number_per_graph(graphs, y):
    targets = numeric_targets(y, graphs)
    np.testing.assert_array_equal(targets.values, [[1], [NAN], [3], [5]])
    assert targets.values.dtype == np.float64
    assert targets.single
    assert targets.names == ("U0" if isinstance(y, str) else "y",)
    assert targets.units == ("hartree" if isinstance(y, str) else "",)
    assert targets.labelled.tolist() == [True, False, True, True]
    assert len(targets) == 4


@pytest.mark.parametrize(
    ("y", "names", "units"),
    [
        (["U0", "alpha"], ("U0", "alpha"), ("hartree", "bohr^3")),
        ([[1, 10], [None, 20], [3, NAN], [5.0, 40]], ("y_0", "y_1"), ("", "")),
        (np.array([[1, 10], [np.nan, 20], [3, np.nan], [5, 40]]), ("y_0", "y_1"), ("", "")),
        (pd.DataFrame({"a": [1, None, 3, 5], "b": [10, 20, None, 40]}), ("a", "b"), ("", "")),
    ],
)
def test_several_numbers_per_graph(graphs, y, names, units):
    targets = numeric_targets(y, graphs)
    np.testing.assert_array_equal(targets.values, [[1, 10], [NAN, 20], [3, NAN], [5, 40]])
    assert not targets.single
    assert targets.n_targets == 2
    assert (targets.names, targets.units) == (names, units)
    assert targets.known.tolist() == [[True, True], [False, True], [True, False], [True, True]]
    assert targets.labelled.all()


def test_names_and_units(graphs):
    assert numeric_targets(pd.Series([1, 2, 3, 4], name="logS"), graphs).names == ("logS",)
    assert numeric_targets([1, 2, 3, 4], graphs, "mol/L").units == ("mol/L",)
    assert numeric_targets(["U0", "alpha"], graphs, unit=["eV", ""]).units == ("eV", "")
    assert numeric_targets(["U0"], graphs).single is False
    wide = numeric_targets("pair", graphs)
    assert (wide.names, wide.units, wide.single) == (("pair_0", "pair_1"), ("eV", "eV"), False)
    with pytest.raises(InvalidTarget, match=r"1 units for 2 targets \(U0, alpha\)"):
        numeric_targets(["U0", "alpha"], graphs, unit=["eV"])


def test_a_column_of_whole_numbers_or_booleans_can_be_a_number(graphs):
    np.testing.assert_array_equal(numeric_targets(None, graphs).values[:, 0], [-1, 1, NAN, -1])
    np.testing.assert_array_equal(
        numeric_targets([True, False, None, True], graphs).values[:, 0], [1, 0, NAN, 1]
    )


@pytest.mark.parametrize(
    ("y", "said"),
    [
        ([None] * 4, "not one of 4 graphs has a label: all values of y are NaN or None"),
        ([1, None, None, None], "the target 'y' has only one labelled graph: at least two"),
        ([[1, 1], [2, NAN], [3, NAN], [4, NAN]], "the target 'y_1' has only one labelled graph"),
        ([[1, None], [2, None], [3, None], [4, None]], "the target 'y_1' has no labelled graph"),
        ([1, 2, np.inf, 3], r"the target 'y' of graph 2 \(id 'm3'\) is inf: correct it, or make it NaN"),
        ([1, 2, -np.inf, 3], r"graph 2 \(id 'm3'\) is -inf"),
        ([10**400, 2, 3, 4], r"graph 0 \(id 'm1'\) is inf"),
        ([1, 2, "high", 3], r"the target 'y' of graph 2 \(id 'm3'\) is 'high', no number; regression needs"),
        (["1", "2", "3", "4"], r"graph 0 \(id 'm1'\) is '1', no number"),
        (np.array(["1", "2", "3", "4"]), r"graph 0 \(id 'm1'\) is '1', no number"),
        ([1j, 2, 3, 4], r"graph 0 \(id 'm1'\) is 1j, no number"),
        (np.array(["2020-01-01"] * 4, "M8[D]"), r"is datetime\.date\(2020, 1, 1\), no number"),
        ("name", r"the target 'name' of graph 0 \(id 'm1'\) is 'a', no number"),
        ([1, 2, 3], "y has 3 labels for 4 graphs: give one value per graph, NaN or None where it is unknown"),
        ([], "y has 0 labels for 4 graphs"),
        (np.zeros((4, 0)), r"y has shape \(4, 0\): there is no target in it"),
        (np.zeros((4, 2, 1)), r"y is shape \(4, 2, 1\); expected one value per graph"),
        (5.0, "y is a single float; expected one value per graph"),
        ({"U0": [1, 2, 3, 4]}, "y is a single dict"),
        ([[1, 2], [3], [4, 5], [6, 7]], "y is no table: its rows have different lengths"),
        ("U1", "no graph column 'U1' to predict: name one that is there: 'U0', 'alpha', 'pair', 'y', 'name'"),
        (["U0", "U1"], "no graph column 'U1'"),
        (["U0", "U0"], "the target 'U0' is there twice"),
        (pd.DataFrame([[1, 2]] * 4, columns=["a", "a"]), "the target 'a' is there twice"),
    ],
)
def test_what_is_no_number_to_learn(graphs, y, said):
    with pytest.raises(InvalidTarget, match=said) as caught:
        numeric_targets(y, graphs)
    assert isinstance(caught.value, InvalidParameter)
    assert isinstance(caught.value, ValueError)


def test_graphs_without_labels_say_what_to_pass(graphs):
    bare = replace(graphs, graph={}, schema=graphs.schema.replace("graph", ()))
    with pytest.raises(
        InvalidTarget, match=r"no graph column 'y' to predict: pass y, or name one .* none at all"
    ):
        numeric_targets(None, bare)


@pytest.mark.parametrize("read", [numeric_targets, class_targets])
def test_labels_of_graphs_that_were_left_out(graphs, read):
    some = replace(graphs, rejected=(Rejected(1, "x", "bad"), Rejected(4, "z", "bad")))
    with pytest.raises(
        InvalidTarget, match=r"6 labels for 4 graphs: 2 inputs were left out .*positions 1, 4\)"
    ):
        read([1, 9, 1, 0, 9, 0], some)
    kept = np.delete([1, 9, 1, 0, 9, 0], [r.index for r in some.rejected], axis=0)
    assert read(kept, some).labelled.all()  # as the message says


def test_a_constant_target_is_one_warning(graphs):
    with pytest.warns(TargetWarning, match="'y' has the same value in all labelled graphs") as caught:
        targets = numeric_targets([0.1, None, 0.1, 0.1], graphs)
    assert len(caught) == 1
    scaler = Scaler.of(targets.values)
    assert scaler.scale == (1.0,)
    np.testing.assert_allclose(scaler.restore(np.zeros((4, 1))), 0.1, rtol=1e-15)


def test_reading_without_fitting_asks_for_nothing(graphs):
    assert not numeric_targets([None] * 4, graphs, fitting=False).labelled.any()
    assert numeric_targets([7, None, None, None], graphs, fitting=False).labelled.sum() == 1
    assert not class_targets([None] * 4, graphs, fitting=False).labelled.any()
    assert class_targets(["a"] * 4, graphs, fitting=False).classes == ("a",)


def test_what_came_stays_as_it_is(graphs):
    y = np.array([1.0, 2.0, np.nan, 4.0])
    numeric_targets(y, graphs).values[0] = 99
    assert y[0] == 1
    numeric_targets("U0", graphs).values[0] = 99
    assert graphs.graph["U0"][0] == 1


# ---- scaling

measured = arrays(
    np.float64,
    st.tuples(st.integers(2, 12), st.integers(1, 3)),
    elements=st.floats(-1e6, 1e6, allow_nan=False).map(lambda value: round(value, 3)),
)


@given(measured, st.integers(0, 2**32 - 1))
def test_scaling_is_that_of_the_labelled_graphs_alone(values, seed):
    hidden = np.random.default_rng(seed).random(values.shape) < 0.4
    hidden[0] = False
    masked = np.where(hidden, np.nan, values)
    scaler = Scaler.of(masked)
    for column in range(values.shape[1]):
        alone = values[~hidden[:, column], column]
        assert scaler.mean[column] == pytest.approx(alone.mean(), rel=1e-9, abs=1e-9)
        if np.ptp(alone) > 0:
            assert scaler.scale[column] == pytest.approx(alone.std(), rel=1e-9)
    standard = scaler.standardise(masked)
    assert np.array_equal(np.isnan(standard), hidden)
    np.testing.assert_allclose(scaler.restore(standard)[~hidden], values[~hidden], rtol=1e-9, atol=1e-6)
    spread = scaler.restore_spread(np.ones_like(values))
    np.testing.assert_allclose(
        spread, scaler.restore(np.ones_like(values)) - np.array(scaler.mean), atol=1e-6
    )


def test_large_energies_keep_their_digits():
    energies = -76000 + np.array([[0.001], [0.002], [0.004]])
    scaler = Scaler.of(energies)
    np.testing.assert_allclose(scaler.restore(scaler.standardise(energies)), energies, rtol=1e-15)
    assert scaler.standardise(energies).std() == pytest.approx(1)


@pytest.mark.parametrize("power", [-299, -200, -160, 0, 160, 200, 299])
def test_scaling_does_not_depend_on_the_unit(graphs, power):
    y = np.array([1.0, 2.0, -3.0, 5.0])
    targets = numeric_targets(y * 10.0**power, graphs)  # which is not called constant
    scaler = Scaler.of(targets.values)
    assert scaler.scale[0] / 10.0**power == pytest.approx(y.std(), rel=1e-12)
    np.testing.assert_allclose(scaler.standardise(targets.values)[:, 0], (y - y.mean()) / y.std(), rtol=1e-9)
    np.testing.assert_allclose(scaler.restore(scaler.standardise(targets.values)), targets.values, rtol=1e-9)
    with pytest.warns(TargetWarning, match="the same value"):
        steady = numeric_targets(np.full(4, 0.1) * 10.0**power, graphs)
    assert Scaler.of(steady.values).scale == (1.0,)


@pytest.mark.parametrize("value", [-2e305, 3e-310])
def test_numbers_that_leave_no_room_to_calculate(graphs, value):
    with pytest.raises(InvalidTarget, match=r"of graph 3 \(id 'm4'\) is .*, the largest .* use another unit"):
        numeric_targets([0.0, None, value / 2, value], graphs)


# ---- the targets of a model


def test_targets_of_a_model_are_found_by_name(graphs):
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


def test_checksums_are_of_the_values_as_given(graphs):
    y = np.array([1.0, 2.0, np.nan, 5.0])
    first = numeric_targets(y, graphs).checksum
    assert first == numeric_targets([1, 2, None, 5], graphs).checksum
    assert first != numeric_targets(3 * y, graphs).checksum
    classes = class_targets(["a", "b", "a", "b"], graphs).checksum
    assert classes != class_targets(["b", "a", "b", "a"], graphs).checksum
    assert classes != class_targets(["a", "c", "a", "c"], graphs).checksum


# ---- classes


@pytest.mark.parametrize(
    ("y", "classes", "codes"),
    [
        (["b", "a", None, "b"], ("a", "b"), [1, 0, -1, 1]),
        (["b", "a", NAN, "b"], ("a", "b"), [1, 0, -1, 1]),
        (["b", "a", "", "b"], ("a", "b"), [1, 0, -1, 1]),
        (np.array(["b", "a", "a", "b"]), ("a", "b"), [1, 0, 0, 1]),
        ([3, 1, 1, 3], (1, 3), [1, 0, 0, 1]),
        (np.array([1.0, 0.0, np.nan, 1.0]), (0, 1), [1, 0, -1, 1]),
        ([1, 0.0, None, 1], (0, 1), [1, 0, -1, 1]),
        ([True, False, None, True], (False, True), [1, 0, -1, 1]),
        (np.array([True, False, False, True]), (False, True), [1, 0, 0, 1]),
        (pd.Series([1, pd.NA, 0, 1], dtype="Int64"), (0, 1), [1, -1, 0, 1]),
        (pd.Series(["x", None, "y", "x"], dtype="category"), ("x", "y"), [0, -1, 1, 0]),
        (pd.Series(["x", None, "y", "x"]), ("x", "y"), [0, -1, 1, 0]),
        (pd.Series(["x", pd.NA, "y", "x"], dtype="string"), ("x", "y"), [0, -1, 1, 0]),
        (pd.DataFrame({"toxic": [1, 0, 0, 1]}), (0, 1), [1, 0, 0, 1]),
        (torch.tensor([1, 0, 0, 1]), (0, 1), [1, 0, 0, 1]),
        (None, (-1, 1), [0, 1, -1, 0]),
        ("y", (-1, 1), [0, 1, -1, 0]),
        ("name", ("a", "b"), [0, -1, 1, 0]),
    ],
)
@pytest.mark.filterwarnings("ignore::infograph.errors.TargetWarning")
def test_classes(graphs, y, classes, codes):
    targets = class_targets(y, graphs)
    assert targets.classes == classes
    assert [type(label) for label in targets.classes] == [type(label) for label in classes]
    assert targets.codes.tolist() == codes
    assert targets.labelled.tolist() == [code >= 0 for code in codes]


@pytest.mark.parametrize(
    ("y", "unlabelled", "codes"),
    [
        ([1, 0, -1, 1], -1, [1, 0, -1, 1]),
        (np.array([1.0, 0.0, -1.0, 1.0]), -1, [1, 0, -1, 1]),
        (np.array([1, 0, -1, 1]), np.int64(-1), [1, 0, -1, 1]),
        (["b", "?", "a", "b"], "?", [1, -1, 0, 1]),
        (["b", None, "a", "?"], "?", [1, -1, 0, -1]),
        ([1, 9, 2, 1], 9, [0, -1, 1, 0]),
        ([True, False, None, True], 1, [1, 0, -1, 1]),  # True is not 1
    ],
)
@pytest.mark.filterwarnings("ignore::infograph.errors.TargetWarning")
def test_one_more_value_that_means_unlabelled(graphs, y, unlabelled, codes):
    assert class_targets(y, graphs, unlabelled).codes.tolist() == codes


def test_nan_among_texts_of_numpy_is_missing(graphs):
    y = np.array(["a", "b", np.nan, "b"])
    assert y[2] == "nan"  # numpy's doing
    with pytest.warns(TargetWarning, match="a single labelled graph"):
        targets = class_targets(y, graphs)
    assert (targets.classes, targets.codes.tolist()) == (("a", "b"), [0, 1, -1, 1])
    assert class_targets(["a", "nan", "nan", "a"], graphs).classes == ("a", "nan")


def test_one_label_means_unlabelled(graphs):
    with pytest.raises(InvalidParameter, match=r"unlabelled=\[1\]: expected one label, such as -1"):
        class_targets([1, 2, 1, 2], graphs, unlabelled=[1])


@pytest.mark.parametrize("y", [[1, -1, 0, 1], [1.0, -1.0, NAN, 1.0], np.array([-1, 1, -1, 1])])
def test_minus_one_is_in_doubt(graphs, y):
    with pytest.raises(InvalidTarget, match=r"a -1 among the classes -1, .*: pass unlabelled=-1 if it means"):
        class_targets(y, graphs)
    with pytest.raises(InvalidTarget, match=r"if y is the graphs' own column, pass its name, y='y'$"):
        class_targets(y, graphs)


def test_minus_one_in_a_column_of_classes_is_a_class_unless_said_otherwise(graphs):
    assert class_targets("y", graphs[[0, 1, 3, 1]]).codes.tolist() == [0, 1, 0, 1]
    with pytest.raises(InvalidTarget, match="the only labelled graph has the class 1"):
        class_targets("y", graphs, unlabelled=-1)


@pytest.mark.parametrize(
    ("y", "said"),
    [
        ([None] * 4, "not one of 4 graphs has a label: classification needs labelled graphs of at least two"),
        (["a", None, None, None], "the only labelled graph has the class 'a': at least two classes"),
        ([1, 1, 1, None], "all 3 labelled graphs have the class 1: at least two classes are needed"),
        ([0.5, 1, 2, 3], r"the label 'y' of graph 0 \(id 'm1'\) is 0\.5, no class: .*use InfoGraphRegressor"),
        ([1.0, np.inf, 0.0, 1.0], r"graph 1 \(id 'm2'\) is inf, no class: .*correct it, or make it NaN"),
        (
            ["a", 1, "b", "a"],
            r"graph 1 \(id 'm2'\) is 1 and that of graph 0 \(id 'm1'\) is 'a': classes must",
        ),
        ([True, 1, False, 0], r"graph 1 \(id 'm2'\) is 1 and that of graph 0 \(id 'm1'\) is True"),
        ([b"a", b"b", b"a", b"b"], r"graph 0 \(id 'm1'\) is b'a': classes must be all texts"),
        ([1, 0, 1], "y has 3 labels for 4 graphs"),
        (np.zeros((4, 2)), r"y has 2 columns \(y_0, y_1\); a classifier predicts one"),
        (np.zeros((4, 2, 2)), r"y is shape \(4, 2, 2\)"),
        ("Y", "no graph column 'Y'"),
    ],
)
def test_what_is_no_class_to_learn(graphs, y, said):
    with pytest.raises(InvalidTarget, match=said):
        class_targets(y, graphs)


def test_many_whole_floats_are_no_classes():
    graphs = assemble([Record(1, EDGES) for _ in range(40)])
    with pytest.raises(
        InvalidTarget, match="40 different values in 40 labelled graphs: this looks like a regr"
    ):
        class_targets(np.arange(40.0), graphs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TargetWarning)
        assert len(class_targets(np.arange(40), graphs).classes) == 40  # integers are taken at their word


def test_a_class_seen_once_is_one_warning(graphs):
    with pytest.warns(TargetWarning, match=r"1 of 2 classes have a single labelled graph \('b'\)") as caught:
        assert class_targets(["a", "b", None, "a"], graphs).codes.tolist() == [0, 1, -1, 0]
    assert len(caught) == 1


def test_codes_of_a_fitted_model(graphs):
    targets = class_targets(["b", "c", None, "b"], graphs, fitting=False)
    assert targets.coded_for(["a", "b", "c"]).tolist() == [1, 2, -1, 1]
    with pytest.raises(InvalidTarget, match="the class 'c' is not among those of the training: 'a', 'b'"):
        targets.coded_for(["a", "b"])
    said = r"the labels are integers \(1\), those of the training are booleans \(False, True\)"
    with pytest.raises(InvalidTarget, match=said):
        class_targets([1, 1, 1, 1], graphs, fitting=False).coded_for([False, True])
    assert targets.unseen(["a", "b"]) == ["c"]


labels = st.lists(st.one_of(st.none(), st.sampled_from(["x", "y", "z"])), min_size=4, max_size=4)


@given(labels)
def test_codes_give_the_labels_back(y):
    graphs = assemble([Record(1, EDGES) for _ in range(4)])
    targets = class_targets(y, graphs, fitting=False)
    back = [None if code < 0 else targets.classes[code] for code in targets.codes]
    assert back == y
