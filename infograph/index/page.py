"""Hits as the body of a page: a table with a drawing of every molecule. Everything is escaped."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from html import escape
from typing import Any

from infograph.data.chem.atoms import SMILES
from infograph.index.hits import Hits

WIDTH, HEIGHT = 220, 150
WORDS = {"cosine": "cosine similarity, 1 is best", "euclidean": "Euclidean distance, 0 is best"}


def hits_body(hits: Hits, drawn: Mapping[Any, str] | None = None) -> str:
    """HTML of the hits, a section per query.

    Args:
        hits: what was found; molecules with a column `smiles` are drawn where RDKit is installed.
        drawn: SMILES of the queries by their ids, where they are molecules.
    """
    return "\n".join(_section(one, (drawn or {}).get(one.queries[0].item(), "")) for one in hits)


def _section(hits: Hits, smiles: str) -> str:
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
