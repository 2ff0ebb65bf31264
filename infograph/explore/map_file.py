"""The map as one file for a double-click, with all it needs inside; and as a table of points."""

from __future__ import annotations

import base64
import json
import math
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.datasets import recognise_atoms
from infograph.data.graphset import GraphSet
from infograph.errors import InvalidParameter
from infograph.explore.atlas import Atlas, neighbour_table, own_names
from infograph.index import GraphIndex
from infograph.io import check_writable, replaced_file
from infograph.look import draw_graph
from infograph.look.svg import THEMES, document
from infograph.progress import OnProgress

DRAWINGS = 2_000  # graphs; of more, every so many-th is drawn
NEIGHBOURS, NEIGHBOURS_UP_TO = 12, 20_000  # per graph, and graphs that have them, and their texts
EXPORT = re.compile(r"^export (?=(?:async )?(?:class|function|const) ([\w$]+))", re.MULTILINE)
IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
SCRIPT = '<script type="module" src="app.js"></script>'
PAGE, STYLE, DOCS_STYLE = "index.html", "style.css", "docs.css"
LINK = f'<link rel="stylesheet" href="{STYLE}">'
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
}
MODULES = (  # each imports only modules before it
    "dom.js",
    "grid.js",
    "map.js",
    "colours.js",
    "source.js",
    "cards.js",
    "pointer.js",
    "app.js",
)
NAMES = (PAGE, STYLE, DOCS_STYLE, *MODULES)
PUBLIC = ("/", "/docs", *(f"/{name}" for name in NAMES))  # addresses without anything of an index
SIZES = {160: (160, 120), 400: (400, 300)}  # the width asked for, and the drawing
POINT_NEIGHBOURS = 15
SHOWN = 500  # characters of a text


def write_map(
    index: GraphIndex, atlas: Atlas, path: str | Path, *, progress: OnProgress | None = None
) -> Path:
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


def map_data(index: GraphIndex, atlas: Atlas, progress: OnProgress | None = None) -> dict[str, Any]:
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


def _drawings(index: GraphIndex, progress: OnProgress | None) -> dict[int, str]:
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


def page_file(name: str) -> str:
    """The text of one of the page's files."""
    return files("infograph.explore").joinpath("page", name).read_text(encoding="utf-8")


def draw(graphs: GraphSet, row: int, *, size: int, theme: str, scores: Any = None) -> str:
    """One graph as SVG that is see-through; an empty picture of a graph without nodes.

    Args:
        graphs: the graphs, with atoms named where they are molecules.
        row: which one.
        size: 160 or 400 pixels wide, 3/4 as high.
        theme: "light" or "dark".
        scores: one number per node.
    """
    paper = replace(THEMES[theme], page="none")
    one = graphs[row]
    if not one.n_nodes:
        return document(*SIZES[size], paper, f"graph {one.ids[0]}", ())
    return draw_graph(one, 0, scores=scores, size=SIZES[size], theme=paper)


# The map as a table for other tools.
#
# Parquet with `id`, the user's columns, `cluster` (from 1, missing in none), `outlier score`, `map_x`,
# `map_y` and `neighbors`, a struct of `ids` (rows of this table, from 0) and `distances`: what
# embedding-atlas reads,
#
#     embedding-atlas points.parquet --x map_x --y map_y --neighbors neighbors


def write_points(
    index: GraphIndex,
    atlas: Atlas,
    path: str | Path,
    *,
    neighbours: int = POINT_NEIGHBOURS,
    vectors: bool = False,
) -> Path:
    """Write every graph with its place on the map to a Parquet file, whole or not at all.

    Args:
        index: the index.
        atlas: made from it.
        path: the `.parquet` file.
        neighbours: nearest graphs of each; 0 leaves them out. A distance is 1 - cosine, or the Euclidean one.
        vectors: whether the column `vector` is written.

    Raises:
        InvalidParameter: another ending, or a negative number of neighbours.
    """
    import pyarrow as pa
    import pyarrow.parquet as parquet

    if Path(path).suffix != ".parquet":
        raise InvalidParameter(f"{path}: points are written to a .parquet file")
    if neighbours < 0:
        raise InvalidParameter(f"neighbours={neighbours}: expected 0 or more")
    names = own_names(index.columns)
    columns: dict[str, Any] = {"id": pa.array(index.ids.tolist())}
    columns |= {names[name]: _array(values) for name, values in index.columns.items()}
    labels = atlas.clusters
    columns["cluster"] = pa.array(labels + 1, mask=labels < 0)
    columns["outlier score"] = pa.array(atlas.outliers)
    columns["map_x"], columns["map_y"] = (pa.array(axis) for axis in np.ascontiguousarray(atlas.points.T))
    if neighbours:
        columns["neighbors"] = _neighbors(index, neighbours)
    if vectors:
        flat = pa.array(np.ascontiguousarray(index.vectors).ravel())
        columns["vector"] = pa.FixedSizeListArray.from_arrays(flat, index.vectors.shape[1])
    with replaced_file(path) as work:
        parquet.write_table(pa.table(columns), work)
    return Path(path)


def _array(values: NDArray[Any]) -> Any:
    """A column of the table; numbers and texts together are texts."""
    import pyarrow as pa

    try:
        return pa.array(values.tolist())
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values.tolist()])


def _neighbors(index: GraphIndex, k: int) -> Any:
    import pyarrow as pa

    rows, scores = neighbour_table(index, k)
    distances = np.maximum(1 - scores, 0) if index.metric == "cosine" else scores
    ends = np.arange(0, rows.size + 1, max(rows.shape[1], 1), dtype=np.int32)
    if not rows.shape[1]:
        ends = np.zeros(len(rows) + 1, np.int32)
    lists = [pa.ListArray.from_arrays(ends, pa.array(part.ravel())) for part in (rows, distances)]
    return pa.StructArray.from_arrays(lists, ["ids", "distances"])


def plain(value: Any) -> Any:
    """A value as JSON has it: numbers that are none, and missing values, are None; long texts are cut."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int):
        return value
    text = str(value)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"
