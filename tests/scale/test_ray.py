"""The same jobs on Ray: a local cluster of two workers, and clusters that are not there."""

from __future__ import annotations

import builtins
import socket
from pathlib import Path
from typing import Any

import pytest
import torch

from infograph.errors import InvalidParameter, JobStopped, MissingExtra
from infograph.scale import Progress, embed_shards
from infograph.scale.embed import RayPool
from tests.scale import dying
from tests.scale.conftest import Write, everything, molecules


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning:ray", "ignore::FutureWarning:ray")
def test_a_killed_actor_costs_nothing(
    model: Path, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two actors, one of them killed in the middle of a shard, give the bits of this process."""
    for n in range(6):
        write(f"p{n}.parquet", [*molecules(200, seed=n), "(("])
    (tmp_path / "in" / "bad.parquet").write_bytes(b"no shard")
    started: list[int] = []
    start = RayPool.start

    def remember(self: RayPool) -> int:
        started.append(start(self))
        return started[-1]

    def see(now: Progress) -> None:
        if now.rows > 0:
            (tmp_path / dying.SEEN).touch()

    dying.let_die(monkeypatch, tmp_path)
    monkeypatch.setattr("infograph.scale.embed.Embedding", dying.DyingEmbedding)
    monkeypatch.setattr(RayPool, "start", remember)
    report = embed_shards(
        model, tmp_path / "in", tmp_path / "ray", workers=2, on="ray", block=20, progress=see
    )
    assert (report.rows, report.embedded, report.rejected) == (1206, 1200, 6)
    assert [failure.shard for failure in report.failed] == ["bad"]
    assert (tmp_path / dying.DIED).is_file() and started == [1, 2, 3]
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    embed_shards(model, tmp_path / "in", tmp_path / "one", block=20)
    torch.set_num_threads(before)
    assert everything(tmp_path / "ray") == everything(tmp_path / "one")


def test_without_ray(model: Path, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.parquet", molecules(3))
    real = builtins.__import__

    def missing(name: str, *more: Any, **options: Any) -> Any:
        if name == "ray":
            raise ImportError(name)
        return real(name, *more, **options)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MissingExtra, match=r"this needs ray, .* pip install 'infograph\[scale\]'"):
        embed_shards(model, tmp_path / "in", tmp_path / "out", on="ray")


@pytest.mark.filterwarnings("ignore::DeprecationWarning:ray", "ignore::FutureWarning:ray")
def test_clusters_that_do_not_answer(
    model: Path, write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a.parquet", molecules(3))
    monkeypatch.setattr("infograph.jobs.PATIENCE", 1.0)
    ray = pytest.importorskip("ray")
    monkeypatch.setattr(ray, "init", lambda **_: pytest.fail("Ray would wait for half a minute"))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(
            JobStopped, match=rf"no Ray cluster answers at 'ray://127.0.0.1:{port}' \(timed out"
        ):
            embed_shards(model, tmp_path / "in", tmp_path / "out", on=f"ray://127.0.0.1:{port}")
    with pytest.raises(JobStopped, match="Connection refused"):
        embed_shards(model, tmp_path / "in", tmp_path / "out", on=f"ray://127.0.0.1:{port}")
    for on in ("ray://", "spark", "ray://host", "ray://host:port"):
        with pytest.raises(InvalidParameter, match="expected"):
            embed_shards(model, tmp_path / "in", tmp_path / "out", on=on)
    assert embed_shards(model, tmp_path / "in", tmp_path / "out").complete  # nothing was left locked


def test_the_cluster_file_of_the_docs_is_valid() -> None:
    """By Ray's own rules for such files."""
    pytest.importorskip("ray")
    import yaml
    from ray.autoscaler._private.util import prepare_config, validate_config

    text = (Path(__file__).parents[2] / "docs" / "scale.md").read_text()
    config = yaml.safe_load(text.split("```yaml\n")[1].split("```")[0])
    validate_config(prepare_config(config))
