"""How far a longer job is: who is told, and what people see of it."""

from __future__ import annotations

import csv
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as RichProgress
from rich.table import Column

from infograph.errors import MissingExtra

OnProgress = Callable[[int, int], None]
"""Called now and then with what is done and what there is in all (0 where that is not known), such as graphs
of a set that is parsed. A new job starts again at a smaller number."""
ERROR = "validation"  # the figure of an epoch that schedule and choice of weights go by
AREA = "validation roc_auc"  # beside it, of two classes
WRONG = "% wrong"  # the unit of a share of wrong classes
NO_TERMS = ("epoch", "model", "loss", "mi", "accuracy", "confident", "lr", "seconds", "graphs_per_second")
EVERY = 10.0  # seconds between plain lines
IN_CELL = 0.25  # seconds until the line of a notebook is written over
Epoch = dict[str, float]


@dataclass
class Progress:
    """Where a run stands, after every step.

    Attributes:
        epoch, epochs, step, steps: how far it is.
        shown: the figures of the epoch so far.
        model: the estimator that trains, which can transform and predict with the weights it has now; None
            where another process trains, or where nothing can predict yet.
        stopped: whether somebody called `stop`; heads of vectors and what they see are finished all the same.
        ended: whether the epoch is over and its figures are complete; so every epoch is told of once.
        what: is done in these steps, where it is no epoch: "descriptors" (of graphs) or "heads".
    """

    epoch: int
    epochs: int
    step: int
    steps: int
    shown: Epoch
    model: Any = None
    stopped: bool = False
    ended: bool = False
    what: str = ""

    def stop(self) -> None:
        """End the training after this step; what `fit` keeps at the end of an epoch it keeps now."""
        self.stopped = True


Watcher = Callable[[Progress], None]


class _EpochLog:
    """Base of watchers that write down every epoch; epochs that begin again are another run."""

    _run, _last = 1, 0

    def __call__(self, now: Progress) -> None:
        """Write the figures of an epoch that is over."""
        if now.ended:
            if not self._last:  # of an ensemble that goes on, some networks are there
                self._run = max(1, len(getattr(now.model, "models_", ())))
            self._run += now.epoch <= self._last
            self._last = now.epoch
            self._write(now.epoch, now.shown)

    def _write(self, epoch: int, shown: Epoch) -> None:
        raise NotImplementedError


class CSVLog(_EpochLog):
    """A watcher for `fit`: a CSV file with a row per epoch, there as soon as the epoch is over.

        model.fit(graphs, watchers=[CSVLog("run.csv")])

    A run that is resumed goes on in its file, any other begins it anew. Networks of an ensemble follow each
    other in it, from the second on with their number in the column `run`.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._names: list[str] = []

    def _write(self, epoch: int, shown: Epoch) -> None:
        row = {**shown, **({"run": self._run} if self._run > 1 else {})}
        if row.keys() <= set(self._names):
            with self.path.open("a", newline="") as file:
                csv.DictWriter(file, self._names, lineterminator="\n").writerow(row)
            return
        rows: list[dict[str, Any]] = []
        if self.path.is_file() and (self._names or epoch > 1 or self._run > 1):
            with self.path.open(newline="") as file:
                rows = list(csv.DictReader(file))
        if not self._names:  # of a run that was interrupted: what follows its checkpoint comes again
            now = self._run, epoch
            rows = [each for each in rows if (int(each.get("run") or 1), float(each.get("epoch") or 0)) < now]
        self._names = list(dict.fromkeys(name for each in (*rows[:1], row) for name in each))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        from infograph.io import replaced_file  # numpy is more than --help needs

        with replaced_file(self.path) as partial, partial.open("w", newline="") as file:
            writer = csv.DictWriter(file, self._names, lineterminator="\n")
            writer.writeheader()
            writer.writerows([*rows, row])


class TensorBoard(_EpochLog):
    """A watcher for `fit`: scalars for TensorBoard, all figures of every epoch.

        model.fit(graphs, watchers=[TensorBoard("runs/first")])

    Networks of an ensemble follow each other; from the second on they have folders inside, "run-2" ...
    """

    def __init__(self, folder: str | Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise MissingExtra("tensorboard", "log") from error
        self.folder, self._make = Path(folder), SummaryWriter
        self._writer: Any = None
        self._written = 0  # the run that the writer is for

    def _write(self, epoch: int, shown: Epoch) -> None:
        if self._written != self._run:
            if self._writer is not None:
                self._writer.close()
            own = self.folder if self._run == 1 else self.folder / f"run-{self._run}"
            self._writer, self._written = self._make(str(own), purge_step=epoch), self._run
        for name, value in shown.items():
            if name != "epoch":
                self._writer.add_scalar(name, value, epoch)
        self._writer.flush()


@dataclass(frozen=True)
class ShardProgress:
    """How far a job is; finished shards of earlier runs do not count."""

    rows: int  # read so far, those of shards in work included
    shards: int  # finished
    n_shards: int  # to be done
    share: float  # of the bytes of the input that are done, by finished shards


class Watch:
    """Is told how far a job of several stages is; this one keeps it to itself."""

    def stage(self, name: str, total: int) -> None:
        """A stage of `total` steps begins; 0 where that is not known."""

    def advance(self, done: int, text: str = "") -> None:
        """So many steps of it are done."""


class Report(Watch):
    """A watch that people see, for a `with` block.

    On a terminal a bar per stage, in a notebook one line that is written over, plain lines elsewhere.

    Args:
        console: where to write; standard error by default, so that results on standard output stay clean.
        every: seconds between plain lines while a stage goes on; one more tells that it is over.
    """

    def __init__(self, console: Console | None = None, every: float = EVERY) -> None:
        self.console = console or err()
        self.every = min(every, IN_CELL) if self.console.is_jupyter else every
        self._cell: Any = None  # the line of a notebook's output that is written over
        columns = (TextColumn("{task.description}", markup=False), BarColumn(20))
        figures = TextColumn("{task.fields[text]}", markup=False, table_column=Column())
        self._live = RichProgress(*columns, figures, TimeRemainingColumn(compact=True), console=self.console)
        self._task: TaskID | None = None
        self._name, self._text = "", ""
        self._began = self._last = time.perf_counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._end_stage()
        if self._task is not None:
            self._live.stop()

    def stage(self, name: str, total: int) -> None:
        self._end_stage()
        self._name, self._text, self._cell = name, "", None
        self._began = self._last = time.perf_counter()
        if self.console.is_terminal:
            self._live.start()
            self._task = self._live.add_task(name, total=total or None, text="")

    def advance(self, done: int, text: str = "") -> None:
        self._text = text or self._text
        if self._task is not None:
            self._live.update(self._task, completed=done, description=self._name, text=self._text)
        elif self._text and time.perf_counter() - self._last >= self.every:
            self._last = time.perf_counter()
            self._tell(f"{self._name}: {self._text}")

    def _tell(self, text: str) -> None:
        """How far it is: a line more or, in a notebook, one in the place of the last; no widgets."""
        if not self.console.is_jupyter:
            self.note(text)
            return
        from IPython.display import display

        line = {"text/plain": text}
        if self._cell is None:
            self._cell = display(line, raw=True, display_id=True)
        else:
            self._cell.update(line, raw=True)

    def note(self, text: str) -> None:
        """A line that stays, as it is: users' names are no markup."""
        self.console.print(text, markup=False, emoji=False, highlight=False, soft_wrap=True)

    def count(self, name: str) -> OnProgress:
        """What readers call; its stage begins with the first call, and again where the count begins again."""
        before = math.inf

        def told(done: int, total: int) -> None:
            nonlocal before
            if done < before:
                self.stage(name, total)
            before = done
            self.advance(done, f"{done:,} of {total:,}" if total else f"{done:,}")

        return told

    def shards(self, now: ShardProgress) -> None:
        """What `infograph.scale` calls, in a stage of 100 steps."""
        rate = now.rows / max(time.perf_counter() - self._began, 1e-3)
        done = f"{now.shards} of {now.n_shards} shards"
        self.advance(round(100 * now.share), f"{now.rows:,} rows, {rate:,.0f} per second, {done}")

    def _end_stage(self) -> None:
        if self._task is None and self._name:
            text = f", {self._text}" if self._text else ""
            self._tell(f"{self._name}: {time.perf_counter() - self._began:.1f} s{text}")


class ProgressReport(Report):
    """A watcher for `fit`: every loss term, the last validation error and the time left; for a `with` block.

    Args:
        console: where to write; standard error by default.
        every: seconds between plain lines; the first and the last epoch are always shown.
        unit: of the validation error, such as "hartree"; "% wrong" for shares of wrong classes.
        runs: how many runs follow each other: networks of an ensemble, settings of a search.
    """

    def __init__(
        self, console: Console | None = None, every: float = EVERY, *, unit: str = "", runs: int = 1
    ) -> None:
        super().__init__(console, every)
        self.unit, self.runs = unit, runs
        self._run, self._done, self._seen, self._error = 1, 0, 0, math.nan
        self._last, self._unsaid = -math.inf, ""
        self._what: str | None = None

    def __call__(self, now: Progress) -> None:
        """Show where the run stands."""
        if now.what != self._what:  # descriptors, heads, epochs: time is that of each
            self._what, self._last, self._seen = now.what, -math.inf, 0
            if self.console.is_terminal:
                self.stage(now.what, now.steps if now.what else self.runs * now.epochs * now.steps)
            self._began = time.perf_counter() - now.shown["seconds"]
        if now.what:
            self._show_steps(now)
            return
        steps, done = now.epochs * now.steps, (now.epoch - 1) * now.steps + now.step
        if done <= self._done and self._run < self.runs:  # where no run follows, a lost worker begins again
            self._run, self._error, self._last = self._run + 1, math.nan, -math.inf
        self._done, self._seen, self._error = done, self._seen + 1, now.shown.get(ERROR, self._error)
        name = f"epoch {now.epoch}/{now.epochs}"
        name = f"run {self._run}/{self.runs} {name}" if self.runs > 1 else name
        figures = "  ".join(self._figures(now.shown))
        if self.console.is_terminal:
            self._name = name
            self.advance((self._run - 1) * steps + done, figures)
            return
        time_now = time.perf_counter()
        if now.step == now.steps or self.console.is_jupyter:
            self._unsaid = f"{name}  {figures}"
            if time_now - self._last >= self.every or now.epoch == now.epochs:
                self._last, said, self._unsaid = time_now, self._unsaid, ""
                left = (self.runs - self._run + 1) * steps - done
                seconds = timedelta(seconds=round((time_now - self._began) / self._seen * left))
                self._tell(f"{said}  {'at most ' * (ERROR in now.shown)}{seconds} left")

    def _show_steps(self, now: Progress) -> None:
        """Of what has no epochs."""
        time_now, name = time.perf_counter(), f"{now.what} {now.step:,}/{now.steps:,}"
        if self.console.is_terminal:
            self._name = name
            self.advance(now.step)
        elif time_now - self._last >= self.every or now.step == now.steps:
            self._last = time_now
            left = (time_now - self._began) / now.step * (now.steps - now.step)
            self.note(f"{name}  {timedelta(seconds=round(left))} left")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and self._unsaid:  # of a run that ended before its last epoch
            self._tell(self._unsaid)
        super().__exit__(kind, *_)

    def _figures(self, shown: Epoch) -> list[str]:
        parts = [f"loss {shown['loss']:.4g}"]
        terms = terms_of(shown)
        if len(terms) > 1:  # one term alone is the loss
            parts += [f"{name} {shown[name]:.3g}" for name in terms]
        if "mi" in shown:
            parts.append(f"MI {shown['mi']:.3g}")
        if "accuracy" in shown:
            parts.append(f"pairs {100 * shown['accuracy']:.1f} %")
        if f"{ERROR} mi" in shown:  # of epochs that end by themselves
            parts.append(f"held-out MI {shown[f'{ERROR} mi']:.3g}")
        elif not math.isnan(self._error):
            parts.append(f"{ERROR} {figure_text(self._error, self.unit)}")
        return [*parts, f"{shown['graphs_per_second']:,.0f} graphs/s"]


def terms_of(record: Mapping[str, float]) -> list[str]:
    """The loss terms of an epoch, in the order of the objective."""
    return [name for name in record if name not in NO_TERMS and not name.startswith(ERROR)]


def least_error(history: Sequence[Epoch]) -> float:
    """The validation error of the weights that were kept; the mean over several networks."""
    of_model: dict[float, float] = {}
    for record in history:
        model = record.get("model", 1.0)
        errors = record[ERROR], of_model.get(model, math.nan)
        of_model[model] = min(errors, key=lambda error: (math.isnan(error), error))  # NaN is worst
    return sum(of_model.values()) / len(of_model) if of_model else math.nan


def figure_text(value: float, unit: str) -> str:
    """A figure with its unit: "0.42 hartree", "12.5 % wrong" of a share of 0.125."""
    return f"{100 * value:.1f} {unit}" if unit == WRONG else f"{value:.4g} {unit}".rstrip()


def validation_unit(units: Sequence[str], *, classes: bool = False) -> str:
    """The unit of the figure "validation" of a history: of several targets it is the mean in deviations.

    Of several columns of classes it is the mean of 1 - ROC-AUC, without a unit.
    """
    if classes:
        return WRONG if len(units) == 1 else ""
    return units[0] if len(units) == 1 else "deviations"


def err() -> Console:
    """Standard error."""
    return Console(stderr=True, highlight=False, emoji=False)


def say(text: str) -> None:
    """A line on standard error, as it is."""
    err().print(text, markup=False, soft_wrap=True)
