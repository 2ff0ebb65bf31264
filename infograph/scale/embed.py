"""Vectors of many files of graphs, shard by shard: restartable, every row accounted for."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from infograph.data.formats.reading import ReadOptions
from infograph.data.storage import check_folder, check_outputs
from infograph.errors import InvalidParameter
from infograph.scale.dispatch import Pool, dispatch
from infograph.scale.job import BLOCK, BadRows, Job
from infograph.scale.lock import locked
from infograph.scale.outcome import Outcome
from infograph.scale.places import sweep
from infograph.scale.records import Record, check_records, is_finished, read_records
from infograph.scale.report import Failure, Progress, Report
from infograph.scale.shards import Inputs, Shard, find_shards

LOCAL = "local"
SAID = 5  # warnings of readers that are passed on; thousands of shards have the same to say
Watch = Callable[[Progress], None]


def embed_shards(
    model: str | Path,
    inputs: Inputs,
    out: str | Path,
    *,
    workers: int = 1,
    on: str = LOCAL,
    block: int = BLOCK,
    columns: Sequence[str] | None = (),
    errors: BadRows = "skip",
    reading: ReadOptions | None = None,
    progress: Watch | None = None,
) -> Report:
    """Embed every shard of `inputs` into a Parquet file of its own under `out`.

        embed_shards("model", "shards/*.parquet", "vectors", workers=8)

    Files have the columns `id` (texts, see `infograph.scale.blocks`), the columns asked for, and `vector`;
    rows keep their order. Columns of Parquet keep their types, those of text files are texts. A row that
    cannot be embedded is listed in `out/_rejected` with its place and reason. A shard's file appears when it
    is whole. Called again, after a kill or with more files, finished shards are skipped.

    Args:
        model: a saved model.
        inputs: a pattern, a folder, or a list of files; `infograph.scale.shards` has the rules. Parquet,
            CSV, TSV and `.smi` are streamed, other kinds of files are read whole.
        out: the folder of the vectors.
        workers: processes or actors; 1 works in this process.
        on: "local", "ray", or the address of a Ray cluster (`infograph.scale.on_ray`).
        block: rows in memory at a time.
        columns: columns of the inputs to write beside the vectors; None for all of them.
        errors: "skip" leaves a bad row out of the vectors; "nan" keeps its place, with a vector of NaN and
            the column `problem`; "raise" stops at the first one. A shard that cannot be read fails, and the
            others go on, unless this is "raise".
        reading: how shards are read: `smiles`, `id`, `hydrogens`, ... The model's own way otherwise.
        progress: called now and then.

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
    with locked(job.out):
        sweep(job.out, names)
        records = read_records(job.out)
        check_records(job, shards, records)
        to_do = [shard for shard in shards if not is_finished(job, shard, records.get(shard.name))]
        made, failures = _run(job, to_do, workers, on, progress)
        sweep(job.out, names)  # what lost workers left behind
        finished = {
            shard.name: made.get(shard.name) or records[shard.name]
            for shard in shards
            if shard.name not in {failure.shard for failure in failures}
        }
        _check_all(job, shards, finished, failures)
    return _report(job, shards, to_do, finished, failures, time.perf_counter() - began)


def _run(
    job: Job, shards: Sequence[Shard], workers: int, on: str, progress: Watch | None
) -> tuple[dict[str, Record], list[Failure]]:
    """The records of the shards that are finished now, and the others."""
    made: dict[str, Record] = {}
    failures: list[Failure] = []
    said = 0
    by_name = {shard.name: shard for shard in shards}
    total = sum(shard.size for shard in shards) or 1

    def look(rows: int) -> None:
        if progress is not None:
            ended = [*made, *(failure.shard for failure in failures)]
            share = sum(by_name[name].size for name in ended) / total
            done = sum(record["rows"] for record in made.values())
            progress(Progress(done + rows, len(ended), len(shards), share))

    with closing(_outcomes(job, shards, workers, on, look)) as outcomes:
        for outcome in outcomes:
            if outcome.record is not None:
                made[outcome.shard] = outcome.record
                for message in outcome.record.pop("warnings", ()):
                    said += 1
                    if said <= SAID:
                        warnings.warn(f"{by_name[outcome.shard].path}: {message}", stacklevel=3)
            elif outcome.stop:
                raise outcome.error()
            else:
                failures.append(Failure(outcome.shard, by_name[outcome.shard].path, outcome.problem))
            look(0)
    return made, failures


def _outcomes(
    job: Job, shards: Sequence[Shard], workers: int, on: str, look: Callable[[int], None]
) -> Generator[Outcome]:
    if not shards:
        return
    if on == LOCAL and workers == 1:
        from infograph.scale.embedder import Embedder
        from infograph.scale.outcome import attempt

        embedder = Embedder(job)
        for shard in shards:
            yield attempt(embedder, shard, look)
        return
    pool = _pool(job, workers, on)
    try:
        yield from dispatch(shards, pool, workers, look)
    finally:
        pool.close()


def _pool(job: Job, workers: int, on: str) -> Pool:
    if on == LOCAL:
        from infograph.scale.processes import ProcessPool

        return ProcessPool(job)
    from infograph.scale.on_ray import RayPool

    return RayPool(job, on, workers)


def _check_all(
    job: Job, shards: Sequence[Shard], finished: dict[str, Record], failures: Sequence[Failure]
) -> None:
    """Every shard is finished or failed, every row of a finished one embedded or listed."""
    lost = {shard.name for shard in shards} - set(finished) - {failure.shard for failure in failures}
    wrong = [name for name, made in finished.items() if made["rows"] != made["embedded"] + made["rejected"]]
    gone = [
        shard.name
        for shard in shards
        if shard.name in finished and not is_finished(job, shard, finished[shard.name])
    ]
    if lost or wrong or gone:
        names = ", ".join(sorted({*lost, *wrong, *gone})[:5])
        raise RuntimeError(f"rows of these shards are not accounted for: {names}; run the job again")


def _report(
    job: Job,
    shards: Sequence[Shard],
    to_do: Sequence[Shard],
    finished: dict[str, Record],
    failures: Sequence[Failure],
    seconds: float,
) -> Report:
    def total(what: str, names: Any = None) -> int:
        return sum(record[what] for name, record in finished.items() if names is None or name in names)

    return Report(
        out=job.out,
        shards=len(shards),
        skipped=len(shards) - len(to_do),
        failed=tuple(failures),
        rows=total("rows"),
        embedded=total("embedded"),
        rejected=total("rejected"),
        done=total("rows", {shard.name for shard in to_do}),
        dim=max((record["dim"] for record in finished.values()), default=0),
        seconds=seconds,
    )
