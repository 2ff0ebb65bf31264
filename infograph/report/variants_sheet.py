"""Methods with one thing changed at a time, as a table for people."""

from __future__ import annotations

from statistics import mean

from infograph.evaluate import Evaluation
from infograph.report.sheet import Entry, Sheet, signed, text
from infograph.report.table1_sheet import figure
from infograph.reproduce.methods import METHODS
from infograph.reproduce.table1 import REPEATS, SMALL
from infograph.reproduce.variants import BASES, VARIANTS, Variants, variants_of

CAPTION = (
    "A setting of Table 1, and one thing changed at a time. Leak-free accuracy in per cent, mean ± "
    "deviation over repeats, the number of epochs (10, 20 or 100 unless it says otherwise) and C chosen on "
    "the inner folds; below, by the paper's protocol, and the difference of the leak-free means over the "
    "repeats that both have; empty where it changes nothing. "
    "Variants were thought of after the grid of Table 1 was fixed and take no part in it.",
)


def variants_sheet(found: Variants) -> Sheet | None:
    """Every method and below it a row per variant that has results; None where no variant has."""
    rows = []
    for method, setting in BASES.items():
        there = [name for name in variants_of(method) if any(found[data, name] for data in SMALL)]
        bases = [found[data, method] for data in SMALL]
        if there:
            rows.append((text(METHODS[method].title, setting), *(_entry(base, None) for base in bases)))
        for name in there:
            entries = (
                _entry(found[data, name], base) if data in VARIANTS[name].data else text("")
                for data, base in zip(SMALL, bases, strict=True)
            )
            rows.append((text(VARIANTS[name].title), *entries))
    return Sheet(("variant", *SMALL), tuple(rows)) if rows else None


def _entry(own: Evaluation | None, base: Evaluation | None) -> Entry:
    if own is None:
        return text("not run", look="absent")
    free, paper = own.leak_free(), own.paper()
    lines = [figure((100 * free.mean, 100 * free.std), 1), f"{100 * paper.mean:.1f}"]
    gains = [] if base is None else _gains(own, base)
    if gains:
        lines.append(signed(100 * mean(gains), 1))
    missing = [f"{len(own.seeds)} of {REPEATS} repeats"] if len(own.seeds) < REPEATS else []
    return text(*lines, *missing)


def _gains(own: Evaluation, base: Evaluation) -> list[float]:
    """Leak-free means minus those of the base, for the repeats that both have."""
    first, second = (
        {seed: mean(scores) for seed, scores in zip(each.seeds, each.leak_free().fold_scores, strict=True)}
        for each in (own, base)
    )
    return [first[seed] - second[seed] for seed in first if seed in second]
