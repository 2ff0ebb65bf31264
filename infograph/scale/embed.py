"""Vectors of many files of graphs, shard by shard: restartable, every row accounted for.

A shard is the unit that appears whole or not at all, that a record stands for, and that is done again after a
fault. A worker, wherever it is, holds the model and embeds one whole shard per call, by the function that the
run in one process uses. On a cluster, the model, the shards and the folder of the vectors must be under the
same path on every machine.
"""

from __future__ import annotations

import csv
import errno
import inspect
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from infograph.data.graphset import GraphSet, Rejected
from infograph.data.read import ReadOptions
from infograph.data.tables import Block, Shard, column_types, read_blocks
from infograph.data.vectors import PROBLEM
from infograph.errors import (
    InfoGraphError,
    InvalidFile,
    InvalidGraph,
    InvalidParameter,
    JobStopped,
    MissingExtra,
)
from infograph.estimators.base import check_embeds, load
from infograph.io import LOCK, check_folder, check_outputs, locked, replaced_file
from infograph.jobs import Lost, run
from infograph.progress import ShardProgress
from infograph.scale.shards import (
    BLOCK,
    BadRows,
    Inputs,
    Job,
    Record,
    begun,
    check_records,
    find_shards,
    is_finished,
    make_record,
    read_records,
    rejected_of,
    shard_at,
    sweep,
    vectors_of,
    write_record,
)

MAX_WARNINGS = 5  # of readers that are passed on; thousands of shards have the same to say
NOT_FINITE = "its vector is not finite: a feature is far outside what the model was trained on"
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
Rows = Callable[[int], None]


@dataclass(frozen=True)
class Failure:
    """A shard that could not be embedded."""

    shard: str
    path: str
    problem: str


@dataclass(frozen=True)
class Report:
    """What came of a job. Of all finished shards, rows = embedded + rejected.

    Attributes:
        out: the folder.
        shards: in all.
        skipped: that were finished before.
        failed: that could not be embedded; a restart tries them again.
        rows, embedded, rejected: rows of all finished shards, of earlier runs too.
        done: rows of the shards that were finished in this run.
        dim: length of the vectors; 0 where no shard is finished.
        seconds: of this run.
    """

    out: str
    shards: int
    skipped: int
    failed: tuple[Failure, ...]
    rows: int
    embedded: int
    rejected: int
    done: int
    dim: int
    seconds: float

    @property
    def complete(self) -> bool:
        """Whether every shard is finished."""
        return not self.failed


def embed_shards(
    model: str | Path,
    inputs: Inputs,
    out: str | Path,
    *,
    workers: int = 1,
    on: str = "local",
    block: int = BLOCK,
    columns: Sequence[str] | None = (),
    errors: BadRows = "skip",
    reading: ReadOptions | None = None,
    progress: Callable[[ShardProgress], None] | None = None,
) -> Report:
    """Embed every shard of `inputs` into a Parquet file of its own under `out`.

        embed_shards("model", "shards/*.parquet", "vectors", workers=8)

    Files have the columns `id` (texts, see `infograph.data.tables`), the columns asked for, and `vector`;
    rows keep their order. Columns of Parquet keep their types, those of text files are texts. A row that
    cannot be embedded is listed in `out/_rejected` with its place and reason. A shard's file appears when it
    is whole. Called again, after a kill or with more files, finished shards are skipped.

    Args:
        model: a saved model.
        inputs: a pattern, a folder, or a list of files; `infograph.scale.shards` has the rules. Parquet,
            CSV, TSV and `.smi` are streamed, other kinds of files are read whole.
        out: the folder of the vectors.
        workers: shards at a time; 1 works in this process.
        on: "local", "ray", or the address of a Ray cluster (`infograph.jobs.connect`).
        block: rows in memory at a time.
        columns: columns of the inputs to write beside the vectors; None for all of them.
        errors: "skip" leaves a bad row out of the vectors; "nan" keeps its place, with a vector of NaN and
            the column `problem`; "raise" stops at the first one. A shard that cannot be read fails, and the
            others go on, unless this is "raise".
        reading: how shards are read: `smiles`, `id`, `hydrogens`, ... The model's own way otherwise.
        progress: called after every block, and with several workers after every shard.

    Raises:
        FileMissing: there is no such model, or no shard.
        InvalidGraph: with errors="raise", names the file and the place of a bad row.
        InvalidParameter: `out` holds vectors of another model or of other settings.
        JobStopped: another job writes to `out`, the disk is full, or a cluster cannot be reached; finished
            shards stay.
    """
    if workers < 1:
        raise InvalidParameter(f"workers={workers}: expected at least one")
    job = Job.of(model, out, columns=columns, errors=errors, block=block, reading=reading)
    shards = find_shards(inputs)
    given = [inputs] if isinstance(inputs, str | Path) else inputs
    check_outputs([model, *given, *(shard.path for shard in shards)], job.out)
    check_folder(job.out)
    names = [shard.name for shard in shards]
    began = time.perf_counter()
    busy = f"{job.out} is in use: another job writes to it; wait for that job, or choose another folder"
    with locked(Path(job.out) / LOCK, busy):
        sweep(job.out, names)
        records = read_records(job.out)
        check_records(job, shards, records)
        to_do = [shard for shard in shards if not is_finished(job, shard, records.get(shard.name))]
        made, failures = _embed_all(job, to_do, workers, on, progress)
        sweep(job.out, names)  # what lost workers left behind
    failed = {failure.shard for failure in failures}
    finished = [made.get(name) or records[name] for name in names if name not in failed]
    return Report(
        out=job.out,
        shards=len(shards),
        skipped=len(shards) - len(to_do),
        failed=tuple(failures),
        rows=sum(record["rows"] for record in finished),
        embedded=sum(record["embedded"] for record in finished),
        rejected=sum(record["rejected"] for record in finished),
        done=sum(record["rows"] for record in made.values()),
        dim=max((record["dim"] for record in finished), default=0),
        seconds=time.perf_counter() - began,
    )


def _embed_all(
    job: Job, shards: Sequence[Shard], workers: int, on: str, progress: Callable[[ShardProgress], None] | None
) -> tuple[dict[str, Record], list[Failure]]:
    """The records of the shards that are finished now, and the others."""
    made: dict[str, Record] = {}
    failures: list[Failure] = []
    n_warnings, done, total = 0, 0, sum(shard.size for shard in shards) or 1

    def tell(rows: int = 0) -> None:
        if progress is not None:
            rows += sum(record["rows"] for record in made.values())
            progress(ShardProgress(rows, len(made) + len(failures), len(shards), done / total))

    if not shards:
        return made, failures
    if workers == 1 and on == "local":
        embed: Callable[[Shard], Record | str] = partial(
            _attempt, Embedder(job, load(job.model)), on_rows=tell
        )
    else:
        embed = partial(_attempt_there, job)
    for shard, outcome in run(embed, shards, workers=workers, on=on):
        done += shard.size
        if isinstance(outcome, Lost):
            outcome = f"{outcome.reason}: if memory ran out, take a smaller block or fewer workers"
        if isinstance(outcome, str):
            failures.append(Failure(shard.name, shard.path, outcome))
        else:
            messages = outcome.pop("warnings")
            made[shard.name] = outcome
            for message in messages[: MAX_WARNINGS - n_warnings]:
                n_warnings += 1
                warnings.warn(f"{shard.path}: {message}", stacklevel=3)
        tell()
    return made, failures


def _attempt_there(job: Job, shard: Shard) -> Record | str:
    """The same in a worker, which keeps the model between its shards."""
    import torch

    torch.set_num_threads(1)
    return _attempt(Embedder(job, _kept_model(job.model, job.checksum)), shard)


@lru_cache(maxsize=1)
def _kept_model(folder: str, checksum: str) -> Any:
    return load(folder)


def _attempt(embedder: Embedder, shard: Shard, on_rows: Rows = lambda rows: None) -> Record | str:
    """The record of a shard, or why it has none; what other shards would meet as well is raised."""
    job = embedder.job
    try:
        return embedder.embed(shard, on_rows)
    except Exception as error:
        reason = _reason(error)
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise JobStopped(
                f"{job.out} cannot be written to ({reason}): make room and run the same command again; "
                f"finished shards stay"
            ) from error
        if isinstance(error, MissingExtra) or (isinstance(error, InfoGraphError) and job.errors == "raise"):
            raise
        if job.errors == "raise":
            raise JobStopped(reason) from error
        return reason


def _reason(error: Exception) -> str:
    if isinstance(error, MemoryError):
        reason = "not enough memory: take a smaller block, or cut the shard"
    elif isinstance(error, InfoGraphError):
        reason = str(error)
    elif isinstance(error, OSError):
        reason = f"{error.filename}: " * bool(error.filename) + (error.strerror or str(error))
    else:
        reason = f"{type(error).__name__}: {error}"
    return " ".join(reason.split())


class Embedder:
    """A job with its model in memory."""

    def __init__(self, job: Job, model: Any) -> None:
        check_embeds(model)
        self.job, self.model = job, model
        self.dim = len(model.get_feature_names_out())
        self.options = job.options(model.schema_)
        self._errors = {"errors": "nan"} if "errors" in inspect.signature(model.transform).parameters else {}

    def embed(self, shard: Shard, on_rows: Rows) -> Record:
        """Write the vectors of a shard, its rejected rows and its record, and give the record.

        The entry "warnings" of what comes back, which is not in the file, has what readers had to say.

        Args:
            shard: the shard; what there is of it in the folder is replaced.
            on_rows: called after every block with the number of rows so far.
        """
        job, began = self.job, time.perf_counter()
        listed = rejected_of(job.out, shard.name)
        with begun(job, shard):
            with (
                warnings.catch_warnings(record=True) as said,
                replaced_file(vectors_of(job.out, shard.name)) as work,
                replaced_file(listed) as listed_work,
            ):
                warnings.simplefilter("always")
                rows, rejected = self._write(shard, work, listed_work, on_rows)
                if not Path(shard.path).exists() or shard_at(shard.name, Path(shard.path)) != shard:
                    raise InvalidFile(f"{shard.path} was changed while it was read: run the job again")
                for path in (work, listed_work):
                    with path.open("rb") as file:
                        os.fsync(file.fileno())  # before its name says that it is whole: the power may fail
            if not rejected:
                listed.unlink()
            record = make_record(job, shard, rows, rejected, self.dim, time.perf_counter() - began)
            write_record(job, record)
        return {**record, "warnings": list(dict.fromkeys(str(each.message) for each in said))[:3]}

    def _write(self, shard: Shard, work: Path, listed_work: Path, on_rows: Rows) -> tuple[int, int]:
        """Write both files, and give how many rows the shard has and how many of them are rejected."""
        import pyarrow.parquet as parquet

        rows = n_rejected = 0
        with listed_work.open("w", encoding="utf-8", newline="") as file, ExitStack() as opened:
            listed, writer = csv.writer(file), None
            listed.writerow(("row", "id", PROBLEM))
            for block in self._blocks(shard):
                vectors, rejected = self._vectors(block, shard)
                table = self._table(block, vectors, rejected)
                if writer is None:
                    texts = [name for name in table.schema.names if name != "vector"]
                    # a dictionary of floats that never repeat would only take time
                    writer = opened.enter_context(
                        parquet.ParquetWriter(work, table.schema, use_dictionary=texts)
                    )
                writer.write_table(table)
                listed.writerows([block.start + bad.index, bad.graph_id, bad.problem] for bad in rejected)
                rows, n_rejected = rows + len(block), n_rejected + len(rejected)
                on_rows(rows)
        written = parquet.read_metadata(work).num_rows
        expected = rows if self.job.errors == "nan" else rows - n_rejected
        if written != expected:
            raise RuntimeError(f"{written} rows were written to {work.name}, expected {expected}")
        return rows, n_rejected

    def _blocks(self, shard: Shard) -> Iterator[Block]:
        """The blocks of a shard; an empty one with its columns where it has no rows."""
        import pyarrow as pa

        block = None
        for block in read_blocks(shard, self.job.block, self.options, self.job.columns):
            yield block
        if block is None:
            columns = column_types(shard, self.options, self.job.columns)
            empty = {field.name: pa.array([], field.type) for field in columns}
            yield Block(0, [], empty, None, ())

    def _vectors(self, block: Block, shard: Shard) -> tuple[NDArray[np.float32], list[Rejected]]:
        """Vectors of all rows of a block (R, dim), NaN where there is none, and the rows that have none."""
        vectors = np.full((len(block), self.dim), np.nan, np.float32)
        rejected = list(block.rejected)
        if block.graphs is not None:
            made = self._transform(block.graphs)
            made[~np.isfinite(made).all(axis=1)] = np.nan
            vectors[block.rows] = made
            for row in block.rows[np.isnan(made[:, 0])].tolist():
                rejected.append(Rejected(row, block.ids[row], f"row {block.start + row + 1}: {NOT_FINITE}"))
        rejected.sort(key=lambda bad: bad.index)
        if rejected and self.job.errors == "raise":
            first = rejected[0]
            raise InvalidGraph(
                f"{shard.path}, {first.problem}", index=block.start + first.index, graph_id=first.graph_id
            )
        return vectors, rejected

    def _transform(self, graphs: GraphSet) -> NDArray[np.float32]:
        """One row per graph; not finite where a graph has no vector."""
        try:
            found = self.model.transform(graphs, **self._errors)
        except InvalidGraph as error:  # of models that refuse all graphs for one: compute the others
            vectors = np.full((len(graphs), self.dim), np.nan, np.float32)
            if error.index is not None and len(graphs) > 1:
                others = np.delete(np.arange(len(graphs)), error.index)
                vectors[others] = self._transform(graphs[others])
            return vectors
        return np.array(found.toarray() if hasattr(found, "toarray") else found, np.float32)

    def _table(self, block: Block, vectors: NDArray[np.float32], rejected: Sequence[Rejected]) -> Any:
        import pyarrow as pa

        columns = {"id": pa.array(block.ids, pa.string()), **block.columns}
        if self.job.errors == "nan":
            problems = {bad.index: bad.problem for bad in rejected}
            columns[PROBLEM] = pa.array([problems.get(row) for row in range(len(block))], pa.string())
        columns["vector"] = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), self.dim)
        table = pa.table(columns)
        if self.job.errors == "nan" or not rejected:
            return table
        keep = np.ones(len(block), bool)
        keep[[bad.index for bad in rejected]] = False
        return table.filter(pa.array(keep))
