"""The page in a real browser: what people see, and what happens when they click."""

from __future__ import annotations

import pytest

from infograph.explore import write_map
from infograph.explore.map_file import PAGE
from tests.explore.browser import ask, draw_lasso, has_points, loaded, spot
from tests.explore.conftest import EVIL, N, served

ZOOMED = "() => document.querySelector('.mark.chosen').style.left"


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (420, "dark")])
def test_the_map_draws_points_and_fits_the_window(view, address, width, scheme):
    page = view(address, width=width, scheme=scheme)
    assert has_points(page, 500)
    assert page.locator("#title").inner_text() == "molecules"
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.locator("#legend button").count() == 2


def test_hover_shows_a_drawing_and_a_click_the_details(view, address, index):
    page = view(address)
    x, y = spot(page, 7)
    page.mouse.move(x, y)
    page.wait_for_selector("#tip:not([hidden])")
    assert loaded(page, "#tip img")
    row = int(page.locator("#tip").get_attribute("data-row"))
    page.mouse.click(x, y)
    page.wait_for_selector("#graph:not([hidden])")
    assert page.locator("#graph h2").first.inner_text() == str(index.ids[row])
    assert loaded(page, "#graph .large")
    assert "outlier score" in page.locator("#graph table").inner_text()
    assert page.locator("#graph .near button").count() == 12
    assert page.locator("#links line").count() == 12 and page.locator(".mark.chosen").count() == 1
    page.mouse.move(5, 400)
    page.wait_for_selector("#tip", state="hidden")
    card = page.locator("#graph .near button").nth(2)  # one walks from neighbour to neighbour
    name = card.locator("span").inner_text()
    card.click()
    page.wait_for_function("n => document.querySelector('#graph h2').textContent === n", arg=name)


def test_by_keys_alone_one_moves_zooms_chooses_and_keeps_one_s_place(view, address):
    page = view(address)
    page.focus("#map")
    for key in ("+", "ArrowLeft", "Enter"):
        page.keyboard.press(key)
    page.wait_for_selector("#contributions")
    plain = page.locator("#graph .large").get_attribute("src")
    page.focus("#contributions")
    page.keyboard.press("Enter")
    assert page.locator("#contributions").get_attribute("aria-pressed") == "true"
    assert page.evaluate("document.activeElement.id") == "contributions"
    assert page.locator("#graph .large").get_attribute("src") != plain and loaded(page, "#graph .large")
    before = page.locator("#graph h2").first.inner_text()
    page.locator("#graph .near button").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("n => document.querySelector('#graph h2').textContent !== n", arg=before)
    assert page.evaluate("document.activeElement.tagName") == "H2"
    page.keyboard.press("d")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "query"


def test_two_fingers_zoom(view, address):
    page = view(address)
    ask(page, "mol3")
    page.wait_for_selector(".mark.chosen")
    before = page.evaluate(ZOOMED)
    fingers = page.context.new_cdp_session(page)
    for apart in (40, 80, 160):
        points = [{"x": 300 + side * apart, "y": 300, "id": i} for i, side in enumerate((-1, 1))]
        kind = "touchStart" if apart == 40 else "touchMove"
        fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    fingers.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_function("was => document.querySelector('.mark.chosen').style.left !== was", arg=before)


def test_very_many_graphs_are_called_by_their_ids_too(view, index, atlas, monkeypatch):
    monkeypatch.setattr("infograph.explore.atlas.MAX_IDS", 10)
    with served(index, atlas) as where:
        page = view(where)
        page.mouse.move(*spot(page, 7))
        page.wait_for_function("() => document.querySelector('#tip span').textContent !== ''")
        row = int(page.locator("#tip").get_attribute("data-row"))
        assert page.locator("#tip span").inner_text() == str(index.ids[row])
    ask(page, "mol3")  # and a server that is gone is said so
    page.wait_for_selector("#error:not([hidden])")
    assert "does not answer" in page.locator("#error").inner_text()


def test_a_lasso_is_described_and_exported(view, address, tmp_path):
    page = view(address)
    draw_lasso(page, [(0.2, 0.02), (0.75, 0.02), (0.75, 0.98), (0.2, 0.98)])
    title = page.locator("#region h2").inner_text()
    chosen = int(title.split(":")[1].split()[0])
    assert 1 < chosen <= N and "chosen" in page.locator("#status").inner_text()
    with page.expect_download() as waiting:
        page.click("#export")
    path = tmp_path / "region.csv"
    waiting.value.save_as(path)
    lines = path.read_text().splitlines()
    assert lines[0].endswith("cluster,cluster (map),outlier score,map_x,map_y") and len(lines) == chosen + 1
    page.locator("body").press("Escape")
    page.wait_for_selector("#region", state="hidden")


def test_colours_and_their_legend(view, address):
    page = view(address)
    page.locator("#legend button").nth(1).click()
    page.wait_for_selector("#export")
    assert page.locator("#region h2").inner_text() == "yes: 20 graphs"
    assert "active = yes (100 %" in page.locator("#region p").first.inner_text()
    page.select_option("#colour", "outlier score")
    page.wait_for_selector("#legend .scale")
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    assert has_points(page, 500)
    page.select_option("#colour", "nothing")
    page.wait_for_selector("#legend .scale", state="detached")


def test_mistakes_are_shown_to_the_user(view, address):
    page = view(address)
    ask(page, "C1CC(")
    page.wait_for_selector("#error:not([hidden])")
    assert "C1CC(" in page.locator("#error").inner_text()
    page.click("#error-close")
    assert page.locator("#error").is_hidden()
    page.set_input_files("#upload", {"name": "a.exe", "mimeType": "x/y", "buffer": b"MZ"})
    page.wait_for_selector("#error:not([hidden])")
    assert "'.exe' are not taken" in page.locator("#error").inner_text()
    page.focus("#map")
    page.keyboard.press("Escape")
    assert page.locator("#error").is_hidden()
    page.set_input_files("#upload", {"name": "a.smi", "mimeType": "x/y", "buffer": b"C" * 300_000})
    page.wait_for_selector("#error:not([hidden])")
    assert "larger than 0.1907 MB" in page.locator("#error").inner_text()


def test_a_smiles_is_placed_and_an_upload_too(view, address):
    page = view(address)
    assert "SMILES" in page.locator("#query").get_attribute("placeholder")
    ask(page, "CCCCCCCN")
    page.wait_for_selector(".mark.new")
    assert "mean of its 12 nearest" in page.locator("#graph table").inner_text()
    assert loaded(page, "#graph .large")
    body = b"CCO <b>one</b>\nCCN two\nnonsense three\n"
    page.set_input_files("#upload", {"name": "a.smi", "mimeType": "text/plain", "buffer": body})
    page.wait_for_selector("#uploaded .list button")
    page.wait_for_function("() => document.querySelectorAll('.mark.new').length === 2")
    assert page.locator("#uploaded b").count() == 0
    assert "three" in page.locator("#uploaded .facts").inner_text()
    page.locator("#uploaded .list button").nth(1).click()
    page.wait_for_function("() => document.querySelector('#graph h2')?.textContent === 'mol3'")


def test_what_was_asked_for_last_is_shown(view, address):
    page, held = view(address), []
    page.route("**/api/graph/3", lambda route: held.append(route))  # Playwright takes no method of a list
    with page.expect_request("**/api/graph/3"):
        ask(page, "mol3")
    ask(page, "mol7")
    page.wait_for_function("() => document.querySelector('#graph h2')?.textContent === 'mol7'")
    with page.expect_response("**/api/graph/3"):
        held[0].continue_()
    page.evaluate("() => new Promise(done => setTimeout(done, 100))")
    assert page.locator("#graph h2").first.inner_text() == "mol7"


def test_ids_that_look_like_markup_stay_texts(view, index, atlas):
    with served(index, atlas, token="a b&c", hosts=None) as where:
        page = view(f"{where}/?token=a%20b%26c")
        page.evaluate("() => { window.alert = () => { throw new Error('run'); }; }")
        ask(page, EVIL)
        page.wait_for_selector("#graph:not([hidden])")
        assert page.locator("#graph h2").first.inner_text() == EVIL
        assert loaded(page, "#graph .large")


def test_the_map_as_a_file_opens_without_a_server(view, index, atlas, tmp_path):
    page = view(write_map(index, atlas, tmp_path / "map.html").as_uri(), scheme="dark")
    assert has_points(page, 200)
    ask(page, "mol3")
    page.wait_for_selector("#graph .near button")
    assert loaded(page, "#graph .large") and page.locator("#upload-box").is_hidden()
    assert "note 3" in page.locator("#graph table").inner_text()
    page.locator("#legend button").first.click()
    page.wait_for_selector("#export")
    with page.expect_download() as waiting:
        page.click("#export")
    waiting.value.save_as(tmp_path / "region.csv")
    lines = (tmp_path / "region.csv").read_text().splitlines()
    assert len(lines) == N // 2 + 1
    notes = [line.split(",")[lines[0].split(",").index("note")] for line in lines]
    assert [notes[1 + 22 // 2], notes[1 + 24 // 2]] == ["' =1+1", "'\t1"]
    place = lines[0].split(",").index("logS [mol/L]")
    shown = [line.split(",")[place] for line in lines[1:] if line.split(",")[place]]
    assert [float(value) for value in shown] == [i / 7 for i in range(0, N, 2)]
    shown = "n => document.querySelector('#graph h2')?.textContent === n"
    for spelled, name in (
        ("OC1=CC=CC=C1", "mol1"),
        ("[CH3]CN", "mol3"),
        ("note 7", "mol7"),
        ("C(#N)C", "mol7"),
    ):
        ask(page, spelled)
        page.wait_for_function(shown, arg=name)
    about = page.locator("#graph table").inner_text()
    assert "C2H3N" in about and "41.05 g/mol" in about and "logS [mol/L]" in about and "nodes" not in about
    assert "Tanimoto" in page.locator("#graph h3").inner_text()
    ask(page, "note 1")
    page.wait_for_function("() => document.querySelector('#region h2')?.textContent.includes('graph')")
    ask(page, "CCCCCCCCCCCCCCCl")
    page.wait_for_selector("#error:not([hidden])")
    assert "no id, no molecule and no text of this file" in page.locator("#error").inner_text()


def test_every_spelling_of_a_molecule_has_one_signature(view, index, atlas, tmp_path):
    """Against RDKit: written from another atom, with single and double bonds, with all hydrogens, flat."""
    Chem = pytest.importorskip("rdkit.Chem")
    texts = [
        "CC(=O)Oc1ccccc1C(=O)O",
        "CN1C=NC2=C1C(=O)N(C(=O)N2C)C",
        "C[C@H](N)C(=O)[O-]",
        "O=[N+]([O-])c1ccc[nH]1",
        "CS(=O)(=O)c1ccc2nc(N)sc2c1",
        "F/C=C/Cl",
        "C1CCC2CCCCC2C1",
        "C1CCC(C1)C1CCCC1",
        "c1ccc2c(c1)[nH]c1ccccc12",
        "CCOP(=S)(OCC)Oc1cnc(C(C)C)nc1C",
    ]
    page = view(write_map(index, atlas, tmp_path / "map.html").as_uri())
    code = (PAGE / "smiles.js").read_text().replace("export function", "function")
    signatures = f"texts => {{ {code}; return texts.map(signature); }}"
    made = []
    for text in texts:
        mol, kekule = Chem.MolFromSmiles(text), Chem.MolFromSmiles(text)
        Chem.Kekulize(kekule, clearAromaticFlags=True)
        others = [Chem.MolToSmiles(mol, doRandom=True) for _ in range(5)]
        others += [Chem.MolToSmiles(kekule, kekuleSmiles=True), Chem.MolToSmiles(Chem.AddHs(mol))]
        found = set(page.evaluate(signatures, [text, *others, Chem.MolToSmiles(mol, isomericSmiles=False)]))
        assert len(found) == 1 and None not in found, text
        made.append(*found)
    assert len(set(made)) == len(texts)
    assert page.evaluate(signatures, ["C1CC(", "mol7", "", "[nope]"]) == [None] * 4
