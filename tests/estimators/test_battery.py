"""What every estimator promises, checked over all of them."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import infograph
from infograph import (
    GIN,
    Auto,
    InfoGraph,
    InfoGraphClassifier,
    InfoGraphRegressor,
    MeanTeacher,
    MutualInformation,
    load_dataset,
)
from infograph.errors import FileMissing, InvalidFile, InvalidParameter, NotFitted, SchemaMismatch

QUICK = {"dim": 12, "epochs": 2, "steps_per_epoch": 3, "batch_size": 8, "encoder": Auto(layers=2)}
SEMI_SUPERVISED = [
    pytest.param(InfoGraphRegressor(**QUICK), id="regressor"),
    pytest.param(InfoGraphRegressor(MeanTeacher(noise=0.1), **QUICK), id="mean-teacher"),
    pytest.param(
        InfoGraphClassifier(**{**QUICK, "encoder": "enn-s2s"}, edge_columns=["label"]), id="classifier"
    ),
    pytest.param(InfoGraphClassifier("infograph", **QUICK, n_models=2), id="two-networks"),
    pytest.param(
        InfoGraphClassifier("vat", **{**QUICK, "encoder": Auto(readout="mean", learn_eps=True)}), id="vat"
    ),
]
ESTIMATORS = [
    pytest.param(InfoGraph(dim=12, epochs=2, batch_size=16, encoder=GIN(layers=3)), id="InfoGraph"),
    pytest.param(InfoGraph(dim=12, epochs=0, encoder=GIN(layers=2)), id="untrained"),
    pytest.param(
        InfoGraph(
            dim=12, epochs=2, edge_columns=["label"], encoder=GIN(layers=2, readout="max", learn_eps=True)
        ),
        id="GINE",
    ),
    pytest.param(
        InfoGraph(
            dim=12,
            epochs=2,
            encoder=GIN(layers=2),
            objective=MutualInformation(discriminator="conditioned", prior=0.1),
        ),
        id="conditioned",
    ),
    pytest.param(
        InfoGraph(
            dim=12,
            epochs=2,
            encoder=GIN(layers=2, norm=False),
            objective=MutualInformation(weighting="node", bound="dv"),
        ),
        id="dv",
    ),
    pytest.param(
        InfoGraph(
            dim=12,
            epochs=2,
            encoder=GIN(layers=2, node_features="degree"),
            objective=MutualInformation(bound="infonce"),
        ),
        id="infonce",
    ),
    *SEMI_SUPERVISED,
]
every = pytest.mark.parametrize("estimator", ESTIMATORS)


@pytest.fixture(scope="module")
def graphs():
    return load_dataset("MUTAG")[:40]


@pytest.fixture(scope="module")
def y(graphs):
    return graphs.graph["y"]


@every
def test_init_only_stores(estimator):
    for name, value in estimator.get_params(deep=False).items():
        assert getattr(estimator, name) is value
    assert clone(estimator).get_params() == estimator.get_params()
    assert [name for name in vars(estimator) if name.endswith("_")] == []


@every
def test_the_same_seed_gives_the_same_vectors(estimator, graphs):
    first = clone(estimator).fit(graphs).transform(graphs)
    assert first.shape == (40, 12)
    assert first.dtype == np.float32
    assert np.isfinite(first).all()
    assert np.array_equal(first, clone(estimator).fit(graphs).transform(graphs))
    assert np.array_equal(first, clone(estimator).fit_transform(graphs))
    other = clone(estimator).set_params(random_state=1).fit_transform(graphs)
    assert not np.allclose(first, other)


@every
def test_a_graph_alone_equals_its_row_in_a_batch(estimator, graphs):
    model = clone(estimator).fit(graphs)
    together = model.transform(graphs)
    for index in (0, 17, 39):
        alone = model.transform(graphs[index])
        np.testing.assert_allclose(alone[0], together[index], rtol=1e-5, atol=1e-5 * np.abs(together).max())
    backwards = model.transform(graphs[::-1])[::-1]
    np.testing.assert_allclose(backwards, together, rtol=1e-5, atol=1e-5 * np.abs(together).max())


@every
def test_the_order_of_nodes_does_not_matter(estimator, graphs):
    model = clone(estimator).fit(graphs)
    rng = np.random.default_rng(0)
    shuffled = []
    for graph in infograph.to_networkx(graphs):
        order = rng.permutation(graph.number_of_nodes()).tolist()
        renamed = nx.Graph(**graph.graph)
        renamed.add_nodes_from(
            (f"node {order[v]}", graph.nodes[v]) for v in rng.permutation(len(order)).tolist()
        )
        renamed.add_edges_from(
            (f"node {order[u]}", f"node {order[v]}", data) for u, v, data in graph.edges(data=True)
        )
        shuffled.append(renamed)
    expected = model.transform(graphs)
    np.testing.assert_allclose(
        model.transform(shuffled), expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max()
    )


@every
def test_saved_and_loaded_bit_by_bit(estimator, graphs, tmp_path):
    model = clone(estimator).fit(graphs)
    model.save(tmp_path / "model")
    for loaded in (type(model).load(tmp_path / "model"), infograph.load(str(tmp_path / "model"))):
        assert loaded.get_params() == {
            **model.get_params(),
            **clone(model).set_params(**model._fitted_settings()).get_params(),
        }  # "auto" is what it became
        assert loaded.schema_ == model.schema_
        assert loaded.history_ == model.history_
        assert np.array_equal(loaded.transform(graphs), model.transform(graphs))
        if hasattr(model, "predict"):
            assert np.array_equal(loaded.predict(graphs), model.predict(graphs))
    assert sorted(p.name for p in (tmp_path / "model").iterdir()) == [
        "README.md",
        "config.json",
        "history.json",
        "model.safetensors",
        "schema.json",
    ]
    model.save(tmp_path / "model")  # an older model is replaced
    assert [p.name for p in tmp_path.iterdir()] == ["model"]


@every
def test_damaged_models_are_named(estimator, graphs, tmp_path):
    folder = clone(estimator).fit(graphs).save(tmp_path / "model")
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[:-1] + bytes([weights[-1] ^ 1]))
    with pytest.raises(InvalidFile, match=r"model\.safetensors is damaged: its checksum"):
        infograph.load(folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(FileMissing, match=r"model\.safetensors is missing"):
        infograph.load(folder)
    (folder / "schema.json").write_text("{")
    with pytest.raises(InvalidFile, match=r"schema\.json is damaged"):
        infograph.load(folder)
    (folder / "config.json").write_text("[]")
    with pytest.raises(InvalidFile, match=r"config\.json is damaged"):
        infograph.load(folder)
    with pytest.raises(FileMissing, match="no model folder"):
        infograph.load(tmp_path / "nothing")


@every
def test_nothing_but_a_model_is_replaced(estimator, graphs, tmp_path):
    model = clone(estimator).fit(graphs)
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(InvalidParameter, match="holds other files"):
        model.save(tmp_path)
    with pytest.raises(InvalidParameter, match="is a file"):
        model.save(tmp_path / "thesis.txt")
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


@every
def test_works_in_a_pipeline_and_a_grid_search(estimator, graphs, y):
    pipeline = make_pipeline(clone(estimator), StandardScaler(), LogisticRegression(max_iter=500))
    assert pipeline.fit(graphs, y).predict(graphs).shape == (40,)
    width = f"{type(estimator).__name__.lower()}__dim"
    search = GridSearchCV(pipeline, {width: [6, 8]}, cv=2, error_score="raise").fit(list(graphs), y)
    assert search.best_estimator_[0].transform(graphs).shape[1] == search.best_params_[width]


@every
def test_feature_names_and_data_frames(estimator, graphs):
    model = clone(estimator).set_output(transform="pandas").fit(graphs)
    frame = model.transform(graphs)
    prefix = type(estimator).__name__.lower()
    assert list(frame.columns) == list(model.get_feature_names_out()) == [f"{prefix}{i}" for i in range(12)]


@every
def test_not_fitted(estimator, graphs, tmp_path):
    fresh = clone(estimator)
    for attempt in (
        lambda: fresh.transform(graphs),
        lambda: fresh.save(tmp_path / "x"),
        fresh.get_feature_names_out,
    ):
        with pytest.raises(NotFitted, match=r"call fit\(graphs\) or load\(folder\) first"):
            attempt()


@every
def test_input_stays_as_it_is(estimator, graphs):
    before = {name: values.copy() for name, values in (*graphs.node.items(), *graphs.graph.items())}
    edges = graphs.edges.copy()
    clone(estimator).fit_transform(graphs)
    assert np.array_equal(edges, graphs.edges)
    for name, values in (*graphs.node.items(), *graphs.graph.items()):
        assert np.array_equal(before[name], values)


@every
def test_wrong_graphs_are_refused(estimator, graphs):
    model = clone(estimator).fit(graphs)
    if model.schema_.features("node"):
        with pytest.raises(SchemaMismatch, match="the node column 'label' is missing"):
            model.transform([(np.zeros((2, 0), int), 3)])
    for bad in ([], None, 5, np.zeros((3, 4))):
        with pytest.raises(InvalidParameter, match="graphs"):
            clone(estimator).fit(bad)
        with pytest.raises(InvalidParameter, match="graphs"):
            model.transform(bad)


@every
def test_settings_and_card_are_readable(estimator, graphs, tmp_path):
    folder = clone(estimator).fit(graphs).save(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    assert config["class"] == type(estimator).__name__
    assert config["params"]["dim"] == 12
    card = (folder / "README.md").read_text()
    assert "vector of 12 numbers" in card or "Predicts, for every graph:" in card
    assert "infograph.load" in card
