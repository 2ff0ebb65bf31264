"""One shard, whole: read, embedded and written. The same for this process, for others, and for Ray."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.contract import load
from infograph.data.graphset import GraphSet, Rejected
from infograph.errors import InvalidFile, InvalidGraph
from infograph.learn.predictions import check_embeds
from infograph.scale.block import Block
from infograph.scale.blocks import read_blocks
from infograph.scale.job import Job
from infograph.scale.records import Record, begun, make_record, write_record
from infograph.scale.shards import Shard, shard_at
from infograph.scale.streams import column_types
from infograph.scale.writing import shard_files

Rows = Callable[[int], None]
NOT_FINITE = "its vector is not finite: a feature is far outside what the model was trained on"


class Embedder:
    """A job with its model in memory.

    Raises:
        FileMissing, InvalidFile: the model cannot be read.
        InvalidParameter: it has no vectors.
    """

    def __init__(self, job: Job) -> None:
        self.job, self.model = job, load(job.model)
        check_embeds(self.model)
        self.dim = len(self.model.get_feature_names_out())
        self.options = job.options(self.model.schema_)
        self._nan = "errors" in inspect.signature(self.model.transform).parameters

    def embed(self, shard: Shard, on_rows: Rows = lambda rows: None) -> Record:
        """Write the vectors of a shard, its rejected rows and its record, and give the record.

        The entry "warnings" of what comes back, which is not in the file, has what readers had to say.

        Args:
            shard: the shard; what there is of it in the folder is replaced.
            on_rows: called after every block with the number of rows so far.

        Raises:
            InvalidFile: the shard is damaged, or was changed meanwhile.
            InvalidGraph: with errors="raise", at the first row that cannot be embedded.
            OSError: the files cannot be written.
        """
        began, job = time.perf_counter(), self.job
        with begun(job, shard):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                with shard_files(job, shard.name, self.dim) as files:
                    for block in read_blocks(shard, job.block, self.options, job.columns):
                        files.add(block, *self._vectors(block, shard))
                        on_rows(files.rows)
                    if not files.rows:
                        files.nothing(column_types(shard, self.options, job.columns))
                    _check_unchanged(shard)
            embedded, seconds = files.rows - files.rejected, time.perf_counter() - began
            record = make_record(
                job,
                shard,
                rows=files.rows,
                embedded=embedded,
                rejected=files.rejected,
                dim=self.dim,
                seconds=seconds,
            )
            write_record(job, record)
        return {**record, "warnings": list(dict.fromkeys(str(each.message) for each in said))[:3]}

    def _vectors(self, block: Block, shard: Shard) -> tuple[NDArray[np.float32], tuple[Rejected, ...]]:
        """Vectors of all rows of a block (R, dim), NaN where there is none, and the rows that have none."""
        vectors = np.full((len(block), self.dim), np.nan, np.float32)
        rejected = block.rejected
        if block.graphs is not None:
            made = self._transform(block.graphs)
            vectors[block.rows] = made
            bad = block.rows[~np.isfinite(made).all(axis=1)].tolist()
            rejected += tuple(
                Rejected(row, block.ids[row], f"row {block.start + row + 1}: {NOT_FINITE}") for row in bad
            )
            vectors[bad] = np.nan
        rejected = tuple(sorted(rejected, key=lambda each: each.index))
        if rejected and self.job.errors == "raise":
            first = rejected[0]
            raise InvalidGraph(
                f"{shard.path}, {first.problem}", index=block.start + first.index, graph_id=first.graph_id
            )
        return vectors, rejected

    def _transform(self, graphs: GraphSet) -> NDArray[np.float32]:
        """One row per graph; not finite where a graph has no vector."""
        more: dict[str, Any] = {"errors": "nan"} if self._nan else {}
        try:
            found = self.model.transform(graphs, **more)
        except InvalidGraph as error:  # of models that refuse all graphs for one: compute the others
            if error.index is None or len(graphs) == 1:
                return np.full((len(graphs), self.dim), np.nan, np.float32)
            others = np.delete(np.arange(len(graphs)), error.index)
            vectors = np.full((len(graphs), self.dim), np.nan, np.float32)
            vectors[others] = self._transform(graphs[others])
            return vectors
        dense = found.toarray() if hasattr(found, "toarray") else found
        return np.asarray(dense, np.float32)


def _check_unchanged(shard: Shard) -> None:
    if not Path(shard.path).exists() or shard_at(shard.name, Path(shard.path)) != shard:
        raise InvalidFile(f"{shard.path} was changed while it was read: run the job again")
