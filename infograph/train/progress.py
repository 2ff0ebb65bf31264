"""Progress of a training run for people: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from infograph.train.loop import Progress as Standing


class ProgressReport:
    """A watcher for `train`; use it in a `with` block.

    Args:
        console: where to write; standard error by default, so that results on standard output stay clean.
        every: seconds between plain lines where there is no terminal; the last epoch is always shown.
    """

    def __init__(self, console: Console | None = None, every: float = 10.0) -> None:
        self.console = console or Console(stderr=True)
        self.every = every
        self._live: Progress | None = None
        self._task: TaskID | None = None
        self._started = self._last = time.perf_counter()
        self._first_epoch: int | None = None

    def __enter__(self) -> Self:
        self._started = self._last = time.perf_counter()
        if self.console.is_terminal:
            columns = (
                TextColumn("{task.description}"),
                BarColumn(bar_width=None),
                TextColumn("{task.fields[text]}"),
            )
            self._live = Progress(*columns, console=self.console, transient=False)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, standing: Standing) -> None:
        """Show where the run stands."""
        if self._first_epoch is None:
            self._first_epoch = standing.epoch
        text = self._describe(standing)
        if self._live is not None:
            if self._task is None:
                self._task = self._live.add_task("training", total=standing.epochs * standing.steps, text="")
            done = (standing.epoch - 1) * standing.steps + standing.step
            self._live.update(
                self._task, completed=done, description=f"epoch {standing.epoch}/{standing.epochs}", text=text
            )
            return
        now, ended = time.perf_counter(), standing.step == standing.steps
        if ended and (
            now - self._last >= self.every or standing.epoch in (self._first_epoch, standing.epochs)
        ):
            self._last = now
            self.console.print(
                f"epoch {standing.epoch}/{standing.epochs}  {text}", highlight=False, soft_wrap=True
            )

    def _describe(self, standing: Standing) -> str:
        shown = standing.shown
        parts = [f"loss {shown['loss']:.4g}"]
        if "mi" in shown:
            parts.append(f"MI {shown['mi']:.3g}")
        if "accuracy" in shown:
            parts.append(f"pairs {100 * shown['accuracy']:.1f} %")
        parts.append(f"{shown['graphs_per_second']:,.0f} graphs/s")
        parts.append(f"{duration(self._remaining(standing))} left")
        return "  ".join(parts)

    def _remaining(self, standing: Standing) -> float:
        first = self._first_epoch or 1
        done = standing.epoch - first + standing.step / standing.steps
        return (time.perf_counter() - self._started) / done * (standing.epochs - first + 1 - done)


def duration(seconds: float) -> str:
    """Seconds as m:ss or h:mm:ss."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
