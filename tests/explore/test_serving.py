"""The verb and the server's address."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from infograph.cli.look import explore
from infograph.errors import InvalidParameter, MissingExtra
from infograph.explore import make_atlas, serve
from infograph.explore.guard import is_loopback, open_socket, page_address
from infograph.index import GraphIndex
from tests.explore.conftest import index_of
from tests.processes import PATIENCE, interrupted, started

httpx = pytest.importorskip("httpx", reason="the server is tested with httpx")
pytest.importorskip("uvicorn", reason="the server needs it")
VERB = "import typer; from infograph.cli.look import explore; typer.run(explore)"


@pytest.fixture
def run():
    app = typer.Typer()
    app.command()(explore)
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_verb_serves_until_it_is_stopped(folder):
    command = [sys.executable, "-c", VERB, str(folder), "--port", "0", "--no-browser", "--method", "pca"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    with started(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as run:
        address = re.match(r"(http://127\.0\.0\.1:\d+/) ", run.stdout.readline())[1]
        assert httpx.get(f"{address}api/atlas", timeout=PATIENCE).json()["title"] == "molecules"
        assert "Traceback" not in interrupted(run)
    assert run.returncode == 0


def test_what_would_fail_after_the_work_is_refused_before_it(run, folder, monkeypatch):
    with open_socket("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        result = run(folder, "--port", port, "--no-browser")
    assert isinstance(result.exception, InvalidParameter)
    assert f"cannot listen on port {port} of 127.0.0.1: Address already in use" in str(result.exception)
    monkeypatch.setattr("infograph.explore.guard.NEEDED", ("fastapi", "no_such_server"))
    result = run(folder, "--no-browser")
    assert isinstance(result.exception, MissingExtra) and "infograph[explore]" in str(result.exception)


def test_the_port_is_held_from_before_the_work(run, folder, monkeypatch):
    with open_socket("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    seen = []

    def work(index, *_, **__):
        with pytest.raises(InvalidParameter, match="cannot listen"):
            open_socket("127.0.0.1", port)
        return make_atlas(index, method="pca")

    monkeypatch.setattr("infograph.explore.make_atlas", work)
    monkeypatch.setattr("uvicorn.Server.run", lambda _, sockets: seen.append(sockets[0].getsockname()[1]))
    result = run(folder, "--port", port, "--no-browser")
    assert result.exception is None and seen == [port] and f":{port}/ " in result.stdout
    open_socket("127.0.0.1", port).close()  # given up at the end


def test_a_server_that_cannot_begin_gives_its_port_up(index):
    with open_socket("127.0.0.1", 0) as free:
        port = free.getsockname()[1]
    with pytest.raises(InvalidParameter, match="make one with make_atlas"):
        serve(index, make_atlas(index_of(np.eye(3))), port=port)
    open_socket("127.0.0.1", port).close()


def test_addresses():
    assert is_loopback("127.0.0.1") and is_loopback("::1") and is_loopback("localhost")
    assert not is_loopback("0.0.0.0") and not is_loopback("192.168.0.7") and not is_loopback("evil.example")
    assert page_address("127.0.0.1", 80) == "http://127.0.0.1:80/"
    assert page_address("0.0.0.0", 80, "a b&") == "http://127.0.0.1:80/?token=a%20b%26"
    assert page_address("::1", 80) == "http://[::1]:80/"


def test_opening_a_map_needs_no_torch(folder):
    """It is read with the model, while the page is opened: seconds that nobody waits for."""
    code = (
        "import sys; from infograph.index import GraphIndex; from infograph.explore import make_atlas\n"
        "from infograph.explore.server import make_app\n"
        f"folder = {str(folder)!r}; index = GraphIndex.open(folder)\n"
        "make_app(index, make_atlas(index, folder, method='pca'))\n"
        "print('torch' in sys.modules)"
    )
    make_atlas(GraphIndex.open(folder), folder, method="pca")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
