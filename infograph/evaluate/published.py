"""The published figures, to compare with: Tables 1 and 2 of the paper, and later work on the same data sets.

They are facts about other people's runs, and are never shown as results of this package.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

Figure = tuple[float, float]  # mean and deviation, in per cent


class PaperTable1(NamedTuple):
    """Accuracies of unsupervised methods on six data sets, in the table's order."""

    datasets: tuple[str, ...]
    rows: Mapping[str, Mapping[str, Figure | str | None]]  # a reason where there is no figure
    later: Mapping[str, Mapping[str, float | None]]  # published later
    later_note: str


class PaperTable2(NamedTuple):
    """Errors on QM9 with 5,000 labels; ratios are to the error of the supervised model."""

    targets: tuple[str, ...]
    supervised: Mapping[str, float]
    ratios: Mapping[str, Mapping[str, float]]


@cache
def paper_table1() -> PaperTable1:
    """Table 1, with what was published later for the same data sets."""
    table = _published("table1")
    names, later = tuple(table["datasets"]), table["later_work"]
    rows = {
        method: _by(names, [tuple(cell) if isinstance(cell, list) else cell for cell in cells])
        for method, cells in table["rows"].items()
    }
    others = {method: _by(names, cells) for method, cells in later["rows"].items()}
    return PaperTable1(names, rows, others, later["about"])


@cache
def paper_table2() -> PaperTable2:
    """Table 2."""
    table = _published("table2")
    targets = tuple(table["targets"])
    ratios = {method: _by(targets, cells) for method, cells in table["error_ratio"].items()}
    return PaperTable2(targets, _by(targets, table["supervised_mae"]), ratios)


def paper_score(method: str, dataset: str) -> Figure | None:
    """Mean and deviation of a cell of Table 1 in per cent: ("InfoGraph", "MUTAG") -> (89.01, 1.13).

    None where the paper has no such method, data set or figure.
    """
    cell = paper_table1().rows.get(method, {}).get(dataset)
    return cell if isinstance(cell, tuple) else None


def figure_text(figure: Figure | None, digits: int = 2) -> str:
    """ "87.60 ± 1.60"; without a deviation where there was one repeat, and empty without a figure."""
    if figure is None:
        return ""
    return f"{figure[0]:.{digits}f}" + ("" if math.isnan(figure[1]) else f" ± {figure[1]:.{digits}f}")


def _published(table: str) -> Any:
    return json.loads((files(__package__) / "paper.json").read_text(encoding="utf-8"))[table]


def _by(names: tuple[str, ...], cells: list[Any]) -> dict[str, Any]:
    return dict(zip(names, cells, strict=True))
