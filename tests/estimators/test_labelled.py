"""InfoGraphRegressor and InfoGraphClassifier as their users meet them."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.model_selection import GridSearchCV

import infograph
from infograph import (
    ENN,
    GIN,
    Auto,
    InfoGraph,
    InfoGraphClassifier,
    InfoGraphRegressor,
    as_graphset,
    load_dataset,
)
from infograph.data import datasets
from infograph.data.datasets import entry_for
from infograph.data.qm9 import read_qm9
from infograph.errors import InvalidParameter, UnknownCategoryWarning
from tests.objectives.loops import toy_molecules

QUICK = {"dim": 12, "epochs": 2, "steps_per_epoch": 3, "batch_size": 6, "encoder": Auto(layers=2)}
SMILES = ["CCO", "c1ccccc1", "CC(=O)O", "CCN", "C", "CCCl", "O=C=O", "CC#N", "CCCC", "COC", "CNC", "OCCO"]
VALUES = [1.0, 2.0, None, 4.0, 5.0, None, 7.0, 8.0, None, 1.0, 2.0, 3.0]


@pytest.fixture(scope="module")
def mutag():
    return load_dataset("MUTAG")


@pytest.fixture(scope="module")
def molecules():
    return toy_molecules([4, 1, 6, 3, 5, 2, 9, 7])


# ---- the encoder


def test_auto_looks_at_what_the_graphs_have(mutag, molecules):
    quick = {key: value for key, value in QUICK.items() if key != "encoder"}

    def auto(graphs, y):
        built = InfoGraphRegressor("supervised", **{**quick, "epochs": 0}).fit(graphs, y).encoder_
        return type(built).__name__, built.layers

    assert auto(mutag[:8], np.arange(8)) == ("GIN", 4)
    assert auto(SMILES, VALUES) == ("GIN", 4)
    assert auto(molecules, np.arange(8)) == ("ENN", 3)
    lengths = [nx.path_graph(n) for n in range(2, 8)]
    for graph in lengths:
        nx.set_edge_attributes(graph, {edge: 0.5 + sum(edge) for edge in graph.edges}, "length")
    assert auto(as_graphset(lengths, edge=["length"]), np.arange(6)) == ("ENN", 3)
    weighted = as_graphset(lengths, weight="length")
    assert auto(weighted, np.arange(6)) == ("GIN", 4)
    with pytest.raises(InvalidParameter, match="'enn-s2s' has no use for the weight 'length'"):
        InfoGraphRegressor(**{**QUICK, "encoder": "enn-s2s"}).fit(weighted, np.arange(6))


def test_molecules_of_very_different_sizes(tmp_path):
    graphs = toy_molecules([1, 2, 60, 1, 5, 30, 3])
    y = graphs.sizes.astype(float)
    model = InfoGraphRegressor(**QUICK).fit(graphs, y)
    assert isinstance(model.encoder_, ENN)
    together = model.predict(graphs)
    alone = np.concatenate([model.predict(graphs[graph]) for graph in range(7)])
    np.testing.assert_allclose(alone, together, rtol=1e-4)
    assert np.array_equal(infograph.load(model.save(tmp_path / "m")).predict(graphs), together)


def test_large_graphs_with_positions():
    graphs = toy_molecules([300, 2, 300])
    columns = (replace(c, used=c.role != "position") for c in graphs.schema.node)  # as files have it
    graphs = replace(graphs, schema=graphs.schema.replace("node", columns))
    with pytest.warns(UserWarning, match="does not see the coordinates"):
        model = InfoGraphRegressor(**QUICK).fit(graphs, [1.0, 2.0, 3.0])
    assert isinstance(model.encoder_, GIN)  # all pairs of 300 nodes are too many unless they are asked for
    asked = InfoGraphRegressor("supervised", **{**QUICK, "epochs": 1, "encoder": "enn-s2s"})
    asked.set_params(steps_per_epoch=1).fit(graphs, [1.0, 2.0, 3.0])
    assert np.isfinite(asked.predict(graphs)).all()


def test_positions_matter_and_turning_does_not(molecules):
    model = InfoGraphRegressor(**QUICK).fit(molecules, np.arange(8))
    expected = model.predict(molecules)
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    place = molecules.node["position"]
    turned = replace(molecules, node={**molecules.node, "position": (place @ turn + 5).astype(place.dtype)})
    np.testing.assert_allclose(model.predict(turned), expected, rtol=1e-3)
    stretched = replace(molecules, node={**molecules.node, "position": place * 1.5})
    assert np.abs(model.predict(stretched) - expected).max() > 1e-3


# ---- the same call everywhere


def test_mutag_with_twenty_labels(mutag):
    """Better than the larger class alone, on graphs whose labels it has not seen."""
    rng = np.random.default_rng(0)
    hidden = ~np.isin(np.arange(len(mutag)), rng.permutation(len(mutag))[:20])
    y = np.where(mutag.values("graph", "y") == 1, "mutagenic", "harmless").astype(object)
    given = np.where(hidden, None, y)
    model = InfoGraphClassifier(dim=32, epochs=4, steps_per_epoch=20).fit(mutag, given)
    accuracy = np.mean(model.predict(mutag[hidden]) == y[hidden])
    assert accuracy > np.mean(y[hidden] == "mutagenic")
    assert model.score(mutag, np.where(hidden, y, None)) == pytest.approx(accuracy)
    assert model.classes_.tolist() == ["harmless", "mutagenic"]


def test_several_targets_with_gaps_and_units():
    table = np.array([[1, np.nan], [2, 4], [np.nan, np.nan], [4, 8], [5, 9]] * 2)
    model = InfoGraphRegressor(**QUICK).fit(SMILES[:10], table)
    assert model.predict(SMILES[:3]).shape == (3, 2)
    assert model.scaler_.mean == pytest.approx(np.nanmean(table, axis=0).tolist())
    rows = InfoGraphRegressor(**QUICK).fit(SMILES[:10], table[:, :1])
    assert rows.predict(SMILES[:3]).shape == (3, 1)


def test_an_element_that_no_training_molecule_had():
    model = InfoGraphRegressor(**QUICK).fit(SMILES, VALUES)
    with pytest.warns(UnknownCategoryWarning, match="no training molecule has the element Si, Se") as caught:
        predicted = model.predict(["C[Si]C", "CO", "C[Se]C"])
    assert len(caught) == 1
    assert np.isfinite(predicted).all()


def test_a_label_that_means_unlabelled(mutag):
    graphs = mutag[:30]
    y = np.where(np.arange(30) < 20, graphs.sizes, -999).astype(float)
    model = InfoGraphRegressor(**QUICK, unlabelled=-999).fit(graphs, y)
    expected = InfoGraphRegressor(**QUICK).fit(graphs, np.where(y == -999, np.nan, y))
    assert np.array_equal(model.predict(graphs), expected.predict(graphs))
    judged = InfoGraphRegressor(**QUICK, unlabelled=-999).fit(graphs, y, validation=(graphs, y))
    assert judged.history_[0]["validation"] < 100
    codes = np.where(np.arange(30) < 20, np.arange(30) % 2, -1)
    assert InfoGraphClassifier(**QUICK, unlabelled=-1).fit(graphs, codes).classes_.tolist() == [0, 1]


def test_names_and_units_of_targets_stay():
    column = infograph.Column("logS", "float", unit="mol/L")
    graphs = as_graphset(SMILES).with_column("graph", column, np.arange(12.0))
    for settings in ({}, {"unlabelled": -999}):
        model = InfoGraphRegressor(**QUICK, **settings).fit(graphs, "logS")
        assert (model.target_names_, model.target_units_) == (("logS",), ("mol/L",))


# ---- starting from another model


@pytest.mark.parametrize("folder", [False, True])
def test_init_from_an_unsupervised_model(mutag, folder, tmp_path):
    donor = InfoGraph(dim=10, epochs=1, batch_size=16, encoder=GIN(layers=2)).fit(mutag[:40])
    start = donor.save(tmp_path / "donor") if folder else donor
    model = InfoGraphClassifier("supervised", **{**QUICK, "epochs": 0}, init_from=start).fit(mutag[:40])
    assert model._encoder.dim == 10  # the donor's encoder, not this one's settings
    for name, tensor in donor._encoder.state_dict().items():
        assert torch.equal(tensor, model._encoder.state_dict()[name]), name
    assert np.array_equal(model.transform(mutag), donor.transform(mutag))
    before = donor.transform(mutag)
    trained = InfoGraphClassifier(**QUICK, init_from=start).fit(mutag[:40])
    assert not np.allclose(trained.transform(mutag), before)
    assert np.array_equal(donor.transform(mutag), before)  # which stays what it is
    loaded = infograph.load(trained.save(tmp_path / "trained"))
    assert np.array_equal(loaded.predict_proba(mutag), trained.predict_proba(mutag))
    other = InfoGraphRegressor(**{**QUICK, "epochs": 0}, init_from=trained)  # of another task
    other.fit(mutag[:40], mutag.sizes[:40])
    assert np.array_equal(other.transform(mutag), trained.transform(mutag))


def test_grid_search_over_lambda_and_weight_decay(mutag):
    grid = {"objective__lam": [1e-3, 1.0], "weight_decay": [0, 1e-3]}
    search = GridSearchCV(InfoGraphClassifier(**QUICK), grid, cv=2, error_score="raise").fit(mutag[:30])
    assert set(search.best_params_) == set(grid)
    assert np.array_equal(search.predict(mutag), search.best_estimator_.predict(mutag))


# ---- real molecules


def test_qm9_in_its_unit():
    graphs = read_qm9(datasets.wheel_folder(entry_for("QM9")), limit=150)
    y = graphs.values("graph", "alpha").astype(float)
    hidden = np.where(np.arange(len(y)) % 3 == 0, y, np.nan)
    model = InfoGraphRegressor(**{**QUICK, "dim": 16, "lr": 3e-3, "epochs": 3, "steps_per_epoch": 15})
    model.fit(graphs, hidden, validation=(graphs[1::3], y[1::3]))
    assert isinstance(model.encoder_, ENN)
    errors = [record["validation"] for record in model.history_]
    assert min(errors) == pytest.approx(np.abs(model.predict(graphs[1::3]) - y[1::3]).mean(), rel=1e-5)
    assert min(errors) < np.abs(y - np.nanmean(hidden)).mean()  # better than the mean of the labelled


def test_coordinates_of_networkx_graphs_are_seen_as_distances():
    rng = np.random.default_rng(0)
    graphs = [nx.path_graph(5) for _ in range(8)]
    for graph in graphs:
        nx.set_node_attributes(graph, {node: rng.normal(size=2).tolist() for node in graph}, "pos")
    model = InfoGraphRegressor(**QUICK, node_columns=["pos"]).fit(graphs, np.arange(8.0))
    assert isinstance(model.encoder_, ENN)
    moved = [graph.copy() for graph in graphs]
    for graph in moved:
        for node in graph:
            graph.nodes[node]["pos"] = [graph.nodes[node]["pos"][1] + 3, graph.nodes[node]["pos"][0] - 1]
    assert np.allclose(model.predict(moved), model.predict(graphs), atol=1e-5)
    with pytest.raises(InvalidParameter, match="'pos' holds coordinates"):
        InfoGraph(dim=8, epochs=0, node_columns=["pos"], encoder=GIN(layers=2)).fit(graphs)
