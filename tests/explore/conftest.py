from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from infograph import GIN, Auto, GraphSet, InfoGraph, InfoGraphClassifier, as_graphset
from infograph.data.records import store_graph_column
from infograph.data.vectors import Embeddings
from infograph.explore import Atlas, Limits, make_atlas
from infograph.explore.guard import NEEDED, open_socket
from infograph.index import GraphIndex
from tests.explore.browser import ARGUMENTS, CHROMIUM
from tests.processes import PATIENCE

PARTS = ("CCO", "c1ccccc1O", "CC(=O)O", "CCN", "c1ccncc1", "CCCC", "C1CCCCC1", "CC#N")
N = 40
EVIL = "</script><script>alert(1)</script>"
FORMULAS = {1: '=HYPERLINK("http://x")', 22: " =1+1", 23: "\u00a0@x", 24: "\t1"}


def index_of(vectors: np.ndarray, **columns) -> GraphIndex:
    """An index of vectors without graphs."""
    return GraphIndex.of(Embeddings(np.arange(len(vectors)), vectors.astype(np.float32), columns))


@pytest.fixture(scope="session")
def molecules() -> GraphSet:
    """40 molecules; one id that would end a script element, and a text that a spreadsheet would run."""
    pytest.importorskip("rdkit", reason="the graphs of these tests are molecules")
    ids = [EVIL, *(f"mol{i}" for i in range(1, N))]
    graphs = as_graphset(["C" * (i // 8) + PARTS[i % 8] for i in range(N)], ids=ids)
    columns = {
        "active": ["yes" if i % 2 else "no" for i in range(N)],
        "logS [mol/L]": [None if i == 5 else i / 7 for i in range(N)],
        "note": [FORMULAS.get(i, f"note {i}") for i in range(N)],
        "cluster": [f"own {i % 3}" for i in range(N)],
    }
    for name, raw in columns.items():
        values, column = store_graph_column(name, raw)
        graphs = graphs.with_column("graph", column, values)
    return graphs


@pytest.fixture(scope="session")
def model(molecules: GraphSet) -> InfoGraph:
    return InfoGraph(dim=8, epochs=1, encoder=GIN(layers=2)).fit(molecules)


@pytest.fixture(scope="session")
def classifier(molecules: GraphSet) -> InfoGraphClassifier:
    return InfoGraphClassifier("infograph*", dim=8, epochs=1, encoder=Auto(layers=2)).fit(molecules, "active")


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


@contextmanager
def served(index: GraphIndex, atlas: Atlas | None = None, **settings) -> Iterator[str]:
    """A server of its own on a free port; gives its address."""
    for name in NEEDED:
        pytest.importorskip(name, reason="the server needs it: pip install 'infograph[explore]'")
    import uvicorn

    from infograph.explore.server import configured, make_app

    app = make_app(index, atlas or make_atlas(index, method="pca"), **settings)
    listening = open_socket("127.0.0.1", 0)
    server = uvicorn.Server(configured(app))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listening.close()


@contextmanager
def asked(index: GraphIndex, atlas: Atlas | None = None, **settings) -> Iterator:
    """A client of a server of its own."""
    httpx = pytest.importorskip("httpx", reason="the server is tested with httpx")
    with served(index, atlas, **settings) as where, httpx.Client(base_url=where, timeout=PATIENCE) as client:
        yield client


@pytest.fixture(scope="session")
def client(index: GraphIndex, atlas: Atlas) -> Iterator:
    limits = Limits(body=200_000, graphs=50, nodes=2_000, edges=4_000, seconds=PATIENCE)
    with asked(index, atlas, limits=limits) as made:
        yield made


@pytest.fixture(scope="session")
def address(client) -> str:
    return str(client.base_url)


@pytest.fixture(scope="session")
def browser() -> Iterator:
    playwright = pytest.importorskip("playwright.sync_api", reason="the page is tested with playwright")
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed, so the page is not tested")
    with playwright.sync_playwright() as run:
        started = run.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture
def view(browser) -> Iterator:
    """Opens a page; what goes wrong in it, and what it asks of other machines, is a failure."""
    problems: list[str] = []
    contexts = []

    def open_page(address: str, width: int = 1280, height: int = 800, scheme: str = "light"):
        def elsewhere(request) -> None:
            if not request.url.startswith(("data:", "blob:", "file:", "http://127.0.0.1:")):
                problems.append(request.url)

        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            reduced_motion="reduce",
            accept_downloads=True,
            has_touch=True,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.on("request", elsewhere)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "console", lambda said: problems.append(said.text) if "Security Policy" in said.text else None
        )
        page.goto(address)
        page.wait_for_selector("body[data-ready=true]")
        page.evaluate("() => new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []
