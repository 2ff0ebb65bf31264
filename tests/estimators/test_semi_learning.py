"""What InfoGraphRegressor and InfoGraphClassifier learn from, and what they may not."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import infograph
from infograph import Auto, InfoGraphClassifier, InfoGraphRegressor, InfoGraphStar, Plateau, load_dataset
from infograph.errors import InvalidParameter
from infograph.train.checkpoint import FILE

QUICK = {"dim": 12, "epochs": 3, "steps_per_epoch": 4, "batch_size": 6, "encoder": Auto(layers=2)}
OBJECTIVES = ["supervised", "infograph", "infograph*", "mean-teacher", "pi-model", "vat"]
NAN = np.nan


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


def weights(model) -> dict[str, np.ndarray]:
    return {**model._state(), "scaler": np.array([model.scaler_.mean, model.scaler_.scale])}


def assert_same(one, other) -> None:
    for (name, a), b in zip(weights(one).items(), weights(other).values(), strict=True):
        assert np.array_equal(a, b), name


def figures(model) -> list[dict[str, float]]:
    return [{k: v for k, v in record.items() if "second" not in k} for record in model.history_]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_resumed_run_ends_with_the_same_bits(objective, graphs, numbers, tmp_path):
    """Best weights, learning rate and moving average included."""
    settings = {**QUICK, "epochs": 5, "schedule": Plateau(0.5, patience=0), "lr": 0.02, "random_state": 3}
    made = InfoGraphRegressor(objective, **settings)
    straight = made.fit(graphs, numbers, validation=0.25)

    class Stop(BaseException):
        pass

    def stop(standing):
        if standing.epoch == 4 and standing.step == 2:
            raise Stop

    twin = InfoGraphRegressor(objective, **settings)
    with pytest.raises(Stop):
        twin.fit(graphs, numbers, validation=0.25, checkpoint=tmp_path, watchers=[stop])
    assert not hasattr(twin, "schema_")  # what was interrupted is not fitted
    resumed = InfoGraphRegressor(objective, **settings)
    resumed.fit(graphs, numbers, validation=0.25, checkpoint=tmp_path, resume=True)
    assert_same(straight, resumed)
    assert figures(straight) == figures(resumed)
    assert np.array_equal(straight.predict(graphs), resumed.predict(graphs))
    assert len({record["lr"] for record in straight.history_}) > 1  # the schedule had something to do


def test_an_ensemble_is_resumed_network_by_network(graphs, numbers, tmp_path):
    made = InfoGraphRegressor("infograph*", **QUICK, n_models=3)
    straight = made.fit(graphs, numbers)

    def stop(standing, seen=[]):  # noqa: B006 - counts over calls
        seen.append(standing)
        if len(seen) == 18:  # in the second epoch of the second network
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        InfoGraphRegressor(**QUICK, n_models=3).fit(graphs, numbers, checkpoint=tmp_path, watchers=[stop])
    assert sorted(path.parent.name for path in tmp_path.rglob(FILE)) == ["model-1", "model-2"]
    resumed = InfoGraphRegressor(**QUICK, n_models=3).fit(graphs, numbers, checkpoint=tmp_path, resume=True)
    assert_same(straight, resumed)


def test_a_checkpoint_of_another_run_is_refused(graphs, numbers, tmp_path):
    InfoGraphRegressor(**QUICK).fit(graphs, numbers, checkpoint=tmp_path)
    for settings, y, validation, said in (
        ({"objective": InfoGraphStar(lam=0.5)}, numbers, None, r"objective was"),
        ({"objective": "vat"}, numbers, None, "objective was 'infograph"),
        ({}, numbers * 2 + np.arange(40)[:, None], None, "checksum of the labels"),
        ({}, numbers, (graphs[:9], numbers[:9]), "validation graphs was 0, now it is 9"),
    ):
        model = InfoGraphRegressor(**{**QUICK, **settings})
        with pytest.raises(InvalidParameter, match=said):
            model.fit(graphs, y, validation=validation, checkpoint=tmp_path, resume=True)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_targets_of_unlabelled_graphs_do_not_exist(objective, graphs, numbers):
    """They are garbage to the feed: it would learn from them if anything looked at them."""
    from infograph.estimators import labelled as labelled_module

    model = InfoGraphRegressor(objective, **QUICK).fit(graphs, numbers)
    original = labelled_module.StepFeed

    def with_garbage(source, targets, labelled, *rest):
        targets = targets.clone()
        unlabelled = np.setdiff1d(np.arange(len(targets)), labelled)
        assert targets[unlabelled].isnan().all()
        targets[unlabelled] = 1e6
        return original(source, targets, labelled, *rest)

    labelled_module.StepFeed = with_garbage
    try:
        other = InfoGraphRegressor(objective, **QUICK).fit(graphs, numbers)
    finally:
        labelled_module.StepFeed = original
    assert_same(model, other)


def test_scaling_is_by_the_labelled_training_graphs_alone(graphs, numbers):
    y = numbers[:, 0]
    model = InfoGraphRegressor(**QUICK).fit(graphs, y)
    assert model.scaler_.mean == pytest.approx((np.nanmean(y),))
    assert model.scaler_.scale == pytest.approx((np.nanstd(y),))
    given = InfoGraphRegressor(**QUICK).fit(graphs[:20], y[:20], validation=(graphs[20:24], 1000 * y[20:24]))
    assert given.scaler_.mean == pytest.approx((np.nanmean(y[:20]),))


def held_out(graphs, y, settings) -> np.ndarray:
    """The labelled graphs that are not learned from: their labels can change and the scale does not."""
    scale = InfoGraphRegressor(**settings).fit(graphs, y, validation=0.25).scaler_
    found = []
    for graph in np.flatnonzero(~np.isnan(y)):
        other = y.copy()
        other[graph] += 50
        if InfoGraphRegressor(**settings).fit(graphs, other, validation=0.25).scaler_ == scale:
            found.append(graph)
    return np.array(found)


@pytest.mark.parametrize("objective", ["supervised", "infograph*"])
def test_held_out_labels_choose_the_epoch_and_nothing_else(objective, graphs, numbers):
    y = numbers[:, 0]
    chosen = held_out(graphs, y, {**QUICK, "objective": "supervised", "epochs": 0})
    assert len(chosen) == round(0.25 * np.sum(~np.isnan(y)))  # drawn from the labelled only
    settings = {
        **QUICK,
        "objective": objective,
        "schedule": Plateau(patience=100),
    }  # so that the rate does not depend on them
    model = InfoGraphRegressor(**settings).fit(graphs, y, validation=0.25)
    other = y.copy()
    other[chosen] += 500
    changed = InfoGraphRegressor(**settings).fit(graphs, other, validation=0.25)
    without = [{k: v for k, v in record.items() if k != "validation"} for record in figures(model)]
    assert without == [{k: v for k, v in record.items() if k != "validation"} for record in figures(changed)]
    errors = np.array([[record["validation"] for record in m.history_] for m in (model, changed)])
    assert (errors[0] != errors[1]).all()
    assert model.scaler_.mean[0] == pytest.approx(np.nanmean(np.delete(y, chosen)))


@pytest.mark.parametrize("objective", ["infograph*", "mean-teacher"])
def test_the_weights_of_the_best_epoch_are_kept(objective, graphs, numbers):
    y, settings = numbers[:, 0], {**QUICK, "epochs": 6, "lr": 0.05}
    train, judged = graphs[:18], (graphs[18:24], y[18:24])
    model = InfoGraphRegressor(objective, **settings).fit(train, y[:18], validation=judged)
    errors = [record["validation"] for record in model.history_]
    best = int(np.argmin(errors))
    assert best < 5, "the last epoch is no test"
    found = np.abs(model.predict(judged[0]) - judged[1]).mean()
    assert found == pytest.approx(errors[best], rel=1e-6)
    shorter = InfoGraphRegressor(objective, **{**settings, "epochs": best + 1})
    shorter.fit(train, y[:18], validation=judged)
    assert_same(model, shorter)


def test_without_validation_the_last_epoch_is_kept(graphs, numbers):
    seen = []
    model = InfoGraphRegressor("supervised", **QUICK).fit(graphs, numbers, watchers=[seen.append])
    assert all("validation" not in record for record in model.history_)
    assert len(model.history_) == 3
    longer = InfoGraphRegressor("supervised", **{**QUICK, "epochs": 2}).fit(graphs, numbers)
    assert not np.array_equal(model.predict(graphs), longer.predict(graphs))


def test_training_ends_early_and_the_rate_falls(graphs, numbers):
    settings = {**QUICK, "epochs": 60, "lr": 0.05, "early_stopping": 3, "schedule": Plateau(0.5, patience=1)}
    model = InfoGraphRegressor("supervised", **settings).fit(graphs, numbers[:, 0], validation=0.3)
    errors = [record["validation"] for record in model.history_]
    assert len(errors) < 60
    assert len(errors) - 1 - int(np.argmin(errors)) == 3
    rates = [record["lr"] for record in model.history_]
    assert rates[0] == 0.05
    assert rates == sorted(rates, reverse=True)


def test_validation_figures_of_several_targets(graphs, numbers):
    judged = (graphs[9:24], numbers[9:24])
    model = InfoGraphRegressor("supervised", **QUICK).fit(graphs, numbers, validation=judged)
    best = min(model.history_, key=lambda record: record["validation"])
    wrong = np.abs(model.predict(judged[0]) - judged[1]).mean(axis=0)
    assert [best["validation y_0"], best["validation y_1"]] == pytest.approx(wrong.tolist(), rel=1e-6)
    assert best["validation"] == pytest.approx(np.mean(wrong / model.scaler_.scale), rel=1e-6)


def test_a_share_may_leave_a_target_unjudged_but_not_unlearned(graphs, numbers):
    y = numbers.copy()
    y[8:, 1] = NAN  # two labels of the second target are left: graphs 6 and 7
    seen = set()
    for seed in range(40):
        model = InfoGraphRegressor("supervised", **{**QUICK, "epochs": 1}, random_state=seed)
        try:
            record = model.fit(graphs, y, validation=0.3).history_[0]
        except InvalidParameter as error:
            assert "'y_1' has no label left to learn from" in str(error)
            seen.add("refused")
            continue
        assert np.isfinite(record["validation"])
        seen.add("judged" if "validation y_1" in record else "unjudged")
        assert np.isfinite(model.predict(graphs)).all()
    assert seen == {"refused", "judged", "unjudged"}


def test_validation_of_classes_is_the_share_of_mistakes(graphs, classes):
    judged = (graphs[20:30], ["large" if size > 17 else "small" for size in graphs.sizes[20:30]])
    model = InfoGraphClassifier(**QUICK).fit(graphs, classes, validation=judged)
    wrong = np.mean(model.predict(judged[0]) != np.array(judged[1]))
    assert min(record["validation"] for record in model.history_) == pytest.approx(wrong)


def test_seeds_of_an_ensemble(graphs, numbers):
    y = numbers[:, 0]
    three = InfoGraphRegressor("supervised", **QUICK, n_models=3, random_state=5).fit(graphs, y)
    singles = [
        InfoGraphRegressor("supervised", **QUICK, random_state=5 + member).fit(graphs, y)
        for member in range(3)
    ]
    each = np.array([model.predict(graphs) for model in singles])
    mean, std = three.predict(graphs, return_std=True)
    np.testing.assert_allclose(mean, each.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(std, each.std(axis=0, ddof=1), rtol=1e-9)
    assert np.array_equal(three.predict(graphs), mean)
    assert [record["model"] for record in three.history_] == [1.0] * 3 + [2.0] * 3 + [3.0] * 3


def test_probabilities_of_an_ensemble(graphs, classes, tmp_path):
    model = InfoGraphClassifier("entropy", **QUICK, n_models=2).fit(graphs, classes)
    mean, std = model.predict_proba(graphs, return_std=True)
    np.testing.assert_allclose(mean.sum(axis=1), 1)
    assert np.array_equal(mean, model.predict_proba(graphs))
    assert std.max() > 0
    assert np.array_equal(model.predict(graphs), model.classes_[mean.argmax(axis=1)])
    loaded = infograph.load(model.save(tmp_path / "model"))
    for found, expected in zip(loaded.predict_proba(graphs, return_std=True), (mean, std), strict=True):
        assert np.array_equal(found, expected)


def test_training_leaves_the_global_random_state_alone(graphs, numbers):
    torch.manual_seed(123)
    expected = torch.rand(3)
    torch.manual_seed(123)
    InfoGraphRegressor("pi-model", **QUICK).fit(graphs, numbers)
    torch.testing.assert_close(torch.rand(3), expected)


def test_a_failed_fit_leaves_the_fitted_model_as_it_was(graphs, numbers):
    model = InfoGraphRegressor(**QUICK).fit(graphs, numbers)
    before = model.predict(graphs)

    def interrupt(standing):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit(graphs, numbers[:, 0] * 7, watchers=[interrupt])
    assert np.array_equal(model.predict(graphs), before)
