"""How far a longer job is: a live line on a terminal, a plain line per stage elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from infograph.cli.output import err, say


class Stages:
    """A watch for `infograph.report.study.study`; use it in a `with` block."""

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
