"""Successive halving (Jamieson and Talwalkar 2016): all settings train shortly, the best third on and on.

Rounds are synchronous: who goes on is decided when all of a round are done, so the outcome does not depend on
how many ran at a time, or where.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

FACTOR = 3


def rounds_of(trials: int, epochs: int, least: int = 1) -> list[tuple[int, int]]:
    """(settings, epochs) of each round: a third of the settings, three times the epochs.

    The last round has all epochs; the first at least `least`.
    """
    n_rounds = 1
    while trials > FACTOR**n_rounds and epochs // FACTOR**n_rounds >= max(1, least):
        n_rounds += 1
    return [
        (math.ceil(trials / FACTOR**k), max(1, epochs // FACTOR ** (n_rounds - 1 - k)))
        for k in range(n_rounds)
    ]


def promoted(errors: Mapping[int, float], count: int) -> list[int]:
    """The `count` settings with the least error, NaN last, of equal ones the first; in their own order."""
    order: Sequence[int] = sorted(errors, key=lambda n: (math.isnan(errors[n]), errors[n], n))
    return sorted(order[:count])
