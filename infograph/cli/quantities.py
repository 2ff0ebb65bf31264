"""Times, sizes and values as people write them."""

from __future__ import annotations

import math
import re

import typer

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
MEGABYTES = {"M": 1, "G": 1024, "T": 1024**2}


def parse_duration(text: str) -> float:
    """ "90s", "30m", "2h" or "1d" in seconds; a number alone counts minutes."""
    return _parse(text, SECONDS, "m", "a time such as 90s, 30m or 2h")


def parse_size(text: str) -> float:
    """ "500M" or "8G" in megabytes; a number alone counts megabytes."""
    return _parse(text, MEGABYTES, "M", "a size such as 500M or 8G")


def parse_value(text: str) -> str | int | float:
    """ "-999" and "-999.0" -> -999, "-99.5" -> -99.5, and "?" is itself, as is "nan"."""
    try:
        number = float(text)
    except ValueError:
        return text
    if not math.isfinite(number):
        return text
    return int(number) if number.is_integer() else number


def _parse(text: str, units: dict[str, int], usual: str, expected: str) -> float:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]?)[Bb]?\s*", text)
    unit = (found[2] or usual) if found else ""
    known = {name.casefold(): factor for name, factor in units.items()}
    if not found or unit.casefold() not in known or not float(found[1]):
        raise typer.BadParameter(f"{text!r} is not {expected}")
    return float(found[1]) * known[unit.casefold()]
