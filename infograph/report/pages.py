"""Pages that need nothing else: their frame, tables as Markdown and HTML, the hits of a search."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any

from infograph.data.molecules import SMILES
from infograph.index.graph_index import Hits

WIDTH, HEIGHT = 220, 150
WORDS = {"cosine": "cosine similarity, 1 is best", "euclidean": "Euclidean distance, 0 is best"}


def page(title: str, body: str) -> str:
    """A page with this title; `body` is HTML, the title is not."""
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(title)}</title>",
            f"<style>{(files(__package__) / 'page.css').read_text(encoding='utf-8')}</style></head>",
            f"<body><main><h1>{escape(title)}</h1>",
            body,
            "</main></body></html>",
            "",
        ]
    )


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
    body = "".join(f"<tr>{_sheet_row(row, len(sheet.head))}</tr>" for row in sheet.rows)
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


def _sheet_row(row: tuple[Entry, ...], width: int) -> str:
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


def hits_body(hits: Hits, drawn: Mapping[Any, str] | None = None) -> str:
    """HTML of the hits, a section per query.

    Args:
        hits: what was found; molecules with a column `smiles` are drawn where RDKit is installed.
        drawn: SMILES of the queries by their ids, where they are molecules.
    """
    return "\n".join(_hits_section(one, (drawn or {}).get(one.queries[0].item(), "")) for one in hits)


def _hits_section(hits: Hits, smiles: str) -> str:
    rows = hits.table()
    molecules = SMILES.name in hits.columns
    names = [name for name in rows[0] if name != "query"] if rows else ["rank", "id", "score"]
    head = "".join(f"<th>{escape(name)}</th>" for name in [names[0], *[""] * molecules, *names[1:]])
    body = "".join(
        f"<tr>{_cell(row[names[0]])}"
        + (f"<td>{draw_molecule(str(row[SMILES.name]))}</td>" if molecules else "")
        + "".join(_cell(row[name]) for name in names[1:])
        + "</tr>"
        for row in rows
    )
    query = f"<p>{draw_molecule(smiles)}</p>" if smiles else ""
    title = escape(f"Nearest to {hits.queries[0].item()}")
    # The style of all pages hides the last head on narrow screens, so that one is empty.
    table = f"<table><thead><tr>{head}<th></th></tr></thead><tbody>{body}</tbody></table>"
    note = f"<p><small>Score: {WORDS[hits.metric]}.</small></p>"
    return f'<section><h2>{title}</h2>{query}<div class="wide">{table}</div>{note}</section>'


def _cell(value: Any) -> str:
    return f"<td>{escape(cell_text(value))}</td>"


def cell_text(value: Any) -> str:
    """A value as a table shows it; nothing where it is missing."""
    if value is None or value != value:
        return ""
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def draw_molecule(smiles: str) -> str:
    """An image of a molecule; nothing for what is no SMILES, or without RDKit.

    The drawing is inside the page as data, and so cannot run anything there.
    """
    try:
        from rdkit import Chem, rdBase
        from rdkit.Chem.Draw import rdMolDraw2D
    except ImportError:
        return ""
    with rdBase.BlockLogs():
        molecule = Chem.MolFromSmiles(smiles) if smiles else None
        if molecule is None:
            return ""
        drawing = rdMolDraw2D.MolDraw2DSVG(WIDTH, HEIGHT)
        rdMolDraw2D.PrepareAndDrawMolecule(drawing, molecule)
    drawing.FinishDrawing()
    data = base64.b64encode(drawing.GetDrawingText().encode()).decode()
    size = f'width="{WIDTH}" height="{HEIGHT}" style="width:{WIDTH}px"'
    return f'<img {size} alt="{escape(smiles)}" src="data:image/svg+xml;base64,{data}">'
