"""What became of a shard: its record, or why there is none; plain values that travel between processes."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import Any

from infograph.errors import InfoGraphError, InvalidGraph, JobStopped, MissingExtra
from infograph.scale.embedder import Embedder, Rows
from infograph.scale.records import Record
from infograph.scale.shards import Shard

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


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
