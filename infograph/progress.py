"""How far a longer job is: who is told, and what people see of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress
from rich.text import Text

OnProgress = Callable[[int, int], None]
"""Called now and then with what is done and what there is in all, in one unit: bytes of a download (0 in all
where that is not known), graphs of a set that is parsed. A new job starts again at a smaller number."""
ERROR = "validation"  # the figure of an epoch that schedule and choice of weights go by
WRONG = "% wrong"  # the unit of a share of wrong classes
NO_TERMS = ("epoch", "model", "loss", "mi", "accuracy", "confident", "lr", "seconds", "graphs_per_second")
SHORT = {
    "supervised": "sup.",
    "unsupervised": "unsup.",
    "consistency": "cons.",
    "adversarial": "adv.",
    "validation": "val.",
}
FIRST_TO_GO = ("graphs/s", "loss", "MI", "pairs")  # where a line is too narrow; then terms from the right
EVERY = 10.0  # seconds between plain lines
Epoch = dict[str, float]


class Watch(Protocol):
    """Is told how far a job of several stages is."""

    def stage(self, name: str, total: int) -> None:
        """A stage of `total` steps begins."""
        ...

    def advance(self, done: int, text: str = "") -> None:
        """So many steps of it are done."""
        ...


class Silent:
    """A watch that tells nobody."""

    def stage(self, name: str, total: int) -> None:
        """A stage begins."""

    def advance(self, done: int, text: str = "") -> None:
        """So many steps are done."""


def terms_of(record: Mapping[str, float]) -> list[str]:
    """The loss terms of an epoch, in the order of the objective."""
    return [name for name in record if name not in NO_TERMS and not name.startswith(ERROR)]


def figure_text(value: float, unit: str) -> str:
    """A figure with its unit: "0.42 hartree", "12.5 % wrong" of a share of 0.125."""
    if unit == WRONG:
        return f"{100 * value:.1f} {unit}"
    return f"{value:.4g} {unit}".rstrip()


class _TwoLines(RichProgress):
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

    def __call__(self, standing: Progress) -> None:
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

    def _follow(self, standing: Progress) -> None:
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

    def _remaining(self, standing: Progress) -> float:
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


class Stages:
    """A watch for jobs of several stages (`infograph.progress`); use it in a `with` block."""

    def __init__(self) -> None:
        console = err()
        columns = (TextColumn("{task.description}"), BarColumn(20), TextColumn("{task.fields[text]}"))
        self._live = RichProgress(*columns, TimeRemainingColumn(compact=True), console=console)
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
        self._live = RichProgress(*columns, console=self._console)
        self._task: TaskID | None = None
        self._began = self._last = time.perf_counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._live.stop()

    def __call__(self, now: ShardProgress) -> None:
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
        self._bar: RichProgress | None = None
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
            self._bar = RichProgress(*columns, TimeRemainingColumn(compact=True), console=self._console)
            self._bar.start()
        if self._task is None or done < self._done:  # the next job
            self._task = self._bar.add_task(f"reading {self._name}", total=total or None)
        self._done = done
        self._bar.update(self._task, completed=done)


def err() -> Console:
    """Standard error."""
    return Console(stderr=True, highlight=False)


def say(text: str) -> None:
    """A line on standard error, as it is: users' names are no markup."""
    err().print(text, markup=False, soft_wrap=True)


@dataclass(frozen=True)
class ShardProgress:
    """How far a job is.

    Attributes:
        rows: read so far, those of shards in work included; finished shards of earlier runs do not count.
        shards: finished in this run.
        n_shards: to be done in this run.
        share: of the bytes of the input that are done, by finished shards.
    """

    rows: int
    shards: int
    n_shards: int
    share: float


@dataclass
class Progress:
    """Where a run stands, after every step.

    Attributes:
        epoch, epochs, step, steps: how far it is.
        shown: the figures of the epoch so far.
        model: the estimator that trains, which can transform and predict with the weights it has now; None
            where another process trains.
        stopped: whether somebody called `stop`.
    """

    epoch: int
    epochs: int
    step: int
    steps: int
    shown: Epoch
    model: Any = None
    stopped: bool = False

    def stop(self) -> None:
        """End the training after this step, and keep the model as it is now."""
        self.stopped = True


Watcher = Callable[[Progress], None]
