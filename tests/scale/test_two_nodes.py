"""A cluster of two nodes on one host, one of which is stopped half-way through a job."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from infograph.scale import embed_shards
from tests.scale.conftest import Write, everything, molecules

pytestmark = pytest.mark.slow


@dataclass
class Cluster:
    """Where it answers, and its two nodes."""

    address: str
    head: subprocess.Popen[bytes]
    other: subprocess.Popen[bytes]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def start(*options: str) -> subprocess.Popen[bytes]:
    """A node in a process group of its own."""
    ray = [str(Path(sys.executable).with_name("ray")), "start", "--block", "--num-cpus=1"]
    ports = ["--min-worker-port=0", "--max-worker-port=0"]  # any: the usual range may hold the others
    return subprocess.Popen(
        [*ray, "--object-store-memory=80000000", "--disable-usage-stats", *ports, *options],
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def stop(node: subprocess.Popen[bytes]) -> None:
    if node.poll() is None:
        os.killpg(node.pid, signal.SIGTERM)
        try:
            node.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(node.pid, signal.SIGKILL)
            node.wait()


def wait_for_nodes(address: str, count: int) -> None:
    """Until the cluster has so many nodes; asked by a process of its own, which leaves the cluster alone."""
    code = (
        "import sys, ray; ray.init(sys.argv[1], logging_level='ERROR', log_to_driver=False); "
        "sys.exit(sum(node['Alive'] for node in ray.nodes()) != int(sys.argv[2]))"
    )
    until = time.monotonic() + 90
    while time.monotonic() < until:
        asked = subprocess.run([sys.executable, "-c", code, address, str(count)], capture_output=True)
        if asked.returncode == 0:
            return
        time.sleep(1)
    raise AssertionError(f"no cluster of {count} nodes at {address}: {asked.stderr.decode()[-500:]}")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
    port, client = free_port(), free_port()
    head = start(
        "--head", f"--port={port}", f"--ray-client-server-port={client}", "--include-dashboard=false"
    )
    nodes = [head]
    try:
        wait_for_nodes(f"ray://127.0.0.1:{client}", 1)
        nodes.append(start(f"--address=127.0.0.1:{port}"))
        wait_for_nodes(f"ray://127.0.0.1:{client}", 2)
        yield Cluster(f"ray://127.0.0.1:{client}", *nodes)
    finally:
        for node in reversed(nodes):
            stop(node)


def test_a_node_that_goes_takes_no_rows_with_it(
    cluster: Cluster, model: Path, write: Write, tmp_path: Path
) -> None:
    for n in range(8):
        write(f"p{n}.parquet", [*molecules(1500, seed=n), "(("])
    options = ["--block", "50", "--json"]
    command = [sys.executable, "-m", "infograph", "embed", str(model), str(tmp_path / "in")]
    command += ["--out", f"{tmp_path / 'two'}/", "--workers", "2", "--on", cluster.address, *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as job:
        records = tmp_path / "two" / "_shards"
        while job.poll() is None and len(list(records.glob("*.json"))) < 2:
            time.sleep(0.05)
        assert job.poll() is None
        os.killpg(cluster.other.pid, signal.SIGKILL)
        cluster.other.wait()
        said = json.loads(job.communicate(timeout=200)[0])
    assert (said["rows"], said["embedded"], said["rejected"], said["failed"]) == (12_008, 12_000, 8, [])
    embed_shards(model, tmp_path / "in", tmp_path / "one", workers=2, block=50)
    assert everything(tmp_path / "two") == everything(tmp_path / "one")
