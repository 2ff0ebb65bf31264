"""InfoGraphRegressor and InfoGraphClassifier: what they learn from, what they may not, and what they see."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch

import infograph
from infograph import (
    ENN,
    GIN,
    Auto,
    Column,
    InfoGraph,
    InfoGraphClassifier,
    InfoGraphRegressor,
    InfoGraphStar,
    Plateau,
    as_graphset,
    load_dataset,
)
from infograph.data import datasets
from infograph.data.datasets import entry_for
from infograph.data.qm9 import read_qm9
from infograph.data.targets import ClassTargets
from infograph.errors import InvalidParameter, InvalidTarget, TargetWarning, UnknownCategoryWarning
from infograph.estimators import members
from infograph.estimators.choosing import hold_out
from infograph.train.checkpoint import FILE
from tests.objectives.loops import toy_molecules

QUICK = {"dim": 12, "epochs": 3, "steps_per_epoch": 4, "batch_size": 6, "encoder": Auto(layers=2)}
SMILES = ["CCO", "c1ccccc1", "CC(=O)O", "CCN", "C", "CCCl", "O=C=O", "CC#N", "CCCC", "COC", "CNC", "OCCO"]
VALUES = [1.0, 2.0, None, 4.0, 5.0, None, 7.0, 8.0, None, 1.0, 2.0, 3.0]
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
        assert np.array_equal(a, b, equal_nan=True), name


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
        ("plain", "infograph*", 2 * numbers, None, "training labels"),  # the same once standardised
        ("plain", "infograph*", numbers, judged, "validation graphs was None, now it is 9"),
        ("judged", "infograph*", numbers, (graphs[:9], numbers[:9] + 1), "checksum of the validation labels"),
    ):
        model = regressor(objective)
        with pytest.raises(InvalidParameter, match=said):
            model.fit(graphs, y, validation=validation, checkpoint=tmp_path / folder, resume=True)


# ---- labels that are not there, and labels that are held out


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_targets_of_unlabelled_graphs_do_not_exist(objective, graphs, numbers, monkeypatch):
    """They are garbage to the loader: it would learn from them if anything looked at them."""
    model, loader = regressor(objective).fit(graphs, numbers), members.step_loader

    def with_garbage(source, targets, labelled, everyone, **rest):
        unlabelled = np.setdiff1d(np.arange(len(targets)), labelled)
        assert targets[unlabelled].isnan().all()
        targets = targets.clone()
        targets[unlabelled] = 1e6
        return loader(source, targets, labelled, everyone, **rest)

    monkeypatch.setattr(members, "step_loader", with_garbage)
    assert_same(model, regressor(objective).fit(graphs, numbers))


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
    model, changed = (
        regressor(objective, schedule=Plateau(patience=100), offset=None) for _ in range(2)
    )  # steady rate
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
    y, settings = numbers[:, 0], {"epochs": 6, "lr": 0.05, "schedule": "plateau"}
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
    model = InfoGraphClassifier("infograph*", **QUICK).fit(graphs, classes, validation=judged)
    wrong = np.mean(model.predict(judged[0]) != np.array(judged[1]))
    assert min(errors(model)) == pytest.approx(wrong)


def test_held_out_graphs_have_the_classes_in_proportion_and_leave_one_of_each():
    codes = np.array([0] * 12 + [1] * 6 + [2] * 2 + [-1] * 5)
    targets, known = ClassTargets("y", codes, ("a", "b", "c")), np.flatnonzero(codes >= 0)
    for share, expected in ((0.5, [6, 3, 1]), (0.85, [11, 5, 1])):
        chosen = hold_out(share, targets, known, seed=3)
        assert np.bincount(codes[chosen]).tolist() == expected
    with pytest.raises(InvalidTarget, match="too few to hold 19"):
        hold_out(0.95, targets, known, seed=3)


def test_targets_of_validation_are_found_by_name(graphs):
    made = graphs.with_column("graph", Column("a", "float", unit="eV"), HALF)
    made = made.with_column("graph", Column("b", "float"), 100 * graphs.sizes.astype(float))
    straight = regressor().fit(made, ["a", "b"], validation=(made, ["a", "b"]))
    swapped = regressor().fit(made, ["a", "b"], validation=(made, ["b", "a"]))
    assert errors(swapped) == errors(straight)
    assert swapped.score(made, ["b", "a"]) == straight.score(made, ["a", "b"])


def test_a_label_that_means_unlabelled(graphs):
    graphs = graphs[:30]
    y = np.where(np.arange(30) < 20, graphs.sizes, -999).astype(float)
    model = InfoGraphRegressor("infograph*", **QUICK, unlabelled=-999).fit(graphs, y)
    expected = InfoGraphRegressor("infograph*", **QUICK).fit(graphs, np.where(y == -999, np.nan, y))
    assert np.array_equal(model.predict(graphs), expected.predict(graphs))
    judged = InfoGraphRegressor("infograph*", **QUICK, unlabelled=-999).fit(graphs, y, validation=(graphs, y))
    assert judged.history_[0]["validation"] < 100
    codes = np.where(np.arange(30) < 20, np.arange(30) % 2, -1)
    assert InfoGraphClassifier("infograph*", **QUICK, unlabelled=-1).fit(graphs, codes).classes_.tolist() == [
        0,
        1,
    ]


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
        model = InfoGraphClassifier("infograph*", **QUICK).fit(graphs, ["a"] * 9 + ["b"] + [None] * 30)
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


# ---- the encoder


def test_auto_looks_at_what_the_graphs_have(graphs):
    quick = {key: value for key, value in QUICK.items() if key != "encoder"}

    def auto(graphs, y):
        built = InfoGraphRegressor("supervised", **{**quick, "epochs": 0}).fit(graphs, y).encoder_
        return type(built).__name__, built.layers

    assert auto(graphs[:8], np.arange(8)) == auto(SMILES, VALUES) == ("GIN", 4)
    assert auto(toy_molecules([4, 1, 6, 3]), np.arange(4)) == ("ENN", 3)
    lengths = [nx.path_graph(n) for n in range(2, 8)]
    for graph in lengths:
        nx.set_edge_attributes(graph, {edge: 0.5 + sum(edge) for edge in graph.edges}, "length")
    assert auto(as_graphset(lengths, edge=["length"]), np.arange(6)) == ("ENN", 3)
    weighted = as_graphset(lengths, weight="length")
    assert auto(weighted, np.arange(6)) == ("GIN", 4)
    with pytest.raises(InvalidParameter, match="'enn-s2s' has no use for the weight 'length'"):
        InfoGraphRegressor("infograph*", **{**QUICK, "encoder": "enn-s2s"}).fit(weighted, np.arange(6))


def test_large_graphs_with_positions():
    graphs = toy_molecules([300, 2, 300])
    columns = (replace(c, used=c.role != "position") for c in graphs.schema.node)  # as files have it
    graphs = replace(graphs, schema=graphs.schema.replace("node", columns))
    with pytest.warns(UserWarning, match="does not see the coordinates"):
        model = InfoGraphRegressor("infograph*", **QUICK).fit(graphs, [1.0, 2.0, 3.0])
    assert isinstance(model.encoder_, GIN)  # all pairs of 300 nodes are too many unless they are asked for
    asked = InfoGraphRegressor("supervised", **{**QUICK, "epochs": 1, "encoder": "enn-s2s"})
    asked.set_params(steps_per_epoch=1).fit(graphs, [1.0, 2.0, 3.0])
    assert np.isfinite(asked.predict(graphs)).all()


@pytest.mark.parametrize("folder", [False, True])
def test_init_from_an_unsupervised_model(graphs, folder, tmp_path):
    donor = InfoGraph(dim=10, epochs=1, batch_size=16, encoder=GIN(layers=2)).fit(graphs)
    start = donor.save(tmp_path / "donor") if folder else donor
    model = InfoGraphClassifier("supervised", **{**QUICK, "epochs": 0}, init_from=start).fit(graphs)
    assert model._encoder.dim == 10  # the donor's encoder, not this one's settings
    for name, tensor in donor._encoder.state_dict().items():
        assert torch.equal(tensor, model._encoder.state_dict()[name]), name
    before = donor.transform(graphs)
    assert np.array_equal(model.transform(graphs), before)
    trained = InfoGraphClassifier("infograph*", **QUICK, init_from=start).fit(graphs)
    assert not np.allclose(trained.transform(graphs), before)
    assert np.array_equal(donor.transform(graphs), before)  # which stays what it is
    loaded = infograph.load(trained.save(tmp_path / "trained"))
    assert np.array_equal(loaded.predict_proba(graphs), trained.predict_proba(graphs))
    other = InfoGraphRegressor("infograph*", **{**QUICK, "epochs": 0}, init_from=trained)  # of another task
    other.fit(graphs, graphs.sizes)
    assert np.array_equal(other.transform(graphs), trained.transform(graphs))


def test_an_element_that_no_training_molecule_had():
    model = InfoGraphRegressor("infograph*", **QUICK).fit(SMILES, VALUES)
    assert model.schema_.column("node", "element").categories == ("C", "N", "O", "Cl")
    strange = r"node column 'element': 'Si' \(1x\), 'Se' \(2x\)"
    with pytest.warns(UnknownCategoryWarning, match=strange) as caught:
        predicted = model.predict(["C[Si]C", "CO", "C[Se]C[Se]"])
    assert len(caught) == 1
    assert np.isfinite(predicted).all()
    wide = InfoGraphRegressor("vectors").fit(SMILES[5:], VALUES[5:])  # with the pre-trained encoder's inputs
    with pytest.warns(
        UnknownCategoryWarning, match="no labelled training molecule has the element Si, Se"
    ) as caught:
        wide.predict(["C[Si]C", "CO", "C[Se]C"])
    assert len(caught) == 1


def test_coordinates_of_networkx_graphs_are_seen_as_distances():
    rng = np.random.default_rng(0)
    graphs = [nx.path_graph(5) for _ in range(8)]
    for graph in graphs:
        nx.set_node_attributes(graph, {node: rng.normal(size=2).tolist() for node in graph}, "pos")
    model = InfoGraphRegressor("infograph*", **QUICK, node_columns=["pos"]).fit(graphs, np.arange(8.0))
    assert isinstance(model.encoder_, ENN)
    moved = [graph.copy() for graph in graphs]
    for graph in moved:
        for node in graph:
            graph.nodes[node]["pos"] = [graph.nodes[node]["pos"][1] + 3, graph.nodes[node]["pos"][0] - 1]
    assert np.allclose(model.predict(moved), model.predict(graphs), atol=1e-5)
    with pytest.raises(InvalidParameter, match="'pos' holds coordinates"):
        InfoGraph(dim=8, epochs=0, node_columns=["pos"], encoder=GIN(layers=2)).fit(graphs)


# ---- real data


def test_mutag_with_twenty_labels():
    """Better than the larger class alone, on graphs whose labels it has not seen."""
    mutag = load_dataset("MUTAG")
    rng = np.random.default_rng(0)
    hidden = ~np.isin(np.arange(len(mutag)), rng.permutation(len(mutag))[:20])
    y = np.where(mutag.values("graph", "y") == 1, "mutagenic", "harmless").astype(object)
    given = np.where(hidden, None, y)
    model = InfoGraphClassifier("infograph*", dim=32, epochs=4, steps_per_epoch=20).fit(mutag, given)
    accuracy = np.mean(model.predict(mutag[hidden]) == y[hidden])
    assert accuracy > np.mean(y[hidden] == "mutagenic")
    assert model.score(mutag, np.where(hidden, y, None)) == pytest.approx(accuracy)
    assert model.classes_.tolist() == ["harmless", "mutagenic"]


def test_qm9_in_its_unit():
    graphs = read_qm9(datasets.wheel_folder(entry_for("QM9")), limit=150)
    y = graphs.values("graph", "alpha").astype(float)
    hidden = np.where(np.arange(len(y)) % 3 == 0, y, np.nan)
    model = InfoGraphRegressor(
        "infograph*", **{**QUICK, "dim": 16, "lr": 3e-3, "epochs": 3, "steps_per_epoch": 15}
    )
    model.fit(graphs, hidden, validation=(graphs[1::3], y[1::3]))
    assert isinstance(model.encoder_, ENN)
    errors = [record["validation"] for record in model.history_]
    assert min(errors) == pytest.approx(np.abs(model.predict(graphs[1::3]) - y[1::3]).mean(), rel=1e-5)
    assert min(errors) < np.abs(y - np.nanmean(hidden)).mean()  # better than the mean of the labelled
