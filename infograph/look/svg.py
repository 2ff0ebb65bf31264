"""What drawings are made of: themes, scales, legends, and the few words of SVG they are written in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from infograph.notebook import Drawing, words

FONT = "Helvetica, Arial, sans-serif"
STEPS = 24  # colours in a legend
THUMBNAIL = 200  # pixels; legends of smaller drawings are tiny
RAMPS = {  # light pages, dark pages: below zero ... zero ... above zero, and from least to most
    "diverging": (
        ("#3f8dcb", "#9cc5e6", "#e3e6e9", "#f3bd8c", "#e07f2b"),
        ("#3f9be0", "#2c628c", "#39414b", "#96602a", "#e58a36"),
    ),
    "sequential": (
        ("#d8e6f2", "#a9cce8", "#78b0dc", "#3f8dcb"),
        ("#323c47", "#2c516f", "#2a70a3", "#3790d2"),
    ),
}
SHOWN = 28  # letters of a name in a legend


@dataclass(frozen=True)
class Theme:
    """A figure on a light or a dark page. The hues are Okabe and Ito's (2008), lightened for dark pages."""

    page: str
    ink: str
    faint: str
    missing: str
    hues: tuple[str, ...]
    scale: str


LIGHT = Theme(
    page="#ffffff",
    ink="#22272e",
    faint="#d0d5db",
    missing="#b4bac2",
    hues=("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d"),
    scale="viridis",
)
DARK = Theme(
    page="#171b21",
    ink="#d8dee6",
    faint="#3b434d",
    missing="#5d6773",
    hues=("#4aa8e0", "#f0803c", "#2fc79a", "#e39ac4", "#f3b93f", "#a5d8f5", "#c9ced6"),
    scale="viridis",
)
THEMES = {"light": LIGHT, "dark": DARK}


def number(value: float) -> str:
    """A coordinate with at most one decimal: a tenth of a pixel is finer than screens."""
    text = f"{value:.1f}"
    text = text[:-2] if text.endswith(".0") else text
    return "0" if text == "-0" else text


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


def document(width: int, height: int, theme: Theme, title: str, parts: Iterable[str]) -> Drawing:
    """A whole drawing on the theme's page ("none" is see-through)."""
    page = "" if theme.page == "none" else f'<rect width="{width}" height="{height}" fill="{theme.page}"/>'
    return Drawing(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" font-family="{FONT}">'
        f"<title>{words(title)}</title>{page}{''.join(parts)}</svg>"
    )


def legend_height(size: tuple[int, int], meaning: str = "") -> float:
    """Pixels at the lower edge that the legend of a scale takes."""
    return 13.0 if min(size) < THUMBNAIL else 50.0 if meaning else 34.0


def score_colours(
    scores: NDArray[np.float64], size: tuple[int, int], theme: Theme, meaning: str = ""
) -> tuple[list[str], str]:
    """A colour per score, and the legend: a bar with the numbers of its ends, and below it what they mean.

    Scores on both sides of zero run from blue over grey to orange, with zero in the middle; scores of one
    sign from pale to blue. Colour-blind people can read both: no two ends differ by red against green, and
    the order is one of lightness, too.
    """
    low, high = float(np.min(scores)), float(np.max(scores))
    both = low < 0 < high
    if both:
        low, high = -max(-low, high), max(-low, high)
    ramp = RAMPS["diverging" if both else "sequential"][sum(rgb(theme.ink)) > 3 * 128]
    width, height = size
    small = min(size) < THUMBNAIL
    letters, thickness, share, up = (8.0, 4.0, 0.42, 8.0) if small else (11.0, 8.0, 0.4, 20.0)
    up += legend_height(size, meaning) - legend_height(size)
    length = width * share
    left, top, step = (width - length) / 2, height - up, length / STEPS
    middles = low + (np.arange(STEPS) + 0.5) / STEPS * (high - low)
    parts = [
        f'<rect x="{left + place * step:.2f}" y="{top:g}" width="{step + 0.3:.2f}" height="{thickness:g}" '
        f'fill="{colour}"/>'
        for place, colour in enumerate(_mixed(middles, low, high, ramp))
    ]
    baseline = top + thickness / 2 + letters * 0.36
    if low != high:
        parts.append(label(left - 5, baseline, tell(low), letters, theme.ink, anchor="end"))
    parts.append(label(left + length + 5, baseline, tell(high), letters, theme.ink))
    if both and not small:
        parts.append(label(width / 2, top - 4, "0", letters, theme.ink, anchor="middle"))
    if meaning and not small:
        parts.append(label(width / 2, height - 9, meaning, letters, theme.ink, anchor="middle"))
    return _mixed(scores, low, high, ramp), f'<g class="scale">{"".join(parts)}</g>'


def _mixed(scores: NDArray[np.float64], low: float, high: float, ramp: tuple[str, ...]) -> list[str]:
    place = (scores - low) / (high - low) if high > low else np.ones(len(scores))
    stops = np.array([rgb(colour) for colour in ramp], np.float64)  # (stops, 3)
    at = np.linspace(0, 1, len(stops))
    mixed = np.stack([np.interp(place, at, stops[:, k]) for k in range(3)], axis=1)
    return [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in np.rint(mixed).astype(int).tolist()]


def rgb(colour: str) -> tuple[int, int, int]:
    """ "#ff8000" -> 255, 128, 0."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def tell(value: float) -> str:
    """A score in three digits, with a true minus sign."""
    return f"{value:.3g}".replace("-", "\u2212")


def shorten(text: str) -> str:
    """A text that fits a legend; a leading underscore would hide it there."""
    text = text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
    return f" {text}" if text.startswith("_") else text
