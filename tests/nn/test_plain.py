"""A fitted encoder as a torch module: its vectors are those of `transform`, and of PyG's own layers."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GAT, GCN, GIN, GINConv, GINEConv, GraphSAGE, global_add_pool

import infograph
from infograph import InfoGraph, InfoGraphRegressor, as_graphset, load_dataset, to_pyg
from infograph.errors import InvalidParameter

CLOSE = {"rtol": 2e-5, "atol": 2e-5}


def batch_of(model: Any, graphs: Any) -> Batch:
    return Batch.from_data_list(to_pyg(as_graphset(graphs, schema=model.schema_)))


def check(model: Any, graphs: Any) -> None:
    batch, module = batch_of(model, graphs), model.to_torch()
    assert not module.training and all(each.requires_grad for each in module.parameters())
    vectors = module(batch)
    scale = vectors.abs().max().item()
    np.testing.assert_allclose(vectors.detach().numpy() / scale, model.transform(graphs) / scale, **CLOSE)
    named = {name: getattr(batch, name, None) for name in ("edge_attr", "edge_weight")}
    again = module(getattr(batch, "x", None), batch.edge_index, batch.batch, **named)
    torch.testing.assert_close(again, vectors)


@pytest.mark.parametrize("readout", ["sum", "mean", "max", "log"])
@pytest.mark.parametrize("name", ["MUTAG", "IMDB-BINARY"])
def test_benchmark_sets(name, readout):
    """MUTAG has edge labels (GINE), IMDB no columns at all."""
    graphs = load_dataset(name)[:60]
    encoder = infograph.GIN(3, readout, learn_eps=readout == "mean")
    check(InfoGraph(24, encoder, epochs=2).fit(graphs), graphs)


@pytest.mark.parametrize("node_features", ["constant", "degree", "degrees"])
def test_inputs_made_of_degrees(node_features):
    hub = nx.star_graph(100)
    graphs = [*map(nx.path_graph, (1, 3, 5)), nx.cycle_graph(7), hub, nx.DiGraph([(0, 1), (2, 1), (1, 1)])]
    check(InfoGraph(8, infograph.GIN(2, node_features=node_features), epochs=1).fit(graphs), graphs)


def random_data(n: int, **more: Any) -> Data:
    rng = torch.Generator().manual_seed(n)
    arcs = torch.randint(0, n, (2, 2 * n), generator=rng)
    x = 1e4 + torch.randn(n, 3, generator=rng)
    z, edge_attr = torch.randint(-1, 4, (n,), generator=rng), torch.randint(0, 3, (2 * n, 2), generator=rng)
    given = {"x": x, "z": z, "edge_index": arcs, "edge_attr": edge_attr, "y": torch.tensor([float(n)])}
    return Data(**given | more)


def test_raw_data_of_pyg_needs_no_graphset():
    """Categories and numbers as they are: the module standardises and looks categories up itself."""
    data = [random_data(n) for n in range(3, 15)]
    weighted = [random_data(n, edge_weight=torch.rand(2 * n), edge_attr=None) for n in range(3, 15)]
    numbers = [random_data(n, edge_attr=torch.rand(2 * n, 2)) for n in range(3, 15)]
    for each in (data, weighted, numbers):
        model = InfoGraph(16, infograph.GIN(2), epochs=1).fit(each)
        module = model.to_torch()
        vectors = torch.cat([module(batch) for batch in DataLoader(each, batch_size=5)])
        np.testing.assert_allclose(vectors.detach().numpy(), model.transform(each), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(module(each[3])[0], vectors[3], rtol=1e-4, atol=1e-4)  # one Data
    strange = random_data(5, z=torch.tensor([99, 0, 1, 2, 3]))
    module = InfoGraph(16, infograph.GIN(2), epochs=1).fit(data).to_torch()
    with pytest.warns(UserWarning, match="not seen before"):
        expected = InfoGraph(16, infograph.GIN(2), epochs=1).fit(data).transform([strange])
    np.testing.assert_allclose(module(strange).detach().numpy(), expected, rtol=1e-4, atol=1e-4)


def test_the_pretrained_model_of_molecules():
    smiles = ["CCO", "c1ccccc1O", "CC(=O)[O-].C[NH3+]", "CC", "FC(Cl)Br", "N#N"]
    model = InfoGraph.from_pretrained("molecules")
    check(model, smiles)
    short = InfoGraph.from_pretrained("molecules", dim=16)
    check(short, smiles)
    assert short.to_torch()(batch_of(short, smiles)).shape == (6, 16)


def test_the_state_is_that_of_the_encoder_and_a_copy():
    graphs = load_dataset("MUTAG")[:40]
    model = InfoGraph(16, infograph.GIN(2), epochs=1).fit(graphs)
    module, before = model.to_torch(), model.transform(graphs)
    own = model.network_["encoder"].state_dict()
    assert [f"encoder.{name}" for name in own] == list(module.state_dict())
    assert all(torch.equal(module.state_dict()[f"encoder.{name}"], value) for name, value in own.items())
    head = nn.Linear(16, 1)
    optimiser = torch.optim.Adam([*module.parameters(), *head.parameters()], lr=1e-2)
    batch, y = batch_of(model, graphs), torch.tensor(graphs.graph["y"].tolist(), dtype=torch.float32)
    losses = []
    module.train()
    for _ in range(60):
        optimiser.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(head(module(batch))[:, 0], y)
        loss.backward()
        assert all(each.grad is not None for each in module.parameters())
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]
    np.testing.assert_array_equal(model.transform(graphs), before)  # the model stayed as it was
    model.network_["encoder"].load_state_dict(module.encoder.state_dict())  # the way back
    np.testing.assert_allclose(
        module.eval()(batch).detach().numpy(), model.transform(graphs), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize("edges", [False, True])
def test_pygs_own_layers_with_the_same_weights(edges):
    """GINConv and GINEConv, forward and gradient, in training mode too."""
    graphs = load_dataset("MUTAG")[:30]
    columns = "auto" if edges else []
    model = InfoGraph(12, infograph.GIN(2, "sum"), edge_columns=columns, epochs=1).fit(graphs)
    module, batch = model.to_torch().double(), batch_of(model, graphs)
    batch = batch.apply(lambda each: each.double() if each.is_floating_point() else each)
    for training in (False, True):
        module.train(training)
        x, levels, leaves = batch.x, [], []
        for layer in module.encoder.layers:
            mlp = nn.Sequential(layer.first, nn.ReLU(), layer.second)
            norm = nn.BatchNorm1d(len(layer.norm.weight)).double()
            norm.load_state_dict(layer.norm.state_dict(), strict=False)
            norm.weight, norm.bias = layer.norm.weight, layer.norm.bias
            norm.train(training)
            if edges:
                conv = GINEConv(mlp, edge_dim=batch.edge_attr.shape[1])
                conv.lin = layer.edge
                x = conv(x, batch.edge_index, batch.edge_attr)
            else:
                x = GINConv(mlp)(x, batch.edge_index)
            x = norm(torch.relu(x))
            levels.append(global_add_pool(x, batch.batch))
            leaves += [layer.first.weight, layer.norm.weight]
        expected = torch.cat(levels, 1)
        found = module(batch)
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-9)
        weights = torch.linspace(-1, 1, found.numel(), dtype=torch.double).view_as(found)
        ours, theirs = (
            torch.autograd.grad((each * weights).sum(), leaves, retain_graph=True)
            for each in (found, expected)
        )
        for one, two in zip(ours, theirs, strict=True):
            torch.testing.assert_close(one, two, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(
    "make",
    [
        lambda width: GIN(width, 16, 3),
        lambda width: GCN(width, 16, 2, jk="cat", out_channels=10),
        lambda width: GAT(width, 16, 2, heads=2),
        lambda width: GraphSAGE(-1, 16, 2, norm="BatchNorm"),
    ],
)
def test_models_of_pyg_as_encoders(make, tmp_path):
    graphs = load_dataset("MUTAG")[:30]
    given = make(7)
    model = InfoGraph(encoder=given, epochs=2, edge_columns=[]).fit(graphs)
    check(model, graphs)
    vectors = model.transform(graphs)
    with torch.no_grad():
        batch = batch_of(model, graphs)
        states = model.network_["encoder"].module(batch.x, batch.edge_index)
    expected = global_add_pool(states, batch.batch).numpy()
    np.testing.assert_allclose(vectors, expected, rtol=1e-4, atol=1e-4)
    folder = model.save(tmp_path / "model")
    with pytest.raises(InvalidParameter, match=r"encoder was code .* pass it again"):
        infograph.load(folder)
    np.testing.assert_array_equal(infograph.load(folder, encoder=make(7)).transform(graphs), vectors)


def test_classes_of_pyg_and_partly_made_ones():
    graphs = load_dataset("MUTAG")[:20]
    model = InfoGraph(24, encoder=GIN, epochs=1, edge_columns=[]).fit(graphs)
    assert model.transform(graphs).shape == (20, 24) and model.network_["encoder"].module.num_layers == 4
    small = InfoGraph(encoder=partial(GCN, hidden_channels=6, num_layers=2), epochs=1, edge_columns=[])
    assert small.fit_transform(graphs).shape == (20, 6)
    with_edges = InfoGraph(encoder=partial(GAT, hidden_channels=8, num_layers=2, edge_dim=3), epochs=1)
    check(with_edges.fit(graphs), graphs)
    with pytest.raises(InvalidParameter, match="GIN would not see the edge column 'label'"):
        InfoGraph(encoder=GIN, epochs=1, edge_columns=["label"]).fit(graphs)
    with pytest.raises(InvalidParameter, match="GCN fails with 7 inputs per node and 0 per edge"):
        InfoGraph(encoder=GCN(3, 8, 2), epochs=1, edge_columns=[]).fit(graphs)


class Layers(nn.Module):
    """Gives the states of both its layers, and has no use for `batch`."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.one, self.two = (GINConv(nn.Linear(a, 8)) for a in (width, 8))

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> list[torch.Tensor]:
        first = self.one(x, edge_index).relu()
        return [first, self.two(first, edge_index)]


def test_a_module_that_takes_no_batch_and_gives_all_layers():
    graphs = load_dataset("IMDB-BINARY")[:20]
    model = InfoGraph(encoder=Layers, epochs=1).fit(graphs)
    assert model.transform(graphs).shape == (20, 16)
    check(model, graphs)


def test_a_predictor_gives_its_encoder_too():
    graphs = load_dataset("MUTAG")[:30]
    y = graphs.sizes.astype(float)
    model = InfoGraphRegressor("supervised", "gin", 16, epochs=2, edge_columns=["label"]).fit(graphs, y)
    check(model, graphs)


def test_some_columns_of_a_tensor():
    """`to_pyg` gives those that the model knows; PyG's own data has all."""
    rng = torch.Generator().manual_seed(0)
    data = [random_data(n) for n in range(3, 12)]
    for each in data:
        each.x = torch.randint(0, 4, (each.num_nodes, 3), generator=rng)
    model = InfoGraph(8, infograph.GIN(2), node_columns=["x_1", "x_2"], epochs=1).fit(data)
    check(model, data)
    batch = Batch.from_data_list(data)
    vectors = model.to_torch()(batch).detach().numpy()
    np.testing.assert_allclose(vectors, model.transform(data), rtol=1e-4, atol=1e-5)
    batch.x = torch.hstack([batch.x, batch.x])
    with pytest.raises(InvalidParameter, match="'x' has 6 numbers per node, expected 3: give what the model"):
        model.to_torch()(batch)


def test_mistakes_and_autocast():
    graphs = load_dataset("MUTAG")[:20]
    model = InfoGraph(8, infograph.GIN(2), epochs=1).fit(graphs)
    module, batch = model.to_torch(), batch_of(model, graphs)
    with pytest.raises(InvalidParameter, match="'x' has 3 numbers per node, expected 7: give what"):
        module(batch.x[:, :3], batch.edge_index, batch.batch, batch.edge_attr)
    with pytest.raises(InvalidParameter, match="fitted with 'edge_attr', which these graphs lack"):
        module(batch.x, batch.edge_index, batch.batch)
    with pytest.raises(InvalidParameter, match="batch must ascend"):
        module(batch.x, batch.edge_index, batch.batch.flip(0), batch.edge_attr)
    with pytest.raises(InvalidParameter, match="'x' has 20 rows for"):
        module(batch.x[:20], batch.edge_index, batch.batch, batch.edge_attr)
    with pytest.raises(InvalidParameter, match="edge_index is missing"):
        module(batch.x)
    with torch.autocast("cpu", dtype=torch.bfloat16):  # in which nothing of it is computed
        torch.testing.assert_close(module(batch), module(batch))
        assert module(batch).dtype == torch.float32
    points = [Data(x=torch.rand(4, 2), pos=torch.rand(4, 3), edge_index=batch.edge_index[:, :0])] * 3
    with pytest.raises(InvalidParameter, match="to_torch"):
        InfoGraph(8, "enn-s2s", epochs=1).fit(points).to_torch()


class Shifted(nn.Module):
    """A module with a weight of its own and no way to renew it."""

    def __init__(self, width):
        super().__init__()
        self.shift, self.conv = nn.Parameter(torch.ones(width)), GCN(width, 6, 2)

    def forward(self, x, edge_index, batch):
        return self.conv(x + self.shift, edge_index)


def test_networks_of_an_ensemble_start_from_weights_of_their_own():
    graphs = load_dataset("MUTAG")[:30]
    y = np.arange(len(graphs), dtype=float)
    model = lambda encoder, **more: InfoGraphRegressor(  # noqa: E731
        "supervised", encoder=encoder, edge_columns=[], epochs=1, lr=1e-12, random_state=3, **more
    )
    given = nn.Sequential(GCN(7, 6, 2))

    class Own(nn.Module):  # without reset_parameters: those of its parts are called
        def __init__(self):
            super().__init__()
            self.parts = given

        def forward(self, x, edge_index, batch):
            return self.parts[0](x, edge_index)

    weights = lambda network: network.encoder.module.parts[0].convs[0].lin.weight  # noqa: E731
    fitted = model(Own(), n_models=3).fit(graphs, y)
    first, second, third = map(weights, fitted.models_)
    torch.testing.assert_close(first, given[0].convs[0].lin.weight)  # as it came
    assert not torch.allclose(first, second, atol=1e-3) and not torch.allclose(second, third, atol=1e-3)
    for one, other in zip(fitted.models_, model(Own(), n_models=3).fit(graphs, y).models_, strict=True):
        assert torch.equal(weights(one), weights(other))  # by the seed
    with pytest.raises(InvalidParameter, match=r"Shifted has no reset_parameters\(\) for its weights"):
        model(Shifted(7), n_models=2).fit(graphs, y)
    assert len(model(Shifted(7)).fit(graphs, y).models_) == 1
    assert len(model(Shifted, n_models=2).fit(graphs, y).models_) == 2


def test_no_torch_geometric_is_needed(tmp_path):
    graphs = load_dataset("MUTAG")[:20]
    model = InfoGraph(8, infograph.GIN(2), epochs=1).fit(graphs)
    batch = batch_of(model, graphs)
    model.save(tmp_path / "model")
    names = ("x", "edge_index", "batch", "edge_attr")
    np.savez(tmp_path / "batch.npz", **{name: batch[name].numpy() for name in names})
    code = f"""
import sys; sys.modules["torch_geometric"] = None
import infograph, numpy, torch
module = infograph.load({str(tmp_path / "model")!r}).to_torch()
given = numpy.load({str(tmp_path / "batch.npz")!r})
print(module(*(torch.from_numpy(given[name]) for name in {names!r})).sum().item())
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert float(done.stdout) == pytest.approx(model.transform(graphs).sum(), rel=1e-4)
