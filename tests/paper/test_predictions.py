"""What predictions are worth: the cells, their splits, and the tables made from result files."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks import prediction_tables as tables
from infograph import FingerprintForest, InfoGraphRegressor, read_graphs
from infograph.cells import run_cell
from infograph.data.qm9 import HEADERS
from infograph.data.splits import scaffold_split
from infograph.paper import predictions
from infograph.paper.predictions import (
    METHODS,
    SETS,
    compute_predictions,
    figures,
    prediction_cell,
    prediction_cells,
)
from tests.paper.test_vectors import SMILES, WEIGHT


@pytest.fixture
def molecules(tmp_path, monkeypatch):
    """A small set of molecules under the names of large ones."""
    lines = [f"{text},{value}" for text, value in zip(SMILES, WEIGHT, strict=True)]
    (tmp_path / "molecules.csv").write_text("\n".join(["smiles,y", *lines]) + "\n")
    graphs = read_graphs(tmp_path / "molecules.csv")
    monkeypatch.setattr(predictions, "load_dataset", lambda name: graphs)
    return graphs


def test_a_cell_judges_the_test_molecules_of_its_split(molecules, tmp_path):
    split = scaffold_split(molecules, seed=3)
    result = run_cell(prediction_cell("ESOL", "forest", 3), compute_predictions, tmp_path)
    forest = FingerprintForest(features="counts+descriptors", random_state=3).fit(
        molecules[split.labelled], "y"
    )
    wrong = forest.predict(molecules[split.test]) - WEIGHT[split.test]
    assert result["test"] == pytest.approx(np.sqrt(np.mean(wrong**2)))
    result = run_cell(prediction_cell("ESOL", "ridge on vectors", 3), compute_predictions, tmp_path)
    model = METHODS["ridge on vectors"](3, False).fit(molecules[split.labelled], "y")
    assert isinstance(model, InfoGraphRegressor)
    value, low, high = model.predict(molecules[split.test], interval=0.9)
    assert result["test"] == pytest.approx(np.sqrt(np.mean((value - WEIGHT[split.test]) ** 2)))
    inside = (low <= WEIGHT[split.test]) & (WEIGHT[split.test] <= high)
    assert result["intervals"]["coverage"] == pytest.approx(inside.mean())


def test_a_task_with_one_class_among_the_test_molecules_has_no_score(tmp_path, monkeypatch):
    lines = [f"{text},{value > np.median(WEIGHT):d},0" for text, value in zip(SMILES, WEIGHT, strict=True)]
    (tmp_path / "tasks.csv").write_text("\n".join(["smiles,heavy,never", *lines]) + "\n")
    graphs = read_graphs(tmp_path / "tasks.csv")
    monkeypatch.setattr(predictions, "load_dataset", lambda name: graphs)
    result = run_cell(prediction_cell("SIDER", "mean", 3), compute_predictions, tmp_path)
    assert result["scores"] == [0.5, None] and result["test"] == 0.5


def test_cells_and_splits():
    assert {of.role for of in SETS.values()} == {"choosing", "unseen", "finalists"}
    cells = prediction_cells(["ESOL", "ESOL ordered"], ["mean", "auto"], range(3))
    assert len(cells) == 3 * 2 + 2 and len({cell.key for cell in cells}) == 8  # one order is one split
    assert not prediction_cells(["QM9 100"], ["infograph* from molecules"], [0])
    seen = figures("roc_auc", np.array([[0.9, 0.2], [0.1, 0.3]]), np.array([[1, 1.0], [0, np.nan]]))
    assert seen[0] == 1.0 and np.isnan(seen[1])
    assert figures("rmse", np.array([[3.0]]), np.array([[0.0]])) == figures(
        "mae", np.array([[3.0]]), np.zeros((1, 1))
    )


def test_tables_are_made_from_result_files(tmp_path):
    assert "No results" in tables.labels_table({}) and "–" in tables.measured_table({})
    folder = tmp_path / "predictions"
    folder.mkdir()
    rng, scores = np.random.default_rng(0), {"auto": 0.6, "forest": 0.8, "atom counts": 1.2}
    for seed in range(5, 10):
        for method, score in scores.items():
            cell = prediction_cell("ESOL", method, seed)
            test = score + 0.02 * rng.normal()
            content = {"settings": cell.settings, "test": test, "n_test": 100}
            content |= {"chosen": "vectors", "inputs": "vectors+descriptors"} if method == "auto" else {}
            content["intervals"] = {"coverage": 0.9, "width": 2.0, "rank": 0.3}
            cell.path(tmp_path).write_text(json.dumps(content))
    for labels, test in ((100, 2.0), (300, 1.0)):
        for method, scale in {"mean": 3, "atom counts": 2, "forest": 1, "vectors": 0.5}.items():
            cell = prediction_cell(f"QM9 {labels}", method, 5)
            scores = [scale * test * (1 + (column == "gap")) for column in HEADERS]
            content = {"settings": cell.settings, "test": scale * test, "scores": scores, "n_test": 9}
            cell.path(tmp_path).write_text(json.dumps(content))
    found = tables.read_predictions(tmp_path)
    gain, p_value, verdict = tables._gain(found, "ESOL", "auto", tables.SIMPLE, range(5, 10))
    assert 0.2 < gain < 0.3 and p_value < 1e-3 and verdict == 1
    text = tables.measured_table(found)
    assert (
        "of 1 public sets" in text
        and "atom counts on 1. " in text
        and "less on 1 (ESOL), and more on 0" in text
    )
    assert "| ESOL | scaffold | auto | 90.0 | 2.00 | 0.30 | 5 |" in tables.coverage_table(found)
    assert "| gap | 100 | 12 | 8 | 4 | – | – | – | 2 | 1 |" in tables.labels_table(found)
    again = {("QM9 100", name, 6): found["QM9 100", name, 5] for name in ("mean", "atom counts", "forest")}
    assert "| gap | 100 | 12 | 8 | 4 | – | – | – | 2 (1) | 2 |" in tables.labels_table(found | again)
    assert tables.qm9_table(found) == "No results yet."
    most = {("QM9 5000", *place[1:]): each for place, each in found.items() if place[0] == "QM9 100"}
    assert "| gap | hartree | 12 | 8 | 4 | – | – | – | 2 | 50.0 % |" in tables.qm9_table(most)
    assert "on 12 of 12 targets." in tables.qm9_table(most)
    assert "| 5 | +2" in text and "| vectors 5 |" in text and "1 (ESOL) of these is left." in text
    for seed in range(5, 10):
        found["ESOL", "auto", seed]["inputs"] = "fingerprints+descriptors"
    assert "without any encoder, on 5 of 5 splits" in tables.measured_table(found)
    ElementTree.fromstring(tables.labels_figure(found))
    drawn = tables.coverage_figure(found)
    ElementTree.fromstring(drawn)
    assert drawn.count("<circle") == 5 and "seed 9: 90.0 %" in drawn
    assert "| 0.6" in tables.ordered_table({("ESOL ordered", "auto", 5): {"test": 0.6}})
