"""Training and grids on a local Ray cluster: what one machine gives, with workers that are killed."""

from __future__ import annotations

import json

import numpy as np
import pytest

from infograph import GIN, InfoGraph, load_dataset
from infograph.cells import as_text
from infograph.data.convert import as_graphset
from infograph.errors import TrainingDiverged
from infograph.evaluate.compare import Protocol, compare
from infograph.learn.parts import make_parts
from infograph.learn.tune import tune
from infograph.paper.run import run_grid
from infograph.paper.table1 import table1_cells
from tests.scale import dying
from tests.scale.conftest import molecules

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings(
        "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"
    ),
]


def test_a_killed_worker_costs_nothing(tmp_path, monkeypatch):
    graphs = as_graphset(molecules(400))
    settings = {"dim": 32, "epochs": 6, "batch_size": 8, "encoder": GIN(layers=2)}
    alone = InfoGraph(**settings).fit(graphs, workers=2)
    dying.let_die(monkeypatch, tmp_path)
    monkeypatch.setattr("infograph.estimators.distributed._run_on_ray", dying.run_on_ray)
    told = []
    watch = lambda now: told.append((now.epoch, now.epochs))  # noqa: E731
    model = InfoGraph(**settings).fit(graphs, workers=2, on="ray", watchers=[watch])
    assert (tmp_path / dying.DIED).is_file() and told[-1] == (6, 6)
    expected = alone.network_.state_dict()
    for name, values in model.network_.state_dict().items():
        np.testing.assert_array_equal(values.numpy(), expected[name].numpy(), err_msg=name)
    with pytest.raises(TrainingDiverged, match="lower lr"):
        InfoGraph(**{**settings, "lr": 1e30}).fit(graphs, workers=2, on="ray")


def without_measured(folder):
    """Result files but for what was measured."""
    found = {}
    for path in sorted(folder.rglob("*.json")):
        content = json.loads(path.read_text())
        if isinstance(content, dict):
            found[path.name] = as_text({k: v for k, v in content.items() if k not in ("measured", "took")})
    return found


def test_grids_give_the_files_of_one_process(tmp_path):
    graphs = load_dataset("MUTAG")
    labels = graphs.graph["y"]
    protocol = Protocol(repeats=1, folds=3, inner_folds=2)
    for folder, where in (("here", {}), ("ray", {"workers": 2, "on": "ray"})):
        compare(graphs, labels, ["wl", "labels"], tmp_path / folder, protocol=protocol, **where)
    assert without_measured(tmp_path / "here") == without_measured(tmp_path / "ray")
    assert len(without_measured(tmp_path / "ray")) == 2

    parts = make_parts(graphs, ["y"], task="classification", validation=0, test=0.2)
    space = {"lr": [1e-2, 1e-4]}
    estimator = InfoGraph(dim=8, epochs=1, encoder=GIN(layers=2))
    here = tune(estimator, space, parts, tmp_path / "tune here", workers=2)
    far = tune(estimator, space, parts, tmp_path / "tune ray", workers=2, on="ray")
    assert far.to_dict() == here.to_dict()
    assert without_measured(tmp_path / "tune here") == without_measured(tmp_path / "tune ray")

    cells = table1_cells(["MUTAG"], ["labels"], range(2))
    for folder, where in (("grid here", {}), ("grid ray", {"workers": 2, "on": "ray"})):
        done = list(run_grid(cells, tmp_path / folder, **where))
        assert [each.outcome for each in done] == ["computed"] * len(cells)
    assert without_measured(tmp_path / "grid here") == without_measured(tmp_path / "grid ray")
