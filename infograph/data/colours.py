"""Weisfeiler-Lehman refinement: the colour of every node per round, and what each colour is made of.

Nodes of equal round-k colour get equal states from any k-layer message-passing network, so everything after
this file computes per colour instead of per node. The same colours are the features of the WL kernel and the
words of graph2vec.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack

from infograph.data.graphset import GraphSet, IntArray, ranges
from infograph.data.schema import Column, Schema
from infograph.errors import InvalidParameter
from infograph.io import FolderKind, described, listed_arrays, open_arrays, replaced_folder

Hash = NDArray[np.uint64]
FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)
FORMAT = "infograph-colours-1"
MARKER = "colours.json"
AGAIN = "colour the graphs again"
COLOURS = FolderKind("a folder of colours", MARKER, FORMAT, listed_arrays)
DEGREES = 64  # kinds of degrees
WIDE = 4096  # inputs; more are a sparse matrix
WHOLE = ("node_ptr", "node_table", "edge_table", "graph_kinds")
SPARSE = ("data", "indices", "indptr")


@dataclass(frozen=True, eq=False)
class Round:
    """What the colours of one round are made of. C colours here, C' in the round before, L edge codes.

    Attributes:
        parent: (C,) the colour that a node of this colour had one round before.
        incoming: (C, C' * L) sparse: how often a node of this colour hears (colour, edge code), with
            multiplicity, as column `colour * L + code`; the sum of the weights where edges are weighted.
    """

    parent: IntArray
    incoming: csr_matrix


@dataclass(frozen=True, eq=False)
class Colouring:
    """All colours of a GraphSet over K rounds. G graphs, N nodes.

    Attributes:
        node_ptr: (G+1,) as in the GraphSet.
        node_colours: K+1 arrays (N,): the colour of every node after each round; round 0 is its features.
        rounds: K descriptions of how a round's colours arise.
        node_table: (C_0, F) the encoder's input of every round-0 colour; sparse where F is large.
        edge_table: (L, F_e) the encoder's input of every edge code; (1, 0) without edge features.
        graph_counts: K+1 sparse (G, C_k) matrices: how many nodes of each colour a graph has.
        graph_kinds: (G,) a number for every graph, equal for graphs that no encoder tells apart.
    """

    node_ptr: IntArray
    node_colours: tuple[IntArray, ...]
    rounds: tuple[Round, ...]
    node_table: NDArray[np.float32] | csr_matrix
    edge_table: NDArray[np.float32]
    graph_counts: tuple[csr_matrix, ...]
    graph_kinds: IntArray

    def n_colours(self, k: int) -> int:
        """Distinct colours after round k."""
        return len(self.rounds[k - 1].parent) if k else self.node_table.shape[0]


def refine(graphs: GraphSet, rounds: int, *, node_features: str = "auto") -> Colouring:
    """Colour the nodes of all graphs over `rounds` rounds.

    Two nodes share a colour if they had the same colour before and hear the same multiset of (colour, edge
    features, edge weight). Multisets are compared by two independent 64-bit sums, so a false match among 10^7
    nodes has a chance below 10^-23.

    Args:
        graphs: the graphs; the columns their schema marks as used count.
        rounds: number of rounds, one per layer of the encoder.
        node_features: "auto" (the node columns, a constant where there are none), "constant", "degree" (its
            logarithm), or "degrees" (its kind, one-hot).
    """
    colour, node_table = node_inputs(graphs, node_features)
    target_order = np.argsort(graphs.edge_index[1], kind="stable")
    source, target = graphs.edge_index[:, target_order].astype(np.int64)
    heard_ptr = np.searchsorted(target, np.arange(graphs.n_nodes + 1))
    label, edge_table = edge_inputs(graphs, target_order)
    weight = arc_weights(graphs, target_order)
    code = label if weight is None else group_rows([label, weight])[0]  # also tells weights apart
    arcs = SortedArcs(source, heard_ptr, code, label, len(edge_table), weight)

    colours, counts = [colour], [_count_colours(graphs.node_ptr, colour)]
    made: list[Round] = []
    for _ in range(rounds):
        if made and len(made[-1].parent) * arcs.n_labels == made[-1].incoming.shape[1]:
            made.append(made[-1])  # a stable partition repeats itself from here on
            colours.append(colours[-1])
            counts.append(counts[-1])
            continue
        colour, description = _refine_once(colours[-1], arcs)
        made.append(description)
        colours.append(colour)
        counts.append(_count_colours(graphs.node_ptr, colour))
    last = colours[-1].astype(np.uint64)
    kinds = [mix64(_segment_sum(mix64(last * FIRST + salt), graphs.node_ptr)) for salt in (FIRST, SECOND)]
    return Colouring(
        graphs.node_ptr, tuple(colours), tuple(made), node_table, edge_table, tuple(counts), _group(*kinds)[0]
    )


def node_inputs(
    graphs: GraphSet, node_features: str = "auto"
) -> tuple[IntArray, NDArray[np.float32] | csr_matrix]:
    """The colour of every node before the first round (N,), and the encoder's input of each (C_0, F)."""
    columns = graphs.schema.features("node")
    if node_features in ("degree", "degrees"):
        degree = np.bincount(graphs.edge_index[1], minlength=graphs.n_nodes)
        if node_features == "degree":
            colour, first = group_rows([degree])
            return colour, np.log1p(degree[first]).astype(np.float32)[:, None]
        # up to 31 as it is, and above that four kinds for every doubling
        above = 32 + np.floor(4 * np.log2(np.maximum(degree, 32) / 32)).astype(np.int64)
        kind = np.where(degree < 32, degree, np.minimum(above, DEGREES - 1))
        colour, first = group_rows([kind])
        return colour, np.eye(DEGREES, dtype=np.float32)[kind[first]]
    if node_features == "constant" or not columns:
        return np.zeros(graphs.n_nodes, np.int32), np.ones((min(1, graphs.n_nodes), 1), np.float32)
    return _tabulate(columns, [graphs.node[column.name] for column in columns])


def node_width(schema: Schema, node_features: str = "auto") -> int:
    """Inputs per node that `refine` gives an encoder."""
    if node_features == "degrees":
        return DEGREES
    columns = schema.features("node") if node_features == "auto" else ()
    return sum(column.encoded_width for column in columns) if columns else 1


def edge_width(schema: Schema) -> int:
    """Inputs per edge that `refine` gives an encoder; 0 without edge features."""
    return sum(column.encoded_width for column in schema.features("edge"))


@dataclass(frozen=True)
class SortedArcs:
    """Arcs sorted by target: node v hears the arcs heard_ptr[v] ... heard_ptr[v+1] - 1."""

    source: IntArray
    heard_ptr: IntArray
    code: IntArray  # (E,) distinct (features, weight)
    label: IntArray  # (E,) distinct features
    n_labels: int
    weight: NDArray[Any] | None


def edge_inputs(graphs: GraphSet, order: IntArray) -> tuple[IntArray, NDArray[np.float32]]:
    """A code of every arc, in this order (E,), and the encoder's input of each code (codes, F_e)."""
    columns = graphs.schema.features("edge")
    if not columns or not graphs.n_edges:
        return np.zeros(graphs.n_edges, np.int32), np.zeros((1, edge_width(graphs.schema)), np.float32)
    code, table = _tabulate(columns, [graphs.edge[column.name][order] for column in columns])
    return code, dense(table)


def arc_weights(graphs: GraphSet, order: IntArray) -> NDArray[Any] | None:
    """What multiplies the messages along some arcs, if anything does. (E,)."""
    column = graphs.schema.weight
    return None if column is None else graphs.edge[column.name][order].reshape(-1)


def _tabulate(
    columns: Sequence[Column], values: Sequence[NDArray[Any]]
) -> tuple[IntArray, NDArray[np.float32] | csr_matrix]:
    """Codes of the distinct rows, and those rows as inputs; sparse where they are wide."""
    code, first = group_rows(values)
    if sum(column.encoded_width for column in columns) > WIDE:
        return code, hstack([_sparse(c, v[first]) for c, v in zip(columns, values, strict=True)], "csr")
    return code, np.hstack([c.encode(v[first]) for c, v in zip(columns, values, strict=True)])


def _sparse(column: Column, values: NDArray[Any]) -> csr_matrix:
    """`column.encode` without its zeros."""
    if column.kind == "float":
        return csr_matrix(column.encode(values))
    known = values < column.unknown
    ptr = np.concatenate([[0], np.cumsum(known)])
    return csr_matrix((np.ones(ptr[-1], np.float32), values[known], ptr), (len(values), column.unknown))


def dense(table: NDArray[np.float32] | csr_matrix) -> NDArray[np.float32]:
    """Inputs for an encoder that needs all of them; too many are refused."""
    if isinstance(table, np.ndarray):
        return table
    raise too_wide(table.shape[1])


def too_wide(n_inputs: int) -> InvalidParameter:
    """What to raise where so many inputs cannot be written down."""
    return InvalidParameter(
        f"{n_inputs:,} inputs per node or edge, more than {WIDE:,}: only GIN without edge columns, in one "
        f"process, takes so many categories; leave the column out, or read it as numbers"
    )


def _refine_once(before: IntArray, arcs: SortedArcs) -> tuple[IntArray, Round]:
    """One round: the new colour of every node, and what it is made of, read off the first node of each."""
    n_before, n_codes = int(before.max(initial=-1)) + 1, int(arcs.code.max(initial=0)) + 1
    heard = before[arcs.source].astype(np.int64) * n_codes + arcs.code  # (E,) pairs of colour and edge code
    keys = []
    for salt in (FIRST, SECOND):
        # Where arcs outnumber the pairs, each pair is hashed once. Measured weights make nearly every arc a
        # pair of its own, and all pairs many more.
        if n_before * n_codes <= len(heard):
            hashed = mix64(np.arange(n_before * n_codes, dtype=np.uint64) * FIRST + salt)[heard]
        else:
            hashed = mix64(heard.view(np.uint64) * FIRST + salt)
        keys.append(mix64(_segment_sum(hashed, arcs.heard_ptr) + salt * before.astype(np.uint64)))
    colour, first = _group(*keys)
    rows, ptr = ranges(arcs.heard_ptr, first)
    columns = before[arcs.source[rows]].astype(np.int64) * arcs.n_labels + arcs.label[rows]
    values = np.ones(len(rows), np.float32) if arcs.weight is None else arcs.weight[rows].astype(np.float32)
    incoming = csr_matrix((values, columns, ptr), shape=(len(first), n_before * arcs.n_labels))
    incoming.sum_duplicates()
    return colour, Round(before[first], incoming)


def _count_colours(ptr: IntArray, colours: IntArray) -> csr_matrix:
    shape = (len(ptr) - 1, int(colours.max(initial=-1)) + 1)
    counts = csr_matrix((np.ones(len(colours), np.float32), colours.copy(), ptr.copy()), shape=shape)
    counts.sum_duplicates()  # works in place, hence the copies
    return counts


def group_rows(columns: Sequence[NDArray[Any]]) -> tuple[IntArray, IntArray]:
    """Number the distinct rows of some columns in order of first appearance: codes (N,), first rows (C,)."""
    keys = [np.zeros(len(columns[0]), np.uint64) for _ in range(2)]
    for column in columns:
        for values in column.reshape(len(column), math.prod(column.shape[1:])).T:
            if values.dtype.kind == "f":
                bits = (values.astype(np.float64) + 0.0).view(np.uint64)  # + 0.0: minus zero is zero
            else:
                bits = values.astype(np.int64).view(np.uint64)
            keys = [mix64(key * FIRST + bits + salt) for key, salt in zip(keys, (FIRST, SECOND), strict=True)]
    return _group(*keys)


def _group(first_key: Hash, second_key: Hash) -> tuple[IntArray, IntArray]:
    """Codes by first appearance, and where each appears first; the second key guards against collisions."""
    codes, first = _number(first_key)
    if not np.array_equal(second_key[first][codes], second_key):
        codes, first = _number(mix64(first_key) ^ second_key)
    return codes, first


def _number(key: Hash) -> tuple[IntArray, IntArray]:
    encoded = pa.array(key).dictionary_encode()  # a hash table: 5x faster than sorting
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int32, copy=False)
    first = np.empty(len(encoded.dictionary), np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return codes, first


def _segment_sum(values: Hash, ptr: IntArray) -> Hash:
    """Sums over consecutive segments, empty ones included; wraps around. (E,) -> (N,)."""
    total = np.zeros(len(ptr) - 1, np.uint64)
    filled = np.flatnonzero(ptr[1:] > ptr[:-1])
    if len(filled):
        total[filled] = np.add.reduceat(values, ptr[filled])
    return total


def mix64(values: Hash) -> Hash:
    """SplitMix64's finaliser: every input bit moves every output bit."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def save_colouring(colouring: Colouring, folder: str | Path) -> Path:
    """Write it; the folder appears whole or not at all. A round that changed nothing is not written again."""
    dense(colouring.node_table)
    arrays = {name: getattr(colouring, name) for name in WHOLE}
    sparse: dict[str, csr_matrix] = {}
    for k, counts in enumerate(colouring.graph_counts):
        if not k or counts is not colouring.graph_counts[k - 1]:
            arrays[f"colours_{k}"], sparse[f"counts_{k}"] = colouring.node_colours[k], counts
    for k, made in enumerate(colouring.rounds, start=1):
        if k == 1 or made is not colouring.rounds[k - 2]:
            arrays[f"parent_{k}"], sparse[f"incoming_{k}"] = made.parent, made.incoming
    for name, matrix in sparse.items():
        arrays |= {f"{name}_{part}": getattr(matrix, part) for part in SPARSE}
    content = {
        "format": FORMAT,
        "rounds": len(colouring.rounds),
        "sparse": {name: [int(size) for size in matrix.shape] for name, matrix in sparse.items()},
        "arrays": {name: list(values.shape) for name, values in arrays.items()},
    }
    with replaced_folder(folder, COLOURS) as work:
        for name, values in arrays.items():
            np.save(work / f"{name}.npy", np.ascontiguousarray(values), allow_pickle=False)
        (work / MARKER).write_text(json.dumps(content, indent=1))
    return Path(folder)


def open_colouring(folder: str | Path) -> Colouring:
    """A saved Colouring as memory maps: nothing is read before it is used."""
    folder = Path(folder)
    with described(folder / MARKER, FORMAT, "a folder of colours", AGAIN) as content:
        arrays = open_arrays(folder, content["arrays"], AGAIN)

        def sparse(name: str) -> csr_matrix:
            parts = tuple(arrays[f"{name}_{part}"] for part in SPARSE)
            return csr_matrix(parts, shape=tuple(content["sparse"][name]), copy=False)

        colours, counts, made = [], [], []  # type: list[Any], list[csr_matrix], list[Round]
        for k in range(content["rounds"] + 1):  # what is not there is as in the round before
            stored = f"colours_{k}" in arrays
            colours.append(arrays[f"colours_{k}"] if stored else colours[-1])
            counts.append(sparse(f"counts_{k}") if stored else counts[-1])
            if k:
                new = f"parent_{k}" in arrays
                made.append(Round(arrays[f"parent_{k}"], sparse(f"incoming_{k}")) if new else made[-1])
        return Colouring(
            np.array(arrays["node_ptr"]),
            tuple(colours),
            tuple(made),
            arrays["node_table"],
            np.array(arrays["edge_table"]),
            tuple(counts),
            arrays["graph_kinds"],
        )
