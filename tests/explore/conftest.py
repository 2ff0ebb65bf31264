from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from infograph import GraphSet, InfoGraph, as_graphset
from infograph.data.columns import store_graph_column
from infograph.explore import Atlas, Limits, make_atlas
from infograph.explore.serving import NEEDED, open_socket
from infograph.index import GraphIndex

PARTS = ("CCO", "c1ccccc1O", "CC(=O)O", "CCN", "c1ccncc1", "CCCC", "C1CCCCC1", "CC#N")
N = 40
EVIL = "</script><script>alert(1)</script>"
FORMULA = '=HYPERLINK("http://x")'


@pytest.fixture(scope="session")
def molecules() -> GraphSet:
    """40 molecules; one id that would end a script element, and a text that a spreadsheet would run."""
    pytest.importorskip("rdkit", reason="the graphs of these tests are molecules")
    ids = [EVIL, *(f"mol{i}" for i in range(1, N))]
    graphs = as_graphset(["C" * (i // 8) + PARTS[i % 8] for i in range(N)], ids=ids)
    columns = {
        "active": ["yes" if i % 2 else "no" for i in range(N)],
        "logS [mol/L]": [None if i == 5 else i / 7 for i in range(N)],
        "note": [FORMULA if i == 1 else f"note {i}" for i in range(N)],
        "cluster": [f"own {i % 3}" for i in range(N)],
    }
    for name, raw in columns.items():
        values, column = store_graph_column(name, raw)
        graphs = graphs.with_column("graph", column, values)
    return graphs


@pytest.fixture(scope="session")
def model(molecules: GraphSet) -> InfoGraph:
    return InfoGraph(dim=8, layers=2, epochs=1).fit(molecules)


@pytest.fixture(scope="session")
def folder(model: InfoGraph, molecules: GraphSet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("explore") / "molecules"
    GraphIndex.build(model, molecules).save(where)
    return where


@pytest.fixture(scope="session")
def index(folder: Path) -> GraphIndex:
    return GraphIndex.open(folder)


@pytest.fixture(scope="session")
def atlas(index: GraphIndex) -> Atlas:
    return make_atlas(index, method="pca", title="molecules")


@pytest.fixture(scope="session")
def limits() -> Limits:
    return Limits(body=200_000, graphs=50, nodes=2_000, edges=4_000, seconds=20)


@contextmanager
def served(index: GraphIndex, atlas: Atlas, **settings) -> Iterator[str]:
    """A server of its own on a free port; gives its address."""
    for name in NEEDED:
        pytest.importorskip(name, reason="the server needs it: pip install 'infograph[explore]'")
    import uvicorn

    from infograph.explore.server import make_app

    listening = open_socket("127.0.0.1", 0)
    config = uvicorn.Config(make_app(index, atlas, **settings), log_level="critical", access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        listening.close()


@pytest.fixture(scope="session")
def address(index: GraphIndex, atlas: Atlas, limits: Limits) -> Iterator[str]:
    with served(index, atlas, limits=limits) as where:
        yield where


@pytest.fixture(scope="session")
def client(address: str) -> Iterator:
    httpx = pytest.importorskip("httpx", reason="the server is tested with httpx")
    with httpx.Client(base_url=address, timeout=30) as made:
        yield made
