"""Vectors of many files of graphs, shard by shard: restartable, every row accounted for.

A shard is the unit that appears whole or not at all, that a record stands for, and that is done again after a
fault. A worker, wherever it is, holds the model and embeds one whole shard per call, by the function that the
run in one process uses. On a cluster, the model, the shards and the folder of the vectors must be under the
same path on every machine.

    out/_rejected/<shard>.csv       rows that could not be embedded; only where there are any
    out/_shards/<shard>.json        the record of the shard: settings, counts, size of its vectors
    out/<shard>.parquet             vectors; they appear last, and with them the shard is finished

Names that begin with "_" or "." are no data to Arrow, Spark and pandas, so `pandas.read_parquet(out)` reads
the vectors of all shards.
"""

from __future__ import annotations

import csv
import errno
import hashlib
import inspect
import json
import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa

from infograph.data.graphset import GraphSet
from infograph.data.read import ReadOptions
from infograph.data.vectors import PROBLEM, check_names
from infograph.errors import (
    DiskFull,
    InfoGraphError,
    InvalidFile,
    InvalidGraph,
    InvalidParameter,
    JobStopped,
    MissingExtra,
)
from infograph.estimators.base import BadRows, check_embeds, load
from infograph.estimators.folder import model_folder, read_config
from infograph.io import LOCK, check_folder, check_outputs, json_ready, locked, read_json, replaced_file
from infograph.jobs import Lost, run
from infograph.progress import ShardProgress
from infograph.scale.shards import (
    BLOCK,
    Block,
    Inputs,
    Shard,
    column_types,
    find_shards,
    read_blocks,
    shard_at,
)

FORMAT = "infograph-shard-1"
NOT_FINITE = "its vector is not finite: a feature is far outside what the model was trained on"
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
READ = ("smiles", "id", "node", "edge", "weight", "directed", "hydrogens", "stereo", "salts")
MAX_WARNINGS = 5  # of readers that are passed on; thousands of shards have the same to say
Rows = Callable[[int], None]
Record = dict[str, Any]


@dataclass(frozen=True)
class Failure:
    """A shard that could not be embedded."""

    shard: str
    path: str
    problem: str


@dataclass(frozen=True)
class Report:
    """What came of a job."""

    out: str
    shards: int  # in all
    skipped: int  # that were finished before
    failed: tuple[Failure, ...]  # a restart tries them again
    rows: int  # of all finished shards, of earlier runs too: embedded + rejected
    embedded: int
    rejected: int
    done: int  # rows of the shards that were finished in this run
    dim: int  # length of the vectors; 0 where no shard is finished
    seconds: float  # of this run

    @property
    def complete(self) -> bool:
        """Whether every shard is finished."""
        return not self.failed


@dataclass(frozen=True)
class Job:
    """What every worker has to know."""

    model: str
    out: str
    errors: BadRows
    block: int
    columns: tuple[str, ...] | None
    reading: dict[str, Any]  # options of `ReadOptions`
    settings: dict[str, Any]  # what the vectors depend on


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

    Files have the columns `id` (texts, see `infograph.scale.shards`), the columns asked for, and `vector`;
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
    if workers < 1 or block < 1:
        raise InvalidParameter(f"workers={workers}, block={block}: expected at least one")
    job, shards = _job(model, out, errors, block, columns, reading or ReadOptions()), find_shards(inputs)
    folder, paths = job.out, [Path(shard.path) for shard in shards]
    check_outputs([job.model, *([inputs] if isinstance(inputs, str | Path) else inputs), *paths], folder)
    above = Path(folder).resolve().parents
    around = next((path for path in paths if path.is_dir() and path.resolve() in above), None)
    if around is not None:  # it would change while it is read
        raise InvalidParameter(f"{folder} is in {around}, which is read here: choose another folder")
    check_folder(folder)
    began = time.perf_counter()
    busy = f"{folder} is in use: another job writes to it; wait for that job, or choose another folder"
    with locked(Path(folder) / LOCK, busy):
        sweep(folder, shards)
        records = read_records(folder)
        check_records(folder, job.settings, shards, records)
        to_do = [shard for shard in shards if not is_finished(folder, shard, records.get(shard.name))]
        made, failures = _embed_all(job, to_do, workers, on, progress)
        sweep(folder, shards)  # what lost workers left behind
    failed = {failure.shard for failure in failures}
    finished = [made.get(each.name) or records[each.name] for each in shards if each.name not in failed]
    return Report(
        out=folder,
        shards=len(shards),
        skipped=len(shards) - len(to_do),
        failed=tuple(failures),
        **{name: sum(record[name] for record in finished) for name in ("rows", "embedded", "rejected")},
        done=sum(record["rows"] for record in made.values()),
        dim=max((record["dim"] for record in finished), default=0),
        seconds=time.perf_counter() - began,
    )


def _job(
    model: str | Path,
    out: str | Path,
    errors: BadRows,
    block: int,
    columns: Sequence[str] | None,
    reading: ReadOptions,
) -> Job:
    """The job, unless its options exclude each other."""
    if errors not in get_args(BadRows):
        raise InvalidParameter(f"errors={errors!r}: expected 'raise', 'skip' or 'nan'")
    check_names(columns or ())
    if errors == "nan" and PROBLEM in (columns or ()):
        raise InvalidParameter(f"the column {PROBLEM!r} says why a row is empty: leave the files' own out")
    if reading.label is not None or reading.units or reading.nodes is not None:
        problem = "label, units and nodes are not for shards, whose columns are copied as they are"
        raise InvalidParameter(problem)
    options = {name: json_ready(getattr(reading, name)) for name in READ}
    kept, folder = None if columns is None else tuple(columns), model_folder(model)
    settings = {"model": _checksum(folder), "columns": "all" if kept is None else list(kept)}
    settings |= {"errors": errors, **options}
    return Job(str(folder.absolute()), str(Path(out).absolute()), errors, block, kept, options, settings)


def _checksum(model: Path) -> str:
    """Of weights, settings and schema; the same for a copy of the model."""
    config = read_config(model)
    parts = {name: config[name] for name in ("class", "params", "learned", "sha256")}
    text = json.dumps([parts, read_json(model / "schema.json")], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


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
    embed: Callable[[Shard], Record | str] = partial(_attempt_there, job)
    if workers == 1 and on == "local":
        embed = partial(_attempt, Embedder(job, load(job.model)), on_rows=tell)
    for shard, outcome in run(embed, shards, workers=workers, on=on):
        done += shard.size
        if isinstance(outcome, Lost):
            outcome = f"{outcome.reason}: if memory ran out, take a smaller block or fewer workers"
        if isinstance(outcome, str):
            failures.append(Failure(shard.name, shard.path, outcome))
        else:
            message, made[shard.name] = outcome.pop("warning"), outcome
            if message and n_warnings < MAX_WARNINGS:
                n_warnings += 1
                warnings.warn(f"{shard.path}: {message}", stacklevel=3)
        tell()
    return made, failures


def _attempt_there(job: Job, shard: Shard) -> Record | str:
    """The same in a worker, which keeps the model between its shards."""
    import torch

    torch.set_num_threads(1)
    return _attempt(Embedder(job, _kept_model(job.model, job.settings["model"])), shard)


@lru_cache(maxsize=1)
def _kept_model(folder: str, checksum: str) -> Any:
    return load(folder)


def _attempt(embedder: Embedder, shard: Shard, on_rows: Rows = lambda rows: None) -> Record | str:
    """The record of a shard, or why it has none; what other shards would meet as well is raised."""
    job = embedder.job
    try:
        return embedder.embed(shard, on_rows)
    except Exception as error:
        reason = str(error) if isinstance(error, InfoGraphError) else f"{type(error).__name__}: {error}"
        if isinstance(error, DiskFull) or (isinstance(error, OSError) and error.errno in NO_ROOM):
            raise JobStopped(
                f"{job.out} cannot be written to ({error.strerror or error}): make room and run the same "
                f"command again; finished shards stay"
            ) from error
        if isinstance(error, MissingExtra) or (isinstance(error, InfoGraphError) and job.errors == "raise"):
            raise
        if job.errors == "raise":
            raise JobStopped(reason) from error
        return " ".join(reason.split())


class Embedder:
    """A job with its model in memory."""

    def __init__(self, job: Job, model: Any) -> None:
        check_embeds(model)
        self.job, self.model = job, model
        self.dim = len(model.get_feature_names_out())
        self.options = ReadOptions(errors="skip", schema=model.schema_, **job.reading)
        self._errors = {"errors": "nan"} if "errors" in inspect.signature(model.transform).parameters else {}

    def embed(self, shard: Shard, on_rows: Rows) -> Record:
        """Write the record of a shard, its rejected rows and its vectors, in this order, and give the record.

        What there is of the shard is replaced; `on_rows` is told after every block how many rows there were.
        The entry "warning" of what comes back, which is not in the file, is what a reader had to say.
        """
        began = time.perf_counter()
        vectors, listed, record_file = files_of(self.job.out, shard.name)
        for path in (vectors, listed, record_file):
            path.unlink(missing_ok=True)
        with (
            warnings.catch_warnings(record=True) as said,
            replaced_file(vectors) as work,
            replaced_file(listed) as listed_work,
        ):
            warnings.simplefilter("always")
            rows, rejected = self._write(shard, work, listed_work, on_rows)
            if not Path(shard.path).exists() or shard_at(shard.name, Path(shard.path)) != shard:
                raise InvalidFile(f"{shard.path} was changed while it was read: run the job again")
            record = {
                "format": FORMAT,
                "shard": shard.name,
                "input": {"path": shard.path, "size": shard.size, "mtime_ns": shard.mtime_ns},
                "settings": self.job.settings,
                "rows": rows,
                "embedded": rows - rejected,
                "rejected": rejected,
                "dim": self.dim,
                "bytes": work.stat().st_size,
                "seconds": round(time.perf_counter() - began, 3),
            }
            with replaced_file(record_file) as record_work:
                record_work.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        if not rejected:
            listed.unlink()
        return {**record, "warning": str(said[0].message) if said else ""}

    def _write(self, shard: Shard, work: Path, listed_work: Path, on_rows: Rows) -> tuple[int, int]:
        """Write both files, and give how many rows the shard has and how many of them are rejected."""
        import pyarrow.parquet as parquet

        rows = n_rejected = 0
        with listed_work.open("w", encoding="utf-8", newline="") as file, ExitStack() as opened:
            listed, writer = csv.writer(file), None
            listed.writerow(("row", "id", PROBLEM))
            for block in self._blocks(shard):
                table, problems = self._embed_block(block, shard)
                if writer is None:
                    texts = [name for name in table.schema.names if name != "vector"]
                    # a dictionary of floats that never repeat would only take time
                    writer = parquet.ParquetWriter(work, table.schema, use_dictionary=texts)
                    opened.enter_context(writer)
                writer.write_table(table)
                listed.writerows((block.start + row, block.ids[row], why) for row, why in problems.items())
                rows, n_rejected = rows + len(block), n_rejected + len(problems)
                on_rows(rows)
        return rows, n_rejected

    def _blocks(self, shard: Shard) -> Iterator[Block]:
        """The blocks of a shard; an empty one with its columns where it has no rows."""
        block = None
        for block in read_blocks(shard, self.job.block, self.options, self.job.columns):
            yield block
        if block is None:
            columns = column_types(shard, self.options, self.job.columns)
            yield Block(0, [], {field.name: pa.array([], field.type) for field in columns}, None, ())

    def _transform(self, graphs: GraphSet) -> Any:
        """One row per graph; not finite where a graph has no vector."""
        try:
            made = self.model.transform(graphs, **self._errors)
            return made.toarray() if hasattr(made, "toarray") else made
        except InvalidGraph as error:  # of models that refuse all graphs for one: compute the others
            vectors = np.full((len(graphs), self.dim), np.nan)
            if error.index is not None and len(graphs) > 1:
                others = np.delete(np.arange(len(graphs)), error.index)
                vectors[others] = self._transform(graphs[others])
            return vectors

    def _embed_block(self, block: Block, shard: Shard) -> tuple[Any, dict[int, str]]:
        """The table of a block of R rows, and why rows of it have no vector."""
        job, vectors = self.job, np.full((len(block), self.dim), np.nan, np.float32)  # (R, dim)
        found = {bad.index: bad.problem for bad in block.rejected}
        if block.graphs is not None:
            vectors[block.rows] = self._transform(block.graphs)
        finite = np.isfinite(vectors).all(axis=1)
        vectors[~finite] = np.nan
        problems = {
            row: found.get(row, f"row {block.start + row + 1}: {NOT_FINITE}")
            for row in np.flatnonzero(~finite).tolist()
        }
        for row, why in problems.items():
            if job.errors == "raise":
                raise InvalidGraph(f"{shard.path}, {why}", index=block.start + row, graph_id=block.ids[row])
        columns = {"id": pa.array(block.ids, pa.string()), **block.columns}
        if job.errors == "nan":
            columns[PROBLEM] = pa.array([problems.get(row) for row in range(len(block))], pa.string())
        columns["vector"] = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), self.dim)
        table = pa.table(columns)
        return table if job.errors == "nan" or finite.all() else table.filter(pa.array(finite)), problems


# ---- the folder of a job


def files_of(out: str, shard: str) -> tuple[Path, Path, Path]:
    """The files of a shard: its vectors, its rejected rows, its record."""
    folder = Path(out)
    rejected, record = folder / "_rejected" / f"{shard}.csv", folder / "_shards" / f"{shard}.json"
    return folder / f"{shard}.parquet", rejected, record


def sweep(out: str, shards: Iterable[Shard]) -> None:
    """Remove the temporary files that a killed job left behind of these shards, and nothing else.

    They are called as `replaced_file` calls them, with the number of a process behind the name.
    """
    known = {shard.name for shard in shards}
    for like in files_of(out, "*"):
        for path in like.parent.glob(f".*{like.suffix}"):
            found = re.fullmatch(r"\.(.+)-\d+", path.stem)
            if found and found[1] in known:
                path.unlink(missing_ok=True)


def read_records(out: str) -> dict[str, Record]:
    """The records of finished shards; a damaged one is none, and its shard is done again."""
    records = {}
    for path in sorted(files_of(out, "*")[2].parent.glob("*.json")):
        try:
            record = read_json(path)
        except InvalidFile:
            continue
        if record.get("format") == FORMAT and "settings" in record:
            records[path.stem] = record
    return records


def check_records(
    out: str, settings: Mapping[str, Any], shards: Sequence[Shard], records: Mapping[str, Record]
) -> None:
    """Make sure that what is in the folder is of these settings, and of these files."""
    for shard in shards:
        *written, record_file = files_of(out, shard.name)
        strange = next((path for path in written if path.exists() and not record_file.exists()), None)
        if strange:
            raise InvalidParameter(f"{strange} is there and was not written by such a job: choose another")
    names, by_name = {shard.path: shard.name for shard in shards}, {shard.name: shard for shard in shards}
    for name, record in records.items():
        path, source, before = files_of(out, name)[0], record["input"]["path"], record["settings"]
        for key, now in settings.items():
            if before.get(key) != now:
                how = f"with {key}={before.get(key)!r}, while this job has {key}={now!r}"
                how = "by another model" if key == "model" else how
                raise InvalidParameter(f"{path} was made {how}: choose another folder")
        shard = by_name.get(name, Shard(name, source, 0, 0))
        taken = shard.path != source and not _same_input(record, shard)
        if taken or names.get(source, name) != name:
            raise InvalidParameter(f"{path} holds the vectors of {source}: choose another folder")


def is_finished(out: str, shard: Shard, record: Record | None) -> bool:
    """Whether a record is of this shard as it is now, and its files are there."""
    if record is None or not _same_input(record, shard):
        return False
    vectors, rejected, _ = files_of(out, shard.name)
    whole = vectors.is_file() and vectors.stat().st_size == record["bytes"]
    return whole and (not record["rejected"] or rejected.is_file())


def _same_input(record: Record, shard: Shard) -> bool:
    was = record["input"]
    return bool((was["size"], was["mtime_ns"]) == (shard.size, shard.mtime_ns))
