"""Threads for what takes time, so that the server answers others meanwhile; and how many may wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from infograph.explore.refusals import Refusal

T = TypeVar("T")


class Workers:
    """A pool that takes so many tasks at once, running or waiting, and refuses more with 429.

    A request that ran out of time keeps its place until its thread is through: threads cannot be stopped.
    """

    def __init__(self, threads: int, most: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="infograph-explore")
        self._most, self._busy = most, 0

    async def run(self, task: Callable[..., T], *arguments: Any) -> T:
        """The result of `task`, or its error.

        Raises:
            Refusal: 429, too many are at work.
        """
        if self._busy >= self._most:
            raise Refusal(429, "The server is busy; try again in a moment.", {"Retry-After": "2"})
        loop = asyncio.get_running_loop()
        self._busy += 1
        future = self._pool.submit(task, *arguments)
        future.add_done_callback(lambda done: self._tell(loop, done))
        return await asyncio.shield(asyncio.wrap_future(future, loop=loop))

    def _tell(self, loop: asyncio.AbstractEventLoop, done: Future[Any]) -> None:
        if loop.is_closed():
            self._busy -= 1
            return
        loop.call_soon_threadsafe(self._free)

    def _free(self) -> None:
        self._busy -= 1

    def close(self) -> None:
        """Take nothing more; threads that are at work are not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)
