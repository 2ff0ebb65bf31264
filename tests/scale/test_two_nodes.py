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
from contextlib import ExitStack
from pathlib import Path

import pytest

from infograph.scale import embed_shards
from tests.processes import PATIENCE, started
from tests.scale.conftest import everything, molecules

pytestmark = pytest.mark.slow
# The command line; before it gives out the fifth shard it stops and asks.
JOB = """
import sys
from infograph.cli import main
from infograph.jobs import run
from infograph.scale import embed

def slowly(shards):
    for number, shard in enumerate(shards):
        if number == 4:
            print("half", file=sys.__stdout__, flush=True)
            sys.stdin.readline()
        yield shard

embed.run = lambda function, shards, **where: run(function, slowly(shards), **where)
sys.exit(main(sys.argv[1:]))
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def node(*options):
    """A node with all its processes."""
    ray = [str(Path(sys.executable).with_name("ray")), "start", "--block", "--num-cpus=1"]
    ports = ["--min-worker-port=0", "--max-worker-port=0"]  # any: the usual range may hold the others
    return started(
        [*ray, "--object-store-memory=80000000", "--disable-usage-stats", *ports, *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def wait_for_nodes(address, count):
    """Until the cluster has so many nodes; asked by a process of its own, which leaves the cluster alone."""
    code = (
        "import sys, ray; ray.init(sys.argv[1], logging_level='ERROR', log_to_driver=False); "
        "sys.exit(sum(node['Alive'] for node in ray.nodes()) != int(sys.argv[2]))"
    )
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        asked = subprocess.run([sys.executable, "-c", code, address, str(count)], capture_output=True)
        if asked.returncode == 0:
            return
        time.sleep(1)
    raise AssertionError(f"no cluster of {count} nodes at {address}: {asked.stderr.decode()[-500:]}")


@pytest.fixture
def cluster(monkeypatch):
    """Where it answers, and its second node."""
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
    port, client = free_port(), free_port()
    first = ["--head", f"--port={port}", f"--ray-client-server-port={client}", "--include-dashboard=false"]
    with ExitStack() as nodes:
        nodes.enter_context(node(*first))
        wait_for_nodes(f"ray://127.0.0.1:{client}", 1)
        other = nodes.enter_context(node(f"--address=127.0.0.1:{port}"))
        wait_for_nodes(f"ray://127.0.0.1:{client}", 2)
        yield f"ray://127.0.0.1:{client}", other


def test_a_node_that_goes_takes_no_rows_with_it(cluster, model, write, tmp_path):
    address, other = cluster
    for n in range(8):
        write(f"p{n}.parquet", [*molecules(400, seed=n), "(("])
    options = ["--block", "50", "--json"]
    command = [sys.executable, "-c", JOB, "embed", str(model), str(tmp_path / "in")]
    command += ["--out", f"{tmp_path / 'two'}/", "--workers", "2", "--on", address, *options]
    with started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as job:
        assert job.stdout is not None and job.stdout.readline() == "half\n"
        assert len(list((tmp_path / "two" / "_shards").glob("*.json"))) >= 3
        os.killpg(other.pid, signal.SIGKILL)
        other.wait()
        said = json.loads(job.communicate("go on\n", timeout=PATIENCE)[0])
    assert (said["rows"], said["embedded"], said["rejected"], said["failed"]) == (3208, 3200, 8, [])
    embed_shards(model, tmp_path / "in", tmp_path / "one", workers=2, block=50)
    assert everything(tmp_path / "two") == everything(tmp_path / "one")
