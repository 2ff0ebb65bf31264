"""Training by several workers: the gradients of one process, and runs that lose a worker."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from infograph import InfoGraph
from infograph.data.convert import as_graphset
from infograph.errors import InvalidParameter, JobStopped, TrainingDiverged
from infograph.jobs import Children
from infograph.train.loop import deal
from tests.scale import dying
from tests.scale.conftest import molecules
from tests.scale.share_gradients import build, outcome
from tests.workers.processes import PATIENCE, started

CASES: list[dict[str, Any]] = [
    {"bound": bound, "weighting": weighting}
    for bound in ("jsd", "dv", "infonce")
    for weighting in ("graph", "node")
]
CASES += [
    {"discriminator": "conditioned", "learn_eps": True},
    {"edge_columns": ["bond"]},
    {"encoder": "enn-s2s"},
    {"norm": False, "readout": "max"},
    {"negatives": "local"},
    {"negatives": "local", "weighting": "node", "bound": "infonce"},
]
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[int, int], list[Any]]:
    """What two and three workers found: (workers, case) -> one outcome per worker."""
    found: dict[tuple[int, int], list[Any]] = {}
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
def test_gradients_are_those_of_the_joined_batch(shared: Any, workers: int, case: int) -> None:
    settings = dict(CASES[case])
    negatives = settings.pop("negatives", "global")
    estimator, source, graphs = build(settings)
    if negatives == "local":
        expected = _averaged(settings, workers)
    else:
        terms = estimator.network_(source.batch(np.arange(len(graphs))))
        expected = outcome(estimator.network_, terms)
    for found in shared[workers, case]:  # on every worker
        assert found.keys() == expected.keys()
        for name in expected:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-9, atol=1e-11, err_msg=name)


def _averaged(settings: dict[str, Any], workers: int) -> dict[str, Any]:
    """Each part contrasted with itself only, from the states of the joined batch, and their mean."""
    estimator, source, graphs = build(settings)
    network, local_global = estimator.network_, estimator.network_.local_global
    whole = source.batch(np.arange(len(graphs)))
    states, vectors = network.encode(whole)
    total, shown = torch.zeros((), dtype=torch.float64), {"mi": 0.0, "accuracy": 0.0}
    for part in deal(np.arange(len(graphs)), source.costs, workers):
        batch = source.batch(part)
        size = len(part) if local_global.weighting == "graph" else int(graphs.sizes[part].sum())
        everyone = len(graphs) if local_global.weighting == "graph" else graphs.n_nodes
        own = _of_part(states, vectors, whole, batch, source, part)
        result = local_global(*own, batch)
        total = total + size / everyone * result.loss
        shown["mi"] += size / everyone * float(result.information)
        shown["accuracy"] += size / everyone * float(result.accuracy)
    terms = type("Terms", (), {"total": total, "shown": shown})
    return outcome(network, terms)


def _of_part(states: Any, vectors: Any, whole: Any, batch: Any, source: Any, part: Any) -> tuple[Any, Any]:
    """States and vectors of a part's own colours and graphs, taken from those of the joined batch."""
    source.batch(np.arange(len(whole.which)))
    places = [place.copy() for place in source._place]
    source.batch(part)
    taken = []
    for k, state in enumerate(states, start=1):
        colours = np.unique(source.colouring.graph_counts[k][part].indices)
        chosen = np.zeros(len(colours), np.int64)
        chosen[source._place[k][colours]] = places[k][colours]
        taken.append(state[torch.from_numpy(chosen)])
    graphs = np.zeros(len(batch.copies), np.int64)
    graphs[batch.which.numpy()] = whole.which.numpy()[part]
    return taken, vectors[torch.from_numpy(graphs)]


def test_dealing_is_even_and_complete() -> None:
    rng = np.random.default_rng(0)
    costs = rng.pareto(1.5, 1000).astype(np.int64) + 1
    graphs = rng.permutation(1000)[:128]
    parts = deal(graphs, costs, 3)
    assert sorted(np.concatenate(parts)) == sorted(graphs)
    sums = [int(costs[part].sum()) for part in parts]
    assert max(sums) - min(sums) <= max(1, int(costs[graphs].max()))
    assert [len(part) for part in deal(graphs[:3], costs * 0 + 1, 3)] == [1, 1, 1]


def test_a_graph_that_outweighs_all_others_leaves_its_worker_enough() -> None:
    costs = np.array([1000, 1, 1, 1, 1, 1])
    assert sorted(len(part) for part in deal(np.arange(6), costs, 2, least=2)) == [2, 4]
    assert sorted(len(part) for part in deal(np.arange(4), costs, 2, least=2)) == [2, 2]
    assert sorted(len(part) for part in deal(np.arange(6), costs, 3, least=2)) == [2, 2, 2]


def weights(model: InfoGraph) -> dict[str, np.ndarray]:
    return {name: tensor.numpy() for name, tensor in model.network_.state_dict().items()}


@pytest.mark.slow
def test_a_killed_worker_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = as_graphset(molecules(120))
    settings: dict[str, Any] = {"dim": 16, "layers": 2, "epochs": 4, "batch_size": 16}
    undisturbed = InfoGraph(**settings).fit(graphs, workers=2)
    family: list[Children] = []
    make = Children.__init__

    def remember(self: Children, *given: Any) -> None:
        make(self, "tests.scale.dying", *given[1:])
        family.append(self)

    dying.let_die(monkeypatch, tmp_path)
    monkeypatch.setattr(Children, "__init__", remember)
    with pytest.warns(RuntimeWarning, match=r"lost \(killed by signal 9\): all go on after epoch 2"):
        model = InfoGraph(**settings).fit(graphs, workers=2, checkpoint=tmp_path)
    assert len(family) == 2
    for name, values in weights(undisturbed).items():
        np.testing.assert_array_equal(weights(model)[name], values, err_msg=name)
    times = {"seconds", "graphs_per_second"}
    kept = [
        [{k: v for k, v in e.items() if k not in times} for e in m.history_] for m in (model, undisturbed)
    ]
    assert kept[0] == kept[1]

    longer = InfoGraph(**{**settings, "epochs": 5}).fit(graphs, workers=2, checkpoint=tmp_path, resume=True)
    assert len(longer.history_) == 5
    with pytest.raises(InvalidParameter, match="of another run: negatives"):
        InfoGraph(**settings).fit(graphs, workers=2, checkpoint=tmp_path, resume=True, negatives="local")


@pytest.mark.slow
def test_workers_that_die_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infograph.estimators.distributed.LOOPBACK", {"GLOO_SOCKET_IFNAME": "none"})
    with (
        pytest.warns(RuntimeWarning),
        pytest.raises(JobStopped, match="3 times a worker was lost in epoch 1"),
    ):
        InfoGraph(dim=8, layers=2, epochs=1).fit(molecules(10), workers=2)


@pytest.mark.slow
def test_a_loss_that_is_not_finite_is_told() -> None:
    with pytest.raises(TrainingDiverged, match="lower lr"):
        InfoGraph(dim=8, layers=2, epochs=3, lr=1e30).fit(molecules(30), workers=2)


def test_what_workers_cannot_do(tmp_path: Path) -> None:
    class Mine(torch.nn.Module):
        def forward(
            self, x: torch.Tensor, edge_index: torch.Tensor, batch: torch.Tensor
        ) -> list[torch.Tensor]:
            return [x]

    graphs = as_graphset(molecules(10))
    with pytest.raises(InvalidParameter, match="cannot be sent to workers"):
        InfoGraph(encoder=Mine(), epochs=1).fit(graphs, workers=2)
    with pytest.raises(InvalidParameter, match="10 graphs for 6 workers with local negatives"):
        InfoGraph(dim=8, epochs=1).fit(graphs, workers=6, negatives="local")
    for bad in ({"workers": 0}, {"workers": True}, {"negatives": "all"}, {"on": "spark"}):
        with pytest.raises(InvalidParameter, match=next(iter(bad))):
            InfoGraph(dim=8, epochs=1).fit(graphs, **bad)
    with pytest.raises(InvalidParameter, match="pass checkpoint"):
        InfoGraph(dim=8, epochs=1).fit(graphs, workers=2, on="ray://somewhere:10001")
