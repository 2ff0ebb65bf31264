"""InfoGraphRegressor and InfoGraphClassifier as their users meet them."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from torch import nn
from torch_geometric.data import Data

import infograph
from infograph import (
    ENN,
    GIN,
    Auto,
    InfoGraph,
    InfoGraphClassifier,
    InfoGraphRegressor,
    InfoGraphStar,
    as_graphset,
    load_dataset,
)
from infograph.data import datasets
from infograph.data.datasets import entry_for
from infograph.data.qm9 import read_qm9
from infograph.errors import InvalidParameter, NotFitted, SchemaMismatch, UnknownCategoryWarning
from tests.objectives.loops import toy_molecules

QUICK = {"dim": 12, "epochs": 2, "steps_per_epoch": 3, "batch_size": 6, "encoder": Auto(layers=2)}
SMILES = ["CCO", "c1ccccc1", "CC(=O)O", "CCN", "C", "CCCl", "O=C=O", "CC#N", "CCCC", "COC", "CNC", "OCCO"]
VALUES = [1.0, 2.0, None, 4.0, 5.0, None, 7.0, 8.0, None, 1.0, 2.0, 3.0]
encoders = pytest.mark.parametrize("encoder", ["gin", "enn-s2s"])


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
    assert auto(as_graphset(lengths, weight="length"), np.arange(6)) == ("GIN", 4)


def test_weights_of_edges_are_for_gin():
    graphs = [nx.path_graph(n) for n in range(2, 8)]
    for graph in graphs:
        nx.set_edge_attributes(graph, {edge: 0.5 + sum(edge) for edge in graph.edges}, "strength")
    weighted = as_graphset(graphs, weight="strength")
    with pytest.raises(InvalidParameter, match="'enn-s2s' has no use for the weight 'strength'"):
        InfoGraphRegressor(**{**QUICK, "encoder": "enn-s2s"}).fit(weighted, np.arange(6))
    model = InfoGraphRegressor(**QUICK).fit(weighted, np.arange(6))
    assert np.isfinite(model.predict(weighted)).all()


@encoders
def test_corner_cases(corner_cases, encoder, tmp_path):
    y = [1.0, 2.0, None, 3.0, 4.0, None, 5.0, 6.0, 7.0, 8.0]
    model = InfoGraphRegressor(**{**QUICK, "encoder": encoder}, edge_columns=["bond"]).fit(corner_cases, y)
    predicted = model.predict(corner_cases)
    assert np.isfinite(predicted).all()
    for graph in range(len(corner_cases)):
        np.testing.assert_allclose(model.predict(corner_cases[graph]), predicted[graph], rtol=1e-4)
    assert np.array_equal(infograph.load(model.save(tmp_path / "m")).predict(corner_cases), predicted)


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


class TwoLayers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LazyLinear(6), nn.Linear(6, 5)

    def forward(self, x, edge_index, batch):
        heard = torch.zeros_like(x).index_add(0, edge_index[1], x[edge_index[0]])
        once = torch.relu(self.first(x + heard))
        return [once, torch.relu(self.second(once))]


def test_a_module_of_ones_own(mutag, tmp_path):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        own = TwoLayers()
        own(torch.zeros(1, 7), torch.zeros(2, 0, dtype=torch.long), torch.zeros(1, dtype=torch.long))
    model = InfoGraphClassifier(**{**QUICK, "encoder": own}).fit(mutag[:30])
    folder = model.save(tmp_path / "m")
    loaded = infograph.load(folder, encoder=own)
    assert np.array_equal(loaded.predict_proba(mutag), model.predict_proba(mutag))
    assert model.transform(mutag[:2]).shape == (2, 11)
    with pytest.raises(InvalidParameter, match="pass it again"):
        infograph.load(folder)


class WithoutBatch(nn.Module):
    def forward(self, x, edge_index):
        return [x]


def test_a_module_of_another_signature(mutag):
    said = r"WithoutBatch has forward\(x, edge_index\): expected forward\(x, edge_index, batch\)"
    with pytest.raises(InvalidParameter, match=said):
        InfoGraphClassifier(**{**QUICK, "encoder": WithoutBatch()}).fit(mutag[:30])


# ---- the same call everywhere


def test_mutag_with_twenty_labels(mutag):
    """Better than the larger class alone, on graphs whose labels it has not seen."""
    rng = np.random.default_rng(0)
    y = np.array(mutag.values("graph", "y")).astype(object)
    hidden = np.ones(len(mutag), bool)
    hidden[rng.permutation(len(mutag))[:20]] = False
    y = np.where(y == 1, "mutagenic", "harmless").astype(object)
    given = np.where(hidden, None, y)
    model = InfoGraphClassifier(dim=32, epochs=4, steps_per_epoch=20).fit(mutag, given)
    accuracy = np.mean(model.predict(mutag[hidden]) == y[hidden])
    assert accuracy > np.mean(y[hidden] == "mutagenic")
    assert model.score(mutag, np.where(hidden, y, None)) == pytest.approx(accuracy)
    assert model.classes_.tolist() == ["harmless", "mutagenic"]


def test_smiles_with_gaps():
    model = InfoGraphRegressor(**QUICK).fit(SMILES, VALUES)
    predicted = model.predict(SMILES)
    assert predicted.shape == (12,)
    mixed = ["CCO", "nonsense", "CC#N"]
    kept = model.predict(mixed, errors="nan")
    assert np.isnan(kept).tolist() == [False, True, False]
    np.testing.assert_allclose(kept[[0, 2]], predicted[[0, 7]], rtol=1e-4)
    np.testing.assert_allclose(model.predict(mixed, errors="skip"), predicted[[0, 7]], rtol=1e-4)
    vectors = model.transform(mixed, errors="nan")
    assert np.isnan(vectors).any(axis=1).tolist() == [False, True, False]


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
    graphs = as_graphset(SMILES).with_column(
        "graph", infograph.Column("logS", "float", unit="mol/L"), np.arange(12.0)
    )
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


def test_init_from_another_task(mutag):
    donor = InfoGraphRegressor(**QUICK).fit(mutag[:30], mutag.sizes[:30])
    model = InfoGraphClassifier("infograph*", **{**QUICK, "epochs": 0}, init_from=donor).fit(mutag[:30])
    assert np.array_equal(model.transform(mutag), donor.transform(mutag))


def test_init_from_what_is_no_start(mutag, tmp_path):
    with pytest.raises(NotFitted, match="init_from is an InfoGraph that is not fitted"):
        InfoGraphClassifier(**QUICK, init_from=InfoGraph()).fit(mutag[:30])
    with pytest.raises(InvalidParameter, match="init_from=3: expected a fitted InfoGraph"):
        InfoGraphClassifier(**QUICK, init_from=3).fit(mutag[:30])
    with pytest.raises(infograph.errors.FileMissing, match="no model folder"):
        InfoGraphClassifier(**QUICK, init_from=tmp_path / "nothing").fit(mutag[:30])
    donor = InfoGraph(dim=10, epochs=1, encoder=GIN(layers=2)).fit(mutag[:30])
    with pytest.raises(SchemaMismatch, match="the node column 'label' is missing"):
        InfoGraphRegressor(**QUICK, init_from=donor).fit(SMILES, VALUES)


# ---- scikit-learn


def test_sklearn_knows_the_task():
    assert is_regressor(InfoGraphRegressor())
    assert is_classifier(InfoGraphClassifier())
    assert not hasattr(InfoGraphRegressor(), "predict_proba")
    assert clone(InfoGraphRegressor(objective=InfoGraphStar(lam=0.5))).objective.lam == 0.5


def test_cross_validation_is_the_loop_by_hand(mutag):
    graphs, folds = mutag[:30], KFold(2, shuffle=True, random_state=0)
    model, y = InfoGraphRegressor(**QUICK), mutag.sizes[:30].astype(float)
    scores = cross_val_score(model, graphs, y, cv=folds, error_score="raise")
    by_hand = [
        clone(model).fit(graphs[train], y[train]).score(graphs[test], y[test])
        for train, test in folds.split(y)
    ]
    np.testing.assert_allclose(scores, by_hand, rtol=1e-12)


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


def with_places(n_graphs: int, size: int) -> list[nx.Graph]:
    rng = np.random.default_rng(0)
    made = [nx.path_graph(size) for _ in range(n_graphs)]
    for graph in made:
        nx.set_node_attributes(graph, {node: rng.normal(size=2).tolist() for node in graph}, "pos")
    return made


def test_coordinates_of_networkx_graphs_are_seen_as_distances():
    graphs = with_places(8, 5)
    model = InfoGraphRegressor(**QUICK, node_columns=["pos"]).fit(graphs, np.arange(8.0))
    assert isinstance(model.encoder_, ENN)
    moved = [graph.copy() for graph in graphs]
    for graph in moved:
        for node in graph:
            graph.nodes[node]["pos"] = [graph.nodes[node]["pos"][1] + 3, graph.nodes[node]["pos"][0] - 1]
    assert np.allclose(model.predict(moved), model.predict(graphs), atol=1e-5)
    with pytest.raises(InvalidParameter, match="'pos' holds coordinates"):
        InfoGraph(dim=8, epochs=0, node_columns=["pos"], encoder=GIN(layers=2)).fit(graphs)


def test_auto_says_when_it_does_not_look_at_coordinates():
    edges = torch.tensor([[0, 1], [1, 0]])
    graphs = [Data(edge_index=edges, pos=torch.randn(n, 3), num_nodes=n) for n in (2, 3, 4, 210)]
    model = InfoGraphRegressor(**{**QUICK, "epochs": 1})
    with pytest.warns(
        UserWarning, match="does not see the coordinates of these graphs, because a graph has 210"
    ):
        model.fit(graphs, np.arange(4.0))
    assert isinstance(model.encoder_, GIN)
