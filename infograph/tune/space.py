"""What is searched: values to choose from, and ranges to draw from."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from infograph.errors import InvalidParameter

Setting = dict[str, Any]


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`: drawn evenly on a logarithmic scale, and whole where both ends are."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not (0 < self.low < self.high < math.inf):
            raise InvalidParameter(f"the range {self.low:g}..{self.high:g}: expected 0 < low < high")

    def draw(self, rng: np.random.Generator) -> float | int:
        """One of them; three digits are enough."""
        value = math.exp(rng.uniform(math.log(self.low), math.log(self.high)))
        if isinstance(self.low, int) and isinstance(self.high, int):
            return round(value)
        return float(f"{value:.3g}")


Space = Mapping[str, Sequence[Any] | Range]


def draw_settings(space: Space, trials: int, seed: int) -> list[Setting]:
    """All combinations where there are no more than `trials` of them, otherwise different random ones.

    Raises:
        InvalidParameter: nothing to choose from.
    """
    if not space or any(not isinstance(values, Range) and not values for values in space.values()):
        raise InvalidParameter("nothing to search: name settings and the values of each")
    if trials < 1:
        raise InvalidParameter(f"trials={trials}: expected 1 or more")
    choices = {name: values for name, values in space.items() if not isinstance(values, Range)}
    if len(choices) == len(space) and math.prod(map(len, choices.values())) <= trials:
        return [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]
    rng = np.random.default_rng(seed)
    drawn: list[Setting] = []
    for _ in range(100 * trials):  # a space of few combinations repeats itself
        setting = {
            name: values.draw(rng) if isinstance(values, Range) else values[int(rng.integers(len(values)))]
            for name, values in space.items()
        }
        if setting not in drawn:
            drawn.append(setting)
        if len(drawn) == trials:
            break
    return drawn


def parse_space(texts: Sequence[str]) -> dict[str, list[Any] | Range]:
    """`lr=1e-4..1e-2`, `layers=2,4,8`, `readout=sum,mean` as typed on a command line.

    Raises:
        InvalidParameter: a text that is none of these.
    """
    space: dict[str, list[Any] | Range] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not (name and equals and values):
            raise InvalidParameter(f"{text!r}: expected NAME=VALUE,VALUE or NAME=LOW..HIGH")
        low, dots, high = values.partition("..")
        if dots:
            ends = [_value(end) for end in (low, high)]
            if not all(isinstance(end, int | float) and not isinstance(end, bool) for end in ends):
                raise InvalidParameter(f"{text!r}: the ends of a range are numbers")
            space[name.replace("-", "_")] = Range(*ends)
        else:
            space[name.replace("-", "_")] = [_value(value) for value in values.split(",")]
    return space


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False, "none": None}.get(text.casefold(), text)
