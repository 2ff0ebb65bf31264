"""The files of one shard, block by block; they appear when all of it is written."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.embeddings import PROBLEM
from infograph.data.graphset import Rejected
from infograph.data.storage import replaced_file
from infograph.scale.block import Block
from infograph.scale.job import Job
from infograph.scale.places import rejected_of, vectors_of

HEADER = ("row", "id", PROBLEM)


@dataclass
class ShardFiles:
    """Takes blocks with their vectors; counts what it was given.

    Attributes:
        rows: rows of the shard so far.
        rejected: how many of them have no vector.
    """

    dim: int
    keep_places: bool
    _vectors: Path
    _listed: Any
    rows: int = 0
    rejected: int = 0
    _writer: Any = field(default=None, repr=False)

    def add(self, block: Block, vectors: NDArray[np.float32], rejected: tuple[Rejected, ...]) -> None:
        """A block: the vectors (R, dim) of all its rows, and which of them are rejected."""
        for each in rejected:
            self._listed.writerow([block.start + each.index, each.graph_id, each.problem])
        table = self._table(block, vectors, rejected)
        self._open(table.schema)
        self._writer.write_table(table)
        self.rows += len(block)
        self.rejected += len(rejected)

    def nothing(self, columns: Any) -> None:
        """The shard has no rows: an empty file with its columns (an Arrow schema)."""
        import pyarrow as pa

        empty = Block(0, [], {f.name: pa.array([], f.type) for f in columns}, None, np.zeros(0, np.int64), ())
        self.add(empty, np.zeros((0, self.dim), np.float32), ())

    def _open(self, schema: Any) -> None:
        import pyarrow.parquet as parquet

        if self._writer is None:
            texts = [name for name in schema.names if name != "vector"]
            # a dictionary of floats that never repeat would only take time
            self._writer = parquet.ParquetWriter(self._vectors, schema, use_dictionary=texts)

    def _table(self, block: Block, vectors: NDArray[np.float32], rejected: tuple[Rejected, ...]) -> Any:
        import pyarrow as pa

        columns = {"id": pa.array(block.ids, pa.string()), **block.columns}
        if self.keep_places:
            problems: list[str | None] = [None] * len(block)
            for each in rejected:
                problems[each.index] = each.problem
            columns[PROBLEM] = pa.array(problems, pa.string())
        flat = pa.array(np.ascontiguousarray(vectors, np.float32).ravel())
        columns["vector"] = pa.FixedSizeListArray.from_arrays(flat, self.dim)
        table = pa.table(columns)
        if self.keep_places or not rejected:
            return table
        keep = np.ones(len(block), bool)
        keep[[each.index for each in rejected]] = False
        return table.filter(pa.array(keep))

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def _check(self) -> None:
        """Count the rows that are in the file, by its own account."""
        import pyarrow.parquet as parquet

        written = parquet.read_metadata(self._vectors).num_rows
        expected = self.rows if self.keep_places else self.rows - self.rejected
        if written != expected:
            raise RuntimeError(f"{written} rows were written to {self._vectors.name}, expected {expected}")


@contextmanager
def shard_files(job: Job, name: str, dim: int) -> Iterator[ShardFiles]:
    """The files of a shard; they take their places once the block is through without an error."""
    listed, vectors = rejected_of(job.out, name), vectors_of(job.out, name)
    with replaced_file(vectors) as work, replaced_file(listed) as list_work:
        with list_work.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(HEADER)
            files = ShardFiles(dim, job.errors == "nan", work, writer)
            try:
                yield files
                files._close()
            except BaseException:
                with suppress(Exception):  # the first error is the one to tell
                    files._close()
                raise
            files._check()
        _flush_to_disk(work)
        _flush_to_disk(list_work)
    if not files.rejected:
        listed.unlink()


def _flush_to_disk(path: Path) -> None:
    """Have the system write a file before its name says that it is whole, should the power fail."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
