"""The published figures, to compare with: Tables 1 and 2 of the paper, and later work on the same data sets.

They are facts about other people's runs, and are never shown as results of this package.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

Figure = tuple[float, float]  # mean and deviation, in per cent


@dataclass(frozen=True)
class PaperTable1:
    """Accuracies of unsupervised methods on six data sets.

    Attributes:
        metric: what the figures are.
        datasets: the names, in the table's order.
        graphs: graphs per data set, as the paper counts them.
        rows: method -> data set -> (mean, deviation), the paper's reason where there is no figure, or None.
        later: method -> data set -> mean, published later; None where there is no figure.
        later_note: how those were measured.
    """

    metric: str
    datasets: tuple[str, ...]
    graphs: Mapping[str, int]
    rows: Mapping[str, Mapping[str, Figure | str | None]]
    later: Mapping[str, Mapping[str, float | None]]
    later_note: str


@dataclass(frozen=True)
class PaperTable2:
    """Errors on QM9 with 5,000 labels.

    Attributes:
        metric: what the figures are.
        targets: the twelve targets, in the table's order.
        units: target -> the unit its error is probably in; the paper does not state it.
        supervised: target -> mean absolute error of the supervised model.
        ratios: method -> target -> its error divided by the supervised one.
    """

    metric: str
    targets: tuple[str, ...]
    units: Mapping[str, str]
    supervised: Mapping[str, float]
    ratios: Mapping[str, Mapping[str, float]]


@cache
def paper_table1() -> PaperTable1:
    """Table 1, with what was published later for the same data sets."""
    table = _published()["table1"]
    names = tuple(table["datasets"])
    return PaperTable1(
        metric=table["metric"],
        datasets=names,
        graphs=_by(names, table["graphs"]),
        rows={method: _by(names, map(_figure, cells)) for method, cells in table["rows"].items()},
        later={method: _by(names, cells) for method, cells in table["later_work"]["rows"].items()},
        later_note=table["later_work"]["about"],
    )


@cache
def paper_table2() -> PaperTable2:
    """Table 2."""
    table = _published()["table2"]
    targets = tuple(table["targets"])
    return PaperTable2(
        metric=table["metric"],
        targets=targets,
        units=_by(targets, table["units_inferred"]),
        supervised=_by(targets, table["supervised_mae"]),
        ratios={method: _by(targets, cells) for method, cells in table["error_ratio"].items()},
    )


def paper_score(method: str, dataset: str) -> Figure | None:
    """Mean and deviation of a cell of Table 1 in per cent: ("InfoGraph", "MUTAG") -> (89.01, 1.13).

    None where the paper has no such method, data set or figure.
    """
    cell = paper_table1().rows.get(method, {}).get(dataset)
    return cell if isinstance(cell, tuple) else None


def _published() -> dict[str, Any]:
    content: dict[str, Any] = json.loads((files(__package__) / "paper.json").read_text(encoding="utf-8"))
    return content


def _figure(cell: list[float] | str | None) -> Figure | str | None:
    return (cell[0], cell[1]) if isinstance(cell, list) else cell


def _by(names: tuple[str, ...], cells: Any) -> dict[str, Any]:
    return dict(zip(names, cells, strict=True))
