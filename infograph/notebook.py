"""What objects show of themselves in a notebook: facts, tables and drawings as small HTML without scripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

import infograph
from infograph.errors import InfoGraphError

Table = tuple[Sequence[str], Sequence[Sequence[object]]]  # names of columns, and rows
CONTROL = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 65534, 65535, *range(55296, 57344)), "�")
MOST_ROWS = 20  # of a table
MOST_NAMES = 8  # in a cell
MOST_LETTERS = 160  # of a cell; the rest shows when the pointer rests on it
MOST_DRAWN = 40_000  # letters of all drawings together
MOST_NODES = 100  # of a graph that is drawn
SIZE = (150, 120)
# Inherited colours and a see-through grey are readable on light and dark pages; drawings bring their white.
# The class stands there twice to weigh more than Jupyter's own rules for tables.
STYLE = """<style>
.infograph{font-size:13px;line-height:1.45;overflow-x:auto}
.infograph .facts{display:flex;flex-wrap:wrap;gap:.1em 1.6em;margin:.3em 0}
.infograph .soft,.infograph thead th{opacity:.7;font-weight:400}
.infograph table{border-collapse:collapse;margin:.5em 0;font-size:inherit;font-variant-numeric:tabular-nums}
.infograph.infograph table th,.infograph.infograph table td{padding:.2em .8em .2em 0;border:0;
text-align:left;vertical-align:top;border-bottom:1px solid rgba(128,128,128,.3);
color:inherit;max-width:36em}
.infograph figure{display:inline-block;margin:.4em .6em 0 0;font-size:11px;text-align:center}
.infograph svg{display:block;border-radius:6px;border:1px solid rgba(128,128,128,.3)}
</style>"""


class Drawing(str):
    """SVG as text, which a notebook shows as a picture."""

    def _repr_svg_(self) -> str:
        return str(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(f"an SVG drawing of {len(self):,} characters")


def as_html(
    title: str,
    facts: Mapping[str, object] | None = None,
    *,
    tables: Iterable[Table] = (),
    drawings: Iterable[tuple[str, Drawing]] = (),
    notes: Iterable[str] = (),
) -> str:
    """A title, facts by name, drawings by their captions, tables, notes; whatever is no Drawing is escaped.

    Tables are cut after 20 rows and say so; drawings that would make it too long are left out.
    """
    left = MOST_DRAWN

    def shown(value: object) -> str:
        nonlocal left
        if isinstance(value, Drawing):
            left -= len(value)
            return str(value) if left >= 0 else ""
        text = cell_text(value)
        long = f' title="{words(text)}"' if len(text) > MOST_LETTERS else ""
        return f"<span{long}>{words(text[: MOST_LETTERS - 1])}…</span>" if long else words(text)

    parts = [f"<div><b>{words(title)}</b></div>"]
    beside = (
        f'<span><span class="soft">{words(name)}</span> {shown(value)}</span>'
        for name, value in (facts or {}).items()
    )
    parts.append(f'<div class="facts">{"".join(beside)}</div>' if facts else "")
    for caption, drawing in drawings:
        picture = shown(drawing)
        parts.append(f"<figure>{picture}{words(caption)}</figure>" if picture else "")
    for head, rows in tables:
        cells = "".join(f"<th>{words(name)}</th>" for name in head)
        lines = (f"<tr>{''.join(f'<td>{shown(v)}</td>' for v in row)}</tr>" for row in rows[:MOST_ROWS])
        named = f"<thead><tr>{cells}</tr></thead>" if any(head) else ""
        parts.append(f"<table>{named}<tbody>{''.join(lines)}</tbody></table>")
        if len(rows) > MOST_ROWS:
            parts.append(f'<div class="soft">and {len(rows) - MOST_ROWS:,} more</div>')
    parts += [f'<div class="soft">{words(note)}</div>' for note in notes]
    return f'{STYLE}<div class="infograph">{"".join(parts)}</div>'


def drawn(graphs: Any, rows: Iterable[int]) -> Iterator[Drawing]:
    """Small drawings of some graphs; an empty text for a graph that is too large, or has no nodes."""
    for row in rows:
        size = int(graphs.node_ptr[row + 1] - graphs.node_ptr[row])
        try:
            yield infograph.draw_graph(graphs, row, size=SIZE) if size <= MOST_NODES else Drawing()
        except InfoGraphError:
            yield Drawing()


def words(text: object) -> str:
    """Any text, safe inside HTML and SVG: escaped, and without characters that XML forbids."""
    return escape(str(text).translate(CONTROL))


def cell_text(value: Any) -> str:
    """A value as a table shows it; nothing where it is missing."""
    if value is None or value != value:
        return ""
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def some(names: Sequence[object]) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return ", ".join(map(str, names[:MOST_NAMES])) + more
