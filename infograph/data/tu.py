"""Reader of the TU collection's text format (Morris et al. 2020): one set, a handful of tables.

`NAME_A.txt` lists arcs "source, target" with nodes numbered from 1 through all graphs and
`NAME_graph_indicator.txt` the graph of every node. Labels and attributes are further tables, with one row per
node, arc or graph.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet, IntArray, pointer
from infograph.data.schema import Column, Level, Schema
from infograph.errors import FileMissing, InvalidFile

Values = dict[str, NDArray[Any]]
ARCS = "_A.txt"
DEPTH = 2  # PyG keeps NAME/raw/NAME_A.txt, a zip unpacked by hand often has NAME/NAME/NAME_A.txt
Numbers = Literal["whole", "real"]
FRESH_COPY = "the file is truncated or damaged: get a fresh copy"


def read_tu(path: str | Path, name: str | None = None) -> GraphSet:
    """Read a TU data set from its zip or folder.

    Nodes come from the graph indicator, so isolated ones count. Arcs keep their direction; in every graph
    they come out sorted by target, then source. Repeated rows are one arc, with the labels of the first; a
    self-loop is one arc. Columns (numbered where a table has several, as in `label_0`):

      * node: `label` (categories) and `attributes` (floats);
      * edge: the same, which encoders see only when asked to (`used=False`);
      * graph: `y`, codes 0 ... C-1 whose categories are the file's labels, sorted; `attributes`, floats, NaN
        where missing, one column per number.

    Args:
        path: `NAME.zip`, or the folder with `NAME_A.txt` in it or at most two levels below.
        name: the set's name, needed only where several sets share the zip or folder.

    Raises:
        FileMissing: the path, or a file that every set has, is not there.
        InvalidFile: a file is truncated, damaged, or contradicts another; the message names it.
    """
    files = tu_files(path, name)
    nodes = _read_nodes(files)
    n_graphs = len(nodes.ptr) - 1
    arcs = _read_arcs(files, nodes)
    node, node_columns = read_level(files, "node", nodes.n_rows, lambda values: values[nodes.order])
    edge, edge_columns = read_level(files, "edge", arcs.n_rows, lambda values: values[arcs.rows])
    graph, graph_columns = read_level(files, "graph", n_graphs, lambda values: values)
    return GraphSet(
        node_ptr=nodes.ptr,
        edge_ptr=arcs.ptr,
        edges=arcs.edges,
        node=node,
        edge=edge,
        graph=graph,
        ids=np.arange(n_graphs),
        schema=Schema(
            node=node_columns, edge=tuple(replace(c, used=False) for c in edge_columns), graph=graph_columns
        ),
    )


@dataclass(frozen=True)
class _Nodes:
    """The nodes in the file, and how to put them graph by graph (`position` None: they are)."""

    n_rows: int
    ptr: IntArray
    graph: IntArray  # (N,) graph of every node of the file
    order: IntArray | slice
    position: IntArray | None  # (N,) what each node of the file becomes


def _read_nodes(files: TuFiles) -> _Nodes:
    raw, where = files.read("graph_indicator"), files.where("graph_indicator")
    indicator = _columns(raw, where, 1)[0]
    if indicator.min() < 1:
        line = line_number(raw, int(indicator.argmin()))
        raise InvalidFile(f"{where}, line {line}: graph {indicator.min()}, but graphs are numbered from 1")
    if indicator.max() > len(indicator):
        raise InvalidFile(f"{where}: {indicator.max()} graphs for {len(indicator)} nodes; {FRESH_COPY}")
    graph = indicator.astype(np.int32) - 1
    counts = np.bincount(graph)
    if not counts.all():
        missing = int((counts == 0).argmax()) + 1
        raise InvalidFile(
            f"{where}: graph {missing} of {len(counts)} has no nodes; {FRESH_COPY}, or renumber the graphs"
        )
    if (graph[1:] >= graph[:-1]).all():
        return _Nodes(len(graph), pointer(counts), graph, slice(None), None)
    order = np.argsort(graph, kind="stable")
    position = np.empty(len(graph), np.int32)
    position[order] = np.arange(len(graph), dtype=np.int32)
    return _Nodes(len(graph), pointer(counts), graph, order, position)


@dataclass(frozen=True)
class _Arcs:
    """n_rows rows in the file, of which `rows` became the (2, E) edges, in that order."""

    n_rows: int
    ptr: IntArray
    edges: IntArray
    rows: IntArray


def _read_arcs(files: TuFiles, nodes: _Nodes) -> _Arcs:
    raw, where = files.read("A"), files.where("A")
    source, target = (_checked_ends(ends, raw, where, nodes) for ends in _columns(raw, where, 2))
    graph = nodes.graph[source]
    across = graph != nodes.graph[target]
    if across.any():
        row = int(across.argmax())
        ends = (f"node {end[row] + 1} of graph {nodes.graph[end[row]] + 1}" for end in (source, target))
        line = line_number(raw, row)
        raise InvalidFile(f"{where}, line {line}: an edge between {' and '.join(ends)}; {FRESH_COPY}")
    del raw
    if nodes.position is not None:
        source, target = nodes.position[source], nodes.position[target]
    key = target.astype(np.int64) * nodes.n_rows + source
    rows = np.argsort(key, kind="stable")
    key = key[rows]
    rows = rows[np.concatenate([[True], key[1:] != key[:-1]])]  # the first of equal rows
    graph = graph[rows]
    first = nodes.ptr.astype(np.int32)[graph]
    edges = np.stack([source[rows] - first, target[rows] - first])  # (2, E)
    return _Arcs(len(source), pointer(np.bincount(graph, minlength=len(nodes.ptr) - 1)), edges, rows)


def _checked_ends(ends: IntArray, raw: bytes, where: str, nodes: _Nodes) -> IntArray:
    """Node numbers from 0, inside the set."""
    outside = (ends < 1) | (ends > nodes.n_rows)
    if outside.any():
        row = int(outside.argmax())
        raise InvalidFile(
            f"{where}, line {line_number(raw, row)}: an edge to node {ends[row]}, but the graph indicator "
            f"has {nodes.n_rows} nodes; one of the two files is truncated or damaged: get a fresh copy"
        )
    return ends.astype(np.int32, copy=False) - 1


def _columns(raw: bytes, where: str, width: int) -> list[NDArray[Any]]:
    columns = read_table(raw, where, "whole")
    if len(columns) != width:
        raise InvalidFile(f"{where} has {len(columns)} columns, expected {width}; {FRESH_COPY}")
    return columns


def read_level(
    files: TuFiles, level: Level, n_rows: int, arrange: Callable[[NDArray[Any]], NDArray[Any]]
) -> tuple[Values, tuple[Column, ...]]:
    """Labels and attributes of one level.

    Args:
        files: the set.
        level: nodes, arcs or graphs.
        n_rows: rows that the level's tables must have.
        arrange: puts a column's rows into the set's order.

    Raises:
        InvalidFile: a table is damaged or has another number of rows; the message names it.
    """
    stored: Values = {}
    columns: list[Column] = []
    for name, values in _tables(files, level, n_rows).items():
        arranged = arrange(values)
        if values.dtype.kind == "f":
            columns.append(Column(name, "float", width=1 if values.ndim == 1 else values.shape[1]))
            stored[name] = arranged
        else:
            categories, codes = np.unique(arranged, return_inverse=True)
            columns.append(Column(name, "categorical", categories=tuple(categories.tolist())))
            stored[name] = codes.astype(np.int32)
    return stored, tuple(columns)


def _tables(files: TuFiles, level: Level, n_rows: int) -> Values:
    """Raw columns by name: integers are labels, floats attributes."""
    tables: Values = {}
    if files.has(f"{level}_labels"):
        labels = read_table(files.read(f"{level}_labels"), files.where(f"{level}_labels"), "whole")
        _check_rows(files, level, "labels", len(labels[0]), n_rows)
        tables |= _numbered("y" if level == "graph" else "label", labels)
    if files.has(f"{level}_attributes"):
        raw, where = files.read(f"{level}_attributes"), files.where(f"{level}_attributes")
        attributes = read_table(raw, where, "real")
        _check_rows(files, level, "attributes", len(attributes[0]), n_rows)
        _check_finite(attributes, raw, where, missing_allowed=level == "graph")
        joint = attributes if level == "graph" or len(attributes) == 1 else [np.stack(attributes, axis=1)]
        tables |= _numbered("attributes", joint)
    return tables


def _numbered(name: str, columns: list[NDArray[Any]]) -> Values:
    return {name if len(columns) == 1 else f"{name}_{i}": values for i, values in enumerate(columns)}


def _check_rows(files: TuFiles, level: Level, part: str, n_rows: int, expected: int) -> None:
    if n_rows != expected:
        other = files.where("A" if level == "edge" else "graph_indicator")
        things = "arcs" if level == "edge" else f"{level}s"
        raise InvalidFile(
            f"{files.where(f'{level}_{part}')} has {n_rows} rows, but {other} has {expected} {things}; "
            f"one of the two is truncated or damaged: get a fresh copy"
        )


def _check_finite(columns: list[NDArray[Any]], raw: bytes, where: str, *, missing_allowed: bool) -> None:
    """NaN in a graph's attribute is a missing target, anywhere else an error; infinity always is one."""
    for values in columns:
        bad = np.isinf(values) if missing_allowed else ~np.isfinite(values)
        if bad.any():
            row = int(bad.argmax())
            line = line_number(raw, row)
            raise InvalidFile(
                f"{where}, line {line}: {values[row]} is no finite number; fill it in or leave the graph out"
            )


@dataclass(frozen=True)
class TuFiles:
    """The files of one TU set.

    Attributes:
        container: the zip or folder.
        prefix: path inside the container up to and including the set's name, as in `MUTAG/MUTAG`.
        members: paths of all files inside the container.
    """

    container: Path
    prefix: str
    members: frozenset[str]

    @property
    def name(self) -> str:
        """The set's name, as its files spell it."""
        return PurePosixPath(self.prefix).name

    def has(self, part: str) -> bool:
        """Whether the set has that file, for instance "node_labels"."""
        return f"{self.prefix}_{part}.txt" in self.members

    def where(self, part: str) -> str:
        """That file's name for error messages."""
        return str(self.container / f"{self.prefix}_{part}.txt")

    def read(self, part: str) -> bytes:
        """The content of that file.

        Raises:
            FileMissing: the set has no such file.
            InvalidFile: it cannot be unpacked.
        """
        member = f"{self.prefix}_{part}.txt"
        if member not in self.members:
            raise FileMissing(
                f"{self.where(part)} is missing: every TU data set has one; get a fresh copy of the set"
            )
        if self.container.is_dir():
            return (self.container / member).read_bytes()
        try:
            with zipfile.ZipFile(self.container) as archive:
                return archive.read(member)
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
            raise InvalidFile(f"{self.where(part)} cannot be unpacked ({error}); {FRESH_COPY}") from error


def tu_files(path: str | Path, name: str | None = None) -> TuFiles:
    """The TU set in a zip or folder; `name` says which one where there are several.

    Raises:
        FileMissing: there is no such path.
        InvalidFile: no TU set is there, or several.
    """
    path = Path(path)
    members = frozenset(_members(path))
    arcs = sorted((m for m in members if m.endswith(ARCS)), key=lambda m: (m.count("/"), m))
    prefixes = [member.removesuffix(ARCS) for member in arcs]
    names = list(dict.fromkeys(PurePosixPath(prefix).name for prefix in prefixes))
    wanted = name if name is not None else (names[0] if len(names) == 1 else path.stem)
    for prefix in prefixes:
        if PurePosixPath(prefix).name.casefold() == wanted.casefold():
            return TuFiles(path, prefix, members)
    if not names:
        raise InvalidFile(f"{path} is no TU data set: no file in it ends in {ARCS}")
    listed = ", ".join(names[:8])
    raise InvalidFile(f"{path} holds the TU data sets {listed}, not {wanted!r}: pass name= with one of these")


def find_tu(folder: Path, name: str) -> Path | None:
    """The zip or folder of a set inside `folder`, or `folder` itself if it is the set's own; None if neither.

    Looks for `NAME.zip`, `NAME/` (files at most two levels deep, as PyG lays them out) and `NAME_A.txt`; case
    does not matter.
    """
    try:
        children = {child.name.casefold(): child for child in sorted(folder.iterdir(), reverse=True)}
    except OSError:
        return None
    archive = children.get(f"{name}.zip".casefold())
    if archive is not None and archive.is_file():
        return archive
    own = children.get(name.casefold())
    if own is not None and own.is_dir() and _holds(own, name, DEPTH):
        return own
    return folder if _holds(folder, name, 0) or _holds(folder / "raw", name, 0) else None


def list_tu(folder: Path) -> list[str]:
    """Names of the TU sets that `find_tu` finds in a folder, sorted."""
    try:
        children = [child for child in folder.iterdir() if not child.name.startswith(".")]
    except OSError:
        return []
    folders = [child.name for child in children if child.is_dir() and _holds(child, child.name, DEPTH)]
    archives = [child.stem for child in children if child.suffix.lower() == ".zip" and _holds_zipped(child)]
    own = [path.name.removesuffix(ARCS) for path in folder.glob(f"*{ARCS}")]
    return sorted({*folders, *archives, *own})


def _members(path: Path) -> Iterable[str]:
    if path.is_dir():
        inside = [
            p.relative_to(path).as_posix() for d in range(DEPTH + 1) for p in path.glob("*/" * d + "*.txt")
        ]
    elif path.is_file():
        try:
            with zipfile.ZipFile(path) as archive:
                inside = archive.namelist()
        except (zipfile.BadZipFile, EOFError, ValueError) as error:
            raise InvalidFile(f"{path} is no zip file ({error}); {FRESH_COPY}") from error
    else:
        raise FileMissing(f"{path}: no such file or folder; expected a TU data set as NAME.zip or NAME/")
    # macOS puts "._NAME_A.txt" beside each file it zips.
    return (member for member in inside if not PurePosixPath(member).name.startswith("."))


def _holds(folder: Path, name: str, depth: int) -> bool:
    wanted = f"{name}{ARCS}".casefold()
    return any(
        p.name.casefold() == wanted for d in range(depth + 1) for p in folder.glob("*/" * d + f"*{ARCS}")
    )


def _holds_zipped(archive: Path) -> bool:
    try:
        return tu_files(archive, archive.stem).has("graph_indicator")
    except InvalidFile:
        return False


def read_table(raw: bytes, where: str, numbers: Numbers) -> list[NDArray[Any]]:
    """The columns of a table without a header.

    Spaces around numbers, CRLF line ends, blank lines and a byte-order mark are tolerated.

    Args:
        raw: the file's content.
        where: the file's name, for error messages.
        numbers: "whole" gives int32 columns (int64 where needed; "1.0" counts as 1), "real" gives float32.

    Raises:
        InvalidFile: the table is empty, ragged, or holds something else than numbers.
    """
    raw = raw.rstrip()
    if not raw:
        raise InvalidFile(f"{where} is empty; {FRESH_COPY}")
    width = raw.lstrip().split(b"\n", 1)[0].split(b"\r", 1)[0].count(b",") + 1
    if numbers == "real":
        columns = _parse(raw, width, "float32")
    else:
        columns = _parse(raw, width, "int32") or _whole(_parse(raw, width, "float64"))
    if not columns:
        raise InvalidFile(_complaint(raw, where, width, numbers))
    return columns


def line_number(raw: bytes, row: int) -> int:
    """The line, counted from 1, on which row `row` of a table stands: blank lines are no rows."""
    rows = (number for number, line in enumerate(raw.splitlines(), start=1) if line)
    return next((number for position, number in enumerate(rows) if position == row), row + 1)


def _parse(raw: bytes, width: int, dtype: str) -> list[NDArray[Any]]:
    """Columns of one type, or an empty list if the text does not have that form."""
    import pyarrow as pa  # here, because opening a cached set needs none of it
    import pyarrow.csv as csv

    names = [str(position) for position in range(width)]
    try:
        # Arrow parses on all cores: 0.4 s for the 96 MB of REDDIT-MULTI-5K's arcs.
        table = csv.read_csv(
            pa.BufferReader(raw),
            read_options=csv.ReadOptions(column_names=names),
            parse_options=csv.ParseOptions(quote_char=False),
            convert_options=csv.ConvertOptions(
                column_types={name: getattr(pa, dtype)() for name in names}, null_values=[]
            ),
        )
    except pa.ArrowInvalid:
        return []
    return [np.asarray(table.column(name).to_numpy()) for name in names]


def _whole(columns: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """Floats that are whole numbers, and exact as such, as integers; an empty list if one is not."""
    exact = all(bool(((np.abs(values) < 2**53) & (values == np.floor(values))).all()) for values in columns)
    return [values.astype(np.int64) for values in columns] if exact else []


def _complaint(raw: bytes, where: str, width: int, numbers: Numbers) -> str:
    """What is wrong with a table that did not parse; slow, and only run then."""
    expected = f"{width} {numbers} number{'s separated by commas' if width > 1 else ''}"
    for number, line in enumerate(raw.splitlines(), start=1):
        cells = line.removeprefix(b"\xef\xbb\xbf").split(b",")
        if line and (len(cells) != width or not all(_is_number(cell, numbers) for cell in cells)):
            shown = line[:60].decode("utf-8", "replace")
            return f"{where}, line {number}: {shown!r}, expected {expected}; {FRESH_COPY}"
    return f"{where}: not a table of {expected} per line; {FRESH_COPY}"


def _is_number(cell: bytes, numbers: Numbers) -> bool:
    try:
        value = float(cell)
    except ValueError:
        return False
    return numbers == "real" or value.is_integer()
