"""Networks that thaw, that see descriptors, whose weights are averaged; nested choices; progress."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import infograph
from infograph import GIN, InfoGraph, InfoGraphClassifier, InfoGraphRegressor, as_graphset
from infograph.cells import parameters_of
from infograph.data.fingerprints import descriptor_names, rdkit_descriptors
from infograph.errors import CheckpointMismatch, InvalidParameter, SchemaMismatch
from infograph.objectives.vectors import Vectors

RINGS = ("c1ccccc1", "c1ccncc1", "C1CCCCC1", "C1CCNCC1", "c1ccoc1", "C1CCOC1")
SMILES = [tail + ring for ring in RINGS for tail in ("", "C", "O", "N", "CO", "ClC")]
GRAPHS = as_graphset(SMILES)
Y = np.array([len(text) + text.count("c") / 2 for text in SMILES], float)
ONE = {"offset": None, "dim": 8, "steps_per_epoch": 1, "encoder": GIN(layers=2), "schedule": "plateau"}
NEW = ("n_splits", "averaging", "thaw_after", "descriptors")


def weights(model):
    return {name: value.clone() for name, value in model.models_[0].state_dict().items()}


def test_results_are_called_as_before_these_parameters():
    made = parameters_of(InfoGraphRegressor.paper())
    assert not any(name in made for name in NEW)
    assert parameters_of(InfoGraphRegressor.paper(averaging=0.9))["averaging"] == 0.9


# ---- averaged weights


def test_averaged_weights_are_the_mean_of_those_after_each_update():
    """With a decay of 0.9 the first ten updates count equally; training itself is as without."""
    after = [InfoGraphRegressor("supervised", epochs=n, **ONE).fit(GRAPHS, Y) for n in (1, 2, 3)]
    model = InfoGraphRegressor("supervised", epochs=3, averaging=0.9, **ONE).fit(GRAPHS, Y)
    for name, value in weights(model).items():
        if value.is_floating_point():
            expected = torch.stack([weights(each)[name] for each in after]).mean(0)
            assert torch.allclose(value, expected, atol=1e-6), name
    assert [r["loss"] for r in model.history_] == [r["loss"] for r in after[-1].history_]


def test_averaged_weights_are_validated_kept_and_resumed(tmp_path):
    settings = {"averaging": 0.5, **ONE, "epochs": 4, "steps_per_epoch": 3}
    whole = InfoGraphRegressor("infograph*", **settings).fit(GRAPHS, Y, validation=(GRAPHS, Y))
    error = np.abs(whole.predict(GRAPHS) - Y).mean()
    assert min(record["validation"] for record in whole.history_) == pytest.approx(error, rel=1e-5)
    half = InfoGraphRegressor("infograph*", **{**settings, "epochs": 2})
    half.fit(GRAPHS, Y, validation=(GRAPHS, Y), checkpoint=tmp_path)
    again = InfoGraphRegressor("infograph*", **settings)
    again.fit(GRAPHS, Y, validation=(GRAPHS, Y), checkpoint=tmp_path, resume=True)
    assert np.array_equal(again.predict(GRAPHS), whole.predict(GRAPHS))


def test_a_run_from_another_model_is_another_run(tmp_path):
    first, other = (InfoGraph(8, GIN(2), epochs=0, random_state=seed).fit(GRAPHS) for seed in (0, 1))
    settings = {"epochs": 1, "steps_per_epoch": 1, "offset": None}
    InfoGraphRegressor("supervised", init_from=first, **settings).fit(GRAPHS, Y, checkpoint=tmp_path)
    settings["epochs"] = 2
    going_on = InfoGraphRegressor("supervised", init_from=first, **settings)
    assert len(going_on.fit(GRAPHS, Y, checkpoint=tmp_path, resume=True).history_) == 2
    with pytest.raises(CheckpointMismatch, match="checksum of the weights of init_from was"):
        InfoGraphRegressor("supervised", init_from=other, **settings).fit(
            GRAPHS, Y, checkpoint=tmp_path, resume=True
        )


# ---- frozen, then thawed


@pytest.fixture(scope="module")
def donor():
    return infograph.InfoGraph(dim=8, epochs=1, encoder=GIN(layers=2)).fit(GRAPHS)


@pytest.mark.parametrize("objective", ["supervised", "infograph*", "mean-teacher"])
def test_a_frozen_encoder_stays_as_it_is_with_its_statistics(donor, objective, tmp_path):
    settings = {**ONE, "init_from": donor, "steps_per_epoch": 3}
    frozen = InfoGraphRegressor(objective, epochs=2, thaw_after=2, **settings).fit(GRAPHS, Y)
    for name, value in donor._encoder.state_dict().items():
        assert torch.equal(weights(frozen)[f"encoder.{name}"], value), name
    assert np.array_equal(frozen.transform(GRAPHS), donor.transform(GRAPHS))
    assert not torch.equal(weights(frozen)["head.0.weight"], _fresh_head(donor, objective))
    thawed = InfoGraphRegressor(objective, epochs=3, thaw_after=2, **settings)
    thawed.fit(GRAPHS, Y, checkpoint=tmp_path)
    assert not np.array_equal(thawed.transform(GRAPHS), donor.transform(GRAPHS))
    assert thawed.history_[:2] == [
        {**record, **{k: v for k, v in now.items() if "second" in k}}
        for record, now in zip(frozen.history_, thawed.history_, strict=False)
    ]


def _fresh_head(donor, objective):
    made = InfoGraphRegressor(objective, epochs=0, init_from=donor, **ONE).fit(GRAPHS, Y)
    return weights(made)["head.0.weight"]


def test_a_run_that_stops_while_frozen_goes_on_to_the_same_weights(donor, tmp_path):
    settings = {**ONE, "init_from": donor, "thaw_after": 2}
    InfoGraphRegressor("infograph*", epochs=1, **settings).fit(GRAPHS, Y, checkpoint=tmp_path)
    again = InfoGraphRegressor("infograph*", epochs=4, **settings)
    again.fit(GRAPHS, Y, checkpoint=tmp_path, resume=True)
    whole = InfoGraphRegressor("infograph*", epochs=4, **settings).fit(GRAPHS, Y)
    assert np.array_equal(again.predict(GRAPHS), whole.predict(GRAPHS))


@pytest.mark.parametrize("objective", ["auto", "supervised"])
def test_fresh_weights_are_not_frozen(objective):
    with pytest.raises(InvalidParameter, match="say with init_from where to start"):
        InfoGraphRegressor(objective, thaw_after=1, **ONE).fit(GRAPHS, Y)


# ---- descriptors


@pytest.mark.parametrize("n_models", [1, 2])
def test_the_head_sees_vectors_and_scaled_descriptors(n_models, tmp_path):
    labelled = np.where(np.arange(len(Y)) % 3, Y, np.nan)
    model = InfoGraphRegressor("infograph*", descriptors="rdkit", epochs=2, n_models=n_models, **ONE)
    model.fit(GRAPHS, labelled)
    found = rdkit_descriptors(GRAPHS, descriptor_names()).astype(float)
    found = np.sign(found) * np.log1p(np.abs(found))
    known = found[~np.isnan(labelled)]
    varies = known.std(axis=0) > 1e-6 * np.abs(known).max(axis=0)
    scaled = np.where(varies, (found - known.mean(axis=0)) / np.where(varies, known.std(axis=0), 1.0), 0.0)
    scaled = np.clip(scaled, -10, 10)
    rows = torch.from_numpy(np.hstack([model.transform(GRAPHS), scaled]).astype(np.float32))
    expected = model.models_[0].head(rows).detach().numpy()[:, 0] * model.scaler_.scale + model.scaler_.mean
    if n_models == 1:
        assert model.predict(GRAPHS) == pytest.approx(expected, abs=1e-3)
    model.save(tmp_path / "model")
    assert np.array_equal(infograph.load(tmp_path / "model").predict(GRAPHS), model.predict(GRAPHS))


def test_contributions_leave_descriptors_as_they_are():
    model = InfoGraphRegressor("supervised", descriptors="rdkit", epochs=2, **ONE).fit(GRAPHS, Y)
    molecule = GRAPHS[[7]]
    found = model.score_nodes(molecule)
    with torch.no_grad():
        network = model.models_[0]
        rows = network.beside(torch.from_numpy(_logs(molecule)))
        for node in range(3):
            rest = infograph.estimators.removal.without(molecule, np.array([node]))
            both = [torch.from_numpy(model.transform(each)) for each in (molecule, rest)]
            one, two = (float(network.head(torch.cat([vector, rows], 1))) for vector in both)
            assert found[node] == pytest.approx((one - two) * model.scaler_.scale[0], abs=1e-3)


def _logs(graphs):
    found = rdkit_descriptors(graphs, descriptor_names())
    return np.sign(found) * np.log1p(np.abs(found))


def test_classes_take_descriptors_and_other_graphs_have_none():
    large = np.where(np.median(Y) < Y, "large", "small").tolist()
    model = InfoGraphClassifier("pi-model", descriptors="rdkit", epochs=3, **ONE).fit(GRAPHS, large)
    assert model.predict_proba(GRAPHS).sum(axis=1) == pytest.approx(1.0)
    rings = [(np.array([[n, (n + 1) % size] for n in range(size)]).T, size) for size in range(3, 13)]
    with pytest.raises(SchemaMismatch, match="fingerprints and descriptors need SMILES"):
        InfoGraphRegressor("supervised", descriptors="rdkit", **ONE).fit(rings, np.arange(10.0))


# ---- choices


def test_a_nested_choice_is_by_the_mean_over_draws(tmp_path):
    settings = {**ONE, "epochs": 1}
    model = InfoGraphRegressor(n_splits=2, **settings).fit(GRAPHS, Y)
    each = [InfoGraphRegressor(random_state=seed, **settings).fit(GRAPHS, Y).errors_ for seed in (0, 1)]
    for name, error in model.errors_.items():
        assert error == pytest.approx(np.mean([errors[name] for errors in each]), rel=1e-6)
    alone = InfoGraphRegressor("vectors", **settings).fit(GRAPHS, Y)
    assert np.array_equal(model.predict(GRAPHS), alone.predict(GRAPHS))
    small, large = (f"{model.errors_[name]:.3g}" for name in ("vectors", "infograph*"))
    assert model.choice_.startswith(f"Chosen: vectors, whose error on graphs that were held out is {small} ")
    assert f"against {large} of infograph*, in the mean of 2 splits;" in model.choice_
    model.save(tmp_path / "model")
    assert infograph.load(tmp_path / "model").choice_ == model.choice_
    assert alone.choice_ == ""
    with pytest.raises(InvalidParameter, match="n_splits=2 keeps no checkpoint"):
        InfoGraphRegressor(n_splits=2, **settings).fit(GRAPHS, Y, checkpoint=tmp_path / "kept")


def test_validation_graphs_have_no_part_in_a_nested_choice():
    settings, validation = {**ONE, "epochs": 1}, (GRAPHS[30:], Y[30:])
    model = InfoGraphRegressor(n_splits=2, **settings).fit(GRAPHS[:30], Y[:30], validation=validation)
    blind = InfoGraphRegressor(n_splits=2, **settings).fit(GRAPHS[:30], Y[:30])
    assert model.errors_ == blind.errors_


# ---- progress


def test_heads_say_how_far_they_are():
    heard = []
    InfoGraphRegressor(Vectors("vectors+descriptors")).fit(GRAPHS, Y, watchers=[heard.append])
    assert [(now.what, now.step, now.steps) for now in heard] == [
        ("descriptors", 36, 36),
        *(("heads", number, 4) for number in range(1, 5)),
    ]
    assert all(now.shown["seconds"] >= 0 for now in heard)
