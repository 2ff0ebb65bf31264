"""Lists of names in a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def listed(names: Iterable[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def after_colon(names: Sequence[str]) -> str:
    """ ": a and b", or nothing."""
    return f": {listed(names)}" if names else ""
