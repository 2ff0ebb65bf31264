"""A real browser for the tests of the page: what is installed, and how a page is read."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
MANY = """(least) => {
  const canvas = document.getElementById("map");
  const gl = canvas.getContext("webgl2");
  const bytes = new Uint8Array(canvas.width * canvas.height * 4);
  gl.readPixels(0, 0, canvas.width, canvas.height, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
  let drawn = 0;
  for (let i = 3; i < bytes.length; i += 4) drawn += bytes[i] > 100;
  return drawn > least;
}"""


def spot(page, row: int) -> tuple[float, float]:
    """Where a point is, once the page was told to look for it."""
    box = page.locator("#map").bounding_box()
    points = page.evaluate(
        "async () => Array.from(new Float32Array(await (await fetch('api/points')).arrayBuffer()))"
    )
    short = min(box["width"], box["height"])
    reach = short / 2 - 54  # from the middle to the outermost point
    x = box["x"] + box["width"] / 2 + points[2 * row] * reach
    y = box["y"] + box["height"] / 2 - points[2 * row + 1] * reach
    return x, y


def has_points(page, least: int) -> bool:
    """Whether so many pixels of the map are points, once it is drawn."""
    page.wait_for_function(MANY, arg=least)
    return True


def loaded(page, selector: str) -> bool:
    page.wait_for_function(
        "s => { const i = document.querySelector(s); return i && i.complete && i.naturalWidth > 0; }",
        arg=selector,
    )
    return True


def ask(page, query: str) -> None:
    """Type into the search box, and press Enter."""
    page.fill("#query", query)
    page.press("#query", "Enter")


def draw_lasso(page, corners: list[tuple[float, float]]) -> None:
    """Draw round a part of the map; corners are shares of its width and height."""
    box = page.locator("#map").bounding_box()
    page.click("#lasso-mode")
    places = [(box["x"] + u * box["width"], box["y"] + v * box["height"]) for u, v in corners]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in [*places[1:], places[0]]:
        page.mouse.move(*place, steps=4)
    page.mouse.up()
    page.wait_for_selector("#export")


def take_picture(page, name: str, folder: Path) -> Path:
    """A picture of the page in `folder`, or where INFOGRAPH_SCREENSHOTS says: `make screenshots`."""
    path = Path(os.environ.get("INFOGRAPH_SCREENSHOTS", folder)) / f"{name}.png"
    page.screenshot(path=path)
    return path
