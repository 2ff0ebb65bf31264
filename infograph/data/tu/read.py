"""Reader of the TU collection's text format (Morris et al. 2020): one set, a handful of tables.

`NAME_A.txt` lists arcs "source, target" with nodes numbered from 1 through all graphs and
`NAME_graph_indicator.txt` the graph of every node. Labels and attributes are further tables, with one row per
node, arc or graph.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet, IntArray, pointer
from infograph.data.schema import Schema
from infograph.data.tu.columns import read_level
from infograph.data.tu.files import TuFiles, tu_files
from infograph.data.tu.numbers import FRESH_COPY, line_number, read_table
from infograph.errors import InvalidFile


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
