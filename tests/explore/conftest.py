from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from infograph import GraphSet, InfoGraph, as_graphset, load_dataset
from infograph.data.convert import store_graph_column
from infograph.data.datasets import entry_for, wheel_folder
from infograph.data.qm9 import read_qm9
from infograph.explore import Atlas, Limits, make_atlas
from infograph.explore.serving import NEEDED, open_socket
from infograph.index import GraphIndex
from tests.explore.browser import ARGUMENTS, CHROMIUM
from tests.workers.processes import PATIENCE

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
    return Limits(body=200_000, graphs=50, nodes=2_000, edges=4_000, seconds=PATIENCE)


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
        thread.join(PATIENCE)
        listening.close()


@pytest.fixture(scope="session")
def address(index: GraphIndex, atlas: Atlas, limits: Limits) -> Iterator[str]:
    with served(index, atlas, limits=limits) as where:
        yield where


@pytest.fixture(scope="session")
def client(address: str) -> Iterator:
    httpx = pytest.importorskip("httpx", reason="the server is tested with httpx")
    with httpx.Client(base_url=address, timeout=PATIENCE) as made:
        yield made


@pytest.fixture(scope="session")
def browser() -> Iterator:
    playwright = pytest.importorskip("playwright.sync_api", reason="the page is tested with playwright")
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed, so the page is not tested")
    with playwright.sync_playwright() as run:
        started = run.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="session")
def mutag(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of MUTAG."""
    try:
        graphs = load_dataset("MUTAG")
    except Exception as error:
        pytest.skip(f"MUTAG is not at hand: {error}")
    index = GraphIndex.build(InfoGraph(dim=8, layers=2, epochs=2).fit(graphs), graphs)
    with served(index, make_atlas(index, method="pca", title="MUTAG")) as where:
        yield where


@pytest.fixture
def view(browser) -> Iterator:
    """Opens a page, with whatever goes wrong in it as a failure."""
    problems: list[str] = []
    contexts = []

    def open_page(address: str, width: int = 1280, height: int = 800, scheme: str = "light"):
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            reduced_motion="reduce",
            accept_downloads=True,
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(120_000)
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


@pytest.fixture(scope="session")
def qm9(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of the first 3,000 molecules of QM9."""
    source = wheel_folder(entry_for("QM9"))
    if source is None:
        pytest.skip("qm9pack is not installed")
    graphs = read_qm9(source, limit=3_000)
    model = InfoGraph(dim=64, layers=3, epochs=3, random_state=0).fit(graphs)
    index = GraphIndex.build(model, graphs, columns=["smiles", "alpha", "gap", "mu", "U0"])
    with served(index, make_atlas(index, title="QM9", colour="alpha")) as where:
        yield where
