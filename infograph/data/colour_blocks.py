"""Weisfeiler-Lehman refinement of graphs that do not fit into memory: block by block, on disk.

Colours are numbered in the order in which they first appear, as `refine` does, so the outcome is the same
whatever the blocks. A block passes through all rounds before the next one is read; what stays in memory is
the block, and per round one entry for every colour seen so far.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from infograph.data import colours as wl
from infograph.data.colour_files import COLOURS, open_colouring, write_marker
from infograph.data.colours import Colouring, Hash
from infograph.data.graphset import GraphSet, IntArray
from infograph.data.schema import Column
from infograph.data.storage import replaced_folder

BLOCK = 2_000_000  # nodes and arcs in memory at a time: some 300 MB while they are sorted and hashed
SMALL = 2**31  # what is less needs four bytes


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
        codes, rows = wl.number_keys(first)
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
            return np.zeros((1, wl.edge_width(self.graphs.schema)), np.float32)
        return np.concatenate(self.rows)

    def see(self, graphs: GraphSet) -> None:
        """Number the edges of a block by their features."""
        self._labels(graphs, np.argsort(graphs.edge_index[1], kind="stable"))

    def arcs(self, graphs: GraphSet) -> wl.SortedArcs:
        """The arcs of a block, sorted by target."""
        order = np.argsort(graphs.edge_index[1], kind="stable")
        source, target = graphs.edge_index[:, order].astype(np.int64)
        heard_ptr = np.searchsorted(target, np.arange(graphs.n_nodes + 1))
        label, weight = self._labels(graphs, order), wl.arc_weights(graphs, order)
        code = label
        if weight is not None:
            code, _ = self.by_weight.number(*wl.row_keys([label, weight]))
        return wl.SortedArcs(source, heard_ptr, code, label, max(1, len(self.by_features)), weight)

    def _labels(self, graphs: GraphSet, order: IntArray) -> IntArray:
        if not self.columns or not len(order):
            return np.zeros(len(order), np.int64)
        values = [np.asarray(graphs.edge[column.name])[order] for column in self.columns]
        code, first = self.by_features.number(*wl.row_keys(values))
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
        keys = wl.graph_keys(block.node_ptr, colour)
        self.of_graphs.append(self.kinds.number(*keys)[0])

    def _start(self, block: GraphSet) -> IntArray:
        """The colours before the first round."""
        columns = self.graphs.schema.features("node")
        if self.features == "degree":
            values = [np.bincount(block.edge_index[1], minlength=block.n_nodes)]
            colour, first = self.numbers[0].number(*wl.row_keys(values))
            self.table.append(np.log1p(values[0][first]).astype(np.float32)[:, None])
        elif self.features == "constant" or not columns:
            colour, first = self.numbers[0].number(*wl.row_keys([np.zeros(block.n_nodes, np.int64)]))
            self.table.append(np.ones((len(first), 1), np.float32))
        else:
            values = [np.asarray(block.node[column.name]) for column in columns]
            colour, first = self.numbers[0].number(*wl.row_keys(values))
            self.table.append(_encoded(columns, values, first))
        return colour

    def _refine(self, k: int, before: IntArray, arcs: wl.SortedArcs) -> IntArray:
        colour, first = self.numbers[k].number(*wl.heard_keys(before, arcs))
        made = wl.describe(before, first, arcs, len(self.numbers[k - 1]))
        self.parents[k - 1].append(made.parent)
        self.incoming[k - 1].append(made.incoming)
        return colour

    def _keep(self, k: int, block: GraphSet, colour: IntArray) -> None:
        self.colours[k].append(colour)
        self.counts[k].append(wl.count_colours(block.node_ptr, colour))

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
