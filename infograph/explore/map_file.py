"""The map as one file: the page with its scripts, its style and its data inside, for a double-click."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.progress import Progress
from infograph.data.storage import check_writable, replaced_file
from infograph.explore.atlas import Atlas
from infograph.explore.columns import own_names
from infograph.explore.neighbours import neighbour_table
from infograph.explore.page_files import MODULES, PAGE, STYLE, page_file
from infograph.explore.pictures import draw
from infograph.explore.records import plain
from infograph.index import GraphIndex
from infograph.understand.named_atoms import recognise_atoms

DRAWINGS = 2_000  # graphs; of more, every so many-th is drawn
NEIGHBOURS, NEIGHBOURS_UP_TO = 12, 20_000  # per graph, and graphs that have them, and their texts
EXPORT = re.compile(r"^export (?=(?:async )?(?:class|function|const) ([\w$]+))", re.MULTILINE)
IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
SCRIPT = '<script type="module" src="app.js"></script>'
LINK = f'<link rel="stylesheet" href="{STYLE}">'


def write_map(index: GraphIndex, atlas: Atlas, path: str | Path, *, progress: Progress | None = None) -> Path:
    """Write a page that needs no server and no network: map, colours, ids, neighbours, drawings.

    Of more than 2,000 graphs only 2,000 have drawings; of more than 20,000 none has a list of neighbours, or
    the columns that cannot colour the map, such as SMILES.
    New graphs cannot be placed: that needs the model, and so `infograph explore`.

    Args:
        index: the index.
        atlas: made from it.
        path: the HTML file; it appears whole or not at all.
        progress: called with drawings done and drawings in all.
    """
    check_writable(path)
    data = escaped_json(map_data(index, atlas, progress))
    scripts = (
        f'<script type="application/json" id="atlas-data">{data}</script>\n'
        '<script>window.ATLAS = JSON.parse(document.getElementById("atlas-data").textContent);</script>\n'
        f'<script type="module">\n{joined_modules()}</script>'
    )
    text = page_file(PAGE).replace(LINK, f"<style>\n{page_file(STYLE)}</style>").replace(SCRIPT, scripts)
    with replaced_file(path) as work:
        work.write_text(text, encoding="utf-8")
    return Path(path)


def map_data(index: GraphIndex, atlas: Atlas, progress: Progress | None = None) -> dict[str, Any]:
    """What `FileSource` of the page's source.js reads."""
    near: list[list[list[float]]] = []
    texts: dict[str, list[Any]] = {}
    if len(index) <= NEIGHBOURS_UP_TO:
        texts = _texts(index, atlas)
        rows, scores = neighbour_table(index, NEIGHBOURS)
        known = zip(rows.tolist(), scores.astype(np.float64).round(6).tolist(), strict=True)
        near = [[list(pair) for pair in zip(*own, strict=True)] for own in known]
    able = {"upload": False, "smiles": False, "drawings": index.graphs is not None}
    return {
        "atlas": {**atlas.summary(index), **able},
        "points": _base64(atlas.points),
        "columns": [_base64(column.values) for column in atlas.columns],
        "texts": texts,
        "ids": [str(graph_id) for graph_id in index.ids.tolist()],
        "neighbours": near,
        "drawings": _drawings(index, progress),
    }


def _texts(index: GraphIndex, atlas: Atlas) -> dict[str, list[Any]]:
    """The user's columns that colour nothing, as the page shows them; and numbers too long for a colour."""
    names = own_names(index.columns)
    return {
        names[name]: [plain(value) for value in values]
        for name, values in index.columns.items()
        if not atlas.column(names[name]) or _is_long(values)
    }


def _is_long(values: NDArray[Any]) -> bool:
    """Whether some are whole numbers that float32 does not hold, such as the date 20240101."""
    if values.dtype.kind not in "iuf":
        return False
    with np.errstate(over="ignore"):
        lost = values.astype(np.float32).astype(np.float64) != values
    return bool((lost & (values == np.round(values))).any())


def joined_modules() -> str:
    """The page's modules as one, each in a scope of its own."""
    parts = []
    for name in MODULES:
        text = IMPORT.sub("", page_file(name))
        exported = ", ".join(EXPORT.findall(text))
        head = f"const {{ {exported} }} = " if exported else ""
        parts.append(f"{head}(() => {{\n{EXPORT.sub('', text)}\nreturn {{ {exported} }};\n}})();\n")
    return "".join(parts)


def escaped_json(content: Any) -> str:
    """JSON that can stand inside a script element: no text in it can end that element."""
    text = json.dumps(content, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _drawings(index: GraphIndex, progress: Progress | None) -> dict[int, str]:
    if index.graphs is None:
        return {}
    graphs = recognise_atoms(index.graphs)
    n_drawn = min(len(graphs), DRAWINGS)
    drawn = {}
    for done, row in enumerate(np.linspace(0, len(graphs) - 1, n_drawn).astype(np.int64).tolist()):
        drawn[row] = draw(graphs, row, size=160, theme="light")
        if progress is not None:
            progress(done + 1, n_drawn)
    return drawn


def _base64(values: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(values, "<f4").tobytes()).decode()
