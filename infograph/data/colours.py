"""Weisfeiler-Lehman refinement: the colour of every node per round, and what each colour is made of.

Nodes of equal round-k colour get equal states from any k-layer message-passing network, so everything after
this file computes per colour instead of per node. The same colours are the features of the WL kernel and the
words of graph2vec.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from infograph.data.graphset import GraphSet, IntArray, in_memory, ranges
from infograph.data.schema import Column, Schema
from infograph.io import FolderKind, described, listed_arrays, open_arrays, replaced_folder

Hash = NDArray[np.uint64]
FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)
FORMAT = "infograph-colours-1"
MARKER = "colours.json"
AGAIN = "colour the graphs again"
COLOURS = FolderKind("a folder of colours", MARKER, FORMAT, listed_arrays)
Named = dict[str, NDArray[Any]]
BLOCK = 2_000_000  # nodes and arcs in memory at a time: some 300 MB while they are sorted and hashed
SMALL = 2**31  # what is less needs four bytes


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
        node_table: (C_0, F) the encoder's input of every round-0 colour.
        edge_table: (L, F_e) the encoder's input of every edge code; (1, 0) without edge features.
        graph_counts: K+1 sparse (G, C_k) matrices: how many nodes of each colour a graph has.
        graph_kinds: (G,) a number for every graph, equal for graphs that no encoder tells apart.
        folder: where it was opened from, if it is a memory map.
    """

    node_ptr: IntArray
    node_colours: tuple[IntArray, ...]
    rounds: tuple[Round, ...]
    node_table: NDArray[np.float32]
    edge_table: NDArray[np.float32]
    graph_counts: tuple[csr_matrix, ...]
    graph_kinds: IntArray
    folder: Path | None = None

    def __len__(self) -> int:
        return len(self.node_ptr) - 1

    def n_colours(self, k: int) -> int:
        """Distinct colours after round k."""
        return len(self.rounds[k - 1].parent) if k else len(self.node_table)


def refine(graphs: GraphSet, rounds: int, *, node_features: str = "auto") -> Colouring:
    """Colour the nodes of all graphs over `rounds` rounds.

    Two nodes share a colour if they had the same colour before and hear the same multiset of (colour, edge
    features, edge weight). Multisets are compared by two independent 64-bit sums, so a false match among 10^7
    nodes has a chance below 10^-23.

    Args:
        graphs: the graphs; the columns their schema marks as used count.
        rounds: number of rounds, one per layer of the encoder.
        node_features: "auto" (the node columns, a constant where there are none), "constant", or "degree".
    """
    colour, node_table = node_inputs(graphs, node_features)
    target_order = np.argsort(graphs.edge_index[1], kind="stable")
    source, target = graphs.edge_index[:, target_order].astype(np.int64)
    heard_ptr = np.searchsorted(target, np.arange(graphs.n_nodes + 1))
    label, edge_table = _edge_codes(graphs, target_order)
    weight = arc_weights(graphs, target_order)
    code = label if weight is None else group_rows([label, weight])[0]  # also tells weights apart
    arcs = SortedArcs(source, heard_ptr, code, label, len(edge_table), weight)

    colours: list[IntArray] = [colour]
    made: list[Round] = []
    for _ in range(rounds):
        stable = len(made) > 0 and len(made[-1].parent) == made[-1].incoming.shape[1] // arcs.n_labels
        if not stable:  # a stable partition repeats itself from here on
            colour, first = _refine_once(colour, arcs)
            before = colours[-1]
            made.append(describe(before, first, arcs, int(before.max(initial=-1)) + 1))
        else:
            made.append(made[-1])
        colours.append(colour)
    return Colouring(
        graphs.node_ptr,
        tuple(colours),
        tuple(made),
        node_table,
        edge_table,
        _histograms(graphs.node_ptr, colours),
        _group(*graph_keys(graphs.node_ptr, colours[-1]))[0],
    )


def node_inputs(graphs: GraphSet, node_features: str = "auto") -> tuple[IntArray, NDArray[np.float32]]:
    """The colour of every node before the first round (N,), and the encoder's input of each (C_0, F)."""
    columns = graphs.schema.features("node")
    if node_features == "degree":
        degree = np.bincount(graphs.edge_index[1], minlength=graphs.n_nodes)
        colour, first = group_rows([degree])
        return colour, np.log1p(degree[first]).astype(np.float32)[:, None]
    if node_features == "constant" or not columns:
        return np.zeros(graphs.n_nodes, np.int32), np.ones((min(1, graphs.n_nodes), 1), np.float32)
    return _tabulate(columns, [graphs.node[column.name] for column in columns])


def node_width(schema: Schema, node_features: str = "auto") -> int:
    """Inputs per node that `refine` gives an encoder."""
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


def _edge_codes(graphs: GraphSet, order: IntArray) -> tuple[IntArray, NDArray[np.float32]]:
    columns = graphs.schema.features("edge")
    if not columns or not graphs.n_edges:
        return np.zeros(graphs.n_edges, np.int32), np.zeros((1, edge_width(graphs.schema)), np.float32)
    return _tabulate(columns, [graphs.edge[column.name][order] for column in columns])


def arc_weights(graphs: GraphSet, order: IntArray) -> NDArray[Any] | None:
    """What multiplies the messages along some arcs, if anything does. (E,)."""
    column = graphs.schema.weight
    return None if column is None else graphs.edge[column.name][order].reshape(-1)


def _tabulate(
    columns: Sequence[Column], values: Sequence[NDArray[Any]]
) -> tuple[IntArray, NDArray[np.float32]]:
    """Codes of the distinct rows, and those rows as inputs."""
    code, first = group_rows(values)
    return code, np.hstack([c.encode(v[first]) for c, v in zip(columns, values, strict=True)])


def _refine_once(colour: IntArray, arcs: SortedArcs) -> tuple[IntArray, IntArray]:
    """One round: the new colour of every node, and the first node of each new colour.

    Where arcs outnumber the pairs of a colour and an edge code, each pair is hashed once. Measured weights
    make nearly every arc a pair of its own, and all pairs many more.
    """
    n_codes = int(arcs.code.max(initial=0)) + 1
    n_pairs = (int(colour.max(initial=0)) + 1) * n_codes
    if n_pairs > len(arcs.source):
        return _group(*heard_keys(colour, arcs))
    keys = []
    for salt in (FIRST, SECOND):
        table = _mix(np.arange(n_pairs, dtype=np.uint64) * FIRST + salt)
        heard = table[colour[arcs.source].astype(np.int64) * n_codes + arcs.code]
        keys.append(_mix(_segment_sum(heard, arcs.heard_ptr) + salt * colour.astype(np.uint64)))
    return _group(keys[0], keys[1])


def heard_keys(colour: IntArray, arcs: SortedArcs) -> tuple[Hash, Hash]:
    """Two keys per node, equal for nodes of the same colour that hear the same; the same in any set. (N,)."""
    own, keys = colour.astype(np.uint64), []
    heard = (own[arcs.source] << np.uint64(32)) | arcs.code.astype(np.uint64)
    for salt in (FIRST, SECOND):
        keys.append(_mix(_segment_sum(_mix(heard * FIRST + salt), arcs.heard_ptr) + salt * own))
    return keys[0], keys[1]


def describe(before: IntArray, first: IntArray, arcs: SortedArcs, n_before: int) -> Round:
    """The make-up of colours, read off the first node of each; there were `n_before` in the round before."""
    rows, ptr = ranges(arcs.heard_ptr, first)
    columns = before[arcs.source[rows]].astype(np.int64) * arcs.n_labels + arcs.label[rows]
    values = np.ones(len(rows), np.float32) if arcs.weight is None else arcs.weight[rows].astype(np.float32)
    incoming = csr_matrix((values, columns, ptr), shape=(len(first), n_before * arcs.n_labels))
    incoming.sum_duplicates()
    return Round(before[first], incoming)


def _histograms(ptr: IntArray, rounds: Sequence[IntArray]) -> tuple[csr_matrix, ...]:
    """Colours per graph after each round; a round that changed nothing shares that of the round before."""
    made: list[csr_matrix] = []
    for k, colours in enumerate(rounds):
        made.append(made[-1] if k and colours is rounds[k - 1] else count_colours(ptr, colours))
    return tuple(made)


def graph_keys(ptr: IntArray, colours: IntArray) -> tuple[Hash, Hash]:
    """Two keys per graph, equal for graphs with the same multiset of colours. (G,)."""
    last = colours.astype(np.uint64)
    first, second = (_mix(_segment_sum(_mix(last * FIRST + salt), ptr)) for salt in (FIRST, SECOND))
    return first, second


def count_colours(ptr: IntArray, colours: IntArray) -> csr_matrix:
    """How many nodes of each colour every graph has. (G, C)."""
    shape = (len(ptr) - 1, int(colours.max(initial=-1)) + 1)
    counts = csr_matrix((np.ones(len(colours), np.float32), colours.copy(), ptr.copy()), shape=shape)
    counts.sum_duplicates()  # works in place, hence the copies
    return counts


def group_rows(columns: Sequence[NDArray[Any]]) -> tuple[IntArray, IntArray]:
    """Number the distinct rows of some columns in order of first appearance: codes (N,), first rows (C,)."""
    return _group(*row_keys(columns))


def row_keys(columns: Sequence[NDArray[Any]]) -> tuple[Hash, Hash]:
    """Two keys per row, equal for equal rows. (N,)."""
    keys = [np.zeros(len(columns[0]), np.uint64) for _ in range(2)]
    for column in columns:
        for values in column.reshape(len(column), math.prod(column.shape[1:])).T:
            bits = _bits(values)
            keys = [_mix(key * FIRST + bits + salt) for key, salt in zip(keys, (FIRST, SECOND), strict=True)]
    return keys[0], keys[1]


def _bits(values: NDArray[Any]) -> Hash:
    if values.dtype.kind != "f":
        return values.astype(np.int64).view(np.uint64)
    return (values.astype(np.float64) + 0.0).view(np.uint64)  # + 0.0: minus zero is zero


def _group(first_key: Hash, second_key: Hash) -> tuple[IntArray, IntArray]:
    """Codes by first appearance, and where each appears first; the second key guards against collisions."""
    codes, first = number_keys(first_key)
    if not np.array_equal(second_key[first][codes], second_key):
        codes, first = number_keys(_mix(first_key) ^ second_key)
    return codes, first


def number_keys(key: Hash) -> tuple[IntArray, IntArray]:
    """Number keys by first appearance: codes (N,), first rows (C,)."""
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


def _mix(values: Hash) -> Hash:
    """SplitMix64's finaliser: every input bit moves every output bit."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def save_colouring(colouring: Colouring, folder: str | Path) -> Path:
    """Write it; the folder appears whole or not at all. A round that changed nothing is not written again."""
    arrays: Named = {
        "node_ptr": colouring.node_ptr,
        "node_table": colouring.node_table,
        "edge_table": colouring.edge_table,
        "graph_kinds": colouring.graph_kinds,
    }
    shapes: dict[str, list[int]] = {}
    for k, (colours, counts) in enumerate(zip(colouring.node_colours, colouring.graph_counts, strict=True)):
        if not k or counts is not colouring.graph_counts[k - 1]:
            arrays[f"colours_{k}"] = colours
            arrays |= _sparse(f"counts_{k}", counts, shapes)
    for k, made in enumerate(colouring.rounds, start=1):
        if k == 1 or made is not colouring.rounds[k - 2]:
            arrays[f"parent_{k}"] = made.parent
            arrays |= _sparse(f"incoming_{k}", made.incoming, shapes)
    with replaced_folder(folder, COLOURS) as work:
        for name, values in arrays.items():
            np.save(work / f"{name}.npy", np.ascontiguousarray(values), allow_pickle=False)
        of_arrays = {name: list(values.shape) for name, values in arrays.items()}
        write_marker(work, len(colouring.rounds), shapes, of_arrays)
    return Path(folder)


def write_marker(
    work: Path, rounds: int, sparse: Mapping[str, list[int]], arrays: Mapping[str, list[int]]
) -> None:
    """Say in a file what a folder holds: how many rounds, the shapes of sparse matrices and of arrays."""
    content = {"format": FORMAT, "rounds": rounds, "sparse": dict(sparse), "arrays": dict(arrays)}
    (work / MARKER).write_text(json.dumps(content, indent=1))


def open_colouring(folder: str | Path) -> Colouring:
    """A saved Colouring; nothing is read before it is used.

    Raises:
        FileMissing: the folder, or a file in it, is not there.
        InvalidFile: a file is damaged or of another format.
    """
    folder = Path(folder)
    with described(folder / MARKER, FORMAT, "a folder of colours", AGAIN) as content:
        arrays = open_arrays(folder, content["arrays"], AGAIN)
        shapes, n_rounds = content["sparse"], content["rounds"]
        colours, counts, made = [], [], []  # type: list[Any], list[csr_matrix], list[Round]
        for k in range(n_rounds + 1):
            new = f"colours_{k}" in arrays
            colours.append(arrays[f"colours_{k}"] if new else colours[-1])
            counts.append(_opened(f"counts_{k}", arrays, shapes) if new else counts[-1])
        for k in range(1, n_rounds + 1):
            new = f"parent_{k}" in arrays
            made.append(
                Round(arrays[f"parent_{k}"], _opened(f"incoming_{k}", arrays, shapes)) if new else made[-1]
            )
        return Colouring(
            in_memory(arrays["node_ptr"]),
            tuple(colours),
            tuple(made),
            arrays["node_table"],
            np.array(arrays["edge_table"]),
            tuple(counts),
            arrays["graph_kinds"],
            folder.absolute(),
        )


def _sparse(name: str, matrix: csr_matrix, shapes: dict[str, list[int]]) -> Named:
    shapes[name] = [int(size) for size in matrix.shape]
    return {f"{name}_{part}": getattr(matrix, part) for part in ("data", "indices", "indptr")}


def _opened(name: str, arrays: Named, shapes: dict[str, list[int]]) -> csr_matrix:
    parts = tuple(arrays[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
    return csr_matrix(parts, shape=tuple(shapes[name]), copy=False)


# Weisfeiler-Lehman refinement of graphs that do not fit into memory: block by block, on disk.
#
# Colours are numbered in the order in which they first appear, as `refine` does, so the outcome is the same
# whatever the blocks. A block passes through all rounds before the next one is read; what stays in memory is
# the block, and per round one entry for every colour seen so far.


def refine_on_disk(
    graphs: GraphSet,
    rounds: int,
    folder: str | Path,
    *,
    node_features: str = "auto",
    block: int = BLOCK,
) -> Colouring:
    """`refine`, block by block, kept in a folder and opened as a memory map.

    Args:
        graphs: the graphs, as a rule a memory map.
        rounds: number of rounds, one per layer of the encoder.
        folder: where the colours go; it appears whole or not at all.
        node_features: as in `refine`.
        block: nodes and arcs at a time; a larger graph is a block of its own.
    """
    parts = list(_cut(graphs, block))
    labels = _EdgeCodes(graphs)
    for start, stop in parts if labels.columns else ():
        labels.see(graphs[start:stop])
    with replaced_folder(folder, COLOURS) as work:
        made = _Making(graphs, rounds, node_features, labels, work)
        for start, stop in parts:
            made.add(graphs[start:stop])
        made.finish()
    return open_colouring(folder)


def _cut(graphs: GraphSet, block: int) -> Iterator[tuple[int, int]]:
    """Consecutive graphs with about `block` nodes and arcs together."""
    load = graphs.node_ptr + graphs.edge_ptr
    start = 0
    while start < len(graphs):
        stop = int(np.searchsorted(load, load[start] + block, side="right")) - 1
        stop = min(max(stop, start + 1), len(graphs))
        yield start, stop
        start = stop


class Numbering:
    """Numbers for pairs of keys in the order of their first appearance, over many calls."""

    def __init__(self) -> None:
        self._sorted = np.zeros(0, np.uint64)  # first keys, and the number of each
        self._numbers = np.zeros(0, np.int64)
        self._second = np.zeros(0, np.uint64)  # second keys, by number

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, first: Hash, second: Hash) -> tuple[IntArray, IntArray]:
        """The numbers of some rows, and the rows that are the first of a new number, in its order.

        Raises:
            ArithmeticError: two different things have the same first key, which chance does not bring about.
        """
        codes, rows = number_keys(first)
        keys = first[rows]
        place = np.searchsorted(self._sorted, keys)
        near = np.minimum(place, max(len(self) - 1, 0))
        known = self._sorted[near] == keys if len(self) else np.zeros(len(keys), bool)
        numbers = np.empty(len(keys), np.int64)
        if len(self):
            numbers[known] = self._numbers[near[known]]
        new = np.flatnonzero(~known)
        numbers[new] = len(self) + np.arange(len(new))
        self._second = np.concatenate([self._second, second[rows[new]]])
        order = new[np.argsort(keys[new])]
        self._sorted = np.insert(self._sorted, place[order], keys[order])
        self._numbers = np.insert(self._numbers, place[order], numbers[order])
        found = numbers[codes]
        if not np.array_equal(self._second[found], second):
            raise ArithmeticError("two colours have the same 64-bit key: colour fewer graphs at a time")
        return found, rows[new]


class _Growing:
    """A `.npy` file that is appended to."""

    HEADER = 128

    def __init__(self, path: Path, dtype: Any) -> None:
        self._dtype, self._rows, self._width = np.dtype(dtype), 0, None  # type: np.dtype[Any], int, int | None
        self._file = path.open("wb")
        self._file.write(b"\0" * self.HEADER)

    def append(self, values: NDArray[Any]) -> None:
        """Rows at the end."""
        self._width = values.shape[1] if values.ndim == 2 else None
        self._rows += len(values)
        self._file.write(np.ascontiguousarray(values, self._dtype).data)

    def close(self) -> list[int]:
        """Complete the file; gives its shape."""
        shape = (self._rows,) if self._width is None else (self._rows, self._width)
        text = str(
            {"descr": np.lib.format.dtype_to_descr(self._dtype), "fortran_order": False, "shape": shape}
        )
        magic = np.lib.format.magic(1, 0)
        room = self.HEADER - len(magic) - 2
        self._file.seek(0)
        self._file.write(magic + room.to_bytes(2, "little") + text.ljust(room - 1).encode() + b"\n")
        self._file.close()
        return list(shape)


class _Rows:
    """A sparse matrix that grows by rows, as three files."""

    def __init__(self, work: Path, name: str, index: type[np.integer[Any]]) -> None:
        self.name, self._entries = name, 0
        kinds = {"data": np.float32, "indices": index, "indptr": index}
        self._files = {part: _Growing(work / f"{name}_{part}.npy", kind) for part, kind in kinds.items()}
        self._files["indptr"].append(np.zeros(1))

    def append(self, matrix: csr_matrix) -> None:
        """More rows."""
        self._files["data"].append(matrix.data)
        self._files["indices"].append(matrix.indices)
        self._files["indptr"].append(matrix.indptr[1:].astype(np.int64) + self._entries)
        self._entries += matrix.nnz

    def close(self) -> dict[str, list[int]]:
        """Complete the files; gives their shapes."""
        return {f"{self.name}_{part}": file.close() for part, file in self._files.items()}


@dataclass
class _EdgeCodes:
    """Codes of edges: by features, and by features and weight, over all blocks."""

    graphs: GraphSet
    by_features: Numbering = field(default_factory=Numbering)
    by_weight: Numbering = field(default_factory=Numbering)
    rows: list[NDArray[np.float32]] = field(default_factory=list)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The edge columns that encoders see."""
        return self.graphs.schema.features("edge")

    @property
    def table(self) -> NDArray[np.float32]:
        """(L, F_e) the encoder's input of every code."""
        if not self.rows:
            return np.zeros((1, edge_width(self.graphs.schema)), np.float32)
        return np.concatenate(self.rows)

    def see(self, graphs: GraphSet) -> None:
        """Number the edges of a block by their features."""
        self._labels(graphs, np.argsort(graphs.edge_index[1], kind="stable"))

    def arcs(self, graphs: GraphSet) -> SortedArcs:
        """The arcs of a block, sorted by target."""
        order = np.argsort(graphs.edge_index[1], kind="stable")
        source, target = graphs.edge_index[:, order].astype(np.int64)
        heard_ptr = np.searchsorted(target, np.arange(graphs.n_nodes + 1))
        label, weight = self._labels(graphs, order), arc_weights(graphs, order)
        code = label
        if weight is not None:
            code, _ = self.by_weight.number(*row_keys([label, weight]))
        return SortedArcs(source, heard_ptr, code, label, max(1, len(self.by_features)), weight)

    def _labels(self, graphs: GraphSet, order: IntArray) -> IntArray:
        if not self.columns or not len(order):
            return np.zeros(len(order), np.int64)
        values = [np.asarray(graphs.edge[column.name])[order] for column in self.columns]
        code, first = self.by_features.number(*row_keys(values))
        if len(first):
            self.rows.append(_encoded(self.columns, values, first))
        return code


def _encoded(columns: tuple[Column, ...], values: list[NDArray[Any]], rows: IntArray) -> NDArray[np.float32]:
    return np.hstack([column.encode(v[rows]) for column, v in zip(columns, values, strict=True)])


class _Making:
    """All files of a Colouring, as they grow."""

    def __init__(
        self, graphs: GraphSet, rounds: int, node_features: str, labels: _EdgeCodes, work: Path
    ) -> None:
        self.graphs, self.rounds, self.features, self.labels = graphs, rounds, node_features, labels
        self.work = work
        n_labels = max(1, len(labels.by_features))
        most = max(graphs.n_nodes * n_labels, graphs.n_edges)
        wide: type[np.integer[Any]] = np.int32 if most < SMALL else np.int64
        narrow: type[np.integer[Any]] = np.int32 if graphs.n_nodes < SMALL else np.int64
        self.numbers = [Numbering() for _ in range(rounds + 1)]
        self.kinds = Numbering()
        self.table = _Growing(work / "node_table.npy", np.float32)
        self.of_graphs = _Growing(work / "graph_kinds.npy", np.int32)
        self.colours = [_Growing(work / f"colours_{k}.npy", np.int32) for k in range(rounds + 1)]
        self.counts = [_Rows(work, f"counts_{k}", narrow) for k in range(rounds + 1)]
        self.parents = [_Growing(work / f"parent_{k}.npy", np.int32) for k in range(1, rounds + 1)]
        self.incoming = [_Rows(work, f"incoming_{k}", wide) for k in range(1, rounds + 1)]

    def add(self, block: GraphSet) -> None:
        """Colour some more graphs."""
        colour = self._start(block)
        self._keep(0, block, colour)
        arcs = self.labels.arcs(block)
        for k in range(1, self.rounds + 1):
            colour = self._refine(k, colour, arcs)
            self._keep(k, block, colour)
        keys = graph_keys(block.node_ptr, colour)
        self.of_graphs.append(self.kinds.number(*keys)[0])

    def _start(self, block: GraphSet) -> IntArray:
        """The colours before the first round."""
        columns = self.graphs.schema.features("node")
        if self.features == "degree":
            values = [np.bincount(block.edge_index[1], minlength=block.n_nodes)]
            colour, first = self.numbers[0].number(*row_keys(values))
            self.table.append(np.log1p(values[0][first]).astype(np.float32)[:, None])
        elif self.features == "constant" or not columns:
            colour, first = self.numbers[0].number(*row_keys([np.zeros(block.n_nodes, np.int64)]))
            self.table.append(np.ones((len(first), 1), np.float32))
        else:
            values = [np.asarray(block.node[column.name]) for column in columns]
            colour, first = self.numbers[0].number(*row_keys(values))
            self.table.append(_encoded(columns, values, first))
        return colour

    def _refine(self, k: int, before: IntArray, arcs: SortedArcs) -> IntArray:
        colour, first = self.numbers[k].number(*heard_keys(before, arcs))
        made = describe(before, first, arcs, len(self.numbers[k - 1]))
        self.parents[k - 1].append(made.parent)
        self.incoming[k - 1].append(made.incoming)
        return colour

    def _keep(self, k: int, block: GraphSet, colour: IntArray) -> None:
        self.colours[k].append(colour)
        self.counts[k].append(count_colours(block.node_ptr, colour))

    def finish(self) -> None:
        """Complete all files; rounds that only repeat the one before are left out."""
        shapes = {"node_table": self.table.close(), "graph_kinds": self.of_graphs.close()}
        sizes = [len(numbers) for numbers in self.numbers]
        sparse: dict[str, list[int]] = {}
        n_labels = max(1, len(self.labels.by_features))
        stable = next((k for k in range(1, self.rounds + 1) if sizes[k] == sizes[k - 1]), self.rounds)
        for k in range(self.rounds + 1):
            written = {f"colours_{k}": self.colours[k].close(), **self.counts[k].close()}
            if k:
                written |= {f"parent_{k}": self.parents[k - 1].close(), **self.incoming[k - 1].close()}
            if k > stable:
                for name in written:
                    (self.work / f"{name}.npy").unlink()
                continue
            shapes |= written
            sparse[f"counts_{k}"] = [len(self.graphs), sizes[k]]
            if k:
                sparse[f"incoming_{k}"] = [sizes[k], sizes[k - 1] * n_labels]
        for name, values in (("node_ptr", self.graphs.node_ptr), ("edge_table", self.labels.table)):
            np.save(self.work / f"{name}.npy", values, allow_pickle=False)
            shapes[name] = list(values.shape)
        write_marker(self.work, self.rounds, sparse, shapes)
