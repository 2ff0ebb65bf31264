"""How far a job is, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """How far a job is.

    Attributes:
        rows: read so far, those of shards in work included; finished shards of earlier runs do not count.
        shards: finished in this run.
        n_shards: to be done in this run.
        share: of the bytes of the input that are done, by finished shards.
    """

    rows: int
    shards: int
    n_shards: int
    share: float


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
