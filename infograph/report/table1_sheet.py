"""Table 1 as a table for people: ours leak-free, ours by the paper's protocol, and the paper's figure."""

from __future__ import annotations

import math
from collections.abc import Iterable

from infograph.report.sheet import Entry, Sheet, signed, text
from infograph.reproduce.accuracies import REACH, Accuracy, Table1, majority
from infograph.reproduce.methods import METHODS
from infograph.reproduce.paper import Figure, paper_table1
from infograph.reproduce.table1 import FOLDS, INNER_FOLDS, REDUCED, REDUCED_EPOCHS, REPEATS
from infograph.reproduce.versus import Versus
from infograph.reproduce.words import listed

INSIDE = "✓"
KINDS = ("leak-free", "paper's protocol", "the paper", "difference")


def table1_sheet(table: Table1, *, later: bool = False) -> Sheet:
    """All figures; `later` adds what others published since."""
    columns = paper_table1().datasets
    best = _best(table)
    rows = [
        (
            text(METHODS[method].title),
            text(*(KINDS if METHODS[method].title in paper_table1().rows else KINDS[:2]), look="kinds"),
            *(_entry(table[data, method], best) for data in columns),
        )
        for method in METHODS
    ]
    rows.append((text("majority class"), text(""), *(_majority(table, data, 2) for data in columns)))
    if later:
        rows.append((text("Published later by others; not measured here"),))
        for name, figures in paper_table1().later.items():
            shown = (figures[data] for data in columns)
            rows.append(
                (
                    text(name),
                    text("published", look="kinds"),
                    *(text("" if f is None else f"{f:.2f}") for f in shown),
                )
            )
    return Sheet(("method", "accuracy, %", *columns), tuple(rows))


def table1_compact(table: Table1) -> Sheet:
    """The same for a narrow page: leak-free, and below it ours by the paper's protocol and the paper's.

    Data sets without any result have no column; `table1_note` names them.
    """
    columns = _measured(table)
    best = _best(table)
    rows = [
        (text(METHODS[method].title), *(_compact(table[data, method], best) for data in columns))
        for method in METHODS
    ]
    rows.append((text("majority class"), *(_majority(table, data, 1) for data in columns)))
    return Sheet(("method", *columns), tuple(rows))


def table1_caption(table: Table1) -> list[str]:
    """How the figures were measured, and over which settings."""
    return [
        "Accuracy in per cent, mean ± deviation over repeats. Leak-free: whatever is chosen is chosen on "
        "inner folds. The paper's protocol: the setting with the best mean on the test folds, which is "
        "optimistic. The difference is ours by the paper's protocol minus the paper's.",
        f"{INSIDE} the paper's value lies inside our interval: our mean by the paper's protocol ± {REACH} "
        "deviations over repeats. Bold: the best leak-free mean of a data set.",
        f"{REPEATS} repeats planned, {FOLDS} folds, {INNER_FOLDS} inner folds; a support vector machine on "
        "a kernel's Gram matrix, or with an RBF kernel on vectors, its C chosen on the inner folds. Encoders "
        "see all graphs and no label (transductive, as in the paper).",
        *_grids(table),
        *_reduced(table),
    ]


def table1_note(table: Table1) -> str:
    """What the compact table shows, in a paragraph."""
    absent = [data for data in paper_table1().datasets if data not in _measured(table)]
    return (
        f"Accuracy in per cent, leak-free mean ± deviation over {REPEATS} repeats unless it says otherwise. "
        "Below: ours by the paper's protocol (best setting on the test folds), in brackets the paper's "
        f"figure, {INSIDE} where that lies within {REACH} deviations of ours. Bold is the best of a column."
        f"{''.join(f' {sentence}' for sentence in _reduced(table))}"
        f"{f' Not run yet: {listed(absent)}.' if absent else ''}"
    )


def _measured(table: Table1) -> list[str]:
    """The data sets with results."""
    return [data for data in paper_table1().datasets if any(table[data, method].found for method in METHODS)]


def versus_sheet(rows: Iterable[Versus]) -> Sheet:
    """InfoGraph against the untrained encoder."""
    head = ("data set", "difference, points", "95 % interval", "p", "repeats", "")
    return Sheet(
        head,
        tuple(
            (
                text(row.data),
                text(signed(100 * row.test.difference, 2)),
                text(" to ".join(signed(100 * end, 2) for end in row.test.interval)),
                text(row.p),
                text(f"{row.repeats}"),
                text(row.verdict),
            )
            for row in rows
        ),
    )


def figure(value: Figure, digits: int) -> str:
    """ "87.6 ± 1.6"; without a deviation where there was one repeat."""
    mean, deviation = value
    return f"{mean:.{digits}f}" + ("" if math.isnan(deviation) else f" ± {deviation:.{digits}f}")


def _entry(cell: Accuracy, best: dict[str, float]) -> Entry:
    published = cell.published
    theirs = figure(published, 2) if isinstance(published, tuple) else published or ""
    if cell.ours is None or cell.leak_free is None:
        return text(_absent(cell), "", theirs, "", cell.reason, look="absent")
    lines = [figure(cell.leak_free, 2), figure(cell.ours, 2)]
    if cell.title in paper_table1().rows:
        lines.append(f"{INSIDE} {theirs}" if cell.inside else theirs)
        lines.append("" if cell.difference is None else signed(cell.difference, 2))
    return text(*lines, *cell.lacks, bold=cell.leak_free[0] == best[cell.data])


def _compact(cell: Accuracy, best: dict[str, float]) -> Entry:
    published = cell.published
    theirs = (
        f"({published[0]:.2f})" if isinstance(published, tuple) else f"({published})" if published else ""
    )
    if cell.ours is None or cell.leak_free is None:
        return text(_absent(cell), theirs, look="absent")
    second = " ".join(filter(None, [f"{cell.ours[0]:.1f}", theirs, INSIDE if cell.inside else ""]))
    return text(figure(cell.leak_free, 1), second, *cell.lacks, bold=cell.leak_free[0] == best[cell.data])


def _absent(cell: Accuracy) -> str:
    return "no figure" if cell.found else "not run"


def _best(table: Table1) -> dict[str, float]:
    best: dict[str, float] = {}
    for cell in table.values():
        if cell.leak_free is not None:
            best[cell.data] = max(cell.leak_free[0], best.get(cell.data, 0.0))
    return best


def _majority(table: Table1, data: str, digits: int) -> Entry:
    share = majority(table, data)
    return text("" if share is None else f"{share:.{digits}f}")


def _grids(table: Table1) -> list[str]:
    """The settings that were searched, a sentence for all methods that have results."""
    texts = []
    for method in METHODS:
        names = [
            candidate.setting
            for (_, row), cell in table.items()
            if row == method and cell.evaluation is not None
            for candidate in cell.evaluation.candidates
        ]
        if names:
            texts.append(f"{METHODS[method].title}: {grid_text(names)}")
    return [f"Settings searched. {'; '.join(texts)}."] if texts else []


def _reduced(table: Table1) -> list[str]:
    """The data sets on which InfoGraph's grid is a smaller one, a sentence each."""
    names = {
        data: [f"{setting} epochs={epochs}" for setting in settings for epochs in REDUCED_EPOCHS]
        for data, settings in REDUCED.items()
        if data in _measured(table)
    }
    return [f"On {data} InfoGraph's grid is reduced to {grid_text(each)}." for data, each in names.items()]


def grid_text(names: Iterable[str]) -> str:
    """The values of a grid from its settings' names: "size=4 lr=1", "size=8 lr=1" -> "size 4 / 8, lr 1"."""
    names = list(dict.fromkeys(names))
    if names == ["default"]:
        return "one setting"
    if not all("=" in part for name in names for part in name.split()):
        return ", ".join(names)
    values: dict[str, list[str]] = {}
    for name in names:
        for part in name.split():
            key, _, value = part.partition("=")
            values.setdefault(key, []).append(value)
    return ", ".join(f"{key} {' / '.join(dict.fromkeys(found))}" for key, found in values.items())
