"""What came out of Table 1 and of the variants, in sentences made from the figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from infograph.reproduce.accuracies import Accuracy, Table1
from infograph.reproduce.methods import METHODS
from infograph.reproduce.paper import paper_table1
from infograph.reproduce.table1 import SMALL
from infograph.reproduce.variants import BASES, VARIANTS, Variants, variants_of
from infograph.reproduce.versus import LEVEL, TRAINED, Versus, against_base, against_untrained
from infograph.reproduce.words import listed


def table1_findings(table: Table1) -> Iterator[str]:
    """Which accuracies are the paper's, and whether training is better than no training."""
    yield from _table1(table)
    yield from _untrained(against_untrained(table))


def variant_findings(table: Table1, found: Variants) -> Iterator[str]:
    """What one change does, and which reach the paper's figure."""
    yield from _variants(against_base(found))
    for method in BASES:
        yield from _reaching(method, table, found)


def _verdict(cell: Accuracy) -> str:
    """ "reproduced", "lower", "open" (lower, but one repeat has no interval), or "" without two figures."""
    if cell.difference is None or cell.ours is None:
        return ""
    if cell.difference >= 0 or cell.inside:
        return "reproduced"
    return "open" if math.isnan(cell.ours[1]) else "lower"


def _table1(table: Table1) -> Iterator[str]:
    verdicts = {place: _verdict(cell) for place, cell in table.items()}
    figures = sum(isinstance(cell.published, tuple) for cell in table.values())
    compared = [place for place, verdict in verdicts.items() if verdict]
    reproduced = sum(verdict == "reproduced" for verdict in verdicts.values())
    yield (
        f"Table 1: of the paper's {figures} accuracies {len(compared)} were measured and {reproduced} "
        "reproduced: the paper's value lies inside our interval, or ours by the paper's protocol is not "
        "below it."
    )
    by_method = {
        method: [cell for (_, row), cell in table.items() if row == method and verdicts[cell.data, method]]
        for method in METHODS
    }
    whole = [
        method
        for method, cells in by_method.items()
        if cells and method != TRAINED and all(_verdict(cell) == "reproduced" for cell in cells)
    ]
    for method in (TRAINED, *METHODS):
        if by_method.get(method) and method not in whole:
            yield _method(METHODS[method].title, by_method.pop(method))
    if whole:
        yield f"Reproduced wherever measured: {listed(METHODS[method].title for method in whole)}."
    yield from _missing(table)


def _method(title: str, cells: Sequence[Accuracy]) -> str:
    named: dict[str, list[str]] = {"reproduced": [], "lower": [], "open": []}
    for cell in cells:
        verdict = _verdict(cell)
        by = "" if verdict == "reproduced" else f" (by {-(cell.difference or 0.0):.1f} points)"
        named[verdict].append(cell.data + by)
    words = {
        "reproduced": "reproduced on {}",
        "lower": "lower than the paper on {}",
        "open": "lower so far, with one repeat and no interval, on {}",
    }
    return f"{title}: " + "; ".join(words[v].format(listed(n)) for v, n in named.items() if n) + "."


def _missing(table: Table1) -> Iterator[str]:
    columns = paper_table1().datasets
    empty = {data: [row for row in METHODS if not table[data, row].found] for data in columns}
    whole = [data for data, rows in empty.items() if len(rows) == len(METHODS)]
    if whole:
        yield f"Table 1 has no results yet on {listed(whole)}."
    for data, rows in empty.items():
        if rows and data not in whole:
            yield f"Not run on {data}: {listed(METHODS[row].title for row in rows)}."
    for cell in table.values():
        if cell.found and cell.evaluation is None:
            yield f"{cell.title} has no figure on {cell.data}: {cell.reason.rstrip('.')}."
    partial = sum(bool(cell.lacks) for cell in table.values() if cell.evaluation is not None)
    if partial:
        yield f"Accuracies of Table 1 that lack repeats or settings, and say so: {partial}."


def _untrained(rows: Sequence[Versus]) -> Iterator[str]:
    named: dict[str, list[str]] = {}
    for row in rows:
        named.setdefault(row.verdict, []).append(f"{row.data} ({row.change})")
    if not rows:
        return
    for verdict, words in (
        ("better", "better on {}"),
        ("worse", "worse on {}"),
        ("no difference found", "not told apart on {}"),
    ):
        if verdict in named:
            where = words.format(listed(named[verdict]))
            yield f"InfoGraph against the untrained encoder, leak-free: {where}."


def _variants(rows: Sequence[tuple[str, Versus]]) -> Iterator[str]:
    """What one change does, and how many of so many tests would find something by chance."""
    if not rows:
        return
    told = []
    for verdict in ("better", "worse"):
        named = [
            f"{_variant(name)} on {row.data} ({row.change})" for name, row in rows if row.verdict == verdict
        ]
        told.append(f"{verdict.capitalize()}: {', '.join(named) or 'none'}.")
    yield (
        f"One thing changed at a time, leak-free, {len(rows)} tests of which {LEVEL * len(rows):.1f} would "
        f"find a difference by chance. {' '.join(told)}"
    )


def _variant(name: str) -> str:
    return f"{METHODS[VARIANTS[name].method].title} with {VARIANTS[name].title}"


def _reaching(method: str, table: Table1, found: Variants) -> Iterator[str]:
    """Which variants reach the paper's figure, by the paper's protocol, where Table 1's search does not."""
    for data in SMALL:
        cell, base = table[data, method], found[data, method]
        if base is None or not isinstance(cell.published, tuple) or (cell.difference or 0) >= 0:
            continue
        means = {
            name: 100 * own.paper().mean
            for name in variants_of(method)
            if (own := found[data, name]) is not None and own.seeds == base.seeds
        }
        above = [
            f"{VARIANTS[name].title} ({mean:.1f})"
            for name, mean in means.items()
            if mean >= cell.published[0]
        ]
        if means:
            which = listed(above) if above else f"none of {len(means)}"
            yield (
                f"Variants of {cell.title} that reach the paper's {cell.published[0]:.1f} on {data} by its "
                f"protocol: {which}."
            )
