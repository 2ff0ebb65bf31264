"""Table 2 as a table for people: errors with units, ratios with intervals, and the paper's ratios."""

from __future__ import annotations

import math
from typing import Any

from infograph.methods.objectives import WEIGHED
from infograph.report.sheet import Entry, Sheet, signed, text
from infograph.reproduce.bootstrap import LEVEL, RESAMPLES, SEED
from infograph.reproduce.choice import settings_text
from infograph.reproduce.paper import paper_table2
from infograph.reproduce.ratios import NAMES, REFERENCE, UNITS, Table2, TargetError
from infograph.reproduce.table2 import OBJECTIVES, REFERENCES, ROWS, SEARCHED
from infograph.reproduce.words import listed

INSIDE = "✓"
PAPER_EPOCHS = 500
ORDER = (*OBJECTIVES, *REFERENCES)
KINDS = ("error", "ratio", "interval", "the paper", "difference")


def table2_sheet(table: Table2) -> Sheet:
    """All figures, a row per target."""
    rows = []
    for target in paper_table2().targets:
        least = _least(table, target)
        entries = [_entry(table.errors[target, objective], least) for objective in ORDER]
        rows.append((text(f"{target}, {UNITS[target]}"), text(*KINDS, look="kinds"), *entries))
    return Sheet(("target, unit", "", *(NAMES[objective] for objective in ORDER)), tuple(rows))


def table2_compact(table: Table2) -> Sheet:
    """The same for a narrow page: the error, and below it our ratio and the paper's.

    Targets that no network was trained for have no row; `table2_note` names them.
    """
    rows = []
    for target in _trained(table):
        least = _least(table, target)
        entries = [_compact(table.errors[target, objective], least) for objective in ORDER]
        rows.append((text(target, UNITS[target]), *entries))
    return Sheet(("target", *(NAMES[objective] for objective in ORDER)), tuple(rows))


def search_sheet(table: Table2) -> Sheet:
    """Every setting that was tried, and which ones the table has."""
    chosen = {cell.key for cell in table.plan.chosen}
    rows = [
        (
            text(NAMES[cell.settings["objective"]]),
            text(settings_text(cell), look="kinds"),
            text(_searched(error), bold=cell.key in chosen),
            text("chosen" if cell.key in chosen else ""),
        )
        for cell, error in table.search
    ]
    unit = UNITS[SEARCHED]
    return Sheet(("method", "setting", f"validation error on {SEARCHED}, {unit}", ""), tuple(rows))


def table2_caption(table: Table2) -> list[str]:
    """How the errors were measured."""
    return [
        "Mean absolute error on the test molecules, in the unit beside the target. Ratio: the error divided "
        f"by the supervised model's; below it its {100 * LEVEL:g} % interval (bootstrap over the test "
        f"molecules, paired, {RESAMPLES:,} resamples, seed {SEED}). The difference is our ratio minus the "
        "paper's; lower is better. For the supervised model the paper's figure is its error, whose unit the "
        "paper does not state.",
        f"{INSIDE} the paper's ratio lies inside our interval. Bold: the least error of a target.",
        "The interval is over test molecules, for one split and one training run each: what another seed "
        "would change is not in it. Runs this short compare how fast the objectives learn, not where they "
        "end.",
        _teacher(table),
        _training(table),
        *_open(table),
    ]


def table2_note(table: Table2) -> str:
    """What the compact table shows, in a paragraph."""
    absent = [target for target in paper_table2().targets if target not in _trained(table)]
    return " ".join(
        [
            "Mean absolute test error; below: its ratio to the supervised model's, in brackets the paper's "
            f"ratio (for the supervised model its error), {INSIDE} where that lies inside our "
            f"{100 * LEVEL:g} % interval. Bold is the least error of a row.",
            _training(table),
            *_open(table),
            *([f"Not run yet: {listed(absent)}."] if absent else []),
        ]
    )


def _trained(table: Table2) -> list[str]:
    """The targets that a network was trained for."""
    return [
        target
        for target in paper_table2().targets
        if any(table.errors[target, objective].result for objective in OBJECTIVES)
    ]


def digits(value: float, n: int) -> str:
    """A number with n significant digits, zeros at its end too."""
    return f"{value:#.{n}g}".rstrip(".")


def _searched(error: float | None) -> str:
    if error is None:
        return "not run"
    return "diverged" if math.isinf(error) else digits(error, 4)


def _entry(error: TargetError, least: float | None) -> Entry:
    theirs = _published(error)
    if error.mae is None:
        return text(_absent(error), "", "", theirs, look="absent")
    return text(
        digits(error.mae, 4),
        "" if error.ratio is None else f"{error.ratio:.3f}",
        "" if error.interval is None or error.objective == REFERENCE else _interval(error),
        f"{INSIDE} {theirs}" if error.inside else theirs,
        "" if error.difference is None else signed(error.difference, 3),
        bold=error.mae == least,
    )


def _compact(error: TargetError, least: float | None) -> Entry:
    theirs = f"({_published(error)})" if _published(error) else ""
    if error.mae is None:
        return text(_absent(error), theirs, look="absent")
    ratio = "" if error.ratio is None or error.objective == REFERENCE else f"{error.ratio:.2f}"
    second = " ".join(filter(None, [ratio, theirs, INSIDE if error.inside else ""]))
    return text(digits(error.mae, 3), second, bold=error.mae == least)


def _absent(error: TargetError) -> str:
    return "no figure" if error.reason else "not run"


def _published(error: TargetError) -> str:
    """The paper's ratio; its error for the supervised model."""
    if error.objective == REFERENCE:
        return f"{paper_table2().supervised[error.target]:.4f}"
    return "" if error.published is None else f"{error.published:.2f}"


def _interval(error: TargetError) -> str:
    low, high = error.interval or (0.0, 0.0)
    return f"{low:.3f} to {high:.3f}"


def _least(table: Table2, target: str) -> float | None:
    errors = [table.errors[target, objective].mae for objective in ROWS]
    return min((error for error in errors if error is not None), default=None)


def _training(table: Table2) -> str:
    """Epochs, weight decay, lambda, split and seed of the table's cells."""
    settings: dict[str, dict[str, Any]] = {c.settings["objective"]: c.settings for c in table.plan.cells}
    split, given = settings[REFERENCE], settings[REFERENCE]["parameters"]
    lams = ", ".join(f"lambda {settings[name]['parameters']['lam']:g} for {NAMES[name]}" for name in WEIGHED)
    return (
        f"{given['epochs']} epochs (the paper has {PAPER_EPOCHS}), weight decay {given['weight_decay']:g}, "
        f"{lams}; {split['labelled']:,} labelled molecules, {split['validation']:,} for validation, "
        f"{split['test']:,} for the test, the others unlabelled; seed {split['seed']}."
    )


def _teacher(table: Table2) -> str:
    """Why short runs say little about Mean Teacher."""
    cell = next(c.settings for c in table.plan.cells if c.settings["objective"] == "mean-teacher")
    given = cell["parameters"]
    reach, epoch = 1 / (1 - given["decay"]), math.ceil(cell["labelled"] / given["batch_size"])
    return (
        f"Mean Teacher predicts by weights that are averaged over some {reach:,.0f} updates, which is "
        f"{reach / epoch:.0f} of its {given['epochs']} epochs, and its student is held to such predictions "
        f"from the start (the weight is {given['consistency']:g}, without ramp-up, as in the authors' code): "
        f"in few epochs it must lag behind."
    )


def _open(table: Table2) -> list[str]:
    if not table.plan.open:
        return []
    what = " and ".join(table.plan.open)
    return [f"The search for {what} on {SEARCHED} is not over: shown with the values above, not chosen ones."]
