"""A chemist's afternoon with molecules of QM9, and the pictures of it that README and docs show."""

from __future__ import annotations

from tests.explore.browser import ask, draw_lasso, has_points, loaded, spot, take_picture


def test_a_molecule_is_found_by_its_smiles_and_its_neighbours_are_drawn(view, qm9, tmp_path):
    page = view(qm9, width=1360, height=850)
    assert has_points(page, 3_000)
    ask(page, "OCC(C)=O")
    page.wait_for_selector("#graph .near button")
    assert loaded(page, "#graph .large")
    for place in range(12):
        assert loaded(page, f"#graph .near button:nth-of-type({place + 1}) img")
    assert take_picture(page, "explorer", tmp_path).stat().st_size > 50_000


def test_hover_draws_the_molecule(view, qm9):
    page = view(qm9)
    page.mouse.move(*spot(page, 1_500))
    page.wait_for_selector("#tip:not([hidden])")
    assert loaded(page, "#tip img")


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


def test_unseen_molecules_come_in_a_file(view, qm9):
    page = view(qm9)
    body = b"CC(=O)Oc1ccccc1C(=O)O aspirin\nCn1cnc2c1c(=O)n(C)c(=O)n2C caffeine\n"
    page.set_input_files("#upload", {"name": "mine.smi", "mimeType": "text/plain", "buffer": body})
    page.wait_for_function("() => document.querySelectorAll('.mark.new').length === 2")
    assert "aspirin" in page.locator("#uploaded").inner_text()


def test_a_smiles_that_is_none_is_said_so(view, qm9):
    page = view(qm9)
    ask(page, "C1CC(")
    page.wait_for_selector("#error:not([hidden])")
    assert "C1CC(" in page.locator("#error").inner_text()
