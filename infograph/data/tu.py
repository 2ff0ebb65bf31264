"""Reader of the TU collection's text format (Morris et al. 2020): one set, a handful of tables.

`NAME_A.txt` lists arcs "source, target" with nodes numbered from 1 through all graphs and
`NAME_graph_indicator.txt` the graph of every node. Labels and attributes are further tables, with one row per
node, arc or graph. A zip is read as it is: nothing of it is unpacked to disk.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet, IntArray, pointer
from infograph.data.schema import Column, Level, Schema
from infograph.errors import FileMissing, InvalidFile
from infograph.io import check_unpacked

ARCS = "_A.txt"
DEPTH = 2  # PyG keeps NAME/raw/NAME_A.txt, a zip unpacked by hand often has NAME/NAME/NAME_A.txt
FRESH_COPY = "the file is truncated or damaged: get a fresh copy"
NO_ZIP = (zipfile.BadZipFile, OSError, EOFError, ValueError, struct.error)
File = Path | zipfile.Path


def read_tu(path: str | Path, name: str | None = None) -> GraphSet:
    """Read a TU data set from its zip or folder.

    Arcs keep their direction, and come out sorted by target, then source. Repeated rows are one arc, with the
    labels of the first. Columns (numbered where a table has several, as in `label_0`):

      * node: `label` (categories) and `attributes` (floats);
      * edge: the same, which encoders see only when asked to (`used=False`);
      * graph: `y`, codes 0 ... C-1 whose categories are the file's labels, sorted; `attributes`, floats, NaN
        where missing, one column per number.

    Args:
        path: `NAME.zip`, or the folder with `NAME_A.txt` in it or at most two levels below.
        name: the set's name, needed only where several sets share the zip or folder.
    """
    file = _files(Path(path), name)
    graph = _read_indicator(file("graph_indicator"))  # (N,) of the nodes in the file's order
    source, target = _read_arcs(file("A"), graph)
    n_nodes, n_rows, n_graphs = len(graph), len(source), int(graph.max()) + 1
    node_ptr = pointer(np.bincount(graph))
    nodes = np.argsort(graph, kind="stable")  # (N,) the file's nodes, graph by graph
    place = np.empty(n_nodes, np.int32)
    place[nodes] = np.arange(n_nodes, dtype=np.int32)

    graph = graph[source]  # (E,) of the arcs, from here on
    source, target = place[source], place[target]
    key = target.astype(np.int64) * n_nodes + source
    arcs = np.argsort(key, kind="stable")
    key = key[arcs]
    arcs = arcs[np.concatenate([[True], key[1:] != key[:-1]])]  # the first of equal rows
    graph = graph[arcs]
    first = node_ptr.astype(np.int32)[graph]
    edges = np.stack([source[arcs] - first, target[arcs] - first])  # (2, E)

    node, node_columns = _read_level(file, "node", n_nodes, nodes)
    edge, edge_columns = _read_level(file, "edge", n_rows, arcs)
    graphs, graph_columns = _read_level(file, "graph", n_graphs, np.arange(n_graphs))
    unseen = tuple(replace(column, used=False) for column in edge_columns)
    return GraphSet(
        node_ptr=node_ptr,
        edge_ptr=pointer(np.bincount(graph, minlength=n_graphs)),
        edges=edges,
        node=node,
        edge=edge,
        graph=graphs,
        ids=np.arange(n_graphs),
        schema=Schema(node=node_columns, edge=unseen, graph=graph_columns),
    )


def _read_indicator(file: File) -> IntArray:
    """The graph of every node, from 0. (N,)."""
    if not file.exists():
        raise FileMissing(f"{file} is missing: every TU data set has one; get a fresh copy of the set")
    (indicator,) = _read_table(file, "whole", width=1)
    if indicator.min() < 1:
        raise _bad_row(file, indicator.argmin(), f"graph {indicator.min()}, but graphs count from 1")
    counts = np.bincount(indicator[indicator <= len(indicator)])[1:]
    if indicator.max() > len(indicator) or not counts.all():
        raise InvalidFile(f"{file}: not all of {indicator.max()} graphs have nodes; {FRESH_COPY}")
    return indicator.astype(np.int32) - 1


def _read_arcs(file: File, graph: IntArray) -> list[IntArray]:
    """Sources and targets, nodes numbered from 0 as in the file. Two of (rows,)."""
    columns = _read_table(file, "whole", width=2)
    for ends in columns:
        outside = (ends < 1) | (ends > len(graph))
        if outside.any():
            row = outside.argmax()
            problem = f"an edge to node {ends[row]}, but the graph indicator has {len(graph)} nodes"
            raise _bad_row(file, row, problem)
    source, target = (ends.astype(np.int32, copy=False) - 1 for ends in columns)
    across = graph[source] != graph[target]
    if across.any():
        row = across.argmax()
        both = (f"node {end[row] + 1} of graph {graph[end[row]] + 1}" for end in (source, target))
        raise _bad_row(file, row, f"an edge between {' and '.join(both)}")
    return [source, target]


def _read_level(
    file: Callable[[str], File], level: Level, n_rows: int, order: IntArray
) -> tuple[dict[str, NDArray[Any]], tuple[Column, ...]]:
    """Labels and attributes of nodes, arcs or graphs, their rows in this order."""
    stored: dict[str, NDArray[Any]] = {}
    columns: list[Column] = []
    for part, numbers in (("labels", "whole"), ("attributes", "real")):
        own = file(f"{level}_{part}")
        if not own.exists():
            continue
        table = _read_table(own, numbers)
        if len(table[0]) != n_rows:
            things, other = ("arcs", "A") if level == "edge" else (f"{level}s", "graph_indicator")
            counted = f"{len(table[0])} rows, but {file(other)} has {n_rows} {things}"
            raise InvalidFile(f"{own} has {counted}; one of the two is damaged: get a fresh copy")
        for values in table if part == "attributes" else ():  # NaN in a graph's attribute is a missing target
            bad = np.isinf(values) if level == "graph" else ~np.isfinite(values)
            if bad.any():
                raise _bad_row(own, bad.argmax(), f"{values[bad.argmax()]} is no finite number")
        if part == "attributes" and level != "graph" and len(table) > 1:
            table = [np.stack(table, axis=1)]
        name = part if part == "attributes" else "y" if level == "graph" else "label"
        for place, values in enumerate(table):
            column = Column(name if len(table) == 1 else f"{name}_{place}", "float", width=values[:1].size)
            values = values[order]
            if part == "labels":
                categories, values = np.unique(values, return_inverse=True)
                column = replace(column, kind="categorical", categories=tuple(categories.tolist()))
                values = values.astype(np.int32)
            stored[column.name] = values
            columns.append(column)
    return stored, tuple(columns)


def _read_table(file: File, numbers: str, width: int | None = None) -> list[NDArray[Any]]:
    """The columns of a table without a header: int32, int64 where needed ("1.0" counts as 1), or float32.

    Spaces around numbers, CRLF line ends, blank lines and a byte-order mark are tolerated.
    """
    import pyarrow as pa  # here, because opening a cached set needs none of it
    import pyarrow.csv as csv

    raw = _read(file).rstrip()
    if not raw:
        raise InvalidFile(f"{file} is empty; {FRESH_COPY}")
    found = raw.lstrip().split(b"\n", 1)[0].split(b"\r", 1)[0].count(b",") + 1
    if width is not None and found != width:
        raise InvalidFile(f"{file} has {found} columns, expected {width}; {FRESH_COPY}")

    def parse(of: Any, *, use_threads: bool = True) -> list[NDArray[Any]]:
        names = [str(position) for position in range(found)]
        table = csv.read_csv(  # on all cores: 0.4 s for the 96 MB of REDDIT-MULTI-5K's arcs
            pa.BufferReader(raw),
            read_options=csv.ReadOptions(column_names=names, use_threads=use_threads),
            parse_options=csv.ParseOptions(quote_char=False),
            convert_options=csv.ConvertOptions(column_types=dict.fromkeys(names, of), null_values=[]),
        )
        return [np.asarray(table.column(name).to_numpy()) for name in names]

    try:
        return parse(pa.int32() if numbers == "whole" else pa.float32())
    except pa.ArrowInvalid:
        pass
    try:
        columns = parse(pa.float64(), use_threads=False)  # errors name their row then
    except pa.ArrowInvalid as error:
        raise InvalidFile(f"{file}: {error}; {FRESH_COPY}") from None
    for values in columns:
        whole = (np.abs(values) < 2**53) & (values == np.floor(values))
        if not whole.all():
            row = whole.argmin()
            raise _bad_row(file, row, f"{values[row]} is no whole number")
    return [values.astype(np.int64) for values in columns]


def _bad_row(file: File, row: Any, problem: str) -> InvalidFile:
    """An error that names the line of a row: blank lines are no rows."""
    lines = [number for number, line in enumerate(_read(file).splitlines(), start=1) if line]
    return InvalidFile(f"{file}, line {lines[row]}: {problem}; {FRESH_COPY}")


def _read(file: File) -> bytes:
    try:
        with file.open("rb") as raw:  # in pieces: a zip may hold more than it says
            return b"".join(iter(lambda: raw.read(1 << 20), b""))
    except (*NO_ZIP, zlib.error, RuntimeError) as error:
        raise InvalidFile(f"{file} cannot be unpacked ({error}); {FRESH_COPY}") from error


def _files(path: Path, name: str | None = None) -> Callable[[str], File]:
    """The files of the TU set in a zip or folder, by what they hold, for instance "node_labels"."""
    root: File = path
    if path.is_dir():
        inside = [p.relative_to(path).as_posix() for p in _below(path, "*.txt")]
    elif path.is_file():
        try:
            archive = zipfile.ZipFile(path)
        except (*NO_ZIP, RuntimeError) as error:
            raise InvalidFile(f"{path} is no zip file ({error}); {FRESH_COPY}") from error
        check_unpacked(path, path.stat().st_size, sum(member.file_size for member in archive.infolist()))
        root, inside = zipfile.Path(archive), archive.namelist()
    else:
        raise FileMissing(f"{path}: no such file or folder; expected a TU data set as NAME.zip or NAME/")
    # macOS puts "._NAME_A.txt" beside each file it zips.
    arcs = [m for m in inside if m.endswith(ARCS) and not PurePosixPath(m).name.startswith(".")]
    prefixes = [member.removesuffix(ARCS) for member in sorted(arcs, key=lambda m: (m.count("/"), m))]
    names = list(dict.fromkeys(PurePosixPath(prefix).name for prefix in prefixes))
    wanted = name if name is not None else (names[0] if len(names) == 1 else path.stem)
    for prefix in prefixes:
        if PurePosixPath(prefix).name.casefold() == wanted.casefold():
            return lambda part: root / f"{prefix}_{part}.txt"
    if not names:
        raise InvalidFile(f"{path} is no TU data set: no file in it ends in {ARCS}")
    listed = ", ".join(names[:8])
    raise InvalidFile(f"{path} holds the TU data sets {listed}, not {wanted!r}: pass name= with one of these")


def find_tu(folder: Path, name: str) -> Path | None:
    """`NAME.zip` or `NAME/` inside `folder`, or `folder` itself if it is the set's own; any case."""
    wanted, inside = name.casefold(), sorted(folder.iterdir()) if folder.is_dir() else []
    for child in inside:
        if child.name.casefold() == f"{wanted}.zip" and child.is_file():
            return child
    for child in inside:
        if child.name.casefold() == wanted and wanted in _names(_below(child, f"*{ARCS}")):
            return child
    own = [*folder.glob(f"*{ARCS}"), *folder.glob(f"raw/*{ARCS}")]
    return folder if wanted in _names(own) else None


def list_tu(folder: Path) -> list[str]:
    """The names of the TU sets in a folder."""
    found = {path.name.removesuffix(ARCS) for path in folder.glob(f"*{ARCS}")}
    for child in folder.iterdir() if folder.is_dir() else ():
        if child.name.startswith("."):
            continue
        if child.suffix.lower() == ".zip":
            with suppress(InvalidFile):
                found |= {child.stem} if _files(child, child.stem)("graph_indicator").exists() else set()
        elif child.name.casefold() in _names(_below(child, f"*{ARCS}")):
            found.add(child.name)
    return sorted(found)


def _below(folder: Path, pattern: str) -> list[Path]:
    return [path for depth in range(DEPTH + 1) for path in folder.glob("*/" * depth + pattern)]


def _names(files: list[Path]) -> set[str]:
    return {path.name.removesuffix(ARCS).casefold() for path in files}
