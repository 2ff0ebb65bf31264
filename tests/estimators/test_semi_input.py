"""Labels, settings and graphs that cannot work, and what is said about them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from infograph import (
    Auto,
    InfoGraphClassifier,
    InfoGraphRegressor,
    InfoGraphStar,
    MeanTeacher,
    load_dataset,
)
from infograph.data.labels import ClassTargets
from infograph.data.schema import Column
from infograph.errors import (
    InvalidParameter,
    InvalidTarget,
    NotFitted,
    SchemaMismatch,
    TargetWarning,
    TrainingDiverged,
)
from infograph.estimators.labelled import _hold_out

QUICK = {"dim": 12, "epochs": 2, "steps_per_epoch": 3, "batch_size": 6, "encoder": Auto(layers=2)}
N = 24
HALF = np.where(np.arange(N) < 12, np.arange(N), np.nan)
INFINITE = np.where(np.arange(N) == 3, np.inf, np.arange(N))
NONE, ONE = [None] * N, [1.0] + [None] * (N - 1)


@pytest.fixture(scope="module")
def graphs():
    return load_dataset("MUTAG")[:N]


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (NONE, "the target 'y' has no labelled graph: at least two are needed"),
        (ONE, "the target 'y' has only one labelled graph: at least two are needed"),
        (INFINITE, r"the target 'y' of graph 3 is inf: correct it, or make it NaN.*\(1 such\)"),
        (HALF[:-1], "y has 23 labels for 24 graphs: give one value per graph"),
        (["soluble"] * N, "the target 'y' of graph 0 is 'soluble', no number; .* classes need a classifier"),
        ("logS", "no graph column 'logS' to predict"),
    ],
)
def test_numbers_that_cannot_be_learned(graphs, y, said):
    with pytest.raises(InvalidTarget, match=said):
        InfoGraphRegressor(**QUICK).fit(graphs, y)


@pytest.mark.parametrize(
    ("y", "said"),
    [
        (NONE, "y holds no labels: at least two classes are needed"),
        (["a"] + [None] * (N - 1), "y holds only class 'a': at least two classes"),
        (["a"] * N, "y holds only class 'a'"),
        ([-1, 1] * 12, "there is a -1 among the classes -1, 1: pass unlabelled=-1 if it means unlabelled"),
        (["a", "b"] * 11, "y has 22 labels for 24 graphs"),
        ([0.5, 1.5] * 12, "no class: .*use InfoGraphRegressor"),
        (np.ones((N, 2)), r"y has 2 columns \(y_0, y_1\); a classifier predicts one"),
    ],
)
def test_classes_that_cannot_be_learned(graphs, y, said):
    with pytest.raises(InvalidTarget, match=said):
        InfoGraphClassifier(**QUICK).fit(graphs, y)


def test_a_class_seen_once_is_warned_of(graphs):
    with pytest.warns(TargetWarning, match=r"1 of 2 classes have a single labelled graph \('b'\)") as caught:
        model = InfoGraphClassifier(**QUICK).fit(graphs, ["a"] * 9 + ["b"] + [None] * 14)
    assert len(caught) == 1
    assert model.predict_proba(graphs).shape == (N, 2)


@pytest.mark.parametrize("value", [7.0, 0.0, -1e9])
def test_a_constant_target_is_what_is_predicted(graphs, value, tmp_path):
    with pytest.warns(TargetWarning, match="the same value in all labelled graphs") as caught:
        model = InfoGraphRegressor(**QUICK).fit(graphs, np.where(np.arange(N) < 9, value, np.nan))
    assert len(caught) == 1
    assert np.array_equal(model.predict(graphs), np.full(N, value))
    loaded = InfoGraphRegressor.load(model.save(tmp_path / "model"))
    assert np.array_equal(loaded.predict(graphs), np.full(N, value))


def test_a_constant_target_beside_another(graphs):
    y = np.column_stack([np.full(N, 3.0), graphs.sizes])
    with pytest.warns(TargetWarning, match="'y_0' has the same value"):
        model = InfoGraphRegressor(**QUICK).fit(graphs, y, validation=0.25)
    assert np.array_equal(model.predict(graphs)[:, 0], y[:, 0])
    assert len(np.unique(model.predict(graphs)[:, 1])) > 1
    assert np.isfinite([record["validation"] for record in model.history_]).all()


@pytest.mark.parametrize(
    ("validation", "said"),
    [
        (1.5, r"validation is 1\.5: expected a tuple \(graphs, y\), or the share of the labelled graphs"),
        (0, "validation is 0: expected"),
        (True, "validation is True: expected"),
        ("half", "validation is 'half': expected"),
        (["graphs", HALF], r"validation is a list: expected a tuple \(graphs, y\)"),
        (("graphs",), r"validation is a tuple: expected a tuple \(graphs, y\)"),
        (("graphs", HALF, HALF), r"validation is a tuple: expected a tuple \(graphs, y\)"),
        (("graphs", HALF[:5]), "y has 5 labels for 24 graphs"),
        (("graphs", np.ones((N, 2))), "validation has 2 targets, y has 1: give the same ones"),
        (("graphs", NONE), "validation has a target without any label"),
        (("graphs", INFINITE), "graph 3 is inf"),
        (0.9, r"validation=0\.9: 12 labelled graphs are too few to hold 11 of them out"),
    ],
)
def test_validation_that_cannot_work(graphs, validation, said):
    if isinstance(validation, list | tuple):
        validation = type(validation)([graphs, *validation[1:]])
    with pytest.raises(InvalidParameter, match=said):
        InfoGraphRegressor(**QUICK).fit(graphs, HALF, validation=validation)


def test_validation_of_classes_that_cannot_work(graphs):
    y = ["a", "b"] * 12
    for judged, said in (
        (["a", "c"] * 12, "the class 'c' is not among those of the training: 'a', 'b'"),
        (NONE, "validation has not one label"),
    ):
        with pytest.raises(InvalidTarget, match=said):
            InfoGraphClassifier(**QUICK).fit(graphs, y, validation=(graphs, judged))


def test_targets_of_validation_are_found_by_name_and_in_one_unit(graphs):
    made = graphs.with_column("graph", Column("a", "float", unit="eV"), HALF)
    made = made.with_column("graph", Column("b", "float"), 100 * graphs.sizes.astype(float))
    straight = InfoGraphRegressor(**QUICK).fit(made, ["a", "b"], validation=(made, ["a", "b"]))
    swapped = InfoGraphRegressor(**QUICK).fit(made, ["a", "b"], validation=(made, ["b", "a"]))
    assert [r["validation"] for r in swapped.history_] == [r["validation"] for r in straight.history_]
    assert swapped.score(made, ["b", "a"]) == straight.score(made, ["a", "b"])
    with pytest.raises(InvalidTarget, match="the targets are 'b', the model's are 'a'"):
        InfoGraphRegressor(**QUICK).fit(made, "a", validation=(made, "b"))
    other = graphs.with_column("graph", Column("a", "float", unit="hartree"), HALF / 27.2)
    with pytest.raises(InvalidTarget, match="'a' is in hartree here, the model learns it in eV"):
        InfoGraphRegressor(**QUICK).fit(made, "a", validation=(other, "a"))
    with pytest.raises(
        InvalidTarget, match=r"the labels are texts \('0', '1'\), those .* are integers \(0, 1\)"
    ):
        InfoGraphClassifier(**QUICK).fit(graphs, [0, 1] * 12, validation=(graphs, ["0", "1"] * 12))


@pytest.mark.parametrize("share", [np.float32(0.25), np.float64(0.25), Fraction(1, 4)])
def test_a_share_is_any_real_number(graphs, share):
    plain = InfoGraphRegressor(**QUICK).fit(graphs, HALF, validation=0.25)
    again = InfoGraphRegressor(**QUICK).fit(graphs, HALF, validation=share)
    assert np.array_equal(again.predict(graphs), plain.predict(graphs))


def test_resuming_with_other_labels(graphs, tmp_path):
    def fit(y, judged, **more):
        return InfoGraphRegressor(**QUICK).fit(
            graphs, y, validation=(graphs, judged), checkpoint=tmp_path, **more
        )

    fit(HALF, HALF)
    with pytest.raises(InvalidParameter, match="checksum of the labels"):
        fit(2 * HALF, HALF, resume=True)  # the same once they are standardised
    with pytest.raises(InvalidParameter, match="checksum of the validation labels"):
        fit(HALF, HALF + 1, resume=True)
    fit(HALF, HALF, resume=True)


@pytest.mark.parametrize("factor", [2.0**-60, 2.0**60])
def test_huge_and_tiny_targets_are_predicted_in_their_unit(graphs, factor):
    expected = InfoGraphRegressor(**QUICK).fit(graphs, HALF, validation=0.25)
    model = InfoGraphRegressor(**QUICK).fit(graphs, HALF * factor, validation=0.25)
    assert np.array_equal(model.predict(graphs), expected.predict(graphs) * factor)
    assert model.score(graphs, HALF * factor) == pytest.approx(expected.score(graphs, HALF))
    with pytest.warns(TargetWarning, match="the same value"):
        steady = InfoGraphRegressor(**QUICK).fit(graphs, np.full(N, 0.1 * factor))
    np.testing.assert_allclose(steady.predict(graphs), 0.1 * factor, rtol=1e-15)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"objective": "magic"}, "'objective' parameter of InfoGraphRegressor must be a str among"),
        ({"objective": "entropy"}, "objective='entropy' is for classes: use InfoGraphClassifier"),
        ({"objective": InfoGraphStar(transfer="some")}, "'transfer' parameter of InfoGraphStar"),
        ({"objective": InfoGraphStar(transfer_scale="none")}, "'transfer_scale' parameter"),
        ({"objective": InfoGraphStar(lam=-1)}, "'lam' parameter of InfoGraphStar must be .* Got -1"),
        ({"objective": MeanTeacher(decay=1.5)}, "'decay' parameter of MeanTeacher"),
        ({"n_models": 0}, "'n_models' parameter .* Got 0"),
        ({"early_stopping": 0}, "'early_stopping' parameter .* Got 0"),
        ({"steps_per_epoch": 0}, "'steps_per_epoch' parameter"),
        ({"batch_size": 1}, "'batch_size' parameter .* Got 1"),
        ({"encoder": "enn-s2s", "dim": 13}, "dim=13: expected an even number"),
        ({"unlabelled": [1]}, r"unlabelled=\[1\]: expected one label, such as -1 or '\?'"),
        ({"encoder": "gat"}, "encoder='gat': expected 'auto', 'gin'"),
    ],
)
def test_settings_are_checked_in_fit(graphs, settings, said):
    with pytest.raises(InvalidParameter, match=said):
        InfoGraphRegressor(**{**QUICK, **settings}).fit(graphs, HALF)


def test_asking_before_fit(graphs, tmp_path):
    for model in (InfoGraphRegressor(), InfoGraphClassifier()):
        name = type(model).__name__
        asked = [model.predict, model.transform, lambda g, model=model: model.score(g, HALF)]
        asked += [getattr(model, "predict_proba", model.predict)]
        asked += [lambda g, model=model: model.save(tmp_path / "x")]
        for attempt in asked:
            with pytest.raises(NotFitted, match=rf"this {name} is not fitted yet: call fit\(graphs\)"):
                attempt(graphs)


def test_one_graph_is_too_few_and_one_network_has_no_spread(graphs):
    with pytest.raises(InvalidParameter, match="needed"):
        InfoGraphRegressor(**QUICK).fit(graphs[:1], [1.0])
    model = InfoGraphRegressor(**QUICK).fit(graphs, HALF)
    with pytest.raises(InvalidParameter, match="return_std=True: there is one network and so no spread"):
        model.predict(graphs, return_std=True)
    with pytest.raises(
        SchemaMismatch, match="the node column 'label' is missing; these graphs have: 'element'"
    ):
        model.predict(["CCO"])
    with pytest.raises(SchemaMismatch, match="the node column 'label' is missing"):
        InfoGraphRegressor(**QUICK).fit(graphs, HALF, validation=(["CCO", "CC"], [1, 2]))


def test_a_loss_that_is_not_finite_says_what_to_do(graphs):
    with pytest.raises(TrainingDiverged, match=r"in epoch \d at learning rate 1e\+30; lower lr"):
        InfoGraphRegressor(**{**QUICK, "epochs": 8}, lr=1e30).fit(graphs, HALF)


def test_held_out_graphs_have_the_classes_in_proportion_and_leave_one_of_each():
    codes = np.array([0] * 12 + [1] * 6 + [2] * 2 + [-1] * 5)
    targets = ClassTargets("y", codes, ("a", "b", "c"))
    chosen = _hold_out(0.5, targets, np.flatnonzero(codes >= 0), seed=3)
    assert np.bincount(codes[chosen]).tolist() == [6, 3, 1]
    everything = _hold_out(0.85, targets, np.flatnonzero(codes >= 0), seed=3)
    assert np.bincount(codes[everything]).tolist() == [11, 5, 1]
    with pytest.raises(InvalidTarget, match="too few to hold 19"):
        _hold_out(0.95, targets, np.flatnonzero(codes >= 0), seed=3)
