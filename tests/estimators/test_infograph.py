"""InfoGraph as its users meet it."""

from __future__ import annotations

import json
import pickle

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.nn import GINConv

import infograph
from infograph import GIN, InfoGraph, MutualInformation, as_graphset, load_dataset
from infograph.errors import (
    InvalidFile,
    InvalidGraph,
    InvalidParameter,
    MissingExtra,
    SchemaMismatch,
    TrainingDiverged,
    UnknownCategoryWarning,
)

SMALL = {"dim": 12, "epochs": 2, "batch_size": 16, "encoder": GIN(layers=2)}
SMILES = ["CCO", "c1ccccc1", "CC(=O)O", "CCN", "C", "CCCl", "O=C=O", "CC#N"]


@pytest.fixture(scope="module")
def mutag():
    return load_dataset("MUTAG")[:40]


def test_lists_of_networkx_graphs():
    graphs = [nx.path_graph(n) for n in range(1, 9)] + [nx.cycle_graph(5), nx.empty_graph(3)]
    vectors = InfoGraph(**SMALL).fit_transform(graphs)
    assert vectors.shape == (10, 12)
    assert len(np.unique(vectors.round(4), axis=0)) == 10


def test_networkx_attributes_by_name():
    rng = np.random.default_rng(0)
    graphs = []
    for n in range(4, 12):
        graph = nx.cycle_graph(n)
        nx.set_node_attributes(graph, {v: {"kind": "ab"[v % 2], "mass": float(rng.normal())} for v in graph})
        nx.set_edge_attributes(graph, {e: {"bond": "xy"[sum(e) % 2]} for e in graph.edges})
        graphs.append(graph)
    model = InfoGraph(**SMALL, node_columns=["kind", "mass"], edge_columns=["bond"]).fit(graphs)
    assert [c.name for c in model.schema_.node] == ["kind", "mass"]
    assert model.schema_.node[1].mean != ()  # floats are standardised by the schema
    assert model.transform(graphs[:2]).shape == (2, 12)
    del graphs[1].nodes[0]["mass"]
    with pytest.raises(InvalidGraph, match=r"graph 1: .*'mass'"):
        model.transform(graphs[:2])


def test_unknown_categories_are_counted_once_and_embed():
    model = InfoGraph(**SMALL).fit(["CCO", "CCN", "CCC", "CO"])
    strange = as_graphset(["CC[Si]"])
    with pytest.warns(UnknownCategoryWarning) as caught:
        renamed = infograph.as_graphset([_renamed("CCO")], node=["element"])
        _ = (
            infograph.InfoGraph(**SMALL, node_columns=["element"])
            .fit([_renamed("N"), _renamed("O")])
            .transform([_renamed("X"), _renamed("Y")])
        )
    assert len(caught) == 1
    assert "'X' (2x)" in str(caught[0].message)
    assert "'Y' (2x)" in str(caught[0].message)
    assert len(renamed) == 1
    assert np.isfinite(model.transform(strange)).all()


def _renamed(element: str) -> nx.Graph:
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: element, 1: "C", 2: element}, "element")
    return graph


def test_smiles_and_bad_rows():
    model = InfoGraph(**SMALL).fit(SMILES)
    good = model.transform(SMILES)
    mixed = ["CCO", "not a molecule", "C1CC", "CC#N"]
    with pytest.raises(InvalidGraph, match="graph 1"):
        model.transform(mixed)
    assert np.allclose(model.transform(mixed, errors="skip"), good[[0, 7]], rtol=1e-5, atol=1e-4)
    kept = model.transform(mixed, errors="nan")
    assert np.isnan(kept[[1, 2]]).all()
    assert np.allclose(kept[[0, 3]], good[[0, 7]], rtol=1e-5, atol=1e-4)


def test_a_model_fitted_with_hydrogens_adds_them():
    with_hydrogens = as_graphset(SMILES, hydrogens=True)
    model = InfoGraph(**SMALL).fit(with_hydrogens)
    expected = model.transform(with_hydrogens)
    np.testing.assert_allclose(model.transform(SMILES), expected, rtol=1e-5, atol=1e-4)


def test_corner_cases_embed(corner_cases):
    for columns in (None, ["bond"]):
        vectors = InfoGraph(**SMALL, edge_columns=columns).fit_transform(corner_cases)
        assert np.isfinite(vectors).all()


def test_one_graph_is_too_few():
    with pytest.raises(InvalidParameter, match="1 graph: at least two"):
        InfoGraph(**SMALL).fit([nx.path_graph(3)])


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"dim": 0}, "'dim' parameter of InfoGraph .* Got 0"),
        ({"dim": 2.5}, r"Got 2\.5"),
        ({"dim": 3, "encoder": GIN(layers=4)}, "dim=3 is less than layers=4"),
        ({"lr": float("nan")}, "Got nan"),
        ({"lr": 0}, "'lr' parameter .* Got 0"),
        ({"batch_size": 1}, "'batch_size' parameter .* Got 1"),
        ({"epochs": -1}, "Got -1"),
        ({"encoder": GIN(readout="median")}, "'readout' parameter of GIN must be a str among"),
        ({"encoder": "gat"}, "encoder='gat'"),
        ({"device": "abacus"}, "device='abacus' cannot be used here"),
    ],
)
def test_settings_are_checked_in_fit(mutag, setting, said):
    with pytest.raises(InvalidParameter, match=said):
        InfoGraph(**setting).fit(mutag)


def test_columns_that_are_not_there(mutag):
    with pytest.raises(SchemaMismatch, match="no node column 'mass'; the graphs have: 'label'"):
        InfoGraph(node_columns=["mass"]).fit(mutag)


def test_continuing_on_new_graphs(mutag):
    model = InfoGraph(**SMALL).fit(mutag[:20])
    before = model.transform(mutag)
    model.partial_fit(mutag[20:])
    assert len(model.history_) == 4
    assert not np.allclose(before, model.transform(mutag))
    warm = InfoGraph(**SMALL, warm_start=True).fit(mutag[:20])
    warm.fit(mutag[20:])
    assert np.array_equal(warm.transform(mutag), model.transform(mutag))
    cold = InfoGraph(**SMALL).fit(mutag[:20]).fit(mutag[20:])
    assert len(cold.history_) == 2


def test_first_partial_fit_is_fit(mutag):
    started = InfoGraph(**SMALL).partial_fit(mutag)
    assert np.array_equal(started.transform(mutag), InfoGraph(**SMALL).fit_transform(mutag))
    once = InfoGraph(**SMALL).partial_fit(mutag, epochs=1)
    assert len(once.history_) == 1
    assert once.epochs == 2


def test_epochs_one_by_one_are_those_of_one_fit(mutag):
    model = InfoGraph(**SMALL)
    for _ in range(3):
        model.partial_fit(mutag, epochs=1)
    assert [record["epoch"] for record in model.history_] == [1, 2, 3]
    whole = InfoGraph(**{**SMALL, "epochs": 3}).fit_transform(mutag)
    assert np.array_equal(model.transform(mutag), whole)


def test_nodes_have_vectors_and_scores(mutag):
    model = InfoGraph(**SMALL).fit(mutag)
    nodes, graphs = model.transform_nodes(mutag), model.transform(mutag)
    assert nodes.shape == (mutag.n_nodes, 12)
    for g in (0, 5):
        own = nodes[mutag.node_ptr[g] : mutag.node_ptr[g + 1]]
        np.testing.assert_allclose(own.sum(0), graphs[g], rtol=1e-4, atol=1e-3)
    scores = model.score_nodes(mutag)
    assert scores.shape == (mutag.n_nodes,)
    alone = model.score_nodes(mutag[3])
    together = scores[mutag.node_ptr[3] : mutag.node_ptr[4]]
    np.testing.assert_allclose(alone, together, rtol=1e-3, atol=1e-3 * np.abs(together).max())


class OwnEncoder(torch.nn.Module):
    def __init__(self, inputs: int = 7) -> None:
        super().__init__()
        self.first = GINConv(torch.nn.Linear(inputs, 6))
        self.second = GINConv(torch.nn.Linear(6, 4))

    def forward(self, x, edge_index, batch):
        a = torch.relu(self.first(x, edge_index))
        return [a, torch.relu(self.second(a, edge_index))]


def test_an_encoder_of_ones_own(mutag, tmp_path):
    encoder = OwnEncoder()
    before = {name: tensor.clone() for name, tensor in encoder.state_dict().items()}
    model = InfoGraph(encoder=encoder, epochs=2, batch_size=16).fit(mutag)
    vectors = model.transform(mutag)
    assert vectors.shape == (40, 10)
    for name, tensor in encoder.state_dict().items():  # copied, not trained in place
        assert torch.equal(before[name], tensor)
    model.save(tmp_path / "own")
    with pytest.raises(InvalidParameter, match=r"pass it again, load\(folder, encoder=\.\.\.\)"):
        infograph.load(tmp_path / "own")
    loaded = infograph.load(tmp_path / "own", encoder=OwnEncoder())
    assert np.array_equal(loaded.transform(mutag), vectors)
    with pytest.raises(InvalidParameter, match="do not fit this encoder"):
        infograph.load(tmp_path / "own", encoder=Wrapped(OwnEncoder()))


class Wrapped(torch.nn.Module):
    def __init__(self, inner: torch.nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *inputs):
        return self.inner(*inputs)


def test_models_of_other_classes_and_versions(mutag, tmp_path):
    folder = InfoGraph(**SMALL).fit(mutag).save(tmp_path / "model")
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text(config.replace('"InfoGraph"', '"Oracle"'))
    with pytest.raises(InvalidFile, match="'Oracle', which this version does not know"):
        infograph.load(folder)
    with pytest.raises(InvalidFile, match="holds a Oracle, not a InfoGraph"):
        InfoGraph.load(folder)
    (folder / "config.json").write_text(config.replace('"dim"', '"depth"'))
    with pytest.raises(InvalidFile, match="unknown setting 'depth'"):
        infograph.load(folder)


def test_untrained_statistics_come_from_one_pass(mutag):
    """In eval mode the untrained encoder's states have mean 0 and variance 1 over the training nodes."""
    model = InfoGraph(dim=12, epochs=0, batch_size=64, encoder=GIN(layers=2)).fit(mutag)
    nodes = model.transform_nodes(mutag).astype(float)
    alive = nodes.std(0) > 0.9  # a unit that hardly varies is held down by BatchNorm's eps
    assert alive.sum() >= 6
    np.testing.assert_allclose(nodes.mean(0), 0, atol=2e-3)
    np.testing.assert_allclose(nodes[:, alive].std(0), 1, atol=2e-2)
    assert model.history_ == []


@pytest.mark.parametrize("bound", ["jsd", "dv", "infonce"])
def test_a_small_memory_budget_changes_nothing(mutag, bound):
    """A step in double precision: the pairs are added up in another order, and training makes that grow."""
    steps = []
    for memory_mb in (512.0, 0.01):
        model = InfoGraph(
            **{**SMALL, "epochs": 0}, objective=MutualInformation(bound=bound, memory_mb=memory_mb)
        ).fit(mutag)
        network = model.network_.double().train()
        batch = model._source(as_graphset(mutag, schema=model.schema_)).batch(np.arange(len(mutag)))
        terms = model.objective_.loss(network, batch)
        terms.total.backward()
        steps.append([terms.total.detach(), *(weight.grad for weight in network.parameters())])
    for wide, narrow in zip(*steps, strict=True):
        torch.testing.assert_close(narrow, wide, rtol=1e-10, atol=1e-12)


def test_a_step_has_a_node_budget(mutag, monkeypatch):
    steps = []
    monkeypatch.setattr("infograph.estimators.infograph.MAX_NODES", 50)
    InfoGraph(**SMALL).fit(mutag, watchers=[lambda standing: steps.append(standing.steps)])
    assert steps[0] > 10


@pytest.mark.parametrize("weighting", ["graph", "node"])
def test_mutag_by_name_gives_useful_vectors(weighting):
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    vectors = InfoGraph(dim=64, epochs=5, objective=MutualInformation(weighting=weighting)).fit_transform(
        "MUTAG"
    )
    labels = load_dataset("MUTAG").graph["y"]
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    assert cross_val_score(classifier, vectors, labels, cv=5).mean() > 0.78


PATHS = [nx.path_graph(n) for n in range(2, 8)]


def test_a_failed_fit_leaves_the_model_as_it_was():
    model = InfoGraph(**SMALL).fit(PATHS)
    before = model.transform(PATHS)
    with pytest.raises(TrainingDiverged):
        model.set_params(lr=1e30, epochs=5).fit(PATHS)
    np.testing.assert_array_equal(model.transform(PATHS), before)


@pytest.mark.parametrize("go_on", ["partial_fit", "fit"])
def test_a_failed_continuation_keeps_the_model(go_on):
    model = InfoGraph(**SMALL, warm_start=True).fit(PATHS)
    before, history = model.transform(PATHS), list(model.history_)
    model.set_params(lr=1e30, epochs=5)
    with pytest.raises(TrainingDiverged):
        getattr(model, go_on)(PATHS)
    np.testing.assert_array_equal(model.transform(PATHS), before)
    assert model.history_ == history
    same = InfoGraph(**SMALL, warm_start=True).fit(PATHS).fit(PATHS)
    model.set_params(lr=1e-3, epochs=2).fit(PATHS)  # the optimiser, too, is what it was
    np.testing.assert_array_equal(model.transform(PATHS), same.transform(PATHS))


def test_a_failed_first_fit_leaves_nothing():
    model = InfoGraph(**{**SMALL, "epochs": 5}, lr=1e30)
    with pytest.raises(TrainingDiverged):
        model.fit(PATHS)
    assert set(vars(model)) == set(model.get_params(deep=False))


def test_other_columns_are_another_network(mutag):
    model = InfoGraph(**SMALL, node_columns=["label"], warm_start=True).fit(mutag)
    with pytest.raises(InvalidParameter, match=r"edge_columns=\['label'\], but the network"):
        model.set_params(edge_columns=["label"]).fit(mutag)
    with pytest.raises(InvalidParameter, match="node_features='degree'"):
        model.set_params(edge_columns=None, encoder__node_features="degree").partial_fit(mutag)


def test_settings_changed_after_fit_change_neither_vectors_nor_the_saved_model(tmp_path):
    model = InfoGraph(**SMALL).fit(PATHS)
    before = model.transform(PATHS)
    model.set_params(encoder=GIN(layers=3, node_features="degree"), dim=24)
    np.testing.assert_array_equal(model.transform(PATHS), before)
    np.testing.assert_array_equal(infograph.load(model.save(tmp_path / "m")).transform(PATHS), before)
    with pytest.raises(InvalidParameter, match="made with dim=12"):
        model.partial_fit(PATHS)
    with pytest.raises(InvalidParameter, match="made with dim=12"):
        model.set_params(warm_start=True).fit(PATHS)


def test_training_goes_on_with_a_new_learning_rate():
    model = InfoGraph(**SMALL).fit(PATHS)
    weights = [parameter.clone() for parameter in model.network_.parameters()]
    model.set_params(lr=1e-30).partial_fit(PATHS)
    for new, old in zip(model.network_.parameters(), weights, strict=True):
        torch.testing.assert_close(new, old, rtol=0, atol=1e-12)


@pytest.mark.parametrize("epochs", [-1, 1.5, "many"])
def test_partial_fit_checks_what_it_gets(epochs):
    with pytest.raises(InvalidParameter, match="'epochs' parameter"):
        InfoGraph(**SMALL).partial_fit(PATHS, epochs=epochs)
    model = InfoGraph(**SMALL).fit(PATHS)
    with pytest.raises(InvalidParameter, match="at least two"):
        model.partial_fit(PATHS[:1])


@pytest.mark.parametrize("setting", [{"random_state": 2**63}, {"device": None}, {"device": "meta"}])
def test_settings_that_torch_would_refuse(setting):
    with pytest.raises(InvalidParameter, match=next(iter(setting))):
        InfoGraph(**SMALL, **setting).fit(PATHS)


def test_settings_of_numpy_are_saved_and_resumed(tmp_path):
    graphs = [nx.path_graph(n) for n in range(2, 8)]
    for graph in graphs:
        nx.set_node_attributes(graph, "a", "kind")
    settings = {**SMALL, "dim": np.int64(12), "lr": np.float32(1e-3), "node_columns": ("kind",)}
    model = InfoGraph(**{**settings, "epochs": 1}).fit(graphs, checkpoint=tmp_path / "state")
    model = InfoGraph(**settings).fit(graphs, checkpoint=tmp_path / "state", resume=True)
    np.testing.assert_array_equal(
        infograph.load(model.save(tmp_path / "m")).transform(graphs), model.transform(graphs)
    )


def test_a_column_named_by_a_text():
    graphs = [nx.path_graph(n) for n in range(2, 8)]
    for graph in graphs:
        nx.set_node_attributes(graph, "a", "kind")
    assert InfoGraph(**SMALL, node_columns="kind").fit(graphs).schema_.node[0].name == "kind"


def test_resume_with_other_graphs_of_the_same_counts(tmp_path):
    InfoGraph(**SMALL).fit([nx.path_graph(4), nx.star_graph(3)], checkpoint=tmp_path)
    with pytest.raises(InvalidParameter, match="checksum of the graphs"):
        InfoGraph(**SMALL).fit([nx.star_graph(3), nx.path_graph(4)], checkpoint=tmp_path, resume=True)


def test_errors_of_transform():
    model = InfoGraph(**SMALL).fit(PATHS)
    with pytest.raises(InvalidParameter, match="errors='ignore'"):
        model.transform(PATHS, errors="ignore")
    vectors = model.transform([nx.Graph(), nx.Graph()], errors="nan")
    assert vectors.shape == (2, 12)
    assert np.isnan(vectors).all()


def test_vectors_are_finite_or_refused():
    edges = np.array([[0], [1]])
    rng = np.random.default_rng(0)
    model = InfoGraph(**SMALL).fit([(edges, rng.normal(size=(2, 3)) / 1e6) for _ in range(4)])
    far = [(edges, np.zeros((2, 3))), (edges, np.full((2, 3), 1e37))]
    with np.errstate(over="ignore"):
        with pytest.raises(InvalidGraph, match="graph 1: its vector is not finite"):
            model.transform(far)
        assert np.isnan(model.transform(far, errors="nan")).all(axis=1).tolist() == [False, True]


def test_graphs_without_edges_under_wide_edge_columns():
    graphs = [nx.path_graph(n) for n in range(2, 8)]
    for graph in graphs:
        nx.set_edge_attributes(graph, {edge: [1.0, 2.0, float(edge[0])] for edge in graph.edges}, "e")
    model = InfoGraph(**SMALL, edge_columns=["e"]).fit(graphs)
    assert np.isfinite(model.transform([nx.empty_graph(1)])).all()


@pytest.mark.parametrize("name", ["load", "GraphSet", "__version__", 3])
def test_a_model_of_no_class(tmp_path, name):
    folder = InfoGraph(**SMALL).fit(PATHS).save(tmp_path / "m")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "class": name}))
    with pytest.raises(InvalidFile, match="does not know"):
        infograph.load(folder)


@pytest.mark.parametrize(
    ("file", "content"), [("history.json", "{"), ("history.json", "3"), ("schema.json", "{}")]
)
def test_damaged_files_beside_the_weights(tmp_path, file, content):
    folder = InfoGraph(**SMALL).fit(PATHS).save(tmp_path / "m")
    (folder / file).write_text(content)
    with pytest.raises(InvalidFile, match=file):
        infograph.load(folder)


def test_the_working_directory_is_not_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidParameter, match="working directory"):
        InfoGraph(**SMALL).fit(PATHS).save(".")
    assert not any(tmp_path.iterdir())


def test_errors_survive_other_processes():
    error = pickle.loads(pickle.dumps(MissingExtra("rdkit", "chem")))
    assert str(error) == str(MissingExtra("rdkit", "chem"))
