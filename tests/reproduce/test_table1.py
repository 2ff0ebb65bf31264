"""Table 1: cells, what they measure, and a kill in the middle of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from infograph import InfoGraph, cross_validate, read_graphs
from infograph.cells import Busy, run_cell
from infograph.errors import (
    CheckpointMismatch,
    FileMissing,
    InvalidFile,
    InvalidGraph,
    InvalidParameter,
    JobStopped,
    MissingExtra,
    TrainingDiverged,
)
from infograph.evaluate import Evaluation
from infograph.evaluate.compare import METHODS, Method
from infograph.paper import table1
from infograph.paper.run import Durations, Outlook, in_words, run_grid, split_cells
from infograph.paper.table1 import collect, compute_table1, group, judged, table1_cell, table1_cells

GRID = """
import os
import signal
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from infograph import read_graphs
from infograph.paper import table1
from infograph.paper.run import run_grid

table1.load_dataset = lambda name: read_graphs(sys.argv[1])
table1.METHODS["infograph"] = replace(table1.METHODS["infograph"], epochs=(2, 4, 40))
cells = table1.table1_cells(["MUTAG"], ["wl", "infograph", "degrees"], range(1))
chosen = [cell for cell in cells if "layers" not in cell.name or "4 lr=0.01" in cell.name]


def live(now):
    pass

def die(now):
    if now.epoch == 6:
        os.kill(os.getpid(), signal.SIGKILL)

list(run_grid(chosen, Path(sys.argv[2]), watch=lambda cell: nullcontext(globals()[sys.argv[3]])))
"""
TRAINED = "layers=4 lr=0.001"
QUICK = replace(METHODS["infograph"], epochs=(2, 4, 12))


@pytest.fixture
def tiny_mutag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a small "MUTAG": 40 graphs, rings of one class and paths of the other."""
    folder = tmp_path / "MUTAG"
    folder.mkdir()
    rng = np.random.default_rng(0)
    edges, indicator, labels, first = [], [], [], 1
    for graph in range(40):
        size, ring = int(rng.integers(4, 9)), graph % 2
        pairs = [(i, (i + 1) % size) for i in range(size if ring else size - 1)]
        edges += [f"{first + a}, {first + b}\n{first + b}, {first + a}\n" for a, b in pairs]
        indicator += [f"{graph + 1}\n"] * size
        labels += [f"{int(each)}\n" for each in rng.integers(0, 3, size)]
        first += size
    (folder / "MUTAG_A.txt").write_text("".join(edges))
    (folder / "MUTAG_graph_indicator.txt").write_text("".join(indicator))
    (folder / "MUTAG_node_labels.txt").write_text("".join(labels))
    (folder / "MUTAG_graph_labels.txt").write_text("".join(f"{g % 2}\n" for g in range(40)))
    graphs = read_graphs(folder)
    monkeypatch.setattr(table1, "load_dataset", lambda name: graphs)
    return folder


def test_the_grid_of_infograph_is_the_papers():
    method = METHODS["infograph"]
    assert len(method.searched) * len(method.epochs) == 27
    cells = table1_cells(["MUTAG"], ["infograph"])
    assert len(cells) == 9 * 5 and len({cell.key for cell in cells}) == 45
    assert cells[0].settings["epochs"] == [10, 20, 100]
    assert {cell.settings["repeat"] for cell in cells[:9]} == {0}
    assert len(table1_cells(["MUTAG", "PTC_MR"], ["wl", "sp"], range(2))) == 2 * 2 * 6


def test_a_setting_that_changes_is_another_cell():
    a = table1_cell("MUTAG", METHODS["sp"], "default", 0)
    other = Method("sp", "SP", METHODS["wl"].settings)
    assert a.key != table1_cell("MUTAG", other, "default", 0).key


def test_one_run_gives_what_runs_of_their_own_give(tiny_mutag, tmp_path):
    cell = table1_cell("MUTAG", QUICK, TRAINED, 1)
    result = run_cell(cell, compute_table1, tmp_path / "results")
    evaluation = Evaluation.from_dict(result["evaluation"])
    assert [each.setting for each in evaluation.candidates] == [
        f"{TRAINED} epochs={epochs}" for epochs in QUICK.epochs
    ]
    assert len(result["history"]) == 12 and "seconds" not in result["history"][0]
    assert result["measured"]["represent_seconds"] > 0
    graphs = read_graphs(tiny_mutag)
    vectors = InfoGraph(layers=4, lr=1e-3, epochs=4, random_state=1).fit_transform(graphs)
    alone = cross_validate(vectors, graphs.graph["y"], repeats=1, random_state=1)
    np.testing.assert_array_equal(evaluation.candidates[1].outer, alone.candidates[0].outer)
    np.testing.assert_array_equal(evaluation.candidates[1].inner, alone.candidates[0].inner)


def test_cells_of_a_method_are_one_evaluation(tiny_mutag, tmp_path):
    cells = table1_cells(["MUTAG"], ["wl", "degrees"], range(2))
    found = [done.result for done in run_grid(cells, tmp_path)]
    groups = group(found)
    assert list(groups) == [("MUTAG", "wl"), ("MUTAG", "degrees")]
    evaluation = collect(groups["MUTAG", "wl"])
    assert evaluation.seeds == (0, 1) and len(evaluation.candidates) == 5
    partly = collect(groups["MUTAG", "wl"][:-1])  # its last setting lacks a repeat
    assert len(partly.candidates) == 4
    failed = {**groups["MUTAG", "degrees"][0], "empty": "diverged", "evaluation": None}
    assert collect([failed]) is None


def test_a_method_that_cannot_says_why(tiny_mutag, tmp_path):
    broken = Method("infograph", "", {"x": lambda seed: InfoGraph(lr=1e30, random_state=seed)}, epochs=(2,))
    cell = table1_cell("MUTAG", broken, "x", 0)
    result = run_cell(cell, lambda c, work: judged(broken.searched["x"](0), c.settings, work), tmp_path)
    assert "learning rate" in result["empty"] and result["evaluation"] is None


@pytest.mark.parametrize(
    "error",
    [
        MissingExtra("numba", "baselines"),
        FileMissing("gone"),
        InvalidFile("damaged"),
        CheckpointMismatch("of another run"),
        JobStopped("lost"),
        Busy("another process computes it"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_failures_of_the_machine_are_no_results(tiny_mutag, tmp_path, monkeypatch, error):
    cell = table1_cell("MUTAG", METHODS["degrees"], "default", 0)
    with monkeypatch.context() as broken:
        broken.setattr(table1, "represent", raising(error))
        with pytest.raises(type(error)):
            run_cell(cell, compute_table1, tmp_path)
    assert cell.read(tmp_path) is None
    (again,) = run_grid([cell], tmp_path)
    assert again.outcome == "computed" and not again.result["empty"]


@pytest.mark.parametrize("error", [InvalidParameter("too\n large"), InvalidGraph("no nodes", index=3)])
def test_what_a_method_refuses_is_a_result(tiny_mutag, tmp_path, monkeypatch, error):
    monkeypatch.setattr(table1, "represent", raising(error))
    (done,) = run_grid([table1_cell("MUTAG", METHODS["degrees"], "default", 0)], tmp_path)
    assert done.result["empty"] == " ".join(str(error).split()) and done.result["evaluation"] is None


def test_a_mistake_in_the_judging_is_not_the_methods(tiny_mutag, tmp_path, monkeypatch):
    monkeypatch.setattr(table1, "cross_validate", raising(InvalidParameter("too few graphs")))
    with pytest.raises(InvalidParameter, match="too few"):
        list(run_grid([table1_cell("MUTAG", METHODS["degrees"], "default", 0)], tmp_path))


def test_scores_before_a_divergence_stay(tiny_mutag, tmp_path, monkeypatch):
    """The second of three looks is the last; it equals that of a training which does not diverge."""
    cell = table1_cell("MUTAG", QUICK, TRAINED, 1)
    (whole,) = run_grid([cell], tmp_path / "whole")
    represent = table1.represent

    def diverge(estimator, graphs, **given):
        if estimator.epochs > 4:
            raise TrainingDiverged("the loss became nan\n in epoch 7")
        return represent(estimator, graphs, **given)

    monkeypatch.setattr(table1, "represent", diverge)
    (done,) = run_grid([cell], tmp_path / "short")
    assert done.outcome == "computed" and done.result["empty"] == ""
    assert done.result["lacking"] == "the loss became nan in epoch 7" and "lacking" not in whole.result
    found, expected = (Evaluation.from_dict(each.result["evaluation"]) for each in (done, whole))
    assert [each.setting for each in found.candidates] == [f"{TRAINED} epochs={n}" for n in (2, 4)]
    for own, other in zip(found.candidates, expected.candidates, strict=False):
        np.testing.assert_array_equal(own.outer, other.outer)
    assert len(done.result["history"]) == 4 and done.result["measured"]["represent_seconds"] > 0


def test_a_budget_stops_inside_a_training_and_the_next_run_goes_on(tiny_mutag, tmp_path, monkeypatch):
    """By a clock that every step moves by one second."""
    cell = table1_cell("MUTAG", replace(QUICK, epochs=(40,)), TRAINED, 0)
    steps = []
    with monkeypatch.context() as slowly:
        slowly.setattr("infograph.paper.run.time", SimpleNamespace(time=lambda: len(steps)))
        watch = lambda cell: nullcontext(steps.append)  # noqa: E731
        done = list(run_grid([cell, cell], tmp_path / "a", budget=20, watch=watch))
    assert len(steps) == 21 and 1 < steps[-1].epoch < 40
    assert [each.outcome for each in done] == ["late"] and cell.read(tmp_path / "a") is None
    assert (tmp_path / "a" / ".work" / "table1" / cell.key / "checkpoint.safetensors").is_file()
    (again,) = run_grid([cell], tmp_path / "a")
    (straight,) = run_grid([cell], tmp_path / "b")
    assert again.outcome == straight.outcome == "computed"
    assert _without_measured(cell.path(tmp_path / "a")) == _without_measured(cell.path(tmp_path / "b"))
    assert next(run_grid([cell], tmp_path / "a")).outcome == "read"


@pytest.mark.slow
def test_processes_give_the_same_files(tmp_path):
    cells = table1_cells(["MUTAG"], ["degrees", "untrained"], range(1))
    for folder, workers in (("here", 1), ("there", 2)):
        done = list(run_grid(cells, tmp_path / folder, workers=workers))
        assert {each.outcome for each in done} == {"computed"}
    for cell in cells:
        files = [cell.path(tmp_path / folder) for folder in ("here", "there")]
        assert _without_measured(files[0]) == _without_measured(files[1])
    assert json.loads(files[1].read_text())["measured"]["machine"]["threads"] == 1


@pytest.mark.slow
def test_killed_in_the_middle_it_ends_as_if_nothing_had_happened(tiny_mutag, tmp_path):
    command = [sys.executable, "-c", GRID, str(tiny_mutag)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    killed, straight = tmp_path / "killed", tmp_path / "straight"
    done = subprocess.run([*command, str(killed), "die"], env=environment, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert list(killed.glob(".work/table1/*/4.json"))
    done_before = {path.name: path.stat().st_mtime_ns for path in killed.glob("table1/*.json")}
    assert list(killed.glob(".work/table1/*/checkpoint.safetensors"))
    for folder in (killed, straight):
        subprocess.run([*command, str(folder), "live"], env=environment, check=True, capture_output=True)
    names = sorted(path.name for path in straight.glob("table1/*.json"))
    assert names == sorted(path.name for path in killed.glob("table1/*.json")) and len(names) >= 4
    for name in names:
        assert _without_measured(killed / "table1" / name) == _without_measured(straight / "table1" / name)
    for name, stamp in done_before.items():
        assert (killed / "table1" / name).stat().st_mtime_ns == stamp  # never computed twice
    assert not list(killed.glob(".work/table1/*"))


def test_time_left_is_told_from_cells_of_the_same_kind(tiny_mutag, tmp_path):
    cells = table1_cells(["MUTAG"], ["sp", "wl"], range(1))
    known = Durations(tmp_path, cells)
    assert str(known.outlook([], cells)) == "not known yet"
    list(run_grid(cells[:2], tmp_path))
    done, missing = split_cells(cells, tmp_path)
    assert (len(done), len(missing)) == (2, 4)
    known = Durations(tmp_path, cells)
    outlook = known.outlook(done, missing)
    assert outlook.unknown == 0 and outlook.seconds == pytest.approx(
        4 * cells[1].read(tmp_path)["measured"]["seconds"]
    )
    assert str(Outlook(3, 3, 0.0, 0)) == "done"
    assert str(Outlook(1, 5, 90.0, 2)) == "2 min, and 2 cells of unknown length"
    assert [in_words(each) for each in (40, 600, 5400)] == ["40 s", "10 min", "1.5 h"]


def raising(error: Exception):
    def fail(*_, **__):
        raise error

    return fail


def _without_measured(path: Path) -> dict:
    return {key: value for key, value in json.loads(path.read_text()).items() if key != "measured"}


def test_large_sets_have_a_reduced_grid_of_infograph():
    names = [cell.name for cell in table1_cells(["REDDIT-BINARY"], ["infograph", "degrees"], range(1))]
    assert names == [
        "REDDIT-BINARY infograph layers=4 lr=0.001 0",
        "REDDIT-BINARY infograph layers=4 lr=0.0001 0",
        "REDDIT-BINARY degrees default 0",
    ]
    (cell,) = table1_cells(["REDDIT-MULTI-5K"], ["infograph"], range(1))
    assert cell.settings["epochs"] == [10, 20]
    assert cell.settings["parameters"]["layers"] == 4
