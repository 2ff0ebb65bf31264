"""The frame of all pages: one file that needs nothing else, and no address is ever fetched."""

from __future__ import annotations

from html import escape
from importlib.resources import files


def page(title: str, body: str) -> str:
    """A page with this title; `body` is HTML, the title is not."""
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(title)}</title>",
            f"<style>{(files(__package__) / 'page.css').read_text(encoding='utf-8')}</style></head>",
            f"<body><main><h1>{escape(title)}</h1>",
            body,
            "</main></body></html>",
            "",
        ]
    )
