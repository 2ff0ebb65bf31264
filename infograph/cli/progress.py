"""How far a longer job is: a live line on a terminal, a plain line per stage elsewhere."""

from __future__ import annotations

import math
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from infograph.cli.output import err, say

if TYPE_CHECKING:
    from infograph.scale.report import Progress as Embedded

EVERY = 10.0  # seconds between plain lines


class Stages:
    """A watch for jobs of several stages (`infograph.report.watch`); use it in a `with` block."""

    def __init__(self) -> None:
        console = err()
        columns = (TextColumn("{task.description}"), BarColumn(20), TextColumn("{task.fields[text]}"))
        self._live = Progress(*columns, TimeRemainingColumn(compact=True), console=console)
        self._plain = not console.is_terminal
        self._task: TaskID | None = None
        self._name, self._text, self._began = "", "", time.perf_counter()

    def __enter__(self) -> Self:
        if not self._plain:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._finish()
        if not self._plain:
            self._live.stop()

    def stage(self, name: str, total: int) -> None:
        """A stage of `total` steps begins."""
        self._finish()
        self._name, self._text, self._began = name, "", time.perf_counter()
        if not self._plain:
            self._task = self._live.add_task(name, total=total, text="")

    def advance(self, done: int, text: str = "") -> None:
        """So many steps of it are done."""
        self._text = text or self._text
        if self._task is not None:
            self._live.update(self._task, completed=done, text=self._text)

    def _finish(self) -> None:
        if self._plain and self._name:
            text = f", {self._text}" if self._text else ""
            say(f"{self._name}: {time.perf_counter() - self._began:.1f} s{text}")


class Rows:
    """How far `infograph.scale` is, by rows, with the rate since the start; use it in a `with` block."""

    def __init__(self) -> None:
        self._console = err()
        columns = (BarColumn(20), TextColumn("{task.description}"), TimeRemainingColumn(compact=True))
        self._live = Progress(*columns, console=self._console)
        self._task: TaskID | None = None
        self._began = self._last = time.perf_counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._live.stop()

    def __call__(self, now: Embedded) -> None:
        """So much is done."""
        seconds = max(time.perf_counter() - self._began, 1e-3)
        text = (
            f"{now.rows:,} rows, {now.rows / seconds:,.0f} per second, {now.shards} of {now.n_shards} shards"
        )
        if self._console.is_terminal:
            if self._task is None:
                self._live.start()
                self._task = self._live.add_task(text, total=1.0)
            self._live.update(self._task, description=text, completed=now.share)
        elif time.perf_counter() - self._last >= EVERY:
            self._last = time.perf_counter()
            say(text)


class Reading:
    """How far a download, or the first reading of a data set, is; use it in a `with` block.

    Nothing is shown unless it is called, which quick readers never do.
    """

    def __init__(self, name: str) -> None:
        self._name, self._console = name, err()
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._done, self._last = 0, -math.inf

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int) -> None:
        """So much is done, of so much in all (0 where that is not known)."""
        if self._console.is_terminal:
            self._draw(done, total)
        elif time.perf_counter() - self._last >= EVERY or done == total:
            self._last = time.perf_counter()
            say(f"reading {self._name}: {done:,}" + (f" of {total:,}" if total else ""))

    def _draw(self, done: int, total: int) -> None:
        if self._bar is None:
            columns = (TextColumn("{task.description}"), BarColumn(None), MofNCompleteColumn())
            self._bar = Progress(*columns, TimeRemainingColumn(compact=True), console=self._console)
            self._bar.start()
        if self._task is None or done < self._done:  # the next job
            self._task = self._bar.add_task(f"reading {self._name}", total=total or None)
        self._done = done
        self._bar.update(self._task, completed=done)
