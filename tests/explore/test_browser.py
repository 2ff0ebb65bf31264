"""The page in a real browser: what people see, and what happens when they click."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from infograph import InfoGraph, load_dataset
from infograph.explore import make_atlas, write_map
from infograph.index import GraphIndex
from tests.explore.conftest import N, served

playwright = pytest.importorskip("playwright.sync_api", reason="the page is tested with playwright")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
POINTS = """() => {
  const canvas = document.getElementById("map");
  const gl = canvas.getContext("webgl2");
  const bytes = new Uint8Array(canvas.width * canvas.height * 4);
  gl.readPixels(0, 0, canvas.width, canvas.height, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
  let drawn = 0;
  for (let i = 3; i < bytes.length; i += 4) drawn += bytes[i] > 100;
  return drawn;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator:
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    with playwright.sync_playwright() as run:
        started = run.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="module")
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
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "console", lambda said: problems.append(said.text) if "Security Policy" in said.text else None
        )
        page.goto(address)
        page.wait_for_selector("body[data-ready=true]")
        page.wait_for_timeout(100)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []


def spot(page, row: int) -> tuple[float, float]:
    """Where a point is, once the page was told to look for it."""
    box = page.locator("#map").bounding_box()
    points = page.evaluate(
        "async () => Array.from(new Float32Array(await (await fetch('api/points')).arrayBuffer()))"
    )
    short = min(box["width"], box["height"])
    x = box["x"] + box["width"] / 2 + points[2 * row] * 0.92 * short / 2
    y = box["y"] + box["height"] / 2 - points[2 * row + 1] * 0.92 * short / 2
    return x, y


def loaded(page, selector: str) -> bool:
    page.wait_for_function(
        "s => { const i = document.querySelector(s); return i && i.complete && i.naturalWidth > 0; }",
        arg=selector,
    )
    return True


@pytest.mark.parametrize(
    ("width", "scheme"), [(1280, "light"), (1280, "dark"), (420, "light"), (420, "dark")]
)
def test_the_map_draws_points_and_fits_the_window(view, mutag, width, scheme):
    page = view(mutag, width=width, scheme=scheme)
    assert page.evaluate(POINTS) > 500
    assert page.locator("#title").inner_text() == "MUTAG"
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.locator("#legend button").count() == 2


def test_hover_shows_a_drawing_and_a_click_the_details(view, mutag):
    page = view(mutag)
    x, y = spot(page, 7)
    page.mouse.move(x, y)
    page.wait_for_selector("#tip:not([hidden])")
    assert loaded(page, "#tip img")
    row = page.locator("#tip").get_attribute("data-row")
    page.mouse.click(x, y)
    page.wait_for_selector("#graph:not([hidden])")
    assert page.locator("#graph h2").first.inner_text() == row
    assert loaded(page, "#graph .large")
    assert "outlier score" in page.locator("#graph table").inner_text()
    assert page.locator("#graph .near button").count() == 12
    assert page.locator("#links line").count() == 12 and page.locator(".mark.chosen").count() == 1
    page.mouse.move(5, 400)
    page.wait_for_selector("#tip", state="hidden")


def test_one_walks_from_neighbour_to_neighbour(view, mutag):
    page = view(mutag)
    page.fill("#query", "3")
    page.press("#query", "Enter")
    for _ in range(3):
        page.wait_for_selector("#graph .near button")
        card = page.locator("#graph .near button").nth(2)
        name = card.locator("span").inner_text()
        card.click()
        page.wait_for_function("n => document.querySelector('#graph h2').textContent === n", arg=name)
    assert page.locator("#error").is_hidden()


def test_contributions_change_the_drawing(view, mutag):
    page = view(mutag)
    page.fill("#query", "3")
    page.press("#query", "Enter")
    page.wait_for_selector("#contributions")
    plain = page.locator("#graph .large").get_attribute("src")
    page.click("#contributions")
    assert page.locator("#contributions").get_attribute("aria-pressed") == "true"
    assert page.locator("#graph .large").get_attribute("src") != plain and loaded(page, "#graph .large")


def test_a_lasso_is_described_and_exported(view, mutag, tmp_path):
    page = view(mutag)
    box = page.locator("#map").bounding_box()
    page.click("#lasso-mode")
    corners = [(0.2, 0.02), (0.75, 0.02), (0.75, 0.98), (0.2, 0.98), (0.2, 0.02)]
    places = [(box["x"] + u * box["width"], box["y"] + v * box["height"]) for u, v in corners]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=4)
    page.mouse.up()
    page.wait_for_selector("#export")
    title = page.locator("#region h2").inner_text()
    chosen = int(title.split(":")[1].split()[0])
    assert 10 < chosen <= 188 and "chosen" in page.locator("#status").inner_text()
    with page.expect_download() as waiting:
        page.click("#export")
    path = tmp_path / "region.csv"
    waiting.value.save_as(path)
    lines = path.read_text().splitlines()
    assert lines[0] == "id,y,cluster,outlier score,map_x,map_y" and len(lines) == chosen + 1
    page.locator("body").press("Escape")
    page.wait_for_selector("#region", state="hidden")


def test_a_line_of_the_legend_chooses_its_graphs(view, mutag):
    page = view(mutag)
    page.locator("#legend button").nth(1).click()
    page.wait_for_selector("#export")
    assert page.locator("#region h2").inner_text() == "-1: 63 graphs"
    assert "y = -1 (100 %" in page.locator("#region p").first.inner_text()


def test_another_colour_and_the_dark_page(view, mutag):
    page = view(mutag)
    page.select_option("#colour", "outlier score")
    page.wait_for_selector("#legend .scale")
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    assert page.evaluate(POINTS) > 500
    page.select_option("#colour", "nothing")
    page.wait_for_selector("#legend .scale", state="detached")


def test_keys_move_zoom_and_choose(view, mutag):
    page = view(mutag)
    page.focus("#map")
    page.keyboard.press("+")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    page.wait_for_selector("#graph:not([hidden])")
    page.keyboard.press("d")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "query"


def test_mistakes_are_shown_to_the_user(view, mutag):
    page = view(mutag)
    page.fill("#query", "no such graph")
    page.press("#query", "Enter")
    page.wait_for_selector("#error:not([hidden])")
    assert "No graph of this index has the id 'no such graph'" in page.locator("#error").inner_text()
    page.click("#error-close")
    assert page.locator("#error").is_hidden()
    page.set_input_files("#upload", {"name": "a.exe", "mimeType": "x/y", "buffer": b"MZ"})
    page.wait_for_selector("#error:not([hidden])")
    assert "'.exe' are not taken" in page.locator("#error").inner_text()


def test_a_server_that_is_gone_is_said_so(view, index, atlas):
    with served(index, atlas) as where:
        page = view(where)
    page.fill("#query", "mol3")
    page.press("#query", "Enter")
    page.wait_for_selector("#error:not([hidden])")
    assert "does not answer" in page.locator("#error").inner_text()


def test_a_smiles_is_placed_and_an_upload_too(view, address, tmp_path):
    page = view(address)
    assert "SMILES" in page.locator("#query").get_attribute("placeholder")
    page.fill("#query", "CCCCCCCN")
    page.press("#query", "Enter")
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


def test_ids_that_look_like_markup_stay_texts(view, address):
    page = view(address)
    page.evaluate("() => { window.alert = () => { throw new Error('run'); }; }")
    page.fill("#query", "</script><script>alert(1)</script>")
    page.press("#query", "Enter")
    page.wait_for_selector("#graph:not([hidden])")
    assert page.locator("#graph h2").first.inner_text() == "</script><script>alert(1)</script>"


def test_a_page_with_a_token(view, index, atlas):
    with served(index, atlas, token="a b&c", hosts=None) as where:
        page = view(f"{where}/?token=a%20b%26c")
        page.fill("#query", "mol3")
        page.press("#query", "Enter")
        assert loaded(page, "#graph .large")


def test_the_map_as_a_file_opens_without_a_server(view, index, atlas, tmp_path):
    path: Path = write_map(index, atlas, tmp_path / "map.html")
    page = view(path.as_uri(), scheme="dark")
    assert page.evaluate(POINTS) > 200
    page.fill("#query", "mol3")
    page.press("#query", "Enter")
    page.wait_for_selector("#graph .near button")
    assert loaded(page, "#graph .large") and page.locator("#upload-box").is_hidden()
    page.locator("#legend button").first.click()
    page.wait_for_selector("#export")
    with page.expect_download() as waiting:
        page.click("#export")
    waiting.value.save_as(tmp_path / "region.csv")
    assert len((tmp_path / "region.csv").read_text().splitlines()) == N // 2 + 1
    page.fill("#query", "CCO")
    page.press("#query", "Enter")
    page.wait_for_selector("#error:not([hidden])")
    assert "No graph is called CCO" in page.locator("#error").inner_text()
