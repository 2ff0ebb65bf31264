"""A comparison of methods as text, CSV, Markdown and an HTML page; the best line is marked."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from infograph.data.storage import check_own, replaced_file
from infograph.report.page import page
from infograph.reproduce.compare import Compared

HEAD = ("method", "accuracy, %", "deviation", "seconds", "peak, MB", "")


def best_line(rows: Sequence[Compared]) -> int | None:
    """Where the highest accuracy stands; None where there is none."""
    filled = [place for place, row in enumerate(rows) if not row.empty]
    return max(filled, key=lambda place: rows[place].mean, default=None)


def cells(row: Compared) -> tuple[str, ...]:
    """A line as text; a reason in the last cell where there is no figure."""
    figures = (row.mean, row.std, row.seconds, row.peak_mb)
    formats = ("{:.1f}", "{:.1f}", "{:.3g}", "{:,.0f}")
    shown = [
        "" if value != value else form.format(value) for value, form in zip(figures, formats, strict=True)
    ]
    return (row.method, *shown, row.empty)


def as_markdown(rows: Sequence[Compared]) -> str:
    """A table with the best method in bold."""
    lines = ["| " + " | ".join(HEAD) + " |", "|---" * len(HEAD) + "|"]
    for place, row in enumerate(rows):
        shown = list(cells(row))
        if place == best_line(rows):
            shown[:2] = [f"**{text}**" for text in shown[:2]]
        lines.append("| " + " | ".join(text.replace("|", "\\|") for text in shown) + " |")
    return "\n".join(lines) + "\n"


def as_csv(rows: Sequence[Compared]) -> str:
    """All figures, not rounded; empty where there is none."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(vars(Compared("")))
    for row in rows:
        writer.writerow("" if value != value else value for value in vars(row).values())
    return text.getvalue()


def as_html(rows: Sequence[Compared], title: str, notes: Sequence[str]) -> str:
    """A page that needs nothing else."""
    head = "".join(f"<th>{escape(name)}</th>" for name in HEAD)
    body = []
    for place, row in enumerate(rows):
        name, *figures = map(escape, cells(row))
        mark = ("<strong>", "</strong>") if place == best_line(rows) else ("", "")
        filled = "".join(f"<td>{figure}</td>" for figure in figures[:-1])
        body.append(
            f'<tr><th scope="row">{mark[0]}{name}{mark[1]}<small>{figures[-1]}</small></th>{filled}'
            f'<td class="bar"><span style="width:{0 if row.empty else row.mean:.1f}%"></span></td></tr>'
        )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    remarks = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return page(title, f'<div class="wide">{table}</div><ul>{remarks}</ul>')


FILES = tuple(f"comparison.{ending}" for ending in ("json", "csv", "md", "html"))


def check_comparison_folder(folder: Path) -> None:
    """Refuse, before the work that leads to it, a folder with files of these names that are not ours."""
    check_own(folder, FILES, "comparison.json", {"source", "protocol", "table"})


def write_comparison(
    rows: Sequence[Compared], folder: Path, title: str, notes: Sequence[str], about: Mapping[str, Any]
) -> None:
    """`comparison.json`, `.csv`, `.md` and `.html` in a folder."""
    table = [{key: None if value != value else value for key, value in vars(row).items()} for row in rows]
    contents = (
        json.dumps({**about, "notes": list(notes), "table": table}, indent=1) + "\n",
        as_csv(rows),
        f"# {title}\n\n{as_markdown(rows)}\n" + "".join(f"- {note}\n" for note in notes),
        as_html(rows, title, notes),
    )
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in zip(FILES, contents, strict=True):
        with replaced_file(folder / name) as partial:
            partial.write_text(content, encoding="utf-8")
