"""Vectors of many files of graphs, shard by shard: restartable, every row accounted for."""

from __future__ import annotations

import csv
import dataclasses
import errno
import inspect
import json
import os
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

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
from infograph.io import check_folder, check_outputs, locked, replaced_file
from infograph.jobs import Children, Said, connect, one_line
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
    progress_of,
    read_records,
    rejected_of,
    shard_at,
    sweep,
    vectors_of,
    write_record,
)

LOCAL = "local"
SAID = 5  # warnings of readers that are passed on; thousands of shards have the same to say
Watch = Callable[[ShardProgress], None]
Rows = Callable[[int], None]
NOT_FINITE = "its vector is not finite: a feature is far outside what the model was trained on"
TRIES = 3  # workers that a shard may cost, and workers that may end before they are ready
LOOK = 1.0  # seconds between two looks at how far an actor is
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
HEADER = ("row", "id", PROBLEM)


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

    Files have the columns `id` (texts, see `infograph.data.tables`), the columns asked for, and `vector`;
    rows keep their order. Columns of Parquet keep their types, those of text files are texts. A row that
    cannot be embedded is listed in `out/_rejected` with its place and reason. A shard's file appears when it
    is whole. Called again, after a kill or with more files, finished shards are skipped.

    Args:
        model: a saved model.
        inputs: a pattern, a folder, or a list of files; `infograph.scale.shards` has the rules. Parquet,
            CSV, TSV and `.smi` are streamed, other kinds of files are read whole.
        out: the folder of the vectors.
        workers: processes or actors; 1 works in this process.
        on: "local", "ray", or the address of a Ray cluster (`infograph.scale.embed`).
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
            progress(ShardProgress(done + rows, len(ended), len(shards), share))

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
        return ProcessPool(job)
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


@dataclass(frozen=True)
class Event:
    """What a worker has to say.

    Attributes:
        worker: its number.
        kind: "ready" for shards, so many "rows" of its shard read, an "outcome", or "lost": it is gone.
        rows: of the shard it is at.
        outcome: of that shard.
        problem: what is known of why it is gone.
    """

    worker: int
    kind: Literal["ready", "rows", "outcome", "lost"]
    rows: int = 0
    outcome: Outcome | None = None
    problem: str = ""


class Pool(Protocol):
    """Workers that each have one shard at a time."""

    def start(self) -> int:
        """Start one more worker, which is ready later, and give its number."""

    def give(self, worker: int, shard: Shard) -> None:
        """Hand a shard to a worker that is ready."""

    def stop(self, worker: int) -> None:
        """Let a worker go that has no shard."""

    def events(self, seconds: float) -> list[Event]:
        """What happened, once something has or the time is up."""

    def close(self) -> None:
        """End all workers."""


def dispatch(
    shards: Sequence[Shard], pool: Pool, workers: int, on_rows: Callable[[int], None]
) -> Iterator[Outcome]:
    """Outcomes of all shards, as they come.

    Args:
        shards: the shards.
        pool: where workers come from.
        workers: how many at a time.
        on_rows: called now and then with the rows of shards in work.

    Raises:
        JobStopped: workers cannot be started.
    """
    waiting, busy, idle, starting = deque(shards), dict[int, Shard](), set[int](), set[int]()
    rows, tries, false_starts = Counter[int](), Counter[str](), 0
    while waiting or busy:
        while len(starting) + len(idle) + len(busy) < min(workers, len(waiting) + len(busy)):
            starting.add(pool.start())
        for event in pool.events(0.5):
            worker = event.worker
            if event.kind == "rows":
                rows[worker] = event.rows
                continue
            shard = busy.pop(worker, None)
            rows.pop(worker, None)
            if event.kind != "lost":
                starting.discard(worker)
                idle.add(worker)
                if event.outcome is not None:
                    yield event.outcome
                continue
            false_starts += worker in starting
            starting.discard(worker)
            idle.discard(worker)
            if false_starts >= TRIES:
                raise JobStopped(f"workers end before they are ready ({event.problem})")
            if shard is not None:
                tries[shard.name] += 1
                if tries[shard.name] < TRIES:
                    waiting.appendleft(shard)
                else:
                    yield Outcome(shard.name, problem=_lost(event.problem))
        while idle:
            worker = idle.pop()
            if waiting:
                busy[worker] = waiting.popleft()
                pool.give(worker, busy[worker])
            else:
                pool.stop(worker)
        on_rows(sum(rows.values()))


def _lost(problem: str) -> str:
    return (
        f"the workers that had it were lost {TRIES} times ({problem}): if memory ran out, take a "
        f"smaller block or fewer workers"
    )


class ProcessPool:
    """Processes that embed shards of one job (`infograph.scale.embed.Pool`)."""

    def __init__(self, job: Job) -> None:
        self._job, self._children = job, Children("infograph.scale.worker")

    @property
    def pids(self) -> list[int]:
        """The ids of the processes that were started, ended ones too."""
        return self._children.pids

    def start(self) -> int:
        """Start a process."""
        return self._children.start(self._job.to_json())

    def give(self, worker: int, shard: Shard) -> None:
        """Hand it a shard."""
        self._children.tell(worker, json.dumps(dataclasses.asdict(shard)))

    def stop(self, worker: int) -> None:
        """End a process that has nothing to do."""
        self._children.stop(worker)

    def events(self, seconds: float) -> list[Event]:
        """What the processes said."""
        return [_event(said) for said in self._children.listen(seconds)]

    def close(self) -> None:
        """End all processes."""
        self._children.close()


def _event(said: Said) -> Event:
    if said.content is None:
        return Event(said.child, "lost", problem=said.lost)
    if "rows" in said.content:
        return Event(said.child, "rows", rows=said.content["rows"])
    if "outcome" in said.content:
        return Event(said.child, "outcome", outcome=Outcome(**said.content["outcome"]))
    return Event(said.child, "ready")


# Workers that are Ray actors, on a cluster or on one that is started here for the job.
#
# Plain actors and not Ray Data: a shard is the unit that appears whole or not at all, that a record stands
# for, and that is done again after a fault. An actor holds the model and embeds one whole shard per call, by
# the function that the local run uses, so output, accounting and restart are the same code. Ray Data would
# cut and join shards into blocks of its own, and write files of other rows than were read; what it would
# add, streaming and a bounded memory, is what reading by blocks does. The driver gives out shards itself,
# and an actor that is lost (its process, its node) is replaced by a new one that Ray places wherever there
# is room.
#
# On a cluster, the model, the shards and the folder of the vectors must be under the same path on every
# node.


class Embedding:
    """What an actor is: an embedder that says in a file how far it is.

    It answers one call at a time, and so in its main thread: an actor that could answer how far it is while
    it embeds would work in another one, where RDKit, which is most of the work, was found to be slower.
    """

    def __init__(self, job: str) -> None:
        import torch

        torch.set_num_threads(1)
        self._job = Job.from_json(job)

    def ready(self) -> tuple[int, dict[str, Any] | None]:
        """The process it is in, once the model is there; the outcome of the job if it cannot be read."""
        try:
            self._embedder = Embedder(self._job)
        except InfoGraphError as error:
            return os.getpid(), dataclasses.asdict(failed("", error, strict=True, out=self._job.out))
        return os.getpid(), None

    def embed(self, shard: dict[str, Any]) -> dict[str, Any]:
        """Embed a shard."""
        told, place = 0.0, progress_of(self._job.out, shard["name"])

        def tell(rows: int) -> None:
            nonlocal told
            if time.monotonic() - told > LOOK:
                told = time.monotonic()
                with suppress(OSError):  # the shard itself will say what is wrong
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_text(str(rows))

        outcome = attempt(self._embedder, Shard(**shard), tell)
        with suppress(OSError):
            place.unlink(missing_ok=True)
        return dataclasses.asdict(outcome)


class RayPool:
    """Actors that embed shards of one job (`infograph.scale.embed.Pool`).

    Args:
        job: the job.
        on: "ray" starts a cluster on this machine, which ends with the job; "ray://host:port" is that of a
            cluster's client server, "ray://auto" the cluster that this machine belongs to.
        workers: cores of the cluster that is started here.

    Raises:
        MissingExtra: Ray is not installed.
        JobStopped: the cluster cannot be reached.
    """

    def __init__(self, job: Job, on: str, workers: int) -> None:
        self._job, self._ray = job, connect(on, workers)
        options = {"num_cpus": 1, "max_restarts": 0, "max_task_retries": 0}
        self._class = self._ray.remote(Embedding).options(**options)
        self._actors: dict[int, Any] = {}
        self._calls: dict[Any, tuple[int, str]] = {}  # reference -> (worker, what it answers)
        self._busy: dict[int, str] = {}  # worker -> the name of its shard
        self._number, self._looked = 0, 0.0
        self.pids: dict[int, int] = {}

    def start(self) -> int:
        """Ask for an actor."""
        self._number += 1
        actor = self._actors[self._number] = self._class.remote(self._job.to_json())
        self._calls[actor.ready.remote()] = (self._number, "ready")
        return self._number

    def give(self, worker: int, shard: Shard) -> None:
        """Hand it a shard."""
        self._busy[worker] = shard.name
        self._calls[self._actors[worker].embed.remote(dataclasses.asdict(shard))] = (worker, "outcome")

    def stop(self, worker: int) -> None:
        """Free the core of an actor that has nothing to do."""
        self._ray.kill(self._actors.pop(worker))

    def events(self, seconds: float) -> list[Event]:
        """What the actors answered."""
        try:
            done, _ = self._ray.wait(list(self._calls), num_returns=1, timeout=seconds)
            answers = [event for reference in done if (event := self._answer(reference)) is not None]
            return [*self._rows(), *answers]
        except (ConnectionError, self._ray.exceptions.RaySystemError) as error:
            raise JobStopped(
                f"the Ray cluster was lost ({one_line(error)}): run the same command again, "
                f"finished shards stay"
            ) from error

    def close(self) -> None:
        """Leave the cluster, and end the one that was started here."""
        for actor in self._actors.values():
            with suppress(Exception):
                self._ray.kill(actor)
        self._ray.shutdown()

    def _answer(self, reference: Any) -> Event | None:
        worker, kind = self._calls.pop(reference)
        try:
            answer = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            if isinstance(error, self._ray.exceptions.RaySystemError):
                raise
            if worker not in self._actors:  # its other call says so as well
                return None
            self._busy.pop(worker, None)
            with suppress(Exception):
                self._ray.kill(self._actors.pop(worker))
            return Event(worker, "lost", problem=one_line(error))
        if kind == "ready":
            self.pids[worker], problem = answer
            return Event(worker, "ready", outcome=None if problem is None else Outcome(**problem))
        self._busy.pop(worker, None)
        return Event(worker, "outcome", outcome=Outcome(**answer))

    def _rows(self) -> list[Event]:
        """How far the actors are, now and then."""
        if time.monotonic() - self._looked < LOOK:
            return []
        self._looked, found = time.monotonic(), []
        for worker, name in self._busy.items():
            with suppress(OSError, ValueError):  # not there yet, or being written
                found.append(Event(worker, "rows", rows=int(progress_of(self._job.out, name).read_text())))
        return found


@dataclass(frozen=True)
class Outcome:
    """The end of one shard.

    Attributes:
        shard: its name.
        record: of a finished shard, else None.
        problem: why it failed.
        stop: whether the job cannot go on: other shards would fail alike, or errors="raise" was asked for.
        graph: whether the problem is a graph's.
    """

    shard: str
    record: Record | None = None
    problem: str = ""
    stop: bool = False
    graph: bool = False

    def error(self) -> InfoGraphError:
        """The problem as an exception."""
        return InvalidGraph(self.problem) if self.graph else JobStopped(self.problem)


def attempt(embedder: Embedder, shard: Shard, on_rows: Rows) -> Outcome:
    """Embed a shard; whatever goes wrong is an outcome, so that one shard cannot end the others."""
    try:
        return Outcome(shard.name, embedder.embed(shard, on_rows))
    except Exception as error:
        return failed(shard.name, error, strict=embedder.job.errors == "raise", out=embedder.job.out)


def failed(name: str, error: Exception, *, strict: bool, out: str) -> Outcome:
    """The outcome of a shard that raised an error."""
    full = isinstance(error, OSError) and error.errno in NO_ROOM
    problem = (
        f"{out} cannot be written to ({_reason(error)}): make room and run the same command again; "
        "finished shards stay"
        if full
        else _reason(error)
    )
    stop = strict or full or isinstance(error, MissingExtra)
    return Outcome(name, None, " ".join(problem.split()), stop, isinstance(error, InvalidGraph))


def _reason(error: Exception) -> Any:
    if isinstance(error, InfoGraphError):
        return str(error)
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    if isinstance(error, MemoryError):
        return "not enough memory: take a smaller block, or cut the shard"
    return f"{type(error).__name__}: {error}"


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
