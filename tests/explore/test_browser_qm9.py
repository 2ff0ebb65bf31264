"""A chemist's afternoon with molecules of QM9, and the pictures of it that README and docs show."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from infograph import GIN, InfoGraph
from infograph.data.datasets import entry_for, wheel_folder
from infograph.data.qm9 import read_qm9
from infograph.explore import make_atlas
from infograph.index import GraphIndex
from tests.explore.browser import ask, draw_lasso, has_points, loaded, spot, take_picture
from tests.explore.conftest import served

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def qm9() -> Iterator[str]:
    """A server of the first 3,000 molecules of QM9."""
    source = wheel_folder(entry_for("QM9"))
    if source is None:
        pytest.skip("qm9pack is not installed")
    graphs = read_qm9(source, limit=3_000)
    encoder = GIN(layers=3, readout="sum")
    model = InfoGraph.paper(dim=64, epochs=3, encoder=encoder).fit(graphs)
    index = GraphIndex.build(model, graphs, columns=["smiles", "alpha", "gap", "mu", "U0"])
    with served(index, make_atlas(index, title="QM9", colour="alpha")) as where:
        yield where


def test_a_molecule_is_found_by_its_smiles_and_its_neighbours_are_drawn(view, qm9, tmp_path):
    page = view(qm9, width=1360, height=850)
    assert has_points(page, 3_000)
    ask(page, "OCC(C)=O")
    page.wait_for_selector("#graph .near button")
    assert loaded(page, "#graph .large")
    for place in range(12):
        assert loaded(page, f"#graph .near button:nth-of-type({place + 1}) img")
    assert take_picture(page, "explorer", tmp_path).stat().st_size > 50_000


def test_contributions_in_the_dark(view, qm9, tmp_path):
    page = view(qm9, width=1360, height=850, scheme="dark")
    page.mouse.click(*spot(page, 2_000))
    page.wait_for_selector("#contributions")
    page.click("#contributions")
    assert loaded(page, "#graph .large")
    page.select_option("#colour", "cluster")
    page.wait_for_selector("#legend button")
    assert take_picture(page, "contributions", tmp_path).stat().st_size > 50_000


def test_a_region_is_described_by_its_chemistry(view, qm9, tmp_path):
    page = view(qm9, width=1360, height=850)
    draw_lasso(page, [(0.1, 0.15), (0.3, 0.15), (0.3, 0.45), (0.1, 0.45)])
    assert page.locator("#region .near button").count() == 12 and loaded(page, "#region .near img")
    assert "% here" in page.locator("#region .facts").inner_text()
    assert take_picture(page, "region", tmp_path).stat().st_size > 50_000
