"""What came out of Table 2, in sentences made from the figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from infograph.reproduce.paper import paper_table2
from infograph.reproduce.ratios import NAMES, PUBLISHED, REFERENCE, UNITS, Table2, TargetError
from infograph.reproduce.table2 import REFERENCES
from infograph.reproduce.words import after_colon, listed

ENERGIES = ("U0", "U", "H", "G")  # of one molecule; they differ by thermal terms only


def table2_findings(table: Table2) -> Iterator[str]:
    """Which errors are smaller than others', and which ratios are the paper's."""
    errors = table.errors
    targets = paper_table2().targets
    known = [target for target in targets if errors[target, "infograph*"].interval is not None]
    done = sum(error.mae is not None for error in errors.values())
    yield f"Table 2: {done} of {len(errors)} errors were measured."
    if known:
        yield from _ahead(table, known)
    yield from _luck(table)
    for objective in PUBLISHED:
        yield from _objective(objective, [errors[target, objective] for target in targets])
    yield from _simple(table, known)
    yield from _missing(table)


def _verdict(error: TargetError) -> str:
    """ "reproduced", "higher", or "" where there are no two figures."""
    if error.difference is None:
        return ""
    return "reproduced" if error.difference <= 0 or error.inside else "higher"


def _ahead(table: Table2, known: Sequence[str]) -> Iterator[str]:
    """Where the whole interval of InfoGraph* is lower than the supervised model, and than Mean Teacher's."""
    ahead = table.below(dict.fromkeys(known, 1.0))
    yield (
        f"InfoGraph* has a smaller error than the supervised model on {len(ahead)} of {len(known)} targets, "
        f"with its whole interval below 1{after_colon(ahead)}."
    )
    teacher = table.lower_ends("mean-teacher")
    both = [target for target in known if target in teacher]
    if both:
        under = table.below(teacher)
        yield (
            f"The interval of InfoGraph* lies below that of Mean Teacher on {len(under)} of {len(both)} "
            f"targets{after_colon(under)}."
        )


def _luck(table: Table2) -> Iterator[str]:
    """What another run would change, from four targets that are nearly one quantity."""
    bases = [table.errors[target, REFERENCE].mae for target in ENERGIES]
    ratios = [table.errors[target, "infograph*"].ratio for target in ENERGIES]
    errors, stars = [x for x in bases if x is not None], [x for x in ratios if x is not None]
    if len(errors) == len(stars) == len(ENERGIES):
        yield (
            f"{listed(ENERGIES)} differ by thermal terms only, which makes them {len(ENERGIES)} runs of one "
            f"task: the supervised error goes from {min(errors):.3g} to {max(errors):.3g} {UNITS['U0']}, and "
            f"the ratio of InfoGraph* from {min(stars):.2f} to {max(stars):.2f} there. What single short "
            "runs say about any target has to be read with that in mind."
        )


def _missing(table: Table2) -> Iterator[str]:
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
    reproduced = [error.target for error in errors if _verdict(error) == "reproduced"]
    higher = [
        f"{error.target} (by {error.difference:.3f})"
        for error in errors
        if error.difference is not None and _verdict(error) == "higher"
    ]
    compared = len(reproduced) + len(higher)
    if not compared:
        return
    text = (
        f"{NAMES[objective]}: the paper's error ratio is reproduced on {len(reproduced)} of {compared} "
        f"targets (inside our interval, or ours is not above it){after_colon(reproduced)}"
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
