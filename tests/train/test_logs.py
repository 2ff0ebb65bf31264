"""What training tells: CSV files, TensorBoard's files, the logger; gradients that are clipped; autocast."""

from __future__ import annotations

import csv
import logging
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from infograph import CSVLog, InfoGraph, InfoGraphRegressor, TensorBoard, load_dataset
from infograph.cells import parameters_of
from infograph.errors import InvalidParameter, MissingExtra

GRAPHS = load_dataset("MUTAG")[:40]


def small(**changed: Any) -> InfoGraph:
    return InfoGraph(**{"dim": 8, "encoder": "gin", "epochs": 3, "batch_size": 16, **changed})


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def check_rows(rows: list[dict[str, str]], history: list[dict[str, float]]) -> None:
    assert len(rows) == len(history)
    for row, record in zip(rows, history, strict=True):
        found = {name: float(value) for name, value in row.items() if value and name != "run"}
        assert found == {
            name: pytest.approx(value, nan_ok=True) for name, value in record.items() if name != "model"
        }


def scalars_of(folder: Path) -> dict[str, list[tuple[int, float]]]:
    events = EventAccumulator(str(folder))
    events.Reload()
    return {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def test_both_files_hold_the_history(tmp_path):
    logs = [CSVLog(tmp_path / "new" / "run.csv"), TensorBoard(tmp_path / "runs")]
    model = small(epochs="auto").fit(GRAPHS, watchers=[lambda now: now.epoch == 3 and now.stop(), *logs])
    check_rows(rows_of(tmp_path / "new" / "run.csv"), model.history_)
    found = scalars_of(tmp_path / "runs")
    assert set(found) == {name for name in model.history_[0] if name != "epoch"}
    for name, values in found.items():
        expected = [(int(record["epoch"]), np.float32(record[name])) for record in model.history_]
        assert values == expected


def test_a_resumed_run_goes_on_in_its_file_and_a_new_one_begins_it_anew(tmp_path):
    path, folder = tmp_path / "run.csv", tmp_path / "checkpoint"

    def stop(now: Any) -> None:
        if now.epoch == 2:
            now.stop()

    begun = small().fit(GRAPHS, checkpoint=folder, watchers=[stop, CSVLog(path)])
    check_rows(rows_of(path), begun.history_)  # the epoch that was ended early is there, once
    with path.open("a") as file:
        file.write("3" + "," * (len(begun.history_[0]) - 1) + "\n")  # of an epoch after the checkpoint
    model = small(epochs=4).fit(GRAPHS, checkpoint=folder, resume=True, watchers=[CSVLog(path)])
    assert len(model.history_) == 4
    check_rows(rows_of(path), model.history_)
    anew = small(epochs=2).fit(GRAPHS, watchers=[CSVLog(path)])
    check_rows(rows_of(path), anew.history_)


def test_networks_of_an_ensemble_are_runs(tmp_path):
    logs = [CSVLog(tmp_path / "run.csv"), TensorBoard(tmp_path / "runs")]
    model = InfoGraphRegressor("supervised", "gin", 8, epochs=2, n_models=2, steps_per_epoch=2)
    model.fit(GRAPHS, GRAPHS.sizes.astype(float), watchers=logs)
    rows = rows_of(tmp_path / "run.csv")
    check_rows(rows, model.history_)
    assert [row["run"] for row in rows] == ["", "", "2", "2"]
    losses = [record["loss"] for record in model.history_]
    for folder, own in ((tmp_path / "runs", losses[:2]), (tmp_path / "runs" / "run-2", losses[2:])):
        assert [value for _, value in scalars_of(folder)["loss"]] == pytest.approx(own)


@pytest.mark.parametrize("ended", [1, 2, 3])
def test_an_ensemble_that_goes_on_logs_as_one_that_was_not_interrupted(ended, tmp_path):
    """Ended after the first network, in the second one, and in the first one."""
    path, folder = tmp_path / "run.csv", tmp_path / "checkpoint"

    def interrupt(now: Any) -> None:
        network = 1 if ended == 3 else 2
        if len(now.model.models_) == network and (now.epoch == 2 or ended == 1):
            raise KeyboardInterrupt

    def fit(**options: Any) -> InfoGraphRegressor:
        model = InfoGraphRegressor("supervised", "gin", 8, epochs=3, n_models=2, steps_per_epoch=2)
        return model.fit(GRAPHS, GRAPHS.sizes.astype(float), checkpoint=folder, **options)

    with pytest.raises(KeyboardInterrupt):
        fit(watchers=[interrupt, CSVLog(path), TensorBoard(tmp_path / "runs")])
    model = fit(resume=True, watchers=[CSVLog(path), TensorBoard(tmp_path / "runs")])
    check_rows(rows_of(path), model.history_)
    assert [row.get("run") for row in rows_of(path)] == [""] * 3 + ["2"] * 3
    losses = [record["loss"] for record in model.history_]
    for folder, own in ((tmp_path / "runs", losses[:3]), (tmp_path / "runs" / "run-2", losses[3:])):
        assert [value for _, value in scalars_of(folder)["loss"]] == pytest.approx(own)


def test_workers_log_every_epoch(tmp_path):
    path = tmp_path / "run.csv"
    model = small(epochs=10).fit(GRAPHS, workers=2, watchers=[CSVLog(path)])
    check_rows(rows_of(path), model.history_)


def test_without_tensorboard_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch.utils.tensorboard", None)
    with pytest.raises(MissingExtra, match=r"infograph\[log\]"):
        TensorBoard("runs")


def test_the_logger(caplog, capsys):
    assert logging.getLogger("infograph").handlers == []
    with caplog.at_level(logging.DEBUG, "infograph"):
        small().fit(GRAPHS)
    told = [
        (record.levelname, record.getMessage()) for record in caplog.records if record.name == "infograph"
    ]
    assert [level for level, _ in told] == ["INFO", "DEBUG", "DEBUG", "DEBUG", "INFO"]
    assert told[0][1] == "InfoGraph: training of at most 3 epochs, 0 done"
    assert "epoch 2 of 3" in told[2][1] and "loss" in told[2][1]
    assert told[-1][1] == "InfoGraph: training ended after 3 epochs"
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("clip", [0.01, 1e9])
def test_gradients_are_clipped(clip, monkeypatch):
    """The norm over all weights that Adam sees; an update of a short gradient is left alone."""
    seen: list[float] = []
    step = torch.optim.Adam.step

    def spy(self: Any, *args: Any) -> Any:
        weights = [p.grad for group in self.param_groups for p in group["params"] if p.grad is not None]
        seen.append(math.sqrt(sum(float(each.square().sum()) for each in weights)))
        return step(self, *args)

    monkeypatch.setattr(torch.optim.Adam, "step", spy)
    plain = small().fit(GRAPHS)
    free, seen[:] = list(seen), []
    model = small(clip=clip).fit(GRAPHS)
    if clip > 1:
        assert seen == free
        np.testing.assert_array_equal(model.transform(GRAPHS), plain.transform(GRAPHS))
    else:
        assert min(free) > clip and seen == pytest.approx([clip] * len(free), rel=1e-3)
    with pytest.raises(InvalidParameter, match="clip"):
        small(clip=0).fit(GRAPHS)


def test_a_result_without_clipping_keeps_its_name():
    for estimator in (InfoGraph.paper(), InfoGraphRegressor.paper()):
        assert "clip" not in parameters_of(estimator)
        assert parameters_of(estimator.set_params(clip=2.0))["clip"] == 2.0


def test_inside_autocast_nothing_is_computed():
    model = small().fit(GRAPHS)
    words = "torch.autocast is on, and this computes in 32 bits"
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for call in (small().fit, small(epochs=0).fit, model.transform, model.transform_nodes):
            with pytest.raises(InvalidParameter, match=words):
                call(GRAPHS)
        with torch.autocast("cpu", enabled=False):
            np.testing.assert_array_equal(model.transform(GRAPHS[:2]), model.transform(GRAPHS[:2]))
