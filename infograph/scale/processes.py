"""Workers that are processes of this machine."""

from __future__ import annotations

import dataclasses
import json

from infograph.scale.dispatch import Event
from infograph.scale.job import Job
from infograph.scale.outcome import Outcome
from infograph.scale.shards import Shard
from infograph.workers.children import Children, Said


class ProcessPool:
    """Processes that embed shards of one job (`infograph.scale.dispatch.Pool`)."""

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
