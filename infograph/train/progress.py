"""Progress of training runs for people: two live lines on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.text import Text

from infograph.train.figures import ERROR, WRONG, figure_text, terms_of
from infograph.train.loop import Epoch
from infograph.train.loop import Progress as Standing

SHORT = {
    "supervised": "sup.",
    "unsupervised": "unsup.",
    "consistency": "cons.",
    "adversarial": "adv.",
    "validation": "val.",
}
FIRST_TO_GO = ("graphs/s", "loss", "MI", "pairs")  # where a line is too narrow; then terms from the right


class _TwoLines(Progress):
    """A bar, and a line of figures below it."""

    figures: tuple[str, ...] = ()

    def get_renderables(self) -> Iterable[RenderableType]:
        """As rich asks for it."""
        yield self.make_tasks_table(self.tasks)
        if self.figures:
            yield Text(fitted(self.figures, self.console.width), no_wrap=True, overflow="ellipsis")


class ProgressReport:
    """A watcher for `train`; use it in a `with` block.

    Every loss term is shown, the last validation error in its unit, and the time left. The live lines leave
    out what does not fit the terminal; plain lines are complete.

    Args:
        console: where to write; standard error by default, so that results on standard output stay clean.
        every: seconds between plain lines where there is no terminal; the last epoch is always shown.
        unit: of the validation error, such as "hartree"; "% wrong" for shares of wrong classes.
        runs: how many runs follow each other: networks of an ensemble, settings of a search.
    """

    def __init__(
        self, console: Console | None = None, every: float = 10.0, *, unit: str = "", runs: int = 1
    ) -> None:
        self.console = console or Console(stderr=True)
        self.every, self.unit, self.runs = every, unit, runs
        self._live: _TwoLines | None = None
        self._task: TaskID | None = None
        self._started = self._last = time.perf_counter()
        self._first_epoch: int | None = None
        self._run, self._at, self._done = (
            1,
            (0, 0),
            0,
        )  # run, its epoch and step; epochs of the runs before it
        self._error = math.nan

    def __enter__(self) -> Self:
        self._started = self._last = time.perf_counter()
        if self.console.is_terminal:
            columns = (
                TextColumn("{task.description}"),
                BarColumn(bar_width=None),
                TextColumn("{task.fields[left]}"),
            )
            self._live = _TwoLines(*columns, console=self.console, transient=False, expand=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, standing: Standing) -> None:
        """Show where the run stands."""
        self._follow(standing)
        figures, left = self._figures(standing.shown), f"{duration(self._remaining(standing))} left"
        name = f"epoch {standing.epoch}/{standing.epochs}"
        name = f"run {self._run}/{self.runs} {name}" if self.runs > 1 else name
        if self._live is not None:
            if self._task is None:
                self._task = self._live.add_task(name, total=standing.epochs * standing.steps, left=left)
            done = (standing.epoch - 1) * standing.steps + standing.step
            self._live.figures = figures
            self._live.update(self._task, completed=done, description=name, left=left)
            return
        now, ended = time.perf_counter(), standing.step == standing.steps
        if ended and (
            now - self._last >= self.every or standing.epoch in (self._first_epoch, standing.epochs)
        ):
            self._last = now
            self.console.print(
                "  ".join([name, *figures, left]), highlight=False, markup=False, soft_wrap=True
            )

    def _follow(self, standing: Standing) -> None:
        """Notice that the next run has begun, as one may end early; after the last, one that begins again."""
        if self._first_epoch is None:
            self._first_epoch = standing.epoch
        elif (standing.epoch, standing.step) <= self._at and self._run < self.runs:
            self._done += self._at[0] - self._first_epoch + 1
            self._run, self._first_epoch, self._error = self._run + 1, standing.epoch, math.nan
        self._at = (standing.epoch, standing.step)
        self._error = standing.shown.get(ERROR, self._error)

    def _figures(self, shown: Epoch) -> tuple[str, ...]:
        parts = [f"loss {shown['loss']:.4g}"]
        terms = terms_of(shown)
        if len(terms) > 1:  # one term alone is the loss
            parts += [f"{name} {shown[name]:.3g}" for name in terms]
        if "mi" in shown:
            parts.append(f"MI {shown['mi']:.3g}")
        if "accuracy" in shown:
            parts.append(f"pairs {100 * shown['accuracy']:.1f} %")
        if not math.isnan(self._error):
            parts.append(f"validation {figure_text(self._error, self.unit)}")
        parts.append(f"{shown['graphs_per_second']:,.0f} graphs/s")
        return tuple(parts)

    def _remaining(self, standing: Standing) -> float:
        first = self._first_epoch or 1
        here = standing.epoch - first + standing.step / standing.steps
        left = standing.epochs - first + 1 - here + (self.runs - self._run) * standing.epochs
        return (time.perf_counter() - self._started) / (self._done + here) * left


def fitted(parts: Sequence[str], width: int) -> str:
    """As much of a line of figures as fits: short names first, then without the least needed ones.

    The validation error is the last to go.
    """
    for line in ("  ".join(parts), "  ".join(part for part in parts if "graphs/s" not in part)):
        if len(line) <= width:
            return line
    left = [_short(part) for part in parts]
    order = [part for name in FIRST_TO_GO for part in left if name in part.split()]
    order += [part for part in reversed(left) if part not in order and not part.startswith("val.")]
    for part in order:
        if len("  ".join(left)) <= width:
            break
        left.remove(part)
    return "  ".join(left)


def _short(part: str) -> str:
    name, _, rest = part.partition(" ")
    return f"{SHORT.get(name, name)} {rest}"


def validation_unit(units: Sequence[str], *, classes: bool = False) -> str:
    """The unit of the figure "validation" of a history: of several targets it is the mean in deviations."""
    if classes:
        return WRONG
    return units[0] if len(units) == 1 else "deviations"


def duration(seconds: float) -> str:
    """Seconds as m:ss or h:mm:ss."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
