"""A training run by processes of this machine; one that is lost costs the epoch it was in."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from infograph.errors import error_from
from infograph.train.loop import Progress, Watcher
from infograph.workers.children import Children, Said

LISTEN, LINGER = 1.0, 0.5  # seconds between two looks, and until the first of several losses is known
LOOPBACK = {"GLOO_SOCKET_IFNAME": "lo"} if sys.platform == "linux" else {}


def train_in_processes(folder: Path, workers: int, number: int, watchers: Sequence[Watcher]) -> str | None:
    """Train to the end, or until a worker is lost: then say why.

    Args:
        folder: the job's.
        workers: how many processes.
        number: of this attempt.
        watchers: told of every step.
    """
    children = Children("infograph.estimators.shared.worker", LOOPBACK)
    try:
        for rank in range(workers):
            store = str(folder / f"store-{number}")
            children.start(
                json.dumps({"folder": str(folder), "store": store, "rank": rank, "workers": workers})
            )
        done: set[int] = set()
        while len(done) < workers:
            for said in children.listen(LISTEN):
                if said.content is None and said.child not in done:
                    return _first_cause([said, *children.listen(LINGER)])
                done |= {said.child} if _hear(said, watchers) else set()
    finally:
        children.close()
    return None


def _hear(said: Said, watchers: Sequence[Watcher]) -> bool:
    """Pass on what a worker said; whether it is done."""
    content = said.content or {}
    if "problem" in content:
        raise error_from(*content["problem"])
    if "progress" in content:
        for watcher in watchers:
            watcher(Progress(*content["progress"]))
    return "done" in content


def _first_cause(said: Sequence[Said]) -> str:
    """Why the first worker was lost: the others lose their connection to it, and say only that."""
    reasons = [each.lost for each in said if each.lost]
    return next((reason for reason in reasons if reason.startswith("killed")), reasons[0])
