"""What came out, in sentences made from the figures: what was reproduced, what was not, what is missing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from infograph.reproduce.accuracies import Accuracy, Table1
from infograph.reproduce.methods import METHODS
from infograph.reproduce.paper import paper_table1, paper_table2
from infograph.reproduce.ratios import NAMES, PUBLISHED, Table2, TargetError
from infograph.reproduce.table1 import SMALL
from infograph.reproduce.table2 import REFERENCES
from infograph.reproduce.variants import BASES, VARIANTS, Variants
from infograph.reproduce.versus import LEVEL, TRAINED, Versus, against_base, against_untrained


def findings(table1: Table1, table2: Table2, variants: Variants) -> list[str]:
    """All sentences, Table 1 first."""
    return [
        *_table1(table1),
        *_untrained(against_untrained(table1)),
        *_variants(against_base(variants)),
        *(line for method in BASES for line in _reaching(method, table1, variants)),
        *_table2(table2),
    ]


def verdict1(cell: Accuracy) -> str:
    """ "reproduced", "lower", "open" (lower, but one repeat has no interval), or "" without two figures."""
    if cell.difference is None or cell.ours is None:
        return ""
    if cell.difference >= 0 or cell.inside:
        return "reproduced"
    return "open" if math.isnan(cell.ours[1]) else "lower"


def verdict2(error: TargetError) -> str:
    """ "reproduced", "higher", or "" where there are no two figures."""
    if error.difference is None:
        return ""
    return "reproduced" if error.difference <= 0 or error.inside else "higher"


def _table1(table: Table1) -> Iterator[str]:
    verdicts = {place: verdict1(cell) for place, cell in table.items()}
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
        if cells and method != TRAINED and all(verdict1(cell) == "reproduced" for cell in cells)
    ]
    for method in (TRAINED, *METHODS):
        if by_method.get(method) and method not in whole:
            yield _method(METHODS[method].title, by_method.pop(method))
    if whole:
        yield f"Reproduced wherever measured: {listed(METHODS[method].title for method in whole)}."
    yield from _missing1(table)


def _method(title: str, cells: Sequence[Accuracy]) -> str:
    named: dict[str, list[str]] = {"reproduced": [], "lower": [], "open": []}
    for cell in cells:
        verdict = verdict1(cell)
        by = "" if verdict == "reproduced" else f" (by {-(cell.difference or 0.0):.1f} points)"
        named[verdict].append(cell.data + by)
    words = {
        "reproduced": "reproduced on {}",
        "lower": "lower than the paper on {}",
        "open": "lower so far, with one repeat and no interval, on {}",
    }
    return f"{title}: " + "; ".join(words[v].format(listed(n)) for v, n in named.items() if n) + "."


def _missing1(table: Table1) -> Iterator[str]:
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
    names = [name for name, variant in VARIANTS.items() if variant.method == method]
    for data in SMALL:
        cell, base = table[data, method], found[data, method]
        if cell.difference is None or cell.difference >= 0 or not isinstance(cell.published, tuple):
            continue
        means = {
            name: 100 * own.paper().mean
            for name in names
            if (own := found[data, name]) is not None and base is not None and own.seeds == base.seeds
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


def _table2(table: Table2) -> Iterator[str]:
    errors = table.errors
    targets = paper_table2().targets
    known = [target for target in targets if errors[target, "infograph*"].interval is not None]
    done = sum(error.mae is not None for error in errors.values())
    yield f"Table 2: {done} of {len(errors)} errors were measured."
    if known:
        yield from _ahead(table, known)
    for objective in PUBLISHED:
        yield from _objective(objective, [errors[target, objective] for target in targets])
    yield from _simple(table, known)
    yield from _missing2(table)


def _ahead(table: Table2, known: Sequence[str]) -> Iterator[str]:
    """Where the whole interval of InfoGraph* is lower than the supervised model, and than Mean Teacher's."""
    ahead = table.below(dict.fromkeys(known, 1.0))
    yield (
        f"InfoGraph* has a smaller error than the supervised model on {len(ahead)} of {len(known)} targets, "
        f"with its whole interval below 1{_which(ahead)}."
    )
    teacher = table.lower_ends("mean-teacher")
    both = [target for target in known if target in teacher]
    if both:
        under = table.below(teacher)
        yield (
            f"The interval of InfoGraph* lies below that of Mean Teacher on {len(under)} of {len(both)} "
            f"targets{_which(under)}."
        )


def _missing2(table: Table2) -> Iterator[str]:
    errors, targets = table.errors, paper_table2().targets
    rows = list(dict.fromkeys(row for _, row in errors))
    empty = [target for target in targets if all(errors[target, row].result is None for row in rows)]
    if empty:
        yield f"Table 2 has no results yet on {listed(empty)}."
    missing: dict[str, list[str]] = {}
    for row in rows:
        lacking = [t for t in targets if errors[t, row].result is None and t not in empty]
        if lacking:
            missing.setdefault(listed(lacking), []).append(NAMES[row])
    for where, names in missing.items():
        yield f"Not run on {where}: {listed(names)}."
    for error in errors.values():
        if error.reason:
            yield f"{NAMES[error.objective]} has no figure on {error.target}: {error.reason.rstrip('.')}."


def _objective(objective: str, errors: Sequence[TargetError]) -> Iterator[str]:
    reproduced = [error.target for error in errors if verdict2(error) == "reproduced"]
    higher = [
        f"{error.target} (by {error.difference:.3f})"
        for error in errors
        if error.difference is not None and verdict2(error) == "higher"
    ]
    compared = len(reproduced) + len(higher)
    if not compared:
        return
    text = (
        f"{NAMES[objective]}: the paper's error ratio is reproduced on {len(reproduced)} of {compared} "
        f"targets (inside our interval, or ours is not above it){_which(reproduced)}"
    )
    yield text + (f"; ours is higher on {listed(higher)}." if higher else ".")


def _simple(table: Table2, known: Sequence[str]) -> Iterator[str]:
    """Where a reference that learns next to nothing has the smaller error."""
    for reference in REFERENCES:
        better = []
        for target in known:
            simple, ours = table.errors[target, reference].mae, table.errors[target, "infograph*"].mae
            if simple is not None and ours is not None and simple < ours:
                better.append(target)
        if better:
            name = NAMES[reference].capitalize()
            yield f"“{name}” has a smaller error than InfoGraph* on {listed(better)}."


def listed(names: Iterable[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _which(names: Sequence[str]) -> str:
    return f": {listed(names)}" if names else ""
