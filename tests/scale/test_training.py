"""Training by several workers: the gradients of one process, and runs that lose a worker."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
import torch

from infograph import GIN, InfoGraph, MutualInformation, Plateau
from infograph.data.convert import as_graphset
from infograph.errors import InvalidParameter, JobStopped, TrainingDiverged
from infograph.estimators.distributed import deal
from tests.processes import PATIENCE, started
from tests.scale import dying
from tests.scale.conftest import molecules
from tests.scale.share_gradients import build, outcome

CASES = [
    {"bound": bound, "weighting": weighting}
    for bound in ("jsd", "dv", "infonce")
    for weighting in ("graph", "node")
]
CASES += [
    {"discriminator": "conditioned", "learn_eps": True},
    {"edge_columns": ["bond"]},
    {"encoder": "enn-s2s"},
    {"norm": False, "readout": "max"},
]
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """What two and three workers found: (workers, case) -> one outcome per worker."""
    found = {}
    for workers in (2, 3):
        folder = tmp_path_factory.mktemp("shares")
        command = [sys.executable, "-m", "tests.scale.share_gradients", str(folder / "store")]
        with ExitStack() as stack:
            running = [
                stack.enter_context(started([*command, str(rank), str(workers), json.dumps(CASES)], cwd=ROOT))
                for rank in range(workers)
            ]
            assert [process.wait(PATIENCE) for process in running] == [0] * workers
        for case in range(len(CASES)):
            names = [folder / f"case{case}-rank{rank}.npz" for rank in range(workers)]
            found[workers, case] = [dict(np.load(name)) for name in names]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("workers", [2, 3])
@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda n: "-".join(map(str, CASES[n].values())))
def test_gradients_are_those_of_the_joined_batch(shared, workers, case):
    estimator, source, graphs = build(CASES[case])
    network = estimator.network_
    expected = outcome(network, estimator.objective_.loss(network, source.batch(np.arange(len(graphs)))))
    for found in shared[workers, case]:  # on every worker
        assert found.keys() == expected.keys()
        for name in expected:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-11, err_msg=name)


def test_dealing_is_even_and_complete():
    rng = np.random.default_rng(0)
    costs = rng.pareto(1.5, 1000).astype(np.int64) + 1
    graphs = rng.permutation(1000)[:128]
    parts = deal(graphs, costs, 3)
    assert sorted(np.concatenate(parts)) == sorted(graphs)
    sums = [int(costs[part].sum()) for part in parts]
    assert max(sums) - min(sums) <= max(1, int(costs[graphs].max()))
    assert [len(part) for part in deal(graphs[:3], costs * 0 + 1, 3)] == [1, 1, 1]


def weights(model):
    return {name: tensor.numpy() for name, tensor in model.network_.state_dict().items()}


@pytest.mark.slow
def test_a_killed_worker_costs_nothing(tmp_path, monkeypatch):
    graphs = as_graphset(molecules(120))
    settings = {"dim": 16, "epochs": 4, "batch_size": 16, "encoder": GIN(layers=2)}
    undisturbed = InfoGraph(**settings).fit(graphs, workers=2)
    dying.let_die(monkeypatch, tmp_path)
    monkeypatch.setattr("infograph.estimators.distributed.WORKER", "tests.scale.dying")
    with pytest.warns(RuntimeWarning, match="a worker was lost: all go on with epoch 3"):
        model = InfoGraph(**settings).fit(graphs, workers=2, checkpoint=tmp_path)
    assert (tmp_path / dying.DIED).is_file()
    for name, values in weights(undisturbed).items():
        np.testing.assert_array_equal(weights(model)[name], values, err_msg=name)
    kept = [
        [{k: v for k, v in e.items() if "second" not in k} for e in m.history_] for m in (model, undisturbed)
    ]
    assert kept[0] == kept[1]
    longer = InfoGraph(**{**settings, "epochs": 5}).fit(graphs, workers=2, checkpoint=tmp_path, resume=True)
    assert len(longer.history_) == 5


@pytest.mark.slow
def test_workers_end_by_themselves():
    graphs = as_graphset(molecules(120))
    settings = {
        "dim": 16,
        "epochs": "auto",
        "batch_size": 16,
        "encoder": GIN(layers=2),
        "schedule": Plateau(),
    }
    objective = MutualInformation("infonce", "conditioned")
    one, two = (InfoGraph(**settings, objective=objective).fit(graphs, workers=n) for n in (1, 2))
    mine, theirs = ([record["validation mi"] for record in model.history_] for model in (one, two))
    np.testing.assert_allclose(theirs[:5], mine[:5], atol=0.01)  # rounding grows in training
    assert len(theirs) < 100
    best = np.argmin([record["validation"] for record in two.history_])
    again = InfoGraph(**{**settings, "epochs": 1}, objective=objective).fit(graphs)
    source = again._source(again._go_on(graphs))
    again.network_.load_state_dict(two.network_.state_dict())
    held = again._loader(source, auto=True)[1]()["validation mi"]
    assert held == pytest.approx(theirs[best], abs=0.01)  # the weights are those of the best epoch


@pytest.mark.slow
def test_workers_that_die_again_and_again(monkeypatch):
    monkeypatch.setattr("infograph.estimators.distributed.WORKER", "nowhere")
    monkeypatch.setattr("infograph.estimators.distributed.RESTARTS", 1)
    with pytest.raises(JobStopped, match="workers were lost 2 times"):
        InfoGraph(dim=8, epochs=1, encoder=GIN(layers=2)).fit(molecules(10), workers=2)


@pytest.mark.slow
def test_a_loss_that_is_not_finite_is_told():
    with pytest.raises(TrainingDiverged, match="lower lr"):
        InfoGraph(dim=8, epochs=3, lr=1e30, encoder=GIN(layers=2)).fit(molecules(30), workers=2)


def test_what_workers_cannot_do(tmp_path):
    class Mine(torch.nn.Module):
        def forward(self, x, edge_index, batch):
            return [x]

    graphs = as_graphset(molecules(10))
    with pytest.raises(InvalidParameter, match="cannot be sent to workers"):
        InfoGraph(encoder=Mine(), epochs=1, edge_columns=[]).fit(graphs, workers=2)
    with pytest.raises(InvalidParameter, match="10 graphs for 11 workers"):
        InfoGraph(dim=8, epochs=1).fit(graphs, workers=11)
    for bad in ({"workers": 0}, {"workers": True}, {"on": "spark"}):
        with pytest.raises(InvalidParameter, match=next(iter(bad))):
            InfoGraph(dim=8, epochs=1).fit(graphs, **bad)
    with pytest.raises(InvalidParameter, match="pass checkpoint"):
        InfoGraph(dim=8, epochs=1).fit(graphs, workers=2, on="ray://somewhere:10001")
