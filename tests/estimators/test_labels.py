"""What InfoGraphRegressor and InfoGraphClassifier learn from, and what they may not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import infograph
from infograph import (
    Auto,
    Column,
    InfoGraphClassifier,
    InfoGraphRegressor,
    InfoGraphStar,
    Plateau,
    load_dataset,
)
from infograph.data.labels import ClassTargets
from infograph.errors import InvalidParameter, InvalidTarget, TargetWarning
from infograph.estimators import labelled as labelled_module
from infograph.train.checkpoint import FILE

QUICK = {"dim": 12, "epochs": 3, "steps_per_epoch": 4, "batch_size": 6, "encoder": Auto(layers=2)}
OBJECTIVES = ["supervised", "infograph", "infograph*", "mean-teacher", "pi-model", "vat"]
NAN = np.nan
HALF = np.where(np.arange(40) < 12, np.arange(40), NAN)


@pytest.fixture(scope="module")
def graphs():
    return load_dataset("MUTAG")[:40]


@pytest.fixture(scope="module")
def numbers(graphs):
    """The number of atoms of 24 graphs, and some other property with other gaps."""
    values = np.column_stack([graphs.sizes, np.sqrt(graphs.sizes) + np.arange(40) % 3]).astype(float)
    values[24:], values[:6, 1], values[6:9, 0] = NAN, NAN, NAN
    return values


@pytest.fixture(scope="module")
def classes(graphs):
    return [None if g >= 20 else "large" if size > 17 else "small" for g, size in enumerate(graphs.sizes)]


def regressor(objective="infograph*", **settings):
    return InfoGraphRegressor(objective, **{**QUICK, **settings})


def assert_same(one, other):
    """Weights, and how targets are scaled."""
    assert one.scaler_ == other.scaler_
    for (name, a), b in zip(one._state().items(), other._state().values(), strict=True):
        assert np.array_equal(a, b), name


def figures(model, without="second"):
    return [{k: v for k, v in record.items() if without not in k} for record in model.history_]


def errors(model):
    return [record["validation"] for record in model.history_]


# ---- going on


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_resumed_run_ends_with_the_same_bits(objective, graphs, numbers, tmp_path):
    """Best weights, learning rate and moving average included."""
    settings = {"epochs": 5, "schedule": Plateau(0.5, patience=0), "lr": 0.02, "random_state": 3}
    straight, twin, resumed = (regressor(objective, **settings) for _ in range(3))
    straight.fit(graphs, numbers, validation=0.25)

    def stop(now):
        if now.epoch == 4 and now.step == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        twin.fit(graphs, numbers, validation=0.25, checkpoint=tmp_path, watchers=[stop])
    assert not hasattr(twin, "schema_")  # what was interrupted is not fitted
    resumed.fit(graphs, numbers, validation=0.25, checkpoint=tmp_path, resume=True)
    assert_same(straight, resumed)
    assert figures(straight) == figures(resumed)
    assert np.array_equal(straight.predict(graphs), resumed.predict(graphs))
    assert len({record["lr"] for record in straight.history_}) > 1  # the schedule had something to do


def test_an_ensemble_is_resumed_network_by_network(graphs, numbers, tmp_path):
    straight = regressor(n_models=3).fit(graphs, numbers)
    seen = []

    def stop(now):
        seen.append(now)
        if len(seen) == 18:  # in the second epoch of the second network
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        regressor(n_models=3).fit(graphs, numbers, checkpoint=tmp_path, watchers=[stop])
    assert sorted(path.parent.name for path in tmp_path.rglob(FILE)) == ["model-1", "model-2"]
    assert_same(straight, regressor(n_models=3).fit(graphs, numbers, checkpoint=tmp_path, resume=True))


def test_a_checkpoint_of_another_run_is_refused(graphs, numbers, tmp_path):
    judged = (graphs[:9], numbers[:9])
    for folder, validation in (("plain", None), ("judged", judged)):
        regressor().fit(graphs, numbers, validation=validation, checkpoint=tmp_path / folder)
    for folder, objective, y, validation, said in (
        ("plain", InfoGraphStar(lam=0.5), numbers, None, r"objective was"),
        ("plain", "vat", numbers, None, "objective was 'infograph"),
        ("plain", "infograph*", 2 * numbers, None, "checksum of the labels"),  # the same once standardised
        ("plain", "infograph*", numbers, judged, "validation graphs was 0, now it is 9"),
        ("judged", "infograph*", numbers, (graphs[:9], numbers[:9] + 1), "checksum of the validation labels"),
    ):
        model = regressor(objective)
        with pytest.raises(InvalidParameter, match=said):
            model.fit(graphs, y, validation=validation, checkpoint=tmp_path / folder, resume=True)


# ---- labels that are not there, and labels that are held out


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_targets_of_unlabelled_graphs_do_not_exist(objective, graphs, numbers, monkeypatch):
    """They are garbage to the feed: it would learn from them if anything looked at them."""
    model, feed = regressor(objective).fit(graphs, numbers), labelled_module.StepFeed

    def with_garbage(source, targets, labelled, *rest):
        unlabelled = np.setdiff1d(np.arange(len(targets)), labelled)
        assert targets[unlabelled].isnan().all()
        targets = targets.clone()
        targets[unlabelled] = 1e6
        return feed(source, targets, labelled, *rest)

    monkeypatch.setattr(labelled_module, "StepFeed", with_garbage)
    assert_same(model, regressor(objective).fit(graphs, numbers))


def test_scaling_is_by_the_labelled_training_graphs_alone(graphs, numbers):
    y = numbers[:, 0]
    scaler = regressor(epochs=0).fit(graphs, y).scaler_
    assert (*scaler.mean, *scaler.scale) == pytest.approx((np.nanmean(y), np.nanstd(y)))
    given = regressor(epochs=0).fit(graphs[:20], y[:20], validation=(graphs[20:24], 1000 * y[20:24]))
    assert given.scaler_.mean == pytest.approx((np.nanmean(y[:20]),))


def held_out(graphs, y):
    """The labelled graphs that are not learned from: their labels can change and the scale does not."""

    def scale(y):
        return regressor("supervised", epochs=0).fit(graphs, y, validation=0.25).scaler_

    known = np.flatnonzero(~np.isnan(y))
    return [graph for graph in known if scale(np.where(np.arange(40) == graph, y + 50, y)) == scale(y)]


@pytest.mark.parametrize("objective", ["supervised", "infograph*"])
def test_held_out_labels_choose_the_epoch_and_nothing_else(objective, graphs, numbers):
    y = numbers[:, 0]
    chosen = held_out(graphs, y)
    assert len(chosen) == round(0.25 * np.sum(~np.isnan(y)))  # drawn from the labelled only
    model, changed = (regressor(objective, schedule=Plateau(patience=100)) for _ in range(2))  # steady rate
    model.fit(graphs, y, validation=0.25)
    other = y.copy()
    other[chosen] += 500
    changed.fit(graphs, other, validation=0.25)
    assert [{**f, "validation": 0} for f in figures(model)] == [
        {**f, "validation": 0} for f in figures(changed)
    ]
    assert all(a != b for a, b in zip(errors(model), errors(changed), strict=True))
    assert model.scaler_.mean[0] == pytest.approx(np.nanmean(np.delete(y, chosen)))


@pytest.mark.parametrize("objective", ["infograph*", "mean-teacher"])
def test_the_weights_of_the_best_epoch_are_kept(objective, graphs, numbers):
    y, settings = numbers[:, 0], {"epochs": 6, "lr": 0.05}
    train, judged = graphs[:18], (graphs[18:24], y[18:24])
    model = regressor(objective, **settings).fit(train, y[:18], validation=judged)
    best = int(np.argmin(errors(model)))
    assert best < 5, "the last epoch is no test"
    found = np.abs(model.predict(judged[0]) - judged[1]).mean()
    assert found == pytest.approx(errors(model)[best], rel=1e-6)
    shorter = regressor(objective, **{**settings, "epochs": best + 1}).fit(train, y[:18], validation=judged)
    assert_same(model, shorter)
    last = regressor(objective, **settings).fit(train, y[:18])
    assert len(last.history_) == 6 and not any("validation" in record for record in last.history_)
    assert not np.array_equal(last.predict(graphs), model.predict(graphs))


def test_training_ends_early_and_the_rate_falls(graphs, numbers):
    settings = {"epochs": 60, "lr": 0.05, "early_stopping": 3, "schedule": Plateau(0.5, patience=1)}
    model = regressor("supervised", **settings).fit(graphs, numbers[:, 0], validation=0.3)
    assert len(errors(model)) < 60 and len(errors(model)) - 1 - int(np.argmin(errors(model))) == 3
    rates = [record["lr"] for record in model.history_]
    assert rates[0] == 0.05 and rates == sorted(rates, reverse=True)


def test_validation_figures(graphs, numbers, classes):
    """Of several targets, and of classes the share of mistakes."""
    judged = (graphs[9:24], numbers[9:24])
    model = regressor("supervised").fit(graphs, numbers, validation=judged)
    best = min(model.history_, key=lambda record: record["validation"])
    wrong = np.abs(model.predict(judged[0]) - judged[1]).mean(axis=0)
    assert [best["validation y_0"], best["validation y_1"]] == pytest.approx(wrong.tolist(), rel=1e-6)
    assert best["validation"] == pytest.approx(np.mean(wrong / model.scaler_.scale), rel=1e-6)
    judged = (graphs[20:30], ["large" if size > 17 else "small" for size in graphs.sizes[20:30]])
    model = InfoGraphClassifier(**QUICK).fit(graphs, classes, validation=judged)
    wrong = np.mean(model.predict(judged[0]) != np.array(judged[1]))
    assert min(errors(model)) == pytest.approx(wrong)


def test_a_share_may_leave_a_target_unjudged_but_not_unlearned(graphs, numbers):
    y = numbers.copy()
    y[8:, 1] = NAN  # two labels of the second target are left: graphs 6 and 7
    seen = set()
    for seed in range(40):
        model = regressor("supervised", epochs=1, steps_per_epoch=1, random_state=seed)
        try:
            record = model.fit(graphs, y, validation=0.3).history_[0]
        except InvalidParameter as error:
            assert "'y_1' has no label left to learn from" in str(error)
            seen.add("refused")
            continue
        assert np.isfinite(record["validation"]) and np.isfinite(model.predict(graphs)).all()
        seen.add("judged" if "validation y_1" in record else "unjudged")
    assert seen == {"refused", "judged", "unjudged"}


def test_held_out_graphs_have_the_classes_in_proportion_and_leave_one_of_each():
    codes = np.array([0] * 12 + [1] * 6 + [2] * 2 + [-1] * 5)
    targets, known = ClassTargets("y", codes, ("a", "b", "c")), np.flatnonzero(codes >= 0)
    for share, expected in ((0.5, [6, 3, 1]), (0.85, [11, 5, 1])):
        chosen = labelled_module._hold_out(share, targets, known, seed=3)
        assert np.bincount(codes[chosen]).tolist() == expected
    with pytest.raises(InvalidTarget, match="too few to hold 19"):
        labelled_module._hold_out(0.95, targets, known, seed=3)


def test_targets_of_validation_are_found_by_name(graphs):
    made = graphs.with_column("graph", Column("a", "float", unit="eV"), HALF)
    made = made.with_column("graph", Column("b", "float"), 100 * graphs.sizes.astype(float))
    straight = regressor().fit(made, ["a", "b"], validation=(made, ["a", "b"]))
    swapped = regressor().fit(made, ["a", "b"], validation=(made, ["b", "a"]))
    assert errors(swapped) == errors(straight)
    assert swapped.score(made, ["b", "a"]) == straight.score(made, ["a", "b"])


# ---- ensembles


def test_ensembles_of_numbers(graphs, numbers):
    y = numbers[:, 0]
    three = regressor("supervised", n_models=3, random_state=5).fit(graphs, y)
    each = [regressor("supervised", random_state=5 + n).fit(graphs, y).predict(graphs) for n in range(3)]
    mean, std = three.predict(graphs, return_std=True)
    np.testing.assert_allclose(mean, np.mean(each, axis=0), rtol=1e-12)
    np.testing.assert_allclose(std, np.std(each, axis=0, ddof=1), rtol=1e-9)
    assert np.array_equal(three.predict(graphs), mean)
    assert [record["model"] for record in three.history_] == [1.0] * 3 + [2.0] * 3 + [3.0] * 3


def test_ensembles_of_classes(graphs, classes, tmp_path):
    model = InfoGraphClassifier("entropy", **QUICK, n_models=2).fit(graphs, classes)
    mean, std = model.predict_proba(graphs, return_std=True)
    np.testing.assert_allclose(mean.sum(axis=1), 1)
    assert np.array_equal(mean, model.predict_proba(graphs)) and std.max() > 0
    assert np.array_equal(model.predict(graphs), model.classes_[mean.argmax(axis=1)])
    loaded = infograph.load(model.save(tmp_path / "model"))
    for found, expected in zip(loaded.predict_proba(graphs, return_std=True), (mean, std), strict=True):
        assert np.array_equal(found, expected)


# ---- odd labels


def test_a_class_seen_once_is_warned_of(graphs):
    with pytest.warns(TargetWarning, match=r"1 of 2 classes have a single labelled graph \('b'\)") as caught:
        model = InfoGraphClassifier(**QUICK).fit(graphs, ["a"] * 9 + ["b"] + [None] * 30)
    assert len(caught) == 1 and model.predict_proba(graphs).shape == (40, 2)


@pytest.mark.parametrize("value", [0.0, -1e9])
def test_a_constant_target_is_what_is_predicted(graphs, value, tmp_path):
    with pytest.warns(TargetWarning, match="the same value in all labelled graphs") as caught:
        model = regressor().fit(graphs, np.where(np.arange(40) < 9, value, NAN))
    assert len(caught) == 1
    for found in (model, infograph.load(model.save(tmp_path / "model"))):
        assert np.array_equal(found.predict(graphs), np.full(40, value))
    y = np.column_stack([np.full(40, value), graphs.sizes])
    with pytest.warns(TargetWarning, match="'y_0' has the same value"):
        model = regressor().fit(graphs, y, validation=0.25)
    assert np.array_equal(model.predict(graphs)[:, 0], y[:, 0])
    assert len(np.unique(model.predict(graphs)[:, 1])) > 1 and np.isfinite(errors(model)).all()


@pytest.mark.parametrize("factor", [2.0**-60, 2.0**60])
def test_huge_and_tiny_targets_are_predicted_in_their_unit(graphs, factor):
    expected = regressor().fit(graphs, HALF, validation=Fraction(1, 4))
    model = regressor().fit(graphs, HALF * factor, validation=0.25)
    assert np.array_equal(model.predict(graphs), expected.predict(graphs) * factor)
    assert model.score(graphs, HALF * factor) == pytest.approx(expected.score(graphs, HALF))
    with pytest.warns(TargetWarning, match="the same value"):
        steady = regressor().fit(graphs, np.full(40, 0.1 * factor))
    np.testing.assert_allclose(steady.predict(graphs), 0.1 * factor, rtol=1e-15)
