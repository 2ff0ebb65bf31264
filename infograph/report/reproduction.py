"""The paper's tables beside ours: one page, Markdown tables, and README's blocks, from result files alone."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path

from infograph.data.storage import replaced_file
from infograph.report.cost_sheet import cost1_sheet, cost2_sheet, cost_caption
from infograph.report.epoch_figure import drawn_sets, svg_epochs
from infograph.report.figures import png_history
from infograph.report.page import page
from infograph.report.palette import DARK, LIGHT
from infograph.report.sheet import Sheet, as_html, as_markdown, plain
from infograph.report.table1_sheet import (
    table1_caption,
    table1_compact,
    table1_note,
    table1_sheet,
    versus_sheet,
)
from infograph.report.table2_sheet import (
    search_sheet,
    table2_caption,
    table2_compact,
    table2_note,
    table2_sheet,
)
from infograph.report.variants_sheet import CAPTION, variants_sheet
from infograph.reproduce.accuracies import Table1, read_table1
from infograph.reproduce.findings import findings
from infograph.reproduce.paper import paper_table1
from infograph.reproduce.ratios import Table2, read_table2
from infograph.reproduce.table1 import table1_cells
from infograph.reproduce.variants import Variants, read_variants
from infograph.reproduce.versus import against_untrained

TITLE = "The paper's tables, measured again"
DRAWN = ("U0", "infograph*")  # the training run whose convergence is shown, as in the paper's appendix


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
