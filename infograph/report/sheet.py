"""A table of stacked figures, as Markdown and as HTML: the first line of a cell counts, others explain it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Entry:
    """A cell.

    Attributes:
        lines: plain text; empty ones keep their place.
        bold: whether the first line is.
        look: "kinds" for words that say what the lines of a row are, "absent" where there is no figure.
    """

    lines: tuple[str, ...] = ("",)
    bold: bool = False
    look: str = ""


@dataclass(frozen=True)
class Sheet:
    """A table.

    Attributes:
        head: the columns' names.
        rows: cells per row, the first one names it; a row of one cell is a heading across the table.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]


def text(*lines: str, bold: bool = False, look: str = "") -> Entry:
    """A cell with these lines; lines at the end that are empty are left out."""
    last = max((place for place, line in enumerate(lines) if line), default=0)
    return Entry(lines[: last + 1] or ("",), bold, look)


def signed(value: float, digits: int) -> str:
    """A difference with its sign; none where it rounds to zero."""
    shown = f"{value:+.{digits}f}"
    return shown if float(shown) else shown[1:]


def as_markdown(sheet: Sheet) -> str:
    """The table as Markdown, without a line break at its end; figures are right-aligned."""
    lines = [
        "| " + " | ".join(map(plain, sheet.head)) + " |",
        "|---" + "|--:" * (len(sheet.head) - 1) + "|",
    ]
    for row in sheet.rows:
        cells = [_marked(entry) for entry in row]
        if len(row) == 1:
            cells = [f"*{cells[0]}*", *[""] * (len(sheet.head) - 1)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def as_html(sheet: Sheet) -> str:
    """The table as HTML in a box that scrolls where it is too wide."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in sheet.head)
    body = "".join(f"<tr>{_row(row, len(sheet.head))}</tr>" for row in sheet.rows)
    return (
        f'<div class="wide" tabindex="0"><table class="sheet"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def plain(words: str) -> str:
    """Text that Markdown shows as it is."""
    for sign in "\\|*<":
        words = words.replace(sign, "&lt;" if sign == "<" else f"\\{sign}")
    return words


def _marked(entry: Entry) -> str:
    first, *others = map(plain, entry.lines)
    return "<br>".join([f"**{first}**" if entry.bold and first else first, *others])


def _row(row: tuple[Entry, ...], width: int) -> str:
    first, *others = row
    if not others and width > 1:
        return f'<th class="part" scope="colgroup" colspan="{width}">{_lines(first)}</th>'
    cells = (f'<td class="{entry.look}">{_lines(entry)}</td>' for entry in others)
    return f'<th scope="row">{_lines(first)}</th>{"".join(cells)}'


def _lines(entry: Entry) -> str:
    first, *others = map(escape, entry.lines)
    shown = f"<strong>{first}</strong>" if entry.bold and first else f"<span>{first or '&nbsp;'}</span>"
    return shown + _small(others)


def _small(lines: Iterable[str]) -> str:
    return "".join(f"<small>{line or '&nbsp;'}</small>" for line in lines)
