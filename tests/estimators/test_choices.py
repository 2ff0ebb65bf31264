"""Estimators that choose, heads of vectors inside them, probabilities, sets and weights of classes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from rdkit import Chem
from rdkit.Chem import Descriptors
from sklearn.metrics import log_loss
from sklearn.utils.class_weight import compute_class_weight
from torch.nn.functional import cross_entropy

import infograph
from infograph import GIN, InfoGraph, InfoGraphClassifier, InfoGraphRegressor, as_graphset
from infograph.errors import InvalidParameter, InvalidTarget
from infograph.estimators import choosing
from infograph.objectives.objective import Classification, Tasks
from infograph.objectives.vectors import Vectors
from infograph.progress import AREA

RINGS = ("c1ccccc1", "c1ccncc1", "C1CCCCC1", "C1CCNCC1", "c1ccoc1", "C1CCOC1")
TAILS = ("", "C", "O", "N", "CO", "OC(=O)", "N#CC", "ClC", "CC(C)C", "F", "CCN", "OC")
SMILES = [tail + ring for ring in RINGS for tail in TAILS]
WEIGHT = np.array([Descriptors.MolWt(Chem.MolFromSmiles(text)) for text in SMILES])
HEAVY = np.where(np.quantile(WEIGHT, 0.7) < WEIGHT, "heavy", "light").astype(object)
QUICK = {"offset": None, "epochs": 1, "dim": 8, "steps_per_epoch": 3, "encoder": GIN(layers=2)}
RIDGE = Vectors("vectors", "ridge")


@pytest.fixture(scope="module")
def graphs():
    return as_graphset(SMILES)


def test_auto_is_the_candidate_with_the_least_error_on_held_out_graphs(graphs, tmp_path):
    model = InfoGraphRegressor(**QUICK).fit(graphs, WEIGHT)
    assert model.chosen_ == "vectors" == min(model.errors_, key=model.errors_.get)
    assert {*model.errors_} == {"vectors", "infograph*"} and len(model.heads_) > 5
    alone = InfoGraphRegressor("vectors", **QUICK).fit(graphs, WEIGHT)  # all labels, once it is chosen
    assert np.array_equal(model.predict(graphs), alone.predict(graphs))
    model.save(tmp_path / "model")
    again = infograph.load(tmp_path / "model")
    assert np.array_equal(again.predict(graphs), model.predict(graphs))
    assert (again.errors_, again.heads_, again.inputs_) == (model.errors_, model.heads_, model.inputs_)
    for one, other in zip(
        again.predict(graphs, interval=0.8), model.predict(graphs, interval=0.8), strict=True
    ):
        assert one == pytest.approx(other, rel=1e-5)
    judged = InfoGraphRegressor(**QUICK).fit(graphs[:60], WEIGHT[:60], validation=(graphs[60:], WEIGHT[60:]))
    expected = np.abs(judged.predict(graphs[60:]) - WEIGHT[60:]).mean()
    assert judged.errors_["vectors"] == pytest.approx(expected, rel=1e-5)
    again = InfoGraphRegressor("infograph*", **QUICK).fit(graphs, WEIGHT)
    assert (again.chosen_, again.inputs_, again.errors_) == ("", "", {})


def test_auto_starts_from_a_model_that_is_an_object(graphs):
    start = InfoGraph(8, GIN(layers=2), epochs=1).fit(graphs)
    model = InfoGraphRegressor(init_from=start, **QUICK).fit(graphs, WEIGHT)
    alone = InfoGraphRegressor(model.chosen_, init_from=start, **QUICK).fit(graphs, WEIGHT)
    assert model._encoder.dim == 8 and np.array_equal(model.predict(graphs), alone.predict(graphs))


def test_what_can_be_read_once_is_enough(graphs):
    model, expected = (InfoGraphRegressor(RIDGE).fit(each, WEIGHT) for each in (iter(SMILES), SMILES))
    assert np.array_equal(model.predict(SMILES), expected.predict(SMILES))
    frame = model.set_output(transform="pandas").transform(iter(SMILES))
    assert frame.index.tolist() == list(range(len(SMILES)))


def test_the_error_of_a_choice_is_the_mean_over_networks():
    records = [(1.0, 0.5), (1.0, 0.3), (1.0, 0.4), (2.0, 0.9), (2.0, 0.7)]
    history = [{"model": model, "validation": error} for model, error in records]
    assert choosing._error(history) == pytest.approx(0.5)
    assert choosing._error([{**record, AREA: 0.6} for record in history]) == pytest.approx(0.4)
    assert choosing._error([]) == np.inf  # of epochs=0


def test_graphs_that_are_no_molecules_are_fitted_without_labels():
    rings = [(np.array([[n, (n + 1) % size] for n in range(size)]).T, size) for size in range(3, 33)]
    sizes = np.arange(3.0, 33.0)
    model = InfoGraphRegressor(RIDGE, **{**QUICK, "encoder": GIN(layers=1)}).fit(rings, sizes)
    assert model.inputs_ == "vectors" and model._encoder.dim == 512
    assert np.corrcoef(model.predict(rings), sizes)[0, 1] > 0.99


def test_salts_are_read_as_in_the_training(tmp_path):
    path = tmp_path / "salts.csv"
    path.write_text("\n".join(["smiles,y", *(f"{text}.Cl,{n}" for n, text in enumerate(SMILES[:12]))]))
    stripped = infograph.read_graphs(path, salts="strip")
    model = InfoGraphRegressor(RIDGE).fit(stripped, "y")
    assert model.schema_.option("salts") == "strip"
    assert model.predict([f"{SMILES[0]}.Cl"]) == pytest.approx(model.predict(stripped)[:1])


def test_an_ensemble_of_heads_sees_different_labels(graphs):
    model = InfoGraphRegressor(RIDGE, n_models=3).fit(graphs, WEIGHT)
    mean, spread = model.predict(graphs, return_std=True)
    assert (spread > 0).all() and np.abs(mean - WEIGHT).mean() < 10
    first = InfoGraphRegressor(RIDGE).fit(graphs, WEIGHT)
    assert not np.array_equal(first.predict(graphs), mean)


# ---- classes


@pytest.mark.parametrize("objective", [RIDGE, "supervised"])
def test_sets_of_classes_cover_as_often_as_asked(objective, graphs):
    held_out = (graphs[48:], HEAVY[48:]) if objective == "supervised" else None
    model = InfoGraphClassifier(objective, **QUICK).fit(graphs[:48], HEAVY[:48], validation=held_out)
    if held_out:
        own = model.predict_proba(graphs[48:])[np.arange(24), np.where(HEAVY[48:] == "heavy", 0, 1)]
        assert np.sort(1 - own) == pytest.approx(model.surprise_)
    for level in (0.5, 0.8):
        scores = model.surprise_
        least = 1 - np.sort(scores)[int(np.ceil(level * (len(scores) + 1))) - 1]
        sets = model.predict_set(graphs, level)
        assert np.array_equal(sets, model.predict_proba(graphs) >= least)
    assert model.predict_set(graphs, 0.5).sum() <= model.predict_set(graphs, 0.9).sum()
    with pytest.raises(InvalidParameter, match=r"coverage=0.99 needs the errors of at least 99 graphs"):
        model.predict_set(graphs, 0.99)
    with pytest.raises(InvalidParameter, match="not known"):
        InfoGraphClassifier("supervised", **QUICK).fit(graphs, HEAVY).predict_set(graphs)


def test_probabilities_of_networks_are_cooled_by_validation_graphs(graphs):
    settings = {**QUICK, "epochs": 5, "lr": 0.05, "steps_per_epoch": 30}
    noise = np.random.default_rng(0).permutation(HEAVY)  # nothing to learn: certain means wrong
    model = InfoGraphClassifier("supervised", **settings).fit(
        graphs[:48], noise[:48], validation=(graphs[48:], noise[48:])
    )
    after = log_loss(noise[48:], model.predict_proba(graphs[48:]), labels=["heavy", "light"])
    temperature, model.temperature_ = model.temperature_, 1.0
    assert temperature > 1 and after < log_loss(
        noise[48:], model.predict_proba(graphs[48:]), labels=["heavy", "light"]
    )


def test_weights_of_classes(graphs, tmp_path):
    outputs, codes = torch.randn(20, 2), torch.tensor([0] * 15 + [1] * 5)
    balanced = compute_class_weight("balanced", classes=np.array([0, 1]), y=codes.numpy())
    wanted = cross_entropy(outputs, codes, torch.from_numpy(balanced).float())
    assert Classification(2, tuple(balanced)).loss(outputs, codes) == pytest.approx(wanted.item())
    plain = InfoGraphClassifier(RIDGE).fit(graphs, HEAVY)
    even = InfoGraphClassifier(RIDGE, class_weight="balanced").fit(graphs, HEAVY)
    logits = [np.log(model.predict_proba(graphs)) @ [1, -1] for model in (plain, even)]
    share = np.mean(HEAVY == "light") / np.mean(HEAVY == "heavy")
    assert logits[1] - logits[0] == pytest.approx(np.log(share), abs=1e-4)
    given = InfoGraphClassifier(RIDGE, class_weight={"heavy": share}).fit(graphs, HEAVY)
    assert given.predict_proba(graphs) == pytest.approx(even.predict_proba(graphs), abs=1e-5)
    for weights, said in (({"blue": 2.0}, "class_weight names 'blue'"), ({"heavy": 0.0}, "above 0")):
        with pytest.raises(InvalidParameter, match=said):
            InfoGraphClassifier(RIDGE, class_weight=weights).fit(graphs, HEAVY)
    with pytest.raises(InvalidParameter, match="is for classes"):
        InfoGraphRegressor(RIDGE, class_weight="balanced").fit(graphs, WEIGHT)
    codes = np.where(HEAVY == "heavy", 7, 3)
    numbers = InfoGraphClassifier(RIDGE, class_weight={7: share}).fit(graphs, codes)
    again = infograph.load(numbers.save(tmp_path / "model"))  # JSON has texts for keys
    assert again.class_weight == {7: share}
    assert again.fit(graphs, codes).predict_proba(graphs) == pytest.approx(numbers.predict_proba(graphs))


@pytest.mark.parametrize("objective", [RIDGE, "supervised", "infograph*", "mean-teacher", "vat"])
def test_several_columns_of_classes_with_gaps(objective, graphs, tmp_path):
    nitrogen = np.array([float("N" in text or "n" in text) for text in SMILES])
    table = np.column_stack([nitrogen, (WEIGHT > 100).astype(float), np.zeros(len(SMILES))])
    table[::5, 0] = table[3::7, 1] = table[1::2, 2] = np.nan
    with pytest.warns(infograph.errors.TargetWarning, match="no two classes"):
        model = InfoGraphClassifier(objective, **QUICK).fit(graphs, table, validation=(graphs, table))
    shares = model.predict_proba(graphs)
    assert shares.shape == (72, 3) and np.array_equal(model.predict(graphs), (shares >= 0.5).astype(float))
    known = ~np.isnan(table)
    assert model.score(graphs, table) == pytest.approx(np.mean((model.predict(graphs) == table)[known]))
    if objective is RIDGE:
        assert model.score(graphs, table) > 0.9
    model.save(tmp_path / "model")
    assert np.array_equal(infograph.load(tmp_path / "model").predict_proba(graphs), shares)
    with pytest.raises(InvalidTarget, match="the class 2 is not among those of the training"):
        model.score(graphs, np.where(known, 2.0, np.nan))


def test_a_network_is_chosen_by_mistakes_where_no_column_has_both_classes(graphs):
    table = np.column_stack([WEIGHT > 100, WEIGHT > 120]).astype(float)
    judged = table[60:] * 0.0
    judged[::3, 1] = np.nan
    model = InfoGraphClassifier("supervised", **{**QUICK, "epochs": 6, "lr": 0.05})
    model.fit(graphs[:60], table[:60], validation=(graphs[60:], judged))
    wrong = (model.predict(graphs[60:]) != judged)[~np.isnan(judged)].mean()
    assert min(record["validation"] for record in model.history_) == pytest.approx(wrong)


def test_the_loss_of_several_columns_skips_gaps_and_weighs():
    outputs = torch.tensor([[0.3, -1.0], [2.0, 0.5]], requires_grad=True)
    targets = torch.tensor([[1.0, float("nan")], [0.0, 1.0]])
    each = [
        -np.log(1 / (1 + np.exp(-0.3))),
        -np.log(1 - 1 / (1 + np.exp(-2.0))),
        -np.log(1 / (1 + np.exp(-0.5))),
    ]
    assert Tasks(2).loss(outputs, targets).item() == pytest.approx(np.mean(each), rel=1e-5)
    weighed = [3 * each[0], each[1], 5 * each[2]]
    loss = Tasks(2, (3.0, 5.0)).loss(outputs, targets)
    assert loss.item() == pytest.approx(np.mean(weighed), rel=1e-5)
    loss.backward()
    assert outputs.grad[0, 1] == 0 and torch.isfinite(outputs.grad).all()
