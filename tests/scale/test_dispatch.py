"""Shards to workers that fail in every way, without a process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from infograph.data.tables import Shard
from infograph.errors import JobStopped
from infograph.scale.embed import TRIES, Event, Outcome, dispatch

SHARDS = [Shard(f"s{n}", f"s{n}.smi", 10, 0) for n in range(7)]


class FakePool:
    """Workers that answer at once; `fate` says what happens to a shard the n-th time."""

    def __init__(self, fate: Callable[[str, int], str]) -> None:
        self.fate, self.tried, self.alive = fate, Counter[str](), set[int]()
        self.number, self.most = 0, 0
        self.waiting: list[Event] = []

    def start(self) -> int:
        self.number += 1
        self.alive.add(self.number)
        self.most = max(self.most, len(self.alive))
        kind = "lost" if self.fate("start", self.number) == "lost" else "ready"
        self.waiting.append(Event(self.number, kind, problem="no torch"))  # type: ignore[arg-type]
        return self.number

    def give(self, worker: int, shard: Shard) -> None:
        assert worker in self.alive
        self.tried[shard.name] += 1
        self.waiting.append(Event(worker, "rows", rows=5))
        if self.fate(shard.name, self.tried[shard.name]) == "lost":
            self.alive.discard(worker)
            self.waiting.append(Event(worker, "lost", problem="killed by signal 9"))
        else:
            self.waiting.append(Event(worker, "outcome", outcome=Outcome(shard.name, {"rows": 10})))

    def stop(self, worker: int) -> None:
        self.alive.discard(worker)

    def events(self, seconds: float) -> list[Event]:
        found, self.waiting = self.waiting[:1], self.waiting[1:]
        assert found, "nothing is under way"
        return found

    def close(self) -> None:
        self.alive.clear()


@pytest.mark.parametrize("workers", [1, 2, 20])
def test_every_shard_once(workers: int) -> None:
    pool, rows = FakePool(lambda name, time: ""), list[int]()
    done = list(dispatch(SHARDS, pool, workers, rows.append))
    assert sorted(each.shard for each in done) == [shard.name for shard in SHARDS]
    assert set(pool.tried.values()) == {1} and not pool.alive
    assert pool.most == min(workers, len(SHARDS)) and max(rows) >= 5


def test_a_lost_worker_is_replaced_and_its_shard_done_again() -> None:
    pool = FakePool(lambda name, time: "lost" if name in ("s0", "s3") and time < TRIES else "")
    done = list(dispatch(SHARDS, pool, 2, lambda rows: None))
    assert sorted(each.shard for each in done) == [shard.name for shard in SHARDS]
    assert all(each.record for each in done) and pool.tried["s0"] == TRIES and pool.most == 2


def test_a_shard_that_kills_every_worker_fails() -> None:
    pool = FakePool(lambda name, time: "lost" if name == "s2" else "")
    done = {each.shard: each for each in dispatch(SHARDS, pool, 2, lambda rows: None)}
    assert len(done) == 7 and done.pop("s2").problem.startswith(
        f"the workers that had it were lost {TRIES} times (killed by signal 9)"
    )
    assert all(each.record for each in done.values())


def test_workers_that_never_get_ready_stop_the_job() -> None:
    pool = FakePool(lambda name, time: "lost" if name == "start" else "")
    with pytest.raises(JobStopped, match=r"workers end before they are ready \(no torch\)"):
        list(dispatch(SHARDS, pool, 2, lambda rows: None))


def test_a_worker_that_fails_to_start_is_replaced() -> None:
    pool = FakePool(lambda name, time: "lost" if name == "start" and time == 1 else "")
    assert len(list(dispatch(SHARDS, pool, 2, lambda rows: None))) == 7
