"""InfoGraph as its users meet it."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch_geometric.nn import GINConv

import infograph
from infograph import GIN, InfoGraph, LossTerms, MutualInformation, UntrainedGIN, as_graphset, load_dataset
from infograph.errors import InvalidGraph, InvalidParameter, TrainingDiverged, UnknownCategoryWarning
from infograph.estimators import distributed
from infograph.io import read_json

SMALL = {"dim": 12, "epochs": 2, "batch_size": 16, "encoder": GIN(layers=2, readout="sum")}
SMILES = ["CCO", "c1ccccc1", "CC(=O)O", "CCN", "C", "CCCl", "O=C=O", "CC#N"]
PATHS = [nx.path_graph(n) for n in range(2, 8)]


@pytest.fixture(scope="module")
def mutag():
    return load_dataset("MUTAG")[:40]


# ---- graphs of many kinds


def test_networkx_attributes_by_name():
    rng = np.random.default_rng(0)
    graphs = [nx.cycle_graph(n) for n in range(4, 12)]
    for graph in graphs:
        nx.set_node_attributes(graph, {v: {"kind": "ab"[v % 2], "mass": float(rng.normal())} for v in graph})
        nx.set_edge_attributes(graph, {e: {"bond": "xy"[sum(e) % 2]} for e in graph.edges})
        nx.set_edge_attributes(graph, {e: [1.0, 2.0, float(e[0])] for e in graph.edges}, "wide")
    model = InfoGraph(**SMALL, node_columns=["kind", "mass"], edge_columns=["bond", "wide"]).fit(graphs)
    assert [c.name for c in model.schema_.node] == ["kind", "mass"]
    assert model.schema_.node[1].mean != ()  # floats are standardised by the schema
    lone = nx.empty_graph(1)  # without edges under edge columns
    nx.set_node_attributes(lone, {0: {"kind": "a", "mass": 1.0}})
    assert np.isfinite(model.transform([*graphs[:2], lone])).all()
    del graphs[1].nodes[0]["mass"]
    assert np.isfinite(model.transform(graphs[:2])).all()
    assert InfoGraph(**SMALL, node_columns="kind").fit(graphs).schema_.node[0].name == "kind"


def test_unknown_categories_are_counted_once_and_embed():
    def path(element):
        graph = nx.path_graph(3)
        nx.set_node_attributes(graph, {0: element, 1: "C", 2: element}, "element")
        return graph

    model = InfoGraph(**SMALL, node_columns=["element"]).fit([path("N"), path("O")])
    with pytest.warns(UnknownCategoryWarning, match=r"'X' \(2x\), 'Y' \(2x\)") as caught:
        assert np.isfinite(model.transform([path("X"), path("Y")])).all()
    assert len(caught) == 1


def test_a_model_fitted_with_hydrogens_adds_them():
    with_hydrogens = as_graphset(SMILES, hydrogens=True)
    model = InfoGraph(**SMALL).fit(with_hydrogens)
    expected = model.transform(with_hydrogens)
    np.testing.assert_allclose(model.transform(SMILES), expected, rtol=1e-5, atol=1e-4)


def test_vectors_are_finite_or_refused():
    edges = np.array([[0], [1]])
    rng = np.random.default_rng(0)
    model = InfoGraph(**SMALL).fit([(edges, rng.normal(size=(2, 3)) / 1e6) for _ in range(4)])
    far = [(edges, np.zeros((2, 3))), (edges, np.full((2, 3), 1e37))]
    with np.errstate(over="ignore"):
        with pytest.raises(InvalidGraph, match="graph 1: its vector is not finite"):
            model.transform(far)
        assert np.isnan(model.transform(far, errors="nan")).all(axis=1).tolist() == [False, True]


def test_mutag_by_name_gives_useful_vectors():
    vectors = InfoGraph(dim=64, epochs=5).fit_transform("MUTAG")
    labels = load_dataset("MUTAG").graph["y"]
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    assert cross_val_score(classifier, vectors, labels, cv=5).mean() > 0.78


# ---- going on


def test_continuing_on_new_graphs(mutag):
    model = InfoGraph(**SMALL).fit(mutag[:20])
    before = model.transform(mutag)
    model.partial_fit(mutag[20:])
    assert len(model.history_) == 4 and not np.allclose(before, model.transform(mutag))
    warm = InfoGraph(**SMALL, warm_start=True).fit(mutag[:20]).fit(mutag[20:])
    assert np.array_equal(warm.transform(mutag), model.transform(mutag))
    assert len(InfoGraph(**SMALL).fit(mutag[:20]).fit(mutag[20:]).history_) == 2
    weights = [parameter.clone() for parameter in model.network_.parameters()]
    model.set_params(lr=1e-30).partial_fit(mutag)  # the new rate is that of the old optimiser
    for new, old in zip(model.network_.parameters(), weights, strict=True):
        torch.testing.assert_close(new, old, rtol=0, atol=1e-12)


def test_epochs_one_by_one_are_those_of_one_fit(mutag):
    model = InfoGraph(**SMALL)
    for _ in range(3):
        model.partial_fit(mutag, epochs=1)
    assert model.epochs == 2 and [record["epoch"] for record in model.history_] == [1, 2, 3]
    whole = InfoGraph(**{**SMALL, "epochs": 3}).fit_transform(mutag)
    assert np.array_equal(model.transform(mutag), whole)


def test_epochs_end_by_themselves(tmp_path):
    graphs = load_dataset("MUTAG")
    model = InfoGraph(32, objective=MutualInformation("infonce", "conditioned"), epochs="auto")
    vectors = model.fit_transform(graphs)
    errors = [record["validation"] for record in model.history_]
    best = errors.index(min(errors))
    assert len(errors) == best + 1 + 5 < 100
    assert model.history_[best]["validation mi"] > 0.3  # nats; 0 is chance

    def interrupt(now):
        if now.epoch == 4:
            raise KeyboardInterrupt

    stopped = clone(model)
    with pytest.raises(KeyboardInterrupt):
        stopped.fit(graphs, checkpoint=tmp_path, watchers=[interrupt])
    stopped.fit(graphs, checkpoint=tmp_path, resume=True)
    assert np.array_equal(stopped.transform(graphs), vectors)
    assert len(clone(model).fit(PATHS).history_) > 5  # too few to hold one out


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


def test_other_settings_are_another_network(mutag):
    model = InfoGraph(**SMALL, node_columns=["label"], warm_start=True).fit(mutag)
    with pytest.raises(InvalidParameter, match=r"edge_columns=\['label'\], but the network"):
        model.set_params(edge_columns=["label"]).fit(mutag)
    with pytest.raises(InvalidParameter, match="node_features='degree'"):
        model.set_params(edge_columns=None, encoder__node_features="degree").partial_fit(mutag)
    with pytest.raises(InvalidParameter, match="made with dim=12"):
        model.set_params(encoder__node_features="auto", dim=24).partial_fit(mutag)


def test_settings_of_numpy_are_saved_and_resumed(mutag, tmp_path):
    settings = {**SMALL, "dim": np.int64(12), "lr": np.float32(1e-3), "node_columns": ("label",)}
    InfoGraph(**{**settings, "epochs": 1}).fit(mutag, checkpoint=tmp_path / "state")
    model = InfoGraph(**settings).fit(mutag, checkpoint=tmp_path / "state", resume=True)
    loaded = infograph.load(model.save(tmp_path / "m"))
    np.testing.assert_array_equal(loaded.transform(mutag), model.transform(mutag))


def test_settings_of_numpy_reach_the_workers(mutag, monkeypatch):
    told = {}
    monkeypatch.setattr(
        distributed, "_train_here", lambda folder, *_: told.update(read_json(folder / "job.json"))
    )
    settings = {"clip": np.float32(0.5), "random_state": np.int64(3)}
    InfoGraph(**SMALL, **settings).fit(mutag, workers=np.int64(2))
    assert (told["seed"], told["clip"], told["epochs"]) == (3, 0.5, 2)


def test_a_device_of_torch_is_saved_by_its_name(mutag, tmp_path):
    model = InfoGraph(**SMALL, device=torch.device("cpu")).fit(mutag)
    loaded = infograph.load(model.save(tmp_path / "model"))
    assert loaded.device == "cpu" and np.array_equal(loaded.transform(mutag), model.transform(mutag))


# ---- nodes, encoders, budgets


def test_nodes_have_vectors_and_scores(mutag):
    model = InfoGraph(**SMALL).fit(mutag)
    nodes, graphs = model.transform_nodes(mutag), model.transform(mutag)
    assert nodes.shape == (mutag.n_nodes, 12)
    for g in (0, 5):
        own = nodes[mutag.node_ptr[g] : mutag.node_ptr[g + 1]]
        np.testing.assert_allclose(own.sum(0), graphs[g], rtol=1e-4, atol=1e-3)
    scores = model.score_nodes(mutag)
    assert scores.shape == (mutag.n_nodes,)
    together = scores[mutag.node_ptr[3] : mutag.node_ptr[4]]
    tolerance = {"rtol": 1e-3, "atol": 1e-3 * np.abs(together).max()}
    np.testing.assert_allclose(model.score_nodes(mutag[3]), together, **tolerance)


class WithoutPairs(MutualInformation):
    """Vectors of length one, by nothing but their encoder."""

    def build(self, encoder):
        return torch.nn.ModuleDict({"encoder": encoder})

    def loss(self, net, batch):
        lengths = net.encoder.vectors(net.encoder(batch), batch).norm(dim=1)
        return LossTerms((lengths - 1).square().mean(), {})


def test_an_objective_without_discriminator_scores_no_nodes(mutag):
    model = InfoGraph(**SMALL, objective=WithoutPairs()).fit(mutag)
    assert not model.scores_nodes and InfoGraph(**SMALL).fit(mutag).scores_nodes
    with pytest.raises(InvalidParameter, match="no discriminator to score nodes by"):
        model.score_nodes(mutag)


class OwnEncoder(torch.nn.Module):
    def __init__(self, middle: int = 6) -> None:
        super().__init__()
        self.first = GINConv(torch.nn.Linear(7, middle))
        self.second = GINConv(torch.nn.Linear(middle, 4))

    def forward(self, x, edge_index, batch):
        a = torch.relu(self.first(x, edge_index))
        return [a, torch.relu(self.second(a, edge_index))]


def test_an_encoder_of_ones_own_is_copied(mutag, tmp_path):
    encoder = OwnEncoder()
    before = {name: tensor.clone() for name, tensor in encoder.state_dict().items()}
    model = InfoGraph(encoder=encoder, epochs=2, batch_size=16).fit(mutag)
    assert model.transform(mutag).shape == (40, 10)
    assert all(torch.equal(before[name], tensor) for name, tensor in encoder.state_dict().items())
    with pytest.raises(InvalidParameter, match="do not fit this encoder"):
        infograph.load(model.save(tmp_path / "own"), encoder=OwnEncoder(5))


def test_untrained_statistics_come_from_one_pass(mutag):
    """In eval mode the untrained encoder's states have mean 0 and variance 1 over the training nodes."""
    settings = {"dim": 12, "encoder": GIN(layers=2), "edge_columns": None}
    model = UntrainedGIN(**settings).fit(mutag)
    nodes = model.transform_nodes(mutag).astype(float)
    alive = nodes.std(0) > 0.9  # a unit that hardly varies is held down by BatchNorm's eps
    assert alive.sum() >= 6
    np.testing.assert_allclose(nodes.mean(0), 0, atol=2e-3)
    np.testing.assert_allclose(nodes[:, alive].std(0), 1, atol=2e-2)
    assert np.array_equal(model.transform(mutag), InfoGraph(**settings, epochs=0).fit_transform(mutag))
    assert "epochs" not in model.get_params() and model.partial_fit(mutag).history_ == []


@pytest.mark.parametrize("bound", ["jsd", "dv", "infonce"])
def test_a_small_memory_budget_changes_nothing(mutag, bound):
    """A step in double precision: the pairs are added up in another order, and training makes that grow."""
    steps = []
    for memory_mb in (512.0, 0.01):
        objective = MutualInformation(bound=bound, memory_mb=memory_mb)
        network, source = InfoGraph(**SMALL, objective=objective).prepare(mutag)
        terms = objective.loss(network.double().train(), source.batch(np.arange(len(mutag))))
        terms.total.backward()
        steps.append([terms.total.detach(), *(weight.grad for weight in network.parameters())])
    for wide, narrow in zip(*steps, strict=True):
        torch.testing.assert_close(narrow, wide, rtol=1e-10, atol=1e-12)


def test_a_step_has_a_node_budget(mutag, monkeypatch):
    steps = []
    monkeypatch.setattr("infograph.train.loop.MAX_NODES", 50)
    InfoGraph(**SMALL).fit(mutag, watchers=[lambda standing: steps.append(standing.steps)])
    assert steps[0] > 10
