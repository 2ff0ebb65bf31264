"""The map as one file for a double-click, with all it needs inside; and as a table of points."""

from __future__ import annotations

import base64
import gzip
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet
from infograph.data.molecules import SMILES
from infograph.data.vectors import arrow_column
from infograph.errors import InvalidParameter
from infograph.explore.atlas import Atlas, point_columns
from infograph.index import GraphIndex
from infograph.index.graph_index import without_own
from infograph.io import check_writable, replaced_file
from infograph.look import draw_graph
from infograph.look.molecules import formula_of, has_molecules, molecules_of, recognise_atoms
from infograph.look.svg import THEMES, document

PAGE = Path(__file__).parent / "page"
MODULES = (
    "cards.js",
    "map.js",
    "pointer.js",
    "smiles.js",
    "source.js",
)  # what app.js imports; they import nothing
LINK = '<link rel="stylesheet" href="style.css">'
SCRIPT = '<script type="module" src="app.js"></script>'
MAX_DRAWINGS = 2_000  # of more graphs, every so many-th is drawn
MAX_GRAPHS_WITH_NEIGHBOURS = 20_000  # of more, the file has neither neighbours nor columns but colours
N_NEIGHBOURS = 12
BLOCK = 1024  # graphs that are searched for at a time
SIZES = {160: (160, 120), 400: (400, 300)}  # the width asked for, and the drawing
MAX_CHARACTERS = 500  # of a text that is shown


def write_map(index: GraphIndex, atlas: Atlas, path: str | Path) -> Path:
    """Write a page that needs no server and no network, whole or not at all.

    Of more than 2,000 graphs only 2,000 have drawings; of more than 20,000 none has a list of neighbours, or
    the columns that cannot colour the map, such as SMILES. New graphs cannot be placed: that needs the model.
    """
    check_writable(path)
    text = json.dumps(map_data(index, atlas), separators=(",", ":"), allow_nan=False)
    data = _base64(gzip.compress(text.encode(), mtime=0))  # in which no text can end a script element
    files = {name: (PAGE / name).read_bytes() for name in (*MODULES, "app.js", "style.css", "index.html")}
    modules = {f"./{name}": f"data:text/javascript;base64,{_base64(files[name])}" for name in MODULES}
    scripts = (
        f'<script type="application/gzip" id="atlas-data">{data}</script>\n'
        f'<script type="importmap">{json.dumps({"imports": modules})}</script>\n'
        f'<script type="module">\n{files["app.js"].decode()}</script>'
    )
    style = f"<style>\n{files['style.css'].decode()}</style>"
    page = files["index.html"].decode().replace(LINK, style).replace(SCRIPT, scripts)
    with replaced_file(path) as work:
        work.write_text(page, encoding="utf-8")
    return Path(path)


def map_data(index: GraphIndex, atlas: Atlas) -> dict[str, Any]:
    """What `FileSource` of the page's source.js reads."""
    small = len(index) <= MAX_GRAPHS_WITH_NEIGHBOURS
    graphs = None if index.graphs is None else recognise_atoms(index.graphs)
    formulas: list[str] = []
    drawings: dict[int, str] = {}
    if graphs is not None:
        rows = np.linspace(0, len(graphs) - 1, min(len(graphs), MAX_DRAWINGS)).astype(np.int64).tolist()
        drawings = {row: draw(graphs, row, size=160, theme="light") for row in rows}
    if graphs is not None and small and has_molecules(graphs):
        formulas = [formula_of(mol) for mol in molecules_of(graphs)]
    able = {"upload": False, "smiles": SMILES.name in index.columns, "drawings": graphs is not None}
    return {
        "atlas": {**atlas.summary(index), **able},
        "points": _base64(as_floats(atlas.points)),
        "columns": [_base64(as_floats(column.values)) for column in atlas.columns],
        "texts": {name: plain(values) for name, values in index.columns.items()} if small else {},
        "formulas": formulas,
        "ids": [str(graph_id) for graph_id in index.ids.tolist()],
        "neighbours": _neighbours(index) if small else [],
        "drawings": drawings,
    }


def as_floats(values: NDArray[Any]) -> bytes:
    """Numbers as the page reads them: little-endian float32."""
    return np.ascontiguousarray(values, "<f4").tobytes()


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _neighbours(index: GraphIndex) -> list[list[tuple[Any, ...]]]:
    """Row, score and, of molecules, Tanimoto similarity of the nearest graphs of each, best first."""
    k, smiles = min(N_NEIGHBOURS, len(index) - 1), index.columns.get(SMILES.name)
    found: list[list[tuple[Any, ...]]] = []
    for start in range(0, len(index), BLOCK) if k > 0 else ():
        own = np.arange(start, min(start + BLOCK, len(index)))
        hits = index.search(np.asarray(index.vectors[own]), k + 1)
        parts: list[NDArray[Any]] = list(without_own((hits.rows, hits.scores), own))
        if smiles is not None:
            columns = {SMILES.name: smiles[parts[0]]}
            alike = replace(hits, rows=parts[0], columns=columns, smiles=smiles[own]).tanimoto
            parts += [] if alike is None else [alike.round(3)]
        parts[1] = parts[1].astype(np.float64).round(6)
        found += [
            list(zip(*row, strict=True)) for row in zip(*(part.tolist() for part in parts), strict=True)
        ]
    return found


def draw(graphs: GraphSet, row: int, *, size: int, theme: str, scores: Any = None) -> str:
    """One graph as SVG without a background, 160 or 400 pixels wide; empty for a graph without nodes."""
    transparent = replace(THEMES[theme], page="none")
    one = graphs[row]
    if not one.n_nodes:
        return document(*SIZES[size], transparent, f"graph {one.ids[0]}", ())
    return draw_graph(one, 0, scores=scores, size=SIZES[size], theme=transparent)


def write_points(index: GraphIndex, atlas: Atlas, path: str | Path) -> Path:
    """Write every graph with its columns, cluster and place on the map to a `.parquet` file."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    if Path(path).suffix != ".parquet":
        raise InvalidParameter(f"{path}: points are written to a .parquet file")
    columns = point_columns(index, atlas, slice(None))
    with replaced_file(path) as work:
        parquet.write_table(pa.table({name: arrow_column(v) for name, v in columns.items()}), work)
    return Path(path)


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
    return text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 1]}…"
