"""GraphML, GEXF and edge lists, one file per graph: a single file, or a folder of them -> GraphSet."""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree.ElementTree import ParseError, iterparse

import networkx as nx

from infograph.data.formats.cells import read_cells
from infograph.data.formats.edge_lists import read_edge_list
from infograph.data.formats.reading import ReadOptions, with_columns
from infograph.data.graphset import GraphSet, Rejected
from infograph.data.networks import from_networkx
from infograph.data.units import match_name
from infograph.errors import InvalidFile, InvalidGraph, InvalidParameter

XML = (".graphml", ".gexf")
EDGE_LISTS = (".edgelist", ".edges", ".txt", ".csv", ".tsv")
LABELS = "labels.csv"
GEXF_VERSIONS = ("1.2draft", "1.3", "1.1draft")


def network_files(folder: Path) -> list[Path]:
    """The files of a folder that hold one graph each, sorted by name with numbers as numbers."""
    files = (path for path in folder.iterdir() if path.is_file() and kind(path) in (*XML, *EDGE_LISTS))
    others = (LABELS, "readme", "license")
    return sorted(
        (path for path in files if not path.name.casefold().startswith((".", *others))), key=_natural
    )


def kind(path: Path) -> str:
    """The extension that says what a file is: `.gz` is looked through."""
    return (Path(path.stem) if path.suffix == ".gz" else path).suffix.casefold()


def _natural(path: Path) -> list[tuple[int, str]]:
    """Sorts graph_2 before graph_10."""
    return [
        (int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", path.name) if part
    ]


def read_networks(files: Sequence[Path], options: ReadOptions, labels: Path | None = None) -> GraphSet:
    """One graph per file, whose name without extension is its id.

    Args:
        files: the files.
        options: attributes to keep, and what to do with bad files.
        labels: a table whose first column is the ids, or the files' names, and whose others become graph
            columns; `label` becomes `y`.
    """
    ids = [path.name.removesuffix(".gz").removesuffix(kind(path)) for path in files]
    graphs: list[nx.Graph | Rejected] = []
    for index, path in enumerate(files):
        try:
            graphs.append(_read_network(path, options))
        except InvalidFile as error:
            if options.errors == "raise":
                raise
            graphs.append(Rejected(index, ids[index], str(error)))
    try:
        made = from_networkx(
            graphs,
            node=options.node,
            edge=options.edge,
            weight=options.weight,
            ids=ids,
            errors=options.errors,
            schema=options.schema,
        )
    except InvalidGraph as error:
        path = files[error.index or 0]
        raise InvalidGraph(f"{path}: {error.problem}", index=error.index, graph_id=error.graph_id) from error
    return (
        made
        if labels is None
        else _with_labels(made, {file.name: i for file, i in zip(files, ids, strict=True)}, labels, options)
    )


def _read_network(path: Path, options: ReadOptions) -> nx.Graph:
    if kind(path) in EDGE_LISTS:
        return read_edge_list(path, directed=options.directed)
    if not path.stat().st_size:
        raise InvalidFile(f"{path} is empty")
    try:
        graph = nx.read_graphml(path) if kind(path) == ".graphml" else _read_gexf(path)
        _check_declared(graph, path)
        return graph
    except (
        ParseError,
        nx.NetworkXException,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        OSError,
        EOFError,
    ) as e:
        raise InvalidFile(f"{path} is truncated or no {kind(path)[1:]} file: {e}") from e


def _check_declared(graph: nx.Graph, path: Path) -> None:
    """Refuse edges to nodes that the file does not have; networkx makes those up."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        declared = {item.get("id") for _, item in iterparse(file) if item.tag.rpartition("}")[2] == "node"}
    missing = [node for node in graph.nodes if node not in declared]
    if missing:
        raise ValueError(f"an edge leads to node {missing[0]!r}, which is not among the nodes")


def _read_gexf(path: Path) -> nx.Graph:
    problem: Exception | None = None
    for version in GEXF_VERSIONS:
        try:
            graph = nx.read_gexf(path, version=version)
        except nx.NetworkXError as error:  # another version
            problem = problem or error
            continue
        graph.graph.pop("mode", None)  # of the format, not of the graph
        return graph
    raise problem or nx.NetworkXError("no graph")


def _with_labels(graphs: GraphSet, names: Mapping[str, str], path: Path, options: ReadOptions) -> GraphSet:
    """`names`: the name of every file -> its id."""
    cells, ids = read_cells(path), list(names.values())
    rows: dict[str, int] = {}
    for row, given in enumerate(cells.columns[cells.names[0]]):
        graph_id = given if given in ids else names.get(given, given)
        if graph_id not in ids or graph_id in rows:
            what = "stands there twice" if graph_id in rows else "has no file in the folder"
            raise InvalidFile(f"{path}, {cells.place(row)}: the id {graph_id!r} {what}")
        rows[graph_id] = row
    label = match_name(cells.names[1:], options.label or "label")
    if label is None and options.label is not None:
        raise InvalidParameter(f"label={options.label!r}: {path} has no such column, only {cells.names[1:]}")
    columns = {
        name: [cells.columns[name][rows[i]] if i in rows else "" for i in ids] for name in cells.names[1:]
    }
    return with_columns(graphs, columns, label=label, place=lambda index: f"file {ids[index]}")
