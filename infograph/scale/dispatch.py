"""Shards to workers, wherever those are: a lost worker is replaced, and its shard is done again."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from infograph.errors import JobStopped
from infograph.scale.outcome import Outcome
from infograph.scale.shards import Shard

TRIES = 3  # workers that a shard may cost, and workers that may end before they are ready


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
