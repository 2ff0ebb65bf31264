"""The files of the page, by a fixed list of names."""

from __future__ import annotations

from importlib.resources import files

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
}
PAGE, STYLE, DOCS_STYLE = "index.html", "style.css", "docs.css"
MODULES = (  # each imports only modules before it
    "dom.js",
    "grid.js",
    "map.js",
    "colours.js",
    "source.js",
    "cards.js",
    "pointer.js",
    "app.js",
)
NAMES = (PAGE, STYLE, DOCS_STYLE, *MODULES)
PUBLIC = ("/", "/docs", *(f"/{name}" for name in NAMES))  # addresses without anything of an index


def page_file(name: str) -> str:
    """The text of one of the page's files."""
    return files("infograph.explore").joinpath("page", name).read_text(encoding="utf-8")
