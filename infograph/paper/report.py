"""The paper's tables beside ours: a page and Markdown tables, from result files alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.resources import files
from itertools import chain
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

from infograph.cells import Result
from infograph.evaluate.published import figure_text, paper_table1, paper_table2
from infograph.io import write_text
from infograph.look.describe import holm
from infograph.paper import table1, table2
from infograph.paper.figures import epochs_figure
from infograph.report.figures import as_svg, history_figure
from infograph.report.pages import Entry, Sheet, as_markdown, grid, plain, render, signed, text

TITLE = "The paper's tables, measured again"
INSIDE = "✓"
PAPER_EPOCHS = 500
KINDS1 = ("leak-free", "paper's protocol", "the paper", "difference")
KINDS2 = ("error", "ratio", "interval", "the paper", "difference")
COLUMNS2 = {objective: table2.NAMES[objective] for objective in (*table2.OBJECTIVES, *table2.REFERENCES)}


class Part(NamedTuple):
    """A section of the report."""

    title: str
    sheets: Sequence[Sheet] = ()
    remarks: Sequence[str] = ()
    figure: str = ""


class Report(NamedTuple):
    """What was written, and how much of the paper it confirms."""

    page: Path
    tables: Path
    agreement: Sheet


def write_report(results: Path, out: Path) -> Report:
    """Write `report.html` and `tables.md` to a folder, from the result files that are there.

    Args:
        results: the folder of all results, with `table1`, `table2` and `variants` in it; what is missing
            stays empty.
        out: the folder to write to.
    """
    accuracies, errors = table1.read_table1(results), table2.read_table2(results)
    parts = report_parts(accuracies, errors, table1.read_variants(results))
    parts = [Part("In short", [agreement_sheet(accuracies, errors)], remarks("agreement")), *parts]
    lines = [f"# {TITLE}", ""]
    for part in parts:
        lines += [f"## {plain(part.title)}", ""]
        for sheet in part.sheets:
            lines += [as_markdown(sheet), ""]
        lines += [*(f"- {plain(remark)}" for remark in part.remarks), ""]
    epochs = Part("Accuracy against epochs", [], remarks("epochs"), epochs_figure(accuracies))
    drawn = [part for part in (epochs, _convergence(errors)) if part.figure]
    page = render("reproduction.html", title=TITLE, parts=[*parts, _later(), *drawn])
    report = Report(out / "report.html", out / "tables.md", parts[0].sheets[0])
    out.mkdir(parents=True, exist_ok=True)
    write_text(report.page, page)
    write_text(report.tables, "\n".join(lines))
    return report


class Sides(NamedTuple):
    """Where our figures lie beside the paper's: how many are inside, and by how much the others are not."""

    planned: int  # the paper's figures
    inside: int
    above: tuple[float, ...]
    below: tuple[float, ...]
    alone: int  # without an interval: of one repeat

    @classmethod
    def of(cls, cells: Iterable[table1.Accuracy | table2.TargetError]) -> Sides:
        """Of cells for which the paper has a figure."""
        known = list(cells)
        measured = [(cell, cell.difference) for cell in known if cell.difference is not None]
        judged = [(cell.inside, gap) for cell, gap in measured if cell.interval is not None]
        apart = sorted(gap for inside, gap in judged if not inside)
        above, below = (tuple(abs(gap) for gap in apart if (gap > 0) == up) for up in (True, False))
        return cls(len(known), len(judged) - len(apart), above, below, len(measured) - len(judged))

    @property
    def entries(self) -> tuple[str, ...]:
        """Measured, inside, above and below, as cells of a table."""
        measured = self.inside + len(self.above) + len(self.below) + self.alone
        alone = f", {self.alone} once" if self.alone else ""
        sides = [f"{len(gaps)}{_reach(gaps)}" for gaps in (self.above, self.below)]
        return (f"{measured} of {self.planned}{alone}", str(self.inside), *sides)


def _reach(gaps: Sequence[float]) -> str:
    if len(gaps) < 2:
        return "".join(f" ({gap:.2g})" for gap in gaps)
    return f" ({median(gaps):.2g} to {max(gaps):.2g})"


def sides1(table: table1.Table1, rows: Sequence[str] = tuple(table1.METHODS)) -> Sides:
    """Of Table 1, by the paper's protocol, in points."""
    cells = (cell for (_, row), cell in table.items() if row in rows)
    return Sides.of(cell for cell in cells if isinstance(cell.published, tuple))


def sides2(table: table2.Table2) -> dict[table2.Length, tuple[list[str], dict[str, Sides]]]:
    """Of Table 2, by objective, over targets that were trained alike, and these.

    Ratios to the supervised model's error; of that model itself, to the paper's.
    """
    groups: dict[table2.Length, list[str]] = {}
    for target, length in table.lengths.items():
        groups.setdefault(length, []).append(target)
    return {
        length: (
            targets,
            {row: Sides.of(table.errors[target, row] for target in targets) for row in table2.OBJECTIVES},
        )
        for length, targets in groups.items()
    }


def agreement_sheet(accuracies: table1.Table1, errors: table2.Table2) -> Sheet:
    """How many of the paper's figures lie inside our intervals, and how far ours are above and below."""
    one = {"all methods": sides1(accuracies)}
    one[table1.row_titles()[table1.TRAINED]] = sides1(accuracies, [table1.TRAINED])
    groups = [(("Table 1", f"{table1.REPEATS} repeats"), one)]
    for length, (targets, sides) in sides2(errors).items():
        two = {table2.NAMES[row]: each for row, each in sides.items()}
        groups.append(((f"Table 2: {', '.join(targets)}", str(length)), two))
    rows = []
    for title, counted in groups:
        columns = zip(*(each.entries for each in counted.values()), strict=True)
        rows.append((text(*title), text(*counted, look="kinds"), *(text(*column) for column in columns)))
    return Sheet.of(("", "", "measured", "inside", "above", "below"), rows)


def report_parts(accuracies: table1.Table1, errors: table2.Table2, variants: table1.Table1) -> list[Part]:
    """The sections with tables, in order."""
    versus, costs = [versus_sheet(accuracies)], [cost1_sheet(accuracies), cost2_sheet(errors)]
    first = [*remarks("table1"), *won(accuracies), *_searched(accuracies), *reduced_grids(accuracies)]
    second = [*remarks("table2"), *training_remarks(errors)]
    found = [result for cell in accuracies.values() for result in cell.found]
    machines = [*remarks("costs"), *provenance([*found, *results_of(errors)])]
    parts = [
        Part("Table 1: unsupervised accuracy", [table1_sheet(accuracies)], first),
        Part("InfoGraph against the untrained encoder", versus, remarks("versus")),
        Part("Variants", [variants_sheet(variants)], remarks("variants")),
        Part("Table 2: errors on QM9", [table2_sheet(errors)], second),
        Part("The search of Table 2", [search_sheet(errors)], remarks("search")),
        Part("Time and memory", costs, machines),
    ]
    return [part for part in parts if any(sheet.rows for sheet in part.sheets)]


def remarks(name: str) -> list[str]:
    """The paragraphs of a section of `remarks.md`."""
    whole = (files(__package__) / "remarks.md").read_text(encoding="utf-8")
    section = whole.split(f"# {name}\n")[1].split("\n# ")[0]
    said = section.format(
        table1=table1, table2=table2, inside=INSIDE, confidence=f"{100 * table1.CONFIDENCE:g} %"
    )
    return [" ".join(paragraph.split()) for paragraph in said.strip().split("\n\n")]


def table1_sheet(table: table1.Table1) -> Sheet:
    """Every figure of Table 1, and the paper's."""
    best = best_accuracies(table)
    columns = {data: data for data in paper_table1().datasets}
    rows = {}
    for name, title in table1.row_titles().items():
        kinds = KINDS1 if title in paper_table1().rows else KINDS1[:2]
        rows[name] = (text(title), text(*kinds, look="kinds"))
    rows["majority"] = (text("majority class"), text(""))

    def entry(name: str, data: str) -> Entry:
        if name == "majority":
            return text(rounded(table1.majority(table, data), 2))
        cell = table[data, name]
        if not cell.planned:
            return text("")
        theirs = figure_text(cell.published) if isinstance(cell.published, tuple) else cell.published or ""
        if cell.ours is None or cell.leak_free is None:
            return text(absent(cell.found), "", theirs, "", cell.reason, look="absent")
        lines = [figure_text(cell.leak_free), figure_text(cell.ours)]
        if cell.title in paper_table1().rows:
            lines.append(f"{INSIDE} {theirs}" if cell.inside else theirs)
            lines.append("" if cell.difference is None else signed(cell.difference, 2))
        return text(*lines, *cell.lacks, bold=cell.leak_free[0] == best[data])

    return grid(("method", "accuracy, %"), rows, columns, entry)


def best_accuracies(table: table1.Table1) -> dict[str, float]:
    """The best leak-free mean of every data set."""
    found = sorted((cell.leak_free[0], data) for (data, _), cell in table.items() if cell.leak_free)
    return {data: accuracy for accuracy, data in found}


def rounded(value: float | None, digits: int) -> str:
    """A number, or nothing where it is not known."""
    return "" if value is None else f"{value:.{digits}f}"


def absent(found: object) -> str:
    """What stands for a figure that is not there."""
    return "no figure" if found else "not run"


def measured_sets(table: table1.Table1) -> list[str]:
    """The data sets with results."""
    return [
        data
        for data in paper_table1().datasets
        if any(table[data, method].found for method in table1.METHODS)
    ]


def _searched(table: table1.Table1) -> list[str]:
    searched = []
    for name, title in table1.row_titles().items():
        evaluations = [cell.evaluation for (_, row), cell in table.items() if row == name]
        settings = [candidate.setting for each in evaluations if each for candidate in each.candidates]
        if settings:
            searched.append(f"{title}: {grid_text(settings)}")
    return [f"Settings searched. {'; '.join(searched)}."] if searched else []


def won(table: table1.Table1) -> list[str]:
    """Which structure of deep graph kernels and which variant of sub2vec the figures are of; stopped fits."""
    said = []
    for row in ("dgk", table1.DEGREES, "sub2vec"):
        there = {data: cell.best for (data, name), cell in table.items() if name == row and cell.best}
        kinds = {data: best.partition(" ")[0].partition("=")[2] for data, best in there.items()}
        if kinds:
            found = ", ".join(f"{kind} on {data}" for data, kind in kinds.items())
            said.append(f"Best on the test folds for {table1.row_titles()[row]}: {found}.")
    stopped, fits = (sum(each) for each in zip(*(cell.stopped for cell in table.values()), strict=True))
    if fits:
        said.append(
            f"{stopped:,} of {fits:,} fits of support vector machines stopped at their bound on iterations."
        )
    return said


def reduced_grids(table: table1.Table1) -> list[str]:
    """The data sets on which InfoGraph's grid is a smaller one, a sentence each."""
    return [
        f"On {data} InfoGraph's grid is reduced to "
        f"{grid_text(f'{each} epochs={epochs}' for each in settings for epochs in table1.REDUCED_EPOCHS)}."
        for data, settings in table1.REDUCED.items()
        if data in measured_sets(table)
    ]


def grid_text(names: Iterable[str]) -> str:
    """The values of a grid from its settings' names: "size=4 lr=1", "size=8 lr=1" -> "size 4 / 8, lr 1"."""
    names = list(dict.fromkeys(names))
    if names == ["default"]:
        return "one setting"
    values: dict[str, list[str]] = {}
    for part in " ".join(names).split():
        key, _, value = part.partition("=")
        values.setdefault(key, []).append(value)
    return ", ".join(f"{key} {' / '.join(dict.fromkeys(found))}" for key, found in values.items())


def versus_sheet(table: table1.Table1) -> Sheet:
    """InfoGraph against the untrained encoder."""
    tests = table1.against_untrained(table)
    corrected = holm(np.array([test.p_value for test, _ in tests.values()]))
    rows = []
    for (data, (test, repeats)), p_value in zip(tests.items(), corrected, strict=True):
        difference = signed(100 * test.difference, 2)
        interval = " to ".join(signed(100 * end, 2) for end in test.interval)
        shown = [f"{p:.3f}" if p >= 0.001 else "below 0.001" for p in (test.p_value, p_value)]
        found = "better" if test.difference > 0 else "worse"
        found = found if p_value < 0.05 else "no difference found"
        rows.append((data, difference, interval, *shown, str(repeats), found))
    head = ("data set", "difference, points", "95 % interval", "p", "p after Holm", "repeats", "")
    return Sheet.of(head, rows)


def variants_sheet(table: table1.Table1) -> Sheet:
    """Every method and below it a row per variant that has results."""
    there = [
        name
        for name in table1.VARIANTS
        if any((cell := table.get((data, name))) and cell.found for data in table1.SMALL)
    ]
    rows = {}
    for method, setting in table1.BASES.items():
        mine = [name for name in there if table1.VARIANTS[name].method == method]
        if mine:
            rows[method] = (text(table1.METHODS[method].title, setting),)
            rows |= {name: (text(table1.VARIANTS[name].title),) for name in mine}

    def entry(name: str, data: str) -> Entry:
        cell = table.get((data, name))
        if cell is None:
            return text("")
        if cell.evaluation is None or cell.leak_free is None or cell.ours is None:
            return text(absent(cell.found), look="absent")
        lines = [figure_text(cell.leak_free, 1), f"{cell.ours[0]:.1f}"]
        found = (
            table1.paired(cell, table[data, table1.VARIANTS[name].method])
            if name in table1.VARIANTS
            else None
        )
        if found is not None:
            gain, *ends = (signed(100 * each, 1) for each in (found[0].difference, *found[0].interval))
            lines.append(f"{gain} ({' to '.join(ends)})")
        return text(*lines, *cell.lacks)

    return grid(("variant",), rows, {data: data for data in table1.SMALL}, entry)


def table2_sheet(table: table2.Table2) -> Sheet:
    """Every figure of Table 2, and the paper's; a row per target."""
    least = least_errors(table)

    def entry(target: str, objective: str) -> Entry:
        error, theirs = table.errors[target, objective], published_error(table.errors[target, objective])
        if error.mae is None:
            return text(absent(error.reason), "", "", theirs, look="absent")
        low, high = error.interval or (0.0, 0.0)
        return text(
            digits(error.mae, 4),
            rounded(error.ratio, 3),
            f"{low:.3f} to {high:.3f}" if error.interval else "",
            f"{INSIDE} {theirs}" if error.inside else theirs,
            "" if error.difference is None else signed(error.difference, 3),
            bold=error.mae == least[target],
        )

    kinds = text(*KINDS2, look="kinds")
    rows = {
        target: (text(f"{target}, {table2.UNITS[target]}", str(table.lengths[target])), kinds)
        for target in paper_table2().targets
    }
    return grid(("target, unit", ""), rows, COLUMNS2, entry)


def least_errors(table: table2.Table2) -> dict[str, float]:
    """The least error of every target."""
    found = ((error.mae, target) for (target, _), error in table.errors.items() if error.mae is not None)
    return {target: mae for mae, target in sorted(found, reverse=True)}


def published_error(error: table2.TargetError) -> str:
    """The paper's ratio; its error for the supervised model."""
    if error.objective == table2.REFERENCE:
        return f"{paper_table2().supervised[error.target]:.4f}"
    return rounded(error.published, 2)


def digits(value: float, n: int) -> str:
    """A number with n significant digits, zeros at its end too."""
    return f"{value:#.{n}g}".rstrip(".")


def training_remarks(table: table2.Table2) -> list[str]:
    """Epochs, seeds, weight decay, lambda and split of the networks that are shown, and what was chosen."""
    groups: dict[str, list[str]] = {}
    for target, length in table.lengths.items():
        found = {row: table.errors[target, row].results[:1] for row in table2.OBJECTIVES}
        given = {row: each[0]["settings"]["parameters"] for row, each in found.items() if each}
        if table2.REFERENCE in given:
            said = [str(length), f"weight decay {given[table2.REFERENCE]['weight_decay']:g}"]
            lams = {row: given[row]["lam"] for row in table2.WEIGHTED if row in given}
            said += [f"lambda {lam:g} for {table2.NAMES[row]}" for row, lam in lams.items()]
            groups.setdefault(", ".join(said), []).append(target)
    remarks = [f"{', '.join(targets)}: {said}." for said, targets in groups.items()]
    split = next(cell.settings for cell in table.plan.cells)
    remarks.append(
        f"{split['labelled']:,} labelled molecules, {split['validation']:,} for validation, "
        f"{split['test']:,} for the test, the others unlabelled; a seed is that of the split and of the "
        f"weights. The paper has {PAPER_EPOCHS} epochs."
    )
    epochs = {length.epochs for length in table.lengths.values()}
    if epochs != {table2.FIRST_EPOCHS}:
        remarks.append(
            "Inputs and weights at the start are the authors', so far as they are known, and the learning "
            "rate falls to 0 along a cosine, for every objective alike."
        )
    if table2.FIRST_EPOCHS in epochs:
        remarks.append(
            f"Not so the targets with {table2.FIRST_EPOCHS} epochs, which are of the table's first run: all "
            "node columns as inputs, torch's weights at the start, a learning rate that never fell. Today's "
            "command makes longer runs in their place."
        )
    what = f"{' and '.join(table.plan.open)} on {table2.SEARCHED}"
    under_way = f"The search for {what} with the new inputs is not over."
    return [*remarks, under_way] if table.plan.open else remarks


def search_sheet(table: table2.Table2) -> Sheet:
    """Every setting that was tried, and which ones the table has."""
    keys, rows = {cell.key for cell in table.plan.chosen}, []
    for cell, error in table.search:
        (what, value), chosen = table2.tried_what(cell), cell.key in keys
        shown = "not run" if error is None else "diverged" if math.isinf(error) else digits(error, 4)
        setting, name = text(f"{what} {value:g}", look="kinds"), table2.NAMES[cell.settings["objective"]]
        rows.append((name, setting, text(shown, bold=chosen), "chosen" * chosen))
    error_of = f"validation error on {table2.SEARCHED}, {table2.UNITS[table2.SEARCHED]}"
    return Sheet.of(("method", "setting", error_of, ""), rows)


def cost1_sheet(table: table1.Table1) -> Sheet:
    """Median seconds of a representation by data set, and the peak memory over all of them."""
    names, rows = paper_table1().datasets, []
    for name, title in table1.row_titles().items():
        found = [table[data, name].found for data in names]
        seconds = (cost_of(each)[0] for each in found)
        rows.append((title, *seconds, cost_of(chain(*found))[1]))
    return Sheet.of(("seconds", *names, "peak, MB"), rows)


def cost2_sheet(table: table2.Table2) -> Sheet:
    """Median seconds of a cell by objective, and its peak memory."""
    rows = []
    for objective, name in COLUMNS2.items():
        found = [r for (_, row), e in table.errors.items() if row == objective for r in e.results]
        rows.append((name, *cost_of(found), str(len(found) or "")))
    return Sheet.of(("method", "seconds", "peak, MB", "cells"), rows)


def cost_of(results: Iterable[Result]) -> tuple[str, str]:
    """Median seconds and the most megabytes of those cells that are whole; empty where no cell tells.

    Time is of the method alone where it was measured apart.
    """
    whole = [result for result in results if not (result.get("empty") or result.get("lacking"))]
    measured = [result["measured"] for result in whole]
    if not measured:
        return "", ""
    seconds = median(each.get("represent_seconds", each["seconds"]) for each in measured)
    peak = max((each["peak_mb"] for each in measured if each["peak_mb"] is not None), default=None)
    return f"{seconds:,.0f}" if seconds >= 9.95 else f"{seconds:.2g}", "" if peak is None else f"{peak:,.0f}"


def results_of(table: table2.Table2) -> list[Result]:
    """The results that the table shows."""
    return [result for error in table.errors.values() for result in error.results]


def provenance(results: Iterable[Result]) -> list[str]:
    """The processors and threads that cells had, and the commits that made them, with how many each."""
    machines, commits = Counter[str](), Counter[str]()
    for measured in (result["measured"] for result in results):
        of = measured["machine"]
        threads = "1 thread" if of["threads"] == 1 else f"{of['threads']} threads"
        machines[f"{of['processor']}, {of['cores']} cores, {threads}"] += 1
        commit = measured.get("commit")
        commits[f"{commit[:9]}{'+' * commit.endswith('+')}" if commit else "none noted"] += 1
    if not machines:
        return ["Nothing was run yet."]
    named = {"Machines": machines, "Commits": commits}
    return [
        f"{what}, cells: {'; '.join(f'{name}: {n:,}' for name, n in found.most_common())}."
        for what, found in named.items()
    ]


def _later() -> Part:
    names, later = paper_table1().datasets, paper_table1().later
    rows = [(name, *(rounded(later[name][data], 2) for data in names)) for name in later]
    title, note = "Published later by others; not measured here", paper_table1().later_note
    return Part(title, [Sheet.of(("method", *names), rows)], [note])


def _convergence(table: table2.Table2) -> Part:
    target, row, _ = table2.DRAWN
    shown = table.drawn or next(iter(table.errors[target, row].results), None)
    if shown is None or not shown["history"]:
        return Part("Convergence")
    remark = (
        f"InfoGraph* on {target}, {len(shown['history'])} epochs: every term of the loss, and the error on "
        f"the {shown['settings']['schedule']:,} validation molecules that choose the epoch. The test error "
        f"is {digits(shown['scores']['test_mae'], 3)} {shown['unit']}; no other row was trained so long."
    )
    return Part("Convergence", [], [remark], as_svg(history_figure(shown["history"], shown["unit"])))
