"""How points are told apart: hues that colour-blind people can distinguish, and shapes where hues run out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.label_columns import class_name, count_classes, is_known

MOST = 20  # groups in a legend; the rest of a larger column is drawn as one
SHOWN = 28  # letters of a name in a legend
MARKERS = ("o", "^", "s")


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


@dataclass(frozen=True)
class Group:
    """Points that look alike: their rows, hue, marker, and the line in the legend."""

    rows: NDArray[np.intp]
    hue: str
    marker: str
    legend: str


def group_points(values: NDArray[Any], theme: Theme) -> list[Group]:
    """Classes as hues and markers, the largest first.

    Beyond 20 the smallest are one group, and so are missing values.
    """
    classes = count_classes(values)
    shown = classes if len(classes) <= MOST else classes[: MOST - 1]
    known = is_known(values)
    names = np.array([class_name(value) if there else "" for value, there in zip(values, known, strict=True)])
    groups = [
        Group(
            rows=np.flatnonzero(known & (names == name)),
            hue=theme.hues[place % len(theme.hues)],
            marker=MARKERS[place // len(theme.hues) % len(MARKERS)],
            legend=f"{shorten(name)} ({count:,})",
        )
        for place, (name, count) in enumerate(shown)
    ]
    rest = np.flatnonzero(known & ~np.isin(names, [name for name, _ in shown]))
    if len(rest):
        hidden = len(classes) - len(shown)
        groups.append(Group(rest, theme.missing, "D", f"{hidden} other values ({len(rest):,})"))
    unknown = np.flatnonzero(~known)
    if len(unknown):
        groups.append(Group(unknown, theme.missing, ".", f"no value ({len(unknown):,})"))
    return groups


def shorten(text: str) -> str:
    """A text that fits a legend; a leading underscore would hide it there."""
    text = text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
    return f" {text}" if text.startswith("_") else text
