"""Pages that need nothing else: templates, tables as Markdown and HTML, the hits of a search."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from infograph.data.convert import as_graphset
from infograph.data.molecules import SMILES
from infograph.errors import InfoGraphError
from infograph.index.graph_index import Hits
from infograph.look.draw import draw_graph
from infograph.notebook import cell_text

WIDTH, HEIGHT = 220, 150  # pixels of a drawn molecule
SCORES = {"cosine": "cosine similarity, 1 is best", "euclidean": "Euclidean distance, 0 is best"}
TEMPLATES = Environment(
    loader=PackageLoader("infograph.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def render(template: str, **values: Any) -> str:
    """A page from `templates`. Whatever is not `Markup` is escaped."""
    return TEMPLATES.get_template(template).render(values)


@dataclass(frozen=True)
class Entry:
    """A cell of a table.

    Attributes:
        lines: plain text; empty ones keep their place.
        bold: whether the first line is.
        look: "kinds" for words that say what the lines of a row are, "absent" where there is no figure.
        picture: markup that stands above the lines; on pages only.
    """

    lines: tuple[str, ...] = ("",)
    bold: bool = False
    look: str = ""
    picture: str = ""


@dataclass(frozen=True)
class Sheet:
    """A table: names of columns, and rows of cells, the first of which names the row."""

    head: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]

    @classmethod
    def of(cls, head: Iterable[str], rows: Iterable[Iterable[Any]]) -> Self:
        """Rows of cells, and of texts, which become cells."""
        cells = (tuple(text(each) if isinstance(each, str) else each for each in row) for row in rows)
        return cls(tuple(head), tuple(cells))


def text(*lines: str, bold: bool = False, look: str = "") -> Entry:
    """A cell with these lines; lines at the end that are empty are left out."""
    last = max((place for place, line in enumerate(lines) if line), default=0)
    return Entry(lines[: last + 1] or ("",), bold, look)


def bar(per_cent: float) -> Entry:
    """A cell with a bar of that length."""
    return Entry(picture=Markup('<span class="bar" style="width:{:.1f}%"></span>').format(per_cent))


def grid(
    head: Iterable[str],
    rows: Mapping[Any, Iterable[Entry | str]],
    columns: Mapping[Any, str],
    entry: Callable[[Any, Any], Entry],
) -> Sheet:
    """A table of rows, each of which begins with cells that `head` names, by columns and their names."""
    filled = ((*begin, *(entry(row, column) for column in columns)) for row, begin in rows.items())
    return Sheet.of((*head, *columns.values()), filled)


def signed(value: float, digits: int) -> str:
    """A difference with its sign; none where it rounds to zero."""
    shown = f"{value:+.{digits}f}"
    return shown if float(shown) else shown[1:]


def as_markdown(sheet: Sheet) -> str:
    """The table as Markdown, without a line break at its end; figures are right-aligned."""
    lines = ["| " + " | ".join(map(plain, sheet.head)) + " |", "|---" + "|--:" * (len(sheet.head) - 1) + "|"]
    for row in sheet.rows:
        cells = []
        for entry in row:
            first, *others = map(plain, entry.lines)
            cells.append("<br>".join([f"**{first}**" if entry.bold and first else first, *others]))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def plain(words: str) -> str:
    """Text that Markdown shows as it is."""
    for sign in "\\|*<":
        words = words.replace(sign, "&lt;" if sign == "<" else f"\\{sign}")
    return words


def hits_page(title: str, hits: Hits, drawn: Mapping[Any, str]) -> str:
    """The hits of a search, a table per query; `drawn` are SMILES of queries by their ids."""
    sections = []
    for one in hits:
        query, rows = one.queries[0].item(), one.table()
        names = [name for name in rows[0] if name != "query"] if rows else ["rank", "id", "score"]
        cells: list[list[Any]] = [[cell_text(row[name]) for name in names] for row in rows]
        if SMILES.name in one.columns:
            names.insert(1, "")
            for row, own in zip(rows, cells, strict=True):
                own.insert(1, Entry(picture=draw_molecule(str(row[SMILES.name]))))
        sections.append((query, draw_molecule(drawn.get(query, "")), Sheet.of(names, cells)))
    return render("hits.html", title=title, sections=sections, score=SCORES[hits.metric])


def draw_molecule(smiles: str) -> Markup:
    """An image of a molecule; nothing for what is no SMILES, or without RDKit."""
    return picture([smiles], 0, smiles)


def picture(graphs: Any, index: int, words: str) -> Markup:
    """One graph as an image, which cannot run anything, described in words; nothing if it cannot be drawn."""
    try:
        drawing = draw_graph(as_graphset(graphs), index, size=(WIDTH, HEIGHT))
    except InfoGraphError:
        return Markup("")
    data = base64.b64encode(drawing.encode()).decode()
    return Markup('<img alt="{}" src="data:image/svg+xml;base64,{}">').format(words, data)
