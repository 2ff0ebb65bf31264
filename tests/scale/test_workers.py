"""Shards in several processes and on Ray: the same bits as in one process, and the loss of a worker."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest
import torch

from infograph.errors import InvalidGraph, JobStopped, MissingExtra
from infograph.scale import Progress, embed_shards
from tests.scale import dying
from tests.scale.conftest import everything, molecules

of_ray = pytest.mark.filterwarnings("ignore::DeprecationWarning:ray", "ignore::FutureWarning:ray")


@pytest.fixture
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@of_ray
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("on", ["local", pytest.param("ray", marks=pytest.mark.slow)])
def test_a_killed_worker_costs_nothing(model, write, tmp_path, monkeypatch, on):
    """Two workers, one of them killed in the middle of a shard, give the bits of this process."""
    for n in range(4):
        write(f"p{n}.parquet", [*molecules(50, seed=n), "(("])
    (tmp_path / "in" / "bad.parquet").write_bytes(b"no shard")
    seen = []
    dying.let_die(monkeypatch, tmp_path)
    monkeypatch.setattr("infograph.scale.embed._attempt_there", dying.attempt_and_die)
    report = embed_shards(
        model, tmp_path / "in", tmp_path / "two", workers=2, on=on, block=20, progress=seen.append
    )
    assert (report.rows, report.embedded, report.rejected) == (204, 200, 4)
    assert [failure.shard for failure in report.failed] == ["bad"]
    assert (tmp_path / dying.DIED).is_file() and seen[-1] == Progress(204, 5, 5, 1.0)
    embed_shards(model, tmp_path / "in", tmp_path / "one", block=20)
    assert everything(tmp_path / "two") == everything(tmp_path / "one")


def test_mistakes_of_workers_are_sentences(model, write, tmp_path):
    write("a.parquet", ["(("])
    with pytest.raises(InvalidGraph, match=r"graph 0 \(id 'a:0'\): .*a\.parquet, row 1: the SMILES"):
        embed_shards(model, tmp_path / "in", tmp_path / "out", workers=2, errors="raise")


def test_without_ray(model, write, tmp_path, monkeypatch):
    write("a.parquet", molecules(3))
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match=r"this needs ray, .* pip install 'infograph\[scale\]'"):
        embed_shards(model, tmp_path / "in", tmp_path / "out", on="ray")


@of_ray
@pytest.mark.slow
def test_a_cluster_that_does_not_answer(model, write, tmp_path, monkeypatch):
    pytest.importorskip("ray")
    write("a.parquet", molecules(3))
    monkeypatch.setenv("RAY_CLIENT_MAX_CONNECTION_TIMEOUT_S", "1")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(JobStopped, match=rf"no Ray cluster at 'ray://127.0.0.1:{port}'"):
        embed_shards(model, tmp_path / "in", tmp_path / "out", on=f"ray://127.0.0.1:{port}")
    assert embed_shards(model, tmp_path / "in", tmp_path / "out").complete  # nothing was left locked


def test_the_cluster_file_of_the_docs_is_valid():
    """By Ray's own rules for such files."""
    pytest.importorskip("ray")
    import yaml
    from ray.autoscaler._private.util import prepare_config, validate_config

    text = (Path(__file__).parents[2] / "docs" / "scale.md").read_text()
    config = yaml.safe_load(text.split("```yaml\n")[1].split("```")[0])
    validate_config(prepare_config(config))
