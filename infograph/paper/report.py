"""The paper's tables beside ours: one page, Markdown tables, and README's blocks, from result files alone."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING, Any

from infograph.cells import Result
from infograph.evaluate import Evaluation
from infograph.evaluate.compare import DEPTHS, EPOCHS, METHODS, RATES
from infograph.evaluate.published import Figure, paper_table1, paper_table2
from infograph.io import replaced_file
from infograph.look.svg import DARK, LIGHT, Theme
from infograph.objectives import WEIGHED
from infograph.paper.table1 import (
    ALPHA,
    BASES,
    FOLDS,
    INNER_FOLDS,
    REACH,
    REDUCED,
    REDUCED_EPOCHS,
    REPEATS,
    SMALL,
    TRAINED,
    UNTRAINED,
    VARIANTS,
    Accuracy,
    Table1,
    Variants,
    Versus,
    against_base,
    against_untrained,
    majority,
    read_table1,
    read_variants,
    table1_cells,
    variants_of,
)
from infograph.paper.table2 import (
    CONFIDENCE,
    NAMES,
    OBJECTIVES,
    PUBLISHED,
    REFERENCE,
    REFERENCES,
    RESAMPLES,
    ROWS,
    SEARCHED,
    SEED,
    UNITS,
    Table2,
    TargetError,
    read_table2,
    settings_text,
)
from infograph.report.figures import make_figure, png_history, strip
from infograph.report.pages import Entry, Sheet, as_html, as_markdown, page, plain, signed, text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLE = "The paper's tables, measured again"
DRAWN = ("U0", "infograph*")  # the training run whose convergence is shown, as in the paper's appendix
INSIDE = "✓"
TABLE1_KINDS = ("leak-free", "paper's protocol", "the paper", "difference")
PAPER_EPOCHS = 500
ORDER = (*OBJECTIVES, *REFERENCES)
TABLE2_KINDS = ("error", "ratio", "interval", "the paper", "difference")
CAPTION = (
    "A setting of Table 1, and one thing changed at a time. Leak-free accuracy in per cent, mean ± "
    "deviation over repeats, the number of epochs (10, 20 or 100 unless it says otherwise) and C chosen on "
    "the inner folds; below, by the paper's protocol, and the difference of the leak-free means over the "
    "repeats that both have; empty where it changes nothing. "
    "Variants were thought of after the grid of Table 1 was fixed and take no part in it.",
)
WIDTH, HEIGHT, ACROSS = 3.2, 2.5, 3  # inches of a panel, and panels in a row
MARKS, STYLES = ("o", "s", "^"), ("-", "--", ":")
Course = dict[
    tuple[int, float], list[float | None]
]  # (layers, lr) -> accuracy after each of EPOCHS, per cent
ENERGIES = ("U0", "U", "H", "G")  # of one molecule; they differ by thermal terms only


@dataclass(frozen=True, eq=False)
class Tables:
    """All that the result files of a folder give."""

    table1: Table1
    table2: Table2
    variants: Variants

    @classmethod
    def read(cls, results: Path) -> Tables:
        """From the files that are there; what is missing stays empty."""
        return cls(read_table1(results), read_table2(results), read_variants(results))


@dataclass(frozen=True)
class Part:
    """A section of the report: its title, tables, and the remarks below them."""

    title: str
    sheets: tuple[Sheet, ...]
    caption: tuple[str, ...]
    figure: str = ""


@dataclass(frozen=True)
class Report:
    """What was written, and the summary."""

    page: Path
    tables: Path
    summary: tuple[str, ...]


def write_report(results: Path, out: Path) -> Report:
    """Write `report.html` and `tables.md` to a folder, from the result files that are there.

    Args:
        results: the folder of all results, with `table1`, `table2` and `variants` in it; what is missing
            stays empty.
        out: the folder to write to.

    Raises:
        MissingExtra: there is a training run to draw, and matplotlib is not installed.
    """
    tables = Tables.read(results)
    summary = [*findings(tables.table1, tables.table2, tables.variants), *_strange(results, tables.table2)]
    report = Report(out / "report.html", out / "tables.md", tuple(summary))
    out.mkdir(parents=True, exist_ok=True)
    for path, content in (
        (report.page, as_page(tables, summary)),
        (report.tables, as_tables(tables, summary)),
    ):
        with replaced_file(path) as partial:
            partial.write_text(content, encoding="utf-8")
    return report


def readme_blocks(results: Path) -> dict[str, str]:
    """README's "table1" and "table2": compact Markdown tables with a paragraph below each."""
    table1, table2 = read_table1(results), read_table2(results)
    return {
        "table1": f"{as_markdown(table1_compact(table1))}\n\n{plain(table1_note(table1))}",
        "table2": f"{as_markdown(table2_compact(table2))}\n\n{plain(table2_note(table2))}",
    }


def as_tables(tables: Tables, summary: Sequence[str]) -> str:
    """All tables as Markdown."""
    lines = [f"# {TITLE}", "", *(f"- {plain(each)}" for each in summary), ""]
    for part in parts(tables):
        lines += [f"## {plain(part.title)}", ""]
        for sheet in part.sheets:
            lines += [as_markdown(sheet), ""]
        lines += [f"- {plain(remark)}" for remark in part.caption]
        lines.append("")
    return "\n".join(lines)


def as_page(tables: Tables, summary: Sequence[str]) -> str:
    """The page; everything that is no markup is escaped."""
    style = (files(__package__) / "reproduction.css").read_text(encoding="utf-8")
    body = [f"<style>{style}</style>", _section("In short", _list(summary))]
    for part in parts(tables, figures=True):
        captions = "".join(f'<p class="caption">{escape(remark)}</p>' for remark in part.caption)
        sheets = "".join(f"<div>{as_html(sheet)}</div>" for sheet in part.sheets)
        body.append(_section(part.title, f"{part.figure}{sheets}{captions}"))
    return page(TITLE, "\n".join(body))


def parts(tables: Tables, *, figures: bool = False) -> list[Part]:
    """The sections in order; figures and what others published later are for the page only."""
    table1, table2, changed = tables.table1, tables.table2, variants_sheet(tables.variants)
    versus = against_untrained(table1)
    later = (paper_table1().later_note,) if figures else ()
    first = Part(
        "Table 1: unsupervised accuracy",
        (table1_sheet(table1, later=figures),),
        (*table1_caption(table1), *later),
    )
    tested = Part(
        "InfoGraph against the untrained encoder",
        (versus_sheet(versus),) if versus else (),
        (
            "Leak-free accuracy of InfoGraph minus that of an encoder with random weights on the same folds: "
            "corrected resampled t-test of Nadeau and Bengio (2003), two-sided.",
        ),
    )
    others = None if changed is None else Part("Variants", (changed,), CAPTION)
    second = Part("Table 2: errors on QM9", (table2_sheet(table2),), tuple(table2_caption(table2)))
    search = Part(
        "The search of Table 2",
        (search_sheet(table2),),
        ("The least error on the validation molecules is chosen, first the weight decay, then lambda.",),
    )
    cost = Part(
        "Time and memory", (cost1_sheet(table1), cost2_sheet(table2)), tuple(cost_caption(table1, table2))
    )
    drawn = [_epochs(table1), _convergence(table2)] if figures else [None, None]
    order = [first, drawn[0], tested, others, second, search, drawn[1], cost]
    return [part for part in order if part is not None]


def _strange(results: Path, table: Table2) -> list[str]:
    """A sentence on result files of other settings, if there are any."""
    planned = [*table1_cells(paper_table1().datasets), *table.plan.cells, *table.plan.tried]
    known = {cell.path(results) for cell in planned}
    others = sum(
        path not in known for name in ("table1", "table2") for path in (results / name).glob("*.json")
    )
    return [f"Result files of other settings, not shown: {others}."] if others else []


def _epochs(table: Table1) -> Part | None:
    if not drawn_sets(table):
        return None
    images = [svg_epochs(table, theme) for theme in (LIGHT, DARK)]
    caption = (
        "InfoGraph after 10, 20 and 100 epochs of one run, each setting alone: accuracy on the test folds, "
        "C chosen on the inner folds, mean over repeats. The grey line is the untrained encoder, leak-free."
    )
    return Part(
        "Accuracy against epochs", (), (caption,), _figure(images, "svg+xml", "Accuracy against epochs")
    )


def _convergence(table: Table2) -> Part | None:
    result = table.errors[DRAWN].result
    if result is None or not result["history"]:
        return None
    images = [png_history(result["history"], unit=result["unit"], theme=theme) for theme in (LIGHT, DARK)]
    judged = result["settings"]["schedule"]
    caption = (
        f"InfoGraph* on {DRAWN[0]}: every term of the loss, and the error on the {judged:,} validation "
        "molecules that choose the epoch. A ring is the epoch that was kept, dotted lines are changes of the "
        "learning rate."
    )
    return Part("Convergence", (), (caption,), _figure(images, "png", "Loss terms over the epochs"))


def _figure(images: Sequence[bytes], kind: str, description: str) -> str:
    light, dark = (f"data:image/{kind};base64,{base64.b64encode(image).decode()}" for image in images)
    return (
        f'<figure><picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img src="{light}" alt="{escape(description)}"></picture></figure>'
    )


def _list(sentences: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(sentence)}</li>' for sentence in sentences)}</ul>"


def _section(title: str, content: str) -> str:
    return f"<section><h2>{escape(title)}</h2>{content}</section>"


def table1_sheet(table: Table1, *, later: bool = False) -> Sheet:
    """All figures; `later` adds what others published since."""
    columns = paper_table1().datasets
    best = _best(table)
    rows = [
        (
            text(METHODS[method].title),
            text(
                *(TABLE1_KINDS if METHODS[method].title in paper_table1().rows else TABLE1_KINDS[:2]),
                look="kinds",
            ),
            *(_accuracy_entry(table[data, method], best) for data in columns),
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
        (text(METHODS[method].title), *(_compact_accuracy(table[data, method], best) for data in columns))
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


def _accuracy_entry(cell: Accuracy, best: dict[str, float]) -> Entry:
    published = cell.published
    theirs = figure(published, 2) if isinstance(published, tuple) else published or ""
    if cell.ours is None or cell.leak_free is None:
        return text(_absent_accuracy(cell), "", theirs, "", cell.reason, look="absent")
    lines = [figure(cell.leak_free, 2), figure(cell.ours, 2)]
    if cell.title in paper_table1().rows:
        lines.append(f"{INSIDE} {theirs}" if cell.inside else theirs)
        lines.append("" if cell.difference is None else signed(cell.difference, 2))
    return text(*lines, *cell.lacks, bold=cell.leak_free[0] == best[cell.data])


def _compact_accuracy(cell: Accuracy, best: dict[str, float]) -> Entry:
    published = cell.published
    theirs = (
        f"({published[0]:.2f})" if isinstance(published, tuple) else f"({published})" if published else ""
    )
    if cell.ours is None or cell.leak_free is None:
        return text(_absent_accuracy(cell), theirs, look="absent")
    second = " ".join(filter(None, [f"{cell.ours[0]:.1f}", theirs, INSIDE if cell.inside else ""]))
    return text(figure(cell.leak_free, 1), second, *cell.lacks, bold=cell.leak_free[0] == best[cell.data])


def _absent_accuracy(cell: Accuracy) -> str:
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


def table2_sheet(table: Table2) -> Sheet:
    """All figures, a row per target."""
    rows = []
    for target in paper_table2().targets:
        least = _least(table, target)
        entries = [_error_entry(table.errors[target, objective], least) for objective in ORDER]
        rows.append((text(f"{target}, {UNITS[target]}"), text(*TABLE2_KINDS, look="kinds"), *entries))
    return Sheet(("target, unit", "", *(NAMES[objective] for objective in ORDER)), tuple(rows))


def table2_compact(table: Table2) -> Sheet:
    """The same for a narrow page: the error, and below it our ratio and the paper's.

    Targets that no network was trained for have no row; `table2_note` names them.
    """
    rows = []
    for target in _trained(table):
        least = _least(table, target)
        entries = [_compact_error(table.errors[target, objective], least) for objective in ORDER]
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
        f"by the supervised model's; below it its {100 * CONFIDENCE:g} % interval (bootstrap over the test "
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
            f"{100 * CONFIDENCE:g} % interval. Bold is the least error of a row.",
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


def _error_entry(error: TargetError, least: float | None) -> Entry:
    theirs = _published(error)
    if error.mae is None:
        return text(_absent_error(error), "", "", theirs, look="absent")
    return text(
        digits(error.mae, 4),
        "" if error.ratio is None else f"{error.ratio:.3f}",
        "" if error.interval is None or error.objective == REFERENCE else _interval(error),
        f"{INSIDE} {theirs}" if error.inside else theirs,
        "" if error.difference is None else signed(error.difference, 3),
        bold=error.mae == least,
    )


def _compact_error(error: TargetError, least: float | None) -> Entry:
    theirs = f"({_published(error)})" if _published(error) else ""
    if error.mae is None:
        return text(_absent_error(error), theirs, look="absent")
    ratio = "" if error.ratio is None or error.objective == REFERENCE else f"{error.ratio:.2f}"
    second = " ".join(filter(None, [ratio, theirs, INSIDE if error.inside else ""]))
    return text(digits(error.mae, 3), second, bold=error.mae == least)


def _absent_error(error: TargetError) -> str:
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


def variants_sheet(found: Variants) -> Sheet | None:
    """Every method and below it a row per variant that has results; None where no variant has."""
    rows = []
    for method, setting in BASES.items():
        there = [name for name in variants_of(method) if any(found[data, name] for data in SMALL)]
        bases = [found[data, method] for data in SMALL]
        if there:
            rows.append(
                (text(METHODS[method].title, setting), *(_variant_entry(base, None) for base in bases))
            )
        for name in there:
            entries = (
                _variant_entry(found[data, name], base) if data in VARIANTS[name].data else text("")
                for data, base in zip(SMALL, bases, strict=True)
            )
            rows.append((text(VARIANTS[name].title), *entries))
    return Sheet(("variant", *SMALL), tuple(rows)) if rows else None


def _variant_entry(own: Evaluation | None, base: Evaluation | None) -> Entry:
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


def cost1_sheet(table: Table1) -> Sheet:
    """Median seconds of a representation by data set, and the peak memory over all of them."""
    columns = paper_table1().datasets
    rows = []
    for method in METHODS:
        everything = cost_of(result for data in columns for result in table[data, method].found)
        seconds = [_seconds(cost_of(table[data, method].found)) for data in columns]
        rows.append((text(METHODS[method].title), *seconds, _peak(everything)))
    return Sheet(("seconds", *columns, "peak, MB"), tuple(rows))


def cost2_sheet(table: Table2) -> Sheet:
    """Median seconds of a cell by objective, and its peak memory."""
    rows = []
    for objective in ORDER:
        found = [e.result for (_, name), e in table.errors.items() if name == objective and e.result]
        cost = cost_of(found)
        rows.append((text(NAMES[objective]), _seconds(cost), _peak(cost), text(str(len(found) or ""))))
    return Sheet(("method", "seconds", "peak, MB", "cells"), tuple(rows))


def cost_caption(table1: Table1, table2: Table2) -> list[str]:
    """What was measured, and on what."""
    results = [result for cell in table1.values() for result in cell.found]
    results += [error.result for error in table2.errors.values() if error.result]
    where = "; ".join(machines(results)) or "nothing was run yet"
    return [
        "Median seconds of one cell. In Table 1 that is one setting and repeat: to represent all graphs of a "
        "data set, without the classifier. In Table 2 it is reading, training and prediction for one target. "
        "Of a cell that was stopped and continued it is the last part only, and other work on the machine is "
        "in it: a median of few cells says little. "
        "The peak memory is the largest of a process, Python and its packages included.",
        f"Machine: {where}.",
    ]


def _seconds(cost: Cost) -> Entry:
    if cost.seconds is None:
        return text("")
    return text(f"{cost.seconds:,.0f}" if cost.seconds >= 9.95 else f"{cost.seconds:.2g}")


def _peak(cost: Cost) -> Entry:
    return text("" if cost.peak_mb is None else f"{cost.peak_mb:,.0f}")


def course(cell: Accuracy) -> Course:
    """Mean outer accuracy over repeats and folds after each number of epochs, C chosen on inner folds."""
    if cell.evaluation is None:
        return {}
    means = {each.setting: 100 * float(each.chosen_outer.mean()) for each in cell.evaluation.candidates}
    lines = {
        (layers, lr): [means.get(f"layers={layers} lr={lr} epochs={epochs}") for epochs in EPOCHS]
        for layers in DEPTHS
        for lr in RATES
    }
    return {key: line for key, line in lines.items() if any(value is not None for value in line)}


def drawn_sets(table: Table1) -> list[str]:
    """The data sets with something to draw."""
    return [data for data in paper_table1().datasets if course(table[data, TRAINED])]


def svg_epochs(table: Table1, theme: Theme = LIGHT) -> bytes:
    """A panel per data set: colours are learning rates, marks are depths, grey is the untrained encoder.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    names = drawn_sets(table)
    across = min(len(names), ACROSS)
    down = -(-len(names) // across)
    figure = make_figure(max(WIDTH * across, 5.5), HEIGHT * down + 0.6, theme)
    for place, data in enumerate(names):
        axes = figure.add_subplot(down, across, place + 1)
        strip(axes, theme, ticks=True)
        _draw(axes, course(table[data, TRAINED]), table[data, UNTRAINED], theme)
        axes.set_title(data, color=theme.ink, fontsize=10, loc="left")
        if place >= len(names) - across:
            axes.set_xlabel("epochs", color=theme.ink, fontsize=9)
        if place % across == 0:
            axes.set_ylabel("accuracy, %", color=theme.ink, fontsize=9)
    handles = _legend(theme)
    figure.legend(
        handles=handles,
        loc="outside lower left",
        ncols=4,
        frameon=False,
        fontsize=8,
        labelcolor=theme.ink,
    )
    return _svg(figure)


def _draw(axes: Axes, lines: Course, untrained: Accuracy, theme: Theme) -> None:
    if untrained.leak_free is not None:
        axes.axhline(untrained.leak_free[0], color=theme.missing, linewidth=2.0, zorder=1)
    for (layers, lr), values in lines.items():
        look = DEPTHS.index(layers)
        known = [(place, value) for place, value in enumerate(values) if value is not None]
        axes.plot(
            *zip(*known, strict=True),
            color=theme.hues[RATES.index(lr)],
            marker=MARKS[look],
            linestyle=STYLES[look],
            markersize=4,
            linewidth=1.4,
        )
    axes.set_xticks(range(len(EPOCHS)), [str(each) for each in EPOCHS])
    axes.set_xlim(-0.15, len(EPOCHS) - 0.85)


def _legend(theme: Theme) -> Sequence[object]:
    from matplotlib.lines import Line2D

    rates = [
        Line2D([], [], color=theme.hues[p], linewidth=2.5, label=f"lr {lr:g}") for p, lr in enumerate(RATES)
    ]
    depths = [
        Line2D(
            [], [], color=theme.ink, marker=MARKS[p], linestyle=STYLES[p], markersize=4, label=f"{d} layers"
        )
        for p, d in enumerate(DEPTHS)
    ]
    flat = Line2D([], [], color=theme.missing, linewidth=2.0, label="untrained")
    return [*(line for pair in zip(rates, depths, strict=True) for line in pair), flat]


def _svg(figure: object) -> bytes:
    import matplotlib as mpl

    buffer = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "infograph"}):  # the same figure, the same file
        figure.savefig(buffer, format="svg", metadata={"Date": None})  # type: ignore[attr-defined]
    return buffer.getvalue()


@dataclass(frozen=True)
class Cost:
    """What some cells took.

    Attributes:
        seconds: median per cell for the representation of all graphs, or for training and prediction; None
            where no cell tells.
        peak_mb: the most memory that one of them had.
    """

    seconds: float | None
    peak_mb: float | None


def cost_of(results: Iterable[Result]) -> Cost:
    """The cost of those cells that are whole; time is of the method alone where it was measured apart."""
    whole = (result for result in results if not (result.get("empty") or result.get("lacking")))
    measured = [result["measured"] for result in whole]
    seconds = [each.get("represent_seconds", each["seconds"]) for each in measured]
    peaks = [each["peak_mb"] for each in measured if each["peak_mb"] is not None]
    return Cost(median(seconds) if seconds else None, max(peaks, default=None))


def machines(results: Iterable[Result]) -> list[str]:
    """The machines that the cells ran on, each once, such as "Xeon, 2 cores, 1 thread"."""
    texts = []
    for result in results:
        machine = result["measured"]["machine"]
        threads = "1 thread" if machine["threads"] == 1 else f"{machine['threads']} threads"
        texts.append(f"{machine['processor']}, {machine['cores']} cores, {threads}")
    return sorted(set(texts))


def findings(table1: Table1, table2: Table2, variants: Variants) -> list[str]:
    """All sentences, Table 1 first."""
    return [*table1_findings(table1), *variant_findings(table1, variants), *table2_findings(table2)]


def table1_findings(table: Table1) -> Iterator[str]:
    """Which accuracies are the paper's, and whether training is better than no training."""
    yield from _table1(table)
    yield from _untrained(against_untrained(table))


def variant_findings(table: Table1, found: Variants) -> Iterator[str]:
    """What one change does, and which reach the paper's figure."""
    yield from _variants(against_base(found))
    for method in BASES:
        yield from _reaching(method, table, found)


def _accuracy_verdict(cell: Accuracy) -> str:
    """ "reproduced", "lower", "open" (lower, but one repeat has no interval), or "" without two figures."""
    if cell.difference is None or cell.ours is None:
        return ""
    if cell.difference >= 0 or cell.inside:
        return "reproduced"
    return "open" if math.isnan(cell.ours[1]) else "lower"


def _table1(table: Table1) -> Iterator[str]:
    verdicts = {place: _accuracy_verdict(cell) for place, cell in table.items()}
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
        if cells and method != TRAINED and all(_accuracy_verdict(cell) == "reproduced" for cell in cells)
    ]
    for method in (TRAINED, *METHODS):
        if by_method.get(method) and method not in whole:
            yield _method(METHODS[method].title, by_method.pop(method))
    if whole:
        yield f"Reproduced wherever measured: {listed(METHODS[method].title for method in whole)}."
    yield from _missing_accuracies(table)


def _method(title: str, cells: Sequence[Accuracy]) -> str:
    named: dict[str, list[str]] = {"reproduced": [], "lower": [], "open": []}
    for cell in cells:
        verdict = _accuracy_verdict(cell)
        by = "" if verdict == "reproduced" else f" (by {-(cell.difference or 0.0):.1f} points)"
        named[verdict].append(cell.data + by)
    words = {
        "reproduced": "reproduced on {}",
        "lower": "lower than the paper on {}",
        "open": "lower so far, with one repeat and no interval, on {}",
    }
    return f"{title}: " + "; ".join(words[v].format(listed(n)) for v, n in named.items() if n) + "."


def _missing_accuracies(table: Table1) -> Iterator[str]:
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
        f"One thing changed at a time, leak-free, {len(rows)} tests of which {ALPHA * len(rows):.1f} would "
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
    yield from _missing_errors(table)


def _error_verdict(error: TargetError) -> str:
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


def _missing_errors(table: Table2) -> Iterator[str]:
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
    reproduced = [error.target for error in errors if _error_verdict(error) == "reproduced"]
    higher = [
        f"{error.target} (by {error.difference:.3f})"
        for error in errors
        if error.difference is not None and _error_verdict(error) == "higher"
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


def listed(names: Iterable[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def after_colon(names: Sequence[str]) -> str:
    """ ": a and b", or nothing."""
    return f": {listed(names)}" if names else ""
