"""The few words of SVG that drawings are written in. Text is escaped; there are no ids, styles or scripts."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from infograph.errors import InvalidParameter
from infograph.report.palette import DARK, LIGHT, Theme

THEMES = {"light": LIGHT, "dark": DARK}
FONT = "Helvetica, Arial, sans-serif"
LEAST, MOST = 16, 4000  # pixels of a side
CONTROL = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 65534, 65535, *range(55296, 57344)), "�")


def number(value: float) -> str:
    """A coordinate with at most one decimal: a tenth of a pixel is finer than screens."""
    text = f"{value:.1f}"
    text = text[:-2] if text.endswith(".0") else text
    return "0" if text == "-0" else text


def words(text: object) -> str:
    """Any text, safe inside SVG: escaped, and without characters that XML forbids."""
    return escape(str(text).translate(CONTROL))


def circle(x: float, y: float, radius: float, fill: str, *, title: str = "", more: str = "") -> str:
    """A node's mark; `title` is shown when the pointer rests on it."""
    head = f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(radius)}" fill="{fill}"{more}'
    return f"{head}><title>{words(title)}</title></circle>" if title else f"{head}/>"


def label(
    x: float, y: float, text: object, size: float, fill: str, *, anchor: str = "start", more: str = ""
) -> str:
    """A line of text whose baseline starts (or is centred, or ends) at a point."""
    placed = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return (
        f'<text x="{number(x)}" y="{number(y)}" font-size="{number(size)}" fill="{fill}"{placed}{more}>'
        f"{words(text)}</text>"
    )


def document(width: int, height: int, theme: Theme, title: str, parts: Iterable[str]) -> str:
    """A whole drawing on the theme's page ("none" is see-through)."""
    page = "" if theme.page == "none" else f'<rect width="{width}" height="{height}" fill="{theme.page}"/>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" font-family="{FONT}">'
        f"<title>{words(title)}</title>{page}{''.join(parts)}</svg>"
    )


def check_theme(theme: str | Theme) -> Theme:
    """A theme by name, or a theme of the caller's own.

    Raises:
        InvalidParameter: there is no theme of that name.
    """
    if isinstance(theme, Theme):
        return theme
    if theme not in THEMES:
        raise InvalidParameter(f"theme={theme!r}: expected {', '.join(map(repr, THEMES))} or a Theme")
    return THEMES[theme]


def check_size(size: tuple[int, int]) -> tuple[int, int]:
    """Width and height in pixels.

    Raises:
        InvalidParameter: a side is not between 16 and 4,000.
    """
    sides = tuple(int(side) for side in size)
    if len(sides) != 2 or not all(LEAST <= side <= MOST for side in sides):
        raise InvalidParameter(f"size={size!r}: expected (width, height), {LEAST} to {MOST} pixels each")
    return sides[0], sides[1]
