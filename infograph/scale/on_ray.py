"""Workers that are Ray actors, on a cluster or on one that is started here for the job.

Plain actors and not Ray Data: a shard is the unit that appears whole or not at all, that a record stands for,
and that is done again after a fault. An actor holds the model and embeds one whole shard per call, by the
function that the local run uses, so output, accounting and restart are the same code. Ray Data would cut and
join shards into blocks of its own, and write files of other rows than were read; what it would add, streaming
and a bounded memory, is what reading by blocks does. The driver gives out shards itself, and an actor that is
lost (its process, its node) is replaced by a new one that Ray places wherever there is room.

On a cluster, the model, the shards and the folder of the vectors must be under the same path on every node.
"""

from __future__ import annotations

import dataclasses
import os
import time
from contextlib import suppress
from typing import Any

from infograph.errors import InfoGraphError, JobStopped
from infograph.scale.dispatch import Event
from infograph.scale.embedder import Embedder
from infograph.scale.job import Job
from infograph.scale.outcome import Outcome, attempt, failed
from infograph.scale.places import progress_of
from infograph.scale.shards import Shard
from infograph.workers.cluster import connect, one_line

LOOK = 1.0  # seconds between two looks at how far an actor is


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
    """Actors that embed shards of one job (`infograph.scale.dispatch.Pool`).

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
