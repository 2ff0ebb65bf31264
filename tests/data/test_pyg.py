"""PyG's data sets, batches and loaders -> GraphSet -> PyG: what came is what goes back."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch, Data, HeteroData, InMemoryDataset
from torch_geometric.loader import DataLoader

from infograph import InfoGraphClassifier, as_graphset, load_dataset, open_graphs, save_graphs, to_pyg
from infograph.errors import ColumnWarning, InvalidGraph, InvalidParameter

ARCS = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def rich(n: int, rng: torch.Generator, **changed: Any) -> Data:
    """A path of n nodes with everything that PyG's data may hold."""
    path = torch.stack([torch.arange(n - 1), torch.arange(1, n)])
    arcs = torch.cat([path, path.flip(0)], 1)
    rand = lambda *shape: torch.rand(*shape, generator=rng)  # noqa: E731
    whole = lambda *shape: torch.randint(-2, 3, shape, generator=rng)  # noqa: E731
    given = {
        "x": rand(n, 3),
        "z": whole(n),
        "pos": rand(n, 3),
        "charge": rand(n),
        "column": whole(n, 1),
        "mask": whole(n) > 0,
        "frames": rand(n, 2, 2),
        "edge_index": arcs,
        "edge_attr": whole(arcs.shape[1], 2),
        "edge_weight": rand(arcs.shape[1]),
        "edge_length": rand(arcs.shape[1], 1),
        "y": torch.tensor([[1.5, float("nan"), float(n)]]),
        "energy": torch.tensor(0.1 * n, dtype=torch.float64),
        "state": whole(1, 4),
        "odd": bool(n % 2),
        "count": n,
        "share": 1 / n,
        "name": f"path {n}",
        "family": "paths",
    }
    return Data(**{name: value for name, value in (given | changed).items() if value is not None})


@pytest.fixture
def data() -> list[Data]:
    rng = torch.Generator().manual_seed(0)
    return [rich(n, rng) for n in (4, 2, 7, 3)]


def check_same(before: Data, after: Data) -> None:
    assert sorted(before.keys()) == sorted(after.keys())
    for name, value in before.to_dict().items():
        back = after[name]
        assert type(back) is type(value), name
        if isinstance(value, torch.Tensor):
            assert back.dtype == value.dtype and back.shape == value.shape, name
            np.testing.assert_array_equal(back.numpy(), value.numpy(), err_msg=name)  # NaN where NaN was
        else:
            assert back == value, name


class Paths(InMemoryDataset):
    def __init__(self, given: list[Data]) -> None:
        super().__init__()
        self.data, self.slices = self.collate(given)


def quietly(source: Any, **options: Any) -> Any:
    with warnings.catch_warnings(action="ignore", category=ColumnWarning):
        return as_graphset(source, **options)


def test_everything_comes_back(data, tmp_path):
    with pytest.warns(ColumnWarning) as told:
        graphs = as_graphset(data)
    unseen = {"charge", "column", "mask", "frames", "edge_length"}
    assert {str(each.message).split("'")[1] for each in told} == unseen
    for before, after in zip(data, to_pyg(graphs), strict=True):
        check_same(before, after)
    check_same(data[2], to_pyg(open_graphs(save_graphs(graphs, tmp_path / "set")))[2])
    seen = [column.name for level in ("node", "edge") for column in graphs.schema.features(level)]
    assert seen == ["x", "z", "edge_attr_0", "edge_attr_1"] and graphs.schema.weight is not None
    assert graphs.values("node", "z").tolist() == torch.cat([each.z for each in data]).tolist()
    chosen = as_graphset(data, node=["x", "charge"], edge=[])  # no warning
    assert [column.name for column in chosen.schema.features("node")] == ["x", "charge"]


def test_data_sets_batches_and_loaders_are_read_alike(data):
    for source in (Paths(data), Batch.from_data_list(data), DataLoader(data, batch_size=3), tuple(data)):
        for before, after in zip(data, to_pyg(quietly(source)), strict=True):
            for name in ("x", "edge_index", "edge_attr", "y", "z", "mask", "frames", "state", "energy"):
                np.testing.assert_array_equal(after[name].numpy(), before[name].numpy(), err_msg=name)
            assert after.name == before.name
    part = quietly(Paths(data)[1:3])
    assert part.sizes.tolist() == [2, 7]


def test_a_graphset_as_a_data_set_of_pyg(data):
    made = to_pyg(quietly(data), dataset=True)
    assert isinstance(made, InMemoryDataset) and len(made) == 4 and made.num_features == 3
    assert len(made[1:3]) == 2 and torch.equal(made[1:3][1].x, data[2].x)
    for before, after in zip(data, made, strict=True):
        for name in ("x", "edge_index", "edge_attr", "y", "mask"):
            np.testing.assert_array_equal(after[name].numpy(), before[name].numpy())
    batch = next(iter(DataLoader(made, batch_size=4)))
    assert batch.num_graphs == 4 and torch.equal(batch.x, torch.cat([each.x for each in data]))
    again = quietly(made)
    assert again.sizes.tolist() == [4, 2, 7, 3] and again.ids.tolist() == [0, 1, 2, 3]


def test_a_data_set_of_the_package_as_one_of_pyg():
    mutag = load_dataset("MUTAG")
    made = to_pyg(mutag, dataset=True)
    assert made.num_classes == 2 and made.num_features == 7 and len(made) == 188
    assert torch.equal(made[3].x, torch.eye(7)[torch.from_numpy(mutag[3].node["label"].astype(np.int64))])
    some = to_pyg(mutag[[5, 2]], dataset=True)  # not their positions: ids stay
    assert as_graphset(some).ids.tolist() == mutag.ids[[5, 2]].tolist()
    one = to_pyg(mutag[:1], dataset=True)
    assert len(one) == 1 and torch.equal(one[0].edge_index, made[0].edge_index)


def test_a_set_of_the_form_of_ogb():
    """int64 categories of nodes and edges, and a row of tasks with gaps."""
    rng = torch.Generator().manual_seed(1)
    sets = [
        Data(
            x=torch.randint(0, 5, (n, 9), generator=rng),
            edge_index=ARCS[:, : 2 * (n - 1)],
            edge_attr=torch.randint(0, 4, (2 * (n - 1), 3), generator=rng),
            y=torch.tensor([[0.0, float("nan"), 1.0]]),
            num_nodes=n,
        )
        for n in (2, 3, 3)
    ]
    graphs = as_graphset(Paths(sets))
    assert [c.name for c in graphs.schema.node] == [f"x_{i}" for i in range(9)]
    assert {c.kind for level in ("node", "edge") for c in getattr(graphs.schema, level)} == {"categorical"}
    assert [c.name for c in graphs.schema.graph] == ["y_0", "y_1", "y_2"]
    assert np.isnan(graphs.graph["y_1"]).all() and graphs.graph["y_2"].tolist() == [1, 1, 1]
    for before, after in zip(sets, to_pyg(graphs), strict=True):
        check_same(Data.from_dict(before.to_dict() | {"num_nodes": None}), after)


def test_tensors_of_nodes_and_edges_are_told_apart_by_all_graphs():
    """A ring has as many arcs one way as nodes."""
    ring = torch.tensor([[0, 1, 2], [1, 2, 0]])
    sets = [
        Data(x=torch.rand(3, 1), edge_index=ring, of_arcs=torch.arange(3.0), of_nodes=torch.arange(3.0)),
        Data(x=torch.rand(4, 1), edge_index=ring, of_arcs=torch.arange(3.0), of_nodes=torch.arange(4.0)),
    ]
    graphs = quietly(sets)
    assert "of_nodes" in graphs.node and "of_arcs" in graphs.edge
    alone = as_graphset(sets[:1], schema=graphs.schema, keep=True)
    assert "of_arcs" in alone.edge
    labels = [Data(x=torch.rand(n, 1), edge_index=ring, y=torch.arange(n)) for n in (3, 4)]
    assert "y" in quietly(labels).node  # not as long in all graphs, but as the nodes are many


def test_categories_that_are_new_and_labels_that_are_missing():
    sets = [
        Data(x=torch.tensor([[3], [7]]), edge_index=ARCS[:, :2], y=torch.tensor([5])),
        Data(x=torch.tensor([[7], [7]]), edge_index=ARCS[:, :2]),
    ]
    graphs = as_graphset(sets)
    assert to_pyg(graphs)[0].y.tolist() == [5.0] and to_pyg(graphs)[1].y.isnan().all()
    strange = [Data(x=torch.tensor([[8], [7]]), edge_index=ARCS[:, :2])]
    with pytest.warns(UserWarning, match="not seen before"):
        back = to_pyg(as_graphset(strange, schema=graphs.schema.replace("graph", ())))[0]
    assert back.x.tolist() == [[-1], [7]]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (HeteroData(), "a PyG HeteroData: expected Data, such as to_homogeneous() gives"),
        (Data(x=torch.rand(2, 1), adj_t=torch.eye(2)), "leave the transform ToSparseTensor out"),
        (Data(x=torch.rand(2, 1), edge_index=torch.rand(2, 2)), "edge_index of float32, expected integers"),
        (Data(x=torch.rand(2, 1), edge_index=ARCS), "an edge leads to node 2, but the nodes are 0 ... 1"),
    ],
)
def test_mistakes(given, words):
    with pytest.raises(InvalidGraph) as raised:
        as_graphset([Data(x=torch.rand(3, 1), edge_index=ARCS), given])
    assert words in str(raised.value) and raised.value.index == 1
    kept = as_graphset([Data(x=torch.rand(3, 1), edge_index=ARCS), given], errors="skip")
    assert len(kept) == 1 and len(kept.rejected) == 1


def test_what_cannot_be_kept_is_named():
    rings = [
        Data(x=torch.rand(3, 1), edge_index=ARCS, rings=torch.zeros(2, n, dtype=torch.long)) for n in (5, 6)
    ]
    with pytest.warns(ColumnWarning, match="'rings' of PyG data is not kept"):
        as_graphset(rings)
    with pytest.raises(InvalidParameter, match="expected 'used' or 'all'"):
        to_pyg(as_graphset([Data(x=torch.rand(3, 1), edge_index=ARCS)]), columns="every")


def test_predictions_for_ogb_have_the_shape_of_its_labels():
    """What its Evaluator asks for: y_true and y_pred of the same shape, (graphs, tasks)."""
    rng = torch.Generator().manual_seed(2)
    sets = [
        Data(
            x=torch.randint(0, 3, (3, 9), generator=rng),
            edge_index=ARCS,
            edge_attr=torch.randint(0, 2, (4, 3), generator=rng),
            y=torch.tensor([[i % 2]]),
        )
        for i in range(12)
    ]
    dataset = Paths(sets)
    model = InfoGraphClassifier("supervised", "gin", 8, epochs=1, steps_per_epoch=2).fit(dataset[:8])
    test = dataset[torch.arange(8, 12)]
    scores = model.predict_proba(test)[:, [1]]
    truth = torch.cat([each.y for each in test]).numpy()
    assert scores.shape == truth.shape == (4, 1) and ((scores >= 0) & (scores <= 1)).all()


def test_halves_of_numbers():
    half = Data(x=torch.tensor([[1.5], [-2.0]], dtype=torch.bfloat16), edge_index=torch.tensor([[0], [1]]))
    assert as_graphset([half]).node["x"].ravel().tolist() == [1.5, -2.0]
