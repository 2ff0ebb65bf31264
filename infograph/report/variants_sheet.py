"""InfoGraph with one thing changed at a time, as a table for people."""

from __future__ import annotations

from statistics import mean

from infograph.evaluate import Evaluation
from infograph.report.sheet import Entry, Sheet, signed, text
from infograph.report.table1_sheet import figure
from infograph.reproduce.table1 import REPEATS, SMALL
from infograph.reproduce.variants import BASE, VARIANTS, Variants

CAPTION = (
    f"InfoGraph with {BASE}, and one thing changed at a time. Leak-free accuracy in per cent, mean ± "
    "deviation over repeats, the number of epochs (10, 20 or 100 unless it says otherwise) and C chosen on "
    "the inner folds; below, by the paper's protocol, and the difference of the leak-free means over the "
    "repeats that both have. "
    "Variants were thought of after the grid of Table 1 was fixed and take no part in it.",
)


def variants_sheet(found: Variants) -> Sheet | None:
    """A row per variant that has results; None where no variant has."""
    names = [name for name in VARIANTS if any(found[data, name] for data in SMALL)]
    if not names:
        return None
    rows = [(text("as in Table 1"), *(_entry(found[data, ""], None) for data in SMALL))]
    rows += [
        (text(VARIANTS[name].title), *(_entry(found[data, name], found[data, ""]) for data in SMALL))
        for name in names
    ]
    return Sheet(("variant", *SMALL), tuple(rows))


def _entry(own: Evaluation | None, base: Evaluation | None) -> Entry:
    if own is None:
        return text("")
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
