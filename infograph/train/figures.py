"""What the records of a history hold, for those who show them."""

from __future__ import annotations

from collections.abc import Mapping

ERROR = "validation"  # the figure of an epoch that schedule and choice of weights go by
WRONG = "% wrong"  # the unit of a share of wrong classes
NO_TERMS = ("epoch", "model", "loss", "mi", "accuracy", "confident", "lr", "seconds", "graphs_per_second")


def terms_of(record: Mapping[str, float]) -> list[str]:
    """The loss terms of an epoch, in the order of the objective."""
    return [name for name in record if name not in NO_TERMS and not name.startswith(ERROR)]


def figure_text(value: float, unit: str) -> str:
    """A figure with its unit: "0.42 hartree", "12.5 % wrong" of a share of 0.125."""
    if unit == WRONG:
        return f"{100 * value:.1f} {unit}"
    return f"{value:.4g} {unit}".rstrip()
